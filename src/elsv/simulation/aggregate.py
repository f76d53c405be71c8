"""Chunks become means, intervals and quantiles.

Chunks are added in their own order, so that the sums are the same to the last bit whichever worker
finished first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray, IntArray
from elsv.policies.single import choices
from elsv.simulation.arrivals import SegmentResult, segment_results
from elsv.simulation.earnings import ArmTally, ArmTotals, totals_of
from elsv.simulation.engine import BINS, BINS_PER_NAT, ChunkTally, Run
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
        p, t, n, c = len(run.policies), run.horizon, run.problem.arms, len(run.checkpoints)
        self._instances = 0
        self._regret, self._squares = np.zeros((p, t)), np.zeros((p, t))
        self._earnings, self._earnings_squares = np.zeros((p, t)), np.zeros((p, t))
        self._pulls = np.zeros((p, t, n), dtype=np.int64)
        self._best = np.zeros((p, t), dtype=np.int64)
        self._histogram = np.zeros((p, c, BINS), dtype=np.int64)
        self._seconds = np.zeros(p)
        self._differences, self._difference_squares = np.zeros((p, p)), np.zeros((p, p))
        k, segments = len(choices(run.problem)), run.problem.segments
        self._singles = ArmTally(*(np.zeros(k) for _ in range(2)), *(np.zeros((p, k)) for _ in range(3)))
        self._by_segment = np.zeros((p, 5, 0 if not segments.stated else segments.count))
        self._curves: list[list[FloatArray]] = [[] for _ in range(p)]

    def add(self, tally: ChunkTally) -> None:
        """Take a chunk in, whatever its turn."""
        self._waiting[tally.chunk] = tally
        while self._next in self._waiting:
            self._fold(self._waiting.pop(self._next))
            self._next += 1

    def _fold(self, tally: ChunkTally) -> None:
        self._instances += tally.instances
        self._differences += tally.differences
        self._difference_squares += tally.difference_squares
        self._singles += tally.singles
        for p, policy in enumerate(tally.policies):
            self._regret[p] += policy.regret
            self._earnings[p] += policy.earnings
            self._earnings_squares[p] += policy.earnings_squares
            self._squares[p] += policy.squares
            self._pulls[p] += policy.pulls
            self._best[p] += policy.best
            self._histogram[p] += policy.histogram
            self._seconds[p] += policy.seconds
            if policy.by_segment is not None:
                self._by_segment[p] += policy.by_segment
            if policy.curves is not None:
                self._curves[p].append(policy.curves)

    def totals(self) -> Totals:
        """Return the results once every chunk is in."""
        n, unit, smallest = self._instances, self._run.unit, self._run.smallest
        mean, half = interval(self._regret, self._squares, n)
        earnings, earnings_half = interval(self._earnings, self._earnings_squares, n)
        difference, difference_half = interval(self._differences, self._difference_squares, n)
        shape = (-1, len(QUANTILES))
        results = tuple(
            PolicyResult(
                unit * mean[p],
                unit * half[p],
                unit * np.array([_quantiles(row, smallest) for row in self._histogram[p]]).reshape(shape),
                self._pulls[p] / n,
                self._best[p] / n,
                1e6 * float(self._seconds[p]) / (n * self._run.horizon),
                unit * np.concatenate(self._curves[p], axis=1) if self._curves[p] else None,
                unit * earnings[p],
                unit * earnings_half[p],
                self._segments_of(p, n),
            )
            for p in range(len(mean))
        )
        singles = totals_of(self._singles, n, unit)
        return Totals(n, results, unit * difference, unit * difference_half, singles)

    def _segments_of(self, place: int, instances: int) -> tuple[SegmentResult, ...]:
        segments = self._run.problem.segments
        if not segments.stated:
            return ()
        return segment_results(segments, self._by_segment[place], instances, self._run.unit)


def _quantiles(counts: IntArray, smallest: float) -> FloatArray:
    """Return the quantiles of a histogram of regret, linear within a bin."""
    edges = smallest * np.expm1(np.arange(len(counts) + 1) / BINS_PER_NAT)
    below = np.concatenate(([0.0], np.cumsum(counts))) / counts.sum()
    found = np.interp(QUANTILES, below, edges)
    # The first bin holds the instances without regret; they have exactly none.
    return np.where(found <= edges[1], 0.0, found)
