"""Where the arms stand in an order: one line, a tree, or levels."""

from __future__ import annotations

from elsv.beliefs.ladder.ranking import Pairs


def line(arms: int, pairs: Pairs) -> list[int] | None:
    """Return all arms from the largest to the smallest if the order is one line, else None."""
    after = dict(pairs)
    tops = set(range(arms)) - set(after.values())
    if len(pairs) != arms - 1 or len(after) != arms - 1 or len(tops) != 1:
        return None
    found = [tops.pop()]
    while found[-1] in after:
        found.append(after[found[-1]])
    return found if len(found) == arms else None


def children(arms: int, pairs: Pairs) -> list[list[int]]:
    """Return for each arm those just below it."""
    below: list[list[int]] = [[] for _ in range(arms)]
    for a, b in pairs:
        below[a].append(b)
    return below


def forest(arms: int, pairs: Pairs) -> bool:
    """Return whether no arm has two arms just above it."""
    return len({b for _, b in pairs}) == len(pairs)


def levels(arms: int, pairs: Pairs) -> list[list[int]]:
    """Return arms in rows, each below all that are known to be larger.

    In a row they stand about where their neighbours in the row above do, so that few lines cross.
    """
    above: list[list[int]] = [[] for _ in range(arms)]
    for a, b in pairs:
        above[b].append(a)
    below = children(arms, pairs)
    depth, missing = [0] * arms, [len(higher) for higher in above]
    ready = [arm for arm in range(arms) if not missing[arm]]
    for arm in ready:  # grows: an arm is ready when all above it have been met
        for lower in below[arm]:
            depth[lower] = max(depth[lower], depth[arm] + 1)
            missing[lower] -= 1
            if not missing[lower]:
                ready.append(lower)
    rows: list[list[int]] = [[] for _ in range(1 + max(depth))]
    for arm in range(arms):
        rows[depth[arm]].append(arm)
    place: dict[int, float] = {}
    for row in rows:
        row.sort(key=lambda arm: (_middle([place[a] for a in above[arm]]), arm))
        for k, arm in enumerate(row):
            place[arm] = (k + 0.5) / len(row)
    return rows


def _middle(places: list[float]) -> float:
    return sum(places) / len(places) if places else 0.0
