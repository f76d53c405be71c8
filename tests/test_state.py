import numpy as np
import pytest

import paper
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.problem import Problem
from elsv.state import State, check_arms

PROBLEM = Problem(rewards=[1, 1, 1], horizon=10, prior=[[1, 1], [0.3, 2.5], [4, 1]])


def test_observe_adds_one_outcome_to_one_arm_of_each_instance():
    state = State.initial(PROBLEM, (2,))
    later = state.observe([0, 2], [True, False])
    assert later.alpha.tolist() == [[2, 0.3, 4], [1, 0.3, 4]]
    assert later.beta.tolist() == [[1, 2.5, 1], [1, 2.5, 2]]
    assert later.pulls(PROBLEM).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert later.step(PROBLEM) == 2
    assert state == State.initial(PROBLEM, (2,))


def test_pulls_are_whole_even_for_real_priors():
    state = State.initial(PROBLEM)
    for k in range(1000):
        state = state.observe(1, k % 3 == 0)
    assert state.pulls(PROBLEM).tolist() == [0, 1000, 0]
    check_arms(state, PROBLEM)


def test_equal_states_are_equal_in_both_counts_and_hash_alike():
    state = State([1, 2], [3, 4])
    assert state == State([1, 2], [3, 4])
    assert hash(state) == hash(State([1, 2], [3, 4]))
    assert state != State([1, 2], [3, 5])
    assert state != State([1, 5], [3, 4])
    assert state != "state"
    assert state.mean.tolist() == [0.25, 1 / 3]
    assert State.initial(PROBLEM, (0,)).step(PROBLEM) == 1


def test_rows_start_with_the_first_arm():
    assert State([1, 2], [3, 4]).rows()[0].tolist() == [[1, 2]]


def test_parse():
    assert State.parse("3,1 2,2.5  1,1") == State([3, 2, 1], [1, 2.5, 1])
    for text in ("", "3", "3,1 2", "3,1,2", "a,b", "3,1;2,2"):
        with pytest.raises(InvalidInputError, match="alpha,beta pairs"):
            State.parse(text)


@pytest.mark.parametrize(
    ("alpha", "beta"),
    [([1, 0], [1, 1]), ([1, np.nan], [1, 1]), ([1, np.inf], [1, 1]), ([1, 1, 1], [1, 1]), (1, 1), ("x", [1])],
)
def test_bad_counts_are_refused(alpha, beta):
    with pytest.raises(InvalidInputError, match=r"alpha|beta"):
        State(alpha, beta)


@pytest.mark.parametrize(
    "alpha", [["1", "2"], [True, 2], np.array([True, True]), [[1, 2], [1]], [10**400, 1]]
)
def test_what_is_not_a_number_is_no_count(alpha):
    with pytest.raises(InvalidInputError, match="alpha must be numbers"):
        State(alpha, [1, 1])
    with pytest.raises(InvalidInputError, match="beta must be numbers"):
        State([1, 1], alpha)


def test_a_state_is_nobody_elses_and_cannot_be_changed():
    alpha, beta = np.array([1.0, 2.0]), np.array([[1.0, 1.0], [3.0, 4.0]])
    state = State(alpha, beta)
    alpha[0] = beta[0, 0] = 7
    assert state == State([[1, 2], [1, 2]], [[1, 1], [3, 4]])
    for one in (state, State.initial(PROBLEM), State.initial(PROBLEM).observe(0, True)):
        for counts in (one.alpha, one.beta):
            with pytest.raises(ValueError, match="read-only"):
                counts[...] = 5


@pytest.mark.parametrize("turn", [1, -1])
def test_kernels_get_arrays_that_can_be_written_whoever_made_the_state(turn):
    made = State(np.arange(1.0, 13).reshape(2, 2, 3), np.ones(3))
    for state in (made, State.trusted(made.alpha.copy(), made.beta.copy())):
        alpha, beta = state.rows(turn)
        assert alpha.tolist() == made.alpha.reshape(4, 3)[:, ::turn].tolist()
        assert beta.tolist() == np.ones((4, 3)).tolist()
        for rows in (alpha, beta):
            assert rows.flags.c_contiguous
            assert rows.flags.writeable


def test_bad_outcomes_are_refused():
    state = State.initial(PROBLEM)
    for arm, success in ((3, True), (-1, True), (0.5, True), (0, 2), (0, float("nan")), (0, "yes")):
        with pytest.raises(InvalidInputError):
            state.observe(arm, success)


def test_a_state_of_another_problem_is_refused():
    with pytest.raises(InvalidInputError, match="3 arms"):
        check_arms(State([1, 1], [1, 1]), PROBLEM)
    with pytest.raises(InvalidInputError, match=r"whole number of outcomes; arm 2 has 0.7"):
        check_arms(State([1, 0.7, 4], [1, 2.5, 1]), PROBLEM)
    with pytest.raises(InvalidInputError, match="must have 3 arms"):
        State([1, 1], [1, 1]).pulls(PROBLEM)
    with pytest.raises(InvalidInputError, match="one step, got 1 to 2; pass the step"):
        State([[1, 0.3, 4], [2, 0.3, 4]], [[1, 2.5, 1]] * 2).step(PROBLEM)


def test_ties_go_to_the_first_arm_within_the_tolerance():
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 3, size=(500, 4)) * 1.0 + rng.choice([0, 1e-12, -1e-12, 1e-6], size=(500, 4))
    scores[0] = [1, np.inf, np.inf, 0]
    scores[1] = [-np.inf] * 4
    scores[2] = 1e12 + np.array([0, 1, 900, 1100])
    assert best_arm(scores).tolist() == [paper.best_arm(list(row)) for row in scores]
    assert best_arm(scores)[2] == 2


def test_a_score_that_is_not_a_number_chooses_no_arm():
    with pytest.raises(InvalidInputError, match="scores must be numbers, got NaN for arm 2"):
        best_arm(np.array([[1.0, 2.0], [3.0, np.nan]]))
    with pytest.raises(InvalidInputError, match="q must be numbers, got NaN for arm 1"):
        best_arm(np.array([np.nan, np.inf]), what="q")
    assert best_arm(np.empty((0, 3))).shape == (0,)
