"""P(best) and E[max]: against fractions, in limits that are known, for counts from 1e-300 to 1e18."""

from fractions import Fraction

import numpy as np
import pytest

import paper_best
import paper_panels
from elsv.beliefs import Chain, Independent
from elsv.beliefs.best.chain_kernels import cut_off, open_chain
from elsv.beliefs.best.integral import best_of_chain, integrate
from elsv.beliefs.best.integral_kernels import beyond, lay_panels, open_field
from elsv.beliefs.chain.panels import place
from elsv.errors import InvalidInputError
from elsv.exact import evaluate
from elsv.live.explain import explain
from elsv.policies import make_policy
from elsv.problem import Problem
from elsv.state import State

BELIEFS = [Independent(), Chain(), Chain("increasing")]
TOLERANCES = [1e-4, 1e-6, 1e-8, 1e-11]


def found(belief, alpha, beta, rewards, tolerance):
    return belief.best_with_error(State(alpha, beta), rewards, tolerance)


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    ("alpha", "beta", "rewards"),
    [
        ([1, 1], [1, 1], ["1", "2"]),
        ([2, 1, 3], [1, 2, 1], ["1/2", "4/5", "1"]),
        ([1, 1, 1], [1, 1, 1], ["4/5", "9/10", "1"]),
        ([1, 3, 2], [3, 1, 2], ["1", "3/4", "9/8"]),
        ([2, 2, 2], [1, 1, 1], ["1", "1", "1"]),
        ([1, 2, 1, 2], [2, 1, 2, 1], ["3/10", "1/2", "7/10", "1"]),
    ],
)
def test_whole_counts_are_fractions(alpha, beta, rewards, ordered, tolerance):
    exact_chance, exact_largest = paper_best.best(alpha, beta, [Fraction(r) for r in rewards], ordered)
    belief = Chain() if ordered else Independent()
    payoff = [float(Fraction(r)) for r in rewards]
    chance, largest, error = found(belief, alpha, beta, payoff, tolerance)
    miss = np.abs(chance - np.array([float(c) for c in exact_chance])).max()
    assert miss <= tolerance
    assert miss <= error + 1e-14
    assert abs(largest - float(exact_largest)) <= tolerance * max(payoff)


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize("belief", BELIEFS, ids=repr)
def test_the_measured_error_covers_what_a_finer_answer_changes(belief, tolerance):
    rng = np.random.default_rng(12)
    for arms in (2, 3, 4, 7, 13, 20):
        for scale in (0.3, 3.0, 60.0):
            alpha, beta = scale * rng.random(arms) + 0.1 * scale, scale * rng.random(arms) + 0.1 * scale
            rewards = 0.7 + 0.3 * rng.random(arms)
            chance, largest, error = found(belief, alpha, beta, rewards, tolerance)
            finest, mean, _ = found(belief, alpha, beta, rewards, 1e-12)
            miss = max(np.abs(chance - finest).max(), abs(largest - mean))
            assert miss <= error + 1e-12
            assert error <= 1.5 * tolerance + 1e-12
            assert chance.sum() == pytest.approx(1, abs=1e-12)
            assert largest >= (rewards * belief.mean(State(alpha, beta))).max() - tolerance


@pytest.mark.parametrize("tolerance", TOLERANCES)
@pytest.mark.parametrize(
    ("arms", "counts", "chance", "largest"),
    [
        (6, lambda i: (i + 1, 7 - i), [0.6179419293, 0.1697877912, 0.0933744534, 0.0627811906], 0.4539081032),
        (
            12,
            lambda i: (3 + 5 * i, 40 - 3 * i),
            [0.0003048228, 7.8567e-06, 3.2757e-06, 5.3132e-06],
            0.5421034899,
        ),
        (
            20,
            lambda i: (0.4 + 0.3 * (i % 3), 0.5 + 0.25 * (i % 4)),
            [0.7422699076, 0.1934668449, 0.0461184837, 0.0114500437],
            0.78031124,
        ),
    ],
)
def test_values_of_long_chains(arms, counts, chance, largest, tolerance):
    """Computed once by a method that follows v on the panels of every arm."""
    alpha, beta = np.array([counts(i) for i in range(arms)], float).T
    seen, mean, _ = found(Chain(), alpha, beta, np.linspace(0.8, 1, arms), tolerance)
    np.testing.assert_allclose(seen[:4], chance, atol=max(tolerance, 1e-9))
    assert mean == pytest.approx(largest, abs=max(tolerance, 1e-9))


