r"""Searches from a state on weighted joint points of any belief (past the paper).

They need of the belief what `elsv.beliefs.points` gives: joint points of a few arms, and points of each arm
with the means of the others there. All scores are the worth of a policy that could be followed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs.base import Belief
from elsv.beliefs.points import arm_points, joint_points
from elsv.lattice.small import Layers, search_layers, singles
from elsv.search._buffers import rooms_for
from elsv.state import State

ALONE = 16  # points of an arm that is pulled many times
_CHUNK = 1 << 17  # numbers in one array of points
_SCALE = 2.0**64  # of weights that have seven digits
Points = tuple[FloatArray, FloatArray]  # [B, M, N] and their weights [B, M]


@dataclass(frozen=True)
class PointsSearch:
    """Searches for one belief.

    Parameters
    ----------
    belief
        Is asked for points at the root.
    rewards
        What each arm pays ``[N]``.
    points
        How many joint points are asked for.
    discount
        Weight of what comes one pull later; 1 for a horizon.
    """

    belief: Belief
    rewards: FloatArray  # [N]
    points: int
    discount: float = 1.0

    def blocks(self, states: int) -> list[slice]:
        """Return parts of a batch for one search after the other, so that points are asked for once."""
        return chunks(states, max(ALONE * len(self.rewards), self.points) * len(self.rewards))

    def shared_points(self, state: State) -> Points | None:
        """Return joint points of all arms that serve both searches; None if the belief has better ones."""
        if hasattr(self.belief, "arm_points") or hasattr(self.belief, "some_points"):
            return None
        return joint_points(self.belief, state, self.points)

    def ahead(
        self,
        state: State,
        worth: FloatArray,
        chosen: IntArray,
        steps: tuple[int, ...],
        left: float,
        shared: Points | None = None,
    ) -> FloatArray:
        """Return the worth of pulling each of the arms `chosen` ``[B, C]``, searching on and committing.

        Parameters
        ----------
        state
            The roots ``[B, N]``.
        worth
            Expected rewards there ``[B, N]``.
        chosen
            The arms that are pulled in the search.
        steps
            How the search goes ahead: by so many pulls of one arm, one step after the other. The first is 1.
        left
            How many pulls, or discounted pulls, remain at the root.
        shared
            Joint points of all arms that are known already (`shared_points`).
        """
        q = np.empty(chosen.shape)
        layers = search_layers(chosen.shape[1], steps)
        after = left - sum(steps) if self.discount == 1.0 else left
        for here in chunks(len(q), self.points * chosen.shape[1]):
            if shared is None:
                theta, weight = joint_points(self.belief, part(state, here), self.points, chosen[here])
            else:
                theta = np.take_along_axis(shared[0][here], chosen[here][:, None], axis=-1)
                weight = shared[1][here]
            rewards = self.rewards[chosen[here]]
            q[here] = search_points(tight(theta), tight(weight), rewards, after, self.discount, layers)
            rows = np.arange(len(rewards))[:, None]
            exact = worth[here][rows, chosen[here]].max(axis=1)
            q[here] += left * (exact - _best(theta, weight, rewards))[:, None]
        return q

    def stops(
        self, state: State, worth: FloatArray, most: int, left: float, shared: Points | None = None
    ) -> FloatArray:
        """Return the worth ``[B, N]`` of up to `most` pulls of one arm, to commit when that is better."""
        from elsv.search._stops_kernels import search_stops

        arms = len(self.rewards)
        q = np.empty(worth.shape)
        for here in chunks(len(q), max(ALONE * arms, self.points) * arms):
            if shared is None:
                theta, weight = arm_points(self.belief, part(state, here), ALONE, self.points)
            else:
                theta, weight = shared[0][here][:, None], shared[1][here][:, None]
            rewards = self.rewards.copy()
            search_stops(tight(theta), tight(weight), rewards, left, self.discount, most, q[here])
            q[here] += left * (worth[here].max(axis=1, keepdims=True) - _best(theta, weight, rewards))
        return q


def _best(theta: FloatArray, weight: FloatArray, rewards: FloatArray) -> FloatArray:
    """Return the best expected reward by the points ``[...]``.

    What committing at once is worth is known: its error is taken off all scores.
    """
    best: FloatArray = (rewards * np.einsum("...m,...mi->...i", weight, theta)).max(axis=-1)
    return best


def search_independent(state: State, rewards: FloatArray, depth: int, left: float) -> FloatArray:
    """Return the worth of pulling each arm, searching on and committing, ``[B, N]``: no points are needed."""
    from elsv.lattice.backup_kernels import back_up

    alpha, beta = state.rows()
    q, layers = np.empty(alpha.shape), search_layers(len(rewards), singles(depth))
    payoff = np.repeat(rewards[None], len(q), axis=0)
    room = rooms_for(layers, len(q), weighted=False)
    prior = np.stack((alpha, beta), axis=2)
    back_up(payoff, prior, left - depth, 1.0, layers, room.weights, room.values, q)
    return q


def search_points(
    theta: FloatArray,
    weight: FloatArray,
    rewards: FloatArray,
    left: float,
    discount: float,
    layers: Layers,
) -> FloatArray:
    """Return q ``[B, C]``: pull candidates, commit to one of them at the frontier.

    `theta` ``[B, M, C]`` and `weight` ``[B, M]`` are points of the candidates, `rewards` ``[B, C]`` theirs;
    `left` counts the pulls, or discounted pulls, that remain at the frontier.
    """
    from elsv.lattice.backup_kernels import back_up
    from elsv.search._points_kernels import weigh_layer

    q, states = np.empty(rewards.shape), int(layers.first_state[-1])
    none = np.empty((len(q), 0, 2))
    # Steps of several pulls need not be exact. With seven digits the scores' differences are off by 2e-7 of
    # what remains, and twice as many states fit into the caches. Numbers are scaled to stay within range.
    precise = len(layers.ways) == 2
    unit, scale = (1.0, 1.0) if precise else (float(rewards.max()), _SCALE)
    for here in chunks(len(q), states):
        room = rooms_for(layers, len(q[here]), precise=precise)
        weigh_layer(theta[here], weight[here] * scale, layers, room.weights, room.sums)
        back_up(rewards[here] / unit, none[here], left, discount, layers, room.weights, room.values, q[here])
    return q * unit


def chunks(states: int, each: int) -> list[slice]:
    """Return parts of so many states whose arrays, `each` numbers for a state, stay in the cache."""
    size = max(1, _CHUNK // each)
    return [slice(start, start + size) for start in range(0, states, size)]


def part(state: State, here: slice | IntArray) -> State:
    """Return some rows of a state."""
    return State.trusted(state.alpha[here], state.beta[here])


def tight(array: FloatArray) -> FloatArray:
    """Return the array in the one layout that the kernels are compiled for."""
    flags = array.flags
    if array.dtype == np.float64 and flags.c_contiguous and flags.writeable and flags.aligned:
        return array
    return np.require(array, np.float64, ["C", "W", "A"])
