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
from elsv.beliefs.ladder import Program
from elsv.errors import InvalidInputError

MOST_NODES = 50_000
Pairs = tuple[tuple[int, int], ...]  # (larger, smaller), arms from 0
Term = tuple[int, tuple[int, ...]]  # an arm and the messages that are multiplied with its density


class TooWideError(InvalidInputError):
    """A partial order whose ladder has too many nodes."""


Messages = list[tuple[list[Term], bool]]  # each after those that it needs, and whether from above


def _add(messages: Messages, terms: list[Term], from_above: bool = False) -> int:
    """Add a message; return its number."""
    messages.append((terms, from_above))
    return len(messages) - 1


@dataclass(frozen=True, eq=False)
class Ranking:
    """The program of some arms whose rankings are connected."""

    arms: tuple[int, ...]  # of the problem, in the numbering of the program
    program: Program

    @property
    def nodes(self) -> int:
        """Number of messages."""
        return len(self.program.from_above)

    @property
    def uniforms(self) -> int:
        """How many uniform numbers a draw takes: one for each mean, and one for where each came from."""
        return len(self.arms) * (1 if self.single else 2)

    @property
    def tree(self) -> bool:
        """Whether messages run along pairs, one for each arm."""
        return self.single and self.nodes == len(self.arms)

    @property
    def single(self) -> bool:
        """Whether every message has one term, so that a draw needs no choice."""
        return len(self.program.arm) == self.nodes


@lru_cache(maxsize=64)
def rankings(arms: int, pairs: Pairs, unimodal: bool) -> tuple[Ranking, ...]:
    """Return a program for each connected part of what is known.

    In `pairs` ``(a, b)`` arm a is at least as large as arm b. If `unimodal`, the arms rise to a peak, in
    their numbering, and fall from there.
    """
    below = closure(arms, pairs)
    if unimodal:
        return (_ladder(range(arms), below, unimodal),)
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
    messages: Messages = []
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
        message[arm] = _add(messages, [(arm, factors)], from_above=parent[arm][1])
    return _ranking(part, messages)


def _centre(beside: list[list[tuple[int, bool]]]) -> int:
    """Return the arm with the most neighbours, the middle one of a path."""
    most = max(map(len, beside))
    candidates = [arm for arm, others in enumerate(beside) if len(others) == most]
    return candidates[len(candidates) // 2]


def _ladder(part: Sequence[int], above: AnyArray, unimodal: bool = False) -> Ranking:
    """Return a message for every set of arms that can be the smallest ones."""
    need = [sum(1 << int(b) for b in np.flatnonzero(above[a])) for a in range(len(part))]
    messages: Messages = []
    layer: dict[int, list[tuple[int, int]]] = {0: []}  # set: (arm placed last, set before)
    number: dict[int, tuple[int, ...]] = {}
    for _ in range(len(part) + 1):
        following: dict[int, list[tuple[int, int]]] = {}
        for placed, ways in sorted(layer.items(), reverse=True) if unimodal else layer.items():
            if placed:
                number[placed] = (_add(messages, [(arm, number[before]) for arm, before in ways]),)
            else:
                number[placed] = ()
            left = [arm for arm in range(len(part)) if not placed >> arm & 1]
            # Of arms with a single peak the smallest that is left is at one of their ends.
            for arm in left[:1] + left[1:][-1:] if unimodal else left:
                if placed & need[arm] == need[arm]:
                    following.setdefault(placed | 1 << arm, []).append((arm, placed))
        if len(number) + len(following) > MOST_NODES and not unimodal:
            raise TooWideError(
                f"this order of {len(part)} arms has more than {MOST_NODES:,} sets of smallest arms; "
                'state more of the order, or leave the method to be chosen (method = "auto"), by draws'
            )
        layer = following
    if (1 << len(part)) - 1 not in number:
        raise InvalidInputError("no ranking of the arms has a single peak and agrees with the order")
    return _ranking(part, _reachable(messages) if unimodal else messages)


def _reachable(messages: Messages) -> Messages:
    """Return the messages that the last one needs."""
    wanted = {len(messages) - 1}
    for message in range(len(messages) - 1, -1, -1):
        if message in wanted:
            wanted |= {factor for _, factors in messages[message][0] for factor in factors}
    kept: Messages = []
    number: dict[int, int] = {}
    for message in sorted(wanted):
        terms, from_above = messages[message]
        own = [(arm, tuple(number[m] for m in factors)) for arm, factors in terms]
        number[message] = _add(kept, own, from_above)
    return kept


def _ranking(part: Sequence[int], messages: Messages) -> Ranking:
    """Return the messages as the arrays that kernels take."""
    terms = [(message, *term) for message, (own, _) in enumerate(messages) for term in own]
    sizes = [len(factors) for *_, factors in terms]
    factor = np.array([other for *_, factors in terms for other in factors], dtype=np.int64)
    rank = np.argsort(factor, kind="stable")
    program = Program(
        from_above=np.array([from_above for _, from_above in messages], dtype=np.bool_),
        terms=_starts([len(own) for own, _ in messages]),
        arm=np.array([arm for _, arm, _ in terms], dtype=np.int64),
        factors=_starts(sizes),
        factor=factor,
        owner=np.array([message for message, *_ in terms], dtype=np.int64),
        uses=_starts(np.bincount(factor, minlength=len(messages)).tolist()),
        use=np.repeat(np.arange(len(terms)), sizes)[rank],
    )
    return Ranking(tuple(part), program)


def _starts(sizes: list[int]) -> IntArray:
    return np.cumsum([0, *sizes]).astype(np.int64)
