r"""Compiled search on weighted joint points of the belief at the root, whatever its structure.

A state that s successes and f failures of the candidates lead to has
:math:`W = \sum_m w_m \prod_i \theta_{mi}^{s_i} (1 - \theta_{mi})^{f_i}`: for the layer past the frontier a
matrix product over the points, the states of the first candidate by those of all the others. Every earlier
layer is :math:`W(s) = W(s{+}\text{success}) + W(s{+}\text{failure})`, and
:math:`W p_l(s) = W(s{+}\text{success}_l)`.

`search_stops` pulls one arm many times and commits as soon as that is better. Given the mean of that arm, its
outcomes say nothing of the others: with weighted points x of it and the means of all arms there, :math:`W
p_l` after s successes in m pulls is a sum over the points with :math:`x^s (1-x)^{m-s}`. An arm of segment g
is pulled for one in :math:`1/q_g` customers. Those of other segments get their best arm meanwhile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsv._base.jit import helper, kernel, merged
from elsv._base.typing import FloatArray, IntArray
from elsv.lattice.small import Layers

TOGETHER = 8  # points that one pass over the states adds up


@helper
def fill_powers(x: float, won: FloatArray, lost: FloatArray) -> None:
    """Set the powers of x and of 1 - x."""
    won[0] = 1.0
    lost[0] = 1.0
    for k in range(len(won) - 1):
        won[k + 1] = won[k] * x
        lost[k + 1] = lost[k] * (1.0 - x)


@helper
def put_in_front(
    m: int,
    tail: int,
    layers: Layers,
    won: FloatArray,
    lost: FloatArray,
    table: FloatArray,
    out: FloatArray,
) -> None:
    """Set the entries of `out`: an arm in front of a tail, m pulls in all, at one point.

    `table` has an entry for every state of the tail of so many arms. The order is the lattice's.
    """
    at = np.uint64(0)
    for n in range(m + 1):
        old = np.uint64(layers.tail_states[tail, m - n])
        for b in range(layers.tail_blocks[tail, m - n], layers.tail_blocks[tail, m - n + 1]):
            size = np.uint64(layers.tail_sizes[b])
            for s in range(n + 1):
                factor = won[s] * lost[n - s]
                for j in range(size):
                    out[at + j] = factor * table[old + j]
                at += size
            old += size


@helper
def add_points(factor: FloatArray, slab: FloatArray, size: int, total: FloatArray) -> None:
    """Add Σ_g factor[g] slab[g, j] to total[j] for `TOGETHER` points."""
    a, b, c, d = slab[0], slab[1], slab[2], slab[3]
    e, f, g, h = slab[4], slab[5], slab[6], slab[7]
    s, t, u, v = factor[0], factor[1], factor[2], factor[3]
    w, x, y, z = factor[4], factor[5], factor[6], factor[7]
    for j in range(np.uint64(size)):
        total[j] += (s * a[j] + t * b[j] + (u * c[j] + v * d[j])) + (
            w * e[j] + x * f[j] + (y * g[j] + z * h[j])
        )


class Tables(NamedTuple):
    """Room for the factors of `TOGETHER` runs of points."""

    won: FloatArray  # [C, TOGETHER, d + 2], powers of θ of each candidate
    lost: FloatArray  # [C, TOGETHER, d + 2], powers of 1 - θ
    heads: FloatArray  # [TOGETHER, states of the first candidate]
    tails: FloatArray  # [TOGETHER, states of the third candidate on]
    slab: (
        FloatArray  # [TOGETHER, states of the second candidate on with as many pulls], as precise as the sums
    )
    spare: FloatArray  # [2, states of the third candidate on]
    sums: FloatArray  # [states of the last layer], by the first candidate's state


@merged
def new_tables(count: int, layers: Layers, sums: FloatArray) -> Tables:
    """Return room for `count` candidates, with that of the sums."""
    most = layers.tail_states.shape[1] - 2
    width = layers.tail_states[count - 2, most + 1]
    widest = layers.tail_states[count - 1, most + 1] - layers.tail_states[count - 1, most]
    powers = (count, TOGETHER, most + 1)
    return Tables(
        np.empty(powers),
        np.empty(powers),
        np.empty((TOGETHER, (most + 1) * (most + 2) // 2)),
        np.empty((TOGETHER, width)),
        np.empty((TOGETHER, widest), sums.dtype),
        np.empty((2, width)),
        sums,
    )


@merged
def add_head(x: float, weight: float, row: int, tables: Tables) -> None:
    """Add the factors of a point's first candidate to a row of heads."""
    won, lost, head = tables.won[0, row], tables.lost[0, row], tables.heads[row]
    fill_powers(x, won, lost)
    for n in range(len(won)):
        at = n * (n + 1) // 2
        for s in range(n + 1):
            head[at + s] += weight * won[s] * lost[n - s]


