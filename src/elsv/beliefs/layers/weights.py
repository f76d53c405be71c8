r"""The weight W of every state of a layer when the means are in order (past the paper).

.. math::

    W(s) = E\Bigl[\prod_i \mu_i^{s_i} (1-\mu_i)^{f_i}\; 1\{\mu_1 \ge \dots \ge \mu_N\}\Bigr]
         = \int f_k(x)\, U_{k-1}(x)\, L_{k+1}(x)\, dx

over the independent prior, with the messages of `elsv.beliefs.chain` and any arm k. U depends on the arms
before k alone and L on those after it, so each is tabulated once for all states that share them, and a block
of W is one product over the quadrature nodes. Only the last layer needs this: every earlier one
is :math:`W(s) = W(s{+}\text{success}_i) + W(s{+}\text{failure}_i)`.

The message of a single arm is exact in relative terms (`elsv.beliefs.quadrature`); only chains of two and
more arms on one side of k (four arms or more) are integrated numerically.

All weights are multiplied by :math:`2^{T/2}`: they lie between :math:`2^{-T}` and 1, less what the prior
finds unlikely, so neither end leaves the range of a double up to T = 2000.

If it is the order itself that the prior finds unlikely (565 pulls of each of two arms that say the opposite
give it the probability :math:`10^{-160}`), products leave that range long before their logarithms do. So then
everything is relative to the prior. With :math:`\pi_g` the probability of node :math:`x_g` for the middle
arm, given the order,

.. math:: \frac{W(s)}{W(s_0)} = \sum_g \pi_g\, E[\mu_1^{s_1}(1-\mu_1)^{f_1} \mid \mu_1 \ge x_g]\;
    x_g^{s_2}(1-x_g)^{f_2}\; E[\mu_3^{s_3}(1-\mu_3)^{f_3} \mid \mu_3 \le x_g],

every factor of which lies between 0 and 1. Only single arms on either side of the middle one have such
messages; four and more arms are integrated state by state.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Protocol

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs.base import Order
from elsv.beliefs.quadrature import ArmTables, Nodes, beta_share, limited_logs, place_nodes
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import Lattice, Layer
from elsv.state import Arms, State

_BATCH = 4096
_LEAST = -140.0  # log P(order) from which doubles have room for all that matters
_DEEP = 1e-30  # share of a Beta distribution below which it is its own tail
_TINY = 1e-290  # and below which the library's function may underflow
_MOST_TERMS = 10_000
Table = dict[tuple[int, ...], FloatArray]  # pulls of some arms: [states of that block, G]
MOST_ARMS = 3

Tables = tuple[list[FloatArray], ...]  # for each arm, by its pulls n: [n + 1, G]


class InOrder(Protocol):
    """A belief under an order, as far as it is needed here."""

    @property
    def order(self) -> Order:
        """The direction."""
        ...

    def log_weight(self, state: State) -> FloatArray:
        """Return log W."""
        ...

    def precise(self) -> InOrder:
        """Return the same belief with the finest tolerance."""
        ...


def weights_in_order(
    problem: Arms, belief: InOrder, lattice: Lattice, made: int, workers: int = 1
) -> FloatArray:
    """Return W of all states after `made` pulls, in the lattice's numbering, times 2^(T/2).

    If the prior contradicts the order, W is relative to that of the prior.
    """
    layer, unit = lattice.layer(made), 2.0 ** (lattice.most // 2)
    out = np.zeros(layer.size)
    relative = contradicts(problem, float(belief.log_weight(State.initial(problem))))
    with ThreadPoolExecutor(workers) as pool:
        if relative and problem.arms > 3:
            weigh = partial(_weigh, problem, belief.precise(), unit, out)
            list(pool.map(weigh, layer.batches(problem, _BATCH)))
            return out
        nodes = place_nodes(problem, made)
        if relative:
            nodes = probable_nodes(problem, belief.order, nodes)
        # Chains of two arms need all nodes at once.
        for part in [nodes] if problem.arms > 3 else nodes.parts(made):
            tables = _Tables(problem, belief.order, part, made, part.weights * unit, relative)
            chunks = layer.chunks(max(layer.size // (16 * workers), 1 << 16))
            list(pool.map(partial(_add_blocks, tables, layer, out), chunks))
    return out


def _weigh(problem: Arms, belief: InOrder, unit: float, out: FloatArray, batch: tuple[slice, State]) -> None:
    """Set W of some states, relative to the prior's, state by state."""
    here, state = batch
    out[here] = unit * np.exp(belief.log_weight(state) - belief.log_weight(State.initial(problem)))


