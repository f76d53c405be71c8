"""Draw the pictures of the docs; every number is computed.

``python docs/figures.py [NAME …]`` draws those that are named, or all. ``discount`` takes a few minutes, for
`plan` looks far ahead 150,000 times; the others half a minute.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from elsv import Independent, Problem, State, compare, lookahead, make_index
from elsv.exact import evaluate, gap_percent
from elsv.indices import Setting
from elsv.report._drawing import draw_lines, name_lines
from elsv.report.figures import regret_curves, styles
from elsv.report.style import INK, SOFT_INK, Style, new_figure, styled
from elsv.values.commit import CommitValue

FOLDER = Path(__file__).parent / "figures"
WIDE = 8.0  # inches
LEFT = 20  # pulls to come in the figure of the commit value
COUNT = 3.0  # alpha + beta of the uncertain arm
KNOWN = 0.5  # what the other arm pays
SURE = 1e9  # alpha + beta of an arm that is as good as known
HORIZONS = (10, 20, 30, 40, 50)
INSTANCES = 512  # of the discount problem
POLICIES = ("plan", "elsv", "greedy", "thompson", "gittins", "bayes-ucb")
FLOOR = 1e-3  # per cent; a logarithmic axis has no place for the optimum itself


def draw_discount() -> Any:
    """Draw the regret of policies, as they are named in elsv, on the paper's discount problem."""
    problem = Problem(rewards=[0.8, 0.9, 1.0], order="decreasing", horizon=290)
    found = compare(problem, POLICIES, INSTANCES)
    return regret_curves(
        {name: found[name].mean for name in POLICIES},
        {name: found[name].ci95 for name in POLICIES},
        x_label="customer",
    )


def draw_commit() -> Any:
    """Draw what committing is worth before and after a pull, and what learning is said to be worth."""
    figure = new_figure(WIDE, 3.5)
    left, right = figure.subplots(1, 2)
    _lines_and_chords(left)
    _bonuses(right)
    return figure


def _lines_and_chords(axes: Any) -> None:
    mean = np.linspace(0, 1, 201)
    axes.plot(mean, np.maximum(mean, KNOWN), color=INK)
    axes.text(0.02, KNOWN + 0.015, "commit to A", color=INK)
    axes.text(0.73, 0.74, "commit to B", color=INK, ha="right", va="bottom")
    for start, words, height, colour in (
        (0.28, "B stays behind A\nwhatever is seen: no gain", 0.42, "#D55E00"),
        (0.5, "the best arm may change:\na gain", 0.66, "#0072B2"),
    ):
        ends = np.array([start * COUNT, start * COUNT + 1]) / (COUNT + 1)
        worth = np.maximum(ends, KNOWN)
        expected = start * worth[1] + (1 - start) * worth[0]
        axes.plot(ends, worth, color=colour, marker="o", markersize=4.5, linestyle=(0, (4, 1.5)))
        axes.plot([start, start], [max(start, KNOWN), expected], color=colour, linewidth=4, alpha=0.5)
        axes.plot([start], [expected], color=colour, marker="D", markersize=5)
        axes.text(0.25, height, words, color=colour, ha="center", va="center")
    axes.set_ylim(0.35, 0.85)
    axes.set_xlim(0, 0.9)
    axes.set_xlabel("expected reward of arm B")
    axes.set_ylabel("worth of committing, per pull")
    axes.set_title(f"The better of A (known: {KNOWN:g}) and B")


def _bonuses(axes: Any) -> None:
    """Draw what is added to B's expected reward when the arms are compared."""
    problem = Problem(rewards=[1.0, 1.0], horizon=LEFT)
    mean = np.linspace(0.05, 0.95, 181)
    alpha = np.stack([np.full(len(mean), KNOWN * SURE), COUNT * mean], axis=-1)
    beta = np.stack([np.full(len(mean), (1 - KNOWN) * SURE), COUNT * (1 - mean)], axis=-1)
    state, value = State(alpha=alpha, beta=beta), CommitValue(problem)
    nothing_learnt = mean + (LEFT - 1) * np.maximum(mean, KNOWN)
    series = {
        f"commit, depth {d}": lookahead(problem, state, 1, value, Independent(), depth=d)[:, 1]
        - nothing_learnt
        for d in (1, 3, 8)
    }
    series["separable"] = np.array([_gittins_bonus(COUNT * m, COUNT * (1 - m)) for m in mean])
    blues = ("#8fc1e3", "#3f94cc", "#00507d")
    look = {name: Style(c, "solid") for name, c in zip(series, (*blues, "#D55E00"), strict=True)}
    look["separable"] = Style("#D55E00", (0, (5, 1.6)))
    drawn = draw_lines(axes, mean, series, None, look, False, False, False)
    axes.axvline(KNOWN, color=SOFT_INK, linewidth=0.7, linestyle=":")
    axes.legend(list(drawn.values()), list(drawn), loc="upper right", handlelength=2.0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("expected reward of arm B")
    axes.set_ylabel("added to B's expected reward")
    axes.set_title(f"For what a pull of B teaches, {LEFT} left")


def _gittins_bonus(alpha: float, beta: float) -> float:
    """Return the bonus of the finite-horizon Gittins index with `LEFT` pulls to come."""
    alone = Problem(rewards=[1.0], horizon=LEFT, prior=[(alpha, beta)])
    index = make_index("finite-gittins")(np.array([alpha]), np.array([beta]), 1, Setting.of(alone))
    return float(index[0]) - alpha / (alpha + beta)


def draw_choosing() -> Any:
    """Draw the exact regret of three policies by horizon, with and without an order."""
    figure = new_figure(WIDE, 3.5)
    grid = figure.subplots(1, 2, sharey=True)
    names = ("plan", "elsv", "thompson")
    for axes, (title, rewards, order) in zip(
        grid,
        (
            ("ordered, rewards 0.4, 0.7, 1", (0.4, 0.7, 1.0), "decreasing"),
            ("no order, rewards 1, 1, 1", (1.0, 1.0, 1.0), None),
        ),
        strict=True,
    ):
        series: dict[str, list[float]] = {name: [] for name in names}
        for horizon in HORIZONS:
            problem = Problem(rewards=rewards, order=order, horizon=horizon)
            *rows, optimum = evaluate(problem, [*names, "optimal"])
            for row in rows:
                series[row.name].append(max(FLOOR, gap_percent(row, optimum) or 0.0))
        drawn = draw_lines(axes, HORIZONS, series, None, styles(names), False, True, True)
        axes.set_title(title)
        axes.set_xlabel("horizon T")
        name_lines(axes, drawn, "ends", own=False)
    grid[0].set_ylabel("regret above the optimum in %")
    return figure


@styled()
def main() -> None:
    """Write the files that are named, or all."""
    pictures = {"discount": draw_discount, "commit": draw_commit, "choosing": draw_choosing}
    for name in sys.argv[1:] or pictures:
        draw = pictures[name]
        buffer = io.BytesIO()
        draw().savefig(buffer, dpi=150)
        # Few colours are needed, and a third of the bytes.
        Image.open(buffer).convert("RGB").quantize(128).save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
