"""What knowing a structure is worth, problem by problem: the tables and pictures of docs/gallery.md.

``python -m benchmarks.gallery measure [NAME …]`` simulates, ``… exact [NAME …]`` evaluates small forms of the
problems exactly; both write docs/figures/gallery.json. ``… draw [NAME …]`` draws figures/gallery-NAME.svg
from it, and ``… tables`` prints the tables of the page. Without a word it does all four, in some ten minutes
of processor time.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.shared import plus_minus, table
from elsv import Problem, State, compare
from elsv import structure as st
from elsv._base.files import write_text
from elsv.exact import evaluate
from elsv.policies import make_policy
from elsv.report._drawing import draw_lines, name_lines
from elsv.report.figures import styles, to_svg
from elsv.report.style import INK, SOFT_INK, Style, new_figure, styled
from elsv.suite import gallery

FOLDER = Path(__file__).parent.parent / "docs" / "figures"
RESULTS = FOLDER / "gallery.json"
KNOWN = ("plan", "elsv", "thompson", "ids")
SHARE = 0.9  # that a structure which may be wrong is given in a mixture
SEED = 1

WIDE, TALL = 8.0, 3.2  # inches
DRAWS = 14  # of means, in a picture of what is known
WITHOUT, MIXED = "plan, nothing known", "plan, probably"
ASSUMED = ("plan", MIXED, WITHOUT)
TITLES = {
    "discounts": "discounts",
    "ladder": "40 prices",
    "curve": "demand curve",
    "doses": "doses",
    "contacts": "contacts",
    "tiers": "tier × discount",
    "segments": "segments",
}
# What the arms are, what a success is, who comes.
AXES = {
    "discounts": ("", "probability of a sale", "customer"),
    "ladder": ("price", "probability of a sale", "customer"),
    "curve": ("price", "probability of a sale", "customer"),
    "doses": ("", "probability of no harm", "patient"),
    "contacts": ("letters a month", "probability of an order", "customer"),
    "tiers": ("", "probability of a sale", "customer"),
    "segments": ("", "probability of a sale", "customer"),
}
ROWS = {"tiers": ("gold", "basic"), "segments": ("returning", "new")}
_ROWS = ("#0072B2", "#D55E00")

Means = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True)
class Example:
    """One problem of the gallery."""

    problem: Problem
    labels: tuple[str, ...]  # of the arms in a picture; fewer than arms: those of one row
    wrong: Means  # draws of means under which the structure does not hold
    instances: int = 96
    small: Problem | None = None  # of the same kind, which the lattice reaches
    robust: bool = True  # whether a mixture with nothing known can be had
    extra: tuple[str, ...] = field(default=())  # more rivals


def _unordered(problem: Problem) -> Means:
    """Means of independent arms."""
    return lambda rng, count: rng.beta(problem.prior[:, 0], problem.prior[:, 1], (count, problem.arms))


def _turned(problem: Problem) -> Means:
    """Means of the structure, the last arm first."""
    return lambda rng, count: problem.belief.draw(State.initial(problem, (count,)), rng)[:, ::-1]


def _kinked(prices: np.ndarray) -> Means:
    """Demand that hardly falls up to a price that people balk at, and then falls at once."""

    def draw(rng: np.random.Generator, count: int) -> np.ndarray:
        high, low = rng.uniform(0.3, 0.6, (count, 1)), rng.uniform(0.02, 0.1, (count, 1))
        place = rng.uniform(prices[1], prices[-2], (count, 1))
        return np.where(prices <= place, high, low)

    return draw


def _two_peaks(rng: np.random.Generator, count: int) -> np.ndarray:
    """Means with a peak at either end and a valley between."""
    shape = np.array([0.9, 0.4, 0.4, 0.9])
    return np.clip(shape * rng.uniform(0.3, 1, (count, 1)) + rng.normal(0, 0.05, (count, 4)), 0.01, 0.99)


def _crossed(problem: Problem, columns: int) -> Means:
    """Means of a grid, its lowest row the other way round."""

    def draw(rng: np.random.Generator, count: int) -> np.ndarray:
        means = problem.belief.draw(State.initial(problem, (count,)), rng)
        means[:, -columns:] = means[:, -columns:][:, ::-1]
        return means

    return draw


def _swapped(problem: Problem) -> Means:
    """Means of two rows, the upper one below the lower."""
    half = problem.arms // 2
    swapped = [*range(half, problem.arms), *range(half)]
    return lambda rng, count: problem.belief.draw(State.initial(problem, (count,)), rng)[:, swapped]


def _examples() -> dict[str, Example]:
    discounts, ladder, curve, doses, contacts, tiers, shop = gallery().values()
    steps, prices = ladder.rewards, curve.rewards
    few_shop = Problem(
        [0.7, 1.0] * 2,
        horizon=8,
        structure=st.grid(2, 2),
        segments={"returning": [1, 2], "new": [3, 4]},
        segment_shares=[0.4, 0.6],
    )
    few_prices = [8.0, 12, 16]
    few_curves = st.logistic(few_prices, conversion=(0.05, 0.5), draws=4096)
    few_doses = st.decreasing() & st.bounds([(0.7, 1.0), None, None])
    three = ("−30 %", "−15 %", "full")
    return {
        "discounts": Example(
            discounts, three, _unordered(discounts), small=discounts.with_horizon(30), instances=384
        ),
        "ladder": Example(ladder, _written(steps), _turned(ladder), instances=24),
        "curve": Example(
            curve,
            _written(prices),
            _kinked(prices),
            small=Problem(few_prices, horizon=16, structure=few_curves),
            instances=288,
            robust=False,
            extra=("glm-ucb",),
        ),
        "doses": Example(
            doses,
            ("dose 1", "2", "3", "4"),
            _unordered(doses),
            small=Problem([0.4, 0.7, 1.0], horizon=16, structure=few_doses),
        ),
        "contacts": Example(
            contacts,
            ("1", "2", "4", "8"),
            _two_peaks,
            small=Problem([1.0] * 3, horizon=16, structure=st.unimodal()),
            extra=("uts", "osub"),
        ),
        "tiers": Example(
            tiers,
            three,
            _crossed(tiers, 3),
            small=Problem([0.7, 1.0, 0.7, 1.0], horizon=8, structure=st.grid(2, 2)),
        ),
        "segments": Example(shop, three, _swapped(shop), small=few_shop, extra=("separate", "pooled")),
    }


def _written(prices: np.ndarray) -> tuple[str, ...]:
    return tuple(f"{price:.3g}" for price in prices)


class Assuming:
    """`plan` with other assumptions than the problem's, which policies of the package refuse to be."""

    deterministic = costly = steady = True

    def __init__(self, problem: Problem, structure: st.Structure) -> None:
        self._plan = make_policy("plan", problem.with_prior(problem.prior, structure))

    def __call__(self, state: State, step: int, rng: np.random.Generator, segment: Any = None) -> Any:
        """Return the arm for every instance."""
        return self._plan(state, step, rng) if segment is None else self._plan(state, step, rng, segment)


