"""The policies of the package: thin assemblies of beliefs, indices, values and lookahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elsv._base.inheritance import still_holds
from elsv._base.typing import FloatArray, IntArray, Rng
from elsv.beliefs import Belief
from elsv.beliefs.abilities import best_in_groups, factors, weighs
from elsv.errors import InvalidInputError
from elsv.indices import Index, Setting, make_index
from elsv.indices.tables import IndexTables
from elsv.policies.base import BasePolicy, BeliefScore, BestScore, Segment, check_bound, offered
from elsv.policies.layers import ByChance, ByIndex, LayerPolicy, OneArm, Search, by_chances
from elsv.problem import Problem
from elsv.search.lookahead import lookahead
from elsv.state import State, check_width
from elsv.values import BlockCommitValue, CommitValue, SeparableValue
from elsv.values.base import names_sweep

CHANCE_TOLERANCE = 1e-4
"""Largest error of the probabilities with which Thompson sampling is said to pull each arm.

They are what a campaign draws from and logs, so that its propensities are exact whatever this is. Measured,
the errors are a thousandth of it, and another two digits would double the time of a decision."""


def _values(policy: Any, state: State, step: int) -> FloatArray:
    """Return the index of every arm, ``[..., N]``, of a policy that has one."""
    setting = Setting.of(policy.problem, alone=state.shape == ())
    return np.asarray(policy.index(state.alpha, state.beta, step, setting))


def _bonus(policy: Any, state: State, step: int) -> FloatArray:
    """Return reward times index minus mean, ``[..., N]``."""
    return np.asarray(policy.problem.rewards * (_values(policy, state, step) - state.mean))


@dataclass(frozen=True, eq=False)
class IndexPolicy(BestScore):
    r"""Pull the arm with the largest :math:`r_i z_t(\alpha_i, \beta_i)` (paper Algorithm 2)."""

    problem: Problem
    index: Index

    def scores(self, state: State, step: int, rng: Rng) -> FloatArray:
        """Return the indices of all arms, reward included."""
        check_width(state, self.problem)
        return self.problem.rewards * _values(self, state, step)

    bonus = _bonus
    deterministic = True  # an index draws nothing

    @property
    def index_alone(self) -> Index:
        """The index."""
        return self.index

    def on_layers(self, problem: Problem) -> LayerPolicy:
        """Return a look into tables of the index."""
        return ByIndex(IndexTables(problem, self.index, problem.steps))


@dataclass(frozen=True, eq=False)
class Elsv(BeliefScore, chooses_alike=True):
    """Lookahead on the separable value of an index (paper Algorithms 1, 3 and 4).

    With an order in the belief this is the constrained algorithm; without one and at depth 1 it is the
    index policy (Theorem 1). An arm whose bonus is infinite is pulled first, as under its index; with
    segments the index decides until no arm has one.
    """

    problem: Problem
    value: SeparableValue
    belief: Belief
    depth: int = 1

    def __post_init__(self) -> None:
        check_bound(self.value, self.problem)

    @property
    def index(self) -> Index:
        """The index that the value is made from."""
        return self.value.index

    @property
    def costly(self) -> bool:
        """Unless it is one step on independent arms."""
        return self.depth > 1 or not factors(self.belief)

    def scores(self, state: State, step: int, rng: Rng) -> FloatArray:
        """Return q of every arm; infinite for an arm that must be pulled first."""
        check_width(state, self.problem)

        def search(some: State) -> FloatArray:
            return lookahead(self.problem, some, step, self.value, self.belief, self.depth, rng=rng)

        if not self.value.infinite(step + 1):
            return search(state)
        index = self.index(state.alpha, state.beta, step, Setting.of(self.problem))
        first = np.isinf(index)
        if not first.any():
            return search(state)
        # With segments who has come may find all arms on offer pulled.
        one = self.problem.segments.count == 1
        q = np.where(first, np.inf, -np.inf) if one else np.asarray(self.problem.rewards * index)
        rest = ~first.any(axis=-1)
        if rest.any():
            q[rest] = search(state.part(rest))
        return q

    bonus = _bonus

    def on_layers(self, problem: Problem) -> LayerPolicy:
        """Return sweeps from the frontier; an arm whose index is infinite when never pulled comes first."""
        if not _sweepable(self.belief):
            return super().on_layers(problem)
        if self.depth == 1 and _in_place(problem, self.belief) and names_sweep(self.value):
            return Search(self.value, self.belief, in_place=True)
        at_first = self.index(problem.prior[:, 0], problem.prior[:, 1], 1, Setting.of(problem))
        tables = IndexTables(problem, self.index, problem.steps) if np.isinf(at_first).any() else None
        return Search(self.value, self.belief, self.depth, tables)


@dataclass(frozen=True, eq=False)
class Commit(BestScore):
    """Lookahead on the worth of committing to one arm, at once or after a block of pulls."""

    problem: Problem
    value: CommitValue | BlockCommitValue
    belief: Belief
    depth: int = 1

    def __post_init__(self) -> None:
        check_bound(self.value, self.problem)

    deterministic = True  # a belief that draws is asked once
    costly = True

    def scores(self, state: State, step: int, rng: Rng) -> FloatArray:
        """Return q of every arm."""
        where, discount = (self.problem, state, step), self.problem.discount or 1.0
        return lookahead(*where, self.value, self.belief, self.depth, discount=discount, rng=rng)

    def on_layers(self, problem: Problem) -> LayerPolicy:
        """Return sweeps from the frontier."""
        whole = _sweepable(self.belief)
        return Search(self.value, self.belief, self.depth) if whole else super().on_layers(problem)


@dataclass(frozen=True, eq=False)
class Thompson(BestScore):
    """Draw the means from the belief, pull the arm with the largest reward times mean."""

    problem: Problem
    belief: Belief

    def scores(self, state: State, step: int, rng: Rng) -> FloatArray:
        """Return one joint draw of the means, times the rewards."""
        check_width(state, self.problem)
        return self.problem.rewards * self.belief.draw(state, rng)

    def chances(self, state: State, step: int) -> FloatArray:
        """Return the probability that each arm is drawn as the best one of its segment, ``[..., N]``."""
        check_width(state, self.problem)
        groups = self.problem.segments.groups
        return best_in_groups(self.belief, state, self.problem.rewards, groups, CHANCE_TOLERANCE)[0]

    def on_layers(self, problem: Problem) -> LayerPolicy:
        """Return each arm with the probability that it is best."""
        if not still_holds(self.belief, "log_weight", "mean", "draw"):
            return super().on_layers(problem)
        return ByChance(self.belief)


@dataclass(frozen=True, eq=False)
class Greedy(BeliefScore, chooses_alike=True):
    """Pull the arm with the largest expected reward under the belief."""

    problem: Problem
    belief: Belief

    def scores(self, state: State, step: int, rng: Rng) -> FloatArray:
        """Return the expected rewards of one pull."""
        check_width(state, self.problem)
        return self.problem.rewards * self.belief.mean(state, rng)

    def on_layers(self, problem: Problem) -> LayerPolicy:
        """Return one sweep where the belief is the problem's own or that of independent arms."""
        if not _sweepable(self.belief):
            return super().on_layers(problem)
        if factors(self.belief):
            return ByIndex(IndexTables(problem, make_index("greedy"), problem.steps))
        return Search(None, self.belief, in_place=_in_place(problem, self.belief))


