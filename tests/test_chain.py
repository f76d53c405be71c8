"""The exact belief under an order, against fractions, order statistics, a dense grid and identities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paper_beliefs as slow
from elsv.beliefs import Chain, Independent, Rejection
from elsv.errors import InvalidInputError
from elsv.state import State

CHAIN = Chain()
MILLION = 1e6


def close(actual, expected, tolerance=1e-8):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


def repeated(state: State, times: int) -> State:
    return State(np.tile(state.alpha, (times, 1)), np.tile(state.beta, (times, 1)))


@pytest.mark.parametrize(
    ("alpha", "beta"),
    [
        ([1, 1], [1, 1]),
        ([3, 1, 2], [1, 4, 2]),
        ([2, 5, 1, 1], [3, 1, 1, 6]),
        ([1, 8, 1], [9, 1, 2]),
        ([1, 1, 1, 1, 1], [3, 2, 1, 2, 3]),
    ],
)
def test_mean_and_weight_equal_fractions(alpha, beta):
    state = State(alpha, beta)
    close(CHAIN.mean(state), [float(p) for p in slow.mean(alpha, beta)])
    assert np.exp(CHAIN.log_weight(state)) == pytest.approx(float(slow.weight(alpha, beta)), rel=1e-8)


@pytest.mark.parametrize("arms", [1, 2, 3, 10, 13, 100, 1000])
def test_uniform_arms_are_order_statistics(arms):
    rank = np.arange(arms, 0, -1)
    state = State(np.ones(arms), np.ones(arms))
    close(CHAIN.mean(state), rank / (arms + 1))
    close(CHAIN.variance(state), rank * (arms + 1 - rank) / ((arms + 1) ** 2 * (arms + 2)))


# alpha, beta, and the stretch of logits and the number of points that the dense grid needs
HARD = [
    ([0.5, 0.01, 2.3], [0.7, 3.0, 0.2], -2500, 300, 1_000_000),
    ([0.01, 0.01], [0.01, 0.01], -3500, 3500, 1_000_000),
    ([1.0, 1.0], [MILLION, MILLION], -45, -8, 100_000),
    ([1.0, 1.0, 1.0], [MILLION, 1.0, 1.0], -45, -8, 100_000),
    ([4e5, 4e5, 4e5], [6e5, 6e5, 6e5], -0.43, -0.38, 100_000),
    ([0.1 * MILLION, 0.9 * MILLION], [0.9 * MILLION, 0.1 * MILLION], -0.02, 0.02, 1_000_000),
    ([14.0, 274_672.0], [50.0, 64_532.0], 1.38, 2.6, 1_000_000),
    ([60.0, 1.0, 1.0], [1.0, 7.0, 11.0], -35, 40, 200_000),
]


@pytest.mark.parametrize(("alpha", "beta", "low", "high", "points"), HARD)
def test_hard_states_against_a_dense_grid(alpha, beta, low, high, points):
    expected = slow.dense_mean(alpha, beta, low, high, points)
    close(CHAIN.mean(State(alpha, beta)), expected, 2e-8)
    assert CHAIN.error(State(alpha, beta)) < 1e-6


def test_conflict_at_a_million_pulls_pools_the_arms():
    many = Chain().mean(State([1e5, 9e5, 1e5, 9e5], [9e5, 1e5, 9e5, 1e5]))
    assert np.all(np.diff(many) < 0)
    close(many, 0.5, 2e-3)


counts = st.floats(-2, 3).map(lambda e: 10.0**e)
states = st.integers(1, 6).flatmap(
    lambda n: st.tuples(st.lists(counts, min_size=n, max_size=n), st.lists(counts, min_size=n, max_size=n))
)


@settings(max_examples=150)
@given(states)
def test_every_arm_splits_the_weight(pair):
    """W(s) = W(s + success_i) + W(s + failure_i) and p_i = W(s + success_i) / W(s), for every i."""
    alpha, beta = (np.array(values) for values in pair)
    state = State(alpha, beta)
    total, mean = CHAIN.log_weight(state), CHAIN.mean(state)
    one = np.eye(len(alpha))
    success = np.exp(CHAIN.log_weight(State(alpha + one, beta)) - total)
    failure = np.exp(CHAIN.log_weight(State(alpha, beta + one)) - total)
    close(success + failure, 1, 2e-7)
    close(mean, success, 2e-7)
    assert np.all(np.diff(mean) <= 1e-9)


@settings(max_examples=50)
@given(states)
def test_mirror_images_agree(pair):
    """Swapping success and failure and turning the chain round maps x to 1 - x."""
    alpha, beta = (np.array(values) for values in pair)
    mean = CHAIN.mean(State(alpha, beta))
    # Both are within twice the tolerance of 1e-8.
    close(1 - CHAIN.mean(State(beta[::-1], alpha[::-1]))[::-1], mean, 4e-8)
    close(Chain("increasing").mean(State(alpha[::-1], beta[::-1])), mean[::-1], 0)


def test_one_arm_is_the_beta_itself():
    state, alone = State([[2.5], [0.3]], [[4.0], [700.0]]), Independent()
    close(CHAIN.mean(state), alone.mean(state), 1e-10)
    np.testing.assert_allclose(CHAIN.variance(state), alone.variance(state), rtol=1e-6)
    close(CHAIN.quantile(state, 0.9), alone.quantile(state, 0.9))
    close(CHAIN.log_weight(state), alone.log_weight(state))


def test_agrees_with_rejection():
    state = State([3, 2, 4], [2, 3, 5])
    samples = 200_000
    estimate = Rejection(samples=samples).mean(state, np.random.default_rng(5))
    assert np.all(np.abs(estimate - CHAIN.mean(state)) < 5 * np.sqrt(CHAIN.variance(state) / samples))


@pytest.mark.parametrize("arms", [3, 20])
def test_draws_are_in_order_and_have_the_exact_moments(arms):
    rng = np.random.default_rng(arms)
    state = State(rng.integers(1, 9, arms), rng.integers(1, 9, arms))
    times = 60_000 if arms == 3 else 3_000
    draws = CHAIN.draw(repeated(state, times), rng)
    assert np.all(np.diff(draws, axis=-1) <= 0)
    variance = CHAIN.variance(state)
    assert np.all(np.abs(draws.mean(0) - CHAIN.mean(state)) < 5 * np.sqrt(variance / times))
    np.testing.assert_allclose(draws.var(0), variance, rtol=0.15)
    below = (draws <= CHAIN.quantile(state, 0.3)).mean(0)
    close(below, 0.3, 5 * np.sqrt(0.21 / times))


def test_draws_do_not_depend_on_chunks():
    state = repeated(State([2, 3, 1], [1, 2, 5]), 6)
    whole = CHAIN.draw(state, np.random.default_rng(1))
    rng = np.random.default_rng(1)
    parts = [CHAIN.draw(State(state.alpha[k : k + 2], state.beta[k : k + 2]), rng) for k in (0, 2, 4)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


def test_quantiles_agree_with_the_cumulative_distribution():
    """With arm 1 uniform above arm 2 uniform, P(mu_1 <= x) = x^2 and P(mu_2 <= x) = 1 - (1-x)^2."""
    state = State([1, 1], [1, 1])
    for level in (1e-4, 0.1, 0.5, 0.999):
        close(CHAIN.quantile(state, level), [level**0.5, 1 - (1 - level) ** 0.5], 2e-8)


def test_best_of_equal_rewards_is_the_first_in_the_order():
    state = State([3, 5, 2], [4, 3, 6])
    chance, largest = CHAIN.best(state, np.ones(3))
    close(chance, [1, 0, 0], 0)
    close(largest, CHAIN.mean(state)[0])
    chance, largest = Chain("increasing").best(state, np.ones(3))
    close(chance, [0, 0, 1], 0)


def test_best_of_uniform_arms_is_a_fraction():
    """With r = (1, 2) and mu_1 >= mu_2 uniform, arm 2 is best iff 2 mu_2 > mu_1: probability 1/2."""
    chance, largest = CHAIN.best(State([1, 1], [1, 1]), [1.0, 2.0])
    close(chance, [0.5, 0.5])
    # E[max] = 2 ∫∫_{x > y} max(x, 2y) = 2 (∫ x·x/2 dx + ∫ (x² - x²/4) dx) = 2 (1/6 + 1/4)
    close(largest, 5 / 6)


def test_error_falls_with_the_tolerance():
    state = State([[3.0, 40, 2], [1, 1, 1]], [[1.0, 30, 80], [1, 1, 1]])
    coarse, fine = Chain(tolerance=1e-4).error(state), Chain(tolerance=1e-12).error(state)
    assert np.all(fine < 1e-10)
    assert np.all(coarse < 1e-2)


def test_arguments_are_checked():
    state = State([1, 1], [1, 1])
    with pytest.raises(InvalidInputError, match="did you mean 'increasing'"):
        Chain("increasin")
    with pytest.raises(InvalidInputError, match="tolerance must lie between"):
        Chain(tolerance=0)
    with pytest.raises(InvalidInputError, match="level must lie strictly"):
        CHAIN.quantile(state, 1.0)
    with pytest.raises(InvalidInputError, match="rewards must be 2 positive numbers"):
        CHAIN.best(state, [1.0, 0.0])