def measure(example: Example) -> dict[str, Any]:
    """Return regrets and paired differences, where the structure holds and where it does not."""
    began, problem = time.perf_counter(), example.problem
    rivals = (*KNOWN, *example.extra)
    policies = {name: name for name in rivals} | {WITHOUT: Assuming(problem, st.free())}
    holds = compare(problem, policies, example.instances, seed=SEED, progress=False)
    found = {
        "arms": problem.arms,
        "horizon": problem.horizon,
        "instances": example.instances,
        "structure": problem.structure.describe(),
        "regret": {name: _last(holds, name) for name in policies},
        "curves": {
            name: [round(float(value), 4) for value in holds[name].mean[_ticks(problem)]] for name in policies
        },
        "bands": {
            name: [round(float(value), 4) for value in holds[name].ci95[_ticks(problem)]] for name in policies
        },
        "steps": (_ticks(problem) + 1).tolist(),
        "plan_less": {name: _pair(holds.difference("plan", name)) for name in policies if name != "plan"},
        "microseconds": {name: round(holds[name].microseconds) for name in policies},
    }
    means = example.wrong(np.random.default_rng(SEED), example.instances)
    assumed: dict[str, Any] = {"plan": "plan", WITHOUT: Assuming(problem, st.free())}
    if example.robust:
        mixed = st.mixture([(SHARE, problem.structure), (1 - SHARE, st.free())])
        assumed[MIXED] = Assuming(problem, mixed)
    broken = compare(problem, assumed, example.instances, seed=SEED, means=means, progress=False)
    found["wrong"] = {name: _last(broken, name) for name in assumed}
    found["wrong_plan_less"] = {
        name: _pair(broken.difference("plan", name)) for name in assumed if name != "plan"
    }
    found["seconds"] = round(time.perf_counter() - began)
    return found


