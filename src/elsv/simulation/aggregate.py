"""Chunks become means, intervals and quantiles.

Chunks are added in their own order, so that the sums are the same to the last bit whichever worker
finished first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray, IntArray
from elsv.simulation.arrivals import SegmentResult, segment_results
from elsv.simulation.earnings import ArmTotals, totals_of
from elsv.simulation.engine import BINS_PER_NAT, ChunkTally, Run
from elsv.simulation.intervals import interval

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class PolicyResult:
    """What was measured of one policy; arrays are by step, t = 1 … T."""

    mean: FloatArray  # [T], cumulative regret
    ci95: FloatArray  # [T], half-width of its 95 % interval
    quantiles: FloatArray  # [checkpoints, quantiles], to 1 %
    pull_share: FloatArray  # [T, N], share of instances that pull arm i at step t
    best_share: FloatArray  # [T], share of instances that pull a best arm
    microseconds: float  # per decision
    curves: FloatArray | None  # [T, instances], on request
    earnings: FloatArray  # [T], cumulative expected reward
    earnings_ci95: FloatArray  # [T]
    by_segment: tuple[SegmentResult, ...] = ()  # what each segment brought, if there are some


@dataclass(frozen=True)
class Totals:
    """All policies, all instances."""

    instances: int
    policies: tuple[PolicyResult, ...]
    difference: FloatArray  # [P, P], mean final regret of p minus that of q
    difference_ci95: FloatArray  # [P, P]
    singles: ArmTotals  # beside always pulling one arm


class Accumulator:
    """Adds chunks in order; holds early arrivals until their turn."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._waiting: dict[int, ChunkTally] = {}
        self._next = 0
        self._sum: ChunkTally | None = None
        self._curves: list[list[FloatArray]] = [[] for _ in run.policies]

    def add(self, tally: ChunkTally) -> None:
        """Take a chunk in, whatever its turn."""
        self._waiting[tally.chunk] = tally
        while self._next in self._waiting:
            found = self._waiting.pop(self._next)
            self._sum = found if self._sum is None else self._sum + found
            for curves, policy in zip(self._curves, found.policies, strict=True):
                if policy.curves is not None:
                    curves.append(policy.curves)
            self._next += 1

    def totals(self) -> Totals:
        """Return the results once every chunk is in."""
        assert self._sum is not None
        n, unit, smallest = self._sum.instances, self._run.unit, self._run.smallest
        shape = (-1, len(QUANTILES))
        results = []
        for policy, curves in zip(self._sum.policies, self._curves, strict=True):
            mean, half = interval(policy.regret, policy.squares, n)
            earnings, earnings_half = interval(policy.earnings, policy.earnings_squares, n)
            results.append(
                PolicyResult(
                    unit * mean,
                    unit * half,
                    unit * np.array([_quantiles(row, smallest) for row in policy.histogram]).reshape(shape),
                    policy.pulls / n,
                    policy.best / n,
                    1e6 * policy.seconds / (n * self._run.horizon),
                    unit * np.concatenate(curves, axis=1) if curves else None,
                    unit * earnings,
                    unit * earnings_half,
                    ()
                    if policy.by_segment is None
                    else segment_results(self._run.problem.segments, policy.by_segment, n, unit),
                )
            )
        difference, half = interval(self._sum.differences, self._sum.difference_squares, n)
        singles = totals_of(self._sum.singles, n, unit)
        return Totals(n, tuple(results), unit * difference, unit * half, singles)


def _quantiles(counts: IntArray, smallest: float) -> FloatArray:
    """Return the quantiles of a histogram of regret, linear within a bin."""
    edges = smallest * np.expm1(np.arange(len(counts) + 1) / BINS_PER_NAT)
    below = np.concatenate(([0.0], np.cumsum(counts))) / counts.sum()
    found = np.interp(QUANTILES, below, edges)
    # The first bin holds the instances without regret; they have exactly none.
    return np.where(found <= edges[1], 0.0, found)
