r"""The Bayes optimum and the value of policies on a GPU.

.. math:: Y_t(s) = \max_i\,[r_i W(s{+}\text{success}_i) + Y_{t+1}(s{+}\text{success}_i)
    + Y_{t+1}(s{+}\text{failure}_i)]

as in `elsv.exact.solve`, but only Y is kept, in one array of the last layer's size: a layer overwrites the
next one batch by batch, through room for one batch, and weights come from tables (`elsv.exact.cuda.sweeps`).

A policy that searches ahead goes over whole layers (`Search`). Weights of a layer serve all arrays that are
swept through it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from elsv._base.numbers import counted
from elsv._base.numbers import memory as in_words
from elsv._base.progress import Progress
from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError
from elsv.exact.cuda.sweeps import ARMS, NULL, Device, LayerSweeps, Numbering, find_device, weighted
from elsv.exact.passes import SHORTER, Cost, Pass, Totals, Weights
from elsv.lattice.numbering import layer_size, states_up_to
from elsv.lattice.sweeps import Sweep
from elsv.policies.layers import LayerPolicy, Optimum
from elsv.policies.plan_rules import EQUAL, OUTWEIGH, RECOVERED
from elsv.problem import Problem

_SPARE = 300 << 20  # bytes that are left alone
_NODES = 0.5  # of quadrature, for each pull
_SCORING = 64  # threads
Watch = Callable[[LayerSweeps, int, Any], None]  # called before a layer is swept, with the next one's values


def passes_on_card(
    problem: Problem, policies: Sequence[LayerPolicy], names: Sequence[str], memory: int | None
) -> list[Pass]:
    """Return one pass for each policy, or raise if one has no kernel or there is too little memory."""
    for policy, name in zip(policies, names, strict=True):
        check_policy(problem, policy, name)
    device = find_device(memory)
    cost, work = evaluate_cost(problem, policies, device), partial(_work, device)
    return [Pass({k: policy}, True, cost, work) for k, policy in enumerate(policies)]


def _work(
    device: Device,
    problem: Problem,
    policies: Sequence[LayerPolicy],
    weigh: Weights,
    workers: int,
    progress: Progress,
) -> Totals:
    """Do the work of a pass; weights are the card's own."""
    values = [value_of(problem, policy, device, progress) for policy in policies]
    return [[value] for value in values], [0.0] * len(values)


class Room(NamedTuple):
    """How a card's memory is divided, besides the values: doubles of one batch, of weights; bytes in all."""

    batch: int
    weights: int
    bytes: int


