r"""The weights of a layer when the prior contradicts the order (past the paper).

Two arms of which 565 pulls each say that the first is far below the second, and an order that says the
opposite: the order has probability :math:`10^{-160}` and less, and products of densities and messages leave
the range of doubles long before their logarithms do. So here everything is relative to the prior itself.
With :math:`\pi_g` the probability of node :math:`x_g` for the middle arm, given the order,

.. math:: \frac{W(s)}{W(s_0)} = \sum_g \pi_g\, E[\mu_1^{s_1}(1-\mu_1)^{f_1} \mid \mu_1 \ge x_g]\;
    x_g^{s_2}(1-x_g)^{f_2}\; E[\mu_3^{s_3}(1-\mu_3)^{f_3} \mid \mu_3 \le x_g],

every factor of which lies between 0 and 1. Only single arms on either side of the middle one have such
messages; four and more arms are integrated state by state.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs.base import Order
from elsv.beliefs.quadrature import ArmTables, Nodes, beta_share, limited_logs
from elsv.state import Arms

_LEAST = -140.0  # log P(order) from which doubles have room for all that matters
_DEEP = 1e-30  # share of a Beta distribution below which it is its own tail
_TINY = 1e-290  # and below which the library's function may underflow
_MOST_TERMS = 10_000


def contradicts(problem: Arms, log_weight: float) -> bool:
    """Return whether the prior, whose log W under the order is given, finds the order all but impossible."""
    from scipy.special import betaln

    return log_weight - float(betaln(*problem.prior.T).sum()) < _LEAST


def probable_nodes(problem: Arms, order: Order, nodes: Nodes) -> Nodes:
    """Return the nodes that the middle one of up to three arms may be at, weighted by their probabilities.

    All others have none in doubles: what any number of pulls makes of them is less still.
    """
    from scipy.special import betaln

    middle, falling = (problem.arms - 1) // 2, order == "decreasing"
    alpha, beta = problem.prior[middle]
    log_x, log_rest = limited_logs(nodes)
    joint = alpha * log_x + beta * log_rest - betaln(alpha, beta) + np.log(nodes.weights)
    for arm, (a, b) in enumerate(problem.prior):
        if arm != middle:
            from_above = falling == (arm < middle)
            joint = joint + log_share(*_turned(a, b, log_x, log_rest, from_above))
    share: FloatArray = np.exp(joint - joint.max())
    here = share > 0
    return replace(
        nodes, log_x=nodes.log_x[here], log_rest=nodes.log_rest[here], weights=share[here] / share.sum()
    )


class RelativeTables(ArmTables):
    """The same tables relative to the prior: at every node 1 without pulls."""

    def density(self, n: int) -> FloatArray:
        """Return what n pulls multiply the density by, ``[n + 1, G]``."""
        factor: FloatArray = self._won[: n + 1] * self._lost[n::-1]
        return factor

    def integrals(self, from_above: bool) -> list[FloatArray]:
        """Return the expectations of the same over means below (above) every node: [n][s, G]."""
        a0, b0, log_x, log_rest = _turned(self.alpha, self.beta, self.log_x, self.log_rest, from_above)
        won = np.arange(self.most + 1.0)[:, None]
        a, b = a0 + won, b0 + (self.most - won)
        start, end = beta_share(a0, b0, log_x, log_rest), beta_share(a, b, log_x, log_rest)
        deep = (start < _DEEP) & (end < _DEEP)
        top = np.empty(deep.shape)
        wide = ~deep
        if wide.any():
            spread = np.broadcast_arrays(a, b, log_x, log_rest, _log_moments(a0, b0, self.most)[:, None])
            ratio = log_share(*(array[wide] for array in spread[:4])) + spread[4][wide]
            top[wide] = np.exp(ratio - np.broadcast_to(log_share(a0, b0, log_x, log_rest), wide.shape)[wide])
        if deep.any():
            spread = np.broadcast_arrays(a, b, won, log_x, log_rest)
            a, b, won, log_x, log_rest = (array[deep] for array in spread)
            powers = np.exp(won * log_x + (self.most - won) * log_rest)
            ends = tail_factor(a, b, log_x) / tail_factor(np.full(a.shape, a0), np.full(a.shape, b0), log_x)
            top[deep] = powers * ends
        levels = [top if not from_above else top[::-1]]
        for _ in range(self.most):
            levels.append(levels[-1][1:] + levels[-1][:-1])
        return levels[::-1]


def log_share(
    alpha: FloatArray | float, beta: FloatArray | float, log_x: FloatArray, log_rest: FloatArray
) -> FloatArray:
    """Return the logarithm of the incomplete Beta function, however far in its tail."""
    from scipy.special import betaln

    a, b, x, rest = np.broadcast_arrays(alpha, beta, log_x, log_rest)
    share = beta_share(a, b, x, rest)
    far = share < _TINY
    found = np.log(np.where(far, 1.0, share))
    a, b, x, rest = a[far], b[far], x[far], rest[far]
    found[far] = a * x + b * rest - betaln(a, b) + np.log(tail_factor(a, b, x))
    return found


def tail_factor(alpha: FloatArray, beta: FloatArray, log_x: FloatArray) -> FloatArray:
    r"""Return :math:`\int_0^x t^{a-1}(1-t)^{b-1}dt` by :math:`x^a(1-x)^b`, x being in the lower tail.

    A continued fraction (Abramowitz and Stegun 26.5.8), from its beginning by Lentz's method.
    """
    x = np.exp(log_x)
    c, d = np.ones(x.shape), 1.0 / (1.0 - (alpha + beta) * x / (alpha + 1.0))
    value = d / alpha
    for m in range(1, _MOST_TERMS):
        step = m * (beta - m) * x / ((alpha + (2 * m - 1)) * (alpha + 2 * m))
        c, d = 1.0 + step / c, 1.0 / (1.0 + step * d)
        value *= c * d
        step = -(alpha + m) * (alpha + beta + m) * x / ((alpha + 2 * m) * (alpha + (2 * m + 1)))
        c, d = 1.0 + step / c, 1.0 / (1.0 + step * d)
        value *= c * d
        if (np.abs(c * d - 1.0) < 1e-15).all():
            break
    return value


def _turned(
    alpha: float, beta: float, log_x: FloatArray, log_rest: FloatArray, from_above: bool
) -> tuple[float, float, FloatArray, FloatArray]:
    """Return what makes the part above x one below 1 - x."""
    return (beta, alpha, log_rest, log_x) if from_above else (alpha, beta, log_x, log_rest)


def _log_moments(alpha: float, beta: float, pulls: int) -> FloatArray:
    """Return log E[μ^s (1 - μ)^(pulls - s)] of a Beta distribution for all s, without large terms."""
    count = np.arange(float(pulls))
    both = np.log(alpha + beta + count).sum()
    won = np.concatenate([[0.0], np.cumsum(np.log(alpha + count))])
    lost = np.concatenate([[0.0], np.cumsum(np.log(beta + count))])
    logs: FloatArray = won + lost[::-1] - both
    return logs