@merged
def add_tail(theta: FloatArray, weight: float, layers: Layers, row: int, tables: Tables) -> None:
    """Add the factors of a point's third and later candidates, times its weight, to a row of tails."""
    most = tables.won.shape[2] - 1
    table, spare = tables.spare[0], tables.spare[1]
    table[0] = weight
    for tail in range(len(theta) - 2):
        arm = len(theta) - 1 - tail
        won, lost = tables.won[arm, row], tables.lost[arm, row]
        fill_powers(theta[arm], won, lost)
        for m in range(most + 1):
            put_in_front(m, tail, layers, won, lost, table, spare[layers.tail_states[tail + 1, m] :])
        table, spare = spare, table
    tails = tables.tails[row]
    for j in range(len(tails)):
        tails[j] += table[j]


@merged
def run_of(theta: FloatArray, weight: FloatArray, begin: int) -> tuple[int, int]:
    """Return where a product of points from `begin` on ends, and how many of them share the first candidate.

    They have the second candidate in common, every value of the first goes with the same values of
    the others, and the weights are products too. One point is such a run.
    """
    points, count = theta.shape
    end, width = begin + 1, 1
    while end < points and theta[end, 1] == theta[begin, 1]:
        end += 1
    while begin + width < end and theta[begin + width, 0] == theta[begin, 0]:
        width += 1
    size = end - begin
    if size % width != 0:
        return begin + 1, 1
    best = heaviest(weight, begin, end)
    place = best % width
    for g in range(size):
        inside = g % width
        start = begin + g - inside
        if theta[begin + g, 0] != theta[start, 0]:
            return begin + 1, 1
        for c in range(2, count):
            if theta[begin + g, c] != theta[begin + inside, c]:
                return begin + 1, 1
        product = weight[start + place] * weight[begin + best - place + inside]
        if abs(weight[begin + g] * weight[begin + best] - product) > 1e-12 * product:
            return begin + 1, 1
    return end, width


@merged
def heaviest(weight: FloatArray, begin: int, end: int) -> int:
    """Return which of the points from `begin` to `end` has the largest weight, counted from `begin`."""
    best = begin
    for g in range(begin, end):
        if weight[g] > weight[best]:
            best = g
    return best - begin


@merged
def fill_row(
    theta: FloatArray,
    weight: FloatArray,
    begin: int,
    end: int,
    width: int,
    layers: Layers,
    row: int,
    tables: Tables,
) -> None:
    """Set a row to a run of points that is a product of the given width."""
    best = heaviest(weight, begin, end)
    head, place, most = begin + best - best % width, best % width, weight[begin + best]
    fill_powers(theta[begin, 1], tables.won[1, row], tables.lost[1, row])
    clear(row, tables)
    if not most > 0.0:
        return
    for start in range(begin, end, width):
        add_head(theta[start, 0], weight[start + place] / most, row, tables)
    for g in range(head, head + width):
        add_tail(theta[g], weight[g], layers, row, tables)


@helper
def clear(row: int, tables: Tables) -> None:
    """Set the heads and tails of a row to nothing."""
    for j in range(tables.heads.shape[1]):
        tables.heads[row, j] = 0.0
    for j in range(tables.tails.shape[1]):
        tables.tails[row, j] = 0.0


