"""MOSS: the minimax optimal strategy in the stochastic case."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray
from elsv.indices._common import horizon_of, of_pulled
from elsv.indices.base import IndexBase, Setting


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
