"""One pass over the lattice for several policies: each layer in the place of the next, or layer by layer.

`passes_of` decides which policies share a pass: those that choose and pull in one sweep go together, all
others go together, and both are divided where they do not fit into memory. How much they take is known in
closed form, and refused beforehand if there is too little: a policy on layers says what it takes in one layer
(`elsv.policies.layers.Room`); here that is added up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from elsv._base.machine import available_memory
from elsv._base.numbers import as_float, counted
from elsv._base.numbers import memory as memory_in_words
from elsv._base.progress import Progress, Share
from elsv._base.typing import FloatArray
from elsv.beliefs.abilities import factors, layer_weights, weights_bytes
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import Lattice, Layer, block_count, layer_size, states_up_to
from elsv.lattice.sweeps import Sweeps, overwrite_layers, step_of
from elsv.lattice.workers import Work, crew
from elsv.policies.layers import LayerPolicy, Optimum
from elsv.problem import Problem

SHORTER = "use a shorter horizon, or simulate instead (elsv compare)"
_OTHER = 1.5e6  # bytes of small things
_ARRIVING = 10.0  # bytes for a state and segment, of who comes next
Earned = tuple[list[float], float]  # from each segment, one if none are stated, and the seconds that it took
Totals = tuple[list[list[float]], list[float]]  # the same of some policies
_PACKED = 0.3  # bytes that the arm of a state takes when it is kept, about


@dataclass(eq=False)
class Weights:
    """The last layer's weights under each belief, computed once for all passes of an evaluation."""

    problem: Problem
    workers: int
    passes: int  # that are left
    _known: dict[Any, FloatArray] = field(init=False, default_factory=dict)

    def __call__(self, belief: Any) -> FloatArray:
        """Return weights that the caller may overwrite."""
        key = belief if belief.__hash__ is not None else id(belief)
        if key not in self._known:
            lattice = Lattice(self.problem.arms, self.problem.steps)
            self._known[key] = weights_of(self.problem, belief, lattice, lattice.most, self.workers)
        return self._known.pop(key) if self.passes == 1 else self._known[key].copy()


def weights_of(problem: Problem, belief: Any, lattice: Lattice, made: int, workers: int = 1) -> FloatArray:
    """Return W of all states after `made` pulls; with segments, on the same nodes where a belief can."""
    return layer_weights(belief, problem, lattice, made, workers, problem.segments.count > 1)


@dataclass(frozen=True)
class Cost:
    """What an exact answer takes, known before it starts."""

    states: int  # of all layers
    bytes: int  # largest memory at one time


@dataclass(frozen=True)
class Pass:
    """Policies that go over the lattice together, by their places; all in place or all by layers."""

    policies: dict[int, LayerPolicy]
    in_place: bool
    cost: Cost
    work: Callable[..., Totals]  # of problem, policies, weights, threads and progress

    @property
    def sweeps(self) -> int:
        """About how many sweeps a layer takes: one for each policy, and one for each layer that it reads."""
        return sum(1 + policy.reach * (not self.in_place) for policy in self.policies.values())

    def run(self, problem: Problem, weigh: Weights, workers: int, progress: Progress) -> dict[int, Earned]:
        """Return what every policy earns and its seconds, by its place."""
        start = time.perf_counter()
        totals, spent = self.work(problem, list(self.policies.values()), weigh, workers, progress)
        spent[0] = time.perf_counter() - start - sum(spent[1:])  # with what the policies share
        return dict(zip(self.policies, zip(totals, spent, strict=True), strict=True))


def passes_of(problem: Problem, policies: Sequence[LayerPolicy], limit: int | None) -> list[Pass]:
    """Return one pass for the policies that need no room and one for the others, or more to save memory.

    The others go first: they may be refused, and then no time has been lost. With segments what is earned
    from each is followed for itself, for which all policies must say which arms they give.
    """
    alone = [problem.segments.count == 1 and policy.in_place for policy in policies]
    found: list[Pass] = []
    for quick in (False, True):
        some = {k: policies[k] for k, one in enumerate(alone) if one == quick}
        found += _within(problem, some, quick, limit) if some else []
    return found


