r"""Quadrature nodes for Beta densities, and tables of those densities and their integrals.

The nodes are Gauss–Legendre panels in u, :math:`\log x/(1-x) = \sinh u`, where every Beta density, however
small its counts, is smooth and vanishes at both ends. The integral of a density up to a node is an incomplete
Beta function, itself a sum over outcomes (:math:`L(a, b) = L(a{+}1, b) + L(a, b{+}1)`), so it is exact in
relative terms however small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from elsv._base.typing import FloatArray
from elsv.state import Arms

_POINTS = 12
_TAIL = 45.0  # nats below the peak at which a density is cut off
MOST_IN_TABLE = 1 << 26  # numbers in one table of messages
_GRADES = 8  # panels on either side of a kink, each a tenth of the one before
_SMALLEST = -700.0  # logarithm of about the smallest double
_NEVER = -1e300  # stands for the logarithm of 0 where a power of 0 must be 1


@dataclass(frozen=True)
class Nodes:
    """Quadrature nodes on the line of u, in panels."""

    edges: FloatArray  # [panels + 1], in u
    log_x: FloatArray  # [G]
    log_rest: FloatArray  # [G], log(1 - x)
    weights: FloatArray  # [G]: the sum of weights times x (1 - x) times a density is its integral

    def integrals(self, values: FloatArray, from_above: bool) -> FloatArray:
        """Return the integrals of functions given at all nodes ``[R, G]`` below (above) every node."""
        points, whole = _unit_panel()
        parts = (values * self.weights).reshape(len(values), -1, _POINTS) / whole
        if from_above:
            parts = parts[:, ::-1, ::-1]
        inside = parts @ _partial_rule(points).T
        inside[:, 1:] += np.cumsum(parts[:, :-1] @ whole, axis=1)[..., None]
        return (inside[:, ::-1, ::-1] if from_above else inside).reshape(values.shape)

    def rule_up_to(self, x: FloatArray) -> FloatArray:
        """Return the weights of the integral from 0 to each of the points `x` ``[K]``, shape ``[K, G]``."""
        with np.errstate(divide="ignore"):
            u = np.arcsinh(np.log(x) - np.log1p(-x))
        panel = np.clip(np.searchsorted(self.edges, u) - 1, 0, len(self.edges) - 2)
        place = np.clip((u - self.edges[panel]) / np.diff(self.edges)[panel], 0.0, 1.0)
        share = (np.arange(len(self.edges) - 1) < panel[:, None]).astype(np.float64)
        rule = np.repeat(share[:, :, None], _POINTS, axis=2)
        rule[np.arange(len(x)), panel] = _partial_rule(place) / _unit_panel()[1]
        return rule.reshape(len(x), -1) * self.weights

    def parts(self, most: int) -> Iterator[Nodes]:
        """Yield the nodes in runs whose tables for up to `most` pulls stay small; for sums only."""
        each = max(1, MOST_IN_TABLE // (most + 1) ** 2)
        for first in range(0, len(self.log_x), each):
            here = slice(first, first + each)
            yield replace(
                self, log_x=self.log_x[here], log_rest=self.log_rest[here], weights=self.weights[here]
            )


def place_nodes(problem: Arms, made: int, breaks: tuple[float, ...] = ()) -> Nodes:
    """Return nodes that resolve every state with up to `made` pulls to about 1e-12.

    `breaks` are points x where the integrand has a kink: panels end there.
    """
    prior = problem.prior
    reach = float(np.arcsinh(_TAIL / prior.min() + np.log(made + prior.sum() + 10.0)))
    # A product of Beta densities with n counts in all is sqrt(4/n) wide in log x/(1-x).
    width = 5.0 / np.sqrt(made + prior.sum())
    if problem.arms > 3:
        width = min(width, 10.0 / (made + prior.sum()), 0.6)
    edges = np.linspace(-reach, reach, int(np.ceil(2 * reach / min(width, 1.0))) + 1)
    kinks = np.array([np.arcsinh(np.log(x) - np.log1p(-x)) for x in breaks if 0 < x < 1])
    if len(kinks) and (prior != np.rint(prior)).any():
        # Beyond a kink there may be a fractional power of the distance from it: ever smaller panels.
        near = (edges[1] - edges[0]) * 0.1 ** np.arange(1, _GRADES + 1)
        kinks = (kinks[:, None] + np.concatenate([[0.0], near, -near])).ravel()
    edges = np.unique(np.concatenate([edges, kinks]))
    points, whole = _unit_panel()
    size = np.diff(edges)[:, None]
    u = (edges[:-1, None] + size * points).ravel()
    y = np.sinh(u)
    weights = (size * whole).ravel() * np.cosh(u)
    return Nodes(edges, -np.logaddexp(0.0, -y), -np.logaddexp(0.0, y), weights)


def _unit_panel() -> tuple[FloatArray, FloatArray]:
    """Return Gauss–Legendre points and weights on [0, 1]."""
    points, whole = np.polynomial.legendre.leggauss(_POINTS)
    return (points + 1) / 2, whole / 2


def _partial_rule(to: FloatArray) -> FloatArray:
    """Return the weights of the integral from 0 to each of the places `to` in [0, 1], ``[K, P]``."""
    return 0.5 * integrals_to(2 * to - 1, _POINTS)


def integrals_to(places: FloatArray, points: int) -> FloatArray:
    """Return the weights of Gauss–Legendre nodes in the integral from -1 to each place, ``[K, P]``."""
    legendre, degrees = np.polynomial.legendre, np.arange(points)
    nodes, weights = legendre.leggauss(points)
    values = legendre.legvander(places, points)
    below = np.concatenate([-np.ones((len(places), 1)), values[:, :-2]], axis=1)
    integrals = np.ascontiguousarray((values[:, 1:] - below) / (2 * degrees + 1))
    # The coefficients of the interpolating polynomial are (2k + 1)/2 Σ_j w_j P_k(x_j) f(x_j).
    coefficients = (degrees[:, None] + 0.5) * legendre.legvander(nodes, points - 1).T * weights
    return np.asarray(integrals @ coefficients)


def log_beta(alpha: FloatArray | float, beta: FloatArray | float) -> FloatArray:
    """Return the logarithm of the Beta function."""
    from scipy.special import betaln

    found: FloatArray = betaln(alpha, beta)
    return found


def limited_logs(log_x: FloatArray, log_rest: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return log x and log(1 - x), no lower than what stands for the logarithm of 0."""
    return np.maximum(log_x, _NEVER), np.maximum(log_rest, _NEVER)


