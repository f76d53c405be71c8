"""Figures 1 to 3 of the paper: one transition, and what separable values look like (claim C9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elsv._base import triangle
from elsv._base.typing import FloatArray
from elsv.indices import index_from_name
from elsv.paper.base import Context, Drawing, Experiment, Outcome, Table
from elsv.paper.claims import Claim, all_of, claim_in, words
from elsv.problem import Problem
from elsv.report import figures
from elsv.report.style import INK, NARROW, SOFT_INK, WIDTH, figure_of, panels_on, redrawable
from elsv.state import State
from elsv.values import SeparableValue


@dataclass(frozen=True)
class StateSettings:
    """The state of the example that the paper uses in its section 3."""

    alpha: tuple[int, int] = (2, 10)
    beta: tuple[int, int] = (3, 10)


def transition(settings: StateSettings, context: Context) -> Outcome:
    """Compute the probabilities of a transition without and with an order, and draw the tree."""
    state = State(settings.alpha, settings.beta)
    plain, ordered = (
        Problem(rewards=[1.0, 1.0], order=order, horizon=20).belief.mean(state)
        for order in (None, "decreasing")
    )
    rows = []
    for arm in (0, 1):
        for success in (True, False):
            chance = [float(p[arm] if success else 1 - p[arm]) for p in (plain, ordered)]
            what = f"pull arm {arm + 1}, {'success' if success else 'failure'}"
            rows.append([what, _written(state.observe(arm, success)), *(f"{c:.4f}" for c in chance)])
    tree = _tree(_written(state), [row[1] for row in rows], plain, ordered)
    heads = ["transition", "next state", "probability", "with μ₁ ≥ μ₂"]
    return Outcome(
        text=words("transition", "text", state=_written(state)),
        numbers={
            "state": {"alpha": list(settings.alpha), "beta": list(settings.beta)},
            "success_probability": {"independent": plain.tolist(), "ordered": ordered.tolist()},
        },
        drawings=[Drawing("transition", tree, words("transition", "drawn"))],
        tables=[Table(heads, rows, words("transition", "table"), "llrr")],
    )


def _written(state: State) -> str:
    return "(" + ", ".join(f"({a:g}, {b:g})" for a, b in zip(state.alpha, state.beta, strict=True)) + ")"


@redrawable
def _tree(
    root: str,
    leaves: list[str],
    plain: Any,
    ordered: Any,
    width: float = WIDTH,
    axes: Sequence[Any] | None = None,
) -> Any:
    (panel,) = grid = panels_on(axes, 1, width, 2.9)
    aside, said = (0.11, "") if width <= NARROW else (0.13, "P = ")
    panel.set_axis_off()
    panel.set_xlim(0, 1)
    panel.set_ylim(0, 1)
    centred = {"ha": "center", "va": "center", "color": INK}
    state_box = {"boxstyle": "round,pad=0.45", "facecolor": "#e3eef7", "edgecolor": "#0072B2"}
    pull_box = {"facecolor": "#e4f3ed", "edgecolor": "#009E73"}
    pull_box["boxstyle"] = "round,pad=0.45,rounding_size=0.9"
    arrow = {"arrowstyle": "-|>", "color": SOFT_INK, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 2}
    panel.text(0.5, 0.93, root, bbox=state_box, **centred)
    for arm, x in enumerate((0.22, 0.78)):
        panel.annotate("", (x, 0.74), (0.5, 0.87), arrowprops=arrow)
        panel.text(x, 0.68, f"pull arm {arm + 1}", bbox=pull_box, **centred)
        for outcome, (side, towards) in enumerate(((-1, "right"), (1, "left"))):
            end = x + side * aside
            chance, constrained = (p[arm] if outcome == 0 else 1 - p[arm] for p in (plain, ordered))
            panel.annotate("", (end, 0.17), (x, 0.62), arrowprops=arrow)
            told = f"R = {1 - outcome}\n{said}{chance:.3f}\n({constrained:.3f})"
            look = {"ha": towards, "va": "center", "color": SOFT_INK, "linespacing": 1.35}
            panel.text(end + 0.005 * side, 0.4, told, **look)
            leaf = leaves[2 * arm + outcome].replace("), (", "),\n(")
            panel.text(end, 0.09, leaf, bbox=state_box, **centred)
    return figure_of(grid)


@dataclass(frozen=True)
class ValueSettings:
    """Which values are drawn; the offset is 0 one step past the horizon."""

    gittins: str = "gittins:discount=0.99"
    ucb: str = "ucb:count_prior=true"
    gittins_steps: tuple[int, ...] = (10, 200)
    ucb_step: int = 10
    horizon: int = 290


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


def values(settings: ValueSettings, context: Context) -> Outcome:
    """Build the tables of υ, measure their shapes, draw them as the paper does."""
    cases = [(2, settings.gittins, step) for step in settings.gittins_steps]
    cases.append((3, settings.ucb, settings.ucb_step))
    problem, last = Problem(rewards=[1.0], horizon=settings.horizon), settings.horizon + 1
    drawings, shapes, numbers, rows = [], {}, {}, []
    for figure, name, step in cases:
        value = SeparableValue(problem, index_from_name(name))
        table, offset = value.table(step), value.offset(step, last)
        kind = name.partition(":")[0]
        shape = shapes[kind, step] = measure(table, step)
        numbers[f"{kind}-t{step}"] = {"offset": offset, **vars(shape)}
        rows.append(
            [f"{_TITLE[kind]}, t = {step}", f"{shape.u_shaped} of {shape.levels}", str(shape.strictly),
             f"{shape.sag:.3g}", f"{shape.spread:.2g}", "yes" if shape.rising else "no",
             "yes" if shape.concave else "no", f"{offset:.2f}"]
        )  # fmt: skip
        caption = words("values", "drawn", figure=figure, name=name, step=step, last=last)
        drawings.append(Drawing(f"{kind}-t{step}", _contours(table + offset, step), caption))
        context.progress(len(rows) / len(cases))
    heads = [
        "value", "U-shaped levels", "strictly", "sag", "spread in a level", "rises with pulls", "concave",
        "offset",
    ]  # fmt: skip
    return Outcome(
        text=words("values", "text", s=settings, last=last),
        numbers=numbers,
        drawings=drawings,
        tables=[Table(heads, rows, words("values", "table"))],
        claims=[_shape_claim(settings, shapes)],
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
    bottom, steps = int(np.argmin(level)), np.diff(level)
    against = np.maximum(steps[:bottom], 0).sum() + np.maximum(-steps[bottom:], 0).sum()
    return 0 < bottom < len(level) - 1 and bool(against <= slack * np.ptp(level))


def _shape_claim(settings: ValueSettings, shapes: dict[tuple[str, int], Shape]) -> Claim:
    gittins = {step: shapes["gittins", step] for step in settings.gittins_steps}
    ucb = shapes["ucb", settings.ucb_step]
    u_shaped = all(shape.u_shaped >= _MOST * shape.levels for shape in gittins.values())
    sags = ", ".join(f"{shape.sag:.3g} at t = {step}" for step, shape in gittins.items())
    levels = ", ".join(
        f"{s.u_shaped} of {s.levels} levels at t = {step} ({s.strictly} strictly)"
        for step, s in gittins.items()
    )
    said = {"levels": levels, "sags": sags, "spread": ucb.spread, "most": 100 * _MOST}
    return claim_in(
        "values", "C9", all_of([u_shaped, ucb.rising and ucb.concave, ucb.spread <= 1e-12]), **said
    )


def _contours(table: FloatArray, step: int) -> Any:
    successes, pulls = triangle.states(step)
    # Pulls are thinned where levels are many: the contours do not change, the file does.
    keep = (pulls % max(1, step // 50) == 0) | (pulls == step - 1)
    mean = ((1 + successes) / (2 + pulls))[keep]
    return figures.contours(
        mean,
        pulls[keep],
        table[keep],
        x_label="mean α/(α+β)",
        y_label="pulls n",
        z_label="υ + constant",
        height=3.2,
    )


TRANSITION = Experiment(
    "transition", "A transition (Figure 1)", transition, StateSettings(), StateSettings(), weight=0.2
)
VALUES = Experiment(
    "values", "Value functions (Figures 2 and 3)", values, ValueSettings(), ValueSettings(), weight=1
)
