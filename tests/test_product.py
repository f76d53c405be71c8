"""Segments with the same options: what is stated becomes arms, an order within each segment and a grid."""

import itertools
import json

import numpy as np
import pytest

from commands import elsv as call
from elsv import Bandit, Campaign, InvalidInputError, Problem, State
from elsv.beliefs.base import mean_of
from elsv.policies.single import choice_name, find_choice, labels_of
from elsv.prior.expectations import from_expectations
from elsv.prior.sources import read_history
from elsv.simulation.precision import precision
from elsv.structure import grid, order
from shops import SHOP, shop

OPTIONS = ["none", "5 % off", "15 % off"]
SHARES = {"mobile": 0.6, "desktop": 0.4}


def coupon(**changes):
    given = {
        "rewards": [10, 9, 7],
        "names": OPTIONS,
        "order": "increasing",
        "horizon": 100,
        "segments": SHARES,
    }
    return Problem(**given | changes)


def plainly(known, across, segments, options):
    """Return the pairs of arms, the larger first, by every pair of neighbours: the slow form."""
    pairs = set()
    for (g, i), (h, j) in itertools.product(itertools.product(range(segments), range(options)), repeat=2):
        one, other = g * options + i, h * options + j
        if g == h and j == i + 1:
            pairs |= {(one, other)} if known == "decreasing" else {(other, one)} if known else set()
        if i == j and (g, h) in itertools.pairwise(across):
            pairs.add((other, one))
    return pairs


@pytest.mark.parametrize("known", [None, "decreasing", "increasing"])
@pytest.mark.parametrize("across", [(), (0, 1, 2), (2, 0, 1), (2, 1)])
def test_the_pairs_and_the_words(known, across):
    names = ["a", "b", "c"]
    problem = Problem(
        rewards=[1, 2, 3], order=known, horizon=9, segments=names,
        across=[names[g] for g in across] or None,
    )  # fmt: skip
    wanted = plainly(known, across, 3, 3)
    facts = problem.structure.ranking() if wanted else None
    assert (set() if facts is None else set(facts.order)) == wanted
    words = problem.structure.describe()
    assert ("within each segment" in words) == (known is not None)
    for before, after in itertools.pairwise(across):
        assert f"{names[after]} succeeds at least as often as {names[before]}" in words
    assert Problem.from_dict(problem.to_dict()) == problem


def test_the_arms_of_a_product():
    problem = coupon()
    assert problem.names[:4] == ("none × mobile", "5 % off × mobile", "15 % off × mobile", "none × desktop")
    assert problem.rewards.tolist() == [10, 9, 7, 10, 9, 7]
    assert problem.segments.groups == ((0, 1, 2), (3, 4, 5))
    assert problem.segments.shares == (0.6, 0.4)
    assert problem.segments.describe(problem.names) == (
        "mobile (60 % of customers), desktop (40 % of customers), each with none, 5 % off, 15 % off"
    )
    learnt = coupon(segments=["mobile", "desktop"], segment_prior=[3, 1])
    assert learnt.segments.shares is None
    assert learnt.segments.share_prior == (3, 1)
    rows = [[2.0, 30.0]] * 3 + [[3.0, 30.0]] * 3
    assert coupon(prior=rows).prior.tolist() == rows
    assert coupon(prior=rows[:3]).prior.tolist() == rows[:3] * 2
    assert coupon(rewards=[1, 2, 3, 4, 5, 6]).rewards.tolist() == [1, 2, 3, 4, 5, 6]