@dataclass(frozen=True, eq=False)
class Fixed(BasePolicy):
    """Pull one arm, whatever happens; with segments one arm for each of them."""

    problem: Problem
    arm: int | tuple[int, ...]  # from 0

    def __post_init__(self) -> None:
        for arm in self.arms:
            if not 0 <= arm < self.problem.arms:
                raise InvalidInputError(f"arm must lie from 1 to {self.problem.arms}, got {arm + 1}")
        segments = self.problem.segments
        if not segments.names and len(self.arms) != 1:
            raise InvalidInputError(f"fixed takes one arm where there are no segments, got {len(self.arms)}")
        if sorted(segments.of_arm[list(self.arms)]) != list(range(segments.count)):
            named = "+".join(str(group[0] + 1) for group in segments.groups)
            raise InvalidInputError(
                f"fixed needs one arm for each segment ({', '.join(segments.names)}), such as "
                f"fixed:arm={named}, got {'+'.join(str(arm + 1) for arm in self.arms)}"
            )
        object.__setattr__(self, "arm", tuple(sorted(self.arms, key=lambda arm: segments.of_arm[arm])))

    @property
    def arms(self) -> tuple[int, ...]:
        """The arm, or that of each segment in their order."""
        return (self.arm,) if isinstance(self.arm, int) else self.arm

    def __call__(self, state: State, step: int, rng: Rng, segment: Segment = None) -> IntArray:
        """Return the arm for every instance."""
        check_width(state, self.problem)
        came = self.problem.segments.numbers(segment)
        return np.broadcast_to(np.array(self.arms)[came], state.shape).astype(np.int64)

    deterministic = True

    def on_layers(self, problem: Problem) -> LayerPolicy:
        """Return the arm for all states."""
        return OneArm(self.arm)


@dataclass(frozen=True, eq=False)
class Random(BasePolicy):
    """Pull every arm on offer with equal probability."""

    problem: Problem

    def __call__(self, state: State, step: int, rng: Rng, segment: Segment = None) -> IntArray:
        """Return a uniform draw for every instance."""
        check_width(state, self.problem)
        mask = offered(self.problem, segment, state.shape)
        if mask is None:
            return rng.integers(self.problem.arms, size=state.shape)
        place = rng.integers(mask.sum(axis=-1))  # among the arms on offer
        return np.asarray((np.cumsum(mask, axis=-1) > place[..., None]).argmax(axis=-1))

    def chances(self, state: State, step: int) -> FloatArray:
        """Return equal probabilities within a segment, ``[..., N]``."""
        check_width(state, self.problem)
        segments = self.problem.segments
        return np.asarray(np.ones(state.alpha.shape) / segments.masks.sum(axis=1)[segments.of_arm])

    on_layers = by_chances


def _in_place(problem: Problem, belief: Belief) -> bool:
    """Return whether one step of lookahead on the belief is a sweep of the CPU."""
    return problem.segments.count == 1 and belief == problem.belief and not factors(belief)


def _sweepable(belief: Belief) -> bool:
    """Return whether whole layers can be swept under the belief; raise if it does not repeat itself."""
    if getattr(belief, "repeats", True) is False:
        raise InvalidInputError(
            f"exact evaluation needs a belief that gives one answer for one state, got {belief!r}; "
            "leave belief= out, or simulate the policy"
        )
    return weighs(belief)
