"""Where the tables of each arm begin, so that arms which may come to the same state share one table.

An index that is solved to a tolerance has one error in one table and another in the next. Of equal states the
scores must be equal, whatever prior they came from, or ties would go by that error. Arms whose priors are
whole steps apart may meet; all arms that are linked so count from one corner, below and left of all
their priors.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from elsv._base.typing import AnyArray, FloatArray

FARTHEST = 1024
"""Pulls within which arms may meet; a table from a corner so far off would be larger than it is worth."""

_WHOLE = 1e-12  # of a count: what rounding makes of whole steps


def shared_corners(prior: FloatArray, horizon: int | None) -> FloatArray:
    """Return the corner (alpha, beta) that each arm counts from, ``[N, 2]``; its prior if it meets none."""
    return _corners(np.ascontiguousarray(prior, dtype=np.float64).tobytes(), horizon)


@lru_cache(maxsize=256)
def _corners(prior: bytes, horizon: int | None) -> FloatArray:
    table = np.frombuffer(prior).reshape(-1, 2)
    distinct, group = np.unique(table, axis=0, return_inverse=True)
    most = FARTHEST if horizon is None else min(FARTHEST, horizon - 1)
    corners = distinct.copy()
    for members in _components(_meet(distinct, most)):
        corners[members] = distinct[members].min(axis=0)
    found: FloatArray = corners[group.reshape(-1)]
    found.flags.writeable = False
    return found


def _meet(prior: FloatArray, most: int) -> list[AnyArray]:
    """Return for every prior which of them it may meet: `most` pulls of the two lead to one state."""
    rows = []
    for row in prior:
        apart = prior - row
        whole = np.abs(apart - np.rint(apart)) <= _WHOLE * np.maximum(prior, row)
        rows.append(whole.all(axis=1) & (np.abs(apart).sum(axis=1) <= most + 0.5))
    return rows


def _components(meets: list[AnyArray]) -> list[list[int]]:
    """Return the classes of those that meet, directly or through others."""
    left, found = set(range(len(meets))), []
    while left:
        reached = [left.pop()]
        for one in reached:
            new = [int(k) for k in np.flatnonzero(meets[one]) if int(k) in left]
            left.difference_update(new)
            reached += new
        found.append(reached)
    return found
