"""Bayes-UCB: a quantile of the posterior whose level rises with the step."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray
from elsv.indices._common import horizon_of, not_negative
from elsv.indices.base import IndexBase, Setting


@dataclass(frozen=True)
class BayesUCB(IndexBase):
    r"""Bayes-UCB of Kaufmann, Cappé and Garivier (2012).

    .. math:: z_t = \text{the quantile of } \mathrm{Beta}(\alpha, \beta) \text{ at level }
              1 - \frac{1}{t (\log T)^c}.

    Where the level is not positive, as at t = 1 with c = 0, the index is the mean. At the level of the
    first steps a quantile may lie below the mean: the bonus is then negative. Accurate to 1e-11.

    Parameters
    ----------
    c
        Power of log T: 0 is that paper's advice for practice and needs no horizon, 5 is in its theorem.
    """

    c: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", not_negative("c", self.c, "c=0"))

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the quantile, elementwise."""
        return self.at_log_step(alpha, beta, math.log(step), setting)

    def at_log_step(
        self, alpha: FloatArray, beta: FloatArray, log_step: float, setting: Setting
    ) -> FloatArray:
        """Return the quantile at any real log t, elementwise."""
        # The complement keeps the digits of the small tail that 1 - 1/t would lose.
        from scipy.special import betainccinv

        log_tail = self.log_tail(log_step, setting)
        if log_tail >= 0.0:
            return np.divide(alpha, np.add(alpha, beta))
        quantile: FloatArray = np.asarray(betainccinv(alpha, beta, math.exp(log_tail)))
        return quantile

    def log_tail(self, log_step: float, setting: Setting) -> float:
        r"""Return the logarithm of one less the level, :math:`-\log t - c\log\log T`."""
        return -log_step - self._log_factor(setting)

    def _log_factor(self, setting: Setting) -> float:
        r"""Return :math:`c\log\log T`, by which the logarithm of the tail is lowered."""
        if self.c == 0:
            return 0.0
        horizon = horizon_of(setting, f"bayes-ucb with c={self.c:g}", "give horizon=200 or use c=0")
        return self.c * math.log(math.log(horizon)) if horizon > 1 else -math.inf
