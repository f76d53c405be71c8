"""What an experiment is: settings as data, a function that runs them, and what it hands to the report.

At the end stands what the experiments that compare policies share: their numbers, columns and curves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from elsv._base.machine import cores
from elsv._base.typing import AnyArray
from elsv.errors import InvalidInputError
from elsv.paper.claims import Claim
from elsv.policies import Policy
from elsv.problem import Problem
from elsv.report import figures
from elsv.report.page import Cell
from elsv.report.style import users_axes
from elsv.simulation.compare import Comparison, compare

POLICIES = {
    "ELSV-Gittins": "elsv:index=gittins",
    "ELSV-UCB": "elsv:index=ucb",
    "UCB": "ucb",
    "ELSV-UCB × 0.4": "elsv:index=ucb,weight=0.4",
    "UCB × 0.4": "ucb:scale=0.16",
    "Bayes-UCB": "bayes-ucb",
    "TS": "thompson:order=false",
    "TS constrained": "thompson",
    "Gittins": "gittins",
    "greedy on the belief": "greedy",
    "arm 1 always": "fixed:arm=1",
    "arm 2 always": "fixed:arm=2",
    "arm 3 always": "fixed:arm=3",
}
PAIRS = {"equal bonuses": ("ELSV-UCB", "UCB"), "equal bonuses × 0.4": ("ELSV-UCB × 0.4", "UCB × 0.4")}
Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")


def policies(*labels: str) -> dict[str, str]:
    """Return the names of policies by these labels."""
    return {label: POLICIES[label] for label in labels}


def side_by_side(
    work: Callable[[Key], Result], keys: Iterable[Key], at_once: int, over: threading.Event
) -> Iterator[tuple[Key, Result]]:
    """Yield each key with what `work` makes of it, as they finish; they are started in their order.

    `over` is set at the end. After an error or an interruption it tells the others to give up.
    """
    with ThreadPoolExecutor(at_once) as pool:
        try:
            pending = {pool.submit(work, key): key for key in keys}
            for done in as_completed(pending):
                yield pending[done], done.result()
        finally:
            over.set()
            pool.shutdown(cancel_futures=True)


def all_together(
    weights: Mapping[Any, float], report: Callable[[Any, float], None]
) -> Callable[[Any, float], None]:
    """Return what notes the share of one task that is done, and reports that of all, each with a weight."""
    done, lock = dict.fromkeys(weights, 0.0), threading.Lock()

    def note(key: Any, share: float) -> None:
        with lock:
            done[key] = share
            report(key, sum(weights[k] * done[k] for k in weights) / sum(weights.values()))

    return note


@dataclass(frozen=True)
class Simulation:
    """A comparison with its options; `weight` is its share of the time of all, for the progress bar."""

    problem: Problem
    policies: Mapping[str, str | Policy]
    instances: int
    weight: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Context:
    """What a run of any experiment needs besides its settings."""

    seed: int = 0
    jobs: int | None = None
    progress: Callable[[float], None] = field(default=lambda share: None, repr=False)
    device: str = "cpu"  # "cuda": what was computed on a GPU once is computed again

    def compare_all(self, simulations: Mapping[Key, Simulation]) -> dict[Key, Comparison]:
        """Run comparisons side by side, the longest first, so that one of few chunks leaves no core idle.

        They share out the threads. If each had them all, the longest would be slowed by the others and then
        run on alone.
        """
        jobs, over = cores(self.jobs), threading.Event()
        at_once = min(jobs, len(simulations))
        weights = {key: simulation.weight for key, simulation in simulations.items()}
        note = all_together(weights, lambda _, share: self.progress(share))

        def run(key: Key) -> Comparison:
            def report(done: int, steps: int) -> None:
                note(key, done / steps)

            s = simulations[key]
            options: dict[str, Any] = {"jobs": jobs // at_once, "stop": over, **s.options}
            return compare(s.problem, s.policies, s.instances, self.seed, progress=report, **options)

        longest = sorted(simulations, key=lambda key: -weights[key])
        found = dict(side_by_side(run, longest, at_once, over))
        return {key: found[key] for key in simulations}


@dataclass(frozen=True)
class Drawing:
    """A matplotlib figure, the name of its files, and what it shows."""

    name: str
    figure: Any
    caption: str

    def plot(self, ax: Any = None) -> Any:
        """Draw it on a matplotlib Axes with the user's own settings and return that (extra ``plot``).

        A drawing of several panels takes and returns as many axes, in an array or a list.
        """
        panels = sum(axes.get_label() != "<colorbar>" for axes in self.figure.axes)
        axes = users_axes(ax, panels)
        self.figure.redraw(axes=axes)
        return axes if panels > 1 else axes[0]


@dataclass(frozen=True)
class Table:
    """A table of the page, in the terms of `elsv.report.page.Page.table`."""

    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str
    align: str = ""
    highlight: Sequence[int] = ()


@dataclass(frozen=True)
class Outcome:
    """What an experiment found. Everything but `timing` and `seconds` is the same for the same seed."""

    text: str
    numbers: Mapping[str, Any]
    drawings: Sequence[Drawing] = ()
    tables: Sequence[Table] = ()
    claims: Sequence[Claim] = ()
    columns: Mapping[str, AnyArray] | None = None  # of results/NAME.parquet
    timing: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0  # that the experiment took; `reproduce` fills it in

    def plot(self, drawing: str | None = None, ax: Any = None) -> Any:
        """Draw one of the drawings, by its name (default: the first), as `Drawing.plot` does."""
        for found in self.drawings:
            if drawing in (None, found.name):
                return found.plot(ax)
        names = ", ".join(d.name for d in self.drawings) or "none"
        raise InvalidInputError(f"no drawing {drawing or ''!r} here; there are: {names}")


@dataclass(frozen=True)
class Experiment:
    """One part of the reproduction, in two sizes that run the same code."""

    name: str
    title: str
    run: Callable[[Any, Context], Outcome]
    full: Any  # a frozen dataclass of settings
    quick: Any
    weight: float = 1.0  # share of the run time

    def settings(self, quick: bool) -> Any:
        """Return the settings of a size."""
        return self.quick if quick else self.full


def numbers_of(comparison: Comparison, policies: Mapping[str, Any]) -> dict[str, Any]:
    """Return the final regrets of a comparison by label, with what was run."""
    return {
        "instances": comparison.instances,
        "horizon": comparison.horizon,
        "means": comparison.source,
        "policies": {
            label: {
                "policy": policy if isinstance(policy, str) else policy.__name__,
                "regret": comparison[label].final[0],
                "ci95": comparison[label].final[1],
                "best_share": float(comparison[label].best_share.mean()),
            }
            for label, policy in policies.items()
        },
    }


def columns_of(comparisons: Mapping[str, Comparison]) -> dict[str, AnyArray]:
    """Return one row for each setting, policy and step."""
    tables = {setting: comparison.columns() for setting, comparison in comparisons.items()}
    keys = ("policy", "step", "regret", "ci95", "best_share")
    found = {key: np.concatenate([table[key] for table in tables.values()]) for key in keys}
    found["setting"] = np.repeat(list(tables), [len(table["step"]) for table in tables.values()])
    return found


def curves(
    name: str, comparison: Comparison, labels: Sequence[str], caption: str, all_labels: Sequence[str]
) -> Drawing:
    """Return regret curves with their bands, coloured as in every figure with the same labels."""
    means = {label: comparison[label].mean for label in labels}
    halves = {label: comparison[label].ci95 for label in labels}
    return Drawing(name, figures.regret_curves(means, halves, style=figures.styles(all_labels)), caption)


def final(comparison: Comparison, label: str) -> str:
    """Return the final regret with its half-width, to two decimals."""
    return "{:.2f} ± {:.2f}".format(*comparison[label].final)
