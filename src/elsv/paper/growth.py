r"""What grows how fast: the cost of the separable value (claim C2), the regret of ELSV-UCB(2) (claim C7).

The value takes :math:`O(t^2)` a step and :math:`O(t^3)` for all, whatever N. Cells are counted, by an index
that counts the states it is asked for: every cell of υ takes one bonus. Times are measured beside that and
are not part of the verdict.

By Theorem 1 ELSV-UCB(2) is the index policy UCB(2) on plain bandits; long runs use the index. The growth of
regret is the slope of log regret on :math:`\log\sqrt{T \log T}`, which Theorem 2 bounds by 1 for large T.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elsv._base.typing import FloatArray, IntArray
from elsv.indices import index_from_name, make_index
from elsv.paper.base import Context, Drawing, Experiment, Outcome, Simulation, Table, columns_of
from elsv.paper.claims import all_of, at_most, claim_in, words
from elsv.policies import make_policy
from elsv.problem import Problem
from elsv.report import figures
from elsv.state import State
from elsv.values import SeparableValue

_MARGIN, _REGRET_MARGIN = 0.1, 0.05
Curves = dict[str, tuple[FloatArray, FloatArray]]  # label: mean regret and half-width, [T] each
_POLICY, _BOTH = "ucb:scale=2", "ELSV-UCB(2)"


@dataclass(frozen=True)
class CostSettings:
    """Steps and numbers of arms to count and to time."""

    steps: tuple[int, ...] = (50, 100, 200, 400, 800)
    arms: tuple[int, ...] = (1, 3, 10, 100, 1000)
    arms_step: int = 400
    repeats: int = 5


def cost(settings: CostSettings, context: Context) -> Outcome:
    """Count the cells, time the code, fit the slopes."""
    steps, arms, at = settings.steps, settings.arms, settings.arms_step
    one, every = [cells_of(step, 3) for step in steps], [cells_of(step, 1, every=True) for step in steps]
    by_arms = [cells_of(at, n) for n in arms]
    slopes = {"one_step": slope(steps, one), "all_steps": slope(steps, every)}
    context.progress(0.5)
    timed = {
        "one_step": (steps, [_seconds(step, 3, settings.repeats) for step in steps]),
        "all_steps": (steps, [_seconds(step, 1, every=True) for step in steps]),
        "arms": (arms, [_seconds(at, n, settings.repeats) for n in arms]),
    }
    timing: dict[str, Any] = {f"seconds_{name}": seconds for name, (_, seconds) in timed.items()}
    timing |= {f"slope_{name}": slope(*points) for name, points in timed.items()}
    as_said = (abs(slopes["one_step"] - 2) <= _MARGIN, abs(slopes["all_steps"] - 3) <= _MARGIN)
    flat = len(set(by_arms)) == 1
    figure = figures.lines(
        steps,
        {"one step": one, "all steps up to t": every},
        x_label="step t",
        y_label="cells updated",
        log_x=True,
        log_y=True,
        markers=True,
        height=3.0,
    )
    rows = [
        ["one step, against t", "2", f"{slopes['one_step']:.3f}", f"{timing['slope_one_step']:.2f}"],
        ["all steps, against t", "3", f"{slopes['all_steps']:.3f}", f"{timing['slope_all_steps']:.2f}"],
        ["one step, against N", "0", "equal" if flat else "not equal", f"{abs(timing['slope_arms']):.2f}"],
    ]
    said: dict[str, Any] = {
        "steps": steps, "last_step": steps[-1], "arms": arms, "last_arm": arms[-1], "slopes": slopes,
        "cells": by_arms[0], "at": at,
    }  # fmt: skip
    heads = ["cost", "paper", "slope of counts", "slope of run times"]
    return Outcome(
        text=words("cost", "text"),
        numbers={
            "steps": list(steps),
            "cells_one_step": one,
            "cells_all_steps": every,
            "arms": list(arms),
            "cells_by_arms": by_arms,
            "slopes": slopes,
        },
        drawings=[Drawing("cells", figure, words("cost", "drawn"))],
        tables=[Table(heads, rows, words("cost", "table", **said))],
        claims=[claim_in("cost", "C2", all_of([*as_said, flat]), margin=_MARGIN, **said)],
        timing=timing,
    )


def _build(index: Any, step: int, arms: int, every: bool) -> None:
    """Build υ of the lookahead at `step`, or at `every` step up to it."""
    value = SeparableValue(Problem(rewards=[1.0] * arms, horizon=step), index)
    for t in range(1 if every else step, step + 1):
        value.table(t + 1)


def cells_of(step: int, arms: int, every: bool = False) -> int:
    """Return the cells updated for υ of the lookahead at `step`, or at `every` step up to it."""
    cells = []

    def counted(alpha: FloatArray, beta: FloatArray, step: int) -> FloatArray:
        """Return an index like UCB; nothing of it is reused between steps, as in Algorithm 3."""
        cells.append(alpha.size)
        counts = alpha + beta
        return np.asarray(alpha / counts + np.sqrt(np.log(step) / counts))

    _build(make_index(counted), step, arms, every)
    return sum(cells)


def _seconds(step: int, arms: int, repeats: int = 1, every: bool = False) -> float:
    """Return the least seconds of this thread, since others may run beside it."""
    index, took = index_from_name("ucb:count_prior=true"), []
    for _ in range(repeats):
        began = time.thread_time()
        _build(index, step, arms, every)
        took.append(time.thread_time() - began)
    return min(took)


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the least-squares slope of log y on log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


@dataclass(frozen=True)
class Settings:
    """Plain bandits of growing difficulty; the slope is fitted from `fit_from` on."""

    horizon: int = 4000
    fit_from: int = 400
    prior_arms: int = 3
    prior_instances: int = 2048
    gaps: tuple[float, ...] = (0.05, 0.1, 0.15, 0.2, 0.3, 0.5)  # two arms, means ½ ± gap/2
    gap_instances: int = 512
    agreement_instances: int = 512
    agreement_horizon: int = 200


def run(settings: Settings, context: Context) -> Outcome:
    """Check the equivalence, run long, fit the slopes."""
    prior, worst = "uniform prior, 3 arms", "worst gap at each T"
    short = Problem(rewards=[1.0] * settings.prior_arms, horizon=settings.agreement_horizon)
    both_ways = {_BOTH: "elsv:index=ucb,scale=2", "UCB(2)": _POLICY}
    cases = {
        _BOTH: Simulation(short, both_ways, settings.agreement_instances),
        prior: _long_run(settings, settings.prior_arms, settings.prior_instances),
    }
    for gap in settings.gaps:
        means = {"means": [[0.5 + gap / 2, 0.5 - gap / 2]]}
        cases[f"gap {gap:g}"] = _long_run(settings, 2, settings.gap_instances, means)
    found = context.compare_all(cases)
    both = found.pop(_BOTH)
    agreement = {
        "instances": both.instances,
        "horizon": both.horizon,
        "difference": float(np.abs(both[_BOTH].mean - both["UCB(2)"].mean).max()),
    }
    curves: Curves = {label: (c["UCB(2)"].mean, c["UCB(2)"].ci95) for label, c in found.items()}
    by_gap = np.array([curve for label, curve in curves.items() if label != prior])  # [gap, 2, T]
    largest = np.argmax(by_gap[:, 0], axis=0)
    means, halves = (by_gap[largest, k, np.arange(settings.horizon)] for k in (0, 1))
    curves[worst] = means, halves
    fits = {label: fitted_slope(*curves[label], settings.fit_from) for label in (prior, worst)}
    upper, bound = max(slope + half for slope, half in fits.values()), 1 + _REGRET_MARGIN
    slopes = "; ".join(f"{label}: {slope:.3f} ± {half:.3f}" for label, (slope, half) in fits.items())
    said = {"s": settings, "slopes": slopes, "faster": "no faster" if upper <= bound else "faster"}
    return Outcome(
        text=words("growth", "text", **agreement),
        numbers={
            "agreement": agreement,
            "slopes": {label: {"slope": slope, "half_width": half} for label, (slope, half) in fits.items()},
            "final_regret": {label: float(curve[-1]) for label, (curve, _) in curves.items()},
        },
        drawings=[_drawing(settings, {label: curves[label] for label in fits})],
        tables=[_table(settings, curves, fits)],
        claims=[claim_in("growth", "C7", at_most(upper, bound), margin=_REGRET_MARGIN, **said)],
        columns=columns_of(found),
    )


def fitted_slope(curve: FloatArray, half: FloatArray, begin: int) -> tuple[float, float]:
    """Return the slope of log regret on log √(T log T) from step `begin` on, and its 95 % half-width.

    The half-width takes the errors at both ends as independent; they rise and fall together, so it is wide.
    """
    t = np.unique(np.rint(np.geomspace(begin, len(curve), 40)).astype(int))
    scale = 0.5 * np.log(t * np.log(t))
    slope = float(np.polyfit(scale, np.log(curve[t - 1]), 1)[0])
    ends = half[t[[0, -1]] - 1] / curve[t[[0, -1]] - 1]
    return slope, float(np.hypot(*ends) / (scale[-1] - scale[0]))


def _long_run(
    settings: Settings, arms: int, instances: int, options: Mapping[str, Any] | None = None
) -> Simulation:
    problem = Problem(rewards=[1.0] * arms, horizon=settings.horizon)
    policy = make_policy(_POLICY, problem)

    def state_by_state(state: State, step: int, rng: np.random.Generator) -> IntArray:
        """Score the states at hand: tables of all states would grow with the square of the step."""
        return policy(state, step, rng)

    return Simulation(problem, {"UCB(2)": state_by_state}, instances, instances, options or {})


def _drawing(settings: Settings, curves: Curves) -> Drawing:
    t = np.unique(np.rint(np.geomspace(10, settings.horizon, 120)).astype(int))
    shape = np.sqrt(t * np.log(t))
    bound = float(max(mean[-1] for mean, _ in curves.values())) * shape / shape[-1]
    figure = figures.lines(
        t,
        {**{label: mean[t - 1] for label, (mean, _) in curves.items()}, "√(T log T), scaled": bound},
        {label: half[t - 1] for label, (_, half) in curves.items()},
        x_label="horizon T",
        y_label="regret",
        log_x=True,
        log_y=True,
        height=3.2,
    )
    gaps = ", ".join(map(str, settings.gaps))
    return Drawing("slopes", figure, words("growth", "drawn", s=settings, gaps=gaps))


def _table(settings: Settings, curves: Curves, fits: Mapping[str, tuple[float, float]]) -> Table:
    marks = [settings.horizon // 100, settings.horizon // 10, settings.horizon]
    rows = []
    for label, (mean, half) in curves.items():
        regrets = [f"{mean[t - 1]:.1f} ± {half[t - 1]:.1f}" for t in marks]
        rows.append([label, *regrets, "{:.3f} ± {:.3f}".format(*fits[label]) if label in fits else None])
    heads = ["bandit", *(f"T = {t:,}" for t in marks), "growth"]
    return Table(heads, rows, words("growth", "table", s=settings))


COST = Experiment(
    "cost",
    "Cost of the separable value (Proposition 1)",
    cost,
    CostSettings(),
    CostSettings(steps=(50, 100, 200, 400), arms=(1, 3, 100), arms_step=200, repeats=3),
    weight=1,
)
EXPERIMENT = Experiment(
    "growth",
    "Growth of regret (Theorem 2)",
    run,
    Settings(),
    Settings(
        horizon=1000,
        fit_from=100,
        prior_instances=512,
        gaps=(0.1, 0.2, 0.4),
        gap_instances=256,
        agreement_instances=256,
        agreement_horizon=60,
    ),
    weight=3,
)
