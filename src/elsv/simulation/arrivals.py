"""Who comes in a simulation: a function of instance and step alone, the same under every policy.

Shares that are known are those of every instance; shares that are learnt differ between instances, drawn from
their Dirichlet prior as means are from theirs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.segments import Segments
from elsv.simulation.intervals import interval


@dataclass(frozen=True)
class Arrivals:
    """The customers of one chunk of instances."""

    segments: Segments
    shares: FloatArray  # [B, G], the true ones
    key: np.uint64
    horizon: int

    @classmethod
    def of(cls, segments: Segments, instances: int, horizon: int, seed: np.random.SeedSequence) -> Arrivals:
        """Return the customers that a seed stands for."""
        if segments.shares is not None:
            shares: FloatArray = np.tile(np.array(segments.shares), (instances, 1))
        else:
            shares = np.random.default_rng(seed).dirichlet(np.array(segments.share_prior), size=instances)
        return cls(segments, shares, seed.generate_state(1, np.uint64)[0], horizon)

    def at(self, step: int) -> IntArray:
        """Return the segment of each instance's customer at `step`, ``[B]``."""
        from elsv.simulation._engine_kernels import arrive

        out = np.empty(len(self.shares), dtype=np.int64)
        arrive(self.shares, self.key, step, self.horizon, out)
        return out

    def counts(self) -> IntArray:
        """Return how many customers of each segment come in all, ``[B, G]``."""
        total = np.zeros(self.shares.shape, dtype=np.int64)
        for step in range(1, self.horizon + 1):
            np.add.at(total, (np.arange(len(total)), self.at(step)), 1)
        return total


def best_by_segment(segments: Segments, worth: FloatArray) -> FloatArray:
    """Return what the best arm of every segment is worth: ``[B, N]`` to ``[B, G]``."""
    return np.stack([worth[:, list(arms)].max(axis=1) for arms in segments.groups], axis=1)


def tally_segments(segments: Segments, pulls: AnyArray, worth: FloatArray, gaps: FloatArray) -> FloatArray:
    """Return sums over the instances of regret, its square, earnings, their square, customers: ``[5, G]``.

    `pulls` are those made of each arm, `worth` what one earns and `gaps` what it loses, all ``[B, N]``.
    """
    each = []
    for arms in segments.groups:
        own = list(arms)
        regret = (pulls[:, own] * gaps[:, own]).sum(axis=1)
        earnings = (pulls[:, own] * worth[:, own]).sum(axis=1)
        sums = regret, regret * regret, earnings, earnings * earnings, pulls[:, own].sum(axis=1)
        each.append([float(numbers.sum()) for numbers in sums])
    return np.array(each).T


@dataclass(frozen=True)
class SegmentResult:
    """What one segment brought under a policy, on average over the instances."""

    segment: str
    customers: float
    earnings: float
    earnings_ci95: float
    regret: float
    ci95: float


def segment_results(
    segments: Segments, sums: FloatArray, instances: int, unit: float
) -> tuple[SegmentResult, ...]:
    """Return means and intervals from the sums of all chunks ``[5, G]``."""
    regret, half = interval(sums[0], sums[1], instances)
    earnings, earnings_half = interval(sums[2], sums[3], instances)
    return tuple(
        SegmentResult(
            name,
            float(sums[4, g]) / instances,
            unit * float(earnings[g]),
            unit * float(earnings_half[g]),
            unit * float(regret[g]),
            unit * float(half[g]),
        )
        for g, name in enumerate(segments.names)
    )
