"""Chunks become means, intervals and quantiles.

Chunks are added in their own order, so that the sums are the same to the last bit whichever worker
finished first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray, IntArray
from elsv.simulation.engine import BINS_PER_NAT, ChunkTally, Run
from elsv.simulation.precision import interval

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

    @property
    def final(self) -> tuple[float, float]:
        """Regret over all steps, and the half-width of its 95 % interval."""
        return float(self.mean[-1]), float(self.ci95[-1])


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


def in_order(tallies: Iterable[ChunkTally]) -> Iterator[ChunkTally]:
    """Yield chunks in their own order; those that come early wait for their turn."""
    waiting: dict[int, ChunkTally] = {}
    turn = 0
    for tally in tallies:
        waiting[tally.chunk] = tally
        while turn in waiting:
            yield waiting.pop(turn)
            turn += 1


def totals_of(run: Run, tallies: Iterable[ChunkTally]) -> Totals:
    """Return the results of all chunks of a run, whatever their order."""
    total, curves = None, []
    for tally in in_order(tallies):
        total = tally if total is None else total + tally
        if tally.curves is not None:
            curves.append(tally.curves)
    assert total is not None
    n, unit = total.instances, run.unit

    mean, half = (unit * found for found in interval(total.regret[:, 0], total.regret[:, 1], n))
    earned, earned_half = (unit * found for found in interval(total.earnings[:, 0], total.earnings[:, 1], n))
    apart, apart_half = (unit * found for found in interval(total.differences[0], total.differences[1], n))
    policies = tuple(
        PolicyResult(
            mean=mean[p],
            ci95=half[p],
            quantiles=unit * np.array([_quantiles(row, run.smallest) for row in total.histogram[p]]),
            pull_share=total.pulls[p] / n,
            best_share=total.best[p] / n,
            microseconds=1e6 * float(total.seconds[p]) / (n * run.horizon),
            curves=unit * np.concatenate([part[p] for part in curves], axis=1) if curves else None,
            earnings=earned[p],
            earnings_ci95=earned_half[p],
            by_segment=() if total.by_segment is None else _segments(run, total.by_segment[p], n),
        )
        for p in range(len(run.policies))
    )
    return Totals(n, policies, apart, apart_half, _singles(total, unit))


def _segments(run: Run, sums: FloatArray, n: int) -> tuple[SegmentResult, ...]:
    """Return what each segment brought, from `ChunkTally.by_segment` of one policy."""
    regret, half = interval(sums[0], sums[1], n)
    earnings, earnings_half = interval(sums[2], sums[3], n)
    columns = sums[4] / n, *(run.unit * part for part in (earnings, earnings_half, regret, half))
    rows = zip(run.problem.segments.names, np.transpose(columns).tolist(), strict=True)
    return tuple(SegmentResult(name, *row) for name, row in rows)


def _singles(total: ChunkTally, unit: float) -> ArmTotals:
    """Return means and intervals; those in per cent take into account that both parts are measured."""
    sums, squares, products = np.moveaxis(total.gains, 1, 0)  # [P, K]
    gains, half = interval(sums, squares, total.instances)
    arms = total.arms[0] / total.instances
    with np.errstate(divide="ignore", invalid="ignore"):  # an arm that earns nothing has no per cent
        ratio = gains / arms
        squares = squares - 2 * ratio * products + ratio * ratio * total.arms[1]
        _, apart = interval(np.zeros_like(gains), squares, total.instances)
        return ArmTotals(unit * arms, unit * gains, unit * half, 100 * ratio, 100 * apart / arms)


def _quantiles(counts: IntArray, smallest: float) -> FloatArray:
    """Return the quantiles of a histogram of regret, linear within a bin."""
    edges = smallest * np.expm1(np.arange(len(counts) + 1) / BINS_PER_NAT)
    below = np.concatenate(([0.0], np.cumsum(counts))) / counts.sum()
    found = np.interp(QUANTILES, below, edges)
    # The first bin holds the instances without regret; they have exactly none.
    return np.where(found <= edges[1], 0.0, found)
