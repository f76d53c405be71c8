"""The suite: fixed problems, the same in every version of elsv, and policies of one's own on all of them."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import elsv
from commands import elsv as command
from elsv import suite
from elsv.errors import InvalidInputError

DIGEST = "e017e055c0af5f3cb3784bd3ce3c9c84cccb6ae1ae51acad0d1ef558ed013907"
FEW = ["discounts", "random-1", "random-7"]


def test_v1_never_changes():
    known = suite.problems("v1")
    assert len(known) == 20
    told = json.dumps({name: problem.to_dict() for name, problem in known.items()}, sort_keys=True)
    assert hashlib.sha256(told.encode()).hexdigest() == DIGEST
    assert {problem.horizon for problem in known.values()} >= {290, 60, 40}
    with pytest.raises(InvalidInputError, match="unknown suite 'v0'"):
        suite.problems("v0")


def test_a_suite_is_a_comparison_for_each_problem():
    found = suite.run(["greedy", "thompson"], instances=40, only=FEW, seed=3)
    assert list(found.comparisons) == FEW
    alone = elsv.compare(suite.problems()["random-7"], ["greedy", "thompson"], 40, 3)
    assert np.array_equal(found["random-7"]["thompson"].mean, alone["thompson"].mean)
    earned = [found[p].earnings()["greedy"][0] for p in FEW]
    regrets = [found[p]["greedy"].mean[-1] for p in FEW]
    shares = [100 * r / (r + e) for r, e in zip(regrets, earned, strict=True)]
    assert found.lost()["greedy"] == pytest.approx(sum(shares) / 3)
    columns = found.columns()
    assert columns["problem"].tolist() == [p for p in FEW for _ in range(2)]
    assert columns["regret"][0] == found["discounts"]["greedy"].mean[-1]
    text = str(found)
    assert "\nlost " in text
    assert "Suite v1: regret ± 95 % on 40 instances" in text
    assert found.to_latex().count(r"\textbf{") == 3
    json.dumps(found.to_dict())


def test_a_policy_may_be_made_for_each_problem():
    def maker(problem):
        seen.append(problem.arms)
        return lambda state, step, rng: np.zeros(state.shape, dtype=np.int64)

    seen = []
    found = suite.run({"mine": maker, "first": "fixed:arm=1"}, instances=10, only=FEW)
    assert seen == [suite.problems()[name].arms for name in FEW]
    for name in FEW:
        assert found[name]["mine"].mean[-1] == found[name]["first"].mean[-1]
    with pytest.raises(InvalidInputError, match=r"takes a problem and must return a policy.*got int"):
        suite.run({"mine": lambda problem: 3}, instances=10, only=FEW)


def test_a_policy_that_is_not_told_who_has_come_plays_each_segment_by_itself():
    def first(state, step, rng):
        return np.zeros(state.shape, dtype=np.int64)

    found = suite.run({"mine": first, "fixed": "fixed:arm=1+4"}, instances=30, only=["segments"])
    assert np.array_equal(found["segments"]["mine"].mean, found["segments"]["fixed"].mean)
    arms = []
    suite.run({"mine": lambda problem: arms.append(problem.arms) or first}, instances=5, only=["segments"])
    assert set(arms) == {6, 3}


@pytest.mark.parametrize(
    ("policies", "options", "said"),
    [
        ([], {}, "at least one policy"),
        (["greedy", "greedy"], {}, "'greedy' twice"),
        (["greedy"], {"only": ["shop"]}, "unknown problem 'shop'"),
    ],
)
def test_what_cannot_be_run_is_refused(policies, options, said):
    with pytest.raises(InvalidInputError, match=said):
        suite.run(policies, instances=10, **options)


MINE = '''
import numpy as np

def policy(problem):
    """Pull the arm that is best in expectation beforehand."""
    best = int((problem.rewards * problem.prior[:, 0] / problem.prior.sum(axis=1)).argmax())
    return lambda state, step, rng: np.full(state.shape, best)

def last(state, step, rng):
    return np.full(state.shape, state.arms - 1)

number = 3
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    Path("p.toml").write_text('rewards = [0.5, 1.0]\norder = "decreasing"\nhorizon = 10\n')


def test_policies_of_a_file_on_the_suite(mine):
    words = ["compare", "--suite", "v1", "--only", "random-1", "--only", "discounts", "--instances", "20"]
    done = command(*words, "-p", "mine.py:policy", "-p", "greedy", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "mine.py:policy" in done.stdout
    assert "wrote" in done.stderr
    assert sorted(p.name for p in Path("out").iterdir()) == [
        "elsv-files.json", "results.csv", "summary.json", "table.tex",
    ]  # fmt: skip
    assert list(json.loads(Path("out/summary.json").read_text())["problems"]) == ["discounts", "random-1"]
    found = json.loads(command(*words, "-p", "greedy", "--json").stdout)
    assert found["suite"] == "v1"
    assert 0 < found["lost_percent"]["greedy"] < 100


def test_policies_of_a_file_on_one_problem(mine):
    done = command(
        "compare", "p.toml", "-p", "mine.py:last", "-p", "fixed:arm=2", "--instances", "20", "--json"
    )
    assert done.returncode == 0, done.stderr
    mine, fixed = json.loads(done.stdout)["policies"]
    assert mine["policy"] == "mine.py:last"
    assert mine["regret"] == fixed["regret"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["p.toml", "-p", "mine.py:first"], "mine.py: unknown policy 'first'"),
        (["p.toml", "-p", "mine.py:number"], "mine.py: unknown policy 'number'"),
        (["p.toml", "-p", "nowhere.py:policy"], "cannot read policy nowhere.py"),
        (["p.toml", "-p", "broken.py:policy"], "broken.py cannot be run: ZeroDivisionError"),
        (["p.toml", "--suite", "v1"], "PROBLEM.toml does not go with --suite"),
        (["--suite", "v1", "--delay", "3"], "--delay does not go with --suite"),
        (["--suite", "v7"], "unknown suite 'v7'"),
        (["--only", "discounts", "p.toml"], "--only names problems of a suite"),
        (["-p", "greedy"], "compare needs a PROBLEM.toml, or --suite v1"),
    ],
)
def test_what_does_not_go_together_is_refused(mine, words, said):
    Path("broken.py").write_text("1 / 0\n")
    assert said in command("compare", *words, code=2).stderr
