"""Figure 1 of the paper: one transition, and what an order does to its probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from elsv.paper.base import Context, Drawing, Experiment, Outcome, Table
from elsv.problem import Problem
from elsv.report.canvas import figure_of, panels_on
from elsv.report.style import INK, NARROW, SOFT_INK, WIDTH, redrawable
from elsv.state import State


@dataclass(frozen=True)
class Settings:
    """The state of the example that the paper uses in its section 3."""

    alpha: tuple[int, int] = (2, 10)
    beta: tuple[int, int] = (3, 10)


def run(settings: Settings, context: Context) -> Outcome:
    """Compute both kinds of probabilities and draw the tree."""
    state = State(settings.alpha, settings.beta)
    plain, ordered = (
        Problem(rewards=[1.0, 1.0], order=order, horizon=20).belief.mean(state)
        for order in (None, "decreasing")
    )
    rows, after = [], []
    for arm in (0, 1):
        for success in (True, False):
            then = state.observe(arm, success)
            after.append(_written(then))
            chance = [float(p[arm] if success else 1 - p[arm]) for p in (plain, ordered)]
            outcome = "success" if success else "failure"
            rows.append([f"pull arm {arm + 1}, {outcome}", after[-1], *(f"{c:.4f}" for c in chance)])
    return Outcome(
        text=(
            f"From the state s = {_written(state)}, the example of the paper's section 3, a pull leads to "
            "two states. The paper's figure prints (α₁+1, α₂) ‖ (β₁, β₂) for the success of arm 1; the "
            "state is ((α₁+1, β₁), (α₂, β₂)). With independent arms the probability of success is α/(α+β). "
            "With the order μ₁ ≥ μ₂ it is the mean of the posterior conditioned on the order, which also "
            "depends on what was seen of the other arm."
        ),
        numbers={
            "state": {"alpha": list(settings.alpha), "beta": list(settings.beta)},
            "success_probability": {"independent": plain.tolist(), "ordered": ordered.tolist()},
        },
        drawings=[
            Drawing(
                "transition",
                _tree(_written(state), after, plain, ordered),
                "The paper's Figure 1: a single transition of a two-arm bandit, with numbers. In brackets: "
                "the probability under the order μ₁ ≥ μ₂.",
            )
        ],
        tables=[
            Table(
                ["transition", "next state", "probability", "with μ₁ ≥ μ₂"],
                rows,
                "Probabilities of the four successors; exact.",
                "llrr",
            )
        ],
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
    state_box = {"boxstyle": "round,pad=0.45", "facecolor": "#e3eef7", "edgecolor": "#0072B2"}
    pull_box = {
        "boxstyle": "round,pad=0.45,rounding_size=0.9",
        "facecolor": "#e4f3ed",
        "edgecolor": "#009E73",
    }
    panel.text(0.5, 0.93, root, ha="center", va="center", bbox=state_box, color=INK)
    for arm in (0, 1):
        x = (0.22, 0.78)[arm]
        _edge(panel, (0.5, 0.87), (x, 0.74))
        panel.text(x, 0.68, f"pull arm {arm + 1}", ha="center", va="center", bbox=pull_box, color=INK)
        for outcome in (0, 1):
            end = x + (-aside, aside)[outcome]
            chance, constrained = (p[arm] if outcome == 0 else 1 - p[arm] for p in (plain, ordered))
            _edge(panel, (x, 0.62), (end, 0.17))
            panel.text(
                end + (-0.005, 0.005)[outcome],
                0.4,
                f"R = {1 - outcome}\n{said}{chance:.3f}\n({constrained:.3f})",
                ha=("right", "left")[outcome],
                va="center",
                color=SOFT_INK,
                linespacing=1.35,
            )
            panel.text(
                end,
                0.09,
                leaves[2 * arm + outcome].replace("), (", "),\n("),
                ha="center",
                va="center",
                bbox=state_box,
                color=INK,
            )
    return figure_of(grid)


def _edge(axes: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    arrow = {"arrowstyle": "-|>", "color": SOFT_INK, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 2}
    axes.annotate("", end, start, arrowprops=arrow)


EXPERIMENT = Experiment("transition", "A transition (Figure 1)", run, Settings(), Settings(), weight=0.2)
