"""The policies of the package: thin assemblies of beliefs, indices, values and lookahead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsv._typing import FloatArray, IntArray
from elsv.beliefs import Belief, Chain, Independent
from elsv.errors import InvalidInputError
from elsv.indices import Index, Setting
from elsv.policies.base import BestScore
from elsv.problem import Problem
from elsv.search.lookahead import lookahead
from elsv.state import State
from elsv.values import BlockCommitValue, CommitValue, SeparableValue


@dataclass(frozen=True, eq=False)
class IndexPolicy(BestScore):
    r"""Pull the arm with the largest :math:`r_i z_t(\alpha_i, \beta_i)` (paper Algorithm 2)."""

    problem: Problem
    index: Index

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return the indices of all arms, reward included."""
        return self.problem.rewards * self.index(state.alpha, state.beta, step, Setting.of(self.problem))


@dataclass(frozen=True, eq=False)
class Elsv(BestScore):
    """Lookahead on the separable value of an index (paper Algorithms 1, 3 and 4).

    With an order in the belief this is the constrained algorithm; without one and at depth 1 it is the
    index policy (Theorem 1). An arm whose bonus is infinite is pulled first, as under its index.
    """

    problem: Problem
    value: SeparableValue
    belief: Belief
    depth: int = 1

    @property
    def index(self) -> Index:
        """The index that the value is made from."""
        return self.value.index

    @property
    def merges_equal_states(self) -> bool:
        """Whether a batch is best asked once for equal states: the answer is exact and takes time."""
        return isinstance(self.belief, Chain) or (self.depth > 1 and isinstance(self.belief, Independent))

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return q of every arm; infinite for an arm that must be pulled first."""
        first = self._unpulled(state, step)
        if first is None:
            return lookahead(self.problem, state, step, self.value, self.belief, self.depth, rng=rng)
        q = np.where(first, np.inf, -np.inf)
        rest = ~first.any(axis=-1)
        if rest.any():
            ready = State.trusted(state.alpha[rest], state.beta[rest])
            q[rest] = lookahead(self.problem, ready, step, self.value, self.belief, self.depth, rng=rng)
        return q

    def _unpulled(self, state: State, step: int) -> FloatArray | None:
        """Return which arms have an infinite bonus, or None where none can have."""
        if all(self.value.table(step + 1, arm)[0] > -np.inf for arm in range(self.problem.arms)):
            return None
        infinite = np.isinf(self.index(state.alpha, state.beta, step, Setting.of(self.problem)))
        return infinite if infinite.any() else None


@dataclass(frozen=True, eq=False)
class Commit(BestScore):
    """Lookahead on the worth of committing to one arm, at once or after a block of pulls (past the paper)."""

    problem: Problem
    value: CommitValue | BlockCommitValue
    belief: Belief
    depth: int = 1

    @property
    def merges_equal_states(self) -> bool:
        """Whether a batch is best asked once for equal states: the answer is exact and takes time."""
        return True

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return q of every arm."""
        discount = 1.0 if self.problem.discount is None else self.problem.discount
        return lookahead(
            self.problem, state, step, self.value, self.belief, self.depth, discount=discount, rng=rng
        )


@dataclass(frozen=True, eq=False)
class Thompson(BestScore):
    """Draw the means from the belief, pull the arm with the largest reward times mean."""

    problem: Problem
    belief: Belief

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return one joint draw of the means, times the rewards."""
        return self.problem.rewards * self.belief.draw(state, rng)


@dataclass(frozen=True, eq=False)
class Greedy(BestScore):
    """Pull the arm with the largest expected reward under the belief."""

    problem: Problem
    belief: Belief

    @property
    def merges_equal_states(self) -> bool:
        """Whether a batch is best asked once for equal states: the answer is exact and takes time."""
        return isinstance(self.belief, Chain)

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return the expected rewards of one pull."""
        return self.problem.rewards * self.belief.mean(state, rng)


@dataclass(frozen=True, eq=False)
class Fixed:
    """Pull one arm, whatever happens."""

    problem: Problem
    arm: int  # from 0

    def __post_init__(self) -> None:
        if not 0 <= self.arm < self.problem.arms:
            raise InvalidInputError(f"arm must lie from 1 to {self.problem.arms}, got {self.arm + 1}")

    def __call__(self, state: State, step: int, rng: np.random.Generator) -> IntArray:
        """Return the arm for every instance."""
        return np.full(state.shape, self.arm, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Random:
    """Pull every arm with equal probability."""

    problem: Problem

    def __call__(self, state: State, step: int, rng: np.random.Generator) -> IntArray:
        """Return a uniform draw for every instance."""
        return rng.integers(self.problem.arms, size=state.shape)
