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
from dataclasses import dataclass
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
class Customers:
    """Who comes to roots ``[B, N]``; `left` customers are to come, the one who is here among them."""

    of_arm: IntArray  # [N], the segment of each arm
    came: FloatArray  # [B, G], the shares, or where they are learnt the counts that they follow from
    coming: FloatArray  # [B, G, G], the chance of every segment after a customer of each has come
    learnt: bool
    left: float  # discounted if the problem is

    @classmethod
    def of(cls, problem: Problem, state: State, left: float) -> Customers:
        """Return those of the roots of a problem."""
        segments, batch = problem.segments, len(state.alpha)
        if segments.shares is not None:
            came = np.tile(segments.shares, (batch, 1))
            coming = np.tile(segments.shares, (batch, segments.count, 1))
            return cls(segments.of_arm, came, coming, False, left)
        came = segments.counts(state.pulls_made(problem))
        after = came[:, None] + np.eye(segments.count)
        return cls(segments.of_arm, came, after / after.sum(axis=-1, keepdims=True), True, left)

    @property
    def count(self) -> int:
        """G, the number of segments."""
        return int(self.came.shape[1])

    def best(self, worth: FloatArray, segment: IntArray) -> FloatArray:
        """Return the best of `worth` ``[..., C]`` in each segment, ``[..., G]``; `segment` is as long."""
        if self.count == 1:
            return np.asarray(worth.max(axis=-1, keepdims=True))
        each = [np.where(segment == g, worth, 0.0).max(axis=-1) for g in range(self.count)]
        return np.stack(each, axis=-1)

    def later(self, best: FloatArray) -> FloatArray:
        """Return what the customers after the one who is here pay ``[B, G]``, given theirs, by `best`."""
        if self.count == 1:
            return (self.left - 1.0) * best
        return np.asarray((self.left - 1.0) * np.einsum("bgh,bh->bg", self.coming, best))

    def all(self, best: FloatArray) -> FloatArray:
        """Return what all customers pay ``[B, ..., G]``, given who is here, by `best` ``[B, ..., G]``."""
        if self.count == 1:
            return self.left * best
        number = (self.left - 1.0) * self.coming + np.eye(self.count)
        return np.asarray(np.einsum("bgh,b...h->b...g", number, best))

    def part(self, here: slice | AnyArray) -> Customers:
        """Return those of some roots."""
        return Customers(self.of_arm, self.came[here], self.coming[here], self.learnt, self.left)