def _add_blocks(tables: _Tables, layer: Layer, out: FloatArray, bounds: tuple[int, int]) -> None:
    for b in range(*bounds):
        tables.add_block(layer.pulls[b].tolist(), out[layer.starts[b] : layer.starts[b + 1]])


class _Tables:
    """Densities and messages at some nodes, for all numbers of pulls up to `made`."""

    def __init__(
        self, problem: Arms, order: Order, nodes: Nodes, made: int, scale: FloatArray, relative: bool
    ) -> None:
        self.arms = [_arm_tables(row, nodes, made, relative) for row in problem.prior]
        self.nodes = nodes
        self.made = made
        self.scale = scale
        self.middle = (problem.arms - 1) // 2
        falling = order == "decreasing"
        self.before = self.messages(range(self.middle), falling)
        self.behind = self.messages(range(problem.arms - 1, self.middle, -1), not falling)

    def add_block(self, pulls: list[int], out: FloatArray) -> None:
        """Add these nodes' part of W of a block."""
        from elsv.beliefs.layers.weights_kernels import add_products

        density = self.arms[self.middle].density(pulls[self.middle]) * self.scale
        before = self.before[tuple(pulls[: self.middle])]
        add_products(before, density, self.behind[tuple(pulls[self.middle + 1 :])], out)

    def messages(self, arms: range, from_above: bool) -> Table:
        """Return the integrals over ordered means of `arms`, the first outermost, up to every node."""
        if not arms:
            return {(): np.ones((1, len(self.nodes.log_x)))}
        single = self.arms[arms[0]].integrals(from_above)
        table: Table = {(n,): single[n] for n in range(self.made + 1)}
        for arm in arms[1:]:
            longer: Table = {}
            for pulls, message in table.items():
                for n in range(self.made - sum(pulls) + 1):
                    density = self.arms[arm].density(n)
                    forward = arms.step > 0
                    product = message[:, None] * density if forward else density[:, None] * message
                    key = (*pulls, n) if forward else (n, *pulls)
                    longer[key] = self.nodes.integrals(product.reshape(-1, density.shape[1]), from_above)
            table = longer
        return table


def factor_tables(problem: Arms, belief: InOrder, made: int) -> Tables:
    r"""Return the tables of every arm for up to `made` pulls, multiplied by 2^(made/2) in all.

    .. math:: W(s) = \sum_g A_1(n_1, s_1, g)\, A_2(n_2, s_2, g)\, A_3(n_3, s_3, g)

    over quadrature nodes :math:`x_g`: the middle arm is at the node and the others are integrated above or
    below it. Whoever can add up products quickly needs no array of weights.
    """
    if not 2 <= problem.arms <= MOST_ARMS:
        raise InvalidInputError(f"factor tables are those of 2 or {MOST_ARMS} arms, got {problem.arms}")
    relative = contradicts(problem, float(belief.log_weight(State.initial(problem))))
    nodes = nodes_for(problem, made)
    if relative:
        nodes = probable_nodes(problem, belief.order, place_nodes(problem, made))
    middle, falling = (problem.arms - 1) // 2, belief.order == "decreasing"
    scale = nodes.weights * 2.0 ** (made // 2)
    found = []
    for arm, row in enumerate(problem.prior):
        own = _arm_tables(row, nodes, made, relative)
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


def _arm_tables(row: FloatArray, nodes: Nodes, made: int, relative: bool) -> ArmTables:
    kind = RelativeTables if relative else ArmTables
    return kind(row, nodes.log_x, nodes.log_rest, made)


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
