r"""The lockstep engine: a short Python loop over t around kernels that serve all instances of a chunk.

Regret is what is lost against always pulling the best arm of the instance,
:math:`\sum_t (\max_i r_i\mu_i - r_{a_t}\mu_{a_t})`, in expectation (pseudo-regret: the luck of single
outcomes does not count). It is accumulated per instance in units of `Run.unit`, so that no sum depends on the
currency. All policies of a comparison meet the same instances, and the k-th pull of an arm of an instance has
the same outcome under every policy: their differences have small variance. With segments the best arm is that
of the segment that came, and who comes at a step is the same for every policy.

Earnings are expected rewards, :math:`\sum_t r_{a_t}\mu_{a_t}`. Always pulling arm i earns
:math:`T r_i\mu_i`, for which nothing has to be simulated; a gain over it is the difference, instance by
instance. With segments an arm is one for each of them (`elsv.policies.single.choices`), and earns as many
times as its customers come.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from elsv._base.machine import available_memory
from elsv._base.numbers import counted
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.errors import InvalidInputError
from elsv.policies import BasePolicy, Policy, make_policy
from elsv.policies.single import choices
from elsv.problem import Problem
from elsv.simulation.choosing import Asked, Helpers, chooser
from elsv.simulation.instances import Arrivals, Delays, FromPrior, GivenMeans, Waiting

MEANING = "sums and squares, in units"  # changes when the same numbers in a tally mean something else
# Histogram of regret, for quantiles: bin floor(BINS_PER_NAT · log(1 + regret / smallest)), 1 % wide, with
# smallest = SMALLEST times the largest reward.
BINS_PER_NAT = 100.0
SMALLEST = 0.01
BINS = 2100
_MOST_STEPS = 10_000_000
_MOST_DECISIONS = 10**12  # of each policy: hours for the quickest ones


@dataclass(frozen=True)
class Run:
    """What a comparison runs; together with a chunk's number it fixes every result."""

    problem: Problem
    policies: tuple[str | Policy, ...]
    instances: int
    horizon: int
    seed: int
    source: FromPrior | GivenMeans
    checkpoints: IntArray = field(repr=False)  # steps whose distribution is kept
    keep_raw: bool = False
    delays: Delays | None = None  # None: every outcome is known before the next step
    patience: int | None = None  # policies keep their arm for every t // patience steps; None: for one
    made: tuple[BasePolicy, ...] = field(init=False, repr=False)  # the policies, built once

    def __post_init__(self) -> None:
        made = tuple(make_policy(policy, self.problem) for policy in self.policies)
        object.__setattr__(self, "made", made)

    @property
    def chunk_size(self) -> int:
        """Instances of a chunk: a function of their number alone, so that workers do not matter."""
        return min(8192, max(256, -(-self.instances // 16)))

    @property
    def unit(self) -> float:
        """The power of two at or below the largest reward: regret is counted in it, without rounding."""
        return math.ldexp(1.0, math.frexp(self.problem.scale)[1] - 1)

    @property
    def smallest(self) -> float:
        """The regret at which the bins of the histogram begin to widen, in units."""
        return SMALLEST * (self.problem.scale / self.unit)

    def asks(self, step: int) -> bool:
        """Return whether policies are asked at `step`, or keep the arm of the step before."""
        return self.patience is None or step <= self.patience or step % (step // self.patience) == 0

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return -(-self.instances // self.chunk_size)


def check_size(run: Run) -> None:
    """Raise if a run would take days, or more memory than there is."""
    if run.horizon > _MOST_STEPS:
        raise InvalidInputError(
            f"simulations go up to {_MOST_STEPS:,} steps, got {counted(run.horizon)}; give a shorter horizon"
        )
    if run.instances * run.horizon > _MOST_DECISIONS:
        raise InvalidInputError(
            f"{counted(run.instances)} instances of {run.horizon:,} steps are more than {_MOST_DECISIONS:,} "
            "decisions of each policy; give fewer instances or steps"
        )
    curves, room = 8 * len(run.policies) * run.instances * run.horizon, available_memory()
    if run.keep_raw and room is not None and curves > room:
        raise InvalidInputError(
            f"the regret of every instance and step takes {curves / 1e9:,.1f} GB, and {room / 1e9:,.1f} GB "
            "are available; leave out --raw (keep_raw), or give fewer instances or steps"
        )


@dataclass(frozen=True)
class ChunkTally:
    """All policies on one chunk: sums over its instances, regret and earnings in units of `Run.unit`.

    An axis of two has the sums and those of the squares.
    """

    chunk: int
    instances: int
    regret: FloatArray  # [P, 2, T], cumulative
    earnings: FloatArray  # [P, 2, T], of the cumulative expected reward
    pulls: IntArray  # [P, T, N]
    best: IntArray  # [P, T], pulls of a best arm
    histogram: IntArray  # [P, checkpoints, BINS], of the cumulative regret
    seconds: FloatArray  # [P], spent in the policy
    differences: FloatArray  # [2, P, P], of the final regret of p minus that of q
    arms: FloatArray  # [2, K], of what always pulling an arm, or one for each segment, earns
    gains: FloatArray  # [P, 3, K], of what a policy earns more than that; last times what that earns
    by_segment: FloatArray | None = None  # [P, 5, G]: regret, its square, earnings, their square, customers
    curves: FloatArray | None = None  # [P, T, B], the regret of every instance on request

    def __add__(self, other: ChunkTally) -> ChunkTally:
        """Return the sums over the instances of both; the curves are left out."""
        mine, theirs = (vars(tally) | {"curves": None} for tally in (self, other))
        sums: dict[str, Any] = {k: None if mine[k] is None else mine[k] + theirs[k] for k in mine}
        return ChunkTally(**sums | {"chunk": other.chunk})


class StoppedError(Exception):
    """The run was stopped before it was finished."""


@dataclass(frozen=True)
class _World:
    """The instances of one chunk, the same for every policy."""

    means: FloatArray  # [B, N]
    worth: FloatArray  # [B, N], what a pull earns in expectation, in units
    best: FloatArray  # [B, G], what the best arm of each segment is worth
    gaps: FloatArray  # [B, N], what an arm loses to the best one of its segment
    arrivals: Arrivals
    keys: tuple[np.uint64, np.uint64]  # of the outcomes and of their delays

    @classmethod
    def of(cls, run: Run, chunk: int, streams: list[np.random.SeedSequence]) -> _World:
        """Return the instances of a chunk from the streams of means, outcomes and arrivals."""
        for_means, for_outcomes, for_arrivals = streams
        segments, start = run.problem.segments, chunk * run.chunk_size
        stop = min(run.instances, start + run.chunk_size)
        means = run.source.means(start, stop, np.random.default_rng(for_means))
        worth = means * (run.problem.rewards / run.unit)
        best = np.stack([worth[:, list(arms)].max(axis=1) for arms in segments.groups], axis=1)
        gaps = best[:, segments.of_arm] - worth
        arrivals = Arrivals.of(segments, stop - start, run.horizon, for_arrivals)
        outcomes, lateness = for_outcomes.generate_state(2, np.uint64)
        return cls(means, worth, best, gaps, arrivals, (outcomes, lateness))

    def alone(self, run: Run) -> tuple[FloatArray, FloatArray]:
        """Return what always pulling each arm, or one for each segment, earns and loses, ``[B, K]``."""
        if not run.problem.segments.names:
            return run.horizon * self.worth, run.horizon * self.gaps
        came = self.arrivals.counts()
        earned = [(came * self.worth[:, list(arms)]).sum(axis=1) for arms in choices(run.problem)]
        alone = np.stack(earned, axis=1)
        return alone, (came * self.best).sum(axis=1, keepdims=True) - alone


def run_chunk(
    run: Run, chunk: int, go_on: Callable[[int], None] | None = None, helpers: Helpers | None = None
) -> ChunkTally:
    """Run every policy on the instances of one chunk; a pure function of `run` and `chunk`.

    `go_on` is told before every step how many steps all policies together have made; it may raise
    `StoppedError`. `helpers` are idle threads.
    """
    # One stream for the means, one for the outcomes, one for the policies' own draws, one for who comes. The
    # policies' is the same for each, so that its result does not depend on which others run beside it.
    streams = np.random.SeedSequence(run.seed, spawn_key=(chunk,)).spawn(4)
    for_policy = streams.pop(2)
    world = _World.of(run, chunk, streams)
    played = [
        _play(run, p, world, np.random.default_rng(for_policy), go_on or (lambda made: None), helpers)
        for p in range(len(run.made))
    ]
    final = np.array([one.pop("final") for one in played])  # [P, B]
    apart = final[:, None] - final[None]
    alone, lost = world.alone(run)
    gains = (lost - of_policy[:, None] for of_policy in final)  # of each policy, [B, K]
    return ChunkTally(
        chunk,
        len(world.means),
        **{name: np.stack([one[name] for one in played]) for name in played[0]},
        differences=np.stack([apart.sum(axis=-1), (apart * apart).sum(axis=-1)]),
        arms=np.stack([alone.sum(axis=0), (alone * alone).sum(axis=0)]),
        gains=np.array([[(gain * by).sum(axis=0) for by in (1.0, gain, alone)] for gain in gains]),
    )


def _play(
    run: Run,
    p: int,
    world: _World,
    rng: np.random.Generator,
    go_on: Callable[[int], None],
    helpers: Helpers | None,
) -> dict[str, Any]:
    """Return the part of policy p of the tally, by field, and the final regret of every instance."""
    from elsv.simulation import _engine_kernels as kernels

    (instances, arms), horizon, segmented = world.means.shape, run.horizon, bool(run.problem.segments.names)
    successes, pulls = (np.zeros((instances, arms), dtype=np.int32) for _ in range(2))
    regret, most, largest = np.zeros(instances), np.zeros(instances), world.best[:, 0]
    sums, earnings, products = np.empty((2, horizon)), np.empty((2, horizon)), np.empty(horizon)
    arm_counts, best = np.zeros((horizon, arms), dtype=np.int64), np.empty(horizon, dtype=np.int64)
    histogram = np.zeros((len(run.checkpoints), BINS), dtype=np.int64)
    counts_of = dict(zip(run.checkpoints.tolist(), histogram, strict=True))
    curves = np.empty((horizon, instances)) if run.keep_raw else None
    waiting = None if run.delays is None else Waiting(run.delays, world.means, horizon, world.keys)
    asked, asks = Asked(run.made[p], helpers), run.asks if run.patience else None
    choose = chooser(run.problem, asked, world.arrivals, waiting, asks, rng)
    seconds = 0.0
    for t in range(1, horizon + 1):
        go_on(p * horizon + t - 1)
        if waiting is not None:
            waiting.deliver(t)
        began = time.perf_counter()
        arm = choose(successes, pulls, t)
        seconds += time.perf_counter() - began
        if waiting is not None:
            waiting.send(t, arm, pulls)
        sums[0, t - 1], sums[1, t - 1], best[t - 1] = kernels.advance(
            arm, successes, pulls, world.means, world.gaps, world.keys[0], horizon, regret, arm_counts[t - 1]
        )
        if segmented:
            most += world.best[np.arange(instances), world.arrivals.at(t)]
            earned = most - regret
            earnings[:, t - 1] = earned.sum(), (earned * earned).sum()
        else:
            products[t - 1] = (largest * regret).sum()
        if t in counts_of:
            kernels.histogram(regret, run.smallest, BINS_PER_NAT, counts_of[t])
        if curves is not None:
            curves[t - 1] = regret
    if not segmented:  # the best arm earns as much at every step
        steps = np.arange(1, horizon + 1)
        earnings[0] = steps * largest.sum() - sums[0]
        earnings[1] = steps**2.0 * (largest * largest).sum() - 2 * steps * products + sums[1]
    found = {
        "final": regret,
        "regret": sums,
        "earnings": earnings,
        "pulls": arm_counts,
        "best": best,
        "histogram": histogram,
        "seconds": seconds + asked.longer,
        "by_segment": _by_segment(run, world, pulls) if segmented else None,
        "curves": curves,
    }
    return {name: value for name, value in found.items() if value is not None}


def _by_segment(run: Run, world: _World, pulls: AnyArray) -> FloatArray:
    """Return `ChunkTally.by_segment` of one policy from the pulls of each arm ``[B, N]``."""
    each = []
    for arms in map(list, run.problem.segments.groups):
        made = pulls[:, arms]
        regret = (made * world.gaps[:, arms]).sum(axis=1)
        earnings = (made * world.worth[:, arms]).sum(axis=1)
        sums = regret, regret * regret, earnings, earnings * earnings, made.sum(axis=1)
        each.append([float(numbers.sum()) for numbers in sums])
    return np.array(each).T
