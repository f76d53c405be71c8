"""Chunks become means, intervals and quantiles.

Chunks are added in their own order, so that the sums are the same to the last bit whichever worker
finished first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray, IntArray
from elsv.simulation.engine import BINS_PER_NAT, ChunkTally, Run
from elsv.simulation.intervals import interval

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class SegmentResult:
    """What one segment brought under a policy, on average over the instances."""

    segment: str
    customers: float
    earnings: float
    earnings_ci95: float
    regret: float
    ci95: float


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
class ArmTotals:
    """Policies beside always pulling one arm, or one for each segment, in the currency of the rewards."""

    arms: FloatArray  # [K], what always pulling it earns
    gains: FloatArray  # [P, K]
    ci95: FloatArray  # [P, K], half-widths of their paired 95 % intervals
    percent: FloatArray  # [P, K], of what the arm earns
    percent_ci95: FloatArray  # [P, K]


@dataclass(frozen=True)
class Totals:
    """All policies, all instances."""

    instances: int
    policies: tuple[PolicyResult, ...]
    difference: FloatArray  # [P, P], mean final regret of p minus that of q
    difference_ci95: FloatArray  # [P, P]
    singles: ArmTotals


class Accumulator:
    """Adds chunks in order; holds early arrivals until their turn."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._waiting: dict[int, ChunkTally] = {}
        self._next = 0
        self._sum: ChunkTally | None = None
        self._curves: list[FloatArray] = []

    def add(self, tally: ChunkTally) -> None:
        """Take a chunk in, whatever its turn."""
        self._waiting[tally.chunk] = tally
        while self._next in self._waiting:
            found = self._waiting.pop(self._next)
            self._sum = found if self._sum is None else self._sum + found
            if found.curves is not None:
                self._curves.append(found.curves)
            self._next += 1

    def totals(self) -> Totals:
        """Return the results once every chunk is in."""
        assert self._sum is not None
        total, n, unit = self._sum, self._sum.instances, self._run.unit
        policies = tuple(self._policy(total, p) for p in range(len(self._run.policies)))
        difference, half = interval(total.differences, total.difference_squares, n)
        return Totals(n, policies, unit * difference, unit * half, _singles(total, unit))

    def _policy(self, total: ChunkTally, p: int) -> PolicyResult:
        n, unit, smallest = total.instances, self._run.unit, self._run.smallest
        mean, half = interval(total.regret[p], total.squares[p], n)
        earnings, earnings_half = interval(total.earnings[p], total.earnings_squares[p], n)
        curves = [part[p] for part in self._curves]
        quantiles = [_quantiles(row, smallest) for row in total.histogram[p]]
        return PolicyResult(
            mean=unit * mean,
            ci95=unit * half,
            quantiles=unit * np.array(quantiles).reshape(-1, len(QUANTILES)),
            pull_share=total.pulls[p] / n,
            best_share=total.best[p] / n,
            microseconds=1e6 * float(total.seconds[p]) / (n * self._run.horizon),
            curves=unit * np.concatenate(curves, axis=1) if curves else None,
            earnings=unit * earnings,
            earnings_ci95=unit * earnings_half,
            by_segment=() if total.by_segment is None else self._segments(total.by_segment[p], n),
        )

    def _segments(self, sums: FloatArray, n: int) -> tuple[SegmentResult, ...]:
        unit, names = self._run.unit, self._run.problem.segments.names
        regret, half = interval(sums[0], sums[1], n)
        earnings, earnings_half = interval(sums[2], sums[3], n)
        columns = sums[4] / n, unit * earnings, unit * earnings_half, unit * regret, unit * half
        rows = np.transpose(columns).tolist()
        return tuple(SegmentResult(name, *row) for name, row in zip(names, rows, strict=True))


def _singles(total: ChunkTally, unit: float) -> ArmTotals:
    """Return means and intervals; those in per cent take into account that both parts are measured."""
    gains, half = interval(total.gains, total.gain_squares, total.instances)
    arms = total.arms / total.instances
    with np.errstate(divide="ignore", invalid="ignore"):  # an arm that earns nothing has no per cent
        ratio = gains / arms
        squares = total.gain_squares - 2 * ratio * total.products + ratio * ratio * total.arm_squares
        _, apart = interval(np.zeros_like(gains), squares, total.instances)
        return ArmTotals(unit * arms, unit * gains, unit * half, 100 * ratio, 100 * apart / arms)


def _quantiles(counts: IntArray, smallest: float) -> FloatArray:
    """Return the quantiles of a histogram of regret, linear within a bin."""
    edges = smallest * np.expm1(np.arange(len(counts) + 1) / BINS_PER_NAT)
    below = np.concatenate(([0.0], np.cumsum(counts))) / counts.sum()
    found = np.interp(QUANTILES, below, edges)
    # The first bin holds the instances without regret; they have exactly none.
    return np.where(found <= edges[1], 0.0, found)