@pytest.mark.parametrize("belief", BELIEFS, ids=repr)
def test_neither_the_currency_nor_leading_axes_matter(belief):
    rng = np.random.default_rng(3)
    state, rewards = State(rng.integers(1, 9, (2, 3, 4)), rng.integers(1, 9, (2, 3, 4))), rng.random(4) + 0.5
    chance, largest, error = belief.best_with_error(state, rewards)
    assert (chance.shape, largest.shape, error.shape) == ((2, 3, 4), (2, 3), (2, 3))
    for factor in (1e-200, 1e-9, 3.0, 8e6, 1e200):
        scaled, scaled_largest = belief.best(state, factor * rewards)
        np.testing.assert_allclose(scaled, chance, atol=1e-8)
        np.testing.assert_allclose(scaled_largest, factor * largest, rtol=1e-8)
    empty = belief.best_with_error(State(np.ones((0, 4)), np.ones((0, 4))), rewards)
    assert [part.shape for part in empty] == [(0, 4), (0,), (0,)]


def test_independent_arms_may_change_places():
    alpha, beta, rewards = np.array([3, 0.2, 50, 1]), np.array([1, 0.4, 40, 6]), np.array([0.6, 0.9, 1, 1.5])
    chance, largest = Independent().best(State(alpha, beta), rewards)
    for order in ([3, 2, 1, 0], [1, 3, 0, 2]):
        moved, same = Independent().best(State(alpha[order], beta[order]), rewards[order])
        np.testing.assert_allclose(moved, chance[order], atol=1e-8)
        assert same == pytest.approx(float(largest), abs=1e-8)


@pytest.mark.parametrize("arms", [2, 5, 40])
@pytest.mark.parametrize("count", [1e-200, 1e-9, 0.01, 1.0, 30.0, 1e6, 1e15])
def test_equal_arms_are_equally_likely(arms, count):
    chance, _ = Independent().best(
        State(np.full(arms, count), np.full(arms, 2 * count)), np.full(arms, 3.0), 1e-6
    )
    np.testing.assert_allclose(chance, 1 / arms, atol=1e-6)


@pytest.mark.parametrize(
    ("alpha", "beta", "rewards", "chance", "largest"),
    [
        # Beta(ε, ε) is 0 or 1 with probability 1/2 each.
        ([1e-20, 1], [1e-20, 1], [0.9, 1.0], [0.45, 0.55], 0.5 * 0.5 + 0.5 * (0.9**2 + 0.5 * (1 - 0.9**2))),
        ([1e-300, 1], [1e-300, 1], [1.0, 1.0], [0.5, 0.5], 0.75),
        # Beta(ε, kε): log x and log (1 - x) are exponential with the rates ε and kε.
        ([1e-4, 2e-4], [1e-4, 1e-4], [1.0, 1.0], [7 / 18, 11 / 18], 5 / 6),
        ([1e-5, 1e-5], [1e-5, 2e-5], [1.0, 1.0], [11 / 18, 7 / 18], 2 / 3),
        # Powers of a uniform number: P(U^(1/a) > V^(1/b)) = a / (a + b).
        ([0.01, 0.03], [1, 1], [1.0, 1.0], [0.25, 0.75], 0.04 / 1.04),
        ([1e18, 1], [1, 1], [1.0, 1.0], [1.0, 0.0], 1.0),
        ([1e6, 1], [1e-10, 1], [1.0, 1.0], [1.0, 0.0], 1.0),
        ([1e18, 1e18], [1e18, 1e18], [1.0, 1.0], [0.5, 0.5], 0.5),
        # Normal: means 1e-8 apart in the logit, each with variance 2e-18.
        ([1e18, 1e18], [1e18, 1e18 - 2e9], [1.0, 1.0], [0.158655254, 0.841344746], 0.5),
    ],
)
def test_counts_beyond_all_measure(alpha, beta, rewards, chance, largest):
    for order in (1, -1):
        seen, mean = Independent().best(State(alpha[::order], beta[::order]), rewards[::order], 1e-6)
        np.testing.assert_allclose(seen[::order], chance, atol=1e-5)
        assert mean == pytest.approx(largest, abs=1e-5)


