r"""Tables of single arms whose products add up to W, also where the prior contradicts the order.

If it is the order itself that the prior finds unlikely (565 pulls of each of two arms that say the opposite
give it the probability :math:`10^{-160}`), products leave the range of a double long before their logarithms
do. So then everything is relative to the prior. With :math:`\pi_g` the probability of node :math:`x_g` for
the middle arm, given the order,

.. math:: \frac{W(s)}{W(s_0)} = \sum_g \pi_g\, E[\mu_1^{s_1}(1-\mu_1)^{f_1} \mid \mu_1 \ge x_g]\;
    x_g^{s_2}(1-x_g)^{f_2}\; E[\mu_3^{s_3}(1-\mu_3)^{f_3} \mid \mu_3 \le x_g],

every factor of which lies between 0 and 1. Only single arms on either side of the middle one have such
messages; four and more arms are integrated state by state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs.quadrature import ArmTables, Nodes, beta_share, limited_logs, log_beta, place_nodes
from elsv.errors import InvalidInputError
from elsv.state import Arms, State

_LEAST = -140.0  # log P(order) from which doubles have room for all that matters
_DEEP = 1e-30  # share of a Beta distribution below which it is its own tail
_TINY = 1e-290  # and below which the library's function may underflow
_MOST_TERMS = 10_000
MOST_ARMS = 3

Tables = tuple[list[FloatArray], ...]  # for each arm, by its pulls n: [n + 1, G]


def factor_tables(problem: Arms, belief: Any, made: int) -> Tables:
    r"""Return the tables of every arm for up to `made` pulls, multiplied by 2^(made/2) in all.

    .. math:: W(s) = \sum_g A_1(n_1, s_1, g)\, A_2(n_2, s_2, g)\, A_3(n_3, s_3, g)

    over quadrature nodes :math:`x_g`: the middle arm is at the node and the others are integrated above or
    below it. Whoever can add up products quickly needs no array of weights.
    """
    if not 2 <= problem.arms <= MOST_ARMS:
        raise InvalidInputError(f"factor tables are those of 2 or {MOST_ARMS} arms, got {problem.arms}")
    middle, falling = (problem.arms - 1) // 2, belief.order == "decreasing"
    nodes, kind = nodes_for(problem, made), ArmTables
    if contradicts(problem, belief):
        nodes, kind = probable_nodes(problem, falling, place_nodes(problem, made)), RelativeTables
    scale = nodes.weights * 2.0 ** (made // 2)
    found = []
    for arm, row in enumerate(problem.prior):
        own = kind(row, nodes.log_x, nodes.log_rest, made)
        if arm == middle:
            found.append([own.density(n) * scale for n in range(made + 1)])
        else:
            found.append(own.integrals(falling == (arm < middle)))
    return tuple(found)


def nodes_for(problem: Arms, made: int) -> Nodes:
    """Return the nodes on which the weights of all states with up to `made` pulls are exact.

    If all prior counts are whole numbers the integrand is a polynomial of degree T + Σ(α + β) − N − 1, on
    which half as many Gauss–Legendre nodes in x are exact; otherwise the nodes are those of whole layers.
    """
    if (problem.prior != np.rint(problem.prior)).any():
        return place_nodes(problem, made)
    degree = made + int(problem.prior.sum()) - problem.arms - 1
    points, weights = np.polynomial.legendre.leggauss(max(1, degree // 2 + 1))
    x, rest = (1.0 + points) / 2.0, (1.0 - points) / 2.0
    # Densities come times x (1 - x).
    return Nodes(np.empty(0), np.log(x), np.log(rest), weights / (2.0 * x * rest))


def contradicts(problem: Arms, belief: Any) -> bool:
    """Return whether the prior finds the order of a belief that has W all but impossible."""
    log_weight = float(belief.log_weight(State.initial(problem)))
    return log_weight - float(log_beta(*problem.prior.T).sum()) < _LEAST


def probable_nodes(problem: Arms, falling: bool, nodes: Nodes) -> Nodes:
    """Return the nodes that the middle one of up to three arms may be at, weighted by their probabilities.

    All others have none in doubles: what any number of pulls makes of them is less still.
    """
    middle = (problem.arms - 1) // 2
    alpha, beta = problem.prior[middle]
    log_x, log_rest = limited_logs(nodes.log_x, nodes.log_rest)
    joint = alpha * log_x + beta * log_rest - log_beta(alpha, beta) + np.log(nodes.weights)
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
    a, b, x, rest = np.broadcast_arrays(alpha, beta, log_x, log_rest)
    share = beta_share(a, b, x, rest)
    far = share < _TINY
    found = np.log(np.where(far, 1.0, share))
    a, b, x, rest = a[far], b[far], x[far], rest[far]
    found[far] = a * x + b * rest - log_beta(a, b) + np.log(tail_factor(a, b, x))
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
