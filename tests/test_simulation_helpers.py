"""Idle threads help with a batch of states; they change no number."""

import threading
import time

import numpy as np
import pytest

from elsv import Problem, State, compare
from elsv import structure as st
from elsv.simulation.choosing import Asked, Helpers

PRICES = Problem([0.4, 0.6, 0.8, 1.0], order="decreasing", horizon=12)
GRID = Problem([0.4, 0.6, 0.8, 1.0], structure=st.grid(2, 2), horizon=6)


def summary(problem, jobs, **more):
    found = compare(problem, ["plan", "elsv", "thompson", "greedy"], 40, seed=5, jobs=jobs, **more).to_dict()
    found.pop("seconds")
    for policy in found["policies"]:
        policy.pop("microseconds_per_decision")
    return found


@pytest.mark.parametrize("problem", [PRICES, GRID], ids=["order", "grid"])
@pytest.mark.parametrize("late", [{}, {"delay": 3}, {"batch": 4}], ids=["at once", "late", "batches"])
def test_one_chunk_has_the_same_numbers_on_any_number_of_threads(problem, late):
    alone = summary(problem, 1, **late)
    assert summary(problem, 2, **late) == alone
    assert summary(problem, 5, **late) == alone


class Watching:
    """Answers with the first arm's successes, and remembers who asked for how many states."""

    merges = True

    def __init__(self):
        self.asked = []

    def __call__(self, state, step, rng, segment=None):
        self.asked.append((threading.get_ident(), len(state.alpha)))
        assert segment is None or len(segment) == len(state.alpha)
        return state.alpha[:, 0].astype(int)


def batch(states):
    return State.trusted(np.arange(1.0, 1 + 2 * states).reshape(states, 2), np.ones((states, 2)))


def test_a_batch_is_cut_where_threads_are_idle():
    policy, helpers, state = Watching(), Helpers(2), batch(50)
    with helpers.at_work():
        for rest in ((), (np.arange(50),)):
            assert np.array_equal(Asked(policy, helpers)(state, 1, None, *rest), state.alpha[:, 0])
    helpers.close()
    assert sum(size for _, size in policy.asked) == 2 * 50
    assert max(size for _, size in policy.asked) < 50
    assert threading.get_ident() not in {who for who, _ in policy.asked}


def test_nothing_is_cut_where_all_threads_have_chunks_states_are_few_or_random_numbers_are_drawn():
    policy, helpers = Watching(), Helpers(2)
    with helpers.at_work():
        Asked(policy, helpers)(batch(15), 1, None)
        with helpers.at_work():
            Asked(policy, helpers)(batch(50), 1, None)
        policy.merges = False
        Asked(policy, helpers)(batch(50), 1, None)
    assert [size for _, size in policy.asked] == [15, 50, 50]
    assert {who for who, _ in policy.asked} == {threading.get_ident()}


def test_seconds_of_parts_add_up():
    class Slow(Watching):
        def __call__(self, state, step, rng):
            time.sleep(0.02)
            return super().__call__(state, step, rng)

    helpers = Helpers(4)
    asked = Asked(Slow(), helpers)
    with helpers.at_work():
        asked(batch(64), 1, None)
    helpers.close()
    assert asked.longer > 0


def test_an_error_of_a_part_is_the_batch_s():
    class Wrong(Watching):
        def __call__(self, state, step, rng):
            if state.alpha[0, 0] > 40:
                raise ArithmeticError("past forty")
            return super().__call__(state, step, rng)

    helpers = Helpers(2)
    with helpers.at_work(), pytest.raises(ArithmeticError, match="past forty"):
        Asked(Wrong(), helpers)(batch(64), 1, None)
    helpers.close()
