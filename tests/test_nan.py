"""A function of the user's own that answers NaN is refused at every door; it never means the first arm."""

from dataclasses import dataclass

import numpy as np
import pytest

from elsv.beliefs import Independent
from elsv.errors import InvalidInputError
from elsv.exact import evaluate
from elsv.indices import FunctionIndex, Setting, make_index
from elsv.indices.tables import StepPanels
from elsv.live import Bandit
from elsv.policies import BestScore, Elsv, IndexPolicy
from elsv.policies.layers import Search
from elsv.problem import Problem
from elsv.search.lookahead import lookahead
from elsv.simulation.compare import compare
from elsv.state import State
from elsv.values import SeparableValue

PROBLEM = Problem(rewards=[0.5, 1.0], horizon=4)
PULLED = State([2, 1], [1, 1])


def after_a_success(alpha, beta, step):
    return np.where(alpha > 1, np.nan, alpha / (alpha + beta))


@dataclass(frozen=True)
class OwnIndex:
    """An index as a class, without the checks of `FunctionIndex`."""

    uses_step: bool

    def __call__(self, alpha, beta, step, setting):
        return after_a_success(alpha, beta, step)

    def prepare(self, setting, pulls):
        pass


@dataclass(frozen=True, eq=False)
class OwnScores(BestScore):
    problem: Problem

    def scores(self, state, step, rng):
        return state.mean * np.array([1.0, np.nan if step == 2 else 1.0])


INDICES = [
    FunctionIndex(after_a_success),
    FunctionIndex(after_a_success, False),
    OwnIndex(True),
    OwnIndex(False),
]


def test_a_function_as_index_says_where():
    with pytest.raises(InvalidInputError, match="NaN at alpha=2, beta=1, step 3"):
        FunctionIndex(after_a_success)(PULLED.alpha, PULLED.beta, 3, Setting.of(PROBLEM))


@pytest.mark.parametrize(
    ("answer", "words"),
    [("0.5", "must be numbers"), (True, "must be numbers"), (np.ones(3), "one number for each state")],
)
def test_a_function_as_index_must_answer_with_numbers(answer, words):
    index = make_index(lambda alpha, beta, step: answer)
    with pytest.raises(InvalidInputError, match=f"an index .*{words}"):
        index(PULLED.alpha, PULLED.beta, 1, Setting.of(PROBLEM))


@pytest.mark.parametrize("index", INDICES)
def test_an_index_in_a_policy(index):
    policy, rng = IndexPolicy(PROBLEM, index), np.random.default_rng(0)
    with pytest.raises(InvalidInputError, match="NaN"):
        policy(PULLED, 2, rng)
    with pytest.raises(InvalidInputError, match="NaN"):
        compare(PROBLEM, {"own": policy}, instances=20)
    with pytest.raises(InvalidInputError, match="NaN"):
        evaluate(PROBLEM, policy)
    with pytest.raises(InvalidInputError, match="NaN"):
        Bandit(PROBLEM, policy, state=PULLED).explain()
    with pytest.raises(InvalidInputError, match="NaN at alpha=2"):
        Elsv(PROBLEM, SeparableValue(PROBLEM, index), Independent())(PULLED, 2, rng)


def test_an_index_that_is_interpolated_in_the_step():
    panels = StepPanels(after_a_success, np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0]), 2)
    for step in (2, 40):
        with pytest.raises(InvalidInputError, match=f"NaN at alpha=2, beta=1, step {step}"):
            panels(step)


def test_scores_of_a_policy():
    policy = OwnScores(PROBLEM)
    words = "scores of OwnScores at step 2 must be numbers, got NaN for arm 2"
    with pytest.raises(InvalidInputError, match=words):
        policy(PULLED, 2, np.random.default_rng(0))
    for run in (
        lambda: compare(PROBLEM, {"own": policy}, instances=20),
        lambda: evaluate(PROBLEM, policy),
        lambda: Bandit(PROBLEM, policy, state=PULLED).explain(),
    ):
        with pytest.raises(InvalidInputError, match=words):
            run()


def test_a_value_function():
    def worth(state, step):
        return np.where(state.alpha[..., 0] > 2, np.nan, 1.0)

    with pytest.raises(InvalidInputError, match="NaN from worth at step 3"):
        lookahead(PROBLEM, PULLED, 2, worth, Independent())
    with pytest.raises(InvalidInputError, match="NaN from worth at step"):
        evaluate(PROBLEM, [Search(worth, Independent())])
