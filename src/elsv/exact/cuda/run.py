r"""The Bayes optimum and the value of policies on a GPU.

.. math:: Y_t(s) = \max_i\,[r_i W(s{+}\text{success}_i) + Y_{t+1}(s{+}\text{success}_i)
    + Y_{t+1}(s{+}\text{failure}_i)]

as in `elsv.exact.solve`, but only Y is kept, in one array of the last layer's size: a layer overwrites the
next one batch by batch, through room for one batch, and weights come from tables (`elsv.exact.cuda.sweeps`).

A policy that searches ahead goes over whole layers (`Search`). Weights of a layer serve all arrays that are
swept through it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from elsv._base.numbers import counted
from elsv._base.numbers import memory as in_words
from elsv._base.progress import Progress
from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError
from elsv.exact.cuda.sweeps import ARMS, NULL, Device, LayerSweeps, Numbering, weighted
from elsv.exact.passes import SHORTER, Cost
from elsv.lattice.numbering import layer_size, states_up_to
from elsv.lattice.sweeps import Sweep
from elsv.policies.layers import Optimum, kernel_of
from elsv.policies.plan_rules import EQUAL, OUTWEIGH, RECOVERED
from elsv.problem import Problem

_SPARE = 300 << 20  # bytes that are left alone
_NODES = 0.5  # of quadrature, for each pull
_SCORING = 64  # threads
Watch = Callable[[LayerSweeps, int, Any], None]  # called before a layer is swept, with the next one's values


@dataclass(frozen=True)
class Room:
    """How a card's memory is divided: doubles of the values, of one batch, of weights."""

    values: int
    batch: int
    weights: int
    bytes: int


