r"""The weight W of every state of a layer under anything that ranks the arms (past the paper).

Arms are placed from the smallest up. Where I can be the first k of them, i the next one and J the rest,

.. math::

    W(s) = \sum_{I \to i \to J} \int L_I(x)\, f_i(x)\, U_J(x)\, dx, \quad
    L_I(x) = \int_0^x \sum_{i \in I} f_i L_{I \setminus i}, \quad
    U_J(x) = \int_x^1 \sum_{i \in J} f_i U_{J \setminus i},

each sum over the arms that may come there. L depends on the states of the arms in I alone and U on those in
J, so each is tabulated once on nodes that all states share, as for a chain (`elsv.beliefs.layers.weights`).
Parts that do not depend on one another are multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from math import comb

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs.ladder.ranking import closure, components, covers
from elsv.beliefs.quadrature import ArmTables, Nodes, place_nodes
from elsv.lattice.numbering import Lattice, Layer, shares
from elsv.state import Arms

Some = frozenset[int]
Blocks = dict[tuple[int, ...], FloatArray]  # pulls of some arms: [states of that block, …]
MOST_SETS = 512  # messages that are tabulated; an order with more is integrated state by state


@dataclass(frozen=True)
class Ways:
    """In which order some connected arms may be placed, the smallest first."""

    arms: tuple[int, ...]
    below: tuple[Some, ...]  # by arm of the problem: the arms that are known to be smaller
    unimodal: bool

    def after(self, placed: Some) -> tuple[int, ...]:
        """Return the arms that may come next above those placed."""
        left = [arm for arm in self.arms if arm not in placed]
        if self.unimodal:
            left = left[:1] + left[1:][-1:]  # the smallest of what is left is at one of its ends
        return tuple(arm for arm in left if self.below[arm] <= placed)

    def sets(self, size: int) -> set[Some]:
        """Return the sets of `size` arms that can be the smallest ones."""
        found: set[Some] = {frozenset()}
        for _ in range(size):
            found = {placed | {arm} for placed in found for arm in self.after(placed)}
        return found

    @property
    def cut(self) -> int:
        """How many arms are placed before the one that is integrated over last."""
        return (len(self.arms) - 1) // 2

    def middle(self) -> list[tuple[Some, int, Some]]:
        """Return what lies below, the arm, and what lies above, for every way through the middle."""
        whole = frozenset(self.arms)
        return [
            (placed, arm, whole - placed - {arm})
            for placed in sorted(self.sets(self.cut), key=sorted)
            for arm in self.after(placed)
        ]

    def tabulated(self) -> Iterator[tuple[int, int]]:
        """Yield the number of arms of every message that is tabulated, and its number of terms."""
        for size in range(1, self.cut + 1):
            for some in self.sets(size):
                yield size, sum(arm in self.after(some - {arm}) for arm in some)
        for size in range(self.cut + 1, len(self.arms)):
            for placed in self.sets(size):
                yield len(self.arms) - size, len(self.after(placed))


@lru_cache(maxsize=64)
def ways_of(arms: int, order: tuple[tuple[int, int], ...], unimodal: bool) -> tuple[Ways, ...] | None:
    """Return the parts of an order, or None where there are too many messages to tabulate."""
    above = closure(arms, order)
    below = tuple(frozenset(int(b) for b in np.flatnonzero(row)) for row in above)
    parts = [list(range(arms))] if unimodal else components(arms, covers(above))
    found = tuple(Ways(tuple(part), below, unimodal) for part in parts)
    for ways in found:
        widest = 0
        for size in range(len(ways.arms)):
            widest = max(widest, len(ways.sets(size)))
            if widest > MOST_SETS:
                return None
    return found


def weights_by_parts(
    problem: Arms, parts: tuple[Ways, ...], lattice: Lattice, made: int, workers: int = 1
) -> FloatArray:
    """Return W of all states after `made` pulls, in the lattice's numbering, times 2^(T/2)."""
    layer, unit = lattice.layer(made), 2.0 ** (lattice.most // 2)
    nodes = place_nodes(problem, made)
    out = np.zeros(layer.size)
    tables = [_Tables(problem, ways, nodes, made) for ways in parts]
    fill: Callable[[list[int]], FloatArray]
    if len(tables) == 1:
        fill = tables[0].block
    else:
        known = [table.all_blocks() for table in tables]
        fill = partial(_product, parts, known)

    def work(bounds: tuple[int, int]) -> None:
        for b in range(*bounds):
            here = slice(int(layer.starts[b]), int(layer.starts[b + 1]))
            out[here] = unit * fill(layer.pulls[b].tolist()).reshape(-1)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, _runs(layer, workers)))
    return out


def _runs(layer: Layer, workers: int) -> list[tuple[int, int]]:
    """Return ranges of blocks, a few for each worker."""
    count = min(len(layer.pulls), 8 * workers)
    edges = np.linspace(0, len(layer.pulls), count + 1).astype(int).tolist()
    return list(pairwise(edges))


