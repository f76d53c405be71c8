r"""Compiled sweeps from layer m + 1 of the lattice to layer m.

Every kernel works on some blocks of layer m (`elsv.lattice._tile_kernels.Given`), tile by tile. A tile is
read whole before it is written, so input and output may be the same array.

``values`` is V, the worth of a state, when ``weights`` is empty: the arms are independent and arm i succeeds
with probability :math:`(\alpha_i + s_i)/(\alpha_i + \beta_i + n_i)`. Otherwise ``weights`` holds W of layer
m + 1 and ``values`` :math:`Y = W V`, and no division is needed:

.. math:: W(s)\,q(s, i) = r_i W(s{+}\text{success}_i) + Y(s{+}\text{success}_i) + Y(s{+}\text{failure}_i).

The chance that a segment comes next depends on the pulls alone, so a block has one row of them. A state is
worth :math:`\sum_g q_g` times what the arm of segment g is worth; with one segment the arm's own worth.
"""

from __future__ import annotations

import numpy as np

from elsv._base.jit import borrowing, kernel
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv._choice_kernels import first_best
from elsv.lattice._tile_kernels import (
    Given,
    Tile,
    Walk,
    add_tile,
    add_times,
    begin,
    best_in_segment,
    choose_in_segment,
    copy_tile,
    failure_start,
    next_tile,
    pull_tile,
    raise_tile,
    reward_tile,
    successes,
    table_start,
    tile_room,
)


@kernel
def maximise(given: Given, actions: AnyArray, out: FloatArray) -> None:
    """Set `out` to the worth of each segment's best arm, and `actions` ``[G, states]`` unless it is empty."""
    room, scale = tile_room(given), given.rewards.max()
    q, best, least = np.empty((len(given.rewards), room)), np.empty(room), np.empty(room)
    walk, tile = begin(given)
    while tile.length > 0:
        for i in range(len(given.rewards)):
            pull_tile(walk, tile, i, q[i])
        maximise_tile(walk, tile, scale, q, best, least, actions, out)
        tile = next_tile(walk, tile)


@borrowing
def maximise_tile(
    walk: Walk,
    tile: Tile,
    scale: float,
    q: FloatArray,
    best: FloatArray,
    least: FloatArray,
    actions: AnyArray,
    out: FloatArray,
) -> None:
    """Set `out` and, unless it is empty, `actions` of a tile from every arm's q."""
    chances = walk.given.chances
    here = out[tile.here : tile.here + tile.length]
    if chances.shape[1] == 1:  # one segment spares a pass over the tile
        best_in_segment(walk, tile, 0, q, here)
        if actions.shape[1] > 0:
            choose_in_segment(walk, tile, 0, q, here, scale, least, actions[0])
        return
    for g in range(chances.shape[1]):
        best_in_segment(walk, tile, g, q, best)
        add_times(tile, chances[tile.block, g], best, here, g == 0)
        if actions.shape[1] > 0:
            choose_in_segment(walk, tile, g, q, best, scale, least, actions[g])


@kernel
def add_weights(given: Given, out: FloatArray) -> None:
    """Set `out` to W(s) = W(s + success) + W(s + failure) of the last arm."""
    unit = np.empty(tile_room(given))
    walk, tile = begin(given)
    while tile.length > 0:
        add_tile(walk, tile, unit)
        copy_tile(unit, tile, out)
        tile = next_tile(walk, tile)


@kernel
def follow(given: Given, actions: AnyArray, out: FloatArray) -> None:
    """Set `out` to the worth of pulling for each segment the arm that `actions` ``[G, states]`` names."""
    room = tile_room(given)
    q, total = np.empty(room), np.empty(room)
    walk, tile = begin(given)
    while tile.length > 0:
        total[: tile.length] = 0.0
        # All arms are worked out and one is picked: no branches, so this too is vectorised.
        for i in range(len(given.rewards)):
            g = given.segment[i]
            pull_tile(walk, tile, i, q)
            add_where(tile, i, g, given.chances[tile.block, g], actions, q, total)
        copy_tile(total, tile, out)
        tile = next_tile(walk, tile)


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
def pull_arm(given: Given, arm: int, out: FloatArray) -> None:
    """Set `out` to the worth of pulling one arm in every state."""
    q = np.empty(tile_room(given))
    walk, tile = begin(given)
    while tile.length > 0:
        pull_tile(walk, tile, arm, q)
        copy_tile(q, tile, out)
        tile = next_tile(walk, tile)


@kernel
def mix(given: Given, shares: FloatArray, out: FloatArray) -> None:
    """Set `out` to the worth of pulling arm i with probability ``shares[i, state]`` if its segment comes."""
    room = tile_room(given)
    q, total = np.empty(room), np.empty(room)
    walk, tile = begin(given)
    while tile.length > 0:
        total[: tile.length] = 0.0
        for i in range(len(given.rewards)):
            pull_tile(walk, tile, i, q)
            add_share(tile, shares, i, given.chances[tile.block, given.segment[i]], q, total)
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
def average(given: Given, out: FloatArray) -> None:
    r"""Set `out` to a state's expectation of the next layer's values, whichever arm is pulled (the last).

    With weights, :math:`W(s) P(s) = W P(s{+}\text{success}) + W P(s{+}\text{failure})`.
    """
    average_of = np.empty(tile_room(given))
    walk, tile = begin(given)
    while tile.length > 0:
        average_tile(walk, tile, average_of)
        copy_tile(average_of, tile, out)
        tile = next_tile(walk, tile)