def test_arms_that_are_often_near_one():
    chance, _ = Independent().best(State([0.01, 0.01], [3, 3]), [1.0, 1.0])
    np.testing.assert_allclose(chance, 0.5, atol=1e-9)


def test_what_cannot_be_computed_is_refused():
    with pytest.raises(InvalidInputError, match="counts up to 1e\\+18, got 1e\\+30; scale"):
        Independent().best(State([1e30, 1], [1e30, 1]), [1.0, 1.0])
    for belief in BELIEFS:
        for tolerance in (0.0, 0.1, float("nan")):
            with pytest.raises(InvalidInputError, match="tolerance must lie between 1e-12 and 1e-3"):
                belief.best(State([1, 1], [1, 1]), [1.0, 1.0], tolerance)


@pytest.mark.parametrize("counts", [1e-300, 1e-12, 1e-3, 1e3, 1e9, 1e14, 1e18])
@pytest.mark.parametrize("other", [1e-300, 1e-3, 1.0, 1e6, 1e18])
@pytest.mark.parametrize("belief", BELIEFS, ids=repr)
def test_any_counts_give_probabilities_or_a_clear_error(belief, counts, other):
    for state in (State([counts, 1, other], [other, 1, 1]), State([1, other, counts], [counts, 2, other])):
        try:
            chance, largest, error = belief.best_with_error(state, [0.9, 1.0, 1.1], 1e-4)
        except InvalidInputError:
            continue
        assert np.all((chance >= 0) & (chance <= 1))
        assert chance.sum() == pytest.approx(1, abs=1e-9)
        assert 0 <= largest <= 1.1 + 1e-9
        assert error < 0.01


def test_a_million_pulls_at_odds_with_the_order():
    state, rewards = State([3e5, 7e5], [7e5, 3e5]), np.array([1.0, 1.00001])
    chance, _, error = Chain().best_with_error(state, rewards, 1e-4)
    draws = (
        Chain().draw(
            State(np.tile(state.alpha, (2_000, 1)), np.tile(state.beta, (2_000, 1))),
            np.random.default_rng(0),
        )
        * rewards
    )
    assert abs((draws[:, 1] > draws[:, 0]).mean() - chance[1]) < 0.015
    assert error <= 1.2e-4


@pytest.mark.parametrize(
    ("prior", "state", "best"),
    [
        ([[1e-300, 1e-300], [1, 1]], None, [0.5, 0.5]),
        ([[0.01, 3], [0.01, 3]], None, [0.5, 0.5]),
        ([[1, 1], [1, 1]], ([1e18, 1], [1, 1]), [1, 0]),
    ],
)
def test_a_decision_is_explained(prior, state, best):
    problem = Problem([1.0, 1.0], discount=0.9, prior=prior)
    seen = State.initial(problem) if state is None else State(*state)
    policy = make_policy("greedy", problem)
    explained = explain(problem, policy, seen, 1, np.random.default_rng(0), "greedy")
    assert [arm.best for arm in explained.arms] == pytest.approx(best, abs=1e-4)


