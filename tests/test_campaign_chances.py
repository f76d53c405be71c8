"""Probabilities of decisions: computed, logged, and what the arms' frequencies agree with."""

import numpy as np
import pytest
from scipy.stats import chisquare

from campaigns import Clock, shop
from elsv import Campaign, InvalidInputError, Problem, State, make_policy
from elsv.campaign import choosing
from elsv.campaign.choosing import Chooser, choice_stream, policy_stream
from elsv.campaign.records import Tally
from elsv.campaign.settings import Settings
from elsv.policies.asking import COPIES, chances_of

TALLIES = [
    Tally(i, decided=s + f + o, open=o, successes=s, failures=f)
    for i, (s, f, o) in enumerate([(6, 4, 1), (5, 6, 0), (3, 5, 3), (1, 4, 0)])
]
CASES = {
    "floor": {"policy": "greedy", "floor": 0.05},
    "holdout": {"policy": "elsv", "holdout": 0.2, "control": 3},
    "thompson": {"policy": "thompson"},
    "everything": {"policy": "thompson", "floor": 0.03, "holdout": 0.1, "control": 2},
    "random": {"policy": "random"},
    "plan": {"policy": "plan"},
}


def chooser(**settings):
    problem = shop()
    chosen = Settings(horizon=300).changed(problem, **settings)
    return Chooser.of(problem, chosen, [])


@pytest.mark.parametrize("case", CASES)
def test_frequencies_agree_with_the_probabilities(case):
    """Draws of many seeds from one state, by chi-square."""
    chosen = chooser(**CASES[case])
    (first,) = chosen.choose(TALLIES, [None], 0)
    expected = first.propensities
    assert expected.sum() == pytest.approx(1, abs=1e-12)
    draws = [chosen.choose(TALLIES, [None], seed)[0] for seed in range(20 if case == "plan" else 1500)]
    for choice in draws:
        np.testing.assert_array_equal(choice.propensities, expected)
        assert choice.propensity == expected[choice.arm]
    counts = np.bincount([choice.arm for choice in draws], minlength=4)
    possible = expected > 0
    assert counts[~possible].sum() == 0
    if possible.sum() > 1:
        assert chisquare(counts[possible], len(draws) * expected[possible]).pvalue > 1e-3


def test_the_formula_of_floor_and_holdout():
    plain = chooser(policy="thompson").choose(TALLIES, [None], 0)[0].propensities
    floored = chooser(policy="thompson", floor=0.03, holdout=0.1, control=2)
    both = floored.choose(TALLIES, [None], 0)[0].propensities
    np.testing.assert_allclose(both, 0.9 * (0.03 + 0.88 * plain) + [0, 0, 0.1, 0], atol=1e-12)
    reasons = [
        chooser(policy="greedy", floor=0.1, holdout=0.3, control=2).choose(TALLIES, [None], seed)[0].reason
        for seed in range(300)
    ]
    shares = {reason: reasons.count(reason) / 300 for reason in set(reasons)}
    assert shares["holdout"] == pytest.approx(0.3, abs=0.1)
    assert shares["floor"] == pytest.approx(0.7 * 0.4, abs=0.1)


def test_chances_of_thompson_are_those_of_its_draws():
    problem = Problem(rewards=[0.5, 0.8, 1.0], order="decreasing", horizon=50)
    policy, state = make_policy("thompson", problem), State([3, 2, 1.5], [2, 3, 4.5])
    chances = chances_of(policy, state, 5, np.random.default_rng(0), problem)
    batch = State.trusted(np.tile(state.alpha, (4000, 1)), np.tile(state.beta, (4000, 1)))
    drawn = np.bincount(policy(batch, 5, np.random.default_rng(1)), minlength=3)
    assert chisquare(drawn, 4000 * chances).pvalue > 1e-3