@borrowing
def average_tile(walk: Walk, tile: Tile, out: FloatArray) -> None:
    """Set `out` to the expectation of the values over a pull of the last arm in the states of a tile."""
    shares, weights, prior = walk.given.values, walk.given.weights, walk.given.prior
    last = len(walk.digits) - 1
    lost, at = failure_start(walk, tile, last), 0
    alpha, beta = prior[last, 0], prior[last, 1] + walk.given.pulls[tile.block, last]
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
def spread(given: Given, g: int, actions: AnyArray, out: FloatArray) -> float:
    """Add what `actions` of segment g sends on from layer m to `out` of layer m + 1.

    Return the reward expected in m. Values, here those of layer m, are the probability of each state, or with
    weights the number of ways to reach it: its probability is that number times W.
    """
    expected = 0.0
    walk, tile = begin(given)
    while tile.length > 0:
        for row in range(tile.rows):
            expected = send_row(walk, tile, row, given.chances[tile.block, g], actions, out, expected)
        tile = next_tile(walk, tile)
    return expected


@borrowing
def send_row(
    walk: Walk, tile: Tile, row: int, chance: float, actions: AnyArray, out: FloatArray, expected: float
) -> float:
    """Add what a row of a tile sends on to `out`; return `expected` and the reward expected there."""
    paths, weights = walk.given.values, walk.given.weights
    rewards, prior, last = walk.given.rewards, walk.given.prior, len(walk.digits) - 1
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
            p = (prior[i, 0] + wins) / (prior[i, 0] + prior[i, 1] + walk.given.pulls[tile.block, i])
            expected += ways * rewards[i] * p
            out[won] += ways * p
            out[lost] += ways * (1.0 - p)
    return expected


@kernel
def prefer_infinite(given: Given, tables: FloatArray, group: IntArray, actions: AnyArray) -> None:
    """Set `actions` ``[G, states]`` to the best arms by reward times index where any index is infinite."""
    scores, own, scale = np.empty(len(group)), np.empty(len(group)), given.rewards.max()
    walk, tile = begin(given)
    while tile.length > 0:
        for row in range(tile.rows):
            prefer_infinite_row(walk, tile, row, tables, group, scale, scores, own, actions)
        tile = next_tile(walk, tile)


@borrowing
def prefer_infinite_row(
    walk: Walk,
    tile: Tile,
    row: int,
    tables: FloatArray,
    group: IntArray,
    scale: float,
    scores: FloatArray,
    own: FloatArray,
    actions: AnyArray,
) -> None:
    """Do the same in a row of a tile."""
    last, rewards, segment = len(group) - 1, walk.given.rewards, walk.given.segment
    for j in range(tile.width):
        infinite = False
        for i in range(last + 1):
            wins = j if i == last else successes(walk, i, row)
            scores[i] = rewards[i] * tables[group[i], table_start(walk, tile, i) + wins]
            infinite = infinite or scores[i] == np.inf
        for g in range(len(actions) if infinite else 0):
            for i in range(last + 1):
                own[i] = scores[i] if segment[i] == g else -np.inf
            actions[g, tile.here + row * tile.width + j] = first_best(own, scale)


@kernel
def commit_values(given: Given, times: float, out: FloatArray) -> None:
    """Set `out` to `times` what the next customer pays in expectation, each from the best arm."""
    room = tile_room(given)
    q, best, total = np.empty(room), np.empty(room), np.empty(room)
    walk, tile = begin(given)
    while tile.length > 0:
        for g in range(given.chances.shape[1]):
            best[: tile.length] = 0.0
            for i in range(len(given.rewards)):
                if given.segment[i] == g:
                    reward_tile(walk, tile, i, times, q)
                    raise_tile(best, tile, q)
            add_times(tile, given.chances[tile.block, g], best, total, g == 0)
        copy_tile(total, tile, out)
        tile = next_tile(walk, tile)


@kernel
def separable_values(given: Given, tables: FloatArray, scale: FloatArray, out: FloatArray) -> None:
    """Set `out` to Σ_i scale_i υ(state of arm i) by tables ``[N, size]``.

    Weights, unless they are empty, are those of this same layer, and what is set is times W.
    """
    walk, tile = begin(given)
    while tile.length > 0:
        for row in range(tile.rows):
            separable_row(walk, tile, row, tables, scale, out)
        tile = next_tile(walk, tile)


@borrowing
def separable_row(
    walk: Walk, tile: Tile, row: int, tables: FloatArray, scale: FloatArray, out: FloatArray
) -> None:
    """Do the same in a row of a tile."""
    last, weights, others = len(scale) - 1, walk.given.weights, 0.0
    for i in range(last):
        others += scale[i] * tables[i, table_start(walk, tile, i) + successes(walk, i, row)]
    own, extra = tables[last, table_start(walk, tile, last) :], scale[last]
    at = np.uint64(tile.here + row * tile.width)
    for j in range(np.uint64(tile.width)):
        out[at + j] = others + extra * own[j]
    if len(weights) > 0:
        for j in range(np.uint64(tile.width)):
            # An infinite value of an impossible state must not become NaN.
            weighted = weights[at + j] * out[at + j]
            out[at + j] = weighted if weights[at + j] > 0 else 0.0
