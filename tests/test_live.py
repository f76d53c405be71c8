import json
from pathlib import Path

import numpy as np
import pytest

from elsv.errors import CorruptFileError, InvalidInputError
from elsv.live import Bandit
from elsv.problem import Problem
from elsv.state import State
from elsv.structure import samples

PROBLEM = Problem(rewards=[0.8, 0.9, 1.0], order="decreasing", horizon=30, names=["20 %", "10 %", "none"])


def run(bandit, pulls, outcomes):
    arms = []
    for _ in range(pulls):
        arm = bandit.choose()
        arms.append(arm)
        bandit.observe(arm, bool(outcomes.random() < 0.3 + 0.1 * arm))
    return arms


@pytest.mark.parametrize("policy", ["elsv", "thompson", "random", "greedy"])
def test_a_saved_bandit_goes_on_as_if_nothing_had_happened(policy, tmp_path):
    whole = Bandit(PROBLEM, policy, seed=5)
    outcomes = np.random.default_rng(1)
    expected = run(whole, 20, outcomes)
    outcomes = np.random.default_rng(1)
    first = Bandit(PROBLEM, policy, seed=5)
    arms = run(first, 9, outcomes)
    first.save(tmp_path / "bandit.json")
    second = Bandit.load(tmp_path / "bandit.json")
    assert second.step == 10
    assert second.state == first.state
    arms += run(second, 11, outcomes)
    assert arms == expected


def test_explain_shows_every_arm_and_changes_nothing():
    bandit = Bandit(PROBLEM, "thompson", seed=3)
    twin = Bandit(PROBLEM, "thompson", seed=3)
    bandit.observe(0, True)
    twin.observe(0, True)
    explanation = bandit.explain()
    assert explanation == bandit.explain()
    assert explanation.arm == twin.choose() == bandit.choose()
    assert explanation.to_dict()["arm"] == explanation.arm + 1
    assert [a.name for a in explanation.arms] == ["20 %", "10 %", "none"]
    for a in explanation.arms:
        assert 0 <= a.low < a.mean < a.high <= 1
        assert a.bonus is None
    assert sum(a.best for a in explanation.arms) == pytest.approx(1, abs=1e-6)
    means = [a.mean for a in explanation.arms]
    assert means == sorted(means, reverse=True)
    assert "pull arm" in str(explanation)


def test_every_number_of_an_explanation():
    problem = Problem(rewards=[0.5, 2], horizon=9, names=["half", "twice"])
    state = State([2, 1], [1, 3])  # means 2/3 and 1/4, worth 1/3 and 1/2

    def first(state, step, rng):
        return 0

    own = Bandit(problem, first, state=state)
    assert [a.worth for a in own.explain().arms] == pytest.approx([1 / 3, 1 / 2])
    assert [a.q for a in own.explain().arms] == [None, None]
    assert [a["q"] for a in own.explain().to_dict()["arms"]] == [None, None]
    assert str(own.explain()).splitlines()[1].split()[-2:] == ["worth", "P(best)"]
    answer = own.explain().to_dict()
    assert (answer["arm"], [a["arm"] for a in answer["arms"]]) == (1, [1, 2])
    assert [a["pulls"] for a in answer["arms"]] == [1, 2]
    lines = str(own.explain()).splitlines()
    assert lines[0] == "step 4: pull arm 1, half (a policy of your own)"
    assert lines[2].startswith("→  1  half ")
    assert lines[3].startswith("   2  twice ")
    assert repr(own) == "Bandit(2 arms, 'a policy of your own', step 4)"
    ucb = Bandit(problem, "ucb:scale=2,count_prior=true", state=state)
    bonus = [0.5 * (2 * np.log(4) / 3) ** 0.5, 2 * (2 * np.log(4) / 4) ** 0.5]
    assert [a.bonus for a in ucb.explain().arms] == pytest.approx(bonus)
    assert [a.q for a in ucb.explain().arms] == pytest.approx([1 / 3 + bonus[0], 1 / 2 + bonus[1]])
    assert repr(ucb) == "Bandit(2 arms, 'ucb:scale=2,count_prior=true', step 4)"
    assert "(ucb:scale=2,count_prior=true)" in str(ucb.explain())


def test_the_interval_holds_95_per_cent_with_equal_tails():
    # Distribution functions: x², 1 − (1 − x)³ and x; of two uniform means in order, x² and 1 − (1 − x)².
    free = Bandit(Problem(rewards=[1, 1, 1], horizon=9), "greedy", state=State([2, 1, 1], [1, 3, 1]))
    ordered = Bandit(Problem(rewards=[1, 1], order="decreasing", horizon=9), "greedy")

    def of_cube(p):
        return 1 - (1 - p) ** (1 / 3)

    def of_square(p):
        return 1 - (1 - p) ** 0.5

    for bandit, quantiles in (
        (free, [lambda p: p**0.5, of_cube, lambda p: p]),
        (ordered, [lambda p: p**0.5, of_square]),
    ):
        for arm, quantile in zip(bandit.explain().arms, quantiles, strict=True):
            assert arm.low == pytest.approx(quantile(0.025), abs=1e-7)
            assert arm.high == pytest.approx(quantile(0.975), abs=1e-7)


