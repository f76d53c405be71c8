"""P(best) and E[max] counted among joint points."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import FloatArray
from elsv.beliefs.base import MeasuredBest, check_rewards
from elsv.state import State

Points = Callable[[State], tuple[FloatArray, FloatArray]]


def concentration(theta: FloatArray, share: FloatArray) -> float:
    """Return the sum of squared weights, those of equal points taken together.

    It is one by the number of draws that count: a draw of the prior that is there many times is still one.
    """
    marks = np.modf(np.sqrt(np.arange(2.0, 2.0 + theta.shape[1])))[0] + 1
    _, group = np.unique((theta * marks).sum(axis=1), return_inverse=True)
    return float((np.bincount(group.reshape(-1), weights=share) ** 2).sum())


def best_of_points(
    points: Points, state: State, rewards: FloatArray, repeated: bool = False
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Return P(arm i is best) ``[..., N]``, E[max] and the error ``[...]``, one state after another.

    The error is that of independent draws of the same effective number,
    :math:`\sqrt{p(1-p) \sum_m w_m^2}` at most: points that are evenly spread do better. Where points may be
    `repeated` equal ones count as one.
    """
    alpha, beta = state.rows()
    chance, largest, error = np.empty_like(alpha), np.empty(len(alpha)), np.empty(len(alpha))
    for k in range(len(alpha)):
        theta, weight = points(State.trusted(alpha[k], beta[k]))
        share = weight / weight.sum()
        worth = rewards * theta
        chance[k] = np.bincount(worth.argmax(axis=-1), weights=share, minlength=len(rewards))
        largest[k] = (share * worth.max(axis=-1)).sum()
        squares = concentration(theta, share) if repeated else (share**2).sum()
        error[k] = np.sqrt((chance[k] * (1 - chance[k])).max() * squares)
    return chance.reshape(state.alpha.shape), largest.reshape(state.shape), error.reshape(state.shape)


class CountedBest(MeasuredBest):
    """Gives P(best) of a belief of weighted draws, counted among them."""

    _repeated: ClassVar[bool] = False  # whether a draw may be there several times

    @abstractmethod
    def _joint(self, one: State) -> tuple[FloatArray, FloatArray]:
        """Return joint draws ``[M, N]`` for one state and their weights ``[M]``."""

    def best_with_error(
        self, state: State, rewards: ArrayLike, tolerance: float | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what `best` does and its error, that of as many independent draws, ``[...]``."""
        return best_of_points(self._joint, state, check_rewards(state, rewards), self._repeated)
