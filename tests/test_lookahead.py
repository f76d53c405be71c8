import sys
from fractions import Fraction
from math import comb

import numpy as np
import pytest

import paper
from elsv.beliefs import Chain, Independent, Rejection
from elsv.errors import InvalidInputError
from elsv.indices import FunctionIndex
from elsv.lattice.numbering import states_up_to
from elsv.problem import Problem
from elsv.search import lookahead
from elsv.search.lookahead import make_tree
from elsv.state import State
from elsv.values import SeparableValue

R = (Fraction(2, 5), Fraction(7, 10), Fraction(1))


def zero(state, step):
    return np.zeros(state.shape)


def bonus(a, b, t):
    return Fraction(t + 1) / (2 * Fraction(a) + Fraction(b))


INDEX = FunctionIndex(lambda a, b, t: a / (a + b) + (t + 1) / (2 * a + b))


def floats(counts):
    return State([float(a) for a, _ in counts], [float(b) for _, b in counts])


@pytest.mark.parametrize("arms", [1, 2, 3])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_merged_search_is_the_plain_recursion(arms, depth):
    rewards = R[:arms]
    prior = ((1, 1),) * arms
    problem = Problem(rewards=[float(r) for r in rewards], horizon=9)
    counts = ((2, 1), (1, 3), (1, 1))[:arms]
    step = 1 + sum(a + b - 2 for a, b in counts)
    value = SeparableValue(problem, INDEX)
    exact = paper.lookahead(
        counts, step, rewards, paper.separable_value(bonus, prior, rewards), paper.independent_mean, depth, 9
    )
    q = lookahead(problem, floats(counts), step, value, Independent(), depth)
    np.testing.assert_allclose(q, [float(x) for x in exact], atol=1e-12)


def test_depth_is_cut_at_the_horizon_and_the_frontier_has_its_own_step():
    problem = Problem(rewards=[float(r) for r in R], horizon=4)
    state = State([2, 1, 1], [1, 2, 1])
    seen = []

    def value(states, step):
        seen.append((step, states.shape))
        return np.zeros(states.shape)

    lookahead(problem, state, 3, value, Independent(), depth=5)
    assert seen == [(5, (1, comb(2 + 5, 5)))]


def test_depth_to_the_horizon_on_a_zero_value_is_the_bayes_optimum():
    horizon = 4
    exact = paper.expected_reward(((1, 1),) * 3, horizon, R, paper.independent_mean, None)
    problem = Problem(rewards=[float(r) for r in R], horizon=horizon)
    q = lookahead(problem, State.initial(problem), 1, zero, Independent(), depth=99)
    assert q.max() == pytest.approx(float(exact), abs=1e-12)


def test_optimum_of_ten_pulls_with_an_order():
    """3.6032376 for rewards .4, .7, 1: the belief respects the order at every node."""
    problem = Problem(rewards=[0.4, 0.7, 1], order="decreasing", horizon=10)
    q = lookahead(problem, State.initial(problem), 1, zero, Chain("decreasing"), depth=10)
    assert q.max() == pytest.approx(3.6032376, abs=5e-8)


def test_a_batch_is_its_instances_one_by_one():
    problem = Problem(rewards=[0.4, 0.7, 1], order="decreasing", horizon=30)
    value = SeparableValue(problem, INDEX)
    rng = np.random.default_rng(3)
    state = State.initial(problem, (2, 5))
    for _ in range(7):
        state = state.observe(rng.integers(3, size=(2, 5)), rng.random((2, 5)) < 0.5)
    for depth in (1, 3):
        batch = lookahead(problem, state, 8, value, Chain("decreasing"), depth)
        for k in np.ndindex(2, 5):
            one = lookahead(
                problem, State(state.alpha[k], state.beta[k]), 8, value, Chain("decreasing"), depth
            )
            np.testing.assert_allclose(batch[k], one, atol=1e-12)


def test_large_batches_are_cut_into_chunks_without_a_trace(monkeypatch):
    problem = Problem(rewards=[0.4, 0.7, 1], horizon=30)
    value = SeparableValue(problem, INDEX)
    rng = np.random.default_rng(4)
    state = State(1.0 + rng.integers(0, 3, (50, 3)), 1.0 + rng.integers(0, 3, (50, 3)))
    whole = lookahead(problem, state, 20, value, Independent(), 2)
    monkeypatch.setattr(sys.modules["elsv.search.lookahead"], "_CHUNK", 700)
    assert (lookahead(problem, state, 20, value, Independent(), 2) == whole).all()


def test_rejection_needs_a_generator_and_repeats_with_its_seed():
    problem = Problem(rewards=[0.4, 0.7, 1], order="decreasing", horizon=30)
    value = SeparableValue(problem, INDEX)
    belief = Rejection("decreasing", draws=100)
    state = State.initial(problem)
    with pytest.raises(InvalidInputError, match="rng"):
        lookahead(problem, state, 1, value, belief, 2)
    q = [lookahead(problem, state, 1, value, belief, 2, rng=np.random.default_rng(7)) for _ in range(2)]
    assert (q[0] == q[1]).all()


def test_the_tree_has_the_promised_number_of_states():
    assert states_up_to(3, 10) == 8008
    tree = make_tree(3, 4)
    assert len(tree.successes) == sum(comb(d + 5, 5) for d in range(5)) == states_up_to(3, 4)
    total = tree.successes.sum(axis=1) + tree.failures.sum(axis=1)
    for i in range(3):
        for won in (0, 1):
            after = tree.successors[:, i, won]
            assert (total[after] == total[: len(tree.successors)] + 1).all()
            gained = (tree.successes if won else tree.failures)[after, i]
            assert (gained == (tree.successes if won else tree.failures)[: len(tree.successors), i] + 1).all()


@pytest.mark.parametrize(
    ("depth", "step", "words"),
    [(0, 1, "depth"), (1.5, 1, "depth"), (1, 0, "step"), (1, 6, "horizon 5"), (400, 1, "states")],
)
def test_bad_searches_are_refused(depth, step, words):
    problem = Problem(rewards=[1] * 9, horizon=5) if depth != 400 else Problem(rewards=[1] * 9, discount=0.9)
    with pytest.raises(InvalidInputError, match=words):
        lookahead(problem, State.initial(problem), step, zero, Independent(), depth)
