"""The commit values against plain loops over fractions."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paper
from elsv import Chain, Independent, InvalidInputError, Problem, State, best_arm, lookahead
from elsv.values.commit import BlockCommitValue, CommitValue
from test_solve import ordered_mean


def best_reward(problem, state):
    mean = ordered_mean(problem.order)
    return max(Fraction(r) * mean(state, i) for i, r in enumerate(problem.rewards.tolist()))


def after_block(problem, state, arm, length):
    """E[max_l r_l p_l] after `length` pulls of `arm`, one pull at a time."""
    if length == 0:
        return best_reward(problem, state)
    p = ordered_mean(problem.order)(state, arm)
    won = after_block(problem, paper.success(state, arm), arm, length - 1)
    return p * won + (1 - p) * after_block(problem, paper.failure(state, arm), arm, length - 1)


def block_commit(problem, state, step, blocks):
    left = problem.horizon - step + 1
    worth = [left * best_reward(problem, state)]
    for i, r in enumerate(problem.rewards.tolist()):
        p = ordered_mean(problem.order)(state, i)
        worth += [
            k * Fraction(r) * p + (left - k) * after_block(problem, state, i, k) for k in blocks if k <= left
        ]
    return float(max(worth))


STATES = [((1, 1), (1, 1), (1, 1)), ((3, 1), (1, 2), (2, 2)), ((1, 4), (2, 1), (1, 1))]


def batch(states):
    table = np.array(states, dtype=float)
    return State(table[..., 0], table[..., 1])


@pytest.mark.parametrize("order", [None, "decreasing", "increasing"])
@pytest.mark.parametrize("step", [7, 12])
def test_commit_is_the_best_mean_times_what_remains(order, step):
    problem = Problem([0.4, 0.7, 1.0], order, 12)
    expected = [(12 - step + 1) * float(best_reward(problem, state)) for state in STATES]
    np.testing.assert_allclose(CommitValue(problem)(batch(STATES), step), expected, atol=1e-7)


@pytest.mark.parametrize("order", [None, "decreasing", "increasing"])
@pytest.mark.parametrize(
    ("step", "blocks"), [(7, (1, 2, 4)), (7, (3,)), (11, (1, 2, 4)), (12, (1, 2)), (4, (1, 5))]
)
def test_block_commit_equals_the_loops(order, step, blocks):
    problem = Problem([0.4, 0.7, 1.0], order, 12)
    expected = [block_commit(problem, state, step, blocks) for state in STATES]
    np.testing.assert_allclose(BlockCommitValue(problem, blocks)(batch(STATES), step), expected, atol=1e-7)


@pytest.mark.parametrize("value", [CommitValue, BlockCommitValue])
@pytest.mark.parametrize("order", [None, "decreasing"])
def test_shapes_the_end_and_steps_outside(value, order):
    problem = Problem([0.4, 0.7, 1.0], order, 5)
    state = State(np.ones((2, 3, 3)), np.ones((2, 3, 3)))
    assert value(problem)(state, 1).shape == (2, 3)
    np.testing.assert_array_equal(value(problem)(state, 6), np.zeros((2, 3)))
    assert value(problem)(State(np.ones(3), np.ones(3)), 2).shape == ()
    with pytest.raises(InvalidInputError, match="step must lie from 1 to the horizon 5"):
        value(problem)(state, 7)


@pytest.mark.parametrize("blocks", [(), (0, 1), (1.5,)])
def test_blocks_are_checked(blocks):
    with pytest.raises(InvalidInputError, match="blocks must be whole numbers"):
        BlockCommitValue(Problem([1, 1], horizon=4), blocks)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.floats(0.1, 30), st.floats(0.1, 30), st.floats(0.1, 2)), min_size=1, max_size=4),
    st.integers(1, 40),
)
def test_blocks_only_add_and_never_pass_the_best_arms_worth(arms, left):
    table = np.array(arms)
    problem = Problem(table[:, 2], horizon=left, prior=table[:, :2])
    state = State.initial(problem)
    one, more = CommitValue(problem)(state, 1), BlockCommitValue(problem)(state, 1)
    assert more >= one * (1 - 1e-12)
    _, best = Independent().best(state, problem.rewards)
    assert more <= left * best * (1 + 1e-6)


def test_long_blocks_of_independent_arms_equal_the_sum_over_outcomes():
    problem = Problem([1.0, 1.0], horizon=100, prior=[[0.5, 7.0], [2.0, 9.0]])
    (value,) = BlockCommitValue(problem, (32,))(State.initial(problem, (1,)), 1)
    others, worth = [2 / 11, 0.5 / 7.5], []
    for (a, b), other in zip(problem.prior.tolist(), others, strict=True):
        total = 0.0
        for j in range(33):
            chance = float(comb(32, j))
            for u in range(j):
                chance *= (a + u) / (a + b + u)
            for u in range(32 - j):
                chance *= (b + u) / (a + b + j + u)
            total += chance * max((a + j) / (a + b + 32), other)
        worth.append(32 * a / (a + b) + 68 * total)
    assert value == pytest.approx(max(*worth, 100 * max(others)), rel=1e-12)


def test_discounted_values_count_later_rewards_less():
    problem = Problem([0.5, 0.8], discount=0.9)
    state = State([2.0, 1.0], [1.0, 1.0])
    assert float(CommitValue(problem)(state, 3)) == pytest.approx(10 * 0.4)
    block = BlockCommitValue(problem, (2,))
    worth = [10 * 0.4]
    for i, r in enumerate((0.5, 0.8)):
        pair = ((2, 1), (1, 1))
        free = Problem([0.5, 0.8], horizon=9)
        p = float(paper.independent_mean(pair, i))
        worth.append((1 + 0.9) * r * p + 8.1 * float(after_block(free, pair, i, 2)))
    assert float(block(state, 3)) == pytest.approx(max(worth), rel=1e-12)
    q = lookahead(problem, state, 3, block, Independent(), 2, discount=0.9)
    assert q.shape == (2,)


@pytest.mark.parametrize("order", [None, "decreasing"])
def test_a_chain_given_by_hand_is_the_default(order):
    problem = Problem([0.4, 0.7, 1.0], order, 9)
    belief = Independent() if order is None else Chain(order)
    for value in (CommitValue, BlockCommitValue):
        np.testing.assert_array_equal(
            value(problem)(batch(STATES), 4), value(problem, belief=belief)(batch(STATES), 4)
        )


def test_blocks_see_what_one_pull_cannot():
    """One pull of the uniform arm cannot make it better than the known one; four can."""
    problem = Problem([1.0, 1.0], horizon=40, prior=[[69.0, 31.0], [1.0, 1.0]])
    state = State.initial(problem)
    stalls = lookahead(problem, state, 1, CommitValue(problem), Independent(), 1)
    explores = lookahead(problem, state, 1, BlockCommitValue(problem), Independent(), 1)
    assert int(best_arm(stalls)) == 0
    assert int(best_arm(explores)) == 1


@pytest.mark.parametrize("order", ["decreasing", None])
def test_a_block_may_be_longer_than_binomials_are_whole_numbers(order):
    problem = Problem([0.5, 1.0], order, 500)
    value = BlockCommitValue(problem, (60, 61, 200))
    start = State.initial(problem)
    alone = [float(BlockCommitValue(problem, (k,))(start, 1)) for k in (60, 61, 200)]
    assert float(value(start, 1)) == max(alone)
    assert alone[1] == pytest.approx(alone[0], rel=0.01)


def test_a_block_without_end_is_refused():
    with pytest.raises(InvalidInputError, match="at most 10,000 pulls, got 99999999999"):
        BlockCommitValue(Problem([0.5, 1.0], discount=0.9), (99_999_999_999,))
