"""What an experiment is: settings as data, a function that runs them, and what it hands to the report.

At the end stands what the experiments that compare policies share: their numbers, columns and tables.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from elsv._base.machine import cores
from elsv._base.typing import AnyArray
from elsv.errors import InvalidInputError
from elsv.paper.claims import Claim, minus
from elsv.policies import Policy
from elsv.problem import Problem
from elsv.report import figures
from elsv.report.canvas import checked_axes, drawn_panels, several_axes
from elsv.report.headline import ranking, shown_digits
from elsv.report.money import with_half
from elsv.report.page import Cell
from elsv.simulation.compare import Comparison, compare

Key = TypeVar("Key", bound=Hashable)


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
        """Run comparisons side by side, so that one of few chunks leaves no core idle.

        They share out the threads. If each had them all, the longest would be slowed by the others and then
        run on alone.
        """
        jobs = cores(self.jobs)
        at_once = max(1, min(jobs, len(simulations)))
        total = sum(simulation.weight for simulation in simulations.values())
        shares = dict.fromkeys(simulations, 0.0)
        lock, over = threading.Lock(), threading.Event()

        def run(key: Key) -> Comparison:
            s = simulations[key]

            def report(done: int, chunks: int) -> None:
                with lock:
                    shares[key] = s.weight / total * done / chunks
                    self.progress(sum(shares.values()))

            shared: dict[str, Any] = {"jobs": jobs // at_once, "progress": report, "stop": over}
            return compare(s.problem, s.policies, s.instances, self.seed, **shared, **s.options)

        with ThreadPoolExecutor(at_once) as pool:
            try:
                # The longest first, so that none is left over when the others are done.
                longest = sorted(simulations, key=lambda key: -simulations[key].weight)
                pending = {key: pool.submit(run, key) for key in longest}
                for done in as_completed(pending.values()):
                    done.result()  # an error is raised as soon as it is there
                return {key: pending[key].result() for key in simulations}
            finally:
                over.set()  # after an error or an interruption nobody waits for the rest
                pool.shutdown(wait=True, cancel_futures=True)


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
        panels = drawn_panels(self.figure)
        if panels == 1:
            axes = checked_axes(ax)
            self.figure.redraw(axes=[axes])
            return axes
        grid = several_axes(ax, panels)
        self.figure.redraw(axes=grid)
        return grid


@dataclass(frozen=True)
class Table:
    """A table of the page, in the terms of `elsv.report.page.Page.table`."""

    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str
    align: str
    highlight: Sequence[int] = ()


@dataclass(frozen=True)
class Outcome:
    """What an experiment found. Everything but `timing` is the same for the same seed."""

    text: str
    numbers: Mapping[str, Any]
    drawings: Sequence[Drawing] = ()
    tables: Sequence[Table] = ()
    claims: Sequence[Claim] = ()
    columns: Mapping[str, AnyArray] | None = None  # of results/NAME.parquet
    timing: Mapping[str, Any] = field(default_factory=dict)

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
    weight: float = 1.0  # share of the run time, for the progress bar

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
                "regret": float(comparison[label].mean[-1]),
                "ci95": float(comparison[label].ci95[-1]),
                "best_share": float(comparison[label].best_share.mean()),
            }
            for label, policy in policies.items()
        },
    }


def columns_of(comparisons: Mapping[str, Comparison]) -> dict[str, AnyArray]:
    """Return one row for each setting, policy and step."""
    columns: dict[str, list[AnyArray]] = {}
    for setting, comparison in comparisons.items():
        table = {key: np.asarray(values) for key, values in comparison.columns().items()}
        table = {key: table[key] for key in ("policy", "step", "regret", "ci95", "best_share")}
        table["setting"] = np.full(len(table["step"]), setting)
        for key, values in table.items():
            columns.setdefault(key, []).append(values)
    return {key: np.concatenate(parts) for key, parts in columns.items()}


def curves(
    name: str, comparison: Comparison, labels: Sequence[str], caption: str, all_labels: Sequence[str]
) -> Drawing:
    """Return regret curves with their bands, coloured as in every figure with the same labels."""
    return Drawing(
        name,
        figures.regret_curves(
            {label: comparison[label].mean for label in labels},
            {label: comparison[label].ci95 for label in labels},
            style=figures.styles(all_labels),
        ),
        caption,
    )


def regret_table(
    comparison: Comparison, policies: Mapping[str, Any], reference: str, caption: str, common: str = ""
) -> Table:
    """Return final regrets, the least first, with paired differences to `reference`.

    Parameters that many policies have in `common` are shown as a dagger.
    """
    digits = shown_digits(comparison)
    rows = []
    for label in ranking(comparison):
        result, policy = comparison[label], policies[label]
        difference, half = comparison.difference(label, reference)
        rows.append(
            [
                label,
                _policy(policy, common),
                with_half(float(result.mean[-1]), float(result.ci95[-1]), digits),
                None if label == reference else _signed(difference, half, digits),
                f"{100 * result.best_share.mean():.1f} %",
            ]
        )
    headers = ["", "policy", "regret ± 95 %", f"minus {reference}, paired", "best arm"]
    return Table(headers, rows, caption, "lwrrr", (0,))


def _policy(policy: Any, common: str) -> str:
    if not isinstance(policy, str):
        return str(policy.__doc__).splitlines()[0].rstrip(".")
    short = policy.removesuffix(common) if common else policy
    return f"`{short}`" if short == policy else f"`{short}` †"


def _signed(difference: float, half: float, digits: int) -> str:
    text = minus(f"{difference:+.{digits}f} ± {half:.{digits}f}")
    return text if abs(difference) > half else f"*{text}*"
