"""What an exact answer takes, known before it starts: states, memory and time.

Every policy on layers says what it does in a layer (`elsv.lattice.work`); here that is added up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from elsv._base.machine import available_memory, cores, slowness
from elsv._base.numbers import as_float, counted, duration
from elsv._base.numbers import memory as memory_in_words
from elsv.beliefs.abilities import factors
from elsv.beliefs.layers.work import weights_compiled, weights_work
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import block_count, layer_size, states_up_to
from elsv.lattice.work import ADD, FOLLOW, MAXIMISE, MIX, PASS, Start, Work, sweeps_compiled
from elsv.lattice.workers import CHUNK
from elsv.problem import Problem

_PARTS = 48  # of the layers, each estimated by one of its own
_LAYER = 250e-6  # seconds for each layer, however small
_CALL = 20e-6  # for each sweep that is started
_BLOCK = 0.2e-6  # for each block of a layer and arm
_BLOCK_OF_SWEEP = 0.25e-6  # for each block of a sweep
_FEWER, _FAR_FEWER, _NEGLIGIBLE = 0.7, 0.35, 0.01
_PATIENCE = 0.25  # seconds
_CACHED, _MOST_CACHED = 0.6, 5e5  # of the nanoseconds for a state in layers of so few
_OTHER = 1.5e6  # bytes of small things
_ARRIVING = 10.0  # bytes for a state and segment, of whoever comes next
_PACKED = 0.3  # bytes that the arm of a state takes when it is kept, about


@dataclass(frozen=True)
class Cost:
    """What a solution takes: known before it starts, about."""

    states: int  # of all layers
    bytes: int  # largest memory at one time
    seconds: float  # with all kernels compiled
    compiles: bool = False  # whether kernels have to be compiled first, which takes up to a minute more


def estimate(problem: Problem, keep: int = 0, workers: int | None = None) -> Cost:
    """Return what `elsv.exact.solve` takes if it keeps the actions of `keep` steps."""
    found = cost_in_place(problem, [_Best()], workers)
    if not keep:
        return found
    arms, horizon = problem.arms, problem.steps
    states = as_float(states_up_to(arms, keep - 1))
    each = _parts_followed(problem)
    seconds, packed = 8e-9 * states, each * (_PACKED * states + as_float(layer_size(arms, keep - 1)))
    room = found.bytes + packed
    if keep == horizon:  # then the rewards by step are followed, and one of what was swept is still there
        seconds += _forward_seconds(problem)
        more = 0 if not problem.segments.stated else _ARRIVING * each
        following = (18.0 + more) * as_float(layer_size(arms, horizon)) + _weights(problem).bytes
        room = max(room, _OTHER + packed + following)
    total = found.seconds + slowness() * seconds
    return replace(found, bytes=_whole(room), seconds=total)


@dataclass(frozen=True)
class _Best:
    """The sweep of a solution."""

    def work(self, problem: Problem, made: int) -> Work:
        return Work(MAXIMISE * problem.arms)


def _forward_seconds(problem: Problem) -> float:
    """Return what the expected reward of each step takes: the weights of every layer, and a sweep."""
    total = 0.0
    for made, layers, _ in _parts(problem.arms, problem.steps):
        start = weights_work(problem.belief, problem, made + 1, problem.segments.stated)
        size = as_float(layer_size(problem.arms, made))
        total += layers * (start.shared + start.alone + 1e-9 * 2 * FOLLOW * problem.arms * size + _LAYER)
    return total


def cost_in_place(problem: Problem, policies: Sequence[Any], workers: int | None = None) -> Cost:
    """Return what policies take that choose and pull in one sweep, each layer in the place of the next."""
    weights, start = _weights(problem), _started(problem, policies)
    room = 8.0 * as_float(layer_size(problem.arms, problem.steps))
    sweeping = room * (len(policies) + _weighted(problem)) + start.bytes + start.kept
    clock = _Clock(workers)
    clock.start(weights + start)
    for made, layers, states in _parts(problem.arms, problem.steps):
        size, blocks = states / layers, as_float(block_count(problem.arms, made))
        for policy in policies:
            work = _work(policy, problem, made)
            clock.sweep(layers, size, blocks, work, ADD / len(policies) if _weighted(problem) else 0.0)
        clock.layer(layers, blocks * problem.arms)
    return _cost(problem, max(sweeping, weights.bytes), clock)


def cost_by_layers(problem: Problem, policies: Sequence[Any], workers: int | None = None) -> Cost:
    """Return what policies take that need as many layers as they read."""
    arms, horizon, parts = problem.arms, problem.steps, _parts_followed(problem)
    weights, start = _weights(problem), _started(problem, policies)
    clock, last = _Clock(workers), 8.0 * as_float(layer_size(arms, horizon))
    clock.start(weights + start)
    asked, rooms = _Asked(problem, policies), list[float]()
    most_passing, kept = 0.0, 0.0
    for made, layers, states in _parts(arms, horizon):
        size, blocks = states / layers, as_float(block_count(arms, made))
        room = 8.0 * as_float(layer_size(arms, made))
        works = asked(made, room)
        for policy, work in zip(policies, works, strict=True):
            mixes = getattr(policy, "mixes", False)
            clock.sweep(layers, size, blocks, work, parts * arms * (MIX if mixes else FOLLOW))
            clock.alone += layers * size * 1e-9 * (3 * parts * PASS * arms if mixes else 0.0)
        if _weighted(problem):
            clock.sweep(layers, size, blocks, Work(ADD))
        clock.layer(layers, blocks * arms)
        needed = max(work.rooms for work in works)
        rooms += [room] * (needed - len(rooms))  # those that only earlier layers need are smaller
        choices = (_choices(problem, policy) for policy in policies)
        passing = (work.passing + more for work, more in zip(works, choices, strict=True))
        most_passing = max(
            most_passing, *(room * p + work.batch for p, work in zip(passing, works, strict=True))
        )
        kept = max(kept, room * sum(work.kept for work in works))
    reach = max(1, *(policy.reach for policy in policies))
    held = 8.0 * _layers_held(arms, horizon, reach) if _weighted(problem) else 0.0
    sweeping = last * parts * len(policies) + sum(rooms) + most_passing + kept
    first = last * parts * len(policies) + start.bytes
    tables = 8.0 * (2 * arms + 1) * (reach + 2) * as_float(block_count(arms, horizon))
    return _cost(problem, max(held + tables + start.kept + max(sweeping, first), weights.bytes), clock)


def _parts_followed(problem: Problem) -> int:
    """Return for how many values a policy is followed: what each segment pays."""
    return 1 if not problem.segments.stated else problem.segments.count


def _choices(problem: Problem, policy: Any) -> float:
    """Return arrays of the layer's size that what a policy chooses takes more with segments than without."""
    if not problem.segments.stated:
        return 0.0
    return 2.0 * problem.arms if getattr(policy, "mixes", False) else (problem.segments.count - 1) / 8