def test_counts_of_very_different_size_are_no_reason_to_warn():
    counts = np.array([1e15, 1.0, 1e9]), np.array([1e9, 1.0, 1e15])
    chance, _ = Independent().best(State(*counts), [0.9, 1.0, 1.1])
    assert chance == pytest.approx([0.9 * (1 - 1e-6), 0.1 + 0.9e-6, 0.0], abs=1e-7)


def test_thompson_of_more_arms_than_an_array_has_axes_is_evaluated():
    problem = Problem(np.ones(64), horizon=1)
    assert evaluate(problem, "thompson")[0].value == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_panels_are_those_of_lists_and_sets(seed):
    """Of arms that pay the same too, narrow and wide ones, and more of them than mark their ranges."""
    rng = np.random.default_rng(seed)
    for _ in range(25):
        arms = int(rng.integers(1, 13))
        rewards = np.round(rng.uniform(0.2, 1.0, arms), int(rng.choice([1, 6])))
        low = rng.normal(0.0, 3.0, arms)
        high = low + np.exp(rng.normal(0.5, 2.0, arms))
        top = float(rewards.max())
        cut, rough = (high > 5.0) & (rewards < top), rng.random(arms) < 0.3
        k = int(rng.integers(arms))
        ranges = list(zip(rewards.tolist(), low.tolist(), high.tolist(), strict=True))
        wanted = paper_panels.lay_panels(
            ranges, set(rewards[cut].tolist()), set(rewards[rough].tolist()), (rewards[k], low[k]), top
        )
        panels = np.full((4, 600), np.nan)
        count = lay_panels(rewards, low, high, cut, rough, rewards[k], low[k], top, panels)
        assert [tuple(row) for row in panels[:, :count].T.tolist()] == wanted
        if count:
            assert (panels[0, count], panels[2, count]) == (wanted[-1][1], wanted[-1][2])
        few = np.full((4, 3), np.nan)
        assert lay_panels(rewards, low, high, cut, rough, rewards[k], low[k], top, few) == count


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_what_a_chain_looks_at_first_is_what_its_steps_give_one_by_one(tolerance):
    rng = np.random.default_rng(8)
    for arms, scale in [(1, 3.0), (2, 0.3), (3, 30.0), (5, 3.0), (9, 300.0)]:
        alpha, beta = scale * rng.random((2, 1, arms)) + 0.1
        rewards = np.sort(0.5 + 0.5 * rng.random(arms))
        cut = 5.5 - float(np.log(tolerance))
        placed = place(alpha, beta, 7.0, cut - 3.0 if tolerance > 1e-6 else cut + 2)
        ends = [placed.edges[0][windows[0]] for windows in (placed.first, placed.last)]
        field = open_field(rewards, *ends, beta[0].cumsum())
        solution, who = open_chain(placed), field.alive

        def evaluate(limit, count, solution=solution, who=who, high=ends[1]):
            below, density = np.empty(len(limit)), np.empty((count, len(who)))
            cut_off(solution, who, high[who], limit, below, density)
            return below, density

        noise = 1e-14 + 1e-15 * float((alpha[0] + beta[0]).sum())
        step_by_step = integrate(field, who, arms, evaluate, tolerance, noise)
        found = best_of_chain(alpha[0], beta[0], rewards, tolerance, 7.0, cut)
        np.testing.assert_array_equal(found.chance, step_by_step.chance)
        assert found.mean == step_by_step.mean


def test_what_is_beyond_a_budget_is_what_remains_of_the_largest():
    rng = np.random.default_rng(4)
    for size in (0, 1, 2, 3, 10, 300):
        values = rng.permutation(rng.random(size) ** 4)
        ranked = np.sort(values)
        for budget in (0.0, 0.1, float(values.sum()) + 1):
            left_out = int((ranked.cumsum() <= budget).sum())
            np.testing.assert_array_equal(np.sort(values[beyond(values, budget)]), ranked[left_out:])
