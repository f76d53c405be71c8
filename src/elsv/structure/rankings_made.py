"""How statements that rank or bound the arms are made: by a call, and from a table of a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from elsv._base.numbers import shown
from elsv.beliefs.base import Order
from elsv.errors import InvalidInputError
from elsv.structure.base import register
from elsv.structure.facts import Scale, check_limits
from elsv.structure.ranking import Arm, Ranking
from elsv.structure.rankings import Bounds, Gaps, Grid, Monotone, PartialOrder, Unimodal


def decreasing() -> Monotone:
    """Return the statement that no arm succeeds more often than the one before it."""
    return Monotone("decreasing")


def increasing() -> Monotone:
    """Return the statement that no arm succeeds less often than the one before it."""
    return Monotone("increasing")


def order(pairs: Sequence[Sequence[Arm]]) -> PartialOrder:
    """Return the statement that the first arm of each pair is at least as good as the second.

    Parameters
    ----------
    pairs
        Arms by name or number from 1, such as ``[("gold", "silver"), ("gold", "basic")]``.
    """
    return PartialOrder(tuple(_pair(pair) for pair in _rows("order", pairs)))


def grid(rows: int, columns: int) -> Grid:
    """Return the statement that arms, row by row, have means that fall along rows and columns."""
    return Grid(rows, columns)


def unimodal(on: Scale = "mean") -> Unimodal:
    r"""Return the statement that there is a single peak.

    Parameters
    ----------
    on
        ``"mean"``, or ``"reward"`` for a peak of :math:`r_i\mu_i`.
    """
    return Unimodal(on)


def bounds(limits: Sequence[Sequence[float] | None]) -> Bounds:
    """Return the statement that means lie between two numbers.

    Parameters
    ----------
    limits
        For each arm the least and the largest mean, or None.
    """
    found: list[tuple[float, float] | None] = []
    for pair in _rows("bounds", limits):
        if pair is None or len(_rows("bounds", pair)) == 0:
            found.append(None)
            continue
        if len(pair) != 2 or not all(_is_number(x) for x in pair):
            raise InvalidInputError(f"bounds must be pairs such as [0, 0.4], or None, got {shown(pair)}")
        found.append((float(pair[0]), float(pair[1])))
    limited = [(f"arm {k + 1}", pair) for k, pair in enumerate(found) if pair is not None]
    check_limits([name for name, _ in limited], tuple(pair for _, pair in limited))
    return Bounds(tuple(found))


def gap(larger: Arm, smaller: Arm, at_least: float) -> Gaps:
    """Return the statement that one mean is above another by a least difference.

    Parameters
    ----------
    larger, smaller
        Arms by name or number from 1.
    at_least
        The difference, from 0 to 1.
    """
    return gaps([(larger, smaller, at_least)])


def gaps(triples: Sequence[Sequence[Any]]) -> Gaps:
    """Return the statement of several differences, each ``(larger, smaller, least)``."""
    found = []
    for triple in _rows("gaps", triples):
        if len(_rows("gaps", triple)) != 3 or not _is_number(triple[2]) or not 0 <= triple[2] < 1:
            raise InvalidInputError(
                'gaps must be triples such as ["a", "b", 0.05], the difference from 0 to 1, '
                f"got {shown(triple)}"
            )
        found.append((*_pair(triple[:2]), float(triple[2])))
    return Gaps(tuple(found))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _rows(name: str, given: object) -> Sequence[Any]:
    if isinstance(given, np.ndarray):
        return cast(Sequence[Any], given.tolist())
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidInputError(f"{name} must be a list, got {shown(given)}")
    return given


def _pair(given: object) -> tuple[Arm, Arm]:
    pair = _rows("order", given)
    if len(pair) != 2 or not all(isinstance(arm, str | int | np.integer) for arm in pair):
        raise InvalidInputError(
            f'an order must be pairs of arms such as ["gold", "silver"] or [1, 2], got {shown(given)}'
        )
    if pair[0] == pair[1]:
        raise InvalidInputError(f"an arm cannot be ordered against itself, got {shown(given)}")
    first, second = (int(arm) if isinstance(arm, np.integer) else arm for arm in pair)
    return first, second


def _order(value: Any) -> Ranking:
    return Monotone(cast(Order, value)) if isinstance(value, str) else order(value)


def _grid(value: Any) -> Grid:
    size = _rows("grid", value)
    if len(size) != 2:
        raise InvalidInputError(f"grid must be [rows, columns], got {shown(value)}")
    return Grid(size[0], size[1])


def _unimodal(value: Any) -> Ranking:
    if value is True:
        return Unimodal()
    if not isinstance(value, str):
        raise InvalidInputError(f'unimodal must be true or "reward", got {shown(value)}')
    return Unimodal(cast(Scale, value))


register("order", _order)
register("grid", _grid)
register("unimodal", _unimodal)
register("bounds", bounds)
register("gaps", gaps)
