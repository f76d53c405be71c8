"""What a policy is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from elsv._typing import FloatArray, IntArray
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.problem import Problem
from elsv.state import State


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
    """Shared by every policy that compares scores."""

    problem: Problem

    @abstractmethod
    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return what the policy compares, shape ``[..., N]``."""

    def __call__(self, state: State, step: int, rng: np.random.Generator) -> IntArray:
        """Return the arm with the best score for every instance."""
        if state.arms != self.problem.arms:
            raise InvalidInputError(f"state must have {self.problem.arms} arms, got {state.arms}")
        return best_arm(self.scores(state, step, rng), self.problem.scale)


@dataclass(frozen=True, eq=False)
class FunctionPolicy:
    """A user's own function of (state, step, rng), its answers checked."""

    problem: Problem
    function: Callable[[State, int, np.random.Generator], object]

    def __call__(self, state: State, step: int, rng: np.random.Generator) -> IntArray:
        """Return the function's arms, broadcast to the batch."""
        arms = np.asarray(self.function(state, step, rng))
        if arms.dtype.kind not in "iu" or arms.size == 0 or arms.min() < 0 or arms.max() >= self.problem.arms:
            raise InvalidInputError(
                f"a policy must return whole numbers from 0 to {self.problem.arms - 1}, got {arms!r}"
            )
        return np.broadcast_to(arms, state.shape).astype(np.int64)
