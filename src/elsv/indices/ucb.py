r"""Upper confidence bounds of the form mean + :math:`\sqrt{\text{constant}\cdot\log t/\text{pulls}}`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray
from elsv.indices._common import flag, of_pulled, positive
from elsv.indices.base import IndexBase, Setting


@dataclass(frozen=True)
class UCB(IndexBase):
    r"""The paper's α-UCB, :math:`z_t = m + \sqrt{\text{scale}\cdot\log t/\text{pulls}}` (paper equation 3).

    The mean :math:`m = \alpha/(\alpha+\beta)` is the posterior one, prior included.

    Parameters
    ----------
    scale
        The constant under the root, positive; the paper calls it α.
    count_prior
        False: pulls are :math:`n`, and an arm without pulls has an infinite index. True: pulls are
        :math:`\alpha+\beta`, as in the authors' program, and every index is finite.
    """

    scale: float = 1.0
    count_prior: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale, "scale=1"))
        object.__setattr__(self, "count_prior", flag("count_prior", self.count_prior))

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return m + √(scale · log t / pulls), elementwise."""
        counts = np.add(alpha, beta)
        mean = np.divide(alpha, counts)
        pulls = counts if self.count_prior else setting.pulls(alpha, beta)
        bonus = np.sqrt(self.scale * math.log(step) / np.where(pulls > 0, pulls, 1.0))
        return np.where(pulls > 0, mean + bonus, np.inf)


@dataclass(frozen=True)
class UCB1(IndexBase):
    r"""UCB1 of Auer, Cesa-Bianchi and Fischer (2002), :math:`z = \hat\mu + \sqrt{2\ln t/n}`.

    The mean :math:`\hat\mu` is the empirical one, without the prior. Under the logarithm stands the step t,
    as in every other index here; counting the t - 1 pulls made so far instead changes the regret by less
    than can be measured.
    """

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the empirical mean + √(2 ln t / n), elementwise."""
        doubled = 2.0 * math.log(step)
        return of_pulled(lambda mean, pulls: mean + np.sqrt(doubled / pulls), alpha, beta, setting)
