"""Threads without a chunk of their own help those that have one: a batch of states is asked in parts.

Every state is answered by itself, so that parts change no number.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from elsv._base.typing import AnyArray
from elsv.state import State

_LEAST = 8  # states that are worth a thread
_EACH = 3  # parts for each thread: some states take longer than others


class Helpers:
    """How many threads there are, and how many chunks are under way."""

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self._chunks = 0
        self._change = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Count a chunk as under way for the length of a ``with`` block."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, more: int) -> None:
        with self._change:
            self._chunks += more

    def close(self) -> None:
        """Let the threads go."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def parts(self, states: int) -> int:
        """Return into how many parts to cut a batch."""
        each = self._threads // max(1, self._chunks)
        return 1 if each < 2 else max(1, min(_EACH * each, states // _LEAST))

    def map(self, work: Callable[..., Any], *parts: list[Any]) -> list[Any]:
        """Return what `work` makes of every part."""
        with self._change:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads)
        return list(self._pool.map(work, *parts))


class Asked:
    """A policy that is asked in parts while threads are idle, if it answers equal states alike."""

    def __init__(self, policy: Callable[..., Any], helpers: Helpers) -> None:
        self._policy = policy
        self._helpers = helpers if getattr(policy, "merges", False) else Helpers()
        self.longer = 0.0  # seconds that parts took together beyond what they took side by side

    def __call__(self, state: State, *rest: Any) -> Any:
        """Return the arms of ``[B, N]``; arrays among the further arguments have a row for each state."""
        return self._in_parts(self._policy, state, *rest)

    def scores(self, state: State, *rest: Any) -> Any:
        """Return the scores ``[B, N]`` of a policy that compares them."""
        return self._in_parts(self._policy.scores, state, *rest)  # type: ignore[attr-defined]

    def _in_parts(self, asked: Callable[..., Any], state: State, *rest: Any) -> Any:
        states = len(state.alpha)
        count = self._helpers.parts(states)
        if count == 1:
            return asked(state, *rest)
        began = time.perf_counter()

        def work(here: AnyArray) -> tuple[AnyArray, float]:
            start = time.perf_counter()
            given = (value[here] if isinstance(value, np.ndarray) else value for value in rest)
            return np.asarray(asked(state.part(here), *given)), time.perf_counter() - start

        answers = self._helpers.map(work, np.array_split(np.arange(states), count))
        spent = sum(seconds for _, seconds in answers)
        self.longer += max(spent - (time.perf_counter() - began), 0.0)
        return np.concatenate([answer for answer, _ in answers])
