"""What is found out about a prior: rows, what they imply beside what was given, and the same as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np

from elsv._base.numbers import finite
from elsv._base.typing import FloatArray
from elsv.beliefs.abilities import marginals
from elsv.prior.solving import tails
from elsv.problem import Problem
from elsv.state import State
from elsv.structure.evidence import Evidence

_SEED = 0  # for beliefs that draw
_WIDTH = 100
_NAME = 16
_NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Implied:
    """What is believed of one arm."""

    mean: float
    low: float  # ends of the central interval
    high: float


@dataclass(frozen=True)
class ArmPrior:
    """One arm: what was given of it, its row, and what the rows imply of it under the structure."""

    arm: int  # from 0
    name: str
    alpha: float
    beta: float
    before: Implied  # with the old rows
    after: Implied  # with the new rows
    successes: float | None = None  # of history
    failures: float | None = None
    worth: float | None = None  # outcomes that history counts for
    said: tuple[float, float] | None = None  # the interval that is expected; twice the same: one number


@dataclass(frozen=True)
class Prior:
    """Prior rows and what they imply under the structure; prints as a table."""

    problem: Problem  # with the new rows
    arms: tuple[ArmPrior, ...]  # before and after
    coverage: float  # probability of their intervals
    words: tuple[str, ...] = ()  # what was done, in sentences
    notes: tuple[str, ...] = ()  # how arms of which nothing is known got their rows, in sentences
    warnings: tuple[str, ...] = ()  # what is not as it was given, or speaks against the structure
    weight: float | None = None  # of history; None without
    evidence: Evidence | None = None  # of all of the history; None: nothing is assumed, or W is not known

    @property
    def rows(self) -> FloatArray:
        r"""Rows :math:`(\alpha_i, \beta_i)` of the new prior, ``[N, 2]``."""
        return self.problem.prior

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, for people: arms from 1."""
        values = {
            "prior": self.rows.tolist(),
            "names": list(self.problem.names),
            "arms": [{**asdict(arm), "arm": arm.arm + 1} for arm in self.arms],
            "coverage": self.coverage,
            "weight": self.weight,
            "evidence": None if self.evidence is None else self.evidence.to_dict(),
            "words": list(self.words),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }
        return cast(dict[str, Any], finite(values))

    def __str__(self) -> str:
        label = "history" if self.weight is not None else "expected"
        rows = ", ".join(f"[{alpha:.6g}, {beta:.6g}]" for alpha, beta in self.rows)
        lines = [row for k, words in enumerate(self.words) for row in _wrapped("" if k else label, words)]
        lines += ["", *_table(self), *(row for note in self.notes for row in _wrapped("", note, 0))]
        lines += ["", f"prior = [{rows}]"]
        lines += [row for warning in self.warnings for row in _wrapped("warning", warning)]
        return "\n".join(lines)


def arm_priors(problem: Problem, new: Problem, coverage: float, given: Iterable[Any]) -> tuple[ArmPrior, ...]:
    """Return every arm with its row of `new`; `given` are more fields of its `ArmPrior`."""
    both = zip(implied(problem, coverage), implied(new, coverage), new.prior.tolist(), given, strict=True)
    return tuple(
        ArmPrior(i, problem.names[i], alpha, beta, before, after, **own)
        for i, (before, after, (alpha, beta), own) in enumerate(both)
    )


def implied(problem: Problem, coverage: float) -> list[Implied]:
    """Return the mean and the central interval of every arm before any data."""
    return believed(problem, State.initial(problem), tails(coverage))


def believed(problem: Problem, state: State, levels: tuple[float, float]) -> list[Implied]:
    """Return the mean of every arm in a state, and its quantiles at both levels."""
    mean, (low, high) = marginals(problem.belief, state, levels, np.random.default_rng(_SEED))
    return [Implied(*map(float, row)) for row in zip(mean, low, high, strict=True)]


def percent(share: float) -> str:
    """Return a probability as people read it: ``4.25 %``."""
    return f"{100 * share:.2f} %"


def _table(found: Prior) -> list[str]:
    heading, given, width = "expected", _said, 16
    if found.weight is not None:
        heading, given, width = "seen", _seen, 20
    columns = f"{{:>4}}  {{:<{_NAME}}} {{:>{width}}}   {{:<24}} {{:<24}} {{:>14}}"
    rows: list[tuple[object, ...]] = [("arm", "name", heading, "before", "and now", "row")]
    for arm in found.arms:
        name, row = shortened(arm.name, _NAME), f"{arm.alpha:.4g}, {arm.beta:.4g}"
        rows.append((arm.arm + 1, name, given(arm), _interval(arm.before), _interval(arm.after), row))
    under = f"means and {100 * found.coverage:g} % intervals under what is assumed, before any new data"
    return [under, *(columns.format(*row) for row in rows)]


def _seen(arm: ArmPrior) -> str:
    won, tried = arm.successes or 0.0, (arm.successes or 0.0) + (arm.failures or 0.0)
    return f"{won:,.0f} of {tried:,.0f}: {percent(won / tried)}" if tried else "never offered"


def _said(arm: ArmPrior) -> str:
    if arm.said is None:
        return ""
    low, high = arm.said
    return percent(low) if low == high else f"{100 * low:.2f} – {percent(high)}"


def _interval(shown: Implied) -> str:
    return f"{percent(shown.mean):>7} [{100 * shown.low:.2f}, {100 * shown.high:.2f}]"


def _wrapped(label: str, said: str, indent: int = 10) -> list[str]:
    """Return words in lines that never part a number from its % sign."""
    rows = labelled(label, said.replace(" %", f"{_NO_BREAK}%"), _WIDTH, indent)
    return [row.replace(_NO_BREAK, " ") for row in rows]


def shortened(name: str, room: int) -> str:
    """Return a name in at most `room` letters."""
    return name if len(name) <= room else name[: room - 1] + "…"


def labelled(label: str, said: str, width: int, indent: int = 10) -> list[str]:
    """Return words in lines of a width, with a label in front."""
    first, rest = f"{label:<{indent}}", " " * indent
    return textwrap.wrap(said, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
