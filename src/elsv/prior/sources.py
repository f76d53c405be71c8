"""A prior from all that was given: what is expected first, then last season's outcomes from a file.

A file has one row for each outcome, one for each arm, or is a campaign's export.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from elsv._base.export import TableRows, check_counts, count, read_rows, truth
from elsv._base.numbers import shown
from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError
from elsv.policies.single import find_arm
from elsv.prior.expectations import from_expectations, parse_expectation
from elsv.prior.found import Prior
from elsv.prior.history import Method, from_history
from elsv.problem import Problem
from elsv.structure.product import arm_name, parts_of

_NO_PROBLEM = "say of which problem: --problem PROBLEM.toml"
_COLUMNS = "arm, success; or arm, successes, failures; or arm, successes, trials; or a campaign's export"
_OUTCOMES = {"success": (1, 0), "failure": (0, 1), "expired": (0, 1), "open": (0, 0)}


def prior_from(
    problem: str | Path | None,
    history: str | Path | None,
    expect: Sequence[str] = (),
    weight: float = 0.3,
    method: str = "match",
    coverage: float = 0.9,
    factor: float | None = None,
    keep: bool = False,
) -> list[Prior]:
    """Return one prior for each kind of source, each on top of the one before.

    `problem` is the path of a TOML file, which may have a table ``[expect]``; without it the arms are those
    of `history`, a file of outcomes, and independent. `expect` has texts such as ``"10 % off=3-8%"``, which
    come before those of the table. `keep` says whether the problem is to be written, which needs one. For
    all else see `from_history` and `from_expectations`.
    """
    if problem is None and (keep or expect or history is None):
        raise InvalidInputError(f"what is expected, and --out, belong to a problem; {_NO_PROBLEM}")
    current, stated = (None, {}) if problem is None else Problem.load_expecting(problem)
    said: dict[str, Any] = {**stated, **dict(map(parse_expectation, expect))}
    if history is None and not said:
        raise InvalidInputError(
            'give a file of outcomes, or what you expect: --expect "none=4%" or a table [expect]'
        )
    found: list[Prior] = []
    if said and current is not None:
        found.append(from_expectations(current, said, coverage, factor, fill=history is None))
        current = found[-1].problem
    if history is not None:
        seen = read_history(history, current)
        if current is None:
            current = Problem(rewards=[1.0] * len(seen.names), horizon=1, names=seen.names)
        how = cast(Method, method)
        found.append(from_history(current, seen.successes, seen.failures, weight, how, factor))
    return found


def problem_from(
    problem: str | Path,
    history: str | Path | None = None,
    expect: Sequence[str] = (),
    factor: float | None = None,
) -> tuple[Problem, tuple[str, ...]]:
    """Return the problem of a file with all that was said of its rates, and how in sentences.

    The table ``[expect]`` of the file, `expect` and `history` are taken as by `prior_from`; without any of
    them the problem stays as it is.
    """
    loaded, stated = Problem.load_expecting(problem)
    if not stated and not expect and history is None:
        return loaded, ()
    found = prior_from(problem, history, expect, factor=factor)
    return found[-1].problem, tuple(note for one in found for note in (*one.notes, *one.warnings))


@dataclass(frozen=True)
class History:
    """Outcomes of every arm, before they are given a weight."""

    names: tuple[str, ...]
    successes: FloatArray  # [N]
    failures: FloatArray  # [N]
    open: int = 0  # decisions of a campaign's export without an outcome, which say nothing


def read_history(path: str | Path, problem: Problem | None = None) -> History:
    """Read outcomes from a .csv or .parquet file (extra ``data``).

    Parameters
    ----------
    path
        With the columns arm and success; or arm, successes and failures or trials; or what
        ``elsv campaign export`` wrote. Where segments have the same options, a column segment says whose
        option it was.
    problem
        Whose arms they are, by name or number from 1; default: the arms of the file, as they come.
    """
    table = read_rows(path, "history")
    if not table.rows:
        raise InvalidInputError(f"{path} must have at least one row of outcomes, got none")
    _check_columns(table, path)
    totals = {} if problem is None else {name: np.zeros(2) for name in problem.names}
    still = 0
    for line, row in enumerate(table.rows, 2):
        mine = totals.setdefault(_arm(table, row, line, path, problem), np.zeros(2))
        counts = _outcome(row, line, path)
        mine += counts
        still += "outcome" in row and not any(counts)
    won, lost = np.array(list(totals.values())).T
    return History(tuple(totals), won, lost, still)


def _named(row: dict[str, Any]) -> str:
    """Return what a row calls its arm: the name where it has one; an export has the number too."""
    return str(row.get("name") or "").strip() or str(row["arm"]).strip()


def _arm(table: TableRows, row: dict[str, Any], line: int, path: str | Path, problem: Problem | None) -> str:
    """Return the name of a row's arm; a number decides only where there is no name."""
    name, segment = _named(row), str(row.get("segment") or "").strip()
    if problem is None:
        return arm_name(name, segment) if segment and "name" not in table.columns else name
    for known in (arm_name(name, segment), name):
        if known in problem.names:
            return known
    if (parts := parts_of(problem.names)) and name in parts[0]:
        raise InvalidInputError(
            f"line {line} of {path}: {shown(name)} is an option of several segments; a column segment must "
            f"name one of {', '.join(parts[1])}, got {shown(segment)}"
        )
    if name.isdecimal() and "name" not in table.columns and not any(map(str.isdecimal, problem.names)):
        try:
            return problem.names[find_arm(problem, name)]
        except InvalidInputError as error:
            raise InvalidInputError(f"line {line} of {path}: {error}") from error
    there = ", ".join(dict.fromkeys(map(_named, table.rows)))
    raise InvalidInputError(
        f"line {line} of {path}: unknown arm {shown(name)}; the file has {there}; the problem has "
        f"{', '.join(problem.names)}"
    )


def _check_columns(table: TableRows, path: str | Path) -> None:
    columns = table.columns
    check_counts(columns, path)
    counted = "successes" in columns and columns & {"failures", "trials"}
    if "arm" not in columns or not (counted or columns & {"outcome", "success"}):
        found = ", ".join(sorted(columns)) or "none"
        raise InvalidInputError(f"{path} must have the columns {_COLUMNS}, got {found}")


def _outcome(row: dict[str, Any], line: int, path: str | Path) -> tuple[int, int]:
    """Return the successes and failures of a row, by the columns there are."""
    if "outcome" in row:
        said = str(row["outcome"]).strip().lower()
        if said not in _OUTCOMES:
            known = ", ".join(_OUTCOMES)
            raise InvalidInputError(f"outcome must be one of {known}, got {said!r} in line {line} of {path}")
        return _OUTCOMES[said]
    if "success" in row:
        return (1, 0) if truth(row["success"], line, path) else (0, 1)
    won = count(row["successes"], line, path)
    lost = count(row["failures"], line, path) if "failures" in row else None
    if "trials" not in row:
        return won, lost or 0
    tried = count(row["trials"], line, path)
    if won > tried:
        raise InvalidInputError(
            f"successes must be at most the trials, got {won} of {tried} in line {line} of {path}"
        )
    if lost is not None and won + lost != tried:
        raise InvalidInputError(
            f"successes and failures must add up to the trials, got {won} and {lost} of {tried} "
            f"in line {line} of {path}"
        )
    return won, tried - won
