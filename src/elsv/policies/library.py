"""The policies of the package: thin assemblies of beliefs, indices, values and lookahead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsv._base.inheritance import still_holds
from elsv._base.typing import FloatArray, IntArray, Rng
from elsv.beliefs import Belief
from elsv.beliefs.abilities import best_in_groups, factors, weighs
from elsv.errors import InvalidInputError
from elsv.indices import Index, Setting, make_index
from elsv.indices.tables import IndexTables
from elsv.lattice.numbering import Layer
from elsv.lattice.sweeps import Sweeps
from elsv.policies.base import BasePolicy, BeliefScore, BestScore, check_bound
from elsv.policies.layers import ByChance, ByChances, ByIndex, OneArm, OneStep, OnLayers, Search
from elsv.policies.offered import Segment, offered, within_segments
from elsv.problem import Problem
from elsv.search.lookahead import lookahead
from elsv.state import State, check_width
from elsv.values import BlockCommitValue, CommitValue, SeparableValue

CHANCE_TOLERANCE = 1e-4
"""Largest error of the probabilities with which Thompson sampling is said to pull each arm.

They are what a campaign draws from and logs, so that its propensities are exact whatever this is. Measured,
the errors are a thousandth of it, and another two digits would double the time of a decision."""


@dataclass(frozen=True, eq=False)
class IndexPolicy(BestScore):
    r"""Pull the arm with the largest :math:`r_i z_t(\alpha_i, \beta_i)` (paper Algorithm 2)."""

    problem: Problem
    index: Index

    def scores(self, state: State, step: int, rng: Rng) -> FloatArray:
        """Return the indices of all arms, reward included."""
        check_width(state, self.problem)
        setting = Setting.of(self.problem, alone=state.shape == ())
        return self.problem.rewards * self.index(state.alpha, state.beta, step, setting)

    def bonus(self, state: State, step: int) -> FloatArray | None:
        """Return reward times index minus mean, ``[..., N]``."""
        return _bonus(self.problem, self.index, state, step)

    deterministic = True  # an index draws nothing

    @property
    def index_alone(self) -> Index:
        """The index."""
        return self.index

    def on_layers(self, problem: Problem) -> OnLayers:
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
        first = self._unpulled(state, step)
        if first is None:
            return lookahead(self.problem, state, step, self.value, self.belief, self.depth, rng=rng)
        q = np.where(first, np.inf, -np.inf)
        if self.problem.segments.count > 1:  # who has come may find all arms on offer pulled
            index = self.index(state.alpha, state.beta, step, Setting.of(self.problem))
            q = np.asarray(self.problem.rewards * index)
        rest = ~first.any(axis=-1)
        if rest.any():
            q[rest] = lookahead(
                self.problem, state.part(rest), step, self.value, self.belief, self.depth, rng=rng
            )
        return q

    def bonus(self, state: State, step: int) -> FloatArray | None:
        """Return reward times index minus mean, ``[..., N]``."""
        return _bonus(self.problem, self.index, state, step)

    def on_layers(self, problem: Problem) -> OnLayers:
        """Return one sweep for one step on the problem's own belief, else sweeps from the frontier."""
        if not _sweepable(self.belief):
            return super().on_layers(problem)
        one_segment = problem.segments.count == 1
        quick = self.depth == 1 and one_segment and still_holds(self.value, "one_step", "__call__")
        if quick and self.belief == problem.belief and not factors(self.belief):
            return OneStep(self.value)
        return Search(self.value, self.belief, self.depth, self._first_tables(problem))

    def _first_tables(self, problem: Problem) -> IndexTables | None:
        """Return the tables of an index that is infinite for an arm never pulled, else None."""
        at_first = self.index(problem.prior[:, 0], problem.prior[:, 1], 1, Setting.of(problem))
        return IndexTables(problem, self.index, problem.steps) if np.isinf(at_first).any() else None

    def _unpulled(self, state: State, step: int) -> FloatArray | None:
        """Return which arms have an infinite bonus, or None where none can have."""
        if not self.value.infinite(step + 1):
            return None
        infinite = np.isinf(self.index(state.alpha, state.beta, step, Setting.of(self.problem)))
        return infinite if infinite.any() else None


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
        check_width(state, self.problem)
        discount = 1.0 if self.problem.discount is None else self.problem.discount
        return lookahead(
            self.problem, state, step, self.value, self.belief, self.depth, discount=discount, rng=rng
        )

    def on_layers(self, problem: Problem) -> OnLayers:
        """Return sweeps from the frontier."""
        if not _sweepable(self.belief):
            return super().on_layers(problem)
        return Search(self.value, self.belief, self.depth)


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

    def on_layers(self, problem: Problem) -> OnLayers:
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

    def on_layers(self, problem: Problem) -> OnLayers:
        """Return one sweep where the belief is the problem's own or that of independent arms."""
        if not _sweepable(self.belief):
            return super().on_layers(problem)
        if factors(self.belief):
            return ByIndex(IndexTables(problem, make_index("greedy"), problem.steps))
        quick = problem.segments.count == 1 and self.belief == problem.belief
        return OneStep() if quick else Search(NoValue(), self.belief)


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
        if not segments.stated and len(self.arms) != 1:
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

    def on_layers(self, problem: Problem) -> OnLayers:
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

        def equal(arms: list[int]) -> FloatArray:
            return np.full((*state.shape, len(arms)), 1.0 / len(arms))

        return within_segments(self.problem.segments, self.problem.arms, equal)

    def on_layers(self, problem: Problem) -> OnLayers:
        """Return equal probabilities."""
        return ByChances(self)


@dataclass(frozen=True)
class NoValue:
    """Nothing is worth anything after the present pull: one step of lookahead on it is greedy."""

    def __call__(self, state: State, step: int) -> FloatArray:
        """Return zeros, shape ``[...]``."""
        return np.zeros(state.shape)

    def on_layer(self, sweeps: Sweeps, layer: Layer, belief: Belief) -> FloatArray:
        """Return zeros in all states of a layer."""
        nothing = sweeps.take(layer.size)
        nothing[:] = 0.0
        return nothing


def _sweepable(belief: Belief) -> bool:
    """Return whether whole layers can be swept under the belief; raise if it does not repeat itself."""
    if getattr(belief, "repeats", True) is False:
        raise InvalidInputError(
            f"exact evaluation needs a belief that gives one answer for one state, got {belief!r}; "
            "leave belief= out, or simulate the policy"
        )
    return weighs(belief)


def _bonus(problem: Problem, index: Index, state: State, step: int) -> FloatArray:
    value = index(state.alpha, state.beta, step, Setting.of(problem, alone=state.shape == ()))
    return np.asarray(problem.rewards * (value - state.mean))