def room_for(problem: Problem, free: int) -> Room:
    """Return the quickest division that fits into `free` bytes: whole layers, else some groups at a time."""
    numbering, horizon = Numbering(problem.arms, problem.steps), problem.steps
    before = max(horizon - 2, 0)
    weigh = weighted(problem)
    values, tables = numbering.size(horizon - 1), _table_bytes(problem) + _SPARE
    batch, weights = numbering.size(before), numbering.size(horizon) * weigh
    left = (free - tables) // 8 - values
    if batch + weights > left:
        least, least_weights = numbering.largest_group(before), 2 * numbering.largest_group(horizon) * weigh
        more = max(0, left - least - least_weights)
        batch = min(batch, least + (more // 3 if weigh else more))
        weights = least_weights + 2 * more // 3 * weigh
    return Room(values, batch, weights, 8 * (values + batch + weights) + tables)


def evaluate_cost(
    problem: Problem, policies: Sequence[object], device: Device, memory: int | None = None
) -> Cost:
    """Return what the values of policies on layers take, or raise if they cannot be computed here."""
    check_arms(problem)
    free, size, whole = _limit(device, memory), 0, 8 * layer_size(problem.arms, problem.steps)
    for policy in policies:
        if hasattr(policy, "earns"):
            continue
        if _searches(problem, policy):
            arrays = 5 + 4 * problem.arms * _weighs_stops(problem, policy)
            size = max(size, arrays * whole + _table_bytes(problem) + _SPARE)
        else:
            size = max(size, room_for(problem, free).bytes)
    states = states_up_to(problem.arms, problem.steps - 1)
    if size > free:
        raise InvalidInputError(
            f"{counted(states)} states need {in_words(size, 1)} on the GPU, where {in_words(free, 1)} are "
            f"free ({device.name}); {SHORTER}"
        )
    return Cost(states, size)


def _searches(problem: Problem, policy: object) -> bool:
    """Return whether a policy reads more than the next layer, somewhere."""
    return _named(problem, policy, problem.steps).name == "search"


def _weighs_stops(problem: Problem, policy: object) -> bool:
    """Return whether a search weighs many pulls of one arm, somewhere."""
    return any(_named(problem, policy, step).stops > 0 for step in range(1, problem.steps + 1))


def solve_cost(problem: Problem, device: Device, memory: int | None = None) -> Cost:
    """Return what the optimum takes, or raise if it cannot be computed here."""
    return evaluate_cost(problem, [Optimum(problem.belief)], device, memory)


def root_scores(
    problem: Problem,
    device: Device,
    progress: Progress,
    memory: int | None = None,
    watch: Watch | None = None,
) -> FloatArray:
    """Return what each first arm is worth if the optimum follows, ``[N]``."""
    best = Optimum(problem.belief)
    sweeps, first = _in_place(problem, best, device, _limit(device, memory), progress, watch)
    scores: FloatArray = scores_of(sweeps, 0, np.zeros((1, 2 * ARMS), np.int64), first)[0]
    return scores[sweeps.first :]


def check_policy(problem: Problem, policy: object, name: str) -> None:
    """Raise if a policy on layers has no kernel."""
    check_arms(problem)
    if kernel_of(problem, policy, problem.steps) is None:
        raise InvalidInputError(
            "device='cuda' knows the optimum, index policies, one step of elsv, greedy, commit, plan and "
            f"fixed arms, not {name!r}; use device='cpu', or simulate it (elsv compare)"
        )


def value_of(
    problem: Problem, policy: Any, device: Device, progress: Progress, memory: int | None = None
) -> tuple[float, float]:
    """Return what a policy on layers earns, and the seconds that took."""
    began = time.perf_counter()
    if (earns := getattr(policy, "earns", None)) is not None:
        value = float(earns(problem))
    elif _searches(problem, policy):
        value = _by_layers(problem, policy, device, progress)
    else:
        sweeps, later = _in_place(problem, policy, device, _limit(device, memory), progress)
        out, (kernel, extra) = device.empty(1), sweeps.kernel(_named(problem, policy, 1), 0)
        sweeps.sweep(kernel, 0, (0, 1), later, out, extra)
        value = float(device.fetch(out)[0]) / _root_weight(sweeps)
    return value, time.perf_counter() - began


def _named(problem: Problem, policy: object, step: int) -> Sweep:
    found = kernel_of(problem, policy, step)
    assert found is not None, "checked by check_policy"
    return found


def _limit(device: Device, memory: int | None) -> int:
    free = device.free()
    return free if memory is None else min(memory, free)


def _in_place(
    problem: Problem,
    policy: object,
    device: Device,
    free: int,
    progress: Progress,
    watch: Watch | None = None,
) -> tuple[LayerSweeps, Any]:
    """Return the values of layer 1 (`NULL` if there is but one step), each layer in the place of the next."""
    horizon = problem.steps
    room = room_for(problem, free)
    sweeps = LayerSweeps(device, problem, room.weights)
    values, batch = device.empty(room.values), device.empty(room.batch)
    later: Any = NULL
    for layer in range(horizon - 1, 0, -1):
        if watch is not None:
            watch(sweeps, layer, later)
        kernel, extra = sweeps.kernel(_named(problem, policy, layer + 1), layer)
        whole = sweeps.numbering.groups_of(layer)
        for first, stop in sweeps.batches(layer, room.batch):
            low, high = (int(sweeps.numbering.groups[layer, k]) for k in (first, stop))
            out = values[low:high] if layer == horizon - 1 else batch
            sweeps.sweep(kernel, layer, (first, stop), later, out, extra)
            if layer == horizon - 1:
                continue
            if stop - first == whole:
                values, batch = batch, values
            else:
                values[low:high] = batch[: high - low]
        later = values
        progress(horizon - layer, horizon)
    if watch is not None:
        watch(sweeps, 0, later)
    return sweeps, later


def _by_layers(problem: Problem, policy: object, device: Device, progress: Progress) -> float:
    """Return the value of a policy that searches, on whole layers."""
    horizon = problem.steps
    sweeps = LayerSweeps(device, problem, layer_size(problem.arms, horizon))
    search = Search(sweeps, _weighs_stops(problem, policy))
    values = [device.empty(sweeps.numbering.size(horizon - 1)) for _ in range(2)]
    for layer in range(horizon - 1, -1, -1):
        later, named = values[0] if layer + 1 < horizon else NULL, _named(problem, policy, layer + 1)
        if named.name == "search":
            search.follow(named, layer, later, values[1])
        else:
            kernel, extra = sweeps.kernel(named, layer)
            sweeps.whole(kernel, layer, later, values[1], extra)
        values.reverse()
        progress(horizon - layer, horizon)
    return float(device.fetch(values[0][:1])[0]) / _root_weight(sweeps)


def _root_weight(sweeps: LayerSweeps) -> float:
    """Return W of the prior, as the kernels add it up; 1 without weights."""
    if sweeps.weights is None:
        return 1.0
    weights, _ = sweeps.weights.of(1, 0, 1)
    return float(sweeps.device.fetch(weights[:2]).sum())


def scores_of(sweeps: LayerSweeps, layer: int, counts: Any, later: Any) -> FloatArray:
    """Return the worth of every arm in states (successes, pulls) of a layer, ``[K, 3]``."""
    device, weights, nodes = sweeps.device, sweeps.weights, 0
    tables: list[Any] = [NULL] * ARMS
    if weights is not None:
        tables, nodes = weights.tables, weights.nodes
    out = device.empty(ARMS * len(counts))
    given = (layer, len(counts), sweeps.first, sweeps.groups, sweeps.numbering.width, sweeps.arms, later)
    extra = (*given, device.array(counts), nodes, *tables, out)
    device.launch("score", -(-len(counts) // _SCORING), _SCORING, extra)
    return np.asarray(device.fetch(out)).reshape(len(counts), ARMS)


def check_arms(problem: Problem) -> None:
    """Raise if the kernels do not know so many arms, or segments."""
    if problem.segments.count > 1:
        raise InvalidInputError("device='cuda' does not know segments; use device='cpu'")
    if not 2 <= problem.arms <= ARMS:
        raise InvalidInputError(
            f"device='cuda' knows 2 and {ARMS} arms, got {problem.arms}; use device='cpu'"
        )


def _nodes(problem: Problem) -> float:
    whole = bool((problem.prior == problem.prior.round()).all())
    if whole:
        return _NODES * (problem.steps + float(problem.prior.sum()))
    return 26.0 * float(problem.steps**0.5) + 60.0


def _table_bytes(problem: Problem) -> int:
    if not weighted(problem):
        return 0
    entries = problem.steps * (problem.steps + 1) / 2
    return int(8 * ARMS * _nodes(problem) * entries)


class Search:
    """A search from all states of a layer, swept back from its frontier.

    The commit value of layer m + d goes back by the best arm to layer m + 1, and one sweep chooses. In a step
    of several pulls those of each arm are swept back apart until the best of them is taken. Many pulls of one
    arm are swept back side by side with it (`elsv.policies.plan_layers`).
    """

    def __init__(self, sweeps: LayerSweeps, long: bool) -> None:
        self._sweeps, arms = sweeps, sweeps.problem.arms
        self._size = sweeps.numbering.size(sweeps.problem.steps - 1)
        rows = {"ahead": 1, **({"step": arms, "stops": arms} if long else {})}
        self._arrays = {
            kind: [sweeps.device.empty(self._size * count) for _ in range(2)] for kind, count in rows.items()
        }

    def _of(self, kind: str, made: int, arm: int = 0) -> Any:
        """Return the array of a layer, from an arm on: step and stops have those of all arms in a row."""
        return self._arrays[kind][made % 2][arm * self._size :]

    def follow(self, named: Sweep, layer: int, later: Any, out: Any) -> None:
        """Set `out` to the worth of the policy in a layer, `later` being that of the next one."""
        sweeps, horizon, most = self._sweeps, self._sweeps.problem.steps, named.stops
        first, arms = sweeps.first, range(sweeps.problem.arms)
        chosen = [layer + made for made in accumulate(named.steps)]  # layers where an arm is chosen
        top = chosen[-1]
        ahead: Any = NULL  # of the layer after the one swept
        for made in range(max(top, layer + most), layer, -1):
            times = float(horizon - made)
            if made == horizon:
                continue  # nothing is earned any more
            here = self._of("ahead", made)
            for arm in arms if made <= layer + most else ():
                own = self._of("stops", made, arm)
                if made == layer + most:
                    sweeps.whole("sweep_commit", made, NULL, own, (times,))
                else:
                    before = self._of("stops", made + 1, arm) if made + 1 < horizon else NULL
                    sweeps.whole("sweep_stop", made, before, own, (arm + first, times))
            if made == top:
                sweeps.whole("sweep_commit", made, NULL, here, (times,))
            elif made < top and made not in chosen:
                for arm in arms:
                    before = ahead if made + 1 in chosen else self._of("step", made + 1, arm)
                    sweeps.whole("sweep_stop", made, before, self._of("step", made, arm), (arm + first, 0.0))
            elif made < top and made + 1 not in chosen:
                sweeps.whole("sweep_step", made, NULL, here, (self._of("step", made + 1), self._size))
            elif made < top:
                sweeps.whole("sweep_best", made, ahead, here)
            if made in chosen:
                ahead = here
        if most:
            stops = self._of("stops", layer + 1), self._size, float(horizon - layer)
            sweeps.whole("sweep_plan", layer, later, out, (ahead, *stops, RECOVERED, OUTWEIGH, EQUAL))
        else:
            sweeps.whole("sweep_search", layer, later, out, (ahead,))
