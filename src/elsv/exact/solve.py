r"""The Bayes-optimal policy by backward induction over the lattice of states (past the paper).

.. math::

    V_{T+1} = 0, \qquad V_t(s) = \max_i\; p_i(s)\,(r_i + V_{t+1}(s{+}\text{success}_i))
        + (1-p_i(s))\,V_{t+1}(s{+}\text{failure}_i)

Independent arms need V alone. With an order, :math:`p_i(s) = W(s{+}\text{success}_i)/W(s)`, and with
:math:`Y = W V` there is no division:
:math:`Y(s) = \max_i\,[r_i W(s{+}\text{success}_i) + Y(s{+}\text{success}_i) + Y(s{+}\text{failure}_i)]`.
Where customers come from segments, the maximum is :math:`\sum_g q_g(s) \max_{i \in A_g}`, over the arms on
offer to each. A layer overwrites the one after it, so one array of the last layer's size is all the memory it
takes (two with an order).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from elsv._base.files import check_writable
from elsv._base.html import block, note, table
from elsv._base.machine import cores, jobs_of
from elsv._base.numbers import duration
from elsv._base.progress import Progress, silent, watched
from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs.abilities import best_in_groups, precise
from elsv.errors import InvalidInputError, UnsavedError
from elsv.exact.cuda.sweeps import check_device
from elsv.exact.passes import SHORTER, check_memory, estimate, layers_share, weights_of
from elsv.lattice.numbering import Lattice, Layer, layer_size
from elsv.lattice.sweeps import best_step, overwrite_layers, spread
from elsv.lattice.workers import Work
from elsv.policies.optimal import Actions, best_of_each, pack
from elsv.problem import Problem
from elsv.segments import Segments
from elsv.state import State

_FINEST = 1e-12  # error of E[max], which regret is measured from


@dataclass(frozen=True, repr=False)
class Solution:
    r"""The Bayes-optimal value of a problem, exact up to rounding (and quadrature at 1e-12).

    `value` is the expected reward over the horizon, `regret` is :math:`T\,E[\max_i r_i\mu_i]` minus it.
    """

    value: float
    regret: float
    scores: FloatArray  # [N], expected reward when arm i is pulled first and the optimum follows
    actions: tuple[int, ...]  # every first arm that is optimal (for its segment), from 0
    states: int
    bytes: int
    seconds: float
    policy: Actions | None = field(default=None, repr=False)  # the optimal arm of every state, if kept
    rewards: FloatArray | None = field(default=None, repr=False)  # [T], expected at each step, if all kept
    names: tuple[str, ...] = field(default=(), repr=False)  # of the arms
    segments: Segments = field(default=Segments.everyone(0), repr=False)

    def __repr__(self) -> str:
        first = self.in_words()
        return f"Solution(value={self.value:.9g}, regret={round(self.regret, 12):.9g}, first={first!r})"

    def in_words(self) -> str:
        """Return the optimal first arms in words, for each segment if there are some."""
        said = []
        for name, arms in zip(self.segments.names or ("",), self.segments.groups, strict=True):
            best = " or ".join(self._name(arm) for arm in self.actions if arm in arms)
            said.append(f"{name}: {best}" if name else best)
        return "; ".join(said)

    def __str__(self) -> str:
        from elsv.report.terminal import solution_text

        return solution_text(self, duration(self.seconds))

    @property
    def first(self) -> tuple[str, ...]:
        """The names of the arms that are optimal to pull first."""
        return tuple(map(self._name, self.actions))

    def _repr_html_(self) -> str:
        """Return value and regret, and what each first arm leads to, for notebooks."""
        shown = [("value", f"{self.value:.9g}"), ("regret", f"{round(self.regret, 12):.9g}")]
        shown += [("states", f"{self.states:,}"), ("time", duration(self.seconds))]
        rows = [[self._name(arm), f"{score:.9g}"] for arm, score in enumerate(self.scores.tolist())]
        comes = "its segment comes first, " if self.segments.names else ""
        rest = note(
            f"Expected reward over the horizon if {comes}this arm is pulled first and the optimum follows."
        )
        chosen = table(["first arm", "expected reward"], rows, chosen=self.actions)
        return block("Bayes optimum", table((), shown, "ll"), chosen, rest)

    def _name(self, arm: int) -> str:
        return self.names[arm] if self.names else f"arm {arm + 1}"

    def plot(self, ax: Any = None, *, kind: Literal["arms", "steps"] = "arms") -> Any:
        """Draw on a matplotlib Axes with the user's own settings and return it (extra ``plot``).

        Either what each first arm leads to if the optimum follows, the optimal ones filled, or the expected
        reward by step, which needs ``solve(keep=…)`` of all steps.
        """
        from elsv.report.plots import plot_arms, plot_steps

        if kind == "steps":
            if self.rewards is None:
                raise InvalidInputError(
                    "kind='steps' needs the actions of all steps: solve(problem, keep=horizon)"
                )
            return plot_steps({"optimum": self.rewards}, ax, y_label="expected reward")
        if kind != "arms":
            raise InvalidInputError(f"kind must be 'arms' or 'steps', got {kind!r}")
        names = [self._name(i) for i in range(len(self.scores))]
        label = "expected reward if this arm is pulled first"
        shown = [f"{score:.4f}" for score in self.scores]
        return plot_arms(names, self.scores, ax, x_label=label, best=self.actions, numbers=shown)


def solve(
    problem: Problem,
    *,
    horizon: int | None = None,
    save: str | Path | None = None,
    keep: int | None = None,
    memory: int | None = None,
    jobs: int | None = None,
    workers: int | None = None,
    progress: Progress | bool | None = None,
    at_most: float | str | None = None,
    device: str = "cpu",
) -> Solution:
    """Return the Bayes-optimal value and, if asked for, the optimal arm of every state.

    Parameters
    ----------
    problem
        Must have a horizon, unless one is given.
    horizon
        Replaces the problem's horizon (or discount).
    save
        File for the optimal arms of the steps 1 … `keep`, for `elsv.policies.optimal.OptimalPolicy`. It is
        tried before the work begins; should writing fail all the same, the `UnsavedError` has the solution
        as its `result`.
    keep
        Keep the optimal arms up to this step; default: all steps with `save`, none without.
    memory
        Bytes that may be used; default: what is available.
    jobs
        Threads; default: one for each core. `workers` is the same.
    progress
        Called with (layers done, layers in all). None: a bar in a notebook, a line on a terminal if it
        takes long; True: a bar there too; False: none.
    at_most
        Seconds, or text such as ``"10min"``: a run that is seen to take longer, by the layers that have run,
        ends with `elsv.errors.TooLongError`.
    device
        ``"cuda"``: on a GPU (extra ``gpu``), for two and three arms, independent or in an order; keeps no
        arms.

    Examples
    --------
    >>> round(solve(Problem(rewards=[1, 1], horizon=10)).value, 6)
    6.021786
    """
    if horizon is not None:
        problem = problem.with_horizon(horizon)
    threads, last = cores(jobs_of(jobs, workers)), 0
    if check_device(device):
        from elsv.exact.cuda.run import root_scores, solve_cost
        from elsv.exact.cuda.sweeps import find_device

        if save is not None or keep is not None:
            raise InvalidInputError("device='cuda' keeps no arms; use device='cpu' with save or keep")
        card = find_device(memory)
        cost = solve_cost(problem, card)
    else:
        last = _last_kept(keep, save, problem.steps)
        cost = estimate(problem, last)
        check_memory(cost, memory)
        if save is not None:
            check_writable(save)
    share = partial(layers_share, problem.arms)
    kept: dict[int, bytes] = {}
    start = time.perf_counter()
    with watched(progress, "solving", share=share, at_most=at_most, remedy=SHORTER) as report:
        if device == "cuda":
            scores = root_scores(problem, card, report or silent)
        else:
            scores, kept = _backward(problem, last, threads, report or silent)
    seconds = time.perf_counter() - start
    actions = Actions(problem, kept) if last else None
    value, first = _first(problem, scores)
    solution = Solution(
        value=value,
        regret=largest_reward(problem) - value,
        scores=scores,
        actions=first,
        states=cost.states,
        bytes=cost.bytes,
        seconds=seconds,
        policy=actions,
        rewards=_expected_rewards(actions) if actions is not None and last == problem.steps else None,
        names=problem.names,
        segments=problem.segments,
    )
    if actions is not None and save is not None:
        try:
            actions.save(save)
        except InvalidInputError as error:
            raise UnsavedError(str(error), solution) from error
    return solution


def _last_kept(keep: int | None, save: str | Path | None, horizon: int) -> int:
    """Return the last step whose arms are kept; 0: none are."""
    if keep is None:
        return 0 if save is None else horizon
    if not 1 <= keep <= horizon:
        raise InvalidInputError(f"keep must be a step from 1 to the horizon {horizon}, got {keep}")
    return keep


def _first(problem: Problem, scores: FloatArray) -> tuple[float, tuple[int, ...]]:
    """Return the value before the first pull, and every arm that is optimal then (for its segment)."""
    from elsv._choice_kernels import least_of

    segments = problem.segments
    largest = np.array([scores[list(arms)].max() for arms in segments.groups])
    least = np.array([least_of(score, problem.scale) for score in largest.tolist()])
    first = tuple(np.flatnonzero(scores >= least[segments.of_arm]).tolist())
    return float(segments.chances(np.zeros(problem.arms)) @ largest), first


def largest_reward(problem: Problem) -> float:
    r"""Return :math:`T\,E[\max_i r_i \mu_i]`, what one who knew the means would earn.

    With segments it is that of each, times its share, :math:`T \sum_g q_g E[\max_{i \in A_g} r_i \mu_i]`.
    """
    return float(sum(largest_by_segment(problem)))


def largest_by_segment(problem: Problem) -> FloatArray:
    """Return what one who knew the means would earn from every segment, ``[G]``."""
    belief, state = precise(problem.belief), State.initial(problem)
    _, each = best_in_groups(belief, state, problem.rewards, problem.segments.groups, _FINEST)
    return np.asarray(problem.steps * problem.segments.chances(np.zeros(problem.arms)) * each)


def _backward(
    problem: Problem, keep: int, workers: int, progress: Progress
) -> tuple[FloatArray, dict[int, bytes]]:
    """Return q of every arm at the root, and the packed actions of the steps 1 … `keep`."""
    horizon = problem.steps
    lattice = Lattice(problem.arms, horizon)
    values = np.zeros(layer_size(problem.arms, horizon))
    weights = weights_of(problem, problem.belief, lattice, horizon, workers)
    kept: dict[int, bytes] = {}

    def sweep_of(layer: Layer) -> Work:
        states = layer.size if layer.step <= keep else 0
        actions: AnyArray = np.empty((problem.segments.count, states), np.uint8)
        step = best_step(problem, actions)

        def work(begin: int, end: int) -> None:
            step(values, values, weights, layer, begin, end)
            if states and end == len(layer.pulls):
                kept[layer.step] = pack(actions)

        return work

    overwrite_layers(problem, lattice, weights, sweep_of, workers, progress)
    lost = lattice.layer(0).after[0]
    won = lost + 1
    if len(weights):
        worth = problem.rewards * weights[won] + values[won] + values[lost]
        scores = np.asarray(worth / (weights[won] + weights[lost]))
    else:
        p = problem.prior[:, 0] / problem.prior.sum(axis=1)
        scores = np.asarray(p * (problem.rewards + values[won]) + (1 - p) * values[lost])
    if keep:
        kept[1] = pack(best_of_each(problem, scores))
    return scores, kept


def _expected_rewards(actions: Actions) -> FloatArray:
    r"""Return the expected reward of the steps 1 … T, shape ``[T]``, by following the arms forward.

    The number K(s) of ways in which the policy can reach a state grows by
    :math:`K(s{+}\text{outcome of } a(s)) \mathrel{+}= K(s)`, and :math:`K W / W(s_0)` is the probability of
    being there. Without an order the probability itself is passed on.
    """
    problem = actions.problem
    lattice = Lattice(problem.arms, actions.steps)
    expected, paths = np.empty(actions.steps), np.ones(1)
    weights = weights_of(problem, problem.belief, lattice, 0)
    scale = float(weights[0]) if len(weights) else 1.0
    for made in range(actions.steps):
        later = np.zeros(layer_size(problem.arms, made + 1))
        weights = weights_of(problem, problem.belief, lattice, made + 1)
        arms = actions.by_segment(made + 1)
        expected[made] = spread(paths, weights, lattice.layer(made), problem, arms, later) / scale
        paths = later
    return expected