@merged
def add_runs(layers: Layers, tables: Tables) -> None:
    """Add the runs in `tables` to the sums: a block of a matrix product."""
    most = tables.won.shape[2] - 1
    tail = len(tables.won) - 2
    factor = np.empty(TOGETHER, tables.sums.dtype)
    at = 0
    for n in range(most + 1):
        m = most - n
        size = layers.tail_states[tail + 1, m + 1] - layers.tail_states[tail + 1, m]
        for g in range(TOGETHER):
            won, lost = tables.won[1, g], tables.lost[1, g]
            put_in_front(m, tail, layers, won, lost, tables.tails[g], tables.slab[g])
        for s in range(n + 1):
            for g in range(TOGETHER):
                factor[g] = tables.heads[g, n * (n + 1) // 2 + s]
            add_points(factor, tables.slab, size, tables.sums[at:])
            at += size


@kernel
def weigh_layer(
    theta: FloatArray, weight: FloatArray, layers: Layers, weights: FloatArray, sums: FloatArray
) -> None:
    """Set W of all states of the last layer, which stand last in `weights` ``[B, states]``.

    `sums` ``[states of the last layer]`` is overwritten.

    `theta` ``[B, M, C]`` and `weight` ``[B, M]`` are the candidates' points. Runs of points that are a
    product given the second candidate are added up beforehand.
    """
    tables = new_tables(theta.shape[2], layers, sums)
    for n in range(len(theta)):
        for j in range(len(tables.sums)):
            tables.sums[j] = 0.0
        runs, begin = 0, 0
        while begin < theta.shape[1]:
            end, width = run_of(theta[n], weight[n], begin)
            fill_row(theta[n], weight[n], begin, end, width, layers, runs % TOGETHER, tables)
            begin = end
            runs += 1
            if begin == theta.shape[1]:
                # A row without heads adds nothing.
                for row in range((runs - 1) % TOGETHER + 1, TOGETHER):
                    clear(row, tables)
                    fill_powers(0.0, tables.won[1, row], tables.lost[1, row])
                runs = 0
            if runs % TOGETHER == 0:
                add_runs(layers, tables)
        in_order(layers, theta.shape[2] - 1, tables.sums, weights[n])


@merged
def in_order(layers: Layers, tail: int, sums: FloatArray, out: FloatArray) -> None:
    """Put the sums where the lattice has them: the first arm's successes inside the blocks of the others."""
    most, last = layers.tail_states.shape[1] - 2, len(layers.first_block) - 2
    first = layers.first_block[last] + last
    at, block = 0, 0
    for n in range(most + 1):
        begin, end = layers.tail_blocks[tail, most - n], layers.tail_blocks[tail, most - n + 1]
        for s in range(n + 1):
            for b in range(begin, end):
                length = layers.tail_sizes[b]
                to = layers.first_state[last] + layers.starts[first + block + b - begin] + s * length
                for j in range(length):
                    out[to + j] = sums[at + j]
                at += length
        block += end - begin


@kernel
def search_stops(
    theta: FloatArray,
    weight: FloatArray,
    rewards: FloatArray,
    segment: IntArray,
    coming: FloatArray,
    left: float,
    discount: float,
    most: int,
    q: FloatArray,
) -> None:
    """Set q ``[B, N]`` given that an arm's segment has come: up to `most` pulls, commit when that is better.

    `theta` ``[B, S, K, N]`` and `weight` ``[B, S, K]`` are points of each arm, or for S = 1 the same points
    for all. `segment` ``[N]`` is that of each arm, `coming` ``[B, G, G]`` the chances of all segments after
    one has come; `left` counts the pulls, or the discounted pulls, that remain at the root.
    """
    instances, sets, points, arms = theta.shape
    whole = -(-points // TOGETHER) * TOGETHER
    factor, gains = np.zeros((whole, most + 1)), np.zeros((arms + 1, whole))
    won, lost = np.empty(most + 1), np.empty(most + 1)
    wins, room = np.empty((arms + 1, most + 1)), np.zeros((2, most + 1))
    best = np.empty((coming.shape[1], most + 1))
    for n in range(instances):
        for arm in range(arms):
            own = arm if sets > 1 else 0
            chance = coming[n, segment[arm]]
            pulls = most  # no more than customers of the segment are to be expected
            if discount == 1.0:
                pulls = min(most, 1 + int((left - 1.0) * chance[segment[arm]]))
            for k in range(points):
                fill_powers(theta[n, own, k, arm], won[: pulls + 1], lost[: pulls + 1])
                for j in range(pulls + 1):
                    factor[k, j] = weight[n, own, k] * won[j] * lost[pulls - j]
                if arm == 0 or sets > 1:
                    for i in range(arms):
                        gains[i, k] = rewards[i] * theta[n, own, k, i]
                    gains[arms, k] = 1.0
            wins[:] = 0.0
            for k in range(0, whole, TOGETHER):
                for i in range(arms + 1):
                    add_points(gains[i, k:], factor[k:], pulls + 1, wins[i])
            q[n, arm] = stop_when_better(arm, pulls, left, discount, segment, chance, wins, best, room)


@helper
def stop_when_better(
    arm: int,
    most: int,
    left: float,
    discount: float,
    segment: IntArray,
    chance: FloatArray,
    wins: FloatArray,
    best: FloatArray,
    room: FloatArray,
) -> float:
    """Return the worth of at least one pull of `arm`, for a customer who has come.

    `wins` ``[N + 1, pulls + 1]`` is W r p of every arm after the last pull, by successes, and W.
    """
    arms, own = wins.shape[0] - 1, segment[arm]
    worth, others, share = room[0], room[1], chance[own]
    each = 1.0 / share  # customers for each pull but the first
    during, later = each, 1.0
    if discount != 1.0:
        later = discount**each
        during = (1.0 - later) / (1.0 - discount)
    for made in range(most, -1, -1):
        best[:, : made + 1] = 0.0
        for i in range(arms + 1):
            line = wins[i]
            if made < most:
                for j in range(made + 1):
                    line[j] += line[j + 1]
            if i < arms:
                top = best[segment[i]]
                for j in range(made + 1):
                    top[j] = max(top[j], line[j])
        others[: made + 1] = 0.0
        for g in range(len(chance)):
            if g != own:
                for j in range(made + 1):
                    others[j] += chance[g] * best[g, j]
        line, top = wins[arm], best[own]
        if made == 0:
            # What the others learn is committed to after the one customer who is here.
            return float((line[0] + discount * (worth[0] + worth[1])) / wins[arms, 0])
        after = left - 1.0 - (made - 1) * each if discount == 1.0 else left
        if made == most:
            for j in range(made + 1):
                worth[j] = after * (others[j] + share * top[j])
            continue
        for j in range(made + 1):
            committed = after * (others[j] + share * top[j])
            worth[j] = max(
                committed, during * (others[j] + share * line[j]) + later * (worth[j] + worth[j + 1])
            )
    return 0.0
