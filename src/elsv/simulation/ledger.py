"""A policy and the customers of one chunk who come from segments: whom it is asked for, what they pay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from elsv._base.triangle import number
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.indices.tables import IndexTables
from elsv.policies import Policy
from elsv.policies.layers import check_answer
from elsv.policies.offered import ask, best_offered
from elsv.policies.pending import planning_state
from elsv.problem import Problem
from elsv.simulation.arrivals import Arrivals, best_by_segment
from elsv.simulation.delays import Waiting
from elsv.state import State

Chooser = Callable[[AnyArray, AnyArray, int], IntArray]
Asking = Callable[[AnyArray, AnyArray, int, IntArray], IntArray]


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
        policy: Policy,
        waiting: Waiting | None,
        asks: Callable[[int], bool] | None,
        rng: np.random.Generator,
    ) -> Chooser:
        """Return what picks an arm for everyone who comes.

        Where `asks` says when a policy is asked, it is for all who may come, and keeps their arms until then.
        """
        asking = _asking(problem, policy, self._arrivals.horizon, waiting, rng)
        held: list[IntArray] = []

        def choose(successes: AnyArray, pulls: AnyArray, step: int) -> IntArray:
            segment = self._arrivals.at(step)
            if asks is None:
                return asking(successes, pulls, step, segment)
            if asks(step):
                whoever = [np.full(len(segment), g, dtype=np.int64) for g in range(self.segments.count)]
                held[:] = [asking(successes, pulls, step, who) for who in whoever]
            return np.asarray(np.stack(held)[segment, self._rows])

        return choose


def _asking(
    problem: Problem, policy: Policy, horizon: int, waiting: Waiting | None, rng: np.random.Generator
) -> Asking:
    """Return what asks a policy for given customers, in the state of the outcomes that are in.

    Equal states are asked for once where the policy says that it is best so, and an index is looked up.
    """
    index = getattr(policy, "tabulated", None)
    tables = None if index is None else IndexTables(problem, index, horizon)
    merges = tables is not None or bool(getattr(policy, "merges_equal_states", False))

    def asking(successes: AnyArray, pulls: AnyArray, step: int, segment: IntArray) -> IntArray:
        counts = [successes, pulls]
        if waiting is not None:
            counts = [waiting.successes, waiting.pulls, waiting.open]
        first, inverse = _distinct(*counts, segment[:, None]) if merges else (slice(None), slice(None))
        counts = [count[first] for count in counts]
        won, made, came = counts[0], counts[1], segment[first]
        state = State.trusted(problem.prior[:, 0] + won, problem.prior[:, 1] + (made - won))
        if waiting is not None:
            state = planning_state(problem, policy, state, counts[2], rng)
        if tables is None:
            return check_answer(ask(policy, problem, state, step, rng, came), state)[inverse]
        looked_up = _between(problem, tables, state, step)
        return best_offered(problem, problem.rewards * looked_up, came, "indices")[inverse]

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
    return np.where(share > 0, found + share * (higher - found), found)


def _distinct(*counts: AnyArray) -> tuple[IntArray, IntArray]:
    """Return which rows of counts ``[B, …]`` are the first of their kind, and for every row its kind."""
    rows = np.concatenate([np.asarray(count, dtype=np.int32) for count in counts], axis=1)
    keys = np.ascontiguousarray(rows).view(f"V{rows.shape[1] * rows.itemsize}").reshape(-1)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first, inverse