def _product(parts: tuple[Ways, ...], known: list[Blocks], pulls: list[int]) -> FloatArray:
    """Return W of a block whose parts are independent, one axis for each arm."""
    total = np.ones([1] * len(pulls))
    for ways, blocks in zip(parts, known, strict=True):
        shape = [pulls[arm] + 1 if arm in ways.arms else 1 for arm in range(len(pulls))]
        total = total * blocks[tuple(pulls[arm] for arm in ways.arms)].reshape(shape)
    return total


class _Tables:
    """Densities and messages of one part at all nodes, for all numbers of pulls up to `made`."""

    def __init__(self, problem: Arms, ways: Ways, nodes: Nodes, made: int) -> None:
        self.ways, self.nodes, self.made = ways, nodes, made
        arms = {i: ArmTables(problem.prior[i], nodes.log_x, nodes.log_rest, made) for i in ways.arms}
        self._densities = {i: [arm.density(n) for n in range(made + 1)] for i, arm in arms.items()}
        self._arms = arms
        self._lower: dict[Some, Blocks] = {}
        self._upper: dict[Some, Blocks] = {}
        self._middle = [(self.lower(below), arm, self.upper(above)) for below, arm, above in ways.middle()]

    def lower(self, some: Some) -> Blocks:
        """Return the integrals over the means of `some`, the smallest arms, up to every node."""
        if some not in self._lower:
            ways = self.ways
            terms = [(arm, some - {arm}) for arm in sorted(some) if arm in ways.after(some - {arm})]
            terms = [(arm, rest) for arm, rest in terms if rest in ways.sets(len(rest))]
            self._lower[some] = self._message(some, terms, self.lower, from_above=False)
        return self._lower[some]

    def upper(self, some: Some) -> Blocks:
        """Return the integrals over the means of `some`, the largest arms, from every node."""
        if some not in self._upper:
            terms = [(arm, some - {arm}) for arm in self.ways.after(frozenset(self.ways.arms) - some)]
            self._upper[some] = self._message(some, terms, self.upper, from_above=True)
        return self._upper[some]

    def _message(
        self, some: Some, terms: list[tuple[int, Some]], of: Callable[[Some], Blocks], from_above: bool
    ) -> Blocks:
        arms = sorted(some)
        if not arms:
            return {(): np.ones((1, len(self.nodes.log_x)))}
        if len(arms) == 1:  # an incomplete Beta function, exact in relative terms
            single = self._arms[arms[0]].integrals(from_above)
            return {(n,): single[n] for n in range(self.made + 1)}
        blocks: Blocks = {}
        for total in range(self.made + 1):
            for row in shares(len(arms), total).tolist():
                pulls = dict(zip(arms, row, strict=True))
                sizes = [n + 1 for n in row]
                values = np.zeros((*sizes, len(self.nodes.log_x)))
                for arm, rest in terms:
                    own = [n if i == arm else 1 for i, n in zip(arms, sizes, strict=True)]
                    others = [1 if i == arm else n for i, n in zip(arms, sizes, strict=True)]
                    below = of(rest)[tuple(pulls[i] for i in sorted(rest))].reshape(*others, -1)
                    values += below * self._densities[arm][pulls[arm]].reshape(*own, -1)
                flat = values.reshape(-1, values.shape[-1])
                blocks[tuple(row)] = self.nodes.integrals(flat, from_above)
        return blocks

    def block(self, pulls: list[int]) -> FloatArray:
        """Return W of a block, one axis for each arm of the part in their order; pulls are the problem's."""
        from elsv.beliefs.layers.weights_kernels import add_products

        arms = self.ways.arms
        size = [pulls[arm] + 1 for arm in arms]
        total = np.zeros(size)
        for (below, arm, above), (lower, _, upper) in zip(self.ways.middle(), self._middle, strict=True):
            first, last = sorted(below), sorted(above)
            density = self._densities[arm][pulls[arm]] * self.nodes.weights
            part = np.zeros(total.size)
            before = lower[tuple(pulls[i] for i in first)]
            add_products(before, density, upper[tuple(pulls[i] for i in last)], part)
            axes = [*first, arm, *last]
            shaped = part.reshape([pulls[i] + 1 for i in axes])
            total += shaped.transpose([axes.index(i) for i in arms])
        return total

    def all_blocks(self) -> Blocks:
        """Return W of this part for all numbers of pulls."""
        arms = self.ways.arms
        blocks: Blocks = {}
        for total in range(self.made + 1):
            for row in shares(len(arms), total).tolist():
                given = [0] * (max(arms) + 1)
                for arm, n in zip(arms, row, strict=True):
                    given[arm] = n
                blocks[tuple(row)] = self.block(given)
        return blocks


def size_of_tables(parts: tuple[Ways, ...], made: int) -> float:
    """Return how many numbers are tabulated at each node."""
    sizes = (size for ways in parts for size, _ in ways.tabulated())
    return sum((float(comb(made + 2 * size, 2 * size)) for size in sizes), 0.0)