def together(costs: Sequence[Cost]) -> Cost:
    """Return what takes place one after the other: the most memory of any, the seconds of all."""
    return replace(costs[0], bytes=max(c.bytes for c in costs), seconds=sum(c.seconds for c in costs))


def check_memory(cost: Cost, memory: int | None = None) -> None:
    """Raise if `cost` does not fit into `memory` bytes (default: what is available)."""
    limit = available_memory() if memory is None else memory
    if limit is not None and cost.bytes > limit:
        raise InvalidInputError(
            f"{counted(cost.states)} states need {memory_in_words(cost.bytes, 1)} and about "
            f"{duration(cost.seconds)}; "
            f"{limit / 1e9:,.1f} GB are available; use a shorter horizon, or simulate instead (elsv compare)"
        )


class _Clock:
    """Seconds of one core, those that threads share and those that they do not."""

    def __init__(self, workers: int | None) -> None:
        self._threads = cores(workers)
        self.shared, self.alone = 0.0, 0.0

    def start(self, start: Start) -> None:
        self.shared += start.shared / self._threads
        self.alone += start.alone

    def sweep(self, layers: float, size: float, blocks: float, work: Work, more: float = 0.0) -> None:
        """Add what `layers` layers of this size take, and `more` nanoseconds for each state."""
        threads = self._threads if size > 2 * CHUNK else 1
        quick = _CACHED if size < _MOST_CACHED else 1.0
        sweeping = 1e-9 * quick * (work.shared + more) * size + _BLOCK_OF_SWEEP * blocks * (work.calls + 1)
        self.shared += layers * sweeping / threads
        self.alone += layers * (1e-9 * work.alone * size + _CALL * work.calls)

    def layer(self, layers: float, entries: float) -> None:
        self.alone += layers * (_LAYER + _BLOCK * entries)

    @property
    def seconds(self) -> float:
        total = slowness() * (self.shared + self.alone)
        return math.inf if math.isnan(total) else total  # nothing for each of too many states to count


