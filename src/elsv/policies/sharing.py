r"""Two alternatives to sharing what segments teach about each other.

`Separate` gives every segment a bandit of its own, which knows what is known of its arms among themselves and
how many of its customers are still to come, :math:`q_g (T - t + 1)`. `Pooled` is one bandit that does not
look at who comes: the k-th arms of all segments are one level, whose successes are counted together. Both are
policies of the problem with segments, so that they can be compared with others (`elsv.compare_sharing`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from elsv._base.typing import AnyArray, IntArray, Rng
from elsv.beliefs.base import Order
from elsv.beliefs.ladder.ranking import closure, covers
from elsv.errors import InvalidInputError
from elsv.policies.base import BasePolicy, Segment, discount_within, distinct_states
from elsv.policies.layers import check_answer
from elsv.problem import Problem
from elsv.segments import Segments
from elsv.state import State, check_width
from elsv.structure.base import Free
from elsv.structure.facts import Facts, ranking_of, steps


@dataclass(frozen=True, eq=False)
class Separate(BasePolicy):
    """One bandit for each segment, made for its own problem."""

    problem: Problem
    name: Any
    make: Any = field(repr=False)  # (name, problem) -> policy
    _parts: tuple[Problem, ...] = field(init=False, repr=False)
    _known: dict[tuple[int, int | None], Any] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        segments = segments_of(self.problem, "separate")
        object.__setattr__(self, "_parts", tuple(part_of(self.problem, arms) for arms in segments.groups))
        for g in range(segments.count):
            self._policy(g, self.problem.horizon)

    costly = True

    @property
    def deterministic(self) -> bool:
        """If its bandits are."""
        return bool(self._policy(0, self.problem.horizon).deterministic)

    def __call__(self, state: State, step: int, rng: Rng, segment: Segment = None) -> IntArray:
        """Return the arm that each segment's own bandit chooses."""
        check_width(state, self.problem)
        segments, horizon = self.problem.segments, self.problem.horizon
        came = np.broadcast_to(segments.numbers(segment), state.shape).reshape(-1)
        rows = State.trusted(*state.rows())
        coming = segments.chances_in(rows, self.problem)
        out = np.empty(len(came), dtype=np.int64)
        for g, arms in enumerate(map(np.array, segments.groups)):
            here, prior = np.flatnonzero(came == g), self.problem.prior[arms]
            own = rows.part(np.ix_(here, arms))
            gained = own.alpha - prior[:, 0] + own.beta - prior[:, 1]
            made = np.rint(gained.sum(axis=1)).astype(np.int64)
            left = np.zeros_like(made)  # customers that a segment's bandit may expect
            if horizon is not None:
                left = np.maximum(np.rint(coming[here, g] * (horizon - step + 1)).astype(np.int64), 1)
            for pulls, rest in np.unique(np.stack([made, left], axis=1), axis=0).tolist():
                same = (made == pulls) & (left == rest)
                policy = self._policy(g, None if horizon is None else pulls + rest)
                out[here[same]] = arms[_ask_once(policy, own.part(same), pulls + 1, rng)]
        return out.reshape(state.shape)

    def _policy(self, g: int, end: int | None) -> Any:
        if (g, end) not in self._known:
            part = self._parts[g] if end is None else self._parts[g].with_horizon(end)
            self._known[g, end] = self.make(self.name, part)
        return self._known[g, end]


@dataclass(frozen=True, eq=False)
class Pooled(BasePolicy):
    """One bandit for all segments: their k-th arms are one level."""

    problem: Problem
    name: Any
    make: Any = field(repr=False)  # (name, problem) -> policy
    _levels: Problem = field(init=False, repr=False)
    _policy: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_levels", pooled_problem(self.problem))
        object.__setattr__(self, "_policy", self.make(self.name, self._levels))

    costly = True

    @property
    def deterministic(self) -> bool:
        """If its bandit is."""
        return bool(self._policy.deterministic)

    def __call__(self, state: State, step: int, rng: Rng, segment: Segment = None) -> IntArray:
        """Return the level that the bandit of all customers chooses, as an arm of who has come."""
        check_width(state, self.problem)
        groups = np.array(self.problem.segments.groups)  # [G, L]
        both = zip(state.rows(), self.problem.prior.T, self._levels.prior.T, strict=True)
        counts = (start + (seen - prior)[:, groups].sum(axis=1) for seen, prior, start in both)
        levels = _ask_once(self._policy, State.trusted(*counts), step, rng)
        came = np.broadcast_to(self.problem.segments.numbers(segment), state.shape).reshape(-1)
        return np.asarray(groups[came, levels].reshape(state.shape))


