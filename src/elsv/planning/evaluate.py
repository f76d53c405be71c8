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

import numpy as np

from elsv._typing import FloatArray
from elsv.errors import InvalidInputError
from elsv.planning._sweeps import Progress, Work, cores, crew
from elsv.planning.arena import Arena, blocks_of
from elsv.planning.choosers import Chooser, IndexChoice, Mixture
from elsv.planning.lattice import Lattice, Layer, layer_size, states_up_to
from elsv.planning.solve import (
    Cost,
    check_memory,
    estimate,
    horizon_of,
    largest_reward,
    overwrite_layers,
)
from elsv.planning.weights import layer_weights
from elsv.problem import Problem


@dataclass(frozen=True)
class Evaluation:
    r"""Exact expected reward of a policy over the horizon, and :math:`T\,E[\max_i r_i\mu_i]` minus it."""

    value: float
    regret: float
    seconds: float  # for this policy; what policies share is in the first one's


def evaluate_choosers(
    problem: Problem,
    choosers: Sequence[Chooser | Mixture],
    *,
    memory: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Evaluation]:
    """Return the exact value of every policy, all in one pass over the lattice.

    Parameters
    ----------
    problem
        Must have a horizon.
    choosers
        Whole-layer forms of policies (`elsv.planning.choosers`).
    memory, workers, progress
        As for `elsv.planning.solve.solve`.
    """
    if not choosers:
        raise InvalidInputError("name at least one policy to evaluate")
    report = progress or (lambda done, total: None)
    followers = [chooser for chooser in choosers if isinstance(chooser, IndexChoice)]
    check_memory(cost_of(problem, choosers), memory)
    start = time.perf_counter()
    if len(followers) == len(choosers):
        totals, spent = _in_place(problem, followers, cores(workers), report)
    else:
        totals, spent = _by_layers(problem, choosers, cores(workers), report)
    # What policies share is in the first one's time.
    spent[0] = time.perf_counter() - start - sum(spent[1:])
    largest = largest_reward(problem)
    return [Evaluation(total, largest - total, s) for total, s in zip(totals, spent, strict=True)]


def _in_place(
    problem: Problem, followers: Sequence[IndexChoice], workers: int, progress: Progress
) -> tuple[list[float], list[float]]:
    """Return the value of every policy and its seconds; each layer takes the place of the next one."""
    horizon = horizon_of(problem)
    lattice = Lattice(problem.arms, horizon)
    weights = np.empty(0)
    if problem.order is not None:
        weights = layer_weights(problem, lattice, horizon, workers)
    values = [np.zeros(layer_size(problem.arms, horizon)) for _ in followers]
    seconds: list[list[float]] = [[] for _ in followers]

    def sweep_of(layer: Layer) -> Work:
        steps = [follower.follow(problem, layer) for follower in followers]

        def work(begin: int, end: int) -> None:
            blocks = blocks_of(layer, begin, end)
            for step, value, spent in zip(steps, values, seconds, strict=True):
                start = time.perf_counter()
                step(value, weights, blocks, value)
                spent.append((time.perf_counter() - start) / workers)

        return work

    overwrite_layers(lattice, weights, sweep_of, workers, lambda done, _: progress(done, horizon))
    root, scale = lattice.layer(0), 1.0
    sweep_of(root)(0, 1)
    if len(weights):
        lost = root.after[0, -1]
        scale = float(weights[lost] + weights[lost + 1])
    progress(horizon, horizon)
    return [float(value[0]) / scale for value in values], [sum(spent) for spent in seconds]


def _by_layers(
    problem: Problem, choosers: Sequence[Chooser | Mixture], workers: int, progress: Progress
) -> tuple[list[float], list[float]]:
    """Return the value of every policy and its seconds; as many layers are kept as the policies read."""
    horizon = horizon_of(problem)
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
    return [float(value[0]) / scale for value in values], spent


def _reach(choosers: Sequence[Chooser | Mixture]) -> int:
    """Return how many layers past the present one are read."""
    return max(1, *(chooser.reach for chooser in choosers))


def _step_down(arena: Arena, layer: Layer, chooser: Chooser | Mixture, values: FloatArray) -> FloatArray:
    """Return the policy's worth in every state of `layer` from that of the next; `values` is given back."""
    from elsv.planning._lattice_kernels import follow, mix

    rewards, prior = arena.problem.rewards, arena.problem.prior
    weights = arena.weights(layer.made + 1)
    out = arena.take(layer.size)
    if hasattr(chooser, "shares"):
        shares = chooser.shares(arena, layer)
        arena.sweep(layer, lambda blocks: mix(values, weights, *blocks, rewards, prior, shares, out))
    elif isinstance(chooser, IndexChoice):
        step = chooser.follow(arena.problem, layer)
        arena.sweep(layer, lambda blocks: step(values, weights, blocks, out))
    else:
        actions = np.empty(layer.size, np.uint8)
        chooser.choose(arena, layer, actions)
        arena.sweep(layer, lambda blocks: follow(values, weights, *blocks, rewards, prior, actions, out))
    arena.give(values)
    return out


def cost_of(problem: Problem, choosers: Sequence[Chooser | Mixture]) -> Cost:
    """Return what it takes: an array for each policy, a few to work in, the weights of the layers read.

    The seconds are those of the sweeps; a policy that is asked state by state takes longer.
    """
    arrays = len(choosers)
    sweeps = sum(1 + chooser.reach for chooser in choosers)
    if all(isinstance(chooser, IndexChoice) for chooser in choosers):
        cost = estimate(problem, arrays + (problem.order is not None))
        return replace(cost, seconds=sweeps * cost.seconds)
    arrays += 4 + 2 * problem.arms * sum(hasattr(chooser, "shares") for chooser in choosers)
    cost = estimate(problem, arrays)
    cost = replace(cost, seconds=sweeps * cost.seconds)
    if problem.order is None:
        return cost
    last = horizon_of(problem)
    below = last - _reach(choosers) - 1
    weights = states_up_to(problem.arms, last) - (states_up_to(problem.arms, below) if below >= 0 else 0)
    return replace(cost, bytes=cost.bytes + 8 * weights)