def test_policies_that_do_not_say_are_asked_many_times():
    problem, rng = shop(), np.random.default_rng(0)
    asked = []

    def coin(state, step, rng):
        asked.append(state.shape)
        return (rng.random(state.shape) < 0.25).astype(int)

    chances = chances_of(make_policy(coin, problem), State.initial(problem), 1, rng, problem)
    assert asked == [(COPIES,)]
    assert chances[1] == pytest.approx(0.25, abs=0.06)
    assert chances.sum() == 1

    class Own:
        def __call__(self, state, step, rng):
            return np.zeros(state.shape, dtype=int)

        def chances(self, state, step):
            return [0.5, 0.5, 0, 0]

    assert chances_of(make_policy(Own(), problem), State.initial(problem), 1, rng, problem).tolist() == [
        0.5,
        0.5,
        0,
        0,
    ]

    class Wrong(Own):
        def chances(self, state, step):
            return [0.5, 0.2, 0, 0]

    with pytest.raises(InvalidInputError, match="4 probabilities that add up to 1"):
        chances_of(make_policy(Wrong(), problem), State.initial(problem), 1, rng, problem)

    class Later(Own):
        def __call__(self, state, step, rng):
            return np.full(state.shape, 3)

    assert chances_of(make_policy(Later(), problem), State.initial(problem), 1, rng, problem).tolist() == [
        0,
        0,
        0,
        1,
    ]


@pytest.mark.parametrize(
    "name", ["plan", "elsv", "gittins", "greedy", "commit", "ucb1", "thompson:pending=ignore"]
)
def test_every_policy_has_probabilities(name):
    choice = chooser(policy=name).choose(TALLIES, [None] * 3, 1)
    assert all(c.propensities.sum() == pytest.approx(1) for c in choice)
    if "thompson" not in name:
        assert all(c.propensity == 1 for c in choice)


def drawing(state, step, rng):
    """A policy of one's own that draws by itself: arm 0 where a number is below a half, else arm 3."""
    return np.where(rng.random(state.shape) < 0.5, 0, 3)


def test_what_is_drawn_for_the_policy_is_not_drawn_again():
    """Floor, holdout and the arm itself have a stream of their own: every arm comes as often as is logged."""
    own = chooser(policy=drawing, floor=0.04, holdout=0.1, control=1)
    counts, expected = np.zeros(4), np.zeros(4)
    for seed in range(1500):
        (choice,) = own.choose(TALLIES, [None], seed)
        counts[choice.arm] += 1
        expected += choice.propensities
    assert expected[[1, 2]] / 1500 == pytest.approx([0.136, 0.036])
    assert (np.abs(counts - expected) < 4 * np.sqrt(expected)).all()


def test_one_draw_alone_is_independent_of_the_choice():
    """The policy's first number and the one that decides on the floor are not the same."""
    pairs = np.array(
        [[policy_stream(5, number).random(), choice_stream(5, number).random()] for number in range(1, 801)]
    )
    assert abs(np.corrcoef(pairs.T)[0, 1]) < 0.15
    assert not np.isclose(pairs[:, 0], pairs[:, 1]).any()


@pytest.mark.parametrize("name", ["plan", "elsv"])
def test_a_policy_that_draws_nothing_gets_no_generator(name, monkeypatch):
    asked = []
    monkeypatch.setattr(choosing, "policy_stream", lambda *key: asked.append(key))
    monkeypatch.setattr(choosing, "choice_stream", lambda *key: asked.append(key))
    chooser(policy=name).choose(TALLIES, [None] * 3, 1)
    assert asked == []


def test_they_are_in_the_log(tmp_path):
    campaign = Campaign.open(
        tmp_path / "x.db", "x", shop(), policy="thompson", floor=0.02, clock=Clock(), seed=2
    )
    made = campaign.decide(count=30)
    with campaign.store.reading() as reading:
        rows = reading.rows("SELECT arm, propensity, propensities FROM elsv_decision ORDER BY number")
    for decision, (arm, propensity, listed) in zip(made, rows, strict=True):
        chances = [float(text) for text in listed.split(",")]
        assert (arm, propensity) == (decision.arm, decision.propensity)
        assert chances[arm] == propensity
        assert min(chances) >= 0.02 - 1e-12
