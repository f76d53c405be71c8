"""Rewards in another currency, r → c r: the same choices, and all that counts in rewards c times."""

import numpy as np
import pytest

import paper
from elsv import Problem, best_arm, compare, make_policy
from elsv.exact import PolicyValue, evaluate, gap_percent, solve
from elsv.paper.theorem import random_states
from elsv.policies import policy_names
from elsv.simulation.engine import Run, run_chunk
from elsv.simulation.instances import FromPrior
from elsv.simulation.store import fingerprint

RATES = [2.0**-40, 1e-10, 1e10]
NAMES = sorted(set(policy_names(Problem([1.0, 2.0], horizon=9))) - {"fixed"})
MORE = ["elsv:index=ucb,depth=2", "elsv:index=ucb,count_prior=true", "commit:depth=2", "thompson:order=false"]
ORDERS = ["decreasing", "increasing", None]
# Equal rewards make ties, of which rounding must not decide.
REWARDS = [[0.3, 0.6, 1.0], [1.0, 1.0, 1.0], [0.5, 1.0, 0.25]]


def in_currency(problem, rate):
    return Problem(rate * problem.rewards, problem.order, problem.horizon, problem.discount, problem.prior)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("scale", [0.25, 1.0, 8.0])
def test_the_tie_rule_is_relative_to_the_scale(rate, scale):
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 3, (400, 3)) + rng.choice([0, 3e-10, 3e-9, 7e-9], (400, 3))
    expected = [paper.best_arm(row.tolist(), scale) for row in scores]
    assert best_arm(scores, scale).tolist() == expected
    assert best_arm(rate * scores, rate * scale).tolist() == expected


@pytest.mark.parametrize(("order", "rate"), [*zip(ORDERS, RATES, strict=True)])
@pytest.mark.parametrize("name", [*NAMES, *MORE])
def test_choices_do_not_depend_on_the_currency(name, order, rate):
    for rewards in REWARDS:
        problem = Problem(rewards, order, horizon=12)
        for step in (4, 8):
            state = random_states(problem, step, 15, np.random.default_rng([7, step]))
            own, other = (
                make_policy(name, p)(state, step, np.random.default_rng(3))
                for p in (problem, in_currency(problem, rate))
            )
            assert (own == other).all()


@pytest.mark.parametrize(("order", "rate"), [*zip(ORDERS, RATES, strict=True)])
def test_exact_values_count_in_the_currency(order, rate):
    names = [*NAMES, *MORE, "optimal"]
    if order is not None:
        names = [name for name in names if "rejection" not in name]
    for rewards in REWARDS:
        problem = Problem(rewards, order, horizon=7)
        changed = in_currency(problem, rate)
        own, other = (np.array([[v.value, v.regret] for v in evaluate(p, names)]) for p in (problem, changed))
        np.testing.assert_allclose(other, rate * own, rtol=1e-12, atol=1e-13 * rate)
        if rate == 2.0**-40:
            assert (other[:, 0] == rate * own[:, 0]).all()
        first, second = solve(problem, keep=7), solve(changed, keep=7)
        assert first.actions == second.actions
        assert first.policy.packed == second.policy.packed
        np.testing.assert_allclose(second.scores, rate * first.scores, rtol=1e-13)


@pytest.mark.parametrize("rate", [*RATES, 8e6, 1e-200, 2.0**500])
def test_a_comparison_counts_in_the_currency(rate):
    names = ["thompson", "elsv", "ucb", "greedy", "random", "plan"]
    problem = Problem([0.4, 0.7, 1.0], "decreasing", horizon=12)
    own, other = (
        compare(p, names, instances=500, seed=4, keep_raw=True) for p in (problem, in_currency(problem, rate))
    )
    np.testing.assert_allclose(other.totals.difference, rate * own.totals.difference, atol=1e-11 * rate)
    np.testing.assert_allclose(other.totals.difference_ci95, rate * own.totals.difference_ci95, rtol=1e-9)
    for name in names:
        assert (own[name].pull_share == other[name].pull_share).all()
        assert (own[name].best_share == other[name].best_share).all()
        for part in ("mean", "ci95", "quantiles", "curves"):
            mine, theirs = rate * getattr(own[name], part), getattr(other[name], part)
            np.testing.assert_allclose(theirs, mine, rtol=1e-9, atol=1e-11 * rate)
            if np.frexp(rate)[0] == 0.5:
                assert (mine == theirs).all()


@pytest.mark.parametrize("largest", [1e-6, 1.0, 8e6])
def test_quantiles_are_those_of_the_instances(largest):
    problem = Problem([largest / 2, largest], horizon=40)
    result = compare(problem, ["random"], instances=2000, seed=2, keep_raw=True)["random"]
    exact = np.quantile(result.curves[-1], [0.05, 0.25, 0.5, 0.75, 0.95])
    np.testing.assert_allclose(result.quantiles[-1], exact, rtol=0.02, atol=0.01 * largest)


def test_chunks_say_what_their_numbers_mean(monkeypatch):
    problem = Problem([2.0, 3.0], horizon=2)
    run = Run(problem, ("greedy",), 10, 2, 0, FromPrior(problem), np.array([2]))
    before = fingerprint(run, "1")
    monkeypatch.setattr("elsv.simulation.store.MEANING", "something else")
    assert fingerprint(run, "1") != before
    assert run.unit == 2.0
    assert run_chunk(run, 0).regret[0, 0, -1] >= 0


@pytest.mark.parametrize("rate", RATES)
def test_a_gap_to_an_optimum_without_regret_is_relative_too(rate):
    def worth(value, regret):
        return PolicyValue("any", rate * value, rate * regret, 0.0)

    assert gap_percent(worth(1.0, 1e-15), worth(1.0, 0.0)) == 0.0
    assert gap_percent(worth(0.9, 0.1), worth(1.0, 0.0)) is None
    assert gap_percent(worth(0.9, 0.2), worth(1.0, 0.1)) == pytest.approx(100.0)
