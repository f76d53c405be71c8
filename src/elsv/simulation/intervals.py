r"""Intervals of means, and of one success probability.

`anytime` holds whichever rule picks the customers and however often one looks. With k successes of n,

.. math:: C = \{\mu : \ln m(k, n) - k \ln\mu - (n - k)\ln(1 - \mu) < \ln(1/a)\}, \qquad
    m(k, n) = \frac{B(k + \frac12, n - k + \frac12)}{B(\frac12, \frac12)}.

Under the true rate the ratio of m to the likelihood is a martingale of mean 1. By Ville's inequality C ever
misses the rate with probability a at most. `wilson` is for one look.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import FloatArray

Z95 = 1.959963984540054
MISS = 0.05  # chance that an interval misses
FEW = 10  # successes or failures below which Wilson's interval is not used
_HALVINGS = 60


def interval(total: FloatArray, squares: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the half-width of its 95 % interval from Σx and Σx²."""
    mean = total / n
    if n < 2:
        return mean, np.full(mean.shape, np.inf)
    variance = np.maximum(squares - n * mean * mean, 0.0) / (n - 1)
    return mean, Z95 * np.sqrt(variance / n)


def anytime(successes: ArrayLike, trials: ArrayLike, miss: float = MISS) -> tuple[FloatArray, FloatArray]:
    """Return both ends of C; arrays of counts give arrays of ends.

    Examples
    --------
    >>> low, high = anytime(40, 190)
    >>> round(float(low), 4), round(float(high), 4)
    (0.1222, 0.3221)
    """
    from scipy.special import betaln, xlog1py, xlogy

    won, seen = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(trials, np.float64))
    lost = seen - won
    mixture = betaln(won + 0.5, lost + 0.5) - betaln(0.5, 0.5) + np.log(miss)
    rate = np.divide(won, seen, out=np.full(won.shape, 0.5), where=seen > 0)

    def inside(mean: FloatArray) -> FloatArray:
        return np.asarray(mixture < xlogy(won, mean) + xlog1py(lost, -mean))

    def end(outer: float) -> FloatArray:
        near, far = rate.copy(), np.full(rate.shape, outer)
        for _ in range(_HALVINGS):
            middle = 0.5 * (near + far)
            good = inside(middle)
            near, far = np.where(good, middle, near), np.where(good, far, middle)
        return np.where(inside(np.full(rate.shape, outer)), outer, far)

    return end(0.0), end(1.0)


def wilson(successes: ArrayLike, trials: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return both ends of Wilson's 95 % interval with continuity correction; there must be trials.

    The ends solve (|p − k/n| − 1/(2n))² n = z² p (1 − p). Without the correction the interval covers 91 to
    97 %, depending on the rate; with it 95 % at least, for the rates and numbers that campaigns have.
    """
    won, seen = np.asarray(successes, np.float64), np.asarray(trials, np.float64)
    lost, square, scale = seen - won, Z95**2, 2 * (seen + Z95**2)
    below = Z95 * np.sqrt(np.maximum(0.0, square - 2 - 1 / seen + 4 * won * (lost + 1) / seen))
    above = Z95 * np.sqrt(np.maximum(0.0, square + 2 - 1 / seen + 4 * won * (lost - 1) / seen))
    low, high = (2 * won + square - 1 - below) / scale, (2 * won + square + 1 + above) / scale
    return np.where(won == 0, 0.0, low), np.where(lost == 0, 1.0, high)


def one_look(successes: ArrayLike, trials: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's interval, or `anytime` with fewer than 10 successes or failures."""
    won, seen = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(trials, np.float64))
    few = (won < FEW) | (seen - won < FEW)
    careful, usual = anytime(won, seen), wilson(np.where(few, 1, won), np.where(few, 2, seen))
    return np.where(few, careful[0], usual[0]), np.where(few, careful[1], usual[1])
