r"""Searches on points of a belief where customers come from segments (past the paper).

As `elsv.search.points_search`, with an average over who comes in every state that is reached,

.. math:: V(s) = \sum_g q_g(s) \max_{i \in A_g} \bigl[p_i (r_i + V(s{+}\text{success}_i))
    + (1 - p_i)\, V(s{+}\text{failure}_i)\bigr], \qquad
    V(\text{frontier}) = R \sum_g q_g \max_{i \in A_g} r_i p_i.

Scores are those of all arms, each given that its own segment has come.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs.base import Belief
from elsv.beliefs.points import arm_points, joint_points, match_means
from elsv.lattice.small import search_layers, singles
from elsv.problem import Problem
from elsv.search._buffers import rooms_for
from elsv.search.points_search import ALONE, chunks, part, tight
from elsv.segments import Segments
from elsv.state import State


@dataclass(frozen=True)
class SegmentSearch:
    """Searches for one belief.

    Parameters
    ----------
    problem
        Gives rewards, segments, discount.
    belief
        Is asked for points at the root.
    points
        How many joint points are asked for.
    """

    problem: Problem
    belief: Belief
    points: int

    @property
    def segments(self) -> Segments:
        """Who comes."""
        return self.problem.segments

    def coming(self, state: State) -> FloatArray:
        """Return the chances ``[B, G, G]`` of all segments after one of each has come."""
        pulls = self._pulls(state)[..., None, :]
        arrival = np.zeros((self.segments.count, self.problem.arms))
        for g, arms in enumerate(self.segments.groups):
            arrival[g, arms[0]] = 1.0
        return np.ascontiguousarray(self.segments.chances(pulls + arrival))

    def committed(self, worth: FloatArray, coming: FloatArray, left: float) -> FloatArray:
        """Return what committing at once is worth ``[B, G]``, given who has come; `worth` is ``[B, N]``."""
        best = np.stack([worth[:, list(arms)].max(axis=1) for arms in self.segments.groups], axis=1)
        return np.asarray(best + (left - 1.0) * np.einsum("bgh,bh->bg", coming, best))

    def ahead(self, state: State, worth: FloatArray, chosen: IntArray, depth: int, left: float) -> FloatArray:
        """Return the worth of pulling each of the arms `chosen` ``[B, C]``, searching on and committing.

        Every segment must have one of them. All else is as for `elsv.search.points_search`.
        """
        from elsv.lattice.segment_backup_kernels import back_up_segments
        from elsv.search._points_kernels import weigh_layer

        q, coming = np.empty(chosen.shape), self.coming(state)
        layers, discount = search_layers(chosen.shape[1], singles(depth)), self.problem.discount or 1.0
        states = int(layers.first_state[-1])
        after = left - depth if self.problem.discount is None else left
        learnt = self.segments.shares is None
        for here in chunks(len(q), max(self.points * chosen.shape[1], states)):
            theta, start = joint_points(self.belief, part(state, here), self.points, chosen[here])
            known = np.take_along_axis(worth[here], chosen[here], axis=1) / self.problem.rewards[chosen[here]]
            weight = match_means(theta, known, start)
            rewards, segment = self.problem.rewards[chosen[here]], self.segments.of_arm[chosen[here]]
            room = rooms_for(layers, len(rewards))
            weigh_layer(tight(theta), tight(weight), layers, room.weights, room.sums)
            came = self._came(part(state, here))
            back_up_segments(rewards, segment, came, learnt, after, discount, layers, room.weights, q[here])
            mean = np.einsum("bm,bmc->bc", weight, theta)
            q[here] += self._off(worth[here], mean, chosen[here], coming[here], left)
        return q

    def stops(self, state: State, worth: FloatArray, most: int, left: float) -> FloatArray:
        """Return the worth ``[B, N]`` of one arm for up to `most` customers of its segment."""
        from elsv.search._segment_stops_kernels import search_stops_segments

        arms, coming = self.problem.arms, self.coming(state)
        q, rewards, discount = (
            np.empty(worth.shape),
            self.problem.rewards.copy(),
            self.problem.discount or 1.0,
        )
        segment = np.array(self.segments.of_arm)
        for here in chunks(len(q), max(ALONE * arms, self.points) * arms):
            theta, weight = arm_points(self.belief, part(state, here), ALONE, self.points)
            search_stops_segments(
                tight(theta), tight(weight), rewards, segment, coming[here], left, discount, most, q[here]
            )
            mean = np.einsum("bsm,bsmn->bsn", weight, theta) / weight.sum(axis=2)[..., None]
            for s in range(mean.shape[1]):
                off = self._off(worth[here], mean[:, s], None, coming[here], left)
                mine = slice(None) if mean.shape[1] == 1 else s
                q[here][:, mine] += off[:, mine]
        return q

    def _off(
        self, worth: FloatArray, mean: FloatArray, chosen: IntArray | None, coming: FloatArray, left: float
    ) -> FloatArray:
        """Return by how much the points err in what committing at once is worth, for each arm or candidate.

        What is known exactly need not be summed: that error is taken off all scores.
        """
        among = np.broadcast_to(np.arange(self.problem.arms), worth.shape) if chosen is None else chosen
        exact, seen = np.zeros(worth.shape), np.zeros(worth.shape)
        rows = np.arange(len(worth))[:, None]
        exact[rows, among] = worth[rows, among]
        seen[rows, among] = self.problem.rewards[among] * mean
        gap = self.committed(exact, coming, left) - self.committed(seen, coming, left)
        return np.asarray(gap[rows, self.segments.of_arm[among]])

    def _pulls(self, state: State) -> FloatArray:
        prior = self.problem.prior
        return np.rint((state.alpha - prior[:, 0]) + (state.beta - prior[:, 1]))

    def _came(self, state: State) -> FloatArray:
        """Return the shares, or their counts where they are learnt, ``[B, G]``."""
        if self.segments.shares is not None:
            return np.ascontiguousarray(self.segments.chances(self._pulls(state)))
        pulls = self._pulls(state)
        seen = np.stack([pulls[:, list(arms)].sum(axis=1) for arms in self.segments.groups], axis=1)
        return np.ascontiguousarray(seen + np.array(self.segments.share_prior))
