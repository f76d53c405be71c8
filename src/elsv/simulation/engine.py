r"""The lockstep engine: a short Python loop over t around kernels that serve all instances of a chunk.

Regret is what is lost against always pulling the best arm of the instance,
:math:`\sum_t (\max_i r_i\mu_i - r_{a_t}\mu_{a_t})`, in expectation (pseudo-regret: the luck of single
outcomes does not count). It is accumulated per instance in units of `Run.unit`, so that no sum depends on the
currency. All policies of a comparison meet the same instances, and the k-th pull of an arm of an instance has
the same outcome under every policy: their differences have small variance. With segments the best arm is that
of the segment that came, and who comes at a step is the same for every policy (`elsv.simulation.arrivals`).
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
from elsv.indices.tables import IndexTables
from elsv.policies import BasePolicy, Policy, make_policy
from elsv.policies.asking import planning_state
from elsv.policies.layers import check_answer
from elsv.policies.single import choices
from elsv.problem import Problem
from elsv.simulation.arrivals import Arrivals, Chooser, Ledger, best_by_segment, distinct, tally_segments
from elsv.simulation.delays import Delays, Waiting
from elsv.simulation.earnings import ArmTally, tally_arms, tally_choices
from elsv.simulation.helpers import Asked, Helpers
from elsv.simulation.instances import FromPrior, GivenMeans
from elsv.state import State

MEANING = "regret and earnings in units"  # changes when the same numbers in a tally mean something else
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
    def steps_of_chunk(self) -> int:
        """Steps that all policies together make in a chunk."""
        return len(self.policies) * self.horizon

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
class PolicyTally:
    """What one policy did on one chunk; sums over its instances, regret in units of `Run.unit`."""

    regret: FloatArray  # [T], of the cumulative regret
    squares: FloatArray  # [T], of its square
    pulls: IntArray  # [T, N]
    best: IntArray  # [T], pulls of a best arm
    histogram: IntArray  # [checkpoints, BINS], of the cumulative regret
    earnings: FloatArray  # [T], of the cumulative expected reward
    earnings_squares: FloatArray  # [T], of its square
    seconds: float  # spent in the policy
    curves: FloatArray | None = None  # [T, B], on request
    by_segment: FloatArray | None = None  # [5, G], see `elsv.simulation.arrivals.tally_segments`

    def __add__(self, other: PolicyTally) -> PolicyTally:
        """Return the sums over the instances of both; the curves are left out."""
        mine, theirs = (vars(tally) | {"curves": None} for tally in (self, other))
        sums: dict[str, Any] = {k: None if mine[k] is None else mine[k] + theirs[k] for k in mine}
        return PolicyTally(**sums)


@dataclass(frozen=True)
class ChunkTally:
    """All policies on one chunk; regret in units of `Run.unit`."""

    chunk: int
    instances: int
    policies: tuple[PolicyTally, ...]
    differences: FloatArray  # [P, P], sums of the final regret of p minus that of q
    difference_squares: FloatArray  # [P, P]
    singles: ArmTally  # beside always pulling one arm

    def __add__(self, other: ChunkTally) -> ChunkTally:
        """Return the sums over the instances of both."""
        return ChunkTally(
            other.chunk,
            self.instances + other.instances,
            tuple(one + two for one, two in zip(self.policies, other.policies, strict=True)),
            self.differences + other.differences,
            self.difference_squares + other.difference_squares,
            self.singles + other.singles,
        )


class StoppedError(Exception):
    """The run was stopped before it was finished."""


def _never() -> bool:
    return False


def run_chunk(
    run: Run,
    chunk: int,
    stopped: Callable[[], bool] = _never,
    count: Callable[[int], None] | None = None,
    helpers: Helpers | None = None,
) -> ChunkTally:
    """Run every policy on the instances of one chunk; a pure function of `run` and `chunk`.

    `stopped` is asked at every step whether to give up, with `StoppedError`. `count` is told how many steps
    all policies together have made. `helpers` are idle threads.
    """
    start = chunk * run.chunk_size
    stop = min(run.instances, start + run.chunk_size)
    # One stream for the means, one for the outcomes, one for the policies' own draws, one for who comes. The
    # policies' is the same for each, so that its result does not depend on which others run beside it.
    streams = np.random.SeedSequence(run.seed, spawn_key=(chunk,)).spawn(4)
    for_means, for_outcomes, for_policy, for_arrivals = streams
    means = run.source.means(start, stop, np.random.default_rng(for_means))
    arrivals = None
    if run.problem.segments.stated:
        arrivals = Arrivals.of(run.problem.segments, stop - start, run.horizon, for_arrivals)
    keys = tuple(for_outcomes.generate_state(2, np.uint64))  # of the outcomes and of their delays
    played = []
    for place, policy in enumerate(run.made):

        def go_on(step: int, before: int = place * run.horizon) -> None:
            if stopped():
                raise StoppedError
            if count is not None:
                count(before + step - 1)

        rng = np.random.default_rng(for_policy)
        played.append(_play(run, policy, means, keys, rng, go_on, helpers, arrivals))
    final = np.array([regret for _, regret in played])  # [P, B]
    apart = final[:, None] - final[None]
    return ChunkTally(
        chunk,
        stop - start,
        tuple(tally for tally, _ in played),
        apart.sum(axis=-1),
        (apart * apart).sum(axis=-1),
        _tally_singles(run, means * (run.problem.rewards / run.unit), final, arrivals),
    )


def _tally_singles(run: Run, worth: FloatArray, final: FloatArray, arrivals: Arrivals | None) -> ArmTally:
    if arrivals is None:
        return tally_arms(worth, final, run.horizon)
    largest = best_by_segment(arrivals.segments, worth)
    return tally_choices(worth, final, largest, arrivals.counts(), choices(run.problem))


def _play(
    run: Run,
    policy: BasePolicy,
    means: FloatArray,
    keys: tuple[np.uint64, ...],
    rng: np.random.Generator,
    go_on: Callable[[int], None],
    helpers: Helpers | None,
    arrivals: Arrivals | None = None,
) -> tuple[PolicyTally, FloatArray]:
    """Return the tally of one policy and the final regret of every instance, in units.

    `go_on` is called with each step before it is made.
    """
    from elsv.simulation import _engine_kernels as kernels

    key, lateness = keys
    instances, arms = means.shape
    horizon = run.horizon
    worth = means * (run.problem.rewards / run.unit)
    largest = worth.max(axis=1)
    gaps = largest[:, None] - worth
    ledger = None if arrivals is None else Ledger(arrivals, worth)
    if ledger is not None:
        gaps = ledger.gaps
    successes = np.zeros((instances, arms), dtype=np.int32)
    pulls = np.zeros((instances, arms), dtype=np.int32)
    regret = np.zeros(instances)
    totals, squares, products = np.empty(horizon), np.empty(horizon), np.empty(horizon)
    arm_counts = np.zeros((horizon, arms), dtype=np.int64)
    best = np.empty(horizon, dtype=np.int64)
    histogram = np.zeros((len(run.checkpoints), BINS), dtype=np.int64)
    curves = np.empty((horizon, instances)) if run.keep_raw else None
    waiting = None if run.delays is None else Waiting(run.delays, means, horizon, key, lateness)
    asked = Asked(policy, helpers or Helpers())
    if ledger is not None:
        choose = ledger.chooser(run.problem, policy, asked, waiting, run.asks if run.patience else None, rng)
    elif waiting is None:
        choose = _chooser(run, policy, asked, instances, rng)
    else:
        choose = _late_chooser(run, policy, asked, waiting, rng)
    row_of = {int(step): row for row, step in enumerate(run.checkpoints)}
    seconds, arm = 0.0, np.empty(0, dtype=np.int64)
    for t in range(1, horizon + 1):
        go_on(t)
        if waiting is not None:
            waiting.deliver(t)
        began = time.perf_counter()
        if ledger is not None or run.asks(t):
            arm = choose(successes, pulls, t)
        seconds += time.perf_counter() - began
        if waiting is not None:
            waiting.send(t, arm, pulls)
        totals[t - 1], squares[t - 1], best[t - 1] = kernels.advance(
            arm, successes, pulls, means, gaps, key, horizon, regret, arm_counts[t - 1]
        )
        products[t - 1] = (largest * regret).sum()
        if ledger is not None:
            ledger.add(t, regret)
        if t in row_of:
            kernels.histogram(regret, run.smallest, BINS_PER_NAT, histogram[row_of[t]])
        if curves is not None:
            curves[t - 1] = regret
    steps = np.arange(1, horizon + 1)
    earnings = steps * largest.sum() - totals
    earnings_squares = steps**2.0 * (largest * largest).sum() - 2 * steps * products + squares
    seconds += asked.longer
    by_segment = None
    if ledger is not None:
        earnings, earnings_squares = ledger.earnings, ledger.squares
        by_segment = tally_segments(ledger.segments, pulls, worth, gaps)
    tally = PolicyTally(
        totals, squares, arm_counts, best, histogram, earnings, earnings_squares, seconds, curves, by_segment
    )
    return tally, regret


def _chooser(run: Run, policy: BasePolicy, asked: Asked, instances: int, rng: np.random.Generator) -> Chooser:
    """Return what picks the arms of a chunk: a table lookup for indices, the policy itself otherwise."""
    from elsv.simulation import _engine_kernels as kernels

    problem = run.problem
    arm = np.empty(instances, dtype=np.int64)
    if (index := policy.index_alone) is not None:
        tables = IndexTables(problem, index, run.horizon)

        def by_table(successes: AnyArray, pulls: AnyArray, step: int) -> IntArray:
            scores = tables.at(step)
            kernels.choose_by_table(successes, pulls, scores, tables.group, problem.rewards, arm)
            return arm

        return by_table

    def by_policy(successes: AnyArray, pulls: AnyArray, step: int) -> IntArray:
        state = State.trusted(problem.prior[:, 0] + successes, problem.prior[:, 1] + (pulls - successes))
        return check_answer(asked(state, step, rng), state)

    def merged(successes: AnyArray, pulls: AnyArray, step: int) -> IntArray:
        first, inverse = distinct(successes, pulls)
        return by_policy(successes[first], pulls[first], step)[inverse]

    return merged if policy.merges else by_policy


def _late_chooser(
    run: Run, policy: BasePolicy, asked: Asked, waiting: Waiting, rng: np.random.Generator
) -> Chooser:
    """Return the same while outcomes are under way: policies are asked by `elsv.policies.asking`."""
    from elsv.simulation import _delay_kernels as kernels

    problem, index = run.problem, policy.index_alone
    tables = None if index is None else IndexTables(problem, index, run.horizon)
    merges = policy.merges

    def choose(_made: AnyArray, _pulls: AnyArray, step: int) -> IntArray:
        counts = waiting.successes, waiting.pulls, waiting.open
        if merges or tables is not None:
            first, inverse = distinct(*counts)
        else:
            first = inverse = np.arange(len(waiting.pulls))
        successes, pulls, under_way = (count[first] for count in counts)
        state = State.trusted(problem.prior[:, 0] + successes, problem.prior[:, 1] + (pulls - successes))
        planned = planning_state(problem, policy, state, under_way, rng)
        if tables is None:
            return check_answer(asked(planned, step, rng), planned)[inverse]
        arm = np.empty(len(pulls), dtype=np.int64)
        wins = np.ascontiguousarray(planned.alpha - problem.prior[:, 0])
        counted = np.rint(wins + (planned.beta - problem.prior[:, 1])).astype(np.int64)
        kernels.choose_between(wins, counted, tables.at(step), tables.group, problem.rewards, arm)
        return arm[inverse]

    return choose
