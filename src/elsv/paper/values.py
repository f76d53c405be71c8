r"""Figures 2 and 3 of the paper: what the separable values of Gittins and UCB look like (claim C9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from elsv._base import triangle
from elsv._base.typing import FloatArray
from elsv.indices import index_from_name
from elsv.paper.base import Context, Drawing, Experiment, Outcome, Table
from elsv.paper.claims import Claim, all_of
from elsv.problem import Problem
from elsv.report import figures
from elsv.values import SeparableValue


@dataclass(frozen=True)
class Settings:
    """Which values are drawn; the offset is 0 at `last`."""

    gittins: str = "gittins:discount=0.99"
    ucb: str = "ucb:count_prior=true"
    gittins_steps: tuple[int, ...] = (10, 200)
    ucb_step: int = 10
    horizon: int = 290

    @property
    def last(self) -> int:
        """The step whose value has offset 0: one past the horizon."""
        return self.horizon + 1


@dataclass(frozen=True)
class Shape:
    """How a value runs over the means of one level of pulls and over the levels."""

    u_shaped: int  # levels where υ falls, then rises with the mean, to 1 % of its range
    strictly: int  # those without any step against it
    levels: int  # levels looked at: from 2 pulls to t - 2
    sag: float  # how far the least υ of the middle level lies below the lower of its ends
    spread: float  # largest difference within a level
    rising: bool  # the level means grow with the pulls
    concave: bool  # and grow ever less


def run(settings: Settings, context: Context) -> Outcome:
    """Build the tables, measure their shapes, draw them as the paper does."""
    cases = [
        *((settings.gittins, step) for step in settings.gittins_steps),
        (settings.ucb, settings.ucb_step),
    ]
    problem = Problem(rewards=[1.0], horizon=settings.horizon)
    drawings, shapes, numbers, rows = [], {}, {}, []
    for k, (name, step) in enumerate(cases):
        value = SeparableValue(problem, index_from_name(name))
        table = value.table(step)
        offset = value.offset(step, settings.last)
        kind = name.partition(":")[0]
        shape = shapes[kind, step] = measure(table, step)
        numbers[f"{kind}-t{step}"] = {"offset": offset, **vars(shape)}
        rows.append(
            [f"{_TITLE[kind]}, t = {step}", f"{shape.u_shaped} of {shape.levels}",
                str(shape.strictly), f"{shape.sag:.3g}",
             f"{shape.spread:.2g}", "yes" if shape.rising else "no", "yes" if shape.concave else "no",
             f"{offset:.2f}"]
        )  # fmt: skip
        drawings.append(
            Drawing(f"{kind}-t{step}", _contours(table + offset, step), _caption(name, step, settings))
        )
        context.progress((k + 1) / len(cases))
    return Outcome(
        text=(
            "The separable value υ of one arm by what is known of it: the mean α/(α+β) across, the pulls n "
            "upwards, reward 1. At step t an arm has at most t − 1 pulls. A constant per step changes no "
            "policy; for the plots the paper adds the least one for which υₜ ≥ max(r + E[υₜ₊₁(S')], υₜ₊₁) "
            f"everywhere, here from 0 at step {settings.last}, past a horizon of {settings.horizon}, "
            "backwards."
        ),
        numbers=numbers,
        drawings=drawings,
        tables=[
            Table(
                [
                    "value",
                    "U-shaped levels",
                    "strictly",
                    "sag",
                    "spread in a level",
                    "rises with pulls",
                    "concave",
                    "offset",
                ],
                rows,
                "Shapes, from the tables. A level holds all states with the same number of pulls (2 to t − "
                "2); it is U-shaped if υ falls and then rises with the mean, steps the other way adding up "
                "to at most 1 % of its range; strictly: with none. Sag: how far the least value of the "
                "level of t/2 pulls lies below the lower of its two ends.",
                "lrrrrrrr",
            )
        ],
        claims=[_claim(settings, shapes)],
    )


_MOST = 0.8
_TITLE = {"gittins": "Gittins", "ucb": "UCB"}


def measure(table: FloatArray, step: int) -> Shape:
    """Return the shape of υ at `step`, a table in triangle order."""
    levels = [table[triangle.size(n) : triangle.size(n + 1)] for n in range(step)]
    inner = levels[2 : step - 1]
    middle = levels[max(2, step // 2)]
    steps = np.diff([float(level.mean()) for level in levels])
    return Shape(
        u_shaped=sum(falls_then_rises(level) for level in inner),
        strictly=sum(falls_then_rises(level, slack=0.0) for level in inner),
        levels=len(inner),
        sag=float(min(middle[0], middle[-1]) - middle.min()),
        spread=float(max(np.ptp(level) for level in levels)),
        rising=bool((steps > 0).all()),
        concave=bool((np.diff(steps) <= 1e-12).all()),
    )


def falls_then_rises(level: FloatArray, slack: float = 0.01) -> bool:
    """Return whether the numbers fall to a least one inside and rise after it.

    Steps the other way may add up to `slack` times their range.
    """
    bottom = int(np.argmin(level))
    against = (
        np.maximum(np.diff(level[: bottom + 1]), 0).sum() + np.maximum(-np.diff(level[bottom:]), 0).sum()
    )
    return 0 < bottom < len(level) - 1 and bool(against <= slack * np.ptp(level))


def _claim(settings: Settings, shapes: dict[tuple[str, int], Shape]) -> Claim:
    gittins = {step: shapes["gittins", step] for step in settings.gittins_steps}
    ucb = shapes["ucb", settings.ucb_step]
    u_shaped = all(shape.u_shaped >= _MOST * shape.levels for shape in gittins.values())
    flat = ucb.spread <= 1e-12
    verdict = all_of([u_shaped, ucb.rising and ucb.concave, flat])
    sags = ", ".join(f"{shape.sag:.3g} at t = {step}" for step, shape in gittins.items())
    levels = ", ".join(
        f"{s.u_shaped} of {s.levels} levels at t = {step} ({s.strictly} strictly)"
        for step, s in gittins.items()
    )
    return Claim(
        "C9",
        "The Gittins value is U-shaped in the mean, more so later; the UCB value is concave and increasing "
        "in the pulls and independent of the mean.",
        f"Gittins: U-shaped in {levels}; sag {sags}. UCB: spread within a level {ucb.spread:.1g}.",
        verdict,
        str(verdict),
        "υ sums the expected bonuses still to come with the sign turned: Gittins' bonus is largest for "
        "middling means, where most is left to learn, while UCB's does not look at the mean.",
        f"at least {100 * _MOST:g} % of the levels of 2 to t − 2 pulls fall, then rise (to 1 % of their "
        "range); UCB's level means rise by ever less; its spread within a level is at most 1e-12; all, "
        "some or none of the three",
    )


def _caption(name: str, step: int, settings: Settings) -> str:
    figure = 2 if name == settings.gittins else 3
    return (
        f"The paper's Figure {figure}: υ of `{name}` at t = {step}, uniform prior, offset so that "
        f"the constant is 0 at step {settings.last}."
    )


def _contours(table: FloatArray, step: int) -> Any:
    successes, pulls = triangle.states(step)
    # Pulls are thinned where levels are many: the contours do not change, the file does.
    keep = (pulls % max(1, step // 50) == 0) | (pulls == step - 1)
    return figures.contours(
        ((1 + successes) / (2 + pulls))[keep],
        pulls[keep],
        table[keep],
        x_label="mean α/(α+β)",
        y_label="pulls n",
        z_label="υ + constant",
        height=3.2,
    )


EXPERIMENT = Experiment("values", "Value functions (Figures 2 and 3)", run, Settings(), Settings(), weight=1)
