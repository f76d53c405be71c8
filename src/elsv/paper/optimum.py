"""The Bayes optimum and the exact regret of every policy: claims C3 and C4 without error bars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from elsv._base.machine import available_memory
from elsv._base.progress import Progress
from elsv._base.typing import IntArray
from elsv.beliefs.abilities import factors
from elsv.beliefs.base import Order
from elsv.exact import OptimalPolicy, estimate, evaluate, solve
from elsv.paper import base, claims
from elsv.paper.base import Context, Drawing, Experiment, Outcome, Table, all_together
from elsv.paper.claims import Claim, claim, in_a_row, listed, minus, words
from elsv.problem import Problem
from elsv.report import figures
from elsv.report.style import NARROW, WIDTH, figure_of, label_outside, panels_on, redrawable
from elsv.state import State

POLICIES = {
    **base.policies(*claims.IN_PAPER, "greedy on the belief"),
    "commit, depth 5": "commit:depth=5",
    "finite-horizon Gittins": "finite-gittins",
    "plan": "plan",
}
VALUES = {  # to which a depth is added
    "separable (Gittins)": "elsv:index=gittins,",
    "separable (UCB)": "elsv:index=ucb,scale=0.4,",
    "commit": "commit:",
    "block commit": "block:",
}
# Without an order each of these pulls the same arms as the other: the first two by Theorem 1.
_SAME_WITHOUT_ORDER = {"ELSV-Gittins": "Gittins", "ELSV-UCB": "UCB", "TS constrained": "TS"}
_THOMPSON, _SEARCHES = ("TS", "TS constrained"), ("commit, depth 5", "plan")
_SEARCHED = 30  # work of all depths, in that of one horizon
_ALWAYS = 50  # pulls; longer horizons are left out where memory is short
_FLOOR, _DEPTH_FLOOR = 1e-2, 1e-3  # per cent; a logarithmic axis has no place for the optimum itself

_say = partial(words, "optimum")
Rows = Mapping[int, Mapping[str, float]]  # horizon or depth: label: regret


@dataclass(frozen=True)
class Settings:
    """The problems, the horizons, and the depths of the lookahead."""

    discounts: tuple[float, ...] = (0.8, 0.9, 1.0)
    wide: tuple[float, ...] = (0.4, 0.7, 1.0)
    pair: tuple[float, ...] = (0.6, 1.0)
    horizons: tuple[int, ...] = (10, 20, 30, 40, 50, 70, 100)
    discounts_to: int = 50
    wide_to: int = 100
    free_to: int = 70
    thompson_to: int = 40  # three arms
    searches_to: int = 50  # three arms
    depth_horizon: int = 30
    depths: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15)
    region_horizon: int = 60


@dataclass(frozen=True)
class Case:
    """A problem at several horizons, and where the policies that take too long stop."""

    name: str
    rewards: tuple[float, ...]
    order: Order | None
    horizons: tuple[int, ...]
    until: Mapping[str, int] = field(default_factory=dict)  # last horizon, for the labels that stop
    left_out: tuple[int, ...] = ()  # horizons for which memory is short


def cases_of(settings: Settings) -> dict[str, Case]:
    """Return the problems, the one that reaches the longest horizons first."""
    slow = dict.fromkeys(_THOMPSON, settings.thompson_to) | dict.fromkeys(_SEARCHES, settings.searches_to)
    limit = available_memory()

    def case(what: str, rewards: tuple[float, ...], last: int, order: Order | None = "decreasing") -> Case:
        def fits(t: int) -> bool:
            problem = Problem(rewards=rewards, order=order, horizon=t)
            return t <= _ALWAYS or limit is None or estimate(problem).bytes <= limit

        meant = [t for t in settings.horizons if t <= last]
        until = slow if len(rewards) > 2 else {}
        kept, short = (tuple(t for t in meant if fits(t) is fit) for fit in (True, False))
        return Case(f"{what}, rewards {in_a_row(rewards)}", rewards, order, kept, until, short)

    return {
        "pair": case("two arms, ordered", settings.pair, settings.horizons[-1]),
        "discounts": case("ordered", settings.discounts, settings.discounts_to),
        "wide": case("ordered", settings.wide, settings.wide_to),
        "free": case("no order", (1.0, 1.0, 1.0), settings.free_to, None),
    }


def regrets_of(case: Case, horizon: int, jobs: int | None, progress: Progress) -> dict[str, float]:
    """Return the exact regret of the optimum, of every policy of the case, and of the best fixed arm."""
    problem = Problem(rewards=case.rewards, order=case.order, horizon=horizon)
    twins = _SAME_WITHOUT_ORDER if factors(problem.belief) else {}
    labels = [label for label in POLICIES if horizon <= case.until.get(label, horizon)]
    distinct = [label for label in labels if label not in twins]
    names = ["optimal", *(POLICIES[label] for label in distinct)]
    optimum, *rows = evaluate(problem, names, jobs=jobs, progress=progress)
    known = {label: row.regret for label, row in zip(distinct, rows, strict=True)}
    found = {"optimum": optimum.regret} | {label: known[twins.get(label, label)] for label in labels}
    worth = problem.rewards * problem.belief.mean(State.initial(problem))
    found["best fixed arm"] = optimum.value + optimum.regret - horizon * float(worth.max())
    return found


def by_depth(
    case: Case, settings: Settings, jobs: int | None, progress: Progress
) -> dict[int, dict[str, float]]:
    """Return the exact regret of lookahead on each value by depth, and of the optimum."""
    problem = Problem(rewards=case.rewards, order=case.order, horizon=settings.depth_horizon)
    names = [f"{name}depth={depth}" for depth in settings.depths for name in VALUES.values()]
    # One call for all depths: what is believed of every state is computed once.
    rows = evaluate(problem, names, jobs=jobs, progress=progress)
    optimum, regrets = solve(problem, jobs=jobs).regret, (row.regret for row in rows)
    return {d: {"optimum": optimum} | {label: next(regrets) for label in VALUES} for d in settings.depths}


def above(row: Mapping[str, float], label: str) -> float:
    """Return the regret above the optimum in percent of it; NaN where the policy was not evaluated."""
    percent = 100.0 * (row.get(label, np.nan) - row["optimum"]) / row["optimum"]
    return 0.0 if abs(percent) < 1e-6 else percent


def run(settings: Settings, context: Context) -> Outcome:
    """Solve and evaluate, and judge both claims from exact numbers."""
    cases = cases_of(settings)
    searched = {key: cases[key] for key in ("wide", "free")}
    work = {(key, t): t ** (2.0 * len(case.rewards)) for key, case in cases.items() for t in case.horizons}
    work |= {(key, 0): _SEARCHED * settings.depth_horizon**6.0 for key in searched}
    note = all_together(work, lambda _, share: context.progress(share))

    def part(key: str, horizon: int) -> Progress:
        return lambda done, total: note((key, horizon), done / total)

    regrets = {
        case.name: {t: regrets_of(case, t, context.jobs, part(key, t)) for t in case.horizons}
        for key, case in cases.items()
    }
    deeper = {
        case.name: by_depth(case, settings, context.jobs, part(key, 0)) for key, case in searched.items()
    }
    free, discounts = cases["free"].name, cases["discounts"].name
    rows = regrets[discounts]
    shown = max(t for t, row in rows.items() if set(POLICIES) <= set(row))
    mine, best = rows[shown]["ELSV-Gittins"], rows[shown]["optimum"]
    leads, ahead = claims.exact_leads(rows, shown)
    why = _say("ahead", shown=shown, told=ahead) if ahead else claims.NOBODY_AHEAD
    measured = _say("regret", mine=mine, optimum=best, shown=shown, horizons=in_a_row(rows))
    return Outcome(
        text=_text(deeper, settings.depth_horizon) + short_of_memory(cases),
        numbers={
            "regret": {name: {str(t): row for t, row in rows.items()} for name, rows in regrets.items()},
            "regret_by_depth": {
                name: {str(d): row for d, row in rows.items()} for name, rows in deeper.items()
            },
        },
        drawings=[
            *(_horizon_drawing(key, case, regrets[case.name]) for key, case in cases.items()),
            *(_depth_drawing(key, case.name, deeper[case.name], settings) for key, case in searched.items()),
            regions(settings.region_horizon),
        ],
        tables=[
            *(_horizon_table(case, regrets[case.name]) for case in cases.values()),
            *(_depth_table(name, found) for name, found in deeper.items()),
        ],
        claims=[
            _depth_claim(deeper[free], free),
            claim("C4 exact", claims.least_regret(leads), measured, why),
        ],
    )


def _text(by_depth: dict[str, dict[int, dict[str, float]]], horizon: int) -> str:
    """Return what the section says: how it is computed, and whether deeper search helps."""
    told = []
    for problem, found in by_depth.items():
        first, last = min(found), max(found)
        separable = [above(found[d], "separable (Gittins)") for d in (first, last)]
        commit, least = above(found[first], "commit"), _least(above(found[last], "commit"))
        told.append(_say("deeper", problem=problem, separable=separable, commit=commit, least=least))
    return _say("text", horizon=horizon, first=first, last=last, told=", and ".join(told))


def short_of_memory(cases: Mapping[str, Case]) -> str:
    """Return which horizons were left out for want of memory; nothing if none was."""
    left_out = [f"T = {t} ({case.name})" for case in cases.values() for t in case.left_out]
    return "\n\n" + _say("left-out", left_out=listed(left_out)) if left_out else ""


def _least(percent: float) -> str:
    return f"{percent:.3f}" if percent >= _DEPTH_FLOOR else f"less than {_DEPTH_FLOOR:g}"


def _above(x: Sequence[int], rows: Rows, labels: Iterable[str], floor: float, **look: Any) -> Any:
    """Draw the regret above the optimum in percent, at least `floor`; no line where there is none."""
    series = {label: np.maximum([above(row, label) for row in rows.values()], floor) for label in labels}
    return figures.lines(x, series, y_label="regret above the optimum in %", log_y=True, markers=True, **look)


def _horizon_drawing(key: str, case: Case, rows: Rows) -> Drawing:
    left_out = {} if case.order else _SAME_WITHOUT_ORDER
    shown = [label for label in POLICIES if label not in left_out]
    look: dict[str, Any] = {"style": figures.styles(POLICIES), "height": 4.8}
    figure = _above(case.horizons, rows, shown, _FLOOR, x_label="horizon T", **look)
    same = [f"{label} is {twin}" for label, twin in left_out.items()]
    caption = _say("horizon", case=case.name, floor=_say("floor", percent=_FLOOR))
    twins = f"Without an order {listed(same)}." if same else ""
    return Drawing(f"horizon-{key}", figure, " ".join(filter(None, (caption, twins, _endings(case)))))


def _endings(case: Case) -> str:
    """Say which lines end early, and why."""
    last = case.horizons[-1]
    thompson, searches = (case.until.get(labels[0], last) for labels in (_THOMPSON, _SEARCHES))
    told = []
    if thompson < last:
        told.append(f"Thompson sampling (T = {thompson}: P(best) in every state takes long)")
    if searches < last:
        told.append(f"the two searches (T = {searches}: many sweeps for every step take long)")
    return _say("endings", told=listed(told)) if told else ""


def _depth_drawing(key: str, problem: str, rows: Rows, settings: Settings) -> Drawing:
    figure = _above(settings.depths, rows, VALUES, _DEPTH_FLOOR, x_label="depth of the lookahead")
    floor = _say("floor", percent=_DEPTH_FLOOR)
    caption = _say("by-depth", horizon=settings.depth_horizon, problem=problem, floor=floor)
    return Drawing(f"depth-{key}", figure, caption)


def _horizon_table(case: Case, rows: Rows) -> Table:
    body: list[list[Any]] = [["optimum: regret", *(f"{row['optimum']:.4f}" for row in rows.values())]]
    for label in (*POLICIES, "best fixed arm"):
        shown = (f"{above(row, label):.2f} %" if label in row else "" for row in rows.values())
        body.append([label, *shown])
    heads = ["regret above the optimum", *(f"T = {horizon}" for horizon in rows)]
    empty = " Empty: not evaluated." if _endings(case) else ""
    return Table(heads, body, _say("horizon-table", case=case.name, empty=empty), highlight=(0,))


def _depth_table(problem: str, found: Rows) -> Table:
    rows = [[str(d), *(f"{above(row, label):.3f} %" for label in VALUES)] for d, row in found.items()]
    return Table(["depth", *VALUES], rows, _say("depth-table", problem=problem))


def _depth_claim(found: Rows, setting: str) -> Claim:
    """Judge the changes from depth 1 to every other depth of the separable values, exact."""
    changes = [
        claims.Change(setting, f"{label}, depth {d}", 100 * (row[label] / found[1][label] - 1), 0.0)
        for d, row in found.items()
        for label in ("separable (Gittins)", "separable (UCB)")
        if d > 1
    ]
    down, up = min(changes, key=lambda c: c.percent), max(changes, key=lambda c: c.percent)
    deepest = max(found)
    first, last = (above(found[d], "commit") for d in (1, deepest))
    measured = minus(_say("changes", down=down, up=up))
    why = _say("not-search", deepest=deepest, first=first, last=_least(last))
    return claim("C3 exact", claims.no_difference(changes), measured, why)


def regions(horizon: int) -> Drawing:
    """Draw which arm the optimum pulls: slices through the states of two arms, without and with an order."""
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
    return Drawing("regions", _region_figure(panels), _say("regions", horizon=horizon))


def _arms(problem: Problem, policy: OptimalPolicy, first: int, second: int) -> IntArray:
    """Return the optimal arm by successes, ``[first + 1, second + 1]``."""
    wins = np.stack(np.meshgrid(np.arange(first + 1), np.arange(second + 1), indexing="ij"), axis=-1)
    losses = np.array([first, second]) - wins
    state = State(problem.prior[:, 0] + wins, problem.prior[:, 1] + losses)
    return policy(state, first + second + 1)


@redrawable
def _region_figure(
    panels: list[tuple[str, IntArray]], width: float = WIDTH, axes: Sequence[Any] | None = None
) -> Any:
    from matplotlib.colors import ListedColormap

    colours = ListedColormap(["#0072b2", "#e69f00"])
    grid = panels_on(axes, len(panels), width, 2.3, 1 if width <= NARROW else 2, share_x=False)
    for panel, (title, arms) in zip(grid, panels, strict=True):
        panel.grid(visible=False)
        panel.imshow(arms.T, origin="lower", aspect="auto", cmap=colours, vmin=0, vmax=1)
        panel.set_title(title)
        panel.tick_params(length=0)
        diagonal = ([0, arms.shape[0] - 1], [0, arms.shape[1] - 1])  # equal means
        panel.plot(*diagonal, color="white", linewidth=0.8, linestyle=":")
    label_outside(grid, "successes of arm 1", "successes of arm 2", axes is None)
    return figure_of(grid)


EXPERIMENT = Experiment(
    "optimum",
    "Against the Bayes optimum (exact)",
    run,
    Settings(),
    Settings(
        horizons=(5, 10, 15, 20),
        wide_to=15,
        free_to=15,
        depth_horizon=15,
        depths=(1, 3, 10),
        region_horizon=30,
    ),
    weight=22,
)
