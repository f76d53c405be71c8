r"""How the regret of ELSV-UCB(2) grows with T (Theorem 2, claim C7).

By Theorem 1 ELSV-UCB(2) is the index policy UCB(2) on plain bandits; long runs use the index. The growth is
the slope of log regret on :math:`\log\sqrt{T \log T}`, which the theorem bounds by 1 for large T.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from elsv._base.typing import FloatArray, IntArray
from elsv.paper.base import Context, Drawing, Experiment, Outcome, Simulation, Table, columns_of
from elsv.paper.claims import Claim, at_most
from elsv.policies import make_policy
from elsv.problem import Problem
from elsv.report import figures
from elsv.state import State

_MARGIN = 0.05
_POLICY, _BOTH = "ucb:scale=2", "ELSV-UCB(2)"


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
    prior = "uniform prior, 3 arms"
    short = Problem(rewards=[1.0] * settings.prior_arms, horizon=settings.agreement_horizon)
    cases = {
        _BOTH: Simulation(
            short, {_BOTH: "elsv:index=ucb,scale=2", "UCB(2)": _POLICY}, settings.agreement_instances
        )
    }
    cases[prior] = _long_run(settings, settings.prior_arms, settings.prior_instances)
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
    curves = {label: c["UCB(2)"].mean for label, c in found.items()}
    halves = {label: c["UCB(2)"].ci95 for label, c in found.items()}
    gap_labels = [label for label in found if label != prior]
    worst = np.argmax([curves[label] for label in gap_labels], axis=0)
    steps = np.arange(settings.horizon)
    for source in (curves, halves):
        source["worst gap at each T"] = np.array([source[label] for label in gap_labels])[worst, steps]
    fits = {
        label: fitted_slope(curves[label], halves[label], settings.fit_from)
        for label in (prior, "worst gap at each T")
    }
    return Outcome(
        text=(
            "Theorem 2 bounds the regret of ELSV-UCB with α = 2 by O(√(T log T)). On plain bandits it pulls "
            f"what UCB(2) pulls: over {agreement['instances']:,} instances and {agreement['horizon']} steps "
            f"their largest paired difference of mean regret is {agreement['difference']:.1g}. The long runs "
            "use the index. The bound is over all means, so beside the mean over a uniform prior stands the "
            "worst of several gaps, chosen anew at each T."
        ),
        numbers={
            "agreement": agreement,
            "slopes": {label: {"slope": slope, "half_width": half} for label, (slope, half) in fits.items()},
            "final_regret": {label: float(curve[-1]) for label, curve in curves.items()},
        },
        drawings=[_drawing(settings, curves, halves, list(fits))],
        tables=[_table(settings, curves, halves, fits)],
        claims=[_claim(settings, fits)],
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


def _drawing(
    settings: Settings, curves: dict[str, FloatArray], halves: dict[str, FloatArray], labels: list[str]
) -> Drawing:
    t = np.unique(np.rint(np.geomspace(10, settings.horizon, 120)).astype(int))
    shape = np.sqrt(t * np.log(t))
    series = {label: curves[label][t - 1] for label in labels}
    bound = float(max(curves[label][-1] for label in labels)) * shape / shape[-1]
    figure = figures.lines(
        t,
        {**series, "√(T log T), scaled": bound},
        {label: halves[label][t - 1] for label in labels},
        x_label="horizon T",
        y_label="regret",
        log_x=True,
        log_y=True,
        height=3.2,
    )
    return Drawing(
        "slopes",
        figure,
        "Regret of UCB(2) = ELSV-UCB(2) on plain bandits against T, both axes logarithmic, beside √(T log "
        f"T) scaled to meet the upper curve at T = {settings.horizon:,}. Worst gap: the largest mean regret "
        f"over gaps {', '.join(map(str, settings.gaps))}.",
    )


def _table(
    settings: Settings,
    curves: dict[str, FloatArray],
    halves: dict[str, FloatArray],
    fits: dict[str, tuple[float, float]],
) -> Table:
    marks = [settings.horizon // 100, settings.horizon // 10, settings.horizon]
    rows = []
    for label, curve in curves.items():
        regrets = [f"{curve[t - 1]:.1f} ± {halves[label][t - 1]:.1f}" for t in marks]
        rows.append([label, *regrets, "{:.3f} ± {:.3f}".format(*fits[label]) if label in fits else None])
    return Table(
        ["bandit", *(f"T = {t:,}" for t in marks), "growth"],
        rows,
        "Mean regret of UCB(2); growth is the slope of log regret on log √(T log T) for T from "
        f"{settings.fit_from:,}.",
        "lrrrr",
    )


def _claim(settings: Settings, fits: dict[str, tuple[float, float]]) -> Claim:
    upper = max(slope + half for slope, half in fits.values())
    verdict = at_most(upper, 1 + _MARGIN)
    measured = "; ".join(f"{label}: {slope:.3f} ± {half:.3f}" for label, (slope, half) in fits.items())
    grows = "no faster than" if upper <= 1 + _MARGIN else "faster than"
    return Claim(
        "C7",
        "The regret of ELSV-UCB(2) grows no faster than √(T log T).",
        f"slope on log √(T log T), T = {settings.fit_from:,} to {settings.horizon:,}: {measured}",
        verdict,
        str(verdict),
        f"Measured up to T = {settings.horizon:,} the faster of the two grows {grows} the bound; a "
        "simulation cannot go to infinity.",
        f"upper end of both slopes at most 1 + {_MARGIN}",
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
