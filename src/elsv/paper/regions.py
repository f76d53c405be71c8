"""Where the Bayes-optimal policy pulls which arm: slices through the states of two arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from elsv._base.typing import IntArray
from elsv.beliefs.base import Order
from elsv.exact import OptimalPolicy, solve
from elsv.paper.base import Drawing
from elsv.problem import Problem
from elsv.report.canvas import figure_of, label_outside, panels_on
from elsv.report.style import NARROW, WIDTH, redrawable
from elsv.state import State

_ARM_1, _ARM_2 = "#0072b2", "#e69f00"


def regions(horizon: int) -> Drawing:
    """Draw the optimal arm for equal rewards and no order, and for two ordered discounts."""
    near, far = horizon // 6, horizon // 2
    panels = []
    cases: tuple[tuple[str, tuple[float, float], Order | None], ...] = (
        ("no order, rewards 1, 1", (1.0, 1.0), None),
        ("ordered, rewards 0.6, 1", (0.6, 1.0), "decreasing"),
    )
    for title, rewards, order in cases:
        problem = Problem(rewards=rewards, order=order, horizon=horizon)
        actions = solve(problem, keep=near + far + 1).policy
        assert actions is not None
        policy = OptimalPolicy(problem, actions)
        for first, second in ((near, near), (near, far)):
            label = f"{title}\n{first} pulls of arm 1, {second} of arm 2"
            panels.append((label, _arms(problem, policy, first, second)))
    caption = (
        f"The optimal arm by the successes of both arms, two arms, T = {horizon}: blue pulls arm 1, orange "
        "arm 2. With few pulls of arm 1 behind it, it is pulled even where its mean is lower; with an order, "
        "what is seen of one arm speaks about the other. On the dotted line both have the same share of "
        "successes. Exact."
    )
    return Drawing("regions", _figure(panels), caption)


def _arms(problem: Problem, policy: OptimalPolicy, first: int, second: int) -> IntArray:
    """Return the optimal arm by successes, ``[first + 1, second + 1]``."""
    wins = np.stack(np.meshgrid(np.arange(first + 1), np.arange(second + 1), indexing="ij"), axis=-1)
    losses = np.array([first, second]) - wins
    state = State(problem.prior[:, 0] + wins, problem.prior[:, 1] + losses)
    return policy(state, first + second + 1)


@redrawable
def _figure(
    panels: list[tuple[str, IntArray]], width: float = WIDTH, axes: Sequence[Any] | None = None
) -> Any:
    from matplotlib.colors import ListedColormap

    columns = 1 if width <= NARROW else 2
    grid = panels_on(axes, len(panels), width, 2.3, columns, share_x=False)
    for panel, (title, arms) in zip(grid, panels, strict=True):
        panel.grid(visible=False)
        panel.imshow(
            arms.T, origin="lower", aspect="auto", cmap=ListedColormap([_ARM_1, _ARM_2]), vmin=0, vmax=1
        )
        panel.set_title(title)
        panel.tick_params(length=0)
        # The diagonal of equal means.
        ends = ([0, arms.shape[0] - 1], [0, arms.shape[1] - 1])
        panel.plot(*ends, color="white", linewidth=0.8, linestyle=":")
    label_outside(grid, "successes of arm 1", "successes of arm 2", axes is None)
    return figure_of(grid)