def exact(problem: Problem) -> dict[str, Any]:
    """Return exact regrets; `finite-gittins` is nearly the best that looks at arms one by one."""
    rows = evaluate(problem, ["optimal", "plan", "elsv", "finite-gittins"], progress=False)
    regret = {row.name: round(row.regret, 6) for row in rows}
    return {"arms": problem.arms, "horizon": problem.horizon, "regret": regret}


def _ticks(problem: Problem) -> np.ndarray:
    return np.unique(np.linspace(0, problem.steps - 1, 41).round().astype(int))


def _last(found: Any, name: str) -> list[float]:
    return _pair((found[name].mean[-1], found[name].ci95[-1]))


def _pair(values: tuple[Any, Any]) -> list[float]:
    return [round(float(value), 4) for value in values]


def draw(name: str, problem: Problem, labels: Sequence[str], found: dict[str, Any], path: Path) -> None:
    """Write the picture of one problem."""
    figure = picture(name, problem, labels, found)
    write_text(path, '<?xml version="1.0" encoding="utf-8"?>\n' + to_svg(figure) + "\n")


@styled()
def picture(name: str, problem: Problem, labels: Sequence[str], found: dict[str, Any]) -> Any:
    """Return a figure of what a structure says, and of the regret with and without it."""
    figure = new_figure(WIDE, TALL)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
    _known(left, problem, labels, ROWS.get(name, ("",)))
    _regrets(right, found)
    for axes, said in zip((left, right), AXES[name][::2], strict=True):
        axes.set_xlabel(said)
    left.set_ylabel(AXES[name][1])
    return figure


def _known(axes: Any, problem: Problem, labels: Sequence[str], rows: tuple[str, ...]) -> None:
    """Draw means that the structure allows, row by row where there are rows."""
    means = problem.belief.draw(State.initial(problem, (DRAWS,)), np.random.default_rng(4))
    mean = problem.belief.mean(State.initial(problem))
    x = np.arange(len(labels))
    for k, row in enumerate(rows):
        own = slice(k * len(labels), (k + 1) * len(labels))
        thin, thick = (SOFT_INK, INK) if len(rows) == 1 else (_ROWS[k], _ROWS[k])
        axes.plot(x, means[:, own].T, color=thin, linewidth=0.8, alpha=0.5)
        axes.plot(x, mean[own], color=thick, linewidth=2.4)
        axes.text(x[0] + 0.05, mean[own][0] + 0.03, row, color=thick, weight="bold")
    few = x if len(x) <= 8 else np.linspace(0, len(x) - 1, 5).astype(int)
    axes.set_xticks(few, [labels[k] for k in few])
    axes.set_ylim(0, 1)
    axes.set_title(f"What is known: {DRAWS} possible worlds")


def _regrets(axes: Any, found: dict[str, Any]) -> None:
    names = [name for name in found["curves"] if name in ("plan", "elsv", "thompson", "ids", WITHOUT)]
    look = styles(names) | {WITHOUT: Style("#6b7078", (0, (6, 1.5, 1.4, 1.5)))}
    series = {name: found["curves"][name] for name in names}
    bands = {name: found["bands"][name] for name in names}
    drawn = draw_lines(axes, found["steps"], series, bands, look, False, False, False)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("regret")
    axes.set_title("What is lost, with 95 % bands")
    name_lines(axes, drawn, "ends", own=False)


