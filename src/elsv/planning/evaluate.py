r"""The exact Bayes reward of a policy: backward induction that follows it instead of the maximum.

For a policy that pulls arm a(s) at step t,

.. math:: V_t(s) = p_a(s)\,(r_a + V_{t+1}(s{+}\text{success}_a)) + (1-p_a(s))\,V_{t+1}(s{+}\text{failure}_a)

over every state of the lattice (past the paper): no simulation, no error bars. A policy that pulls arm i with
a known probability, such as Thompson sampling, is the average over i.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elsv._typing import FloatArray
from elsv.errors import InvalidInputError
from elsv.planning._sweeps import Progress, crew
from elsv.planning.arena import Arena
from elsv.planning.choosers import Chooser, Mixture
from elsv.planning.lattice import Layer, layer_size
from elsv.planning.solve import Cost, check_memory, estimate, horizon_of, largest_reward
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
    horizon = horizon_of(problem)
    if not choosers:
        raise InvalidInputError("name at least one policy to evaluate")
    reach = max(1, *(chooser.reach for chooser in choosers))
    check_memory(_cost(problem, choosers, reach), memory)
    start = time.perf_counter()
    spent = [0.0] * len(choosers)
    with crew(workers) as threads:
        arena = Arena(problem, horizon, threads)
        values = [arena.take(layer_size(problem.arms, horizon)) for _ in choosers]
        for value in values:
            value[:] = 0.0
        shared = time.perf_counter() - start
        for made in range(horizon - 1, -1, -1):
            begin = time.perf_counter()
            layer = arena.descend(made, reach)
            shared += time.perf_counter() - begin
            for k, chooser in enumerate(choosers):
                begin = time.perf_counter()
                values[k] = _step_down(arena, layer, chooser, values[k])
                spent[k] += time.perf_counter() - begin
            if progress is not None:
                progress(horizon - made, horizon)
        root = arena.weights(0)
    spent[0] += shared
    scale = float(root[0]) if len(root) else 1.0
    largest = largest_reward(problem)
    totals = [float(value[0]) / scale for value in values]
    return [Evaluation(total, largest - total, s) for total, s in zip(totals, spent, strict=True)]


def _step_down(arena: Arena, layer: Layer, chooser: Chooser | Mixture, values: FloatArray) -> FloatArray:
    """Return the policy's worth in every state of `layer` from that of the next; `values` is given back."""
    from elsv.planning._lattice_kernels import follow, mix

    rewards, prior = arena.problem.rewards, arena.problem.prior
    weights = arena.weights(layer.made + 1)
    out = arena.take(layer.size)
    if hasattr(chooser, "shares"):
        shares = chooser.shares(arena, layer)
        arena.sweep(layer, lambda blocks: mix(values, weights, *blocks, rewards, prior, shares, out))
    else:
        actions = np.empty(layer.size, np.uint8)
        chooser.choose(arena, layer, actions)
        arena.sweep(layer, lambda blocks: follow(values, weights, *blocks, rewards, prior, actions, out))
    arena.give(values)
    return out


def _cost(problem: Problem, choosers: Sequence[Chooser | Mixture], reach: int) -> Cost:
    """Return what it takes: an array for each policy, a few to work in, the weights of `reach` layers."""
    mixtures = sum(hasattr(chooser, "shares") for chooser in choosers)
    arrays = len(choosers) + 4 + 2 * problem.arms * mixtures
    if problem.order is not None:
        arrays += min(reach, horizon_of(problem)) + 1
    return estimate(problem, arrays)
