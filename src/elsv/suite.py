"""Fixed problems by version, so that two papers compare policies on the same ones.

A version never changes: another choice of problems is another version. ``v1`` has the seven problems of the
gallery, three of the paper, and ten that a seed drew.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from elsv import structure as st
from elsv._base.export import Columns, latex_table, write_columns
from elsv._base.files import write_text
from elsv._base.numbers import finite
from elsv._base.progress import Progress, part_of, watched
from elsv.errors import InvalidInputError, unknown_name
from elsv.policies import Policy, make_policy
from elsv.policies.base import fits_segments
from elsv.policies.sharing import Separate
from elsv.problem import Problem
from elsv.report.headline import shown_digits, with_half
from elsv.report.terminal import aligned
from elsv.simulation.compare import Comparison, compare, named, versions

VERSIONS = ("v1",)
INSTANCES = 1000
FILES = ("results.csv", "summary.json", "table.tex")
Maker = Callable[[Problem], Policy]
_SEED = 20_260_101  # of the ten problems of v1 that were drawn


def problems(version: str = "v1") -> dict[str, Problem]:
    """Return the problems of a version by name.

    Examples
    --------
    >>> list(problems("v1"))[:8]
    ['discounts', 'ladder', 'curve', 'doses', 'contacts', 'tiers', 'segments', 'paper']
    """
    if version not in VERSIONS:
        raise unknown_name("suite", version, VERSIONS)
    of_paper = {
        "paper": Problem([0.8, 0.9, 1.0], order="decreasing", horizon=290),
        "paper-wide": Problem([0.4, 0.7, 1.0], order="decreasing", horizon=290),
        "paper-plain": Problem([1.0, 1.0, 1.0], horizon=290),
    }
    return gallery() | of_paper | {f"random-{k + 1}": _drawn(k) for k in range(10)}


def gallery() -> dict[str, Problem]:
    """Return the seven problems of docs/gallery.md."""
    prices = [6.0, 8, 10, 12, 14, 16, 18, 20]
    curve = st.logistic(prices, conversion=(0.05, 0.5), draws=4096)
    tolerated = st.decreasing() & st.bounds([(0.7, 1.0), None, None, None])
    rows: dict[str, Any] = {"rewards": [0.7, 0.85, 1.0] * 2, "horizon": 40, "structure": st.grid(2, 3)}
    groups = {"returning": [1, 2, 3], "new": [4, 5, 6]}
    return {
        "discounts": Problem([0.7, 0.85, 1.0], order="decreasing", horizon=60),
        "ladder": Problem(np.linspace(0.25, 1.0, 40), order="decreasing", horizon=60),
        "curve": Problem(prices, horizon=60, structure=curve),
        "doses": Problem([0.4, 0.6, 0.8, 1.0], horizon=60, structure=tolerated),
        "contacts": Problem([1.0] * 4, horizon=40, structure=st.unimodal()),
        "tiers": Problem(**rows),
        "segments": Problem(**rows, segments=groups, segment_shares=[0.4, 0.6]),
    }


def _drawn(number: int) -> Problem:
    """Draw one of the random problems: arms, rewards, Beta rows, structure and horizon.

    Everything is rounded to what can be written down, and kinds take turns, two of each.
    """
    rng = np.random.default_rng([_SEED, number])
    kind = ("order", "free", "tree", "peak", "bounds")[number % 5]
    arms = int(rng.integers(2, 6)) if kind != "tree" else 4
    rewards = np.sort(rng.integers(30, 101, arms)) / 100
    prior = rng.integers(1, 7, (arms, 2)) / 2
    horizon = int(rng.integers(2, 21)) * 10
    low = rng.integers(0, 4, arms) / 10
    stated: dict[str, st.Structure] = {
        "order": st.decreasing(),
        "free": st.free(),
        "tree": st.order([(1, 2), (1, 3), (3, 4)]) if arms == 4 else st.free(),
        "peak": st.unimodal(on="reward"),
        "bounds": st.bounds([(float(x), round(float(x) + 0.6, 1)) for x in low]),
    }
    return Problem(rewards, horizon=horizon, prior=prior, structure=stated[kind])


@dataclass(frozen=True)
class SuiteResult(Columns):
    """What `run` measured: a `Comparison` for each problem."""

    version: str
    comparisons: Mapping[str, Comparison] = field(repr=False)
    policies: tuple[str, ...]
    instances: int
    seed: int

    def __getitem__(self, problem: str) -> Comparison:
        """Return the comparison on one problem."""
        if problem not in self.comparisons:
            raise unknown_name("problem", problem, self.comparisons)
        return self.comparisons[problem]

    def lost(self) -> dict[str, float]:
        """Return regret in per cent of what knowing the best arm earns, mean over the problems.

        Unlike a ratio to the best policy it does not depend on which others were compared.
        """
        found = self.comparisons.values()
        return {name: sum(_lost(one, name) for one in found) / len(found) for name in self.policies}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: every comparison, and what is lost on average."""
        return {
            "suite": self.version,
            "instances": self.instances,
            "seed": self.seed,
            "lost_percent": self.lost(),
            "problems": {name: found.to_dict() for name, found in self.comparisons.items()},
            "versions": versions(),
        }

    def columns(self) -> dict[str, Any]:
        """Return one row for each problem and policy, by column."""
        rows = [
            (problem, name, *found.earnings()[name], *_regret(found, name))
            for problem, found in self.comparisons.items()
            for name in self.policies
        ]
        heads = ("problem", "policy", "earnings", "earnings_ci95", "regret", "ci95")
        return {head: np.array(column) for head, column in zip(heads, zip(*rows, strict=True), strict=True)}

    def to_latex(
        self,
        *,
        bold_best: bool = True,
        caption: str | None = None,
        label: str | None = None,
        booktabs: bool = True,
    ) -> str:
        """Return the table as LaTeX: a row for each problem, a column for each policy, the least in bold."""
        heads, rows = self._table()
        bold = {
            (row, 1 + self.policies.index(name))
            for row, found in enumerate(self.comparisons.values())
            for name in self.policies
            if bold_best and found[name].mean[-1] == min(found[other].mean[-1] for other in self.policies)
        }
        return latex_table(heads, rows, bold=bold, caption=caption, label=label, booktabs=booktabs)

    def write(self, name: str, path: Path) -> None:
        """Write one of `FILES`, atomically."""
        if name == "results.csv":
            write_columns(path, self.columns())
        elif name == "table.tex":
            write_text(path, self.to_latex())
        else:
            write_text(path, json.dumps(finite(self.to_dict()), sort_keys=True, indent=2) + "\n")

    def __str__(self) -> str:
        said = (
            f"Suite {self.version}: regret ± 95 % on {self.instances:,} instances of each problem, seed "
            f"{self.seed}. Lost: regret in per cent of what knowing the best arm earns, mean of all."
        )
        return "\n".join([*aligned(*self._table()), "", said])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = []
        for problem, found in self.comparisons.items():
            digits = shown_digits(found)
            rows.append([problem, *(with_half(*_regret(found, name), digits) for name in self.policies)])
        lost = [f"{percent:.2f} %" for percent in self.lost().values()]
        return ["problem", *self.policies], [*rows, ["lost", *lost]]