def _within(
    problem: Problem, policies: dict[int, LayerPolicy], in_place: bool, limit: int | None
) -> list[Pass]:
    """Return one pass, or several with fewer policies if it needs more than `limit` bytes."""
    count, work = (in_place_bytes, _in_place) if in_place else (by_layers_bytes, _by_layers)
    cost = cost_of(problem, count(problem, list(policies.values())))
    if limit is None or len(policies) == 1 or cost.bytes <= limit:
        return [Pass(policies, in_place, cost, work)]
    items, half = list(policies.items()), len(policies) // 2
    parts = (_within(problem, dict(part), in_place, limit) for part in (items[:half], items[half:]))
    return [one for part in parts for one in part]


def cost_of_all(passes: Sequence[Pass]) -> Cost:
    """Return what passes take one after the other: the most memory of any."""
    return max((one.cost for one in passes), key=lambda cost: cost.bytes)


def share_of(problem: Problem, passes: Sequence[Pass]) -> Share:
    """Return how much of the work is done after so many layers of all passes, by states and sweeps."""
    efforts = [one.sweeps for one in passes]

    def share(done: int, total: int) -> float:
        number, layers = divmod(done, problem.steps)
        within = layers_share(problem.arms, layers, problem.steps)
        return (sum(efforts[:number]) + sum(efforts[number : number + 1]) * within) / sum(efforts)

    return share


def layers_share(arms: int, done: int, total: int) -> float:
    """Return the share of the states of `total` layers that lie in the last `done` of them."""
    return (
        1.0 if done >= total else 1.0 - states_up_to(arms, total - done - 1) / states_up_to(arms, total - 1)
    )


def _in_place(
    problem: Problem, policies: Sequence[LayerPolicy], weigh: Weights, workers: int, progress: Progress
) -> Totals:
    horizon = problem.steps
    lattice = Lattice(problem.arms, horizon)
    weights = weigh(problem.belief)
    values = [np.zeros(layer_size(problem.arms, horizon)) for _ in policies]
    seconds: list[list[float]] = [[] for _ in policies]

    def sweep_of(layer: Layer) -> Work:
        steps = []
        for policy, spent in zip(policies, seconds, strict=True):
            began = time.perf_counter()
            kernel = policy.kernel(problem, layer.step)
            assert kernel is not None, "it is in place"
            steps.append(step_of(problem, kernel))
            spent.append((time.perf_counter() - began) / workers)

        def work(begin: int, end: int) -> None:
            for step, value, spent in zip(steps, values, seconds, strict=True):
                began = time.perf_counter()
                step(value, value, weights, layer, begin, end)
                spent.append((time.perf_counter() - began) / workers)

        return work

    overwrite_layers(problem, lattice, weights, sweep_of, workers, lambda done, _: progress(done, horizon))
    root, scale = lattice.layer(0), 1.0
    sweep_of(root)(0, 1)
    if len(weights):
        lost = root.after[0, -1]
        scale = float(weights[lost] + weights[lost + 1])
    progress(horizon, horizon)
    return [[float(value[0]) / scale] for value in values], [sum(spent) for spent in seconds]


def _by_layers(
    problem: Problem, policies: Sequence[LayerPolicy], weigh: Weights, workers: int, progress: Progress
) -> Totals:
    """As many layers are kept as the policies read."""
    horizon, spent = problem.steps, [0.0] * len(policies)
    with crew(workers) as threads:
        sweeps, belief = Sweeps(problem, horizon, threads, weigh), problem.belief
        paid = [np.where(mask, problem.rewards, 0.0) for mask in problem.segments.masks]  # by each segment
        sweeps.weights(horizon, belief)
        values = [[np.zeros(layer_size(problem.arms, horizon)) for _ in paid] for _ in policies]
        for made in range(horizon - 1, -1, -1):
            layer = sweeps.descend(made, _reach(policies))
            for k, policy in enumerate(policies):
                start = time.perf_counter()
                arms = policy.decide(sweeps, layer)
                parts = zip(values[k], paid, strict=True)
                values[k] = [sweeps.follow(layer, part, arms, belief, pays) for part, pays in parts]
                spent[k] += time.perf_counter() - start
            progress(horizon - made, horizon)
        root = sweeps.weights(0, belief)
    scale = float(root[0]) if len(root) else 1.0
    return [[float(part[0]) / scale for part in parts] for parts in values], spent


