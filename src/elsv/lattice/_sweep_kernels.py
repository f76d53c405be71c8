r"""Compiled sweeps from layer m + 1 of the lattice to layer m.

Every kernel works on the blocks ``pulls`` ``[B, N]`` of layer m, whose first states are numbered ``starts``
and whose successors' blocks ``after`` (`elsv.lattice.numbering.Layer`), tile by tile
(`elsv.lattice._tile_kernels`). A tile is read whole before it is written, so input and output may be the
same array.

``values`` is V, the worth of a state, when ``weights`` is empty: the arms are independent and arm i succeeds
with probability :math:`(\alpha_i + s_i)/(\alpha_i + \beta_i + n_i)`. Otherwise ``weights`` holds W of layer
m + 1 and ``values`` :math:`Y = W V`, and no division is needed:

.. math:: W(s)\,q(s, i) = r_i W(s{+}\text{success}_i) + Y(s{+}\text{success}_i) + Y(s{+}\text{failure}_i).

``segment[i]`` is the segment of arm i, and ``chances`` ``[B, G]`` is the probability that each segment comes
next. All states of a block have the same pulls, and it depends on these alone. A state is worth
:math:`\sum_g q_g` times what the arm of segment g is worth; with one segment that is the arm's own worth.
"""

from __future__ import annotations

import numpy as np

from elsv._base.jit import borrowing, kernel
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.lattice._tile_kernels import (
    Tile,
    Walk,
    add_tile,
    add_times,
    best_in_segment,
    best_of_tile,
    choose_in_segment,
    copy_tile,
    failure_start,
    first_tile,
    new_walk,
    next_tile,
    pull_tile,
    successes,
    tile_room,
)


@kernel
def maximise(
    values: FloatArray,
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    rewards: FloatArray,
    prior: FloatArray,
    segment: IntArray,
    chances: FloatArray,
    out: FloatArray,
    actions: AnyArray,
) -> None:
    """Set `out` to the worth of each segment's best arm, and `actions` ``[G, states]`` unless it is empty."""
    room, scale = tile_room(pulls), rewards.max()
    q, best, least = np.empty((len(rewards), room)), np.empty(room), np.empty(room)
    walk = new_walk(pulls, starts, after)
    tile = first_tile(walk)
    while tile.length > 0:
        for i in range(len(rewards)):
            pull_tile(walk, tile, i, rewards[i], prior, values, weights, q[i])
        maximise_tile(walk, tile, scale, weights, segment, chances, q, best, least, out, actions)
        tile = next_tile(walk, tile)


@borrowing
def maximise_tile(
    walk: Walk,
    tile: Tile,
    scale: float,
    weights: FloatArray,
    segment: IntArray,
    chances: FloatArray,
    q: FloatArray,
    best: FloatArray,
    least: FloatArray,
    out: FloatArray,
    actions: AnyArray,
) -> None:
    """Set `out` and, unless it is empty, `actions` of a tile from every arm's q."""
    here = out[tile.here : tile.here + tile.length]
    if chances.shape[1] == 1:  # one segment spares a pass over the tile
        best_of_tile(tile, q, here)
        if actions.shape[1] > 0:
            choose_in_segment(walk, tile, segment, 0, q, here, scale, weights, least, actions[0])
        return
    for g in range(chances.shape[1]):
        best_in_segment(tile, segment, g, q, best)
        add_times(tile, chances[tile.block, g], best, here, g == 0)
        if actions.shape[1] > 0:
            choose_in_segment(walk, tile, segment, g, q, best, scale, weights, least, actions[g])


@kernel
def add_weights(
    weights: FloatArray, pulls: IntArray, starts: IntArray, after: IntArray, out: FloatArray
) -> None:
    """Set `out` to W(s) = W(s + success) + W(s + failure) of the last arm."""
    unit = np.empty(tile_room(pulls))
    walk = new_walk(pulls, starts, after)
    tile = first_tile(walk)
    while tile.length > 0:
        add_tile(walk, tile, weights, unit)
        copy_tile(unit, tile, out)
        tile = next_tile(walk, tile)


@kernel
def follow(
    values: FloatArray,
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    rewards: FloatArray,
    prior: FloatArray,
    segment: IntArray,
    chances: FloatArray,
    actions: AnyArray,
    out: FloatArray,
) -> None:
    """Set `out` to the worth of pulling for each segment the arm that `actions` ``[G, states]`` names."""
    room, alone = tile_room(pulls), chances.shape[1] == 1
    q, total, everyone = np.empty(room), np.empty(room), actions[0]
    walk = new_walk(pulls, starts, after)
    tile = first_tile(walk)
    while tile.length > 0:
        # All arms are worked out and one is picked: no branches, so this too is vectorised.
        if alone:
            pull_tile(walk, tile, 0, rewards[0], prior, values, weights, total)
        else:
            total[: tile.length] = 0.0
        for i in range(1 if alone else 0, len(rewards)):
            g = segment[i]
            pull_tile(walk, tile, i, rewards[i], prior, values, weights, q)
            if alone:
                pick(tile, i, everyone, q, total)
            else:
                add_where(tile, i, g, chances[tile.block, g], actions, q, total)
        copy_tile(total, tile, out)
        tile = next_tile(walk, tile)


@borrowing
def pick(tile: Tile, arm: int, actions: AnyArray, q: FloatArray, chosen: FloatArray) -> None:
    """Set `chosen` to q in the states of a tile where `actions` names the arm."""
    at, named = np.uint64(tile.here), np.uint8(arm)
    for j in range(np.uint64(tile.length)):
        new, old = q[j], chosen[j]
        chosen[j] = new if actions[at + j] == named else old