def test_beliefs_are_those_of_chains_and_of_a_grid():
    """Two chains know nothing of one another; with `across` the arms form a grid."""
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 9, (6, 2)).astype(float)
    state = State(counts[:, 0], counts[:, 1])
    apart = coupon()
    for part in (slice(0, 3), slice(3, 6)):
        chain = Problem(rewards=[10, 9, 7], order="increasing", horizon=100)
        alone = mean_of(chain.belief, State(counts[part, 0], counts[part, 1]))
        np.testing.assert_allclose(mean_of(apart.belief, state)[part], alone, atol=1e-7)
    falling = coupon(order="decreasing", across="desktop, mobile")
    rows = Problem(rewards=falling.rewards, structure=grid(2, 3), horizon=100)
    np.testing.assert_allclose(mean_of(falling.belief, state), mean_of(rows.belief, state), atol=1e-9)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (
            {"segments": {"a": [1, 2], "b": [3]}},
            r"(?s)order ranks all arms.*give the options once.*structure = ",
        ),
        ({"segments": {"a": 0.5, "b": [3]}}, "must all have a share"),
        ({"segments": {"a": 0.5, "b": 0.6}}, "must sum to 1"),
        ({"segments": {"a": 0.5, "b": -0.5}}, "must be positive"),
        ({"segments": ["a", "a"]}, "must differ"),
        ({"segments": ["a", " "]}, "must have a name"),
        ({"across": "mobile"}, "across must rank segments"),
        ({"across": "mobile, mobile"}, "across must rank segments"),
        ({"across": "mobile, tablet"}, "unknown segment 'tablet'"),
        ({"across": 3}, "across must rank segments"),
        ({"segments": None, "across": "a, b"}, "across ranks segments that have the same options"),
        ({"order": None, "structure": order([(1, 2)])}, "go with order"),
        ({"order": "sideways"}, "sideways"),
        ({"segment_shares": [0.5, 0.5]}, "give the shares once"),
        ({"rewards": [1, 2, 3, 4]}, "one entry for each of the 3 options, or for each of the 6 arms"),
    ],
)
def test_what_is_refused(given, match):
    with pytest.raises(InvalidInputError, match=match):
        coupon(**given)


def test_one_list_of_all_arms_may_have_an_order():
    assert coupon(segments=[[1, 2, 3]]).order == "increasing"


def test_a_file(tmp_path):
    path = tmp_path / "coupon.toml"
    path.write_text(
        'rewards = [10, 9, 7]\nnames = ["none", "5 % off", "15 % off"]\norder = "increasing"\nhorizon = 100\n'
        '[segments]\nmobile = 0.6\ndesktop = 0.4\nacross = "mobile, desktop"\n'
    )
    assert Problem.load(path) == coupon(across="mobile, desktop")
    again = tmp_path / "again.toml"
    Problem.load(path).save(again)
    assert Problem.load(again) == Problem.load(path)
    told = call("check", str(path))
    assert "within each segment the means increase" in " ".join(told.stdout.split())
    assert "each with none, 5 % off" in " ".join(told.stdout.split())
    path.write_text(path.read_text().split("[segments]")[0] + "segments = {a = [1, 2], b = [3]}\n")
    refused = call("check", str(path), code=2)
    assert "order ranks all arms" in " ".join(refused.stderr.split())


def test_one_option_for_all_segments():
    problem = coupon()
    same = find_choice(problem, "none")
    assert choice_name(problem, same) == "none"
    assert find_choice(problem, "none × mobile / none × desktop") == same
    mixed = find_choice(problem, "none × mobile + 5 % off × desktop")
    assert choice_name(problem, mixed) == "none × mobile / 5 % off × desktop"
    assert precision(problem, 100, [0, 3]).name == "none"
    assert labels_of(["fixed:arm=1+4"], ["fixed:arm=1+4"], problem) == ("always none",)
    expected = from_expectations(problem, {"none": "4%", "15 % off × desktop": "10-20%"})
    means = mean_of(expected.problem.belief, State.initial(expected.problem))
    assert means[[0, 3]].tolist() == pytest.approx([0.04, 0.04], abs=2e-3)


