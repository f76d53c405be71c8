"""A prior that contradicts the order: exact answers where the order has probability 10^-100 and less."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.special import betaln

import paper
import paper_beliefs
from elsv import Chain, Problem, State
from elsv.beliefs.abilities import layer_weights
from elsv.beliefs.layers import tables
from elsv.beliefs.layers.tables import log_share
from elsv.exact import evaluate, solve
from elsv.lattice.numbering import Lattice

POLICIES = ["greedy", "gittins", "elsv", "ucb", "commit:depth=2", "plan", "thompson", "random", "fixed:arm=1"]
SEVERAL = [
    ("decreasing", [[5, 560], [560, 5]], 6),
    ("increasing", [[560, 5], [5, 560]], 6),
    ("decreasing", [[0.3, 400], [7.5, 2], [400, 0.05]], 4),
    ("decreasing", [[3, 300], [300, 3], [3, 300]], 4),
    ("increasing", [[500, 2], [100, 100], [2, 500]], 4),
    ("decreasing", [[5, 1e4], [5e3, 5e3], [1e4, 5]], 3),
    ("decreasing", [[5, 300], [5, 100], [100, 5], [300, 5]], 3),
]


def contradicts(problem):
    """Whether the prior finds the problem's structure all but impossible."""
    return tables.contradicts(problem, problem.belief)


def rewards_of(prior):
    return np.linspace(0.5, 1.0, len(prior))


def by_fractions(prior, rewards, horizon):
    """The optimum of two arms in decreasing order, brute force."""

    @cache
    def weight(state):
        return paper_beliefs.pair_weight([a for a, _ in state], [b for _, b in state])

    def mean(state, i):
        return weight(paper.success(state, i)) / weight(state)

    counts = tuple((int(a), int(b)) for a, b in prior)
    return paper.expected_reward(counts, horizon, tuple(Fraction(r) for r in rewards), mean, None)


def by_chain(problem):
    """The optimum by brute force on the belief."""
    belief = Chain(problem.order, 1e-12)

    @cache
    def means(state):
        a, b = np.array(state, dtype=float).T
        return belief.mean(State(a, b)).tolist()

    counts = tuple(map(tuple, problem.prior.tolist()))
    rewards = tuple(problem.rewards.tolist())
    return paper.expected_reward(counts, problem.horizon, rewards, lambda s, i: means(s)[i], None)


def test_the_weight_of_two_arms_is_that_of_the_polynomials():
    for alpha, beta in (([2, 3], [4, 1]), ([1, 1], [1, 1]), ([3, 5], [2, 2])):
        assert paper_beliefs.pair_weight(alpha, beta) == paper_beliefs.weight(alpha, beta)


@pytest.mark.parametrize(("count", "horizon"), [(60, 6), (200, 6), (560, 8), (568, 8), (800, 6), (10_000, 2)])
@pytest.mark.parametrize("rewards", [(0.5, 1.0), (1.0, 1.0)])
def test_the_optimum_of_two_arms_equals_brute_force(count, horizon, rewards):
    prior = [[5, count], [count, 5]]
    found = solve(Problem(rewards, "decreasing", horizon, prior=prior), keep=horizon)
    assert found.value == pytest.approx(float(by_fractions(prior, rewards, horizon)), rel=1e-11)
    assert found.rewards.sum() == pytest.approx(found.value, rel=1e-11)
    assert found.regret > -1e-9


@pytest.mark.parametrize(("order", "prior", "horizon"), SEVERAL)
def test_the_optimum_equals_brute_force_on_the_belief(order, prior, horizon):
    problem = Problem(rewards_of(prior), order, horizon, prior=prior)
    assert contradicts(problem)
    assert solve(problem).value == pytest.approx(by_chain(problem), rel=1e-9)


@pytest.mark.parametrize(("order", "prior", "horizon"), SEVERAL)
def test_no_policy_beats_the_optimum(order, prior, horizon):
    problem = Problem(rewards_of(prior), order, horizon, prior=prior)
    optimum, *rows = evaluate(problem, ["optimal", *POLICIES])
    assert optimum.regret > -1e-9
    for row in rows:
        assert row.value <= optimum.value + 1e-11
        assert row.value > 0.5 * 0.5 * horizon * problem.rewards.min()


@pytest.mark.parametrize(("order", "prior"), [(order, prior) for order, prior, _ in SEVERAL])
def test_weights_are_relative_to_the_priors(order, prior):
    problem = Problem(rewards_of(prior), order, 4, prior=prior)
    lattice, belief = Lattice(problem.arms, 4), Chain(order, 1e-12)
    assert layer_weights(problem.belief, problem, lattice, 0)[0] == pytest.approx(4.0, rel=1e-12)
    weights = layer_weights(problem.belief, problem, lattice, 4, workers=2) / 4.0
    start = belief.log_weight(State.initial(problem))
    for here, state in lattice.layer(4).batches(problem, 1 << 16):
        log_weight = belief.log_weight(state) - start
        # The logarithms themselves are rounded.
        np.testing.assert_allclose(weights[here], np.exp(log_weight), rtol=1e-14 * abs(start) + 1e-11)


@pytest.mark.parametrize("rewards", [[0.5, 1.0, 0.8], [1.0, 1.0, 1.0]])
def test_either_way_of_weighing_gives_the_same(monkeypatch, rewards):
    """A prior at which both can be used."""
    prior = [[2, 20.5], [3, 3], [15, 1.5]]
    problem = Problem(rewards, "decreasing", 7, prior=prior)
    assert not contradicts(problem)
    plain = evaluate(problem, [*POLICIES, "optimal"])
    monkeypatch.setattr("elsv.beliefs.layers.tables._LEAST", 0.0)
    assert contradicts(problem)
    relative = evaluate(problem, [*POLICIES, "optimal"])
    for one, other in zip(plain, relative, strict=True):
        assert other.value == pytest.approx(one.value, rel=1e-9 if one.name == "thompson" else 1e-12)


def test_the_share_of_a_beta_distribution_far_in_its_tail():
    """Σ_{j ≥ a} C(n, j) x^j (1-x)^(n-j), n = a + b - 1, in Fractions, for one side of every tail."""
    for a, b in ((5, 560), (560, 5), (300, 300), (40, 1)):
        for k in (1, 5, 20, 64, 128, 200):
            x, n = Fraction(k, 256), a + b - 1
            terms = (paper_beliefs.comb(n, j) * x**j * (1 - x) ** (n - j) for j in range(a, n + 1))
            exact = sum(terms, Fraction(0))
            logs = np.log(float(x)), np.log1p(-float(x))
            found = float(log_share(float(a), float(b), *map(np.atleast_1d, logs))[0])
            shift = exact.denominator.bit_length() - exact.numerator.bit_length()
            expected = np.log(float(exact * 2**shift)) - shift * np.log(2)
            assert found == pytest.approx(expected, rel=1e-13, abs=1e-12)


def test_only_an_order_can_be_contradicted():
    assert not contradicts(Problem([1, 1], horizon=3, prior=[[5, 560], [560, 5]]))
    assert not contradicts(Problem([1, 1], "increasing", 3, prior=[[5, 560], [560, 5]]))
    weight = Chain().log_weight(State([5, 560], [560, 5])) - 2 * betaln(5, 560)
    assert weight < -700
