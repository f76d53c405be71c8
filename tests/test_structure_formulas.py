"""The formulas of structured beliefs (docs/equations.md), each by hand or by exact sums on a small case."""

from fractions import Fraction
from itertools import permutations
from math import comb

import numpy as np
import pytest

import elsv
from elsv.beliefs import Gibbs, Kept, Ladder, Mixture, Samples
from elsv.structure import decreasing, gap, grid, logistic, order, samples, unimodal, where


def polynomial(alpha, beta):
    """Return the coefficients of x^(alpha-1) (1-x)^(beta-1)."""
    return [Fraction(0)] * (alpha - 1) + [Fraction((-1) ** k * comb(beta - 1, k)) for k in range(beta)]


def integral_of_ranking(densities):
    """Return the integral over x1 <= x2 <= … <= 1 of a product of polynomials."""
    inner = [Fraction(1)]
    for density in densities:
        product = [Fraction(0)] * (len(inner) + len(density) - 1)
        for i, a in enumerate(inner):
            for j, b in enumerate(density):
                product[i + j] += a * b
        inner = [Fraction(0), *(c / (k + 1) for k, c in enumerate(product))]
    return sum(inner)


def weight(alpha, beta, allowed):
    """Return W as a sum over the rankings that are allowed, smallest arm first."""
    arms = range(len(alpha))
    densities = [polynomial(a, b) for a, b in zip(alpha, beta, strict=True)]
    return sum(
        integral_of_ranking([densities[i] for i in ranking])
        for ranking in permutations(arms)
        if allowed([ranking.index(i) for i in arms])
    )


def agrees_with(pairs):
    return lambda rank: all(rank[a - 1] > rank[b - 1] for a, b in pairs)


def has_one_peak(rank):
    top = rank.index(max(rank))
    return rank[: top + 1] == sorted(rank[: top + 1]) and rank[top:] == sorted(rank[top:], reverse=True)


GRID = [(1, 2), (3, 4), (1, 3), (2, 4)]


@pytest.mark.parametrize(
    ("structure", "allowed", "alpha", "beta"),
    [
        (order([(1, 2), (1, 3)]), agrees_with([(1, 2), (1, 3)]), (1, 3, 2), (2, 1, 4)),
        (grid(2, 2), agrees_with(GRID), (2, 1, 3, 1), (1, 2, 1, 2)),
        (order([(1, 3), (1, 4), (2, 4)]), agrees_with([(1, 3), (1, 4), (2, 4)]), (1, 2, 2, 3), (2, 2, 1, 1)),
        (unimodal(), has_one_peak, (2, 1, 3, 1), (1, 3, 1, 1)),
    ],
    ids=["fork", "grid", "N", "peak"],
)
def test_means_are_sums_over_rankings(structure, allowed, alpha, beta):
    problem = elsv.Problem(np.ones(len(alpha)), horizon=5, structure=structure)
    state = elsv.State(alpha, beta)
    whole = weight(alpha, beta, allowed)
    means = []
    for i in range(len(alpha)):
        more = [a + (k == i) for k, a in enumerate(alpha)]
        means.append(float(weight(more, beta, allowed) / whole))
    np.testing.assert_allclose(problem.belief.mean(state), means, atol=1e-10)
    assert problem.belief.log_weight(state) == pytest.approx(np.log(float(whole)), abs=1e-10)


def test_an_order_of_rewards_is_one_on_another_axis():
    """Uniform means with 2 μ₁ >= μ₂: possible on three quarters of the square."""
    belief = Ladder(2, order=((0, 1),), rewards=(2.0, 1.0))
    state = elsv.State([1, 1], [1, 1])
    assert np.exp(belief.log_weight(state)) == pytest.approx(0.75, abs=1e-10)
    # E[μ₁]: ∫ x min(2x, 1) dx over ¾ = (2/3·1/8 + 3/8) / ¾
    assert belief.mean(state)[0] == pytest.approx((1 / 12 + 3 / 8) / 0.75, abs=1e-9)


def test_a_gap_keeps_draws():
    """Uniform means with μ₁ >= μ₂ + ¼ of four arms: the triangle has corners ¼, 1, 1 for μ₁."""
    problem = elsv.Problem(np.ones(4), horizon=5, structure=gap(1, 2, at_least=0.25))
    assert isinstance(problem.belief, Kept)
    state = elsv.State.initial(problem)
    error = float(problem.belief.error(state))
    np.testing.assert_allclose(problem.belief.mean(state)[:2], [0.75, 0.25], atol=4 * error)
    assert problem.structure.holds([[0.5, 0.25, 0, 0], [0.5, 0.3, 0, 0]]).tolist() == [True, False]