def test_history_with_a_column_segment(tmp_path):
    path = tmp_path / "last.csv"
    path.write_text(
        "arm,segment,successes,trials\nnone,mobile,3,100\nnone,desktop,6,90\n5 % off,mobile,4,50\n"
    )
    found = read_history(path, coupon())
    assert found.successes.tolist() == [3, 4, 0, 6, 0, 0]
    assert found.failures.tolist() == [97, 46, 0, 84, 0, 0]
    assert read_history(path).names == ("none × mobile", "none × desktop", "5 % off × mobile")
    for wrong in ("arm,successes,trials\nnone,3,100\n", "arm,segment,successes,trials\nnone,tablet,3,100\n"):
        path.write_text(wrong)
        with pytest.raises(InvalidInputError, match=r"line 2 .* one of mobile, desktop"):
            read_history(path, coupon())


def test_a_campaign(tmp_path):
    settings = {"policy": "greedy", "control": "none", "holdout": 0.1, "fallback": "15 % off"}
    with Campaign.open(tmp_path / "shop.db", "spring", coupon(), **settings) as campaign:
        assert campaign.settings.control == (0, 3)
        assert campaign.settings.fallback == (2, 5)
        decision = campaign.decide("c-1", segment="desktop")
        assert decision.name == f"{decision.option} × desktop"
        assert decision.to_dict()["option"] in OPTIONS
        path = tmp_path / "last.csv"
        path.write_text("arm,segment,successes,failures\nnone,mobile,3,97\n")
        campaign.import_outcomes(path)
        assert [arm.history for arm in campaign.status().arms] == [100, 0, 0, 0, 0, 0]
        assert campaign.audit().exact
    with Campaign.open(tmp_path / "shop.db", "spring", coupon()) as campaign:
        assert campaign.problem == coupon()


def test_what_older_versions_wrote_is_read(tmp_path):
    """They kept an order of all arms beside lists of arms; it meant what it says."""
    problem = coupon(
        rewards=[10, 9, 7, 5],
        names=None,
        order=None,
        structure={"order": "increasing"},
        segments=[[1, 2], [3, 4]],
    )
    assert "order" not in problem.to_dict()
    old = {key: value for key, value in problem.to_dict().items() if key != "structure"} | {
        "order": "increasing"
    }
    assert Problem.from_stored(old) == problem
    campaign = Campaign.open(tmp_path / "shop.db", "old", problem, policy="greedy")
    with campaign, campaign.store.writing() as writing:
        writing.run("UPDATE elsv_campaign SET problem = ?", (json.dumps(old),))
    with Campaign.open(tmp_path / "shop.db", "old", problem) as campaign:
        assert campaign.problem == problem
        assert campaign.decide(segment=1).arm < 2
    saved = tmp_path / "bandit.json"
    Bandit(problem, "greedy").save(saved)
    content = json.loads(saved.read_text())
    saved.write_text(json.dumps(content | {"problem": old}))
    assert Bandit.load(saved).problem == problem


def test_over_http(tmp_path):
    body = {
        "rewards": [10, 9, 7], "names": OPTIONS, "order": "increasing", "horizon": 100,
        "segments": SHARES, "across": "mobile, desktop",
    }  # fmt: skip
    with shop(tmp_path / "shop.db") as opened:
        begun = {**SHOP, "problem": body, "control": "none"}
        assert opened.ask("PUT", "/campaigns/spring", begun).status_code == 201
        assert opened.ask("PUT", "/campaigns/spring", begun).status_code == 200
        (made,) = opened.decide(customer="c-1", segment="mobile")
        assert made["option"] in OPTIONS
        assert made["name"] == f"{made['option']} × mobile"
        wrong = {**body, "segments": {"a": [1, 2], "b": [3]}, "across": None}
        told = opened.ask("PUT", "/campaigns/other", {**SHOP, "problem": wrong})
        assert told.status_code == 422
        assert "give the options once" in told.json()["detail"]


def test_an_option_goes_and_comes_back_in_all_segments(tmp_path):
    with Campaign.open(tmp_path / "shop.db", "spring", coupon(), policy="greedy") as campaign:
        campaign.withdraw("15 % off")
        campaign.withdraw("5 % off × mobile")
        assert campaign.settings.withdrawn == (1, 2, 5)
        assert campaign.decide(segment="mobile").option == "none"
        campaign.restore("15 % off")
        assert campaign.settings.withdrawn == (1,)
