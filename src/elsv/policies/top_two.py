"""Top-two Thompson sampling: the arm that is best in a draw, or a challenger from draws where another one is.

D. Russo, *Simple Bayesian algorithms for best arm identification*, Conference on Learning Theory (2016) and
Operations Research 68 (2020).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from elsv._base.inheritance import still_holds
from elsv._base.numbers import shown
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.beliefs import Belief
from elsv.beliefs.abilities import best_in_groups
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import Layer
from elsv.lattice.sweeps import Sweeps
from elsv.policies.base import BasePolicy
from elsv.policies.layers import ByChance, OnLayers, Room
from elsv.policies.offered import Segment, best_offered, within_segments
from elsv.problem import Problem
from elsv.segments import Segments
from elsv.state import State, check_width

BETA = 0.5
_ROUNDS = (1, 4, 16, 64, 256)  # draws in which a challenger is looked for, round by round
_MOST = sum(_ROUNDS)


@dataclass(frozen=True, eq=False)
class TopTwo(BasePolicy):
    r"""Pull the best arm of a draw with probability `beta`, else draw again until another arm is the best.

    After K = 341 draws in which none was, the first arm is pulled after all. With :math:`P_i` the probability
    that arm i is best,

    .. math:: \pi_j = P_j \Bigl(\beta + (1-\beta) \bigl(P_j^K
        + \sum_{i \ne j} P_i \frac{1 - P_i^K}{1 - P_i}\bigr)\Bigr).

    Made to find the best arm, it explores more than Thompson sampling does, which is `beta` = 1.
    """

    problem: Problem
    belief: Belief
    beta: float = BETA

    def __post_init__(self) -> None:
        if not 0 < self.beta <= 1:
            raise InvalidInputError(
                f"beta of top-two must lie above 0 and be at most 1, got {shown(self.beta)}; try 0.5"
            )

    def __call__(
        self, state: State, step: int, rng: np.random.Generator, segment: Segment = None
    ) -> IntArray:
        """Return an arm for every instance."""
        check_width(state, self.problem)
        alpha, beta = state.rows()
        who = None if segment is None else np.broadcast_to(np.asarray(segment), state.shape).reshape(-1)
        arm = self._best_of_draw(alpha, beta, who, rng)
        waiting = np.flatnonzero(rng.random(len(arm)) >= self.beta)
        for count in _ROUNDS:
            if len(waiting) == 0:
                break
            again = np.repeat(waiting, count)
            came = None if who is None else who[again]
            drawn = self._best_of_draw(alpha[again], beta[again], came, rng).reshape(-1, count)
            differs = drawn != arm[waiting, None]
            found, place = differs.any(axis=1), differs.argmax(axis=1)
            arm[waiting[found]] = drawn[found, place[found]]
            waiting = waiting[~found]
        return arm.reshape(state.shape)

    def chances(self, state: State, step: int) -> FloatArray:
        """Return the probability of each arm, ``[..., N]``."""
        segments = self.problem.segments
        first = best_in_groups(self.belief, state, self.problem.rewards, segments.groups)[0]
        return within_segments(segments, state.arms, lambda arms: top_two(first[..., arms], self.beta))

    def on_layers(self, problem: Problem) -> OnLayers:
        """Return each arm with its chance, from the chances that the arms are best."""
        if not still_holds(self.belief, "log_weight", "mean", "draw"):
            return super().on_layers(problem)
        segments = problem.segments
        first = ByChance(self.belief)
        return TopTwoOnLayers(first, self.beta, segments)

    def _best_of_draw(
        self, alpha: FloatArray, beta: FloatArray, segment: Segment, rng: np.random.Generator
    ) -> IntArray:
        """Return the best arm on offer of one draw for each row."""
        worth = self.problem.rewards * self.belief.draw(State.trusted(alpha, beta), rng)
        return best_offered(self.problem, worth, segment, "draws of top-two")


def top_two(best_chance: FloatArray, beta: float) -> FloatArray:
    """Return the probability ``[..., N]`` of each arm from those that it is best."""
    chance = np.clip(best_chance, 0.0, 1.0)
    challenged = chance * np.where(chance < 1 - 1e-12, (1 - chance**_MOST) / (1 - chance + 1e-300), _MOST)
    others = challenged @ (1.0 - np.eye(chance.shape[-1]))
    pulls = chance * (beta + (1.0 - beta) * (chance**_MOST + others))
    return np.asarray(pulls / pulls.sum(axis=-1, keepdims=True))


@dataclass(frozen=True)
class TopTwoOnLayers:
    """Top-two Thompson sampling in all states of a layer."""

    first: ByChance
    beta: float
    segments: Segments

    @property
    def reach(self) -> int:
        """How many layers past the present one are read."""
        return self.first.reach

    def decide(self, sweeps: Sweeps, layer: Layer) -> AnyArray:
        """Return the chances, from those that the arms are best."""
        best = self.first.decide(sweeps, layer).T
        found = within_segments(self.segments, best.shape[1], lambda arms: top_two(best[:, arms], self.beta))
        return np.ascontiguousarray(found.T)

    def room(self, problem: Problem, made: int) -> Room:
        """Return what `decide` takes."""
        own = self.first.room(problem, made)
        return replace(own, passing=own.passing + 5 * problem.arms)
