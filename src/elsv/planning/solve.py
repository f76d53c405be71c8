r"""The Bayes-optimal policy by backward induction over the lattice of states (past the paper).

.. math::

    V_{T+1} = 0, \qquad V_t(s) = \max_i\; p_i(s)\,(r_i + V_{t+1}(s{+}\text{success}_i))
        + (1-p_i(s))\,V_{t+1}(s{+}\text{failure}_i)

Independent arms need V alone. With an order, :math:`p_i(s) = W(s{+}\text{success}_i)/W(s)`, and with
:math:`Y = W V` there is no division:
:math:`Y(s) = \max_i\,[r_i W(s{+}\text{success}_i) + Y(s{+}\text{success}_i) + Y(s{+}\text{failure}_i)]`.
A layer overwrites the one after it, so one array of the last layer's size is all the memory it takes (two
with an order).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from elsv._typing import AnyArray, FloatArray
from elsv.beliefs import Chain
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.planning._sweeps import Cascade, Progress, Work, available_memory, cores
from elsv.planning.arena import blocks_of
from elsv.planning.forward import expected_rewards
from elsv.planning.lattice import Lattice, Layer, layer_size, states_up_to
from elsv.planning.optimal import Actions, pack
from elsv.planning.weights import layer_weights
from elsv.problem import Problem
from elsv.state import State

_NANOSECONDS = 4.0  # for one state and arm on one core: the estimate of how long it will take


@dataclass(frozen=True)
class Cost:
    """What a solution takes: known before it starts."""

    states: int  # of all layers
    bytes: int  # largest memory at one time
    seconds: float  # roughly


@dataclass(frozen=True)
class Solution:
    r"""The Bayes-optimal value of a problem, exact up to rounding (and quadrature at 1e-12).

    `value` is the expected reward over the horizon, `regret` is :math:`T\,E[\max_i r_i\mu_i]` minus it.
    """

    value: float
    regret: float
    scores: FloatArray  # [N], expected reward when arm i is pulled first and the optimum follows
    actions: tuple[int, ...]  # every first arm that is optimal, from 0
    states: int
    bytes: int
    seconds: float
    policy: Actions | None = field(default=None, repr=False)  # the optimal arm of every state, if kept
    rewards: FloatArray | None = field(default=None, repr=False)  # [T], expected at each step, if all kept


def horizon_of(problem: Problem) -> int:
    """Return T, or raise if the problem is discounted."""
    if problem.horizon is None:
        raise InvalidInputError(
            f"exact solutions need a horizon, got discount={problem.discount}; "
            f"give horizon=T, such as {round(1 / (1 - (problem.discount or 0)))} (1/(1 - discount))"
        )
    return problem.horizon


def estimate(problem: Problem, arrays: int | None = None, keep: int = 0) -> Cost:
    """Return what solving takes, with `arrays` of the last layer's size and the actions of `keep` steps."""
    horizon, arms = horizon_of(problem), problem.arms
    held = arrays if arrays is not None else 1 if problem.order is None else 2
    states = states_up_to(arms, horizon - 1)
    kept = layer_size(arms, max(keep - 1, 0)) if keep else 0
    room = 8 * held * layer_size(arms, horizon) + kept
    if problem.order is not None:
        room += 1 << 29 if layer_size(arms, horizon) > 1 << 22 else 0
    return Cost(states, room, 1e-9 * _NANOSECONDS * arms * states / cores())


def check_memory(cost: Cost, memory: int | None = None) -> None:
    """Raise if `cost` does not fit into `memory` bytes (default: what is available)."""
    limit = available_memory() if memory is None else memory
    if limit is not None and cost.bytes > limit:
        raise InvalidInputError(
            f"{cost.states:,} states need {cost.bytes / 1e9:,.1f} GB and about {cost.seconds:,.0f} s; "
            f"{limit / 1e9:,.1f} GB are available; use a shorter horizon, or simulate instead (elsv compare)"
        )