@pytest.mark.parametrize("arms", [2, 3, 4])
def test_draws_are_kept_as_they_weigh(arms):
    """Few arms have Gauss rules for points, which are no draws; draws of a prior are weighted by the data."""
    first = where(lambda means: means[..., 0] >= means[..., 1], "first")
    problem = elsv.Problem(np.ones(arms), horizon=5, structure=first)
    start = elsv.State.initial(problem)
    error = float(problem.belief.error(start))
    np.testing.assert_allclose(problem.belief.mean(start)[:2], [2 / 3, 1 / 3], atol=4 * error)
    chain = elsv.Problem(np.ones(arms), horizon=5, structure=decreasing().by("keep"))
    expected = elsv.Chain().mean(start)
    np.testing.assert_allclose(chain.belief.mean(start), expected, atol=4 * float(chain.belief.error(start)))


def test_draws_of_a_prior_that_are_kept_follow_the_data():
    draws = np.random.default_rng(0).random((5000, 2))
    whole = where(lambda means: means[..., 0] >= 0, "always")
    state = elsv.State([9, 1], [1, 9])
    kept, plain = (
        elsv.Problem([1, 1], horizon=50, structure=known).belief.mean(state)
        for known in (samples(draws) & whole, samples(draws))
    )
    np.testing.assert_allclose(kept, plain, atol=1e-3)


def test_a_mixture_weighs_its_parts_by_the_data():
    """One success of the second of two arms: 1/3 under the order, 1/2 without."""
    belief = Mixture((elsv.Chain(), elsv.Independent()), (0.9, 0.1), np.ones((2, 2)))
    state = elsv.State([1, 2], [1, 1])
    ordered, nothing = 0.9 / 3, 0.1 / 2
    share = ordered / (ordered + nothing)
    np.testing.assert_allclose(belief.chances(state), [share, 1 - share], atol=1e-9)
    assert np.exp(belief.log_weight(state)) == pytest.approx(ordered + nothing, abs=1e-9)
    # Given the order and the success: μ₁ has mean 3/4, μ₂ 1/2.
    expected = share * np.array([3 / 4, 1 / 2]) + (1 - share) * np.array([1 / 2, 2 / 3])
    np.testing.assert_allclose(belief.mean(state), expected, atol=1e-8)


def test_samples_are_weighted_by_the_likelihood():
    draws = np.array([[0.2, 0.1], [0.6, 0.5], [0.9, 0.3]])
    belief = Samples(draws, np.ones((2, 2)), weights=[1, 2, 1])
    state = elsv.State([3, 1], [1, 2])  # two successes of the first arm, a failure of the second
    by_hand = np.array([1, 2, 1]) / 4 * draws[:, 0] ** 2 * (1 - draws[:, 1])
    assert belief.log_weight(state) == pytest.approx(np.log(by_hand.sum()))
    share = by_hand / by_hand.sum()
    np.testing.assert_allclose(belief.mean(state), share @ draws)
    assert belief.effective(state) == pytest.approx(1 / (share**2).sum())


def test_the_intervals_of_a_demand_curve():
    prices = (10.0, 20.0, 30.0)
    curves = logistic(prices, conversion=(0.1, 0.5), odds_fall=(2, 50)).curves()
    np.testing.assert_allclose(np.quantile(curves[:, 1], [0.05, 0.95]), [0.1, 0.5], atol=2e-3)
    odds = curves / (1 - curves)
    np.testing.assert_allclose(np.quantile(odds[:, 0] / odds[:, 2], [0.05, 0.95]), [2, 50], rtol=0.02)
    np.testing.assert_allclose(np.log(odds[:, 0] * odds[:, 2]), 2 * np.log(odds[:, 1]), atol=1e-8)


def test_gibbs_agrees_with_the_ladder():
    pairs = ((0, 1), (2, 3), (0, 2), (1, 3))
    state = elsv.State([2, 3, 1, 4], [1, 2, 2, 3])
    gibbs, ladder = Gibbs(4, pairs), Ladder(4, pairs)
    error = float(gibbs.error(state))
    np.testing.assert_allclose(gibbs.mean(state), ladder.mean(state), atol=5 * error)
    assert float(gibbs.r_hat(state)) < 1.05
