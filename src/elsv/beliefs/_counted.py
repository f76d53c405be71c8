"""P(best) and E[max] counted among joint points."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from elsv._typing import FloatArray
from elsv.beliefs.base import MeasuredBest, check_rewards
from elsv.state import State

Points = Callable[[State], tuple[FloatArray, FloatArray]]


def best_of_points(
    points: Points, state: State, rewards: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Return P(arm i is best) ``[..., N]``, E[max] and the error ``[...]``, one state after another.

    The error is that of independent draws of the same effective number,
    :math:`\sqrt{p(1-p) \sum_m w_m^2}` at most: points that are evenly spread do better.
    """
    alpha, beta = state.rows()
    chance, largest, error = np.empty_like(alpha), np.empty(len(alpha)), np.empty(len(alpha))
    for k in range(len(alpha)):
        theta, weight = points(State.trusted(alpha[k], beta[k]))
        share = weight / weight.sum()
        worth = rewards * theta
        chance[k] = np.bincount(worth.argmax(axis=-1), weights=share, minlength=len(rewards))
        largest[k] = (share * worth.max(axis=-1)).sum()
        error[k] = np.sqrt((chance[k] * (1 - chance[k])).max() * (share**2).sum())
    return chance.reshape(state.alpha.shape), largest.reshape(state.shape), error.reshape(state.shape)


class CountedBest(MeasuredBest):
    """Gives P(best) of a belief of weighted draws, counted among them."""

    @abstractmethod
    def _joint(self, one: State) -> tuple[FloatArray, FloatArray]:
        """Return joint draws ``[M, N]`` for one state and their weights ``[M]``."""

    def best_with_error(
        self, state: State, rewards: ArrayLike, tolerance: float | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what `best` does and its error, that of as many independent draws, ``[...]``."""
        return best_of_points(self._joint, state, check_rewards(state, rewards))