def beta_share(
    alpha: FloatArray | float, beta: FloatArray | float, log_x: FloatArray, log_rest: FloatArray
) -> FloatArray:
    """Return the incomplete Beta function, the share of a Beta distribution below x."""
    from scipy.special import betainc

    x, rest = np.exp(log_x), np.exp(log_rest)
    share = _first_power(betainc(alpha, beta, x), alpha, beta, log_x)
    # Near x = 1 it is 1 - x that is known; where the share is small, x is not that near.
    above = _first_power(betainc(beta, alpha, rest), beta, alpha, log_rest)
    return np.asarray(np.where((x > 0.5) & (share > 1e-3), 1.0 - above, share))


def _first_power(
    share: FloatArray, alpha: FloatArray | float, beta: FloatArray | float, log_x: FloatArray
) -> FloatArray:
    """Return `share` with x^alpha / (alpha B) where x is too small for a double, but x^alpha is not."""
    if not (log_x < _SMALLEST).any():
        return share
    power = np.exp(alpha * log_x - np.log(alpha) - log_beta(alpha, beta))
    return np.where(log_x < _SMALLEST, power, share)


class ArmTables:
    """Densities of one arm at given points x for every count of pulls and successes, and their integrals."""

    def __init__(self, prior: FloatArray, log_x: FloatArray, log_rest: FloatArray, most: int) -> None:
        self.alpha, self.beta = (float(count) for count in prior)
        self.log_x, self.log_rest = limited_logs(log_x, log_rest)  # [G]
        self.most = most
        powers = np.arange(most + 1)[:, None]
        self._won, self._lost = np.exp(powers * self.log_x), np.exp(powers * self.log_rest)

    def density(self, n: int) -> FloatArray:
        r"""Return :math:`x(1-x)\,x^s(1-x)^{n-s}` times the prior density, ``[n + 1, G]``."""
        whole = log_beta(self.alpha, self.beta)
        start = np.exp(self.alpha * self.log_x + self.beta * self.log_rest - whole)
        density: FloatArray = start * self._won[: n + 1] * self._lost[n::-1]
        return density

    def integrals(self, from_above: bool) -> list[FloatArray]:
        """Return the integrals of the densities below (above) every point: [n][s, G]."""
        won: FloatArray = np.arange(self.most + 1.0)[:, None]
        a, b = self.alpha + won, self.beta + self.most - won
        log_x, log_rest = self.log_x, self.log_rest
        if from_above:
            a, b, log_x, log_rest = b, a, log_rest, log_x
        share = beta_share(a, b, log_x, log_rest)
        levels = [share * np.exp(log_beta(a, b) - log_beta(self.alpha, self.beta))]
        for _ in range(self.most):
            levels.append(levels[-1][1:] + levels[-1][:-1])
        return levels[::-1]
