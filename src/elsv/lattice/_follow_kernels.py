"""Compiled sweeps that choose and pull in one (see `elsv.lattice._sweep_kernels`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsv._base.jit import borrowing, kernel
from elsv._base.typing import FloatArray, IntArray
from elsv._choice_kernels import clear_of, first_best, least_within
from elsv.lattice._tile_kernels import (
    Given,
    Tile,
    Walk,
    add_tile,
    begin,
    best_in_segment,
    copy_tile,
    failure_start,
    next_tile,
    odds,
    pull_free,
    pull_tile,
    pull_weighted,
    successes,
    table_start,
    tile_room,
)


class Arms(NamedTuple):
    """What is known of the arms in a tile, to choose among them and to pull them row by row."""

    scale: float  # the largest reward, which ties are relative to
    scores: FloatArray  # [N], reward times index; of the last two arms in the present row or state
    lost: IntArray  # [N], number of the tile's first state after a failure
    slope: FloatArray  # [N], what one success adds to P(success), the arms being independent
    chance: FloatArray  # [N], P(success) in the tile's first state


@borrowing
def enter_tile(
    walk: Walk,
    tile: Tile,
    rewards: FloatArray,
    tables: FloatArray,
    group: IntArray,
    arms: Arms,
) -> None:
    """Set what is known of the arms in a tile; the last two arms' scores are left out of it."""
    last = len(rewards) - 1
    for i in range(last + 1):
        arms.lost[i] = failure_start(walk, tile, i)
        arms.chance[i], arms.slope[i] = odds(walk, tile, i)
        arms.scores[i] = -np.inf
    for i in range(last - 1):
        arms.scores[i] = rewards[i] * tables[group[i], table_start(walk, tile, i) + walk.digits[i]]


@borrowing
def pull_run(
    walk: Walk,
    tile: Tile,
    i: int,
    row: int,
    first: int,
    stop: int,
    reward: float,
    arms: Arms,
    values: FloatArray,
    weights: FloatArray,
    q: FloatArray,
) -> None:
    """Set q to the worth of pulling arm i in the states first … stop - 1 of a row (times W, if weighted)."""
    last = len(arms.lost) - 1
    at, length = row * tile.width + first, stop - first
    lost = arms.lost[i] + at + (row if i == last else 0)
    won = lost + walk.strides[i]
    if len(weights) > 0:
        pull_weighted(reward, lost, won, length, values, weights, at, q)
    else:
        p = arms.chance[i] + row * arms.slope[i] if i == last - 1 else arms.chance[i]
        slope = arms.slope[i] if i == last else 0.0
        pull_free(reward, p, slope, first, lost, won, length, values, at, q)


@borrowing
def follow_row(
    walk: Walk,
    tile: Tile,
    row: int,
    other: int,
    best: float,
    rewards: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    own: FloatArray,
    rising: bool,
    crossing: int,
    arms: Arms,
    q: FloatArray,
) -> int:
    """Set q to the worth of pulling the best arm in a row of a tile, `own` being the last arm's indices.

    Along a row only the last arm's score changes, so it has one rival, the `other` arm: with no more than
    `best` it loses, clear of `best` it wins. In between, which is rare, the tie rule decides among all.
    Runs of states with the same arm are pulled at once. If `own` is `rising` there are two; where the
    first one ends is returned, and looked for from the `crossing` of the row before.
    """
    last, width = len(rewards) - 1, tile.width
    reward, limit = rewards[last], clear_of(best, arms.scale)
    if rising:
        while crossing < width and reward * own[crossing] <= best:
            crossing += 1
        while crossing > 0 and reward * own[crossing - 1] > best:
            crossing -= 1
    first = 0
    while first < width:
        score, stop = reward * own[first], first + 1
        if score > limit:
            arm, stop = last, width if rising else stop
            while stop < width and reward * own[stop] > limit:
                stop += 1
        elif score <= best:
            arm, stop = other, crossing if rising else stop
            while stop < width and reward * own[stop] <= best:
                stop += 1
        else:
            arms.scores[last] = score
            arm = first_best(arms.scores, arms.scale)
            arms.scores[last] = -np.inf
        pull_run(walk, tile, arm, row, first, stop, rewards[arm], arms, values, weights, q)
        first = stop
    return crossing


@borrowing
def follow_tile(
    walk: Walk,
    tile: Tile,
    rewards: FloatArray,
    values: FloatArray,
    weights: FloatArray,
    tables: FloatArray,
    group: IntArray,
    arms: Arms,
    q: FloatArray,
) -> None:
    """Set q to the worth of pulling the best arm in the states of a tile."""
    last = len(rewards) - 1
    own = tables[group[last], table_start(walk, tile, last) :]
    falls, crossing = 0, 0
    for j in range(1, tile.width):
        falls += own[j] < own[j - 1]
    leader, lead = first_best(arms.scores, arms.scale), -np.inf
    for i in range(last - 1):
        lead = max(lead, arms.scores[i])
    for row in range(tile.rows):
        other, best = leader, lead
        if last > 0:
            at = table_start(walk, tile, last - 1) + successes(walk, last - 1, row)
            score = rewards[last - 1] * tables[group[last - 1], at]
            arms.scores[last - 1] = score
            if score > lead:
                best = score
                clear = score > clear_of(lead, arms.scale)
                other = last - 1 if clear else first_best(arms.scores, arms.scale)
        crossing = follow_row(
            walk, tile, row, other, best, rewards, values, weights, own, falls == 0, crossing, arms, q
        )


