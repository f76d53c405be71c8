r"""Points of a belief that offers none, from draws of the prior made once and weighted by the data.

A belief that has `log_weight` says that its data are successes and failures of the arms. So draws of its
prior, each of weight :math:`\prod_i \theta_i^{s_i} (1-\theta_i)^{f_i}`, stand for it in every state, and only
the means are asked for anew. Where too few of them still count, it is drawn from in the state itself.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs.base import Belief, mean_of
from elsv.beliefs.points import drawn_points, match_means
from elsv.beliefs.samples import FEW, Samples
from elsv.state import Arms, State

DRAWS = 4096
_SEED = 20_261_116


class Reweighted:
    """A belief with points by need: its means, and draws of its prior that are made once.

    Parameters
    ----------
    belief
        Has `mean`, `draw` and `log_weight`.
    arms
        The problem, whose prior is the state before any data.
    """

    repeats: ClassVar[bool] = True

    def __init__(self, belief: Belief, arms: Arms) -> None:
        self.belief, self.arms = belief, arms

    @cached_property
    def _prior(self) -> Samples:
        start = (np.repeat(part[None], DRAWS, axis=0) for part in self.arms.prior.T)
        drawn = self.belief.draw(State.trusted(*start), np.random.default_rng(_SEED))
        return Samples(drawn, self.arms.prior)

    @property
    def most_points(self) -> int:
        """How many points there are."""
        return DRAWS

    def mean(self, state: State, rng: np.random.Generator | None = None) -> FloatArray:
        """Return the belief's own means, shape ``[..., N]``."""
        return mean_of(self.belief, state, rng)

    def draw(self, state: State, rng: np.random.Generator) -> FloatArray:
        """Return the belief's own draws, shape ``[..., N]``."""
        return self.belief.draw(state, rng)

    def variance(self, state: State) -> FloatArray:
        """Return posterior variances, shape ``[..., N]``: the belief's own, or those of the draws."""
        own: Any = getattr(self.belief, "variance", None)
        return np.asarray(own(state)) if own is not None else self._prior.variance(state)

    def points(self, state: State, count: int) -> tuple[FloatArray, FloatArray]:
        """Return joint points ``[..., M, N]`` and weights ``[..., M]``; they have the belief's means."""
        size = min(count, DRAWS)
        each = [self._points(State.trusted(*one), size) for one in zip(*state.rows(), strict=True)]
        theta, weight = (np.stack(part) for part in zip(*each, strict=True))
        return theta.reshape(*state.shape, size, state.arms), weight.reshape(*state.shape, size)

    def _points(self, one: State, size: int) -> tuple[FloatArray, FloatArray]:
        if self._prior.effective(one) < FEW:
            return drawn_points(self.belief, one, size)
        theta, weight = self._prior.points(one, size)
        return theta, match_means(theta, self.mean(one, np.random.default_rng(_SEED)), weight)


def with_points(belief: Belief, arms: Arms) -> Belief:
    """Return a belief with points: itself if it has any, or if only draws tell what it is."""
    if hasattr(belief, "points") or getattr(belief, "log_weight", None) is None:
        return belief
    return Reweighted(belief, arms)
