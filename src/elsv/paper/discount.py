r"""Figure 5 of the paper: the discount problem, 3 ordered arms with rewards .8, .9, 1 (claims C4 and C6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from elsv._base.typing import IntArray
from elsv.choice import best_arm
from elsv.paper import base
from elsv.paper.base import Context, Outcome, Simulation
from elsv.paper.claims import Claim, Lead, Ratio, claim, far_better, least_regret, listed, minus, words
from elsv.policies import Policy
from elsv.problem import Problem
from elsv.simulation.compare import Comparison
from elsv.simulation.instances import grid
from elsv.state import State

OURS, AUTHORS = "means from the ordered prior", "the authors' grid of means"
_COMMON = {
    "TS": "thompson:order=false",
    "TS constrained": "thompson",
    "Gittins": "gittins",
    "greedy on the belief": "greedy",
    "arm 1 always": "fixed:arm=1",
    "arm 2 always": "fixed:arm=2",
    "arm 3 always": "fixed:arm=3",
}
_DRAWN = ("ELSV-Gittins", "ELSV-UCB", "TS", "TS constrained", "Bayes-UCB", "Gittins")
_IN_PAPER = (*_DRAWN, "UCB")
_PAIRINGS = {
    "equal bonuses": ("ELSV-UCB", "UCB"),
    "equal bonuses × 0.4": ("ELSV-UCB × 0.4", "UCB × 0.4"),
    "ELSV with bonuses × 0.4 against UCB with full ones": ("ELSV-UCB × 0.4", "UCB"),
}
_MINE = "ELSV-Gittins"
_REJECTION = ",belief=rejection,draws=100"
_say = partial(words, "discount")


def bayes_ucb_without_rewards(state: State, step: int, rng: np.random.Generator) -> IntArray:
    """Bayes-UCB, quantiles not multiplied by the rewards."""
    from scipy.special import betainccinv

    if step == 1:
        return best_arm(state.mean)
    # Many instances are in few states: each quantile is computed once.
    pairs, inverse = np.unique(state.alpha + 1j * state.beta, return_inverse=True)
    quantiles = betainccinv(pairs.real, pairs.imag, 1.0 / step)
    return best_arm(quantiles[inverse].reshape(state.alpha.shape))


POLICIES: dict[str, dict[str, str | Policy]] = {
    OURS: {
        "ELSV-Gittins": "elsv:index=gittins",
        "ELSV-UCB": "elsv:index=ucb",
        "UCB": "ucb",
        "ELSV-UCB × 0.4": "elsv:index=ucb,weight=0.4",
        "UCB × 0.4": "ucb:scale=0.16",
        "Bayes-UCB": "bayes-ucb",
        **_COMMON,
    },
    AUTHORS: {
        "ELSV-Gittins": f"elsv:index=gittins{_REJECTION}",
        "ELSV-UCB": f"elsv:index=ucb,count_prior=true{_REJECTION}",
        "UCB": "ucb:count_prior=true",
        "ELSV-UCB × 0.4": f"elsv:index=ucb,count_prior=true,weight=0.4{_REJECTION}",
        "UCB × 0.4": "ucb:count_prior=true,scale=0.16",
        "Bayes-UCB": bayes_ucb_without_rewards,
        **_COMMON,
    },
}


@dataclass(frozen=True)
class Settings:
    """The problem and the numbers of instances."""

    rewards: tuple[float, ...] = (0.8, 0.9, 1.0)
    horizon: int = 290
    instances: int = 3072
    grid_points: int = 11
    repetitions: int = 20  # of the authors' grid, as they had


def run(settings: Settings, context: Context) -> Outcome:
    """Run both settings and judge the two claims."""
    problem = Problem(rewards=settings.rewards, order="decreasing", horizon=settings.horizon)
    means = grid(len(settings.rewards), settings.grid_points, "decreasing")
    instances, grid_of = len(means) * settings.repetitions, {"means": means}
    simulations = {
        OURS: Simulation(problem, POLICIES[OURS], settings.instances),
        AUTHORS: Simulation(problem, POLICIES[AUTHORS], instances, options=grid_of),
    }
    found = context.compare_all(simulations)
    fewer = "" if settings.repetitions == 20 else " (the authors: 20 ×)"
    about = {
        OURS: _say("about-ours", s=settings),
        AUTHORS: _say("about-authors", s=settings, means=len(means), fewer=fewer),
    }
    drawn = [*_DRAWN, "greedy on the belief"]
    drawings, tables, leads, ratios = [], [], [], []
    for setting, comparison in found.items():
        said = {"setting": setting, "about": about[setting], "horizon": settings.horizon}
        name, figure, note = (
            ("curves", "The paper's Figure 5", "")
            if setting == OURS
            else ("curves-authors", "The same with the authors' settings", f" †: with `{_REJECTION[1:]}`.")
        )
        caption = _say("drawn", figure=figure, **said)
        drawings.append(base.curves(name, comparison, drawn, caption, drawn))
        caption = _say("table", note=note, **said)
        tables.append(base.regret_table(comparison, POLICIES[setting], _MINE, caption, _REJECTION))
        leads += [
            Lead(setting, rival, *comparison.difference(rival, _MINE), rival in _IN_PAPER)
            for rival in POLICIES[OURS]
            if rival != _MINE
        ]
        for label, (policy, rival) in _PAIRINGS.items():
            ratio = float(comparison[policy].mean[-1] / comparison[rival].mean[-1])
            ratios.append(Ratio(setting, label, ratio, *comparison.difference(rival, policy)))
    return Outcome(
        text=_say("text"),
        numbers={setting: base.numbers_of(c, POLICIES[setting]) for setting, c in found.items()}
        | {"leads": [vars(lead) for lead in leads], "ucb_ratios": [vars(ratio) for ratio in ratios]},
        drawings=drawings,
        tables=tables,
        claims=[_least_regret(leads, found), _far_better(ratios, found)],
        columns=base.columns_of(found),
    )


def _least_regret(found: list[Lead], comparisons: dict[str, Comparison]) -> Claim:
    regret = "; ".join(f"{setting}: {base.final(c, _MINE)}" for setting, c in comparisons.items())
    close = [lead for lead in found if not lead.clear]
    told = "; ".join(f"{x.rival} {x.difference:+.2f} ± {x.half_width:.2f} ({x.setting})" for x in close)
    but = f"; it is not clearly ahead of: {minus(told)}" if close else ""
    beaten = len(found) - len(close)
    why = _say("leads", beaten=beaten, leads=len(found), but=but)
    return claim("C4", least_regret(found), f"regret of ELSV-Gittins, {regret}", why)


def _far_better(ratios: list[Ratio], comparisons: dict[str, Comparison]) -> Claim:
    by_label = {label: [f"{r.ratio:.2f}" for r in ratios if r.label == label] for label in _PAIRINGS}
    measured = "regret as a share of UCB's, prior and grid: "
    measured += "; ".join(f"{label} {listed(shares)}" for label, shares in by_label.items())
    equal = [r for r in ratios if r.label == "equal bonuses"]
    names = ("UCB", "ELSV-UCB", "UCB × 0.4", "ELSV-UCB × 0.4")
    why = _say(
        "ratios",
        equal=listed(f"{r.ratio:.2f}" for r in equal),
        reason=_say("little" if all(r.ratio > 0.8 for r in equal) else "much"),
        ours=OURS,
        regrets=listed(f"{comparisons[OURS][name].mean[-1]:.1f} ({name})" for name in names),
    )
    return claim("C6", far_better(ratios), measured, why)


EXPERIMENT = base.Experiment(
    "discount",
    "The discount problem (Figure 5)",
    run,
    Settings(),
    Settings(instances=512, repetitions=1, horizon=290),
    weight=24,
)