def _reach(policies: Sequence[LayerPolicy]) -> int:
    """Return how many layers past the present one are read."""
    return max(1, *(policy.reach for policy in policies))


def estimate(problem: Problem, keep: int = 0) -> Cost:
    """Return what `elsv.exact.solve` takes if it keeps the actions of `keep` steps."""
    room = in_place_bytes(problem, [Optimum(problem.belief)])
    if keep:
        arms, horizon, each = problem.arms, problem.steps, problem.segments.count
        states = as_float(states_up_to(arms, keep - 1))
        packed = each * (_PACKED * states + as_float(layer_size(arms, keep - 1)))
        room += packed
        if keep == horizon:  # then the rewards by step are followed, and one of what was swept is still there
            more = 0.0 if each == 1 else _ARRIVING * each
            following = (18.0 + more) * as_float(layer_size(arms, horizon)) + _weights(problem)
            room = max(room, packed + following)
    return cost_of(problem, room)


def cost_of(problem: Problem, room: float) -> Cost:
    """Return an answer of so many bytes; past all memory it no longer matters how many."""
    total = min(room + _OTHER, 1e300)
    return Cost(states_up_to(problem.arms, problem.steps - 1), int(total))


def in_place_bytes(problem: Problem, policies: Sequence[LayerPolicy]) -> float:
    """Return what policies take that choose and pull in one sweep, each layer in the place of the next."""
    size = 8.0 * as_float(layer_size(problem.arms, problem.steps))
    tables = sum(policy.room(problem, problem.steps - 1).tables for policy in policies)
    weighted = not factors(problem.belief)
    return max(size * (len(policies) + weighted) + tables, _weights(problem))


def by_layers_bytes(problem: Problem, policies: Sequence[LayerPolicy]) -> float:
    """Return what policies take that need as many layers as they read."""
    arms, horizon, parts, made = problem.arms, problem.steps, problem.segments.count, problem.steps - 1
    shared, most_passing, kept, tables, first = list[float](), 0.0, 0.0, 0.0, 0.0
    while made >= 0:  # the last layers and ever fewer of those before: the largest ones decide
        size = 8.0 * as_float(layer_size(arms, made))
        rooms = [policy.room(problem, made) for policy in policies]
        # Arrays that only earlier layers need are smaller.
        shared += [size] * (max(room.shared for room in rooms) - len(shared))
        choice = (parts - 1) / 8  # of further segments
        most_passing = max(most_passing, *(size * (room.passing + choice) + room.batch for room in rooms))
        kept = max(kept, size * sum(room.kept for room in rooms))
        tables = max(tables, sum(room.tables for room in rooms))
        first = max(first, sum(room.first for room in rooms))
        made -= max(1, (horizon - made) // 8)
    reach, held = _reach(policies), 0.0
    if not factors(problem.belief):  # the weights of these layers are held at one time
        held = as_float(states_up_to(arms, horizon) - states_up_to(arms, max(horizon - reach - 1, -1)))
    blocks = 8.0 * (2 * arms + 1) * (reach + 2) * as_float(block_count(arms, horizon))
    values = 8.0 * as_float(layer_size(arms, horizon)) * parts * len(policies)
    sweeping = values + max(sum(shared) + most_passing + kept, first)
    return max(8.0 * held + blocks + tables + sweeping, _weights(problem))


def check_memory(cost: Cost, memory: int | None = None) -> None:
    """Raise if `cost` does not fit into `memory` bytes (default: what is available)."""
    limit = available_memory() if memory is None else memory
    if limit is not None and cost.bytes > limit:
        raise InvalidInputError(
            f"{counted(cost.states)} states need {memory_in_words(cost.bytes, 1)}; "
            f"{limit / 1e9:,.1f} GB are available; {SHORTER}"
        )


def _weights(problem: Problem) -> float:
    return weights_bytes(problem.belief, problem, problem.steps, problem.segments.count > 1)
