"""MOSS: the minimax optimal strategy in the stochastic case."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray
from elsv.indices._empirical import of_pulled
from elsv.indices._parameters import horizon_of
from elsv.indices.base import Setting


@dataclass(frozen=True)
class MOSS:
    r"""MOSS of Audibert and Bubeck (2009), :math:`z = \hat\mu + \sqrt{\max(\log(T/(Nn)), 0)/n}`.

    T is the problem's horizon, N its number of arms, :math:`\hat\mu` the empirical mean.
    """

    @property
    def uses_step(self) -> bool:
        """The bonus depends on the horizon, not on the step."""
        return False

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the bound, elementwise."""
        share = horizon_of(setting, "moss", "give horizon=200 or use kl-ucb") / setting.arms
        return of_pulled(
            lambda mean, pulls: mean + np.sqrt(np.maximum(np.log(share / pulls), 0.0) / pulls),
            alpha,
            beta,
            setting,
        )

    def prepare(self, setting: Setting, pulls: int) -> None:
        """Do nothing: the formula needs no table."""
