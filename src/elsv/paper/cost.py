r"""What the separable value costs: :math:`O(t^2)` a step, :math:`O(t^3)` for all, whatever N (claim C2).

Cells are counted, by an index that counts the states it is asked for: every cell of υ takes one bonus. Times
are measured beside that and are not part of the verdict.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from elsv._base.typing import FloatArray
from elsv.indices import Setting, index_from_name
from elsv.paper.base import Context, Drawing, Experiment, Outcome, Table
from elsv.paper.claims import Claim, all_of
from elsv.problem import Problem
from elsv.report import figures
from elsv.values import SeparableValue

_MARGIN = 0.1


@dataclass(frozen=True)
class Settings:
    """Steps and numbers of arms to count and to time."""

    steps: tuple[int, ...] = (50, 100, 200, 400, 800)
    arms: tuple[int, ...] = (1, 3, 10, 100, 1000)
    arms_step: int = 400
    repeats: int = 5


@dataclass
class Counting:
    """An index that counts the states it is asked for."""

    cells: int = field(default=0)

    @property
    def uses_step(self) -> bool:
        """It may: nothing is reused between steps, as in Algorithm 3."""
        return True

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return a UCB-like index."""
        self.cells += alpha.size
        counts = np.add(alpha, beta)
        value: FloatArray = alpha / counts + np.sqrt(np.log(step) / counts)
        return value

    def prepare(self, setting: Setting, pulls: int) -> None:
        """Need nothing."""


def run(settings: Settings, context: Context) -> Outcome:
    """Count the cells, time the code, fit the slopes."""
    one = [cells_of_one(step, 3) for step in settings.steps]
    every = [cells_of_all(step) for step in settings.steps]
    by_arms = [cells_of_one(settings.arms_step, arms) for arms in settings.arms]
    slopes = {"one_step": slope(settings.steps, one), "all_steps": slope(settings.steps, every)}
    context.progress(0.5)
    seconds = {
        "one_step": [_time_one(step, 3, settings.repeats) for step in settings.steps],
        "all_steps": [_time_all(step) for step in settings.steps],
        "arms": [_time_one(settings.arms_step, arms, settings.repeats) for arms in settings.arms],
    }
    timing = {
        **{f"seconds_{name}": values for name, values in seconds.items()},
        "slope_one_step": slope(settings.steps, seconds["one_step"]),
        "slope_all_steps": slope(settings.steps, seconds["all_steps"]),
        "slope_arms": slope(settings.arms, seconds["arms"]),
    }
    as_said = (abs(slopes["one_step"] - 2) <= _MARGIN, abs(slopes["all_steps"] - 3) <= _MARGIN)
    verdict = all_of([*as_said, len(set(by_arms)) == 1])
    claim = Claim(
        "C2",
        "υₜ takes O(t²) operations, O(t³) for all steps, independent of the number of arms (Proposition 1 "
        "prints O(t³)).",
        f"cells updated grow as t^{slopes['one_step']:.3f} for one step and t^{slopes['all_steps']:.3f} for "
        f"all; {by_arms[0]:,} cells at t = {settings.arms_step} for {settings.arms[0]} arm and for "
        f"{settings.arms[-1]:,}",
        verdict,
        str(verdict),
        "Every state of one arm is visited once per step, and arms with equal priors share one table; "
        "K different priors need K tables.",
        f"log–log slopes of the counted cells within ± {_MARGIN} of 2 and 3, equal counts for every N",
    )
    return Outcome(
        text=(
            "The number of cells that a table of υ updates is counted by an index that counts the states it "
            "is asked for, with nothing reused between steps (an index that does not depend on t needs "
            "less: one new level of bonuses a step). Run times of the compiled code, with the same index, "
            "stand beside the counts."
        ),
        numbers={
            "steps": list(settings.steps),
            "cells_one_step": one,
            "cells_all_steps": every,
            "arms": list(settings.arms),
            "cells_by_arms": by_arms,
            "slopes": slopes,
        },
        drawings=[_drawing(settings, one, every)],
        tables=[_table(settings, slopes, by_arms, timing)],
        claims=[claim],
        timing=timing,
    )


def cells_of_one(step: int, arms: int) -> int:
    """Return the cells updated for υ of the lookahead at `step`."""
    index = Counting()
    SeparableValue(Problem(rewards=[1.0] * arms, horizon=step), index).table(step + 1)
    return index.cells


def cells_of_all(last: int) -> int:
    """Return the cells updated for υ of every step up to `last`."""
    index = Counting()
    value = SeparableValue(Problem(rewards=[1.0], horizon=last), index)
    for step in range(1, last + 1):
        value.table(step + 1)
    return index.cells


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """Return the least-squares slope of log y on log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _time_one(step: int, arms: int, repeats: int) -> float:
    problem = Problem(rewards=[1.0] * arms, horizon=step)
    index = index_from_name("ucb:count_prior=true")
    return min(_seconds(lambda: SeparableValue(problem, index).table(step + 1)) for _ in range(repeats))


def _time_all(last: int) -> float:
    value = SeparableValue(Problem(rewards=[1.0], horizon=last), index_from_name("ucb:count_prior=true"))

    def build() -> None:
        for step in range(1, last + 1):
            value.table(step + 1)

    return _seconds(build)


def _seconds(function: Callable[[], object]) -> float:
    began = time.thread_time()  # of this thread alone: others may run beside it
    function()
    return time.thread_time() - began


def _drawing(settings: Settings, one: Sequence[int], every: Sequence[int]) -> Drawing:
    figure = figures.lines(
        settings.steps,
        {"one step": one, "all steps up to t": every},
        x_label="step t",
        y_label="cells updated",
        log_x=True,
        log_y=True,
        markers=True,
        height=3.0,
    )
    return Drawing(
        "cells",
        figure,
        "Cells of υ updated for one step and for all steps up to t, counted; both axes logarithmic.",
    )


def _table(
    settings: Settings, slopes: dict[str, float], by_arms: Sequence[int], timing: dict[str, Any]
) -> Table:
    flat = "equal" if len(set(by_arms)) == 1 else "not equal"
    rows = [
        ["one step, against t", "2", f"{slopes['one_step']:.3f}", f"{timing['slope_one_step']:.2f}"],
        ["all steps, against t", "3", f"{slopes['all_steps']:.3f}", f"{timing['slope_all_steps']:.2f}"],
        ["one step, against N", "0", flat, f"{abs(timing['slope_arms']):.2f}"],
    ]
    return Table(
        ["cost", "paper", "slope of counts", "slope of run times"],
        rows,
        f"Log–log slopes; t from {settings.steps[0]} to {settings.steps[-1]}, N from {settings.arms[0]} to "
        f"{settings.arms[-1]:,}. Run times are those of this machine and run; fixed costs flatten them.",
        "lrrr",
    )


EXPERIMENT = Experiment(
    "cost",
    "Cost of the separable value (Proposition 1)",
    run,
    Settings(),
    Settings(steps=(50, 100, 200, 400), arms=(1, 3, 100), arms_step=200, repeats=3),
    weight=1,
)