def test_explain_of_an_index_has_its_bonus():
    bandit = Bandit(PROBLEM, "elsv")
    assert all(a.bonus > 0 for a in bandit.explain().arms)
    first = Bandit(PROBLEM, "ucb").explain()
    assert first.to_dict()["arms"][0]["q"] is None
    json.dumps(first.to_dict(), allow_nan=False)


def test_a_bandit_with_a_policy_of_ones_own(tmp_path):
    def last(state, step, rng):
        return 2

    bandit = Bandit(PROBLEM, last)
    assert bandit.choose() == 2
    assert bandit.explain().arm == 2
    assert "pull arm 3, none" in str(bandit.explain())
    bandit.save(tmp_path / "b.json")
    with pytest.raises(InvalidInputError, match="policy of your own"):
        Bandit.load(tmp_path / "b.json")
    assert Bandit.load(tmp_path / "b.json", policy=last).choose() == 2


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "b.json"
    Bandit(PROBLEM, seed=1).save(path)
    good = path.read_text()
    content = json.loads(good)
    rng = content["rng"]

    def changed(**values):
        return json.dumps({**content, **values})

    for text, words in (
        (good[: len(good) // 2], "not a bandit"),
        ("[]", "not a bandit"),
        ("{}", "not a bandit"),
        (changed(version=2), "version 2"),
        (changed(alpha=[1, 1]), "shape|arms"),
        (changed(alpha=[1, 1, 0.5]), "prior"),
        (changed(alpha=None), "alpha"),
        (changed(rng={"bit_generator": "MT"}), "damaged"),
        (changed(rng=None), "damaged"),
        (changed(rng=rng | {"state": {"state": -1, "inc": 1}}), "damaged"),
        (changed(rng=rng | {"state": {"state": 1, "inc": 1.5}}), "damaged"),
        (changed(rng=rng | {"uinteger": 2**70}), "damaged"),
        (good.replace('"alpha": [', '"alpha": [' + "[" * 5000), "not a bandit"),
        (changed(problem={"rewards": [1]}), "horizon"),
        (changed(problem=None), "damaged"),
        (good.replace("1.0", "NaN", 1), "not a bandit"),
    ):
        path.write_text(text)
        with pytest.raises((CorruptFileError, InvalidInputError), match=words):
            Bandit.load(path)
        assert path.read_text() == text
    path.write_bytes(b"\xff\x00")
    with pytest.raises(CorruptFileError):
        Bandit.load(path)
    with pytest.raises(InvalidInputError, match="cannot read"):
        Bandit.load(tmp_path / "missing.json")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "b.json"
    bandit = Bandit(PROBLEM, seed=1)
    bandit.save(path)
    before = path.read_text()
    bandit.observe(0, True)
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(InvalidInputError, match="No space left"):
        bandit.save(path)
    assert path.read_text() == before
    assert [p.name for p in tmp_path.iterdir()] == ["b.json"]


def test_what_is_out_of_scope_is_refused_with_what_to_use_instead():
    bandit = Bandit(Problem([0.8, 1.0], "decreasing", horizon=9))
    with pytest.raises(InvalidInputError, match=r"context must be left out.*segments.*Vowpal Wabbit"):
        bandit.choose(context={"age": 31})
    with pytest.raises(InvalidInputError, match=r"reward must be left out.*success=True.*Gaussian"):
        bandit.observe(0, reward=3.2)
    with pytest.raises(InvalidInputError, match=r"success must be true or false \(1 or 0\), got None"):
        bandit.observe(0)
    assert bandit.step == 1
    scope = " ".join((Path(__file__).parent.parent / "docs" / "method.md").read_text().split())
    for said in ("Outcomes are yes or no", "Gaussian rewards", "Vowpal Wabbit", "Means do not change"):
        assert said in scope


def test_bad_use_is_refused():
    with pytest.raises(InvalidInputError, match="seed"):
        Bandit(PROBLEM, seed=-1)
    bandit = Bandit(Problem(rewards=[1, 1], horizon=1))
    with pytest.raises(InvalidInputError, match="0 to 1"):
        bandit.observe(2, True)
    bandit.observe(1, True)
    with pytest.raises(InvalidInputError, match="horizon of 1 pulls is over"):
        bandit.choose()
    with pytest.raises(InvalidInputError, match="horizon of 1 pulls is over"):
        bandit.explain()
    longer = Bandit(Problem(rewards=[1, 1], horizon=5), state=bandit.state)
    assert longer.step == 2
    assert "step 2" in repr(longer)
    with pytest.raises(InvalidInputError, match="one instance"):
        Bandit(PROBLEM, state=State.initial(PROBLEM, (2,)))


def test_an_explanation_at_a_numpy_step_is_plain_json():
    explained = Bandit(Problem([0.4, 1.0], horizon=8), "greedy").explain(np.int64(3))
    assert json.loads(json.dumps(explained.to_dict()))["step"] == 3


@pytest.mark.parametrize("won", [1.0, 2.0, 5.0])
def test_a_lone_arm_by_draws_is_the_best_for_sure(won):
    """Weights of draws add up to 1 but for rounding, which used to give a warning and a number above 1."""
    curve = samples(np.random.default_rng(0).random((100, 1)))
    problem = Problem([3.3], horizon=50, structure=curve)
    (arm,) = Bandit(problem, "greedy", state=State([won], [2.0])).explain().arms
    assert arm.best == 1.0
