r"""Rankings as programs: what a statement about order allows, put together from messages.

A statement allows some rankings of the arms, the smallest first. Where its cover relation (each pair that no
third arm lies between) has no cycle, even disregarding direction, a message runs along every pair, and those
that meet in an arm multiply. Otherwise the rankings are drawn as a **ladder**: a graph from "no arm placed"
to "all placed" whose nodes are the sets of arms that can be the smallest ones; an edge places the next larger
arm, and each node has one message. For arms with a single peak the smallest left is at one of the two ends,
so a node is how many are placed from the left and from the right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from elsv._base.typing import AnyArray, IntArray
from elsv.errors import InvalidInputError

MOST_NODES = 50_000
Pairs = tuple[tuple[int, int], ...]  # (larger, smaller), arms from 0
Term = tuple[int, tuple[int, ...]]  # an arm and the messages that are multiplied with its density


class TooWideError(InvalidInputError):
    """A partial order whose ladder has too many nodes."""


Program = list[tuple[list[Term], bool]]  # messages, each after those that it needs, and whether from above


def _add(program: Program, terms: list[Term], from_above: bool = False) -> int:
    """Add a message; return its number."""
    program.append((terms, from_above))
    return len(program) - 1


@dataclass(frozen=True, eq=False)
class Ranking:
    """The program of some arms whose rankings are connected; arrays as the kernels take them."""

    arms: tuple[int, ...]  # of the problem, in the numbering of the program
    from_above: AnyArray
    terms: IntArray
    arm: IntArray
    factors: IntArray
    factor: IntArray

    @property
    def nodes(self) -> int:
        """Number of messages."""
        return len(self.from_above)

    @property
    def tree(self) -> bool:
        """Whether messages run along pairs, one for each arm."""
        return self.single and self.nodes == len(self.arms)

    @property
    def single(self) -> bool:
        """Whether every message has one term, so that a draw needs no choice."""
        return len(self.arm) == len(self.from_above)


@lru_cache(maxsize=64)
def rankings(arms: int, pairs: Pairs, unimodal: bool) -> tuple[Ranking, ...]:
    """Return a program for each connected part of what is known.

    In `pairs` ``(a, b)`` arm a is at least as large as arm b. If `unimodal`, the arms rise to a peak, in
    their numbering, and fall from there.
    """
    below = closure(arms, pairs)
    if unimodal:
        return (_peak(arms, below),)
    cover = covers(below)
    return tuple(_part(part, below, cover) for part in components(arms, cover))


def closure(arms: int, pairs: Iterable[tuple[int, int]], names: Sequence[str] = ()) -> AnyArray:
    """Return ``[N, N]``, whether arm a is known to be at least as large as arm b.

    A cycle is an error, which calls the arms by their `names`.
    """
    above = np.zeros((arms, arms), dtype=bool)
    for a, b in pairs:
        above[a, b] = True
    for k in range(arms):
        above |= above[:, k : k + 1] & above[k]
    if above.diagonal().any():
        raise InvalidInputError(f"the order must not run in a circle, got {_circle(arms, pairs, names)}")
    return above


def _circle(arms: int, pairs: Iterable[tuple[int, int]], names: Sequence[str]) -> str:
    """Return one circle of arms in words."""
    after: dict[int, list[int]] = {}
    for a, b in pairs:
        after.setdefault(a, []).append(b)
    for start in range(arms):
        paths = [[start]]
        seen = {start}
        while paths:
            path = paths.pop(0)
            for following in after.get(path[-1], []):
                if following == start:
                    return " >= ".join(names[k] if names else f"arm {k + 1}" for k in [*path, start])
                if following not in seen:
                    seen.add(following)
                    paths.append([*path, following])
    return "a circle"


def covers(above: AnyArray) -> Pairs:
    """Return the pairs that no third arm lies between."""
    between = (above[:, :, None] & above[None, :, :]).any(axis=1)
    return tuple((int(a), int(b)) for a, b in np.argwhere(above & ~between))


def components(arms: int, cover: Pairs) -> list[list[int]]:
    """Return the arms that pairs connect, part by part."""
    group = list(range(arms))

    def root(k: int) -> int:
        while group[k] != k:
            group[k] = group[group[k]]
            k = group[k]
        return k

    for a, b in cover:
        group[root(a)] = root(b)
    parts: dict[int, list[int]] = {}
    for k in range(arms):
        parts.setdefault(root(k), []).append(k)
    return list(parts.values())


def _part(part: list[int], above: AnyArray, cover: Pairs) -> Ranking:
    place = {arm: k for k, arm in enumerate(part)}
    inner = tuple((place[a], place[b]) for a, b in cover if a in place)
    if len(inner) == len(part) - 1:
        return _tree(part, inner)
    return _ladder(part, above[np.ix_(part, part)])


def _tree(part: list[int], cover: Pairs) -> Ranking:
    """Return messages along the pairs towards one arm."""
    beside: list[list[tuple[int, bool]]] = [[] for _ in part]  # and whether the neighbour is larger
    for a, b in cover:
        beside[a].append((b, False))
        beside[b].append((a, True))
    program: Program = []
    root = _centre(beside)
    order, parent = [root], {root: (-1, False)}
    for arm in order:
        for other, larger in beside[arm]:
            if other not in parent:
                parent[other] = (arm, larger)
                order.append(other)
    message: dict[int, int] = {}
    for arm in reversed(order):
        factors = tuple(message[other] for other, _ in beside[arm] if parent[other][0] == arm)
        message[arm] = _add(program, [(arm, factors)], from_above=parent[arm][1])
    return _ranking(part, program)


def _centre(beside: list[list[tuple[int, bool]]]) -> int:
    """Return the arm with the most neighbours, the middle one of a path."""
    most = max(map(len, beside))
    candidates = [arm for arm, others in enumerate(beside) if len(others) == most]
    return candidates[len(candidates) // 2]


def _ladder(part: list[int], above: AnyArray) -> Ranking:
    """Return a message for every set of arms that can be the smallest ones."""
    need = [sum(1 << int(b) for b in np.flatnonzero(above[a])) for a in range(len(part))]
    program: Program = []
    layer: dict[int, list[tuple[int, int]]] = {0: []}  # set: (arm placed last, set before)
    number: dict[int, tuple[int, ...]] = {}
    for _ in range(len(part) + 1):
        following: dict[int, list[tuple[int, int]]] = {}
        for placed, ways in layer.items():
            if placed:
                number[placed] = (_add(program, [(arm, number[before]) for arm, before in ways]),)
            else:
                number[placed] = ()
            for arm in range(len(part)):
                if not placed >> arm & 1 and placed & need[arm] == need[arm]:
                    following.setdefault(placed | 1 << arm, []).append((arm, placed))
        if len(number) + len(following) > MOST_NODES:
            raise TooWideError(
                f"this order of {len(part)} arms has more than {MOST_NODES:,} sets of smallest arms; "
                'state more of the order, or leave the method to be chosen (method = "auto"), by draws'
            )
        layer = following
    return _ranking(part, program)


def _peak(arms: int, above: AnyArray) -> Ranking:
    """Return a message for every pair of how many arms are placed from the left and from the right."""
    need = [frozenset(int(b) for b in np.flatnonzero(above[a])) for a in range(arms)]
    program: Program = []
    number: dict[tuple[int, int], tuple[int, ...]] = {(0, 0): ()}
    ends: list[Term] = []
    for placed in range(1, arms + 1):
        for left in range(placed + 1):
            right = placed - left
            terms: list[Term] = []
            ways = []
            if left and (left - 1, right) in number:
                ways.append((left - 1, (left - 1, right)))
            if right and (left, right - 1) in number:
                ways.append((arms - right, (left, right - 1)))
            for arm, before in ways:
                lower = frozenset([*range(before[0]), *range(arms - before[1], arms)])
                if need[arm] <= lower:
                    terms.append((arm, number[before]))
            if placed == arms:
                ends += [term for term in terms if term not in ends]
            elif terms:
                number[(left, right)] = (_add(program, terms),)
    if not ends:
        raise InvalidInputError("no ranking of the arms has a single peak and agrees with the order")
    _add(program, ends)
    return _ranking(list(range(arms)), _reachable(program))


def _reachable(program: Program) -> Program:
    """Return the messages that the last one needs."""
    wanted = {len(program) - 1}
    for message in range(len(program) - 1, -1, -1):
        if message in wanted:
            wanted |= {factor for _, factors in program[message][0] for factor in factors}
    kept: Program = []
    number: dict[int, int] = {}
    for message in sorted(wanted):
        terms, from_above = program[message]
        own = [(arm, tuple(number[m] for m in factors)) for arm, factors in terms]
        number[message] = _add(kept, own, from_above)
    return kept


def _ranking(part: Sequence[int], program: Program) -> Ranking:
    terms = [term for message, _ in program for term in message]
    return Ranking(
        tuple(part),
        np.array([from_above for _, from_above in program], dtype=np.bool_),
        np.cumsum([0, *(len(message) for message, _ in program)]).astype(np.int64),
        np.array([arm for arm, _ in terms], dtype=np.int64),
        np.cumsum([0, *(len(factors) for _, factors in terms)]).astype(np.int64),
        np.array([m for _, factors in terms for m in factors], dtype=np.int64),
    )
