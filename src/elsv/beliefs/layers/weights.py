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
finds unlikely, so neither end leaves the range of a double up to T = 2000. If it is the order itself that the
prior finds unlikely, they are divided by W of the prior (`elsv.beliefs.layers.conflict`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs.base import Order
from elsv.beliefs.layers.conflict import RelativeTables, contradicts, probable_nodes
from elsv.beliefs.quadrature import ArmTables, Nodes, place_nodes
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import Lattice, Layer
from elsv.state import Arms, State

_BATCH = 4096
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
