"""What every belief must do, and what is particular to independent arms and to rejection sampling."""

import numpy as np
import pytest

from elsv import belief_of
from elsv.beliefs import Chain, Independent, Rejection, abilities
from elsv.errors import InvalidInputError, SamplingError
from elsv.policies.single import expected_rewards
from elsv.problem import Problem
from elsv.state import State

EXACT = [Independent(), Chain(), Chain("increasing"), Chain(tolerance=1e-6)]
BELIEFS = [*EXACT, Rejection(samples=50), Rejection("increasing", draws=100)]
ORDER = {"decreasing": -1, "increasing": 1}


def batch() -> State:
    rng = np.random.default_rng(7)
    return State(rng.integers(1, 6, (2, 3, 3)) + 0.5, rng.integers(1, 6, (2, 3, 3)))


@pytest.mark.parametrize("belief", BELIEFS, ids=repr)
def test_means_and_draws_have_the_shape_of_the_state(belief):
    state = batch()
    for result in (
        belief.mean(state, np.random.default_rng(1)),
        belief.draw(state, np.random.default_rng(1)),
    ):
        assert result.shape == (2, 3, 3)
        assert np.all((result > 0) & (result < 1))
        if hasattr(belief, "order"):
            assert np.all(ORDER[belief.order] * np.diff(result) >= -1e-9) or getattr(belief, "draws", None)


@pytest.mark.parametrize("belief", BELIEFS, ids=repr)
def test_the_same_seed_gives_the_same_numbers(belief):
    state = batch()
    for method in (belief.mean, belief.draw):
        np.testing.assert_array_equal(
            method(state, np.random.default_rng(3)), method(state, np.random.default_rng(3))
        )


@pytest.mark.parametrize("belief", EXACT, ids=repr)
def test_a_batch_is_a_loop(belief):
    state, rewards = batch(), np.array([0.5, 0.8, 0.7])
    asks = {
        "mean": lambda s: belief.mean(s),
        "variance": belief.variance,
        "quantile": lambda s: belief.quantile(s, 0.8),
        "chance": lambda s: belief.best(s, rewards)[0],
        "largest": lambda s: belief.best(s, rewards)[1],
        "log_weight": belief.log_weight,
        "error": belief.error,
    }
    for name, ask in asks.items():
        whole = ask(state)
        for where in np.ndindex(2, 3):
            one = ask(State(state.alpha[where], state.beta[where]))
            np.testing.assert_array_equal(whole[where], one, err_msg=name)


@pytest.mark.parametrize("belief", EXACT, ids=repr)
def test_answers_lie_where_they_must(belief):
    state, rewards = batch(), np.array([0.5, 0.8, 0.7])
    mean, variance = belief.mean(state), belief.variance(state)
    assert np.all((variance > 0) & (variance < mean * (1 - mean)))
    assert np.all(belief.quantile(state, 0.05) < belief.quantile(state, 0.95))
    chance, largest = belief.best(state, rewards)
    np.testing.assert_allclose(chance.sum(-1), 1)
    assert np.all(chance >= 0)
    assert np.all(largest >= (rewards * mean).max(-1) - 1e-9)
    assert np.all(largest < rewards.max())
    assert np.all(belief.error(state) < 1e-4)


@pytest.mark.parametrize("belief", EXACT, ids=repr)
def test_an_empty_batch_gives_an_empty_answer(belief):
    state = State(np.ones((0, 3)), np.ones((0, 3)))
    assert belief.mean(state).shape == (0, 3)
    assert belief.log_weight(state).shape == (0,)


def test_belief_of_a_problem_follows_its_order():
    assert belief_of(Problem([1, 1], horizon=5)) == Independent()
    assert belief_of(Problem([1, 1], order="increasing", horizon=5)) == Chain("increasing")


