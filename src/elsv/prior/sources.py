"""A prior from everything that was given: what is expected first, then history on top of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from elsv.errors import InvalidInputError
from elsv.prior.expectations import from_expectations, parse_expectation
from elsv.prior.files import read_history
from elsv.prior.found import Prior
from elsv.prior.history import Method, from_history
from elsv.problem import Problem

_NO_PROBLEM = "say of which problem: --problem PROBLEM.toml"


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

    Parameters
    ----------
    problem
        Path of a TOML file, which may have a table ``[expect]``; None: the arms of `history`, independent.
    history
        Path of a file of outcomes, or None.
    expect
        Texts such as ``"10 % off=3-8%"`` or ``"none=4%"``; they come before the file's.
    weight, method, coverage, factor
        See `from_history` and `from_expectations`.
    keep
        Whether the problem is to be written, which needs one.
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
