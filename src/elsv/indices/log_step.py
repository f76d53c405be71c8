"""Indices that are smooth in log t: KL-UCB and Bayes-UCB. `tables` interpolates them between steps."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray
from elsv.indices._common import horizon_of, not_negative, of_pulled
from elsv.indices.base import IndexBase, Setting


@dataclass(frozen=True)
class LogStepIndex(IndexBase):
    """An index at any real log t, with one parameter."""

    c: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", not_negative("c", self.c, "c=0"))

    @abstractmethod
    def at_log_step(
        self, alpha: FloatArray, beta: FloatArray, log_step: float, setting: Setting
    ) -> FloatArray:
        """Return the index at any real log t, elementwise."""

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the index, elementwise."""
        return self.at_log_step(alpha, beta, math.log(step), setting)


@dataclass(frozen=True)
class KLUCB(LogStepIndex):
    r"""KL-UCB of Garivier and Cappé (2011).

    .. math:: z_t = \max\{q \in [\hat\mu, 1] : n\,d(\hat\mu, q) \le \log t + c\log\log t\},

    with the empirical mean :math:`\hat\mu` and the divergence
    :math:`d(p, q) = p\log(p/q) + (1-p)\log((1-p)/(1-q))`. The last term counts only where it is
    positive, :math:`t \ge 3`. Accurate to 1e-12.

    Parameters
    ----------
    c
        Weight of log log t: 0 is that paper's advice for practice, 3 is in its theorem.
    """

    def at_log_step(
        self, alpha: FloatArray, beta: FloatArray, log_step: float, setting: Setting
    ) -> FloatArray:
        """Return the bound at any real log t, elementwise."""
        budget = self.budget(log_step)
        return of_pulled(lambda mean, pulls: divergence_bound(mean, budget / pulls), alpha, beta, setting)

    def budget(self, log_step: float) -> float:
        """Return what pulls times divergence may come to at most."""
        return log_step + self.c * math.log(max(log_step, 1.0))


def divergence_bound(mean: FloatArray, limit: FloatArray) -> FloatArray:
    r"""Return :math:`\max\{q : d(\text{mean}, q) \le \text{limit}\}` elementwise, to 1e-12."""
    from elsv.indices._kl_ucb_kernels import upper_bounds

    means, limits = np.broadcast_arrays(mean, limit)
    bounds = np.empty(means.shape)
    upper_bounds(
        np.ascontiguousarray(means).reshape(-1), np.ascontiguousarray(limits).reshape(-1), bounds.reshape(-1)
    )
    return bounds


@dataclass(frozen=True)
class BayesUCB(LogStepIndex):
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
        if self.c == 0:
            return -log_step
        horizon = horizon_of(setting, f"bayes-ucb with c={self.c:g}", "give horizon=200 or use c=0")
        return -log_step - (self.c * math.log(math.log(horizon)) if horizon > 1 else -math.inf)