def test_independent_weight_splits():
    """B(α, β) = B(α+1, β) + B(α, β+1), the same identity as with an order."""
    belief, state = Independent(), State([2.5, 3.0], [1.5, 0.2])
    total = np.exp(belief.log_weight(state))
    after = [belief.log_weight(State(state.alpha + d, state.beta + e)) for d, e in (([1, 0], 0), (0, [1, 0]))]
    np.testing.assert_allclose(np.exp(after).sum(), total)


class TestRejection:
    @pytest.mark.parametrize(
        ("count", "order"), [(1.0, "decreasing"), (3.5, "increasing"), (1e-6, "decreasing")]
    )
    def test_draws_are_those_of_algorithm_4_one_by_one(self, count, order):
        state = State(np.full((4, 3), count), np.full((4, 3), 2 * count))
        found = Rejection(order, draws=30).estimate(state, np.random.default_rng(5))
        draws = np.random.default_rng(5).beta(count, 2 * count, (4, 30, 3))
        sign = 1 if order == "decreasing" else -1
        for row, mean, accepted in zip(draws, found.mean, found.accepted, strict=True):
            kept = [theta for theta in row if (sign * np.diff(theta) <= 0).all()]
            assert accepted == len(kept)
            assert mean == pytest.approx(np.mean(kept, axis=0) if kept else [1 / 3] * 3, rel=1e-12)

    def test_as_printed_it_keeps_what_passes_and_counts_where_nothing_did(self):
        likely, hopeless = State([9, 5, 1], [1, 5, 9]), State([1, 50, 99], [99, 50, 1])
        both = State(np.stack([likely.alpha, hopeless.alpha]), np.stack([likely.beta, hopeless.beta]))
        estimate = Rejection(draws=100).estimate(both, np.random.default_rng(0))
        assert estimate.accepted[0] > 80
        assert estimate.accepted[1] == 0
        assert list(estimate.drawn) == [100, 100]
        assert list(estimate.fallback) == [False, True]
        np.testing.assert_array_equal(estimate.mean[1], hopeless.mean)

    def test_by_default_it_draws_until_enough_passed(self):
        estimate = Rejection(samples=123).estimate(batch(), np.random.default_rng(0))
        assert np.all(estimate.accepted == 123)
        assert np.all(estimate.drawn >= 123)

    def test_it_gives_up_at_the_cap_and_names_the_remedy(self):
        state = State([1, 500], [500, 1])
        for ask in (Rejection(cap=1000).mean, Rejection(cap=1000).draw, Rejection(draws=10, cap=1000).draw):
            with pytest.raises(SamplingError, match="use the exact belief Chain"):
                ask(state, np.random.default_rng(0))

    def test_it_is_drawn_afresh_for_every_state(self):
        same = State(np.ones((2, 3)), np.ones((2, 3)))
        first, second = Rejection(draws=100).mean(same, np.random.default_rng(0))
        assert np.all(first != second)

    def test_it_needs_a_generator_and_sound_numbers(self):
        with pytest.raises(InvalidInputError, match="needs a generator"):
            Rejection().mean(batch())
        with pytest.raises(InvalidInputError, match="samples must be a whole number"):
            Rejection(samples=0)
        with pytest.raises(InvalidInputError, match="unknown order"):
            Rejection("sideways")


def test_a_mean_of_ones_own_is_not_replaced_by_the_parents_at_its_finest():
    class Halved(Chain):
        def mean(self, state, rng=None):
            return super().mean(state, rng) / 2

    class Structure:
        """A statement that gives the belief."""

        def describe(self):
            return "half of an order"

        def to_dict(self):
            return {"halved": True}

        def holds(self, means):
            return np.ones(np.shape(means)[:-1], bool)

        def belief(self):
            return mine

    mine = Halved()
    assert abilities.precise(mine) is mine
    assert abilities.precise(Chain("increasing")) == Chain("increasing", tolerance=1e-12)
    assert abilities.precise(Independent()) == Independent()
    problem = Problem([0.6, 1.0], horizon=4, structure=Structure())
    assert expected_rewards(problem) == pytest.approx(problem.rewards * mine.mean(State.initial(problem)))
