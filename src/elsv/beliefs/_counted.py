"""P(best) and E[max] counted among joint points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from elsv._typing import FloatArray
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
