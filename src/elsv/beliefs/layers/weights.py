r"""The weight W of every state of a layer under anything that ranks the arms (past the paper).

.. math::

    W(s) = E\Bigl[\prod_i \mu_i^{s_i} (1-\mu_i)^{f_i}\; 1\{\text{what ranks the arms holds}\}\Bigr]

over the independent prior. Arms are placed from one end to the other: a chain of falling means from the
largest down, all else from the smallest up. Where I can be the first k of them, i the next one and J the
rest, going up

.. math::

    W(s) = \sum_{I \to i \to J} \int L_I(x)\, f_i(x)\, U_J(x)\, dx, \quad
    L_I(x) = \int_0^x \sum_{i \in I} f_i L_{I \setminus i}, \quad
    U_J(x) = \int_x^1 \sum_{i \in J} f_i U_{J \setminus i},

each sum over the arms that may come there. L depends on the states of the arms in I alone and U on those in
J, so each is tabulated once on nodes that all states share, and a block of W is some products over the nodes.
Parts that do not depend on one another are multiplied. Only the last layer needs this: every earlier one is
:math:`W(s) = W(s{+}\text{success}_i) + W(s{+}\text{failure}_i)`.

The message of a single arm is exact in relative terms (`elsv.beliefs.quadrature`); only those of several arms
are integrated numerically. All weights are multiplied by :math:`2^{T/2}`: they lie between :math:`2^{-T}` and
1, less what the prior finds unlikely, so neither end leaves the range of a double up to T = 2000.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from math import comb

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs.base import Order
from elsv.beliefs.ladder.ranking import closure, components, covers
from elsv.beliefs.layers.tables import MOST_ARMS, RelativeTables, probable_nodes
from elsv.beliefs.quadrature import ArmTables, Nodes, place_nodes
from elsv.lattice.numbering import Lattice, Layer, shares
from elsv.lattice.workers import crew
from elsv.state import Arms

Some = frozenset[int]
Blocks = dict[tuple[int, ...], FloatArray]  # pulls of some arms: [states of that block, …]
Part = tuple[tuple[int, ...], Callable[..., FloatArray]]  # arms, and W by their pulls, an axis for each
MOST_SETS = 512  # messages that are tabulated; an order with more is integrated state by state


@dataclass(frozen=True)
class Ways:
    """In which order some connected arms may be placed."""

    arms: tuple[int, ...]
    before: tuple[Some, ...]  # by arm of the problem: the arms that must be placed before it
    unimodal: bool = False
    falling: bool = False  # whether the largest is placed first, and not the smallest

    def after(self, placed: Some) -> tuple[int, ...]:
        """Return the arms that may come next after those placed."""
        left = [arm for arm in self.arms if arm not in placed]
        if self.unimodal:
            left = left[:1] + left[1:][-1:]  # the smallest of what is left is at one of its ends
        return tuple(arm for arm in left if self.before[arm] <= placed)

    def sets(self, size: int) -> set[Some]:
        """Return the sets of `size` arms that can be the first ones."""
        found: set[Some] = {frozenset()}
        for _ in range(size):
            found = {placed | {arm} for placed in found for arm in self.after(placed)}
        return found

    def middle(self) -> list[tuple[Some, int, Some]]:
        """Return the first arms, the next one and the last ones, for every way through the middle."""
        whole = frozenset(self.arms)
        return [
            (placed, arm, whole - placed - {arm})
            for placed in sorted(self.sets((len(self.arms) - 1) // 2), key=sorted)
            for arm in self.after(placed)
        ]

    def tabulated(self) -> Iterator[int]:
        """Yield the number of arms of every message that is tabulated."""
        number = len(self.arms)
        for size in range(1, number):
            arms = size if size <= (number - 1) // 2 else number - size
            yield from [arms] * len(self.sets(size))


def chain_ways(arms: int, order: Order) -> tuple[Ways]:
    """Return how arms in an order are placed: one after the other."""
    before = tuple(frozenset(range(arm)) for arm in range(arms))
    return (Ways(tuple(range(arms)), before, falling=order == "decreasing"),)


@lru_cache(maxsize=64)
def ways_of(arms: int, order: tuple[tuple[int, int], ...], unimodal: bool) -> tuple[Ways, ...] | None:
    """Return the parts of an order, or None where there are too many messages to tabulate."""
    above = closure(arms, order)
    below = tuple(frozenset(int(b) for b in np.flatnonzero(row)) for row in above)
    parts = [list(range(arms))] if unimodal else components(arms, covers(above))
    found = tuple(Ways(tuple(part), below, unimodal) for part in parts)
    few = all(len(ways.sets(size)) <= MOST_SETS for ways in found for size in range(len(ways.arms)))
    return found if few else None


def size_of_tables(parts: tuple[Ways, ...], made: int) -> float:
    """Return how many numbers are tabulated at each node."""
    return sum((float(comb(made + 2 * k, 2 * k)) for ways in parts for k in ways.tabulated()), 0.0)


def weights_by_parts(
    problem: Arms, parts: tuple[Ways, ...], lattice: Lattice, made: int, workers: int, relative: bool = False
) -> FloatArray:
    """Return W of all states after `made` pulls, in the lattice's numbering, times 2^(T/2).

    If the prior contradicts a chain of up to three arms, W is `relative` to that of the prior.
    """
    layer, unit = lattice.layer(made), 2.0 ** (lattice.most // 2)
    nodes, out = place_nodes(problem, made), np.zeros(layer.size)
    if relative:
        nodes = probable_nodes(problem, parts[0].falling, nodes)
    # Messages of several arms and products of parts need all nodes at once.
    alone = len(parts) == 1 and problem.arms <= MOST_ARMS
    for some in nodes.parts(made) if alone else [nodes]:
        found: list[Part] = []
        for k, ways in enumerate(parts):
            tables = _Tables(problem, ways, some, made, some.weights * (1.0 if k else unit), relative)
            # Parts are met in many blocks.
            found.append((ways.arms, tables.block if len(parts) == 1 else cache(tables.block)))
        with crew(workers) as threads:
            threads.map(partial(_fill, layer, found, out), layer.chunks(max(layer.size // (16 * workers), 1)))
    return out


def _fill(layer: Layer, parts: list[Part], out: FloatArray, bounds: tuple[int, int]) -> None:
    """Add to W of some blocks the products of the parts that do not depend on one another."""
    for b in range(*bounds):
        pulls = layer.pulls[b].tolist()
        total = np.ones([1] * len(pulls))
        for arms, block in parts:
            shape = [n + 1 if arm in arms else 1 for arm, n in enumerate(pulls)]
            total = total * block(*(pulls[arm] for arm in arms)).reshape(shape)
        out[layer.starts[b] : layer.starts[b + 1]] += total.reshape(-1)


class _Tables:
    """Densities and messages of one part at some nodes, for all numbers of pulls up to `made`."""

    def __init__(
        self, problem: Arms, ways: Ways, nodes: Nodes, made: int, scale: FloatArray, relative: bool
    ) -> None:
        kind = RelativeTables if relative else ArmTables
        self.ways, self.nodes, self.made, self.scale = ways, nodes, made, scale
        self.arms = {i: kind(problem.prior[i], nodes.log_x, nodes.log_rest, made) for i in ways.arms}
        self._known: dict[tuple[Some, bool], Blocks] = {}
        self._middle = [
            (sorted(first), arm, sorted(last), self.message(first, True), self.message(last, False))
            for first, arm, last in ways.middle()
        ]

    def message(self, some: Some, first: bool) -> Blocks:
        """Return the integrals over the means of `some`, which are placed first (or last), to every node."""
        if (some, first) not in self._known:
            self._known[some, first] = self._message(some, first)
        return self._known[some, first]

    def _message(self, some: Some, first: bool) -> Blocks:
        ways, arms, from_above = self.ways, sorted(some), first == self.ways.falling
        if not arms:
            return {(): np.ones((1, len(self.nodes.log_x)))}
        if len(arms) == 1:  # an incomplete Beta function, exact in relative terms
            return {(n,): table for n, table in enumerate(self.arms[arms[0]].integrals(from_above))}
        if first:
            known = ways.sets(len(arms) - 1)
            next_to = [i for i in arms if some - {i} in known and i in ways.after(some - {i})]
        else:
            next_to = list(ways.after(frozenset(ways.arms) - some))
        rests = {arm: self.message(some - {arm}, first) for arm in next_to}
        densities = {arm: [self.arms[arm].density(n) for n in range(self.made + 1)] for arm in next_to}
        blocks: Blocks = {}
        for total in range(self.made + 1):
            for row in shares(len(arms), total).tolist():
                values = np.zeros((*(n + 1 for n in row), len(self.nodes.log_x)))
                for arm, rest in rests.items():
                    k = arms.index(arm)
                    own = [n + 1 if j == k else 1 for j, n in enumerate(row)]
                    others = [1 if j == k else n + 1 for j, n in enumerate(row)]
                    below = rest[(*row[:k], *row[k + 1 :])].reshape(*others, -1)
                    values += below * densities[arm][row[k]].reshape(*own, -1)
                flat = values.reshape(-1, values.shape[-1])
                blocks[tuple(row)] = self.nodes.integrals(flat, from_above)
        return blocks

    def block(self, *pulls: int) -> FloatArray:
        """Return these nodes' part of W of a block, by the pulls of the part's arms, one axis for each."""
        from elsv.beliefs.layers.weights_kernels import add_products

        arms = self.ways.arms
        made = dict(zip(arms, pulls, strict=True))
        total = np.zeros([n + 1 for n in pulls])
        for first, arm, last, before, behind in self._middle:
            part, axes = np.zeros(total.size), [*first, arm, *last]
            density = self.arms[arm].density(made[arm]) * self.scale
            add_products(
                before[tuple(made[i] for i in first)], density, behind[tuple(made[i] for i in last)], part
            )
            total += part.reshape([made[i] + 1 for i in axes]).transpose([axes.index(i) for i in arms])
        return total
