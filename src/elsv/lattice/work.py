"""What sweeps over the lattice take, by measurement: with this an exact answer is announced before it starts.

Nanoseconds are those of one core for one state; `slowness` says how another machine compares.
`benchmarks/bench_announce.py` sets what is announced against what it takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from elsv.lattice.numbering import Lattice, block_count, layer_size
from elsv.state import Arms, State

ADD, PULL, AVERAGE = 0.8, 1.5, 3.5  # of a sweep that adds weights, pulls one arm, averages over its outcomes
# of sweeps that look at every arm, for each of them
MAXIMISE, CHOOSE, FOLLOW, MIX, COMMIT, SUM, TABLE, GAIN = 1.4, 2.4, 1.3, 3.3, 0.9, 0.7, 1.0, 3.2
PASS = 1.0  # of NumPy's own loops, for each number they write
COUNTING = 20.0  # of writing down the counts of a state for a function that is asked in batches, by arm
BATCH_ROOM = 72.0  # bytes for each state of a batch and arm
_FIRST, _MORE = 16, 4  # states of a first trial, and how many times as many the next one has
_MOST_BLOCKS = 1 << 16  # of a layer that is numbered only to try some of its states
_ENOUGH, _TOO_MUCH = 8e-3, 32e-3  # seconds of a trial after which there is no third one, and no second


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
    kept: float = 0.0  # bytes that stay until the end

    def __add__(self, other: Start) -> Start:
        return Start(
            self.shared + other.shared,
            self.alone + other.alone,
            self.bytes + other.bytes,
            self.kept + other.kept,
        )


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


def seconds_for_each(ask: Callable[[State], object], arms: Arms, made: int, batch: int) -> float:
    """Return the seconds that `ask` takes for one of many states after `made` pulls, by trying a few.

    Parameters
    ----------
    batch
        How many states are asked for at a time. A call takes something whatever the states: trials of two
        sizes tell that from what each state takes.
    """
    state = some_states(arms, made, batch)
    return seconds_for_each_of(ask, state, batch)


def seconds_for_each_of(
    ask: Callable[[State], object], state: State, batch: int, enough: float = _ENOUGH
) -> float:
    """Return the same by trying some of these states, the first ones."""
    most = len(state.alpha)

    def seconds(count: int) -> float:
        some = State.trusted(state.alpha[:count], state.beta[:count])
        clock, spent = time.perf_counter(), time.process_time()
        ask(some)
        # Where other processes want the cores too, the clock says how long that one run waited for them.
        return min(time.perf_counter() - clock, time.process_time() - spent)

    seconds(1)
    tried = min(_FIRST, most)
    took = seconds(tried)
    each, call = took / tried, 0.0
    limit = max(enough, _TOO_MUCH)
    while tried < most and took < limit:
        limit, more = enough, min(_MORE * tried, most)
        longer = seconds(more)
        each = min(max((longer - took) / (more - tried), 0.0), longer / more)
        call = longer - each * more
        tried, took = more, longer
    return each + call / max(batch, tried)


def some_states(arms: Arms, made: int, most: int) -> State:
    """Return states after `made` pulls, drawn evenly: pulls shared at random, then successes."""
    rng = np.random.default_rng(made)
    count = max(1, min(most, _FIRST * _MORE**4))
    cuts = np.sort(rng.integers(0, made + 1, (count, 2 * arms.arms - 1)), axis=1)
    parts = np.diff(cuts, axis=1, prepend=0, append=made)  # successes and failures of every arm
    return State.trusted(arms.prior[:, 0] + parts[:, ::2], arms.prior[:, 1] + parts[:, 1::2])


def neighbours(arms: Arms, made: int, most: int) -> State:
    """Return states after `made` pulls as they come one after the other, from the middle of the layer."""
    if block_count(arms.arms, made) > _MOST_BLOCKS:
        return some_states(arms, made, most)
    layer = Lattice(arms.arms, made).layer(made)
    count = min(most, layer.size)
    first = (layer.size - count) // 2
    successes, pulls = layer.counts(first, first + count)
    alpha = arms.prior[:, 0] + successes
    return State.trusted(alpha, arms.prior[:, 1] + (pulls - successes))