def tables(known: dict[str, Any]) -> str:
    """Return the tables of the page."""
    chosen = {name: known[name] for name in TITLES if name in known}
    parts = [_saves(chosen), _rivals(chosen), _costs(chosen), _exact(chosen)]
    return "\n\n".join([*parts, *(_sharing(one) for one in chosen.values() if "separate" in one["regret"])])


def _saves(known: dict[str, Any]) -> str:
    rows = []
    for name, one in known.items():
        without, (less, half) = one["regret"][WITHOUT], one["plan_less"][WITHOUT]
        saved = f"{plus_minus([-less, half])}, {-100 * less / without[0]:.0f} %"
        rows.append([*_sized(name, one), plus_minus(one["regret"]["plan"]), plus_minus(without), saved])
    heads = ["problem", "arms", "T", "`plan`, knowing it", "`plan`, nothing known", "saved"]
    return table(heads, rows)


def _rivals(known: dict[str, Any]) -> str:
    rows = []
    for name, one in known.items():
        pairs = [one["plan_less"][rival] for rival in ("elsv", "thompson", "ids")]
        worse = any(less - half > 0 for less, half in pairs)
        cells = [plus_minus(pair) for pair in (one["regret"]["plan"], *pairs)]
        rows.append([TITLES[name], *cells, "yes" if worse else "no"])
    heads = ["problem", "`plan`", "less `elsv`", "less `thompson`", "less `ids`", "worse than one of them?"]
    return table(heads, rows, words=(0, 5))


def _costs(known: dict[str, Any]) -> str:
    rows = [
        [TITLES[name], *(plus_minus(one["wrong"][key]) if key in one["wrong"] else "" for key in ASSUMED)]
        for name, one in known.items()
    ]
    return table(
        ["problem", "`plan`, assuming it", "assuming it with probability 0.9", "nothing known"], rows
    )


def _exact(known: dict[str, Any]) -> str:
    rows = []
    for name, one in known.items():
        if "exact" in one:
            regret = one["exact"]["regret"]
            cells = [f"{regret[key]:.4f}" for key in ("optimal", "plan", "elsv", "finite-gittins")]
            saved = f"{100 * (1 - regret['optimal'] / regret['finite-gittins']):.0f} %"
            rows.append([*_sized(name, one["exact"]), *cells, saved])
    heads = "problem", "arms", "T", "optimum", "`plan`", "`elsv`", "`finite-gittins`, arm by arm", "saved"
    return table(heads, rows)


def _sharing(one: dict[str, Any]) -> str:
    less = {"plan": "", **{name: plus_minus(one["plan_less"][name]) for name in ("separate", "pooled")}}
    rows = [[f"`{name}`", plus_minus(one["regret"][name]), cell] for name, cell in less.items()]
    return table(["policy", "regret", "`plan` less it"], rows)


def _sized(name: str, one: dict[str, Any]) -> list[str]:
    return [TITLES[name], str(one["arms"]), str(one["horizon"])]


def main() -> None:
    """Measure, evaluate, draw and print what is named, or all."""
    words = sys.argv[1:]
    task = words.pop(0) if words and words[0] in ("measure", "exact", "draw", "tables") else "all"
    examples = _examples()
    chosen = {name: examples[name] for name in words or examples}
    for name, one in chosen.items():
        if task in ("measure", "all"):
            _keep(name, measure(one))
        if task in ("exact", "all") and one.small is not None:
            _keep(name, {"exact": exact(one.small)})
        if task in ("draw", "all"):
            draw(name, one.problem, one.labels, _kept()[name], FOLDER / f"gallery-{name}.svg")
    if task in ("tables", "all"):
        print(tables(_kept()))


def _kept() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return kept


def _keep(name: str, more: dict[str, Any]) -> None:
    """Add to what is known of a problem."""
    known = _kept()
    known[name] = known.get(name, {}) | more
    write_text(RESULTS, json.dumps(known, indent=1) + "\n")
    print(name, flush=True)


if __name__ == "__main__":
    main()
