r"""The Bayes optimum and the value of policies on a GPU.

.. math:: Y_t(s) = \max_i\,[r_i W(s{+}\text{success}_i) + Y_{t+1}(s{+}\text{success}_i)
    + Y_{t+1}(s{+}\text{failure}_i)]

as in `elsv.exact.solve`, but only Y is kept, in one array of the last layer's size: a layer overwrites the
next one batch by batch, through room for one batch, and weights come from tables (`elsv.exact.cuda.sweeps`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from elsv._base.progress import Progress
from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError
from elsv.exact.cuda.cost import check_arms, check_room, cost_of, room_for
from elsv.exact.cuda.device import NULL, Device
from elsv.exact.cuda.rules import Best, Rule, rule_of
from elsv.exact.cuda.search import Rooms, Search, follow_search, search_of
from elsv.exact.cuda.sweeps import ARMS, LayerSweeps
from elsv.exact.memory import Cost
from elsv.lattice.numbering import layer_size
from elsv.policies.layers import OneArm
from elsv.problem import Problem
from elsv.state import State

Watch = Callable[[LayerSweeps, int, Any], None]  # called before a layer is swept, with the next one's values


def solve_cost(problem: Problem, device: Device, memory: int | None = None) -> Cost:
    """Return what the optimum takes, or raise if it cannot be computed here."""
    check_arms(problem)
    free = _limit(device, memory)
    cost = cost_of(problem, 1, [], free)
    check_room(cost, free, device.name)
    return cost


def root_scores(
    problem: Problem,
    device: Device,
    progress: Progress,
    memory: int | None = None,
    watch: Watch | None = None,
) -> FloatArray:
    """Return what each first arm is worth if the optimum follows, ``[N]``."""
    sweeps, first = _in_place(problem, Best(), device, _limit(device, memory), progress, watch)
    scores: FloatArray = scores_of(sweeps, 0, np.zeros((1, 2 * ARMS), np.int64), first)[0]
    return scores[sweeps.first :]


def evaluate_cost(
    problem: Problem, policies: Sequence[object], device: Device, memory: int | None = None
) -> Cost:
    """Return what the values of policies on layers take, or raise if they cannot be computed here."""
    check_arms(problem)
    free = _limit(device, memory)
    searches = [found for policy in policies if (found := search_of(problem, policy)) is not None]
    rules = sum(rule_of(problem, policy) is not None for policy in policies)
    cost = cost_of(problem, rules, searches, free)
    check_room(cost, free, device.name)
    return cost


def check_policy(problem: Problem, policy: object, name: str) -> None:
    """Raise if a policy on layers has no kernel."""
    check_arms(problem)
    known = isinstance(policy, OneArm) or rule_of(problem, policy) or search_of(problem, policy)
    if not known:
        raise InvalidInputError(
            "device='cuda' knows the optimum, index policies, one step of elsv, greedy, commit, plan and "
            f"fixed arms, not {name!r}; use device='cpu', or simulate it (elsv compare)"
        )


def value_of(
    problem: Problem, policy: object, device: Device, progress: Progress, memory: int | None = None
) -> tuple[float, float]:
    """Return what a policy on layers earns, and the seconds that took."""
    began, free = time.perf_counter(), _limit(device, memory)
    if isinstance(policy, OneArm) and isinstance(policy.arm, int):
        value = _always(problem, policy.arm)
    elif (search := search_of(problem, policy)) is not None:
        value = _by_layers(problem, search, device, progress)
    else:
        rule = rule_of(problem, policy)
        assert rule is not None, "checked by check_policy"
        sweeps, later = _in_place(problem, rule, device, free, progress)
        out = device.empty(1)
        sweeps.sweep(rule.kernel, 0, (0, 1), later, out, rule.more(device, 0))
        value = float(device.fetch(out)[0]) / _root_weight(sweeps)
    return value, time.perf_counter() - began


def _limit(device: Device, memory: int | None) -> int:
    free = device.free()
    return free if memory is None else min(memory, free)


def _in_place(
    problem: Problem, rule: Rule, device: Device, free: int, progress: Progress, watch: Watch | None = None
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
        more = rule.more(device, layer)
        whole = sweeps.numbering.groups_of(layer)
        for first, stop in sweeps.batches(layer, room.batch):
            low, high = (int(sweeps.numbering.groups[layer, k]) for k in (first, stop))
            out = values[low:high] if layer == horizon - 1 else batch
            sweeps.sweep(rule.kernel, layer, (first, stop), later, out, more)
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


def _by_layers(problem: Problem, search: Search, device: Device, progress: Progress) -> float:
    """Return the value of a policy that searches, on whole layers."""
    horizon = problem.steps
    sweeps = LayerSweeps(device, problem, layer_size(problem.arms, horizon))
    rooms = Rooms(sweeps, search)
    values = [device.empty(sweeps.numbering.size(horizon - 1)) for _ in range(2)]
    for layer in range(horizon - 1, -1, -1):
        follow_search(sweeps, search, values, rooms, layer)
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
    threads = 64
    told = (*given, device.array(counts), nodes, *tables, out)
    device.launch("score", -(-len(counts) // threads), threads, told)
    return np.asarray(device.fetch(out)).reshape(len(counts), ARMS)


def _always(problem: Problem, arm: int) -> float:
    """Return what one arm earns: by the law of total expectation the prior's mean at every step."""
    precise = getattr(problem.belief, "precise", lambda: problem.belief)()
    mean = precise.mean(State.initial(problem), np.random.default_rng(0))
    return float(problem.steps * problem.rewards[arm] * mean[arm])
