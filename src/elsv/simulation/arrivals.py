"""Who comes in a simulation, whom a policy is asked for, and what they pay.

Who comes is a function of instance and step alone, the same under every policy.

Known shares hold in every instance. Shares that are learnt differ between instances: they are drawn from
their Dirichlet prior, as means are from theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from elsv._base.triangle import number
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.indices.tables import IndexTables
from elsv.policies import BasePolicy
from elsv.policies.asking import planning_state
from elsv.policies.base import compares_scores
from elsv.policies.layers import check_answer
from elsv.policies.offered import best_offered
from elsv.problem import Problem
from elsv.segments import Segments
from elsv.simulation.delays import Waiting
from elsv.simulation.helpers import Asked
from elsv.simulation.intervals import interval
from elsv.state import State

Chooser = Callable[[AnyArray, AnyArray, int], IntArray]
Asking = Callable[[AnyArray, AnyArray, int, list[IntArray]], list[IntArray]]


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


class Ledger:
    """Who came, and what they pay of what their best arms would have paid.

    Parameters
    ----------
    arrivals
        The customers.
    worth
        What a pull of each arm earns in expectation, ``[B, N]``.
    """

    def __init__(self, arrivals: Arrivals, worth: FloatArray) -> None:
        self._arrivals, self.segments = arrivals, arrivals.segments
        self._largest = best_by_segment(self.segments, worth)  # [B, G]
        self.gaps = self._largest[:, self.segments.of_arm] - worth  # to the best arm of its segment, [B, N]
        self.earnings, self.squares = np.empty(arrivals.horizon), np.empty(arrivals.horizon)
        self._most = np.zeros(len(worth))
        self._rows = np.arange(len(worth))

    def add(self, step: int, regret: FloatArray) -> None:
        """Add the customers of `step`, after whom the regret is this, ``[B]``."""
        self._most += self._largest[self._rows, self._arrivals.at(step)]
        earned = self._most - regret
        self.earnings[step - 1], self.squares[step - 1] = earned.sum(), (earned * earned).sum()

    def chooser(
        self,
        problem: Problem,
        policy: BasePolicy,
        asked: Asked,
        waiting: Waiting | None,
        asks: Callable[[int], bool] | None,
        rng: np.random.Generator,
    ) -> Chooser:
        """Return what picks an arm for everyone who comes.

        Where `asks` says when a policy is asked, it is for all who may come, and keeps their arms until then.
        """
        asking = _asking(problem, policy, asked, self._arrivals.horizon, waiting, rng)
        everyone = [np.full(len(self._rows), g, dtype=np.int64) for g in range(self.segments.count)]
        held: list[IntArray] = []

        def choose(successes: AnyArray, pulls: AnyArray, step: int) -> IntArray:
            segment = self._arrivals.at(step)
            if asks is None:
                return asking(successes, pulls, step, [segment])[0]
            if asks(step):
                held[:] = asking(successes, pulls, step, everyone)
            return np.asarray(np.stack(held)[segment, self._rows])

        return choose


def _asking(
    problem: Problem,
    policy: BasePolicy,
    asked: Asked,
    horizon: int,
    waiting: Waiting | None,
    rng: np.random.Generator,
) -> Asking:
    """Return what asks a policy for given customers, in the state of the outcomes that are in.

    Equal states are asked for once where the policy says that it is best so, and an index is looked up.
    Scores that do not depend on who has come are worked out once for all who may.
    """
    index = policy.index_alone
    tables = None if index is None else IndexTables(problem, index, horizon)
    merges = tables is not None or policy.merges

    def asking(successes: AnyArray, pulls: AnyArray, step: int, customers: list[IntArray]) -> list[IntArray]:
        counts = [successes, pulls]
        if waiting is not None:
            counts = [waiting.successes, waiting.pulls, waiting.open]
        if tables is None and not (len(customers) > 1 and compares_scores(policy)):
            return [one_by_one(counts, step, segment) for segment in customers]
        first, inverse = distinct(*counts)
        state = planned([count[first] for count in counts])
        if tables is not None:
            scores = problem.rewards * _between(problem, tables, state, step)
        else:
            scores = asked.scores(state, step, rng)
        return [best_offered(problem, scores[inverse], who, "scores") for who in customers]

    def one_by_one(counts: list[AnyArray], step: int, segment: IntArray) -> IntArray:
        first, inverse = distinct(*counts, segment[:, None]) if merges else (slice(None), slice(None))
        state = planned([count[first] for count in counts])
        return check_answer(asked(state, step, rng, segment[first]), state)[inverse]

    def planned(counts: list[AnyArray]) -> State:
        won, made = counts[0], counts[1]
        state = State.trusted(problem.prior[:, 0] + won, problem.prior[:, 1] + (made - won))
        return state if waiting is None else planning_state(problem, policy, state, counts[2], rng)

    return asking


def _between(problem: Problem, tables: IndexTables, state: State, step: int) -> FloatArray:
    """Return the indices ``[B, N]`` of a state, linear between two whole numbers of successes."""
    wins = state.alpha - problem.prior[:, 0]
    pulls = np.rint(wins + (state.beta - problem.prior[:, 1])).astype(np.int64)
    low = np.minimum(wins.astype(np.int64), pulls)
    table, group = tables.at(step), tables.group
    found = table[group, number(low, pulls)]
    share = wins - low
    if not share.any():
        return found
    higher = table[group, number(np.minimum(low + 1, pulls), pulls)]
    with np.errstate(invalid="ignore"):  # of an arm that was never pulled the index may be infinite
        return np.where(share > 0, found + share * (higher - found), found)


def distinct(*counts: AnyArray) -> tuple[IntArray, IntArray]:
    """Return which rows of counts ``[B, …]`` are the first of their kind, and for every row its kind."""
    rows = np.concatenate([np.asarray(count, dtype=np.int32) for count in counts], axis=1)
    keys = np.ascontiguousarray(rows).view(f"V{rows.shape[1] * rows.itemsize}").reshape(-1)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first, inverse