def room_for(problem: Problem, free: int, search: Sweep | None = None) -> Room:
    """Return the quickest division that fits into `free` bytes: whole layers, else some groups at a time.

    A search goes over whole layers, whether they fit or not.
    """
    numbering, horizon, arms = Numbering(problem.arms, problem.steps), problem.steps, problem.arms
    before, weigh, whole = max(horizon - 2, 0), weighted(problem), layer_size(arms, horizon)
    values, tables = layer_size(arms, horizon - 1), _table_bytes(problem) + _SPARE
    if search is not None:
        return Room(values, whole, 8 * (5 + 4 * arms * (search.stops > 0)) * whole + tables)
    batch, weights = layer_size(arms, before), whole * weigh
    left = (free - tables) // 8 - values
    if batch + weights > left:
        least, least_weights = numbering.largest_group(before), 2 * numbering.largest_group(horizon) * weigh
        more = max(0, left - least - least_weights)
        batch = min(batch, least + (more // 3 if weigh else more))
        weights = least_weights + 2 * more // 3 * weigh
    return Room(batch, weights, 8 * (values + batch + weights) + tables)


def _table_bytes(problem: Problem) -> int:
    if not weighted(problem):
        return 0
    if (problem.prior == problem.prior.round()).all():
        nodes = _NODES * (problem.steps + float(problem.prior.sum()))
    else:
        nodes = 26.0 * float(problem.steps**0.5) + 60.0
    return int(8 * ARMS * nodes * (problem.steps * (problem.steps + 1) / 2))


def evaluate_cost(problem: Problem, policies: Sequence[LayerPolicy], device: Device) -> Cost:
    """Return what the values of policies on layers take, or raise if they cannot be computed here."""
    check_arms(problem)
    free = device.free()
    swept = [policy for policy in policies if policy.earns(problem) is None]
    rooms = (room_for(problem, free, _search_of(problem, policy)) for policy in swept)
    size = max((room.bytes for room in rooms), default=0)
    states = states_up_to(problem.arms, problem.steps - 1)
    if size > free:
        raise InvalidInputError(
            f"{counted(states)} states need {in_words(size, 1)} on the GPU, where {in_words(free, 1)} are "
            f"free ({device.name}); {SHORTER}"
        )
    return Cost(states, size)


def solve_cost(problem: Problem, device: Device) -> Cost:
    """Return what the optimum takes, or raise if it cannot be computed here."""
    return evaluate_cost(problem, [Optimum(problem.belief)], device)


def check_policy(problem: Problem, policy: LayerPolicy, name: str) -> None:
    """Raise if a policy on layers has no kernel."""
    check_arms(problem)
    if policy.kernel(problem, problem.steps) is None:
        raise InvalidInputError(
            "device='cuda' knows the optimum, index policies, one step of elsv, greedy, commit, plan and "
            f"fixed arms, not {name!r}; use device='cpu', or simulate it (elsv compare)"
        )


def root_scores(
    problem: Problem, device: Device, progress: Progress, watch: Watch | None = None
) -> FloatArray:
    """Return what each first arm is worth if the optimum follows, ``[N]``."""
    sweeps, first = _values(problem, Optimum(problem.belief), device, progress, 1, watch)
    if watch is not None:
        watch(sweeps, 0, first)
    scores: FloatArray = scores_of(sweeps, 0, np.zeros((1, 2 * ARMS), np.int64), first)[0]
    return scores[sweeps.first :]


def value_of(problem: Problem, policy: LayerPolicy, device: Device, progress: Progress) -> float:
    """Return what a policy on layers earns."""
    if (known := policy.earns(problem)) is not None:
        return known
    sweeps, values = _values(problem, policy, device, progress)
    value = float(device.fetch(values[:1])[0])
    if sweeps.weights is None:
        return value
    weights, _ = sweeps.weights.of(1, 0, 1)
    return value / float(device.fetch(weights[:2]).sum())  # W of the prior, as the kernels add it up


def _kernel(problem: Problem, policy: LayerPolicy, step: int) -> Sweep:
    found = policy.kernel(problem, step)
    assert found is not None, "checked by check_policy"
    return found


def _search_of(problem: Problem, policy: LayerPolicy) -> Sweep | None:
    """Return the longest search of a policy that searches; its first step may do without."""
    if _kernel(problem, policy, problem.steps).name != "search":
        return None
    return max((_kernel(problem, policy, min(step, problem.steps)) for step in (1, 2)), key=lambda k: k.stops)


def _values(
    problem: Problem,
    policy: LayerPolicy,
    device: Device,
    progress: Progress,
    last: int = 0,
    watch: Watch | None = None,
) -> tuple[LayerSweeps, Any]:
    """Return the values of the layer `last`, each in the place of the next; `NULL` past the last step."""
    horizon, longest = problem.steps, _search_of(problem, policy)
    room = room_for(problem, device.free(), longest)
    sweeps = LayerSweeps(device, problem, room.weights)
    search = None if longest is None else Search(sweeps, longest.stops > 0)
    values, batch, later = device.empty(layer_size(problem.arms, horizon - 1)), device.empty(room.batch), NULL
    for layer in range(horizon - 1, last - 1, -1):
        if watch is not None:
            watch(sweeps, layer, later)
        named, whole = _kernel(problem, policy, layer + 1), sweeps.numbering.groups_of(layer)
        kernel, extra = ("", ()) if named.name == "search" else sweeps.kernel(named, layer)
        for first, stop in sweeps.batches(layer, room.batch):
            low, high = (int(sweeps.numbering.groups[layer, k]) for k in (first, stop))
            out = values[low:high] if layer == horizon - 1 else batch
            if search is not None and not kernel:
                search.follow(named, layer, later, out)
            else:
                sweeps.sweep(kernel, layer, (first, stop), later, out, extra)
            if layer == horizon - 1:
                continue
            if stop - first == whole:
                values, batch = batch, values
            else:
                values[low:high] = batch[: high - low]
        later = values
        progress(horizon - layer, horizon)
    return sweeps, later


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


class Search:
    """A search from all states of a layer, swept back from its frontier.

    The commit value of layer m + d goes back by the best arm to layer m + 1, and one sweep chooses. In a step
    of several pulls those of each arm are swept back apart until the best of them is taken. Many pulls of one
    arm are swept back side by side with it (`elsv.policies.plan_layers`).
    """

    def __init__(self, sweeps: LayerSweeps, long: bool) -> None:
        self._sweeps, arms = sweeps, sweeps.problem.arms
        self._size = layer_size(arms, sweeps.problem.steps - 1)
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
