r"""The exact Bayes reward of a policy: backward induction that follows it instead of the maximum.

For a policy that pulls arm a(s) at step t,

.. math:: V_t(s) = p_a(s)\,(r_a + V_{t+1}(s{+}\text{success}_a)) + (1-p_a(s))\,V_{t+1}(s{+}\text{failure}_a)

over every state of the lattice (past the paper): no simulation, no error bars. A policy that pulls arm i with
a known probability, such as Thompson sampling, is the average over i.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from elsv._typing import FloatArray
from elsv.beliefs.layer_weights import layer_weights
from elsv.errors import InvalidInputError
from elsv.exact.solve import (
    Cost,
    check_memory,
    estimate,
    horizon_of,
    largest_reward,
    overwrite_layers,
)
from elsv.lattice.numbering import Lattice, Layer, layer_size, states_up_to
from elsv.lattice.sweeps import Arena, blocks_of
from elsv.lattice.workers import Progress, Work, available_memory, cores, crew
from elsv.policies.choosers import Chooser, LayerPolicy, Mixture
from elsv.policies.followers import Follower, IndexChoice
from elsv.problem import Problem


@dataclass(frozen=True)
class Evaluation:
    r"""Exact expected reward of a policy over the horizon, and :math:`T\,E[\max_i r_i\mu_i]` minus it."""

    value: float
    regret: float
    seconds: float  # for this policy; what policies share is in the first one's


def evaluate_choosers(
    problem: Problem,
    choosers: Sequence[LayerPolicy],
    *,
    memory: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Evaluation]:
    """Return the exact value of every policy, in one or two passes over the lattice, or more to save memory.

    Parameters
    ----------
    problem
        Must have a horizon.
    choosers
        Whole-layer forms of policies (`elsv.policies.choosers`).
    memory, workers, progress
        As for `elsv.exact.solve.solve`.
    """
    if not choosers:
        raise InvalidInputError("name at least one policy to evaluate")
    limit = available_memory() if memory is None else memory
    passes = _passes(problem, choosers, limit)
    check_memory(_cost(problem, passes), limit)
    found: dict[int, tuple[float, float]] = {}
    for k, one in enumerate(passes):
        run = _in_place if one.in_place else _by_layers
        results = run(problem, list(one.policies.values()), cores(workers), _part(progress, k, len(passes)))
        found |= zip(one.policies, results, strict=True)
    largest = largest_reward(problem)
    return [Evaluation(found[k][0], largest - found[k][0], found[k][1]) for k in range(len(choosers))]


@dataclass(frozen=True)
class Pass:
    """Policies that go over the lattice together, by their places; all in place or all by layers."""

    policies: dict[int, Any]
    in_place: bool

    def cost(self, problem: Problem) -> Cost:
        """Return what it takes."""
        policies = list(self.policies.values())
        return (_cost_in_place if self.in_place else _cost_by_layers)(problem, policies)

    def within(self, problem: Problem, limit: int | None) -> list[Pass]:
        """Return this pass, or several with fewer policies if it needs more than `limit` bytes."""
        if limit is None or len(self.policies) == 1 or self.cost(problem).bytes <= limit:
            return [self]
        items, half = list(self.policies.items()), len(self.policies) // 2
        parts = (Pass(dict(part), self.in_place) for part in (items[:half], items[half:]))
        return [one for part in parts for one in part.within(problem, limit)]


def _passes(problem: Problem, choosers: Sequence[LayerPolicy], limit: int | None) -> list[Pass]:
    """Return one pass for the policies that need no room and one for the others, or more to save memory.

    The others go first: they may be refused, and then nobody should have waited.
    """
    followers = {k: chooser for k, chooser in enumerate(choosers) if isinstance(chooser, Follower)}
    others = {k: chooser for k, chooser in enumerate(choosers) if not isinstance(chooser, Follower)}
    return [
        one
        for policies, in_place in ((others, False), (followers, True))
        if policies
        for one in Pass(policies, in_place).within(problem, limit)
    ]


def _part(progress: Progress | None, number: int, parts: int) -> Progress:
    """Return how one of several passes reports its own progress."""

    def report(done: int, total: int) -> None:
        if progress is not None:
            progress(number * total + done, parts * total)

    return report


def _with_shared(totals: list[float], spent: list[float], start: float) -> list[tuple[float, float]]:
    """Return values and seconds; what the policies share is in the first one's time."""
    spent[0] = time.perf_counter() - start - sum(spent[1:])
    return list(zip(totals, spent, strict=True))