def _regret(found: Comparison, policy: str) -> tuple[float, float]:
    """Return the final regret of a policy and its 95 % half-width."""
    return float(found[policy].mean[-1]), float(found[policy].ci95[-1])


def _lost(found: Comparison, policy: str) -> float:
    regret, earned = _regret(found, policy)[0], found.earnings()[policy][0]
    return 100 * regret / (regret + earned)


def run(
    policies: Sequence[str | Policy | Maker] | Mapping[str, str | Policy | Maker],
    version: str = "v1",
    instances: int = INSTANCES,
    seed: int = 0,
    *,
    only: Sequence[str] = (),
    jobs: int | None = None,
    progress: Progress | bool | None = None,
    at_most: float | str | None = None,
) -> SuiteResult:
    """Compare policies on every problem of a suite, each on the same instances for all.

    Parameters
    ----------
    policies
        Names, functions ``(state, step, rng) -> arm``, or functions that take a problem and return such a
        policy; a mapping gives them labels of your own.
    only
        Names of problems; default: all.
    progress, at_most
        As those of `elsv.compare`, for the whole suite.

    Examples
    --------
    >>> found = run(["greedy", "thompson"], instances=20, only=["discounts", "random-1"])
    >>> list(found.comparisons)
    ['discounts', 'random-1']
    """
    known = problems(version)
    for name in only:
        if name not in known:
            raise unknown_name("problem", name, known)
    chosen = {name: problem for name, problem in known.items() if not only or name in only}
    by_name = named(policies)
    found: dict[str, Comparison] = {}
    ends = [0, *accumulate(1000 * problem.steps * problem.arms for problem in chosen.values())]
    remedy = "use fewer instances or policies, or some of the problems"
    with watched(progress, "comparing", at_most=at_most, remedy=remedy) as report:
        for (name, problem), begin, end in zip(chosen.items(), ends, ends[1:], strict=False):
            played = {label: made(policy, problem) for label, policy in by_name.items()}
            part = part_of(report, begin, end, ends[-1]) or False
            found[name] = compare(problem, played, instances, seed, jobs=jobs, progress=part)
    return SuiteResult(version, found, tuple(by_name), instances, seed)


def made(policy: str | Policy | Maker, problem: Problem) -> str | Policy:
    """Return the policy, or what a function of one argument makes of the problem.

    A policy that cannot be told who has come plays each segment of a problem by itself.
    """
    if isinstance(policy, str):
        return policy

    found: Policy = _made(policy, problem)
    if not (fits_segments(found, problem) or hasattr(found, "scores")):
        return Separate(problem, policy, lambda given, part: make_policy(_made(given, part), part))
    return found


def _made(given: Any, problem: Problem) -> Any:
    """Return what a function that needs one argument makes of the problem; anything else as it is."""
    try:
        parameters = inspect.signature(given).parameters.values()
    except (TypeError, ValueError):
        return given
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len([p for p in places if p.default is p.empty]) != 1:
        return given
    found = given(problem)
    if not callable(found):
        raise InvalidInputError(
            f"{getattr(given, '__name__', 'a policy')} takes a problem and must return a policy, a "
            f"function (state, step, rng) -> arm, got {type(found).__name__}"
        )
    return found