def solve(
    problem: Problem,
    *,
    save: str | Path | None = None,
    keep: int | None = None,
    memory: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Return the Bayes-optimal value and, if asked for, the optimal arm of every state.

    Parameters
    ----------
    problem
        Must have a horizon.
    save
        File for the optimal arms of the steps 1 … `keep`, for `elsv.planning.optimal.OptimalPolicy`.
    keep
        Keep the optimal arms up to this step; default: all steps with `save`, none without.
    memory
        Bytes that may be used; default: what is available.
    workers
        Threads; default: one for each core.
    progress
        Called with (layers done, layers in all).

    Examples
    --------
    >>> round(solve(Problem(rewards=[1, 1], horizon=10)).value, 6)
    6.021786
    """
    from elsv._choice_kernels import least_tied

    horizon = horizon_of(problem)
    last = _check_keep(keep, save, horizon)
    cost = estimate(problem, keep=last)
    check_memory(cost, memory)
    start = time.perf_counter()
    scores, kept = _backward(problem, horizon, last, cores(workers), progress or (lambda done, total: None))
    value = float(scores.max())
    actions = Actions(problem, kept) if last else None
    if actions is not None and save is not None:
        actions.save(save)
    return Solution(
        value=value,
        regret=largest_reward(problem) - value,
        scores=scores,
        actions=tuple(np.flatnonzero(scores >= least_tied(value, problem.scale)).tolist()),
        states=cost.states,
        bytes=cost.bytes,
        seconds=time.perf_counter() - start,
        policy=actions,
        rewards=expected_rewards(actions) if actions is not None and last == horizon else None,
    )


def largest_reward(problem: Problem) -> float:
    r"""Return :math:`T\,E[\max_i r_i \mu_i]`, what one who knew the means would earn."""
    if problem.order is None:
        return horizon_of(problem) * _independent_best(problem)
    _, best = Chain(problem.order, tolerance=1e-12).best(State.initial(problem), problem.rewards)
    return horizon_of(problem) * float(best)


def _independent_best(problem: Problem) -> float:
    r"""Return :math:`E[\max_i r_i\mu_i] = \int 1 - \prod_i I_{v/r_i}(\alpha_i, \beta_i)\,dv` to 1e-13.

    Each piece between two rewards is mapped by :math:`v = \sigma(2 \sinh u)`, which leaves nothing of the
    powers at its ends, and the trapezoidal rule is refined until it stands still.
    """
    from scipy.special import betainc, expit

    alpha, beta = problem.prior.T[:, :, None]
    edges = np.concatenate([[0.0], np.unique(problem.rewards)])
    total, points = 0.0, 64
    while True:
        u, step = np.linspace(-4.0, 4.0, points, retstep=True)
        share = expit(2 * np.sinh(u))
        rate = step * 2 * np.cosh(u) * share * expit(-2 * np.sinh(u))
        before, total = total, 0.0
        for low, high in pairwise(edges):
            below = betainc(
                alpha, beta, np.minimum((low + (high - low) * share) / problem.rewards[:, None], 1.0)
            )
            total += float((high - low) * (rate @ (1.0 - below.prod(axis=0))))
        if abs(total - before) <= 1e-13 * total or points > 1 << 15:
            return total
        points *= 2


def _check_keep(keep: int | None, save: str | Path | None, horizon: int) -> int:
    if keep is None:
        return 0 if save is None else horizon
    if not 1 <= keep <= horizon:
        raise InvalidInputError(f"keep must be a step from 1 to the horizon {horizon}, got {keep}")
    return keep


def _backward(
    problem: Problem, horizon: int, keep: int, workers: int, progress: Progress
) -> tuple[FloatArray, dict[int, bytes]]:
    """Return q of every arm at the root, and the packed actions of the steps 1 … `keep`."""
    from elsv.planning._lattice_kernels import maximise

    lattice = Lattice(problem.arms, horizon)
    values = np.zeros(layer_size(problem.arms, horizon))
    weights = np.empty(0)
    if problem.order is not None:
        weights = layer_weights(problem, lattice, horizon, workers)
    kept: dict[int, bytes] = {}

    def sweep_of(layer: Layer) -> Work:
        actions: AnyArray = np.empty(layer.size if layer.step <= keep else 0, np.uint8)

        def work(begin: int, end: int) -> None:
            blocks = blocks_of(layer, begin, end)
            maximise(values, weights, *blocks, problem.rewards, problem.prior, values, actions)
            if len(actions) and end == len(layer.pulls):
                kept[layer.step] = pack(actions)

        return work

    overwrite_layers(lattice, weights, sweep_of, workers, progress)
    scores = _root(problem, lattice, values, weights)
    if keep:
        kept[1] = pack(np.array([best_arm(scores, problem.scale)], dtype=np.uint8))
    return scores, kept


def overwrite_layers(
    lattice: Lattice,
    weights: FloatArray,
    sweep_of: Callable[[Layer], Work],
    workers: int,
    progress: Progress,
) -> None:
    """Sweep over the layers T - 1 … 1, each in the place of the next one, and so `weights` unless empty."""
    from elsv.planning._lattice_kernels import add_weights

    def stage(made: int) -> tuple[Layer, Work]:
        layer = lattice.layer(made)
        sweep = sweep_of(layer)

        def work(begin: int, end: int) -> None:
            sweep(begin, end)
            if len(weights):
                add_weights(weights, *blocks_of(layer, begin, end), weights)

        return layer, work

    Cascade(lattice.most - 1, stage, progress).run(workers)


def _root(problem: Problem, lattice: Lattice, values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return q of every arm before the first pull, from layer 1."""
    lost = lattice.layer(0).after[0]
    if not len(weights):
        p = problem.prior[:, 0] / problem.prior.sum(axis=1)
        return np.asarray(p * (problem.rewards + values[lost + 1]) + (1 - p) * values[lost])
    worth = problem.rewards * weights[lost + 1] + values[lost + 1] + values[lost]
    return np.asarray(worth / (weights[lost + 1] + weights[lost]))