def segments_of(problem: Problem, owner: str) -> Segments:
    """Return the segments of a problem, which must have some."""
    if not problem.segments.names:
        raise InvalidInputError(
            f"{owner} needs segments, such as segments=[[1, 2], [3, 4]]; without them there is one bandit"
        )
    return problem.segments


def part_of(problem: Problem, arms: tuple[int, ...]) -> Problem:
    """Return the problem of some arms alone, with what is known of them among themselves."""
    own = list(arms)
    return Problem(
        problem.rewards[own],
        prior=problem.prior[own],
        names=[problem.names[arm] for arm in own],
        structure=_stated(_facts(problem), [own]),
        horizon=problem.horizon,
        discount=discount_within(problem, int(problem.segments.of_arm[own[0]])),
    )


def pooled_problem(problem: Problem) -> Problem:
    """Return the problem of levels: what they pay is weighed by who comes, what is known holds for all."""
    segments = segments_of(problem, "pooled")
    groups = [list(arms) for arms in segments.groups]
    if len({len(arms) for arms in groups}) != 1:
        sizes = ", ".join(f"{name} {len(arms)}" for name, arms in zip(segments.names, groups, strict=True))
        raise InvalidInputError(f"pooled needs as many arms in every segment, got {sizes}")
    coming = segments.chances(np.zeros(problem.arms))
    return Problem(
        coming @ problem.rewards[np.array(groups)],
        prior=np.tensordot(coming, problem.prior[np.array(groups)], axes=1),
        structure=_stated(_facts(problem), groups),
        horizon=problem.horizon,
        discount=problem.discount,
    )


def _facts(problem: Problem) -> Facts | None:
    found = ranking_of(problem.structure)
    if found is None and not isinstance(problem.structure, Free):
        raise InvalidInputError(
            "bandits of their own for segments need a structure of orders, a peak and bounds, got: "
            f"{problem.structure.describe()}; compare policies of the whole problem instead"
        )
    return found


def _stated(facts: Facts | None, groups: list[list[int]]) -> dict[str, Any]:
    """Return as a table what is known of the k-th arms of every group, in all groups alike."""
    if facts is None:
        return {}
    above: AnyArray = closure(len(facts.names), facts.order)
    common = np.logical_and.reduce([above[np.ix_(own, own)] for own in groups])
    levels, stated = len(common), dict[str, Any]()
    if pairs := covers(common):
        words = (word for word in get_args(Order) if set(pairs) == set(steps(word, levels)))
        stated["order"] = next(words, None) or [[a + 1, b + 1] for a, b in pairs]
    if facts.unimodal and levels > 2:
        stated["unimodal"] = True if facts.scale == "mean" else "reward"
    if facts.bounds is not None:
        low, high = np.moveaxis(np.array(facts.bounds)[np.array(groups)], 2, 0)  # [G, L]
        limits = [[float(a), float(b)] for a, b in zip(low.min(0), high.max(0), strict=True)]
        if limits != [[0.0, 1.0]] * levels:
            stated["bounds"] = limits
    return stated


def _ask_once(policy: Any, state: State, step: int, rng: Rng) -> IntArray:
    """Return a policy's arms ``[B]``, equal states asked for once where it says that it is best so."""
    if len(state.alpha) == 0:
        return np.empty(0, dtype=np.int64)
    if not policy.merges:
        return check_answer(policy(state, step, rng), state)
    distinct, place = distinct_states(state)
    return check_answer(policy(distinct, step, rng), distinct)[place]
