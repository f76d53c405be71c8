r"""P(arm i has the largest :math:`r_i\mu_i`) in all states of a layer: Thompson sampling (past the paper).

Independent arms: arm i is best at the reward v with density :math:`f_i(v/r_i)/r_i` and the others lie below,

.. math:: P(i) \propto \int f_i(v/r_i) \prod_{l \ne i} F_l(v/r_l)\, dv/r_i,

piece by piece between the rewards. Two or three arms in order, :math:`\mu_1 \ge \mu_2 \ge \mu_3`: given
:math:`\mu_2 = y`, :math:`\mu_1 \ge y` and :math:`\mu_3 \le y` are independent, so with
:math:`\ell = \max(y, r_2 y/r_1)`

.. math::

    P(2) \propto \int f_2(y)\,[F_1(\ell) - F_1(y)]\, F_3(\min(y, r_2 y/r_3))\,dy, \qquad
    P(1) \propto \int f_2(y) \int_\ell^1 f_1(x)\, F_3(\min(y, r_1 x/r_3))\,dx\,dy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs.base import Order
from elsv.beliefs.layers.tables import MOST_ARMS, contradicts
from elsv.beliefs.quadrature import ArmTables, Nodes, place_nodes
from elsv.lattice.numbering import Layer
from elsv.lattice.workers import Crew
from elsv.state import Arms

_MOST_AXES = 64  # of an array, one of them for which arm is best
Fill = Callable[[list[int], FloatArray], None]  # adds to [N, n_1 + 1, …, n_N + 1] of one block


def best_of_independent(problem: Arms, layer: Layer, crew: Crew) -> FloatArray | None:
    """Return the probabilities ``[N, states]`` of independent arms; None for more than arrays have axes."""
    if problem.arms >= _MOST_AXES:
        return None
    return _filled(problem, _independent(problem, layer.made), layer, crew)


def best_in_order(problem: Arms, belief: Any, layer: Layer, crew: Crew) -> FloatArray | None:
    """Return the probabilities ``[N, states]`` of arms in order, or None where each state must be integrated.

    That is so with four arms and more, and if the prior contradicts the order.
    """
    if problem.arms > MOST_ARMS or contradicts(problem, belief):
        return None
    return _filled(problem, _in_order(problem, belief.order, layer.made), layer, crew)


def _filled(problem: Arms, fills: Iterable[Fill], layer: Layer, crew: Crew) -> FloatArray:
    """Return the sums of what `fills` add, divided so that they sum to one."""
    if problem.arms == 1:
        return np.ones((1, layer.size))
    out = np.zeros((problem.arms, layer.size))

    def work(fill: Fill, block: int) -> None:
        here = slice(int(layer.starts[block]), int(layer.starts[block + 1]))
        pulls = layer.pulls[block].tolist()
        part = np.zeros((problem.arms, *(n + 1 for n in pulls)))
        fill(pulls, part)
        out[:, here] += part.reshape(problem.arms, -1)

    for fill in fills:
        crew.map(partial(work, fill), range(len(layer.pulls)))
    np.maximum(out, 0.0, out=out)
    total = out.sum(axis=0)
    even = np.full_like(out, 1.0 / problem.arms)
    return np.asarray(np.divide(out, total, out=even, where=total > 0))


def _independent(problem: Arms, made: int) -> Iterator[Fill]:
    """Yield what adds the parts of the integral over v, piece by piece and some nodes at a time."""
    edges = np.concatenate([[0.0], np.unique(problem.rewards)])
    unit = place_nodes(problem, made)
    for low, high in pairwise(edges):
        for nodes in unit.parts(made):
            yield _piece(problem, nodes, made, low, high)


def _piece(problem: Arms, nodes: Nodes, made: int, low: float, high: float) -> Fill:
    """Return what adds the part of independent arms at some nodes, v between two rewards."""
    from elsv.beliefs.layers.weights_kernels import add_products

    share, rest = np.exp(nodes.log_x), np.exp(nodes.log_rest)
    v, to_go = low + (high - low) * share, (high - low) * rest
    rate = nodes.weights * (high - low) * share * rest
    arms, jacobians = [], []  # what turns x (1 - x) dx into dv
    for prior, reward in zip(problem.prior, problem.rewards, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            log_x = np.log(np.minimum(v / reward, 1.0))
            log_rest = np.log(np.maximum(reward - high + to_go, 0.0) / reward)
            jacobians.append(np.where(reward >= high, np.exp(-log_x - log_rest) * rate / reward, 0.0))
        arms.append(ArmTables(prior, log_x, log_rest, made))
    below = [tables.integrals(from_above=False) for tables in arms]

    def fill(pulls: list[int], out: FloatArray) -> None:
        for i, part in enumerate(out):
            tables = [below[j][n] for j, n in enumerate(pulls)]
            tables[i] = arms[i].density(pulls[i]) * jacobians[i]
            before = np.ones((1, len(rate)))
            for table in tables[:-2]:
                before = (before[:, None] * table).reshape(-1, len(rate))
            add_products(before, tables[-2], tables[-1], part.reshape(-1))

    return fill


def _in_order(problem: Arms, order: Order, made: int) -> Iterator[Fill]:
    """Yield what adds the integrals of two or three arms in order."""
    arms = list(range(problem.arms))[:: 1 if order == "decreasing" else -1]  # from the largest mean down
    prior, r = problem.prior[arms], [float(problem.rewards[arm]) for arm in arms]
    kinks = [r[0] / r[1]] + ([r[0] / r[2], r[2] / r[1]] if len(arms) == 3 else [])
    nodes = place_nodes(problem, made, tuple(kinks))
    middle = ArmTables(prior[1], nodes.log_x, nodes.log_rest, made)
    least = max(1.0, r[1] / r[0])
    above = _at(prior[0], nodes, 1.0, made).integrals(from_above=True)
    above_least = _at(prior[0], nodes, least, made).integrals(from_above=True)
    crosses = False
    if len(arms) == 3:
        meets = r[2] / r[0]
        below = _at(prior[2], nodes, 1.0, made).integrals(from_above=False)
        capped = _at(prior[2], nodes, min(1.0, r[1] / r[2]), made).integrals(from_above=False)
        crosses = meets > least  # else the first arm beats the third wherever it beats the second
    if crosses:
        y, inner = np.exp(nodes.log_x), place_nodes(problem, made)
        above_meeting = _at(prior[0], nodes, meets, made).integrals(from_above=True)
        first = ArmTables(prior[0], inner.log_x, inner.log_rest, made)
        third = _at(prior[2], inner, r[0] / r[2], made).integrals(from_above=False)
        upper, lower = np.minimum(meets * y, 1.0), np.minimum(least * y, 1.0)
        between = inner.rule_up_to(upper) - inner.rule_up_to(lower)  # [G, inner nodes]

    def fill(pulls: list[int], out: FloatArray) -> None:
        n = [pulls[arm] for arm in arms]
        over, over_least = above[n[0]][:, None], above_least[n[0]][:, None]  # [s_1, 1, G]
        under = under_cap = np.ones((1, len(nodes.weights)))
        if len(n) == 3:
            under, under_cap = below[n[2]], capped[n[2]]
        best, second = over_least * under, (over - over_least) * under_cap
        if crosses:
            # The integral over the first arm above ℓ of its density times F_3, [s_1, s_3, G].
            product = first.density(n[0])[:, None] * third[n[2]]
            best = above_meeting[n[0]][:, None] * under + _product(product, between)
        rest = over * under - best - second
        density = middle.density(n[1]) * nodes.weights  # [s_2, G]
        for k, part in zip(arms, (best, second, rest), strict=False):
            worth = _product(part, density)  # [s_1, s_3, s_2]
            worth = np.moveaxis(worth, 2, 1).reshape([count + 1 for count in n])
            out[k] += worth.transpose() if arms[0] else worth

    yield fill


def _product(stack: FloatArray, rows: FloatArray) -> FloatArray:
    """Return Σ_g stack[…, g] rows[k, g]; NumPy's own product starts threads beside those of the sweep."""
    from elsv.beliefs.layers.weights_kernels import add_products

    flat = np.ascontiguousarray(stack).reshape(-1, stack.shape[-1])
    out = np.zeros(len(flat) * len(rows))
    add_products(np.ones((1, flat.shape[1])), flat, rows, out)
    return out.reshape(*stack.shape[:-1], len(rows))


def _at(prior: FloatArray, nodes: Nodes, factor: float, made: int) -> ArmTables:
    """Return tables of an arm at `factor` times the nodes, 1 at most."""
    if factor == 1.0:
        return ArmTables(prior, nodes.log_x, nodes.log_rest, made)
    with np.errstate(divide="ignore"):
        x = np.minimum(factor * np.exp(nodes.log_x), 1.0)
        log_x = np.minimum(np.log(factor) + nodes.log_x, 0.0)
        return ArmTables(prior, log_x, np.log1p(-x), made)
