"""How a policy is asked for its arms in a simulation.

An index is looked up in a table. Any other policy is asked in the states of all instances at once. Equal
states are asked for once where the policy says that this pays, and idle threads take parts of a batch. Every
state is answered by itself, so none of this changes a number.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from elsv._base.typing import AnyArray, IntArray
from elsv.indices.tables import IndexTables
from elsv.policies import BasePolicy
from elsv.policies.asking import planning_state
from elsv.policies.base import best_offered, compares_scores
from elsv.policies.layers import check_answer
from elsv.problem import Problem
from elsv.simulation.instances import Arrivals, Waiting
from elsv.state import State

Counts = Sequence[AnyArray]  # successes, pulls and, while outcomes are under way, open decisions, [B, N]
Chooser = Callable[[AnyArray, AnyArray, int], IntArray]
_LEAST = 8  # states that are worth a thread
_EACH = 3  # parts for each thread: some states take longer than others


class Helpers:
    """Threads, and how many chunks they have under way; those without a chunk help the others."""

    def __init__(self, threads: int = 1) -> None:
        self._threads, self._chunks = threads, 0
        self._change = threading.Lock()
        self.pool = ThreadPoolExecutor(threads)  # starts a thread when there is work for it

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Count a chunk as under way for the length of a ``with`` block."""
        with self._change:
            self._chunks += 1
        try:
            yield
        finally:
            with self._change:
                self._chunks -= 1

    def close(self) -> None:
        """Let the threads go."""
        self.pool.shutdown(wait=True, cancel_futures=True)

    def parts(self, states: int) -> int:
        """Return into how many parts to cut a batch."""
        each = self._threads // max(1, self._chunks)
        return 1 if each < 2 else max(1, min(_EACH * each, states // _LEAST))


class Asked:
    """A policy that is asked in parts while threads are idle, if it answers equal states alike."""

    def __init__(self, policy: BasePolicy, helpers: Helpers | None) -> None:
        self.policy = policy
        self._helpers = helpers if policy.merges else None
        self.longer = 0.0  # seconds that parts took together beyond what they took side by side

    def __call__(self, state: State, *rest: Any, what: str = "__call__") -> Any:
        """Return the arms ``[B]``, or the `scores` ``[B, N]``; further arrays have a row for each state."""
        asked, states = getattr(self.policy, what), len(state.alpha)
        if self._helpers is None or (count := self._helpers.parts(states)) == 1:
            return asked(state, *rest)
        began = time.perf_counter()

        def work(here: AnyArray) -> tuple[AnyArray, float]:
            start = time.perf_counter()
            given = (value[here] if isinstance(value, np.ndarray) else value for value in rest)
            return np.asarray(asked(state.part(here), *given)), time.perf_counter() - start

        answers = list(self._helpers.pool.map(work, np.array_split(np.arange(states), count)))
        spent = sum(seconds for _, seconds in answers)
        self.longer += max(spent - (time.perf_counter() - began), 0.0)
        return np.concatenate([answer for answer, _ in answers])


def chooser(
    problem: Problem,
    asked: Asked,
    arrivals: Arrivals,
    waiting: Waiting | None,
    asks: Callable[[int], bool] | None,
    rng: np.random.Generator,
) -> Chooser:
    """Return what picks the arms of a chunk at a step, from all successes and pulls ``[B, N]``.

    `waiting` is None if all outcomes are in. `asks` says at which steps the policy is asked, for all who may
    come, who keep their arms until then. None: at every step, for whoever comes.
    """
    policy, prior, named = asked.policy, problem.prior, bool(problem.segments.names)
    instances, segments = arrivals.shares.shape
    everyone = [np.full(instances, g, dtype=np.int64) for g in range(segments)]  # who may come
    index = policy.index_alone
    tables = None if index is None else IndexTables(problem, index, arrivals.horizon)

    def planned(counts: Counts) -> State:
        state = State.trusted(prior[:, 0] + counts[0], prior[:, 1] + (counts[1] - counts[0]))
        return state if waiting is None else planning_state(problem, policy, state, counts[2], rng)

    def kinds(counts: Counts, *more: AnyArray) -> tuple[State, IntArray, IntArray]:
        first, inverse = distinct(*counts, *more)
        return planned([count[first] for count in counts]), first, inverse

    def by_table(counts: Counts, step: int, customers: list[IntArray]) -> list[IntArray]:
        assert tables is not None
        wins, pulls = counts[:2]
        if waiting is not None:
            state, _, inverse = kinds(counts)
            successes = state.alpha - prior[:, 0]
            wins = successes[inverse]
            pulls = np.rint(successes + (state.beta - prior[:, 1])).astype(np.int32)[inverse]
        for segment, arm in zip(customers, arms, strict=False):
            choose_by_table(wins, pulls, tables.at(step), tables.group, rewards, of_arm, segment, arm)
        return arms

    def by_scores(counts: Counts, step: int, customers: list[IntArray]) -> list[IntArray]:
        state, _, inverse = kinds(counts)
        scores = asked(state, step, rng, what="scores")[inverse]
        return [best_offered(problem, scores, segment, "scores") for segment in customers]

    def by_policy(counts: Counts, step: int, customers: list[IntArray]) -> list[IntArray]:
        return [ask(counts, step, segment) for segment in customers]

    def ask(counts: Counts, step: int, segment: IntArray) -> IntArray:
        who = [segment] if named else []
        if not policy.merges:
            state = planned(counts)
            return check_answer(asked(state, step, rng, *who), state)
        state, first, inverse = kinds(counts, *(one[:, None] for one in who))
        return check_answer(asked(state, step, rng, *(one[first] for one in who)), state)[inverse]

    pick = by_policy
    if tables is not None:
        from elsv.simulation._engine_kernels import choose_by_table

        pick, of_arm, rewards = by_table, problem.segments.of_arm, problem.rewards
        arms = list(map(np.empty_like, everyone))
    elif asks is not None and segments > 1 and compares_scores(policy):
        pick = by_scores  # which do not depend on who has come
    held: list[IntArray] = []

    def choose(successes: AnyArray, pulls: AnyArray, step: int) -> IntArray:
        counts = [successes, pulls]
        if waiting is not None:
            counts = [waiting.successes, waiting.pulls, waiting.open]
        segment = arrivals.at(step)
        if asks is None:
            return pick(counts, step, [segment])[0]
        if asks(step):
            held[:] = pick(counts, step, everyone)
        return held[0] if segments == 1 else np.stack(held)[segment, np.arange(instances)]

    return choose


def distinct(*counts: AnyArray) -> tuple[IntArray, IntArray]:
    """Return which rows of counts ``[B, …]`` are the first of their kind, and for every row its kind."""
    rows = np.concatenate([np.asarray(count, dtype=np.int32) for count in counts], axis=1)
    keys = np.ascontiguousarray(rows).view(f"V{rows.shape[1] * rows.itemsize}").reshape(-1)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first, inverse
