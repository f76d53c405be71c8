r"""Indices in closed form: the mean, and a bonus that falls with the pulls."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray
from elsv.indices._common import flag, horizon_of, of_pulled, positive
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


@dataclass(frozen=True)
class MOSS(IndexBase):
    r"""MOSS of Audibert and Bubeck (2009), :math:`z = \hat\mu + \sqrt{\max(\log(T/(Nn)), 0)/n}`.

    T is the problem's horizon, N its number of arms, :math:`\hat\mu` the empirical mean.
    """

    uses_step = False

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the bound, elementwise."""
        share = horizon_of(setting, "moss", "give horizon=200 or use kl-ucb") / setting.arms
        return of_pulled(
            lambda mean, pulls: mean + np.sqrt(np.maximum(np.log(share / pulls), 0.0) / pulls),
            alpha,
            beta,
            setting,
        )


@dataclass(frozen=True)
class Greedy(IndexBase):
    r"""The posterior mean, :math:`z = \alpha/(\alpha+\beta)`; its bonus is 0."""

    uses_step = False

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the means, elementwise."""
        return np.divide(alpha, np.add(alpha, beta))
