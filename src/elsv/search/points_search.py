r"""Searches from a state on weighted joint points of any belief (past the paper).

They need of the belief what `elsv.beliefs.points` gives: joint points of a few arms, and points of each arm
with the means of the others there. In every state that is reached they average over who comes next,

.. math:: V(s) = \sum_g q_g(s) \max_{i \in A_g} \bigl[p_i (r_i + V(s{+}\text{success}_i))
    + (1 - p_i)\, V(s{+}\text{failure}_i)\bigr], \qquad
    V(\text{frontier}) = R \sum_g q_g \max_{i \in A_g} r_i p_i.

Scores are those of all arms, each given that its own segment has come. Every score is the worth of a policy
that could be followed.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.beliefs.base import Belief
from elsv.beliefs.points import arm_points, joint_points, match_means
from elsv.lattice.small import Layers, search_layers, singles
from elsv.problem import Problem
from elsv.state import State

ALONE = 16  # points of an arm that is pulled many times
_CHUNK = 1 << 17  # numbers in one array of points
_SCALE = 2.0**64  # of weights that have seven digits
Points = tuple[FloatArray, FloatArray]  # [B, M, N] and their weights [B, M]
_kept = threading.local()


@dataclass(frozen=True)
class Roots:
    """States ``[B, N]`` to search from, and who comes: one customer is here already."""

    problem: Problem
    state: State
    worth: FloatArray  # [B, N], the expected reward of a pull
    left: float  # customers, the one who is here among them; discounted if the problem is
    points: Points | None = None  # joint points of all arms, if they serve both searches

    @cached_property
    def came(self) -> FloatArray:
        """The shares of the segments, or where they are learnt the counts they follow from, ``[B, G]``."""
        return came_to(self.problem, self.state)

    @cached_property
    def coming(self) -> FloatArray:
        """The chance of every segment after a customer of each has come, ``[B, G, G]``."""
        segments = self.problem.segments
        if segments.shares is not None:
            return np.full((len(self.came), segments.count, segments.count), self.came[:, None])
        after = self.came[:, None] + np.eye(segments.count)
        return np.asarray(after / after.sum(axis=-1, keepdims=True))

    def best(self, worth: FloatArray, segment: IntArray | None = None) -> FloatArray:
        """Return the best of `worth` ``[..., C]`` in each segment, ``[..., G]``; `segment` is as long."""
        segments = self.problem.segments
        if segments.count == 1:
            return np.asarray(worth.max(axis=-1, keepdims=True))
        of_arm = segments.of_arm if segment is None else segment
        each = [np.where(of_arm == g, worth, 0.0).max(axis=-1) for g in range(segments.count)]
        return np.stack(each, axis=-1)

    def later(self, best: FloatArray) -> FloatArray:
        """Return what the customers after the one who is here pay ``[B, G]``, given theirs, by `best`."""
        if self.problem.segments.count == 1:
            return (self.left - 1.0) * best
        return np.asarray((self.left - 1.0) * np.einsum("bgh,bh->bg", self.coming, best))

    def all(self, best: FloatArray) -> FloatArray:
        """Return what all customers pay ``[B, ..., G]``, given who is here, by `best` ``[B, ..., G]``."""
        if self.problem.segments.count == 1:
            return self.left * best
        number = (self.left - 1.0) * self.coming + np.eye(self.problem.segments.count)
        return np.asarray(np.einsum("bgh,b...h->b...g", number, best))

    def part(self, here: slice | AnyArray) -> Roots:
        """Return some of the roots; all of them are themselves, with what is known of who comes."""
        if isinstance(here, slice) and here.start == 0 and here.stop >= len(self.worth):
            return self
        points = self.points and (self.points[0][here], self.points[1][here])
        return Roots(self.problem, self.state.part(here), self.worth[here], self.left, points)


def came_to(problem: Problem, state: State) -> FloatArray:
    """Return the shares of the segments ``[B, G]``, or where they are learnt the counts they follow from."""
    segments = problem.segments
    if segments.shares is None:
        return segments.counts(state.pulls_made(problem))
    return np.full((len(state.alpha), segments.count), segments.shares)


@dataclass(frozen=True)
class PointsSearch:
    """Searches for one belief, which is asked for so many joint points at the root."""

    belief: Belief
    points: int

    def blocks(self, roots: Roots) -> list[slice]:
        """Return parts of a batch for one search after the other, so that points are asked for once."""
        states, arms = roots.worth.shape
        return _chunks(states, max(ALONE * arms, self.points) * arms)

    def with_points(self, roots: Roots) -> Roots:
        """Return the roots with joint points that serve both searches, unless the belief has better ones."""
        if hasattr(self.belief, "arm_points") or hasattr(self.belief, "some_points"):
            return roots
        return replace(roots, points=joint_points(self.belief, roots.state, self.points))

    def ahead(self, roots: Roots, chosen: IntArray, steps: tuple[int, ...]) -> FloatArray:
        """Return the worth of pulling each of the arms `chosen` ``[B, C]``, searching on and committing.

        Every segment has one of the `chosen`. `steps` are the pulls of one arm in a row before choosing anew,
        up to the frontier.
        """
        q, problem = np.empty(chosen.shape), roots.problem
        for here in _chunks(len(q), self.points * chosen.shape[1]):
            some, arms = roots.part(here), chosen[here]
            if some.points is None:
                theta, weight = joint_points(self.belief, some.state, self.points, arms)
            else:
                theta, weight = np.take_along_axis(some.points[0], arms[:, None], axis=-1), some.points[1]
            rewards, segment = problem.rewards[arms], problem.segments.of_arm[arms]
            row = np.arange(len(arms))[:, None]
            paid = some.worth[row, arms]
            if problem.segments.count > 1 or not hasattr(self.belief, "some_points"):
                # Spread points miss the means by a few parts in 10,000, as much as scores differ by.
                weight = match_means(theta, paid / rewards, weight)
            q[here] = _searched(_tight(theta), _tight(weight), rewards, segment, some, steps)
            seen = rewards * np.einsum("...m,...mi->...i", weight, theta)
            gap = some.best(paid, segment) - some.best(seen, segment)
            q[here] += some.all(gap)[row, segment]
        return q

    def stops(self, roots: Roots, most: int) -> FloatArray:
        """Return the worth ``[B, N]`` of up to `most` pulls of one arm, to commit when that is better."""
        from elsv.search._points_kernels import search_stops

        q, problem = np.empty(roots.worth.shape), roots.problem
        rewards, of_arm, discount = (
            problem.rewards.copy(),
            problem.segments.of_arm.copy(),
            problem.discount or 1.0,
        )
        for here in self.blocks(roots):
            some = roots.part(here)
            if some.points is None:
                theta, weight = arm_points(self.belief, some.state, ALONE, self.points)
            else:
                theta, weight = some.points[0][:, None], some.points[1][:, None]
            joint = _tight(theta), _tight(weight)
            search_stops(*joint, rewards, of_arm, some.coming, some.left, discount, most, q[here])
            seen = rewards * np.einsum("...m,...mi->...i", weight, theta)  # [B, S, N]
            off = some.all(some.best(some.worth)[:, None] - some.best(seen))
            q[here] += off[:, np.arange(problem.arms) if off.shape[1] > 1 else 0, of_arm]
        return q


def _searched(
    theta: FloatArray,
    weight: FloatArray,
    rewards: FloatArray,
    segment: IntArray,
    roots: Roots,
    steps: tuple[int, ...],
) -> FloatArray:
    """Return q ``[B, C]`` of candidates, whose points, rewards and segments are given."""
    from elsv.lattice.backup_kernels import back_up
    from elsv.search._points_kernels import weigh_layer

    q, layers, segments = (
        np.empty(rewards.shape),
        search_layers(rewards.shape[1], steps),
        roots.problem.segments,
    )
    discount, learnt = roots.problem.discount or 1.0, segments.shares is None
    left = roots.left - sum(steps) if roots.problem.discount is None else roots.left  # at the frontier
    # Steps of several pulls need not be exact. With seven digits the scores' differences are off by 2e-7
    # of what remains, and twice as many states fit into the caches. Numbers are scaled to stay in range.
    precise = max(steps) == 1
    unit, scale = (1.0, 1.0) if precise else (float(rewards.max()), _SCALE)
    for here in _chunks(len(q), int(layers.first_state[-1])):
        room = _rooms(layers, len(q[here]), segments.count, precise=precise)
        weigh_layer(theta[here], weight[here] * scale, layers, room.weights, room.sums)
        paid, own, came = rewards[here] / unit, segment[here], roots.came[here]
        back_up(paid, None, own, came, learnt, left, discount, layers, room.weights, room.values, q[here])
    return q * unit


def search_independent(problem: Problem, state: State, depth: int, left: float) -> FloatArray:
    """Return the worth of pulling each arm, searching on and committing, ``[B, N]``: no points are needed."""
    from elsv.lattice.backup_kernels import back_up

    alpha, beta = state.rows()
    q, layers, segments = np.empty(alpha.shape), search_layers(problem.arms, singles(depth)), problem.segments
    rewards = np.repeat(problem.rewards[None], len(q), axis=0)
    segment = np.repeat(segments.of_arm[None], len(q), axis=0)
    room = _rooms(layers, len(q), segments.count, weighted=False)
    prior, came, learnt = np.stack((alpha, beta), axis=2), came_to(problem, state), segments.shares is None
    rooms = room.weights, room.values
    back_up(rewards, prior, segment, came, learnt, left - depth, 1.0, layers, *rooms, q)
    return q


class _Rooms(NamedTuple):
    """What the kernels of a search overwrite; good until the next search of the thread."""

    weights: AnyArray  # [B, states of all layers]; none without weights
    sums: AnyArray  # [states of the last layer]
    values: AnyArray  # [3 or 4, states of the frontier]


def _rooms(
    layers: Layers, searches: int, segments: int, weighted: bool = True, precise: bool = True
) -> _Rooms:
    """Return room for so many searches, one after the other, that keep all their weights.

    A thread uses its room again and again: a search of 22 pulls fills two megabytes, and fetching them anew
    takes about as long as the search. Numbers that are not `precise` have seven digits.
    """
    frontier, last, states = layers.first_state[-3:].tolist()
    rows = 3 if segments == 1 else 4
    kept = searches * states * weighted
    sums = kept + (states - last) * weighted
    size = sums + rows * (last - frontier)
    room: AnyArray | None = getattr(_kept, "room", None)
    if room is None or len(room) < size:
        room = _kept.room = np.empty(size)
    room = room if precise else room.view(np.float32)
    weights = room[:kept].reshape(searches, states * weighted)
    return _Rooms(weights, room[kept:sums], room[sums:size].reshape(rows, last - frontier))


def _chunks(states: int, each: int) -> list[slice]:
    """Return parts of so many states whose arrays, `each` numbers for a state, stay in the cache."""
    size = max(1, _CHUNK // each)
    return [slice(start, start + size) for start in range(0, states, size)]


def _tight(array: FloatArray) -> FloatArray:
    """Return the array in the one layout that the kernels are compiled for."""
    return np.require(array, np.float64, ["C", "W", "A"])
