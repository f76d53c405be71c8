"""Arms of which nothing is known, in the plain slow form: sums over a grid of log odds.

A known arm has a Beta row. Each unknown arm beyond it has log odds that are normal around the known arm's,
with the variance of one step times its number of steps, given that the arms come in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from math import exp, factorial, log


def beyond(
    alpha: float, beta: float, arms: int, factor: float, levels: Sequence[float], points: int = 61
) -> tuple[list[float], list[list[float]]]:
    """Return means and quantiles of so many arms above one with the row (alpha, beta)."""
    step = (log(factor) / 1.96) ** 2
    middle = log(alpha / beta)
    places = [middle - 2.5 + 5.5 * k / (points - 1) for k in range(points)]  # log odds
    chance = [1 / (1 + exp(-place)) for place in places]
    row = [x**alpha * (1 - x) ** beta for x in chance]  # in log odds dx = x (1 - x) d log odds
    marginal = [[0.0] * points for _ in range(arms)]
    for start in range(points):
        weights = {}
        for way in product(range(start, points), repeat=arms):
            if all(a <= b for a, b in pairwise(way)):
                away = [places[k] - places[start] for k in way]
                squares = sum(d * d / (n * step) for n, d in enumerate(away, 1))
                inside = 0.5 ** way.count(start)  # share of the cell that is in order
                for k in set(way):
                    inside /= factorial(way.count(k))
                weights[way] = inside * exp(-squares / 2)
        total = sum(weights.values())
        for way, weight in weights.items():
            for arm, k in enumerate(way):
                marginal[arm][k] += row[start] * weight / total
    means, quantiles = [], []
    for share in marginal:
        total = sum(share)
        means.append(sum(x * w for x, w in zip(chance, share, strict=True)) / total)
        quantiles.append([_quantile(chance, [w / total for w in share], level) for level in levels])
    return means, quantiles


def _quantile(chance: Sequence[float], share: Sequence[float], level: float) -> float:
    below = 0.0
    for k, weight in enumerate(share):
        if below + weight / 2 >= level:
            before = below - share[k - 1] / 2
            return chance[k - 1] + (chance[k] - chance[k - 1]) * (level - before) / (
                below + weight / 2 - before
            )
        below += weight
    return chance[-1]
