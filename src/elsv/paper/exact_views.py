"""How the exact regrets are shown: text, figures and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from elsv._base.typing import FloatArray
from elsv.paper.base import Drawing, Table
from elsv.paper.claims import listed
from elsv.paper.exact_cases import (
    POLICIES,
    SAME_WITHOUT_ORDER,
    SEARCHES,
    THOMPSON,
    VALUES,
    Case,
    Settings,
    above,
)
from elsv.report import figures

_FLOOR, _DEPTH_FLOOR = 1e-2, 1e-3  # per cent; a logarithmic axis has no place for the optimum itself


def text(by_depth: dict[str, dict[int, dict[str, float]]], horizon: int) -> str:
    """Return what the section says: how it is computed, and whether deeper search helps."""
    told = []
    for problem, found in by_depth.items():
        first, last = min(found), max(found)
        separable, commit = (
            [above(found[d][label], found[d]["optimum"]) for d in (first, last)]
            for label in ("separable (Gittins)", "commit")
        )
        told.append(
            f"from {separable[0]:.1f} to {separable[1]:.1f} % above the optimum on the separable value of "
            f"Gittins and from {commit[0]:.2f} to {least(commit[1])} % on the commit value ({problem})"
        )
    return (
        "On the lattice of all states the Bayes-optimal policy and the Bayes regret of any other are "
        "computed, not simulated; numbers here have no error bars. Lines end where the states are too many "
        "for the time or the memory of this run: three arms at horizon T have about T⁶ / 720 of them, two "
        "arms T⁴ / 24.\n\n"
        "**Does deeper search help?** The paper sees no gain up to depth 10 and hopes for one from a deeper "
        "and more careful search. It is not the depth. A separable value pays a bonus for every pull, "
        "whether or not what is learnt can change the decision; a deeper search collects more such bonuses "
        "and no more insight. What committing to the best arm is worth is a maximum, convex in the belief: "
        "a pull that may change the best arm raises its expectation, any other pull leaves it as it is. "
        "A search on that value sees what information is worth, and sees more of it the deeper it goes. "
        f"With T = {horizon}, going from depth {first} to depth {last} takes the regret "
        f"{', and '.join(told)}. On the commit value single steps of depth may lose a little; many gain."
    )


def short_of_memory(settings: Settings, cases: Mapping[str, Case]) -> str:
    """Return which horizons were left out for want of memory; nothing if none was."""
    meant = {"discounts": settings.discounts_to, "wide": settings.wide_to, "free": settings.free_to}
    left_out = [
        f"T = {t} ({case.name})"
        for key, case in cases.items()
        for t in settings.horizons
        if t <= meant.get(key, settings.horizons[-1]) and t not in case.horizons
    ]
    return (
        f"\n\n**Left out**, because this machine has too little memory: {listed(left_out)}."
        if left_out
        else ""
    )


def least(percent: float) -> str:
    """Return a percentage, or that it is below what the figures show."""
    return f"{percent:.3f}" if percent >= _DEPTH_FLOOR else f"less than {_DEPTH_FLOOR:g}"


def _percent(rows: Mapping[int, Mapping[str, float]], label: str, floor: float) -> FloatArray:
    """Return the percentages above the optimum, at least `floor`; not a number where there is none."""
    missing = float("nan")
    percent = [above(row.get(label, missing), row["optimum"]) for row in rows.values()]
    return np.maximum(percent, floor)


def horizon_drawing(key: str, case: Case, rows: dict[int, dict[str, float]]) -> Drawing:
    """Draw the regret above the optimum by horizon."""
    left_out = {} if case.order else SAME_WITHOUT_ORDER
    shown = [label for label in POLICIES if label not in left_out]
    figure = figures.lines(
        case.horizons,
        {label: _percent(rows, label, _FLOOR) for label in shown},
        x_label="horizon T",
        y_label="regret above the optimum in %",
        log_y=True,
        markers=True,
        style=figures.styles(POLICIES),
        height=4.8,
    )
    same = [f"{label} is {twin}" for label, twin in left_out.items()]
    caption = [
        f"Regret above the Bayes optimum by horizon; {case.name}; exact. {_floor(_FLOOR)}",
        f"Without an order {listed(same)}." if same else "",
        _endings(case),
    ]
    return Drawing(f"horizon-{key}", figure, " ".join(part for part in caption if part))


def _floor(percent: float) -> str:
    return f"What is below {percent:g} % is drawn there."


def _endings(case: Case) -> str:
    """Say which lines end early, and why."""
    last = case.horizons[-1]
    reasons = (
        (THOMPSON[0], "Thompson sampling", "P(best) in every state takes long"),
        (SEARCHES[0], "the two searches", "many sweeps for every step take long"),
    )
    told = [
        f"{who} (T = {case.until[label]}: {why})"
        for label, who, why in reasons
        if case.until.get(label, last) < last
    ]
    return f"Lines end early for {listed(told)}." if told else ""


def depth_drawing(settings: Settings, rows: dict[int, dict[str, float]], name: str, problem: str) -> Drawing:
    """Draw the regret above the optimum by depth."""
    series = {label: _percent(rows, label, _DEPTH_FLOOR) for label in VALUES}
    figure = figures.lines(
        settings.depths,
        series,
        x_label="depth of the lookahead",
        y_label="regret above the optimum in %",
        log_y=True,
        markers=True,
    )
    caption = f"Regret above the Bayes optimum by depth, T = {settings.depth_horizon}; {problem}; exact."
    return Drawing(name, figure, f"{caption} {_floor(_DEPTH_FLOOR)}")


def horizon_table(case: Case, rows: dict[int, dict[str, float]]) -> Table:
    """Return the regret of the optimum and of every policy above it, by horizon."""
    body: list[list[Any]] = [["optimum: regret", *(f"{row['optimum']:.4f}" for row in rows.values())]]
    body += [
        [label, *(_shown(row[label], row["optimum"]) if label in row else "" for row in rows.values())]
        for label in (*POLICIES, "best fixed arm")
    ]
    return Table(
        ["regret above the optimum", *(f"T = {horizon}" for horizon in rows)],
        body,
        f"Exact Bayes regret; {case.name}.{' Empty: not evaluated.' if _endings(case) else ''}",
        "l" + "r" * len(rows),
        highlight=(0,),
    )


def _shown(regret: float, optimum: float) -> str:
    return f"{above(regret, optimum):.2f} %"


def depth_table(problem: str, found: dict[int, dict[str, float]]) -> Table:
    """Return the regret above the optimum by depth."""
    rows = [
        [str(d), *(f"{above(row[label], row['optimum']):.3f} %" for label in VALUES)]
        for d, row in found.items()
    ]
    caption = f"Exact regret above the optimum by depth; {problem}."
    return Table(["depth", *VALUES], rows, caption, "l" + "r" * len(VALUES))