@borrowing
def add_where(
    tile: Tile, arm: int, g: int, chance: float, actions: AnyArray, q: FloatArray, total: FloatArray
) -> None:
    """Add `chance` times q to `total` in the states of a tile where segment g gets the arm."""
    at, named = np.uint64(tile.here), np.uint8(arm)
    for j in range(np.uint64(tile.length)):
        more = chance * q[j]
        total[j] += more if actions[g, at + j] == named else 0.0


@kernel
def pull_arm(
    values: FloatArray,
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    arm: int,
    reward: float,
    prior: FloatArray,
    out: FloatArray,
) -> None:
    """Set `out` to the worth of pulling one arm in every state."""
    q = np.empty(tile_room(pulls))
    walk = new_walk(pulls, starts, after)
    tile = first_tile(walk)
    while tile.length > 0:
        pull_tile(walk, tile, arm, reward, prior, values, weights, q)
        copy_tile(q, tile, out)
        tile = next_tile(walk, tile)


@kernel
def mix(
    values: FloatArray,
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    rewards: FloatArray,
    prior: FloatArray,
    segment: IntArray,
    chances: FloatArray,
    shares: FloatArray,
    out: FloatArray,
) -> None:
    """Set `out` to the worth of pulling arm i with probability ``shares[i, state]`` if its segment comes."""
    room = tile_room(pulls)
    q, total = np.empty(room), np.empty(room)
    walk = new_walk(pulls, starts, after)
    tile = first_tile(walk)
    while tile.length > 0:
        total[: tile.length] = 0.0
        for i in range(len(rewards)):
            pull_tile(walk, tile, i, rewards[i], prior, values, weights, q)
            add_share(tile, shares, i, chances[tile.block, segment[i]], q, total)
        copy_tile(total, tile, out)
        tile = next_tile(walk, tile)


@borrowing
def add_share(
    tile: Tile, shares: FloatArray, i: int, chance: float, q: FloatArray, total: FloatArray
) -> None:
    """Add to the total q times the probability that arm i is pulled in the states of a tile."""
    for j in range(tile.length):
        total[j] += shares[i, tile.here + j] * chance * q[j]


@kernel
def average(
    shares: FloatArray,
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    prior: FloatArray,
    out: FloatArray,
) -> None:
    r"""Set `out` to a state's expectation of `shares` of layer m + 1, whichever arm is pulled (the last).

    With weights, :math:`W(s) P(s) = W P(s{+}\text{success}) + W P(s{+}\text{failure})`.
    """
    average_of = np.empty(tile_room(pulls))
    walk = new_walk(pulls, starts, after)
    tile = first_tile(walk)
    while tile.length > 0:
        average_tile(walk, tile, prior, shares, weights, average_of)
        copy_tile(average_of, tile, out)
        tile = next_tile(walk, tile)


@borrowing
def average_tile(
    walk: Walk, tile: Tile, prior: FloatArray, shares: FloatArray, weights: FloatArray, out: FloatArray
) -> None:
    """Set `out` to the expectation of `shares` over a pull of the last arm in the states of a tile."""
    last = len(walk.digits) - 1
    lost, at = failure_start(walk, tile, last), 0
    alpha, beta = prior[last, 0], prior[last, 1] + walk.pulls[tile.block, last]
    for _ in range(tile.rows):
        for j in range(tile.width):
            won, missed = alpha + j, beta - j
            if len(weights) > 0:
                won, missed = weights[lost + j + 1], weights[lost + j]
            both = won + missed
            p = won / both if both > 0 else 0.5
            out[at] = p * shares[lost + j + 1] + (1.0 - p) * shares[lost + j]
            at += 1
        lost += tile.width + 1


@kernel
def spread(
    paths: FloatArray,
    weights: FloatArray,
    pulls: IntArray,
    starts: IntArray,
    after: IntArray,
    rewards: FloatArray,
    prior: FloatArray,
    chances: FloatArray,
    actions: AnyArray,
    out: FloatArray,
) -> float:
    """Add what `actions` of one segment sends on from layer m to `out` of layer m + 1.

    Return the reward expected in m. `paths` holds the probability of each state, or with weights the number
    of ways to reach it: its probability is that number times W. `chances` ``[B]`` are those of the segment.
    """
    expected = 0.0
    walk = new_walk(pulls, starts, after)
    tile = first_tile(walk)
    while tile.length > 0:
        for row in range(tile.rows):
            chance = chances[tile.block]
            expected = send_row(
                walk, tile, row, paths, chance, weights, rewards, prior, actions, out, expected
            )
        tile = next_tile(walk, tile)
    return expected


@borrowing
def send_row(
    walk: Walk,
    tile: Tile,
    row: int,
    paths: FloatArray,
    chance: float,
    weights: FloatArray,
    rewards: FloatArray,
    prior: FloatArray,
    actions: AnyArray,
    out: FloatArray,
    expected: float,
) -> float:
    """Add what a row of a tile sends on to `out`; return `expected` and the reward expected there."""
    last = len(walk.digits) - 1
    here = tile.here + row * tile.width
    for j in range(tile.width):
        ways = chance * paths[here + j]
        if ways == 0.0:
            continue
        i = actions[here + j]
        lost = failure_start(walk, tile, i) + row * (tile.width + 1 if i == last else tile.width) + j
        won = lost + walk.strides[i]
        if len(weights) > 0:
            expected += ways * rewards[i] * weights[won]
            out[won] += ways
            out[lost] += ways
        else:
            wins = j if i == last else successes(walk, i, row)
            p = (prior[i, 0] + wins) / (prior[i, 0] + prior[i, 1] + walk.pulls[tile.block, i])
            expected += ways * rewards[i] * p
            out[won] += ways * p
            out[lost] += ways * (1.0 - p)
    return expected