@dataclass(frozen=True)
class PointsSearch:
    """Searches for one belief, which is asked for so many joint points at the root."""

    problem: Problem
    belief: Belief
    points: int

    def blocks(self, states: int) -> list[slice]:
        """Return parts of a batch for one search after the other, so that points are asked for once."""
        arms = self.problem.arms
        return _chunks(states, max(ALONE * arms, self.points) * arms)

    def shared_points(self, state: State) -> Points | None:
        """Return joint points of all arms that serve both searches; None if the belief has better ones."""
        if hasattr(self.belief, "arm_points") or hasattr(self.belief, "some_points"):
            return None
        return joint_points(self.belief, state, self.points)

    def ahead(
        self,
        state: State,
        customers: Customers,
        worth: FloatArray,
        chosen: IntArray,
        steps: tuple[int, ...],
        shared: Points | None = None,
    ) -> FloatArray:
        """Return the worth of pulling each of the arms `chosen` ``[B, C]``, searching on and committing.

        `state` ``[B, N]`` holds the roots, `worth` the expected rewards there. Every segment has one of the
        `chosen`. `steps` are the pulls of one arm in a row before choosing anew, up to the frontier.
        """
        q, problem = np.empty(chosen.shape), self.problem
        layers = search_layers(chosen.shape[1], steps)
        after = customers.left - sum(steps) if problem.discount is None else customers.left
        for here in _chunks(len(q), self.points * chosen.shape[1]):
            if shared is None:
                theta, weight = joint_points(self.belief, state.part(here), self.points, chosen[here])
            else:
                theta = np.take_along_axis(shared[0][here], chosen[here][:, None], axis=-1)
                weight = shared[1][here]
            rewards, segment = problem.rewards[chosen[here]], customers.of_arm[chosen[here]]
            row = np.arange(len(rewards))[:, None]
            paid = worth[here][row, chosen[here]]
            if customers.count > 1 or not hasattr(self.belief, "some_points"):
                # Spread points miss the means by a few parts in 10,000, as much as scores differ by.
                weight = match_means(theta, paid / rewards, weight)
            who = customers.part(here)
            q[here] = self._searched(tight(theta), tight(weight), rewards, segment, who, after, layers)
            seen = rewards * np.einsum("...m,...mi->...i", weight, theta)
            gap = who.best(paid, segment) - who.best(seen, segment)
            q[here] += who.all(gap)[row, segment]
        return q

    def stops(
        self,
        state: State,
        customers: Customers,
        worth: FloatArray,
        most: int,
        shared: Points | None = None,
    ) -> FloatArray:
        """Return the worth ``[B, N]`` of up to `most` pulls of one arm, to commit when that is better."""
        from elsv.search._points_kernels import search_stops

        arms, rewards = self.problem.arms, self.problem.rewards.copy()
        q, of_arm = np.empty(worth.shape), customers.of_arm.copy()
        for here in self.blocks(len(q)):
            if shared is None:
                theta, weight = arm_points(self.belief, state.part(here), ALONE, self.points)
            else:
                theta, weight = shared[0][here][:, None], shared[1][here][:, None]
            who, discount = customers.part(here), self.problem.discount or 1.0
            joint = tight(theta), tight(weight)
            search_stops(*joint, rewards, of_arm, who.coming, who.left, discount, most, q[here])
            seen = rewards * np.einsum("...m,...mi->...i", weight, theta)  # [B, S, N]
            gap = who.best(worth[here], of_arm)[:, None] - who.best(seen, of_arm)
            off = who.all(gap)
            q[here] += off[:, np.arange(arms) if off.shape[1] > 1 else 0, of_arm]
        return q

    def _searched(
        self,
        theta: FloatArray,
        weight: FloatArray,
        rewards: FloatArray,
        segment: IntArray,
        customers: Customers,
        left: float,
        layers: Layers,
    ) -> FloatArray:
        """Return q ``[B, C]``: pull candidates, commit to one of them at the frontier.

        `theta` ``[B, M, C]`` and `weight` ``[B, M]`` are points of the candidates, `rewards` and `segment`
        ``[B, C]`` theirs; `left` counts the pulls, or discounted pulls, that remain at the frontier.
        """
        from elsv.lattice.backup_kernels import back_up
        from elsv.search._points_kernels import weigh_layer

        q, states = np.empty(rewards.shape), int(layers.first_state[-1])
        discount = self.problem.discount or 1.0
        # Steps of several pulls need not be exact. With seven digits the scores' differences are off by 2e-7
        # of what remains, and twice as many states fit into the caches. Numbers are scaled to stay in range.
        precise = len(layers.ways) == 2
        unit, scale = (1.0, 1.0) if precise else (float(rewards.max()), _SCALE)
        for here in _chunks(len(q), states):
            room = _rooms(layers, len(q[here]), customers.count, precise=precise)
            weigh_layer(theta[here], weight[here] * scale, layers, room.weights, room.sums)
            paid, own, who = rewards[here] / unit, segment[here], (customers.came[here], customers.learnt)
            rooms = room.weights, room.values, q[here]
            back_up(paid, None, own, *who, left, discount, layers, *rooms)
        return q * unit


def search_independent(problem: Problem, state: State, depth: int, left: float) -> FloatArray:
    """Return the worth of pulling each arm, searching on and committing, ``[B, N]``: no points are needed."""
    from elsv.lattice.backup_kernels import back_up

    alpha, beta = state.rows()
    q, layers = np.empty(alpha.shape), search_layers(problem.arms, singles(depth))
    customers = Customers.of(problem, state, left)
    rewards = np.repeat(problem.rewards[None], len(q), axis=0)
    segment = np.repeat(customers.of_arm[None], len(q), axis=0)
    room = _rooms(layers, len(q), customers.count, weighted=False)
    prior, who, left = np.stack((alpha, beta), axis=2), customers, left - depth
    back_up(rewards, prior, segment, who.came, who.learnt, left, 1.0, layers, room.weights, room.values, q)
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


def tight(array: FloatArray) -> FloatArray:
    """Return the array in the one layout that the kernels are compiled for."""
    flags = array.flags
    if array.dtype == np.float64 and flags.c_contiguous and flags.writeable and flags.aligned:
        return array
    return np.require(array, np.float64, ["C", "W", "A"])
