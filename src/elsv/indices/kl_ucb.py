"""KL-UCB: the bound whose width is measured by the Bernoulli divergence."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray
from elsv.indices._common import not_negative, of_pulled
from elsv.indices.base import IndexBase, Setting


@dataclass(frozen=True)
class KLUCB(IndexBase):
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

    c: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", not_negative("c", self.c, "c=0"))

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the bound, elementwise."""
        return self.at_log_step(alpha, beta, math.log(step), setting)

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
