"""What a policy is: something that picks an arm, and what else it may say of itself.

Only the call is required. `scores` lets `explain` show what was compared, `bonus` what exploring adds,
`merges_equal_states` lets a simulation ask once for equal states, `draws_nothing` spares a campaign a
generator for every customer, `tabulated` names the index whose table is all that choosing takes, and
`on_layers` gives exact evaluation a quicker way than state by state. `BestScore` has a default for each. In a
problem with segments the call has a fourth argument, who has come, and scores are compared among the arms on
offer (`elsv.policies.offered`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from elsv._base.typing import FloatArray, IntArray
from elsv.errors import InvalidInputError
from elsv.indices.base import Index
from elsv.policies.layers import OnLayers, StateByState, check_answer
from elsv.policies.offered import Segment, best_offered, check_offered, takes_segment
from elsv.problem import Problem, same_task
from elsv.state import State, check_width


class Policy(Protocol):
    """Anything that picks an arm for every instance of a batch."""

    def __call__(self, state: State, step: int, rng: np.random.Generator) -> IntArray:
        """Return the arm to pull at `step` (from 1), numbered from 0, shape ``[...]``."""
        ...


@runtime_checkable
class ScoringPolicy(Policy, Protocol):
    """A policy that pulls the arm with the best score (ties: `elsv.choice.best_arm`)."""

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return what the policy compares, shape ``[..., N]``."""
        ...


class BestScore(ABC):
    """Shared by every policy that compares scores; a subclass gives `problem` and `scores`."""

    problem: Problem

    @property
    def merges_equal_states(self) -> bool:
        """Whether a batch is best asked once for equal states: the answer repeats and takes time."""
        return False

    @abstractmethod
    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return what the policy compares, shape ``[..., N]``."""

    @property
    def draws_nothing(self) -> bool:
        """Whether the answer does not depend on the generator."""
        return False

    @property
    def tabulated(self) -> Index | None:
        """The index whose table is all that choosing takes, for policies that need nothing else."""
        return None

    def bonus(self, state: State, step: int) -> FloatArray | None:
        """Return what exploring adds to the expected reward of each arm ``[..., N]``, or None."""
        return None

    def on_layers(self, problem: Problem) -> OnLayers:
        """Return how the policy acts on whole layers of the lattice; by default state by state."""
        return StateByState(self)

    def __call__(
        self, state: State, step: int, rng: np.random.Generator, segment: Segment = None
    ) -> IntArray:
        """Return the arm with the best score for every instance."""
        check_width(state, self.problem)
        scores = check_scores(self.scores(state, step, rng), state)
        what = f"scores of {type(self).__name__} at step {step}"
        return best_offered(self.problem, scores, segment, what)


@dataclass(frozen=True, eq=False)
class FunctionPolicy:
    """A user's own function of (state, step, rng), its answers checked."""

    problem: Problem
    function: Callable[[State, int, np.random.Generator], object]

    @property
    def merges_equal_states(self) -> bool:
        """What the function says of itself; by default every instance is asked."""
        return bool(getattr(self.function, "merges_equal_states", False))

    @property
    def pending(self) -> str:
        """What the function says of open decisions (`elsv.policies.pending`); by default it expects them."""
        return str(getattr(self.function, "pending", "expect"))

    def __call__(
        self, state: State, step: int, rng: np.random.Generator, segment: Segment = None
    ) -> IntArray:
        """Return the function's arms, broadcast to the batch.

        In a problem with segments a function is told who has come if it has an argument `segment`.
        """
        check_width(state, self.problem)
        told = (
            {}
            if not self.problem.segments.stated or not takes_segment(self.function)
            else {"segment": segment}
        )
        arms = check_answer(self.function(state, step, rng, **told), state)
        return check_offered(self.problem, arms, segment)

    def on_layers(self, problem: Problem) -> OnLayers:
        """Return that it is asked state by state."""
        return StateByState(self)


class ScoringFunctionPolicy(FunctionPolicy):
    """A user's own policy object that also has `scores`."""

    def __call__(
        self, state: State, step: int, rng: np.random.Generator, segment: Segment = None
    ) -> IntArray:
        """Return the object's arms, or the best score on offer where it cannot be told who has come."""
        if not self.problem.segments.stated or takes_segment(self.function):
            return super().__call__(state, step, rng, segment)
        what = f"scores of {type(self.function).__name__} at step {step}"
        return best_offered(self.problem, self.scores(state, step, rng), segment, what)

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return the object's scores, their shape checked."""
        check_width(state, self.problem)
        return check_scores(self.function.scores(state, step, rng), state)  # type: ignore[attr-defined]


def own_policy(policy: object, problem: Problem) -> Policy:
    """Return a user's function or object as a policy of `problem`, or raise if it cannot be one."""
    if not callable(policy) or isinstance(policy, type):
        raise InvalidInputError(f"a policy must be a name or a function (state, step, rng), got {policy!r}")
    check_bound(policy, problem)
    if hasattr(policy, "on_layers") and (not problem.segments.stated or takes_segment(policy)):
        return policy
    return (ScoringFunctionPolicy if hasattr(policy, "scores") else FunctionPolicy)(problem, policy)


def check_bound(thing: object, problem: Problem) -> None:
    """Raise if a policy or value was made for another problem; names of arms may differ."""
    bound = getattr(thing, "problem", problem)
    if isinstance(bound, Problem) and bound is not problem and not same_task(bound, problem):
        raise InvalidInputError(
            f"{type(thing).__name__} is bound to another problem ({bound!r}, not {problem!r}); "
            "make it for this one"
        )


def acts_as(policy: object, owner: type) -> bool:
    """Return whether a policy chooses as `owner` does: no subclass has its own scores or call."""
    parts = [part for part in ("scores", "__call__") if hasattr(owner, part)]
    return all(getattr(type(policy), part) is getattr(owner, part) for part in parts)


def check_scores(scores: object, state: State) -> FloatArray:
    """Return scores ``[..., N]`` if there is one number for each arm of each state."""
    found = np.asarray(scores, dtype=np.float64)
    if found.shape != state.alpha.shape:
        raise InvalidInputError(
            f"scores must have one number for each arm, shape {state.alpha.shape}, got shape {found.shape}"
        )
    return found