def _parts(arms: int, horizon: int) -> Iterator[tuple[int, int, float]]:
    """Yield a layer that stands for others, how many these are, and their states; the last ones singly."""
    stop = horizon
    while stop > 0:
        layers = max(1, -(-(horizon - stop) // _PARTS))
        first = max(0, stop - layers)
        before = states_up_to(arms, first - 1) if first else 0
        states = as_float(states_up_to(arms, stop - 1) - before)
        yield (first + stop - 1) // 2, stop - first, states
        stop = first


class _Asked:
    """What the policies do in a layer, asked again once there are far fewer states, as long as they count.

    To ask is to try a few states where a policy is a function of the user's; the longer it takes, the less
    often.
    """

    def __init__(self, problem: Problem, policies: Sequence[Any]) -> None:
        self._problem, self._policies = problem, policies
        self._first = self._latest = 0.0
        self._works: list[Work] = []
        self._spent = 0.0

    def __call__(self, made: int, room: float) -> list[Work]:
        self._first = self._first or room
        fewer = _FEWER if self._spent < _PATIENCE else _FAR_FEWER
        if not self._works or fewer * self._latest > room > _NEGLIGIBLE * self._first:
            began = time.perf_counter()
            self._works = [_work(policy, self._problem, made) for policy in self._policies]
            self._latest = room
            self._spent += time.perf_counter() - began
        return self._works


def _work(policy: Any, problem: Problem, made: int) -> Work:
    """Return what a policy says of itself; one that says nothing sweeps as far as it reads."""
    own = getattr(policy, "work", None)
    if own is None:
        sweeps = 1.0 + getattr(policy, "reach", 0)
        return Work(sweeps * MAXIMISE * problem.arms, calls=sweeps, rooms=2, passing=1.0)
    known: Work = own(problem, made)
    return known


def _started(problem: Problem, policies: Sequence[Any]) -> Start:
    total = Start()
    for policy in policies:
        if (own := getattr(policy, "start", None)) is not None:
            total += own(problem)
    return total


def _weights(problem: Problem) -> Start:
    return weights_work(problem.belief, problem, problem.steps, problem.segments.stated)


def _weighted(problem: Problem) -> bool:
    return not factors(problem.belief)


def _layers_held(arms: int, horizon: int, reach: int) -> float:
    """Return the states of the layers whose weights are held at one time."""
    below = horizon - reach - 1
    return as_float(states_up_to(arms, horizon) - (states_up_to(arms, below) if below >= 0 else 0))


def _cost(problem: Problem, room: float, clock: _Clock) -> Cost:
    states = states_up_to(problem.arms, problem.steps - 1)
    return Cost(states, _whole(room + _OTHER), clock.seconds, _compiles(problem))


def _compiles(problem: Problem) -> bool:
    return not (sweeps_compiled() and weights_compiled(problem.belief))


def _whole(number: float) -> int:
    """Return a number of bytes as a whole one; past all memory it no longer matters which."""
    return int(number if number < 1e300 else 1e300)
