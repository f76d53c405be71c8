"""Counts that are no whole numbers, and tiny ones: beliefs keep their tolerance, exact weights are exact."""

import numpy as np
import pytest
from scipy.special import betainc, betaln

from elsv import Chain, Problem, State
from elsv.beliefs.abilities import layer_weights
from elsv.exact.solve import solve
from elsv.lattice.numbering import Lattice

COUNTS = [0.05, 0.3, 0.9, 1.0, 1.5, 2.5, 3.7, 10.3, 50.5]
TOLERANCES = [1e-3, 1e-5, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12]


def cases():
    rng = np.random.default_rng(11)
    shapes = [1, 2, 2, 3, 3] * 6
    drawn = [(rng.choice(COUNTS, n).tolist(), rng.choice(COUNTS, n).tolist()) for n in shapes]
    return [([0.3], [2.5]), ([0.9], [3.7]), ([0.1, 0.3], [2.5, 1.5]), *drawn]


def weight(alpha, beta, points=12_001):
    """log W of up to three arms in decreasing order: one sum over u, log x/(1-x) = sinh u, of the middle arm.

    In u the integrand dies out doubly exponentially, so that the trapezoidal rule has no error to speak of;
    the arms on either side are incomplete Beta functions.
    """
    reach = np.arcsinh(60 / min(*alpha, *beta) + 60)
    u = np.linspace(-reach, reach, points)
    log_x, log_rest = -np.logaddexp(0, -np.sinh(u)), -np.logaddexp(0, np.sinh(u))
    middle = (len(alpha) - 1) // 2
    total = alpha[middle] * log_x + beta[middle] * log_rest
    with np.errstate(divide="ignore"):
        for i, (a, b) in enumerate(zip(alpha, beta, strict=True)):
            if i != middle:
                sides = (b, a, log_rest, log_x) if i < middle else (a, b, log_x, log_rest)
                total = total + np.log(share_below(*sides)) + betaln(a, b)
    values = np.exp(total - total.max()) * np.cosh(u)
    return np.log(values.sum() * (u[1] - u[0])) + total.max()


def share_below(a, b, log_x, log_rest):
    """I_x(a, b), the larger half of it from above, where 1 - x is known."""
    below, above = small_share(a, b, log_x), small_share(b, a, log_rest)
    return np.where(below > 0.5, 1 - above, below)


def small_share(a, b, log_x):
    """I_x(a, b); where x is tiny the first term of its series."""
    return np.where(log_x < -50, np.exp(a * log_x - np.log(a) - betaln(a, b)), betainc(a, b, np.exp(log_x)))


def reference(alpha, beta):
    """Means and log W, from W(s + success) / W(s)."""
    whole = weight(alpha, beta)
    raised = [[a + (j == i) for j, a in enumerate(alpha)] for i in range(len(alpha))]
    return np.exp([weight(up, beta) - whole for up in raised]), whole


def test_the_reference_knows_one_arm():
    for a, b in ((0.05, 0.3), (0.9, 3.7), (50.5, 0.05)):
        mean, whole = reference([a], [b])
        assert mean[0] == pytest.approx(a / (a + b), abs=1e-13)
        assert whole == pytest.approx(betaln(a, b), abs=1e-12)


@pytest.mark.parametrize(("alpha", "beta"), cases(), ids=str)
def test_means_and_weights_keep_the_tolerance(alpha, beta):
    mean, whole = reference(alpha, beta)
    state = State(alpha, beta)
    for tolerance in TOLERANCES:
        belief = Chain(tolerance=tolerance)
        off = np.abs(belief.mean(state) - mean).max()
        assert off <= 2 * tolerance
        assert abs(belief.log_weight(state) - whole) <= 2 * tolerance + 1e-11
        assert off <= 1.1 * belief.error(state) + 2e-12


@pytest.mark.parametrize("tolerance", [1e-3, 1e-8, 1e-10, 1e-12])
def test_the_mean_of_one_arm(tolerance):
    counts = np.array([0.001, 0.05, 0.3, 0.9, 1, 2.5, 30, 1e3, 1e5])
    alpha, beta = (grid.reshape(-1, 1) for grid in np.meshgrid(counts, counts))
    found = Chain(tolerance=tolerance).mean(State(alpha, beta))
    assert np.abs(found - alpha / (alpha + beta)).max() <= 2 * tolerance


def test_quantiles_of_fractional_counts():
    from scipy.special import betaincinv

    counts = np.array([0.05, 0.3, 0.9, 1, 2.5, 30])
    alpha, beta = (grid.reshape(-1, 1) for grid in np.meshgrid(counts, counts))
    for level in (0.025, 0.5, 0.975):
        found = Chain().quantile(State(alpha, beta), level)
        np.testing.assert_allclose(found, betaincinv(alpha, beta, level), atol=2e-9)


@pytest.mark.parametrize(
    "prior",
    [
        [[0.001, 0.01], [0.01, 0.001]],
        [[0.01, 0.01], [0.02, 0.03], [0.3, 0.01]],
        [[1e-5, 1], [1, 1e-4]],
        [[1, 1e-3], [1e-4, 1], [1, 1], [1, 0.01]],
    ],
)
def test_exact_weights_of_tiny_counts(prior):
    """Powers of x that count where x itself is too small for a double."""
    problem = Problem(prior=prior, order="decreasing", horizon=4)
    lattice, belief = Lattice(problem.arms, 4), Chain(tolerance=1e-12)
    weights = layer_weights(problem.belief, problem, lattice, 4) / 4.0
    for here, state in lattice.layer(4).batches(problem, 1 << 16):
        log_weight = belief.log_weight(state) - betaln(*problem.prior.T).sum()
        np.testing.assert_allclose(weights[here], np.exp(log_weight), rtol=3e-12)


@pytest.mark.parametrize("prior", [[0.3, 2.5], [0.9, 3.7], [1, 2.5]])
def test_one_arm_in_order_has_no_regret(prior):
    found = solve(Problem(prior=[prior], order="decreasing", horizon=8))
    assert found.value == pytest.approx(8 * prior[0] / sum(prior), rel=1e-12)
    assert found.regret == pytest.approx(0, abs=1e-10)
