"""What sweeps over the lattice take, by measurement: with this an exact answer is announced before it starts.

Nanoseconds are those of one core for one state; `elsv.machine.slowness` says how another machine compares.
`benchmarks/bench_announce.py` sets what is announced against what it takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from elsv.lattice.numbering import layer_size
from elsv.state import Arms, State

ADD, PULL, AVERAGE = 0.8, 1.5, 3.5  # of a sweep that adds weights, pulls one arm, averages over its outcomes
# of sweeps that look at every arm, for each of them
MAXIMISE, CHOOSE, FOLLOW, MIX, COMMIT, SUM, TABLE, GAIN = 1.4, 2.4, 1.3, 3.3, 0.9, 0.7, 1.0, 3.2
PASS = 1.0  # of NumPy's own loops, for each number they write
COUNTING = 20.0  # of writing down the counts of a state for a function that is asked in batches, by arm
BATCH_ROOM = 72.0  # bytes for each state of a batch and arm
_SAMPLE = 16


@dataclass(frozen=True)
class Work:
    """What a policy takes in one layer, besides following its choice."""

    shared: float = 0.0  # nanoseconds for each state, shared among the threads
    alone: float = 0.0  # nanoseconds for each state, on one thread
    calls: float = 1.0  # sweeps: each has to be started
    rooms: int = 1  # arrays of the layer's size from those that sweeps share
    passing: float = 0.125  # such arrays of its own that come and go; an arm takes an eighth of a number
    kept: float = 0.0  # such arrays that stay for the next layer
    batch: float = 0.0  # bytes of batches that are asked for one after the other


@dataclass(frozen=True)
class Start:
    """What is done before the first layer, such as tables and weights."""

    shared: float = 0.0  # seconds, shared among the threads
    alone: float = 0.0  # seconds, on one thread
    bytes: float = 0.0

    def __add__(self, other: Start) -> Start:
        return Start(self.shared + other.shared, self.alone + other.alone, self.bytes + other.bytes)


def growth(arms: int, made: int, later: int) -> float:
    """Return how many times as many states there are after `later` pulls as after `made`."""
    return layer_size(arms, later) / layer_size(arms, made)


def is_compiled(kernel: Any) -> bool:
    """Return whether a kernel was compiled before, by this process or another; yes where nobody can tell."""
    try:
        return bool(kernel.signatures) or bool(kernel._cache._cache_file._load_index())
    except Exception:  # numba's own files, in whatever state they are
        return True


def sweeps_compiled() -> bool:
    """Return whether the sweeps were compiled before."""
    from elsv.lattice._sweep_kernels import maximise

    return is_compiled(maximise)


def seconds_for_each(ask: Callable[[State], object], arms: Arms, made: int) -> float:
    """Return the seconds that `ask` takes for one of many states after `made` pulls, by trying a few."""
    state = _some_states(arms, made)
    ask(State.trusted(state.alpha[:1], state.beta[:1]))
    clock, spent = time.perf_counter(), time.process_time()
    ask(state)
    # Where other processes want the cores too, the clock says how long that one run waited for them.
    return min(time.perf_counter() - clock, time.process_time() - spent) / _SAMPLE


def _some_states(arms: Arms, made: int) -> State:
    """Return states after `made` pulls, drawn evenly: pulls shared at random, then successes."""
    rng = np.random.default_rng(made)
    cuts = np.sort(rng.integers(0, made + 1, (_SAMPLE, 2 * arms.arms - 1)), axis=1)
    parts = np.diff(cuts, axis=1, prepend=0, append=made)  # successes and failures of every arm
    return State.trusted(arms.prior[:, 0] + parts[:, ::2], arms.prior[:, 1] + parts[:, 1::2])