@kernel
def follow_tables(given: Given, tables: FloatArray, group: IntArray, out: FloatArray) -> None:
    """Set `out` to the worth of pulling the arm with the best ``rewards[i] * tables[group[i], state]``."""
    # Arrays that helpers get by name are read quicker in short rows than those of a walk.
    values, weights, rewards = given.values, given.weights, given.rewards
    n = len(rewards)
    arms = Arms(rewards.max(), np.empty(n), np.empty(n, np.int64), np.empty(n), np.empty(n))
    q = np.empty(tile_room(given))
    walk, tile = begin(given)
    while tile.length > 0:
        enter_tile(walk, tile, rewards, tables, group, arms)
        follow_tile(walk, tile, rewards, values, weights, tables, group, arms, q)
        copy_tile(q, tile, out)
        tile = next_tile(walk, tile)


@borrowing
def score_tile(
    walk: Walk,
    tile: Tile,
    i: int,
    reward: float,
    won: FloatArray,
    lost: FloatArray,
    weights: FloatArray,
    score: FloatArray,
) -> None:
    """Set `score` to reward (won W(s + success) + lost W(s + failure)) of arm i in the states of a tile."""
    last, table = len(walk.digits) - 1, table_start(walk, tile, i)
    step = tile.width + 1 if i == last else tile.width
    start, stride = failure_start(walk, tile, i), walk.strides[i]
    for row in range(tile.rows):
        fail, at = np.uint64(start + row * step), np.uint64(row * tile.width)
        win = fail + np.uint64(stride)
        if i == last:
            mine, other = won[table:], lost[table:]
            for j in range(np.uint64(tile.width)):
                score[at + j] = reward * (mine[j] * weights[win + j] + other[j] * weights[fail + j])
        else:
            own = table + successes(walk, i, row)
            gain, loss = reward * won[own], reward * lost[own]
            for j in range(np.uint64(tile.width)):
                score[at + j] = gain * weights[win + j] + loss * weights[fail + j]


@borrowing
def prefer_tile(tile: Tile, score: FloatArray, least: FloatArray, q: FloatArray, chosen: FloatArray) -> None:
    """Set `chosen` to q in the states of a tile where an arm's score is at least `least`."""
    for j in range(np.uint64(tile.length)):
        new, old = q[j], chosen[j]
        chosen[j] = new if score[j] >= least[j] else old


@borrowing
def least_of_row(
    walk: Walk,
    tile: Tile,
    row: int,
    rewards: FloatArray,
    scale: float,
    shared: FloatArray,
    group: IntArray,
    best: FloatArray,
    least: FloatArray,
) -> None:
    """Turn W in `least` into the least score that ties with the best in a row of a tile.

    Ties are judged by q, to which every arm adds reward times `shared` of its state.
    """
    last, others = len(rewards) - 1, 0.0
    for i in range(last):
        others += rewards[i] * shared[group[i], table_start(walk, tile, i) + successes(walk, i, row)]
    own, reward = shared[group[last], table_start(walk, tile, last) :], rewards[last]
    at = np.uint64(row * tile.width)
    for j in range(np.uint64(tile.width)):
        weight, score = least[at + j], best[at + j]
        size = max(scale * weight, abs(score + weight * (others + reward * own[j])))
        least[at + j] = least_within(score, size)


@kernel
def follow_one_step(given: Given, tables: FloatArray, group: IntArray, out: FloatArray) -> None:
    """Set `out` to the worth of pulling the arm with the best score (`score_tile`), both times W.

    `tables` ``[3, groups, states]`` of the arms' own states: won, lost, and what all arms share.
    """
    weights, rewards = given.weights, given.rewards
    won, lost, shared = tables[0], tables[1], tables[2]
    room, last, scale = tile_room(given), len(rewards) - 1, rewards.max()
    score, best, least = np.empty((last + 1, room)), np.empty(room), np.empty(room)
    q, chosen = np.empty(room), np.empty(room)
    walk, tile = begin(given)
    while tile.length > 0:
        for i in range(last + 1):
            score_tile(walk, tile, i, rewards[i], won[group[i]], lost[group[i]], weights, score[i])
        best_in_segment(walk, tile, 0, score, best)  # in place there is one segment
        add_tile(walk, tile, least)
        for row in range(tile.rows):
            least_of_row(walk, tile, row, rewards, scale, shared, group, best, least)
        # The first arm that ties with the best is the last one to be taken.
        pull_tile(walk, tile, last, chosen)
        for i in range(last - 1, -1, -1):
            pull_tile(walk, tile, i, q)
            prefer_tile(tile, score[i], least, q, chosen)
        copy_tile(chosen, tile, out)
        tile = next_tile(walk, tile)