def _in_place(
    problem: Problem, followers: Sequence[Follower], workers: int, progress: Progress
) -> list[tuple[float, float]]:
    """Return the value of every policy and its seconds; each layer takes the place of the next one."""
    start, horizon = time.perf_counter(), horizon_of(problem)
    lattice = Lattice(problem.arms, horizon)
    weights = np.empty(0)
    if problem.order is not None:
        weights = layer_weights(problem, lattice, horizon, workers)
    values = [np.zeros(layer_size(problem.arms, horizon)) for _ in followers]
    seconds: list[list[float]] = [[] for _ in followers]

    def sweep_of(layer: Layer) -> Work:
        steps = []
        for follower, spent in zip(followers, seconds, strict=True):
            began = time.perf_counter()
            steps.append(follower.follow(problem, layer))
            spent.append((time.perf_counter() - began) / workers)

        def work(begin: int, end: int) -> None:
            blocks = blocks_of(layer, begin, end)
            for step, value, spent in zip(steps, values, seconds, strict=True):
                began = time.perf_counter()
                step(value, weights, blocks, value)
                spent.append((time.perf_counter() - began) / workers)

        return work

    overwrite_layers(lattice, weights, sweep_of, workers, lambda done, _: progress(done, horizon))
    root, scale = lattice.layer(0), 1.0
    sweep_of(root)(0, 1)
    if len(weights):
        lost = root.after[0, -1]
        scale = float(weights[lost] + weights[lost + 1])
    progress(horizon, horizon)
    return _with_shared([float(value[0]) / scale for value in values], [sum(s) for s in seconds], start)


def _by_layers(
    problem: Problem, choosers: Sequence[Chooser | Mixture], workers: int, progress: Progress
) -> list[tuple[float, float]]:
    """Return the value of every policy and its seconds; as many layers are kept as the policies read."""
    began, horizon = time.perf_counter(), horizon_of(problem)
    spent = [0.0] * len(choosers)
    with crew(workers) as threads:
        arena = Arena(problem, horizon, threads)
        values = [arena.take(layer_size(problem.arms, horizon)) for _ in choosers]
        for value in values:
            value[:] = 0.0
        for made in range(horizon - 1, -1, -1):
            layer = arena.descend(made, _reach(choosers))
            for k, chooser in enumerate(choosers):
                start = time.perf_counter()
                values[k] = _step_down(arena, layer, chooser, values[k])
                spent[k] += time.perf_counter() - start
            progress(horizon - made, horizon)
        root = arena.weights(0)
    scale = float(root[0]) if len(root) else 1.0
    return _with_shared([float(value[0]) / scale for value in values], spent, began)


def _reach(choosers: Sequence[Chooser | Mixture]) -> int:
    """Return how many layers past the present one are read."""
    return max(1, *(chooser.reach for chooser in choosers))


def _step_down(arena: Arena, layer: Layer, chooser: Chooser | Mixture, values: FloatArray) -> FloatArray:
    """Return the policy's worth in every state of `layer` from that of the next; `values` is given back."""
    from elsv.lattice._sweep_kernels import follow, mix

    rewards, prior = arena.problem.rewards, arena.problem.prior
    weights = arena.weights(layer.made + 1)
    out = arena.take(layer.size)
    if isinstance(chooser, Mixture):
        shares = chooser.shares(arena, layer)
        arena.sweep(layer, lambda blocks: mix(values, weights, *blocks, rewards, prior, shares, out))
    else:
        actions = np.empty(layer.size, np.uint8)
        chooser.choose(arena, layer, actions)
        arena.sweep(layer, lambda blocks: follow(values, weights, *blocks, rewards, prior, actions, out))
    arena.give(values)
    return out


def cost_of(problem: Problem, choosers: Sequence[LayerPolicy], memory: int | None = None) -> Cost:
    """Return what it takes: an array for each policy, a few to work in, the weights of the layers read.

    The seconds are those of the sweeps; a policy that is asked state by state takes longer. Policies that
    need more than `memory` bytes together (default: what is available) go one part after the other.
    """
    return _cost(problem, _passes(problem, choosers, available_memory() if memory is None else memory))


def _cost(problem: Problem, passes: Sequence[Pass]) -> Cost:
    costs = [one.cost(problem) for one in passes]
    return Cost(costs[0].states, max(c.bytes for c in costs), sum(c.seconds for c in costs))


def _cost_in_place(problem: Problem, followers: Sequence[Follower]) -> Cost:
    cost = estimate(problem, len(followers) + (problem.order is not None))
    tables = sum(follower.tables.bytes for follower in followers if isinstance(follower, IndexChoice))
    return replace(cost, bytes=cost.bytes + tables, seconds=len(followers) * cost.seconds)


def _cost_by_layers(problem: Problem, choosers: Sequence[Chooser | Mixture]) -> Cost:
    arrays = len(choosers) + 4 + 2 * problem.arms * sum(isinstance(c, Mixture) for c in choosers)
    cost = estimate(problem, arrays)
    cost = replace(cost, seconds=sum(1 + chooser.reach for chooser in choosers) * cost.seconds)
    if problem.order is None:
        return cost
    last = horizon_of(problem)
    below = last - _reach(choosers) - 1
    weights = states_up_to(problem.arms, last) - (states_up_to(problem.arms, below) if below >= 0 else 0)
    return replace(cost, bytes=cost.bytes + 8 * weights)
