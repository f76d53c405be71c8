"""Information-directed sampling with integrals in place of points, for equal rewards and independent arms.

A second way to what `ids` adds up over points, to see what the points cost. With F and f an arm's
distribution function and density, and m(x) its mean where it is at most x, arm a is best at x with density
f_a times the product of the other F, and arm i then has the mean m_i(x). The integral is a sum over evenly
spread logits, where densities are smooth.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import betainc, betaln, expit

from elsv import State
from elsv._base.typing import FloatArray, IntArray
from elsv.policies.mixing import drawn, least_ratio

_STEP = 0.04  # a few of them within the spread of a logit after a thousand pulls
_LOGIT = np.arange(-22.0, 22.0, _STEP)
_X = expit(_LOGIT)


class IntegratedIds:
    """`ids` by integrals."""

    def __call__(self, state: State, step: int, rng: np.random.Generator) -> IntArray:
        """Return an arm for every instance, drawn with its chances."""
        return drawn(self.chances(state, step), rng)

    def chances(self, state: State, step: int) -> FloatArray:
        """Return the probability of each arm, ``[..., N]``."""
        terms = [losses_and_news(*one) for one in zip(*state.rows(), strict=True)]
        loss, news = (np.array(part) for part in zip(*terms, strict=True))
        return least_ratio(loss, news).reshape(state.alpha.shape)


def losses_and_news(alpha: FloatArray, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what pulls lose and show of the best arm in one state, ``[N]``."""
    known = np.array([_curves(a, b) for a, b in zip(alpha.tolist(), beta.tolist(), strict=True)])
    below, density, mean_below = known[:, 0], known[:, 1], known[:, 2]
    one = np.ones((1, len(_X)))
    before = np.cumprod(np.vstack([one, below[:-1]]), axis=0)
    after = np.cumprod(np.vstack([one, below[:0:-1]]), axis=0)[::-1]
    best_at = before * after * density  # [a*, x]
    chance = best_at.sum(axis=1)
    sums = best_at @ mean_below.T  # [a*, N]
    np.fill_diagonal(sums, best_at @ _X)
    chance, sums = chance / chance.sum(), sums / chance.sum()
    mean = sums.sum(axis=0)
    given = sums / np.where(chance > 0, chance, 1.0)[:, None]
    return np.trace(sums) - mean, (chance[:, None] * (given - mean) ** 2).sum(axis=0)


@lru_cache(maxsize=20_000)
def _curves(a: float, b: float) -> FloatArray:
    """Return distribution function, density by the logit, and mean up to there of Beta(a, b), ``[3, x]``."""
    below = betainc(a, b, _X)
    density = np.exp(-a * np.logaddexp(0, -_LOGIT) - b * np.logaddexp(0, _LOGIT) - betaln(a, b))
    mean_below = np.where(below > 0, a / (a + b) * betainc(a + 1, b, _X) / np.where(below > 0, below, 1), _X)
    return np.stack([below, density, mean_below])
