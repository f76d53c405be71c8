"""One statement of each kind, by name, with the number of arms that it is about."""

import numpy as np

from elsv.structure import (
    bounds,
    decreasing,
    free,
    gap,
    grid,
    increasing,
    logistic,
    mixture,
    order,
    samples,
    unimodal,
    where,
)

DRAWS = ((1, 2, 3), (5, 4, 1), (6, 6, 2), (2, 7, 3), (1, 1, 7))  # eighths
SHARES = (1, 2, 3, 1, 1)  # eighths
FORK = order([(1, 2), (1, 3)])
LIMITED = bounds([(0.25, 0.75), None, (0, 0.5)])

KINDS = {
    "free": (free(), 3),
    "a path": (decreasing(), 3),
    "a fork": (FORK, 3),
    "a fork from below": (order([(1, 3), (2, 3)]), 3),
    "a pair and a free arm": (order([(3, 1)]), 3),
    "a tree": (order([(1, 2), (1, 3), (3, 4)]), 4),
    "an N": (order([(1, 3), (2, 3), (2, 4)]), 4),
    "a grid": (grid(2, 2), 4),
    "a grid by Gibbs sampling": (grid(2, 2).by("gibbs"), 4),
    "a peak": (unimodal(), 3),
    "a peak of rewards": (unimodal("reward"), 3),
    "a peak of four": (unimodal(), 4),
    "a peak and an order": (unimodal() & order([(2, 3)]), 3),
    "bounds": (LIMITED, 3),
    "a fork within bounds": (FORK & LIMITED, 3),
    "a path within bounds": (decreasing() & LIMITED, 3),
    "probably decreasing": (mixture([(0.75, decreasing()), (0.25, free())]), 3),
    "one way or the other": (mixture([(0.5, decreasing()), (0.5, increasing())]), 3),
    "samples": (samples(np.array(DRAWS) / 8, np.array(SHARES) / 8), 3),
    "a gap": (gap(1, 2, at_least=0.1), 3),
    "a condition": (where(lambda means: means.sum(axis=-1) >= 1.0, "sales in all"), 3),
    "a condition and an order": (
        order([(1, 3)]) & where(lambda means: np.ptp(means, axis=-1) >= 0.2, "apart"),
        3,
    ),
    "a fork, kept": (FORK.by("keep"), 3),
    "a demand curve": (logistic([1, 2, 3], draws=2048), 3),
}
