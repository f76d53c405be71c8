"""UCB-V: a bound that uses the empirical variance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray
from elsv.indices._common import of_pulled, positive
from elsv.indices.base import IndexBase, Setting


@dataclass(frozen=True)
class UCBV(IndexBase):
    r"""UCB-V of Audibert, Munos and Szepesvári (2009).

    .. math:: z_t = \hat\mu + \sqrt{2 V E/n} + 3cbE/n, \qquad E = \zeta\log t,

    with the empirical mean :math:`\hat\mu` and variance :math:`V = \hat\mu(1-\hat\mu)` of 0/1 rewards.

    Parameters
    ----------
    zeta
        :math:`\zeta`, the weight of the logarithm; above 1 in that paper's theorem.
    c
        Weight of the last term.
    b
        Largest reward; the index is for reward 1.
    """

    zeta: float = 1.2
    c: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        for name, example in (("zeta", "zeta=1.2"), ("c", "c=1"), ("b", "b=1")):
            object.__setattr__(self, name, positive(name, getattr(self, name), example))

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the bound, elementwise."""
        exploration = self.zeta * math.log(step)

        def bound(mean: FloatArray, pulls: FloatArray) -> FloatArray:
            variance = mean * (1.0 - mean)
            share = exploration / pulls
            return mean + np.sqrt(2.0 * variance * share) + 3.0 * self.c * self.b * share

        return of_pulled(bound, alpha, beta, setting)
