r"""The discount problem: ordered arms of which the least likely pays most.

`run` is Figure 5 of the paper: 3 arms with rewards .8, .9 and 1 (claims C4 and C6). `more_arms` asks whether
the lead of ELSV-Gittins over Gittins grows with N (claim C5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from elsv._base.typing import IntArray
from elsv.choice import best_arm
from elsv.paper import base, claims
from elsv.paper.base import Context, Drawing, Outcome, Simulation, Table
from elsv.paper.claims import MINE, Claim, claim, in_a_row, listed, minus, words
from elsv.policies import Policy
from elsv.problem import Problem
from elsv.report import figures
from elsv.report.headline import ranking, shown_digits, with_half
from elsv.report.page import Cell
from elsv.simulation.compare import Comparison
from elsv.simulation.instances import grid
from elsv.state import State

OURS, AUTHORS = "means from the ordered prior", "the authors' grid of means"
_DRAWN = ("ELSV-Gittins", "ELSV-UCB", "TS", "TS constrained", "Bayes-UCB", "Gittins", "greedy on the belief")
_PAIRINGS = {**base.PAIRS, "ELSV with bonuses × 0.4 against UCB with full ones": ("ELSV-UCB × 0.4", "UCB")}
_REJECTION = ",belief=rejection,draws=100"
_say, _told = partial(words, "discount"), partial(words, "arms")


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
    OURS: {**base.POLICIES},
    AUTHORS: {
        **base.POLICIES,
        "ELSV-Gittins": f"elsv:index=gittins{_REJECTION}",
        "ELSV-UCB": f"elsv:index=ucb,count_prior=true{_REJECTION}",
        "UCB": "ucb:count_prior=true",
        "ELSV-UCB × 0.4": f"elsv:index=ucb,count_prior=true,weight=0.4{_REJECTION}",
        "UCB × 0.4": "ucb:count_prior=true,scale=0.16",
        "Bayes-UCB": bayes_ucb_without_rewards,
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
    drawings, tables, leads, ratios = [], [], [], []
    for setting, comparison in found.items():
        said = {"setting": setting, "about": about[setting], "horizon": settings.horizon}
        name, figure, note = "curves", "The paper's Figure 5", ""
        if setting == AUTHORS:
            name, figure = "curves-authors", "The same with the authors' settings"
            note = f" †: with `{_REJECTION[1:]}`."
        caption = _say("drawn", figure=figure, **said)
        drawings.append(base.curves(name, comparison, _DRAWN, caption, _DRAWN))
        caption = _say("table", note=note, **said)
        tables.append(_regrets(comparison, POLICIES[setting], caption))
        leads += [
            claims.Lead(setting, rival, *comparison.difference(rival, MINE), rival in claims.IN_PAPER)
            for rival in POLICIES[OURS]
            if rival != MINE
        ]
        for label, (policy, rival) in _PAIRINGS.items():
            ratio = float(comparison[policy].mean[-1] / comparison[rival].mean[-1])
            ratios.append(claims.Ratio(setting, label, ratio, *comparison.difference(rival, policy)))
    return Outcome(
        text=_say("text"),
        numbers={setting: base.numbers_of(c, POLICIES[setting]) for setting, c in found.items()}
        | {"leads": [vars(lead) for lead in leads], "ucb_ratios": [vars(ratio) for ratio in ratios]},
        drawings=drawings,
        tables=tables,
        claims=[_least_regret(leads, found), _far_better(ratios, found)],
        columns=base.columns_of(found),
    )


def _regrets(comparison: Comparison, policies: Mapping[str, Any], caption: str) -> Table:
    """Return final regrets, the least first, with paired differences to ELSV-Gittins."""
    digits = shown_digits(comparison)
    rows: list[list[Cell]] = []
    for label in ranking(comparison):
        policy, result = policies[label], comparison[label]
        if isinstance(policy, str):
            short = policy.removesuffix(_REJECTION)
            policy = f"`{short}`" if short == policy else f"`{short}` †"
        else:
            policy = policy.__doc__.splitlines()[0].rstrip(".")
        difference, half = comparison.difference(label, MINE)
        apart = minus(f"{difference:+.{digits}f} ± {half:.{digits}f}")
        shown = None if label == MINE else apart if abs(difference) > half else f"*{apart}*"
        share = f"{100 * result.best_share.mean():.1f} %"
        rows.append([label, policy, with_half(*result.final, digits), shown, share])
    headers = ["", "policy", "regret ± 95 %", f"minus {MINE}, paired", "best arm"]
    return Table(headers, rows, caption, "lwrrr", (0,))


def _least_regret(found: list[claims.Lead], comparisons: dict[str, Comparison]) -> Claim:
    regret = "; ".join(f"{setting}: {base.final(c, MINE)}" for setting, c in comparisons.items())
    close = [lead for lead in found if not lead.clear]
    told = "; ".join(f"{x.rival} {x.difference:+.2f} ± {x.half_width:.2f} ({x.setting})" for x in close)
    but = f"; it is not clearly ahead of: {minus(told)}" if close else ""
    beaten = len(found) - len(close)
    why = _say("leads", beaten=beaten, leads=len(found), but=but)
    return claim("C4", claims.least_regret(found), f"regret of ELSV-Gittins, {regret}", why)


def _far_better(ratios: list[claims.Ratio], comparisons: dict[str, Comparison]) -> Claim:
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
        regrets=listed(f"{comparisons[OURS][name].final[0]:.1f} ({name})" for name in names),
    )
    return claim("C6", claims.far_better(ratios), measured, why)


_QUICK = Settings(instances=512, repetitions=1, horizon=290)
EXPERIMENT = base.Experiment("discount", "The discount problem (Figure 5)", run, Settings(), _QUICK, 24)

_RIVALS = ("TS constrained", "greedy on the belief", "arm 1 always")
_WITH_MORE = base.policies(MINE, "Gittins", *_RIVALS)


@dataclass(frozen=True)
class ArmsSettings:
    """Rewards evenly spaced from `least` to 1, decreasing means."""

    arms: tuple[int, ...] = (3, 5, 10, 20)
    least: tuple[float, ...] = (0.8, 0.4)
    horizon: int = 100
    instances: tuple[int, ...] = (2048, 1024, 512, 256)


def more_arms(settings: ArmsSettings, context: Context) -> Outcome:
    """Compare for every number of arms and both ladders of rewards."""
    cases = {}
    for least in settings.least:
        for n, instances in zip(settings.arms, settings.instances, strict=True):
            problem = Problem(np.linspace(least, 1, n), order="decreasing", horizon=settings.horizon)
            cases[f"rewards {least:g} to 1", n] = Simulation(problem, _WITH_MORE, instances, weight=n)
    found = context.compare_all(cases)
    named = {f"{ladder}, N = {n}": c for (ladder, n), c in found.items()}
    ladders = {ladder: [found[ladder, n] for n in settings.arms] for ladder, _ in found}
    return Outcome(
        text=_told("text", s=settings, ladders=listed(ladders)),
        numbers={
            name: {**base.numbers_of(c, _WITH_MORE), "lead_over_gittins": list(_lead(c))}
            for name, c in named.items()
        },
        drawings=[_by_arms(settings, ladders)],
        tables=[_leads(settings, found)],
        claims=[_grows(settings, ladders)],
        columns=base.columns_of(named),
    )


def _lead(comparison: Comparison) -> tuple[float, float]:
    return comparison.difference("Gittins", MINE)


def _grows(settings: ArmsSettings, ladders: Mapping[str, list[Comparison]]) -> Claim:
    rows = [[_lead(c) for c in runs] for runs in ladders.values()]
    verdict, in_short = claims.grows(rows, list(ladders))
    every = [c for runs in ladders.values() for c in runs]
    apart = {rival: [c.difference(rival, MINE) for c in every] for rival in _RIVALS}
    overtaken = [rival for rival, row in apart.items() if any(x < -half for x, half in row)]
    if overtaken and verdict is not claims.Verdict.NOT_REPRODUCED:
        in_short = f"{in_short} against Gittins, not against {listed(overtaken)}"
        verdict = claims.Verdict.PARTLY
    told = [", ".join(minus(f"{lead:.1f} ± {half:.1f}") for lead, half in row) for row in rows]
    leads = "; ".join(f"{name}: {row}" for name, row in zip(ladders, told, strict=True))
    regrets = []
    for name, (*_, most) in ladders.items():
        each = ", ".join(f"{label} {most[label].final[0]:.2f}" for label in ("Gittins", MINE, *_RIVALS))
        regrets.append(f"{name}, N = {settings.arms[-1]}: {each}")
    said = {"arms": in_a_row(settings.arms), "leads": leads, "regrets": "; ".join(regrets)}
    return claims.claim_in("arms", "C5", (verdict, in_short), **said)


def _by_arms(settings: ArmsSettings, ladders: Mapping[str, list[Comparison]]) -> Drawing:
    panels = {}
    for ladder, runs in ladders.items():
        means, halves = ({name: [c[name].final[k] for c in runs] for name in _WITH_MORE} for k in (0, 1))
        panels[ladder] = settings.arms, means, halves
    look: dict[str, Any] = {"log_y": True, "share_y": True, "height": 2.9}
    regret = f"regret after {settings.horizon} steps"
    figure = figures.line_panels(panels, x_label="number of arms", y_label=regret, **look)
    instances = ", ".join(f"{n:,}" for n in settings.instances)
    caption = _told("drawn", s=settings, arms=in_a_row(settings.arms), instances=instances)
    return Drawing("by-arms", figure, caption)


def _leads(settings: ArmsSettings, found: Mapping[tuple[str, int], Comparison]) -> Table:
    rows: list[list[Cell]] = []
    for (ladder, n), c in found.items():
        lead, half = _lead(c)
        share = 100 * lead / c["Gittins"].final[0]
        ahead = [minus(f"{lead:.2f} ± {half:.2f}"), minus(f"{share:.0f} %")]
        finals = (base.final(c, name) for name in _WITH_MORE)
        rows.append([ladder.removeprefix("rewards "), n, *finals, *ahead])
    heads = ["rewards", "N", *_WITH_MORE, "lead over Gittins", "in %"]
    return Table(heads, rows, _told("table", s=settings))


_QUICK_ARMS = ArmsSettings(arms=(3, 5, 10), instances=(512, 256, 256), horizon=60)
MORE_ARMS = base.Experiment("arms", "More arms", more_arms, ArmsSettings(), _QUICK_ARMS, weight=9)
