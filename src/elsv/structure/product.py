r"""Segments with the same options: G segments with L options have G · L arms, an option for a segment each.

Arms stand segment by segment and are called ``option × segment``. An order speaks of the options within each
segment, :math:`\mu_{1g} \ge \dots \ge \mu_{Lg}` for every g. A ranking of the segments themselves, `across`,
says :math:`\mu_{kg} \le \mu_{kh}` for every option k where h comes after g: with both the arms form a grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np

from elsv._base.numbers import numbers, shown
from elsv._base.typing import FloatArray
from elsv.beliefs.base import Order, check_order
from elsv.errors import InvalidInputError, unknown_name
from elsv.structure.facts import steps

_SIGN = " × "
_LISTS = "or list the arms of each segment: segments = {mobile = [1, 2], desktop = [3, 4]}"


def arm_name(option: str, segment: str) -> str:
    """Return what an arm of a product is called."""
    return f"{option}{_SIGN}{segment}"


def option_of(arm: str, segment: str | None) -> str:
    """Return the option of an arm, without the segment that it is for.

    Examples
    --------
    >>> option_of("5 % off × mobile", "mobile"), option_of("mobile: 5 % off", "mobile")
    ('5 % off', '5 % off')
    """
    return arm if segment is None else arm.removeprefix(f"{segment}: ").removesuffix(f"{_SIGN}{segment}")


def shared_option(arms: Sequence[str], segments: Sequence[str | None]) -> str | None:
    """Return the option of some arms, one for each segment, if all of these have the same.

    Examples
    --------
    >>> shared_option(["none × mobile", "none × desktop"], ["mobile", "desktop"])
    'none'
    """
    options = {option_of(arm, segment) for arm, segment in zip(arms, segments, strict=True)}
    return options.pop() if len(options) == 1 else None


def parts_of(names: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Return options and segments if the arms with these names are a product of them."""
    split = [name.rpartition(_SIGN) for name in names]
    options = list(dict.fromkeys(option for option, _, _ in split))
    segments = list(dict.fromkeys(segment for _, _, segment in split))
    made = [arm_name(option, segment) for segment in segments for option in options]
    return (options, segments) if made == list(names) else None


def arms_of(option: str, names: Sequence[str]) -> list[int]:
    """Return the arms of an option, one for each segment; none if it is not one of a product's options."""
    parts = None if option in names else parts_of(names)
    if parts is None or option not in parts[0]:
        return []
    options, segments = parts
    return [options.index(option) + g * len(options) for g in range(len(segments))]


@dataclass(frozen=True)
class Product:
    """Segments that are offered the same options."""

    names: tuple[str, ...]  # of the segments
    shares: tuple[float, ...] | None  # None: learnt from who comes
    across: tuple[int, ...] = ()  # segments from 0; later ones succeed at least as often

    @classmethod
    def of(cls, segments: object, across: object = None) -> Self | None:
        """Return the product that people state: names with shares or names alone; None for lists of arms."""
        shares: tuple[float, ...] | None = None
        names: tuple[Any, ...] = ()
        if isinstance(segments, Mapping):
            stated = dict(segments)
            if across is None and isinstance(stated.get("across"), str):
                across = stated.pop("across")
            alone = [isinstance(value, int | float | np.number) for value in stated.values()]
            if all(alone) and alone:
                names, shares = tuple(stated), tuple(numbers("segments", list(stated.values())).tolist())
            elif any(alone):
                raise InvalidInputError(
                    "segments must all have a share, such as {mobile = 0.5, desktop = 0.5}, or all a list of "
                    f"arms, got {shown(stated)}"
                )
        elif isinstance(segments, list | tuple) and all(isinstance(name, str) for name in segments):
            names = tuple(segments)
        if not names:
            if across is not None:
                raise InvalidInputError(
                    f"across ranks segments that have the same options, got {shown(across)} without them; "
                    "give each segment a share: segments = {mobile = 0.5, desktop = 0.5}; or say in "
                    "[structure] which arm is above which"
                )
            return None
        check_names(names)
        if len(set(names)) < len(names):
            raise InvalidInputError(f"segments must differ from one another, got {', '.join(names)}")
        return cls(names, shares, _ranked(across, names))

    def repeated(self, what: str, rows: FloatArray, options: int) -> FloatArray:
        """Return rows of all arms, segment by segment, given those of the options or of all arms."""
        arms = options * len(self.names)
        if len(rows) not in (options, arms):
            raise InvalidInputError(
                f"{what} must have one entry for each of the {options} options, or for each of the "
                f"{arms} arms, segment by segment, got {len(rows)}"
            )
        return rows if len(rows) == arms else np.concatenate([rows] * len(self.names))

    def arms(self, options: Sequence[str]) -> list[str]:
        """Return the names of all arms."""
        return [arm_name(option, segment) for segment in self.names for option in options]

    def segments(self, options: int) -> dict[str, list[int]]:
        """Return the arms of each segment, from 1."""
        return {
            name: list(range(g * options + 1, (g + 1) * options + 1)) for g, name in enumerate(self.names)
        }

    def pairs(self, order: Order | None, structure: object, options: int) -> list[tuple[int, int]]:
        """Return pairs of arms from 1, the larger first: the order within segments, and that of segments."""
        if structure is not None:
            raise InvalidInputError(
                "segments with shares or names alone go with order, which holds within each segment, and "
                f"across; got structure={structure!r}; leave it out, {_LISTS}"
            )
        within = [] if order is None else _within(check_order(order), options, len(self.names))
        return [(a + 1, b + 1) for a, b in (*within, *_across(self.across, options))]


def check_names(segments: Iterable[object]) -> None:
    """Raise unless every segment has a name."""
    for name in segments:
        if not isinstance(name, str) or not name.strip():
            raise InvalidInputError(f"a segment must have a name, got {shown(name)}")


def check_order_of_lists(order: object, structure: object, count: int) -> None:
    """Refuse an order across segments with lists of arms, unless it is stated as a structure."""
    if order is not None and structure is None and count > 1:
        raise InvalidInputError(
            f"order ranks all arms, also those of different segments, got {shown(order)} with lists of arms; "
            "to rank them within each segment, give the options once and each segment a share: "
            "segments = {mobile = 0.5, desktop = 0.5}; if all arms are meant, say so: "
            f"structure = {{order = {shown(order)}}}"
        )


def in_words(names: Sequence[str], pairs: Sequence[tuple[int, int]]) -> str | None:
    """Say in words what pairs, the larger arm first, state of a product; None if they state anything else."""
    parts, known = parts_of(names), set(pairs)
    if parts is None or not known:
        return None
    (options, segments), said = parts, []
    ways: tuple[tuple[Order, str], ...] = (
        ("decreasing", "decrease: each succeeds at least"),
        ("increasing", "increase: each succeeds at most"),
    )
    for order, words in ways:
        within = set(_within(order, len(options), len(segments)))
        if within and within <= known:
            known -= within
            said.append(f"within each segment the means {words} as often as the next")
            break
    above = {(a // len(options), b // len(options)) for a, b in known}
    for larger, smaller in sorted(above):
        known -= set(_across((smaller, larger), len(options)))
        said.append(
            f"{segments[larger]} succeeds at least as often as {segments[smaller]} with the same option"
        )
    return None if known else "; ".join(said)


def _within(order: Order, options: int, segments: int) -> list[tuple[int, int]]:
    one, starts = steps(order, options), range(0, segments * options, options)
    return [(start + a, start + b) for start in starts for a, b in one]


def _across(ranked: Sequence[int], options: int) -> list[tuple[int, int]]:
    steps = pairwise(ranked)
    return [(after * options + k, before * options + k) for before, after in steps for k in range(options)]


def _ranked(across: Any, names: Sequence[str]) -> tuple[int, ...]:
    """Return the segments, from 0, in the order that `across` states."""
    if across is None:
        return ()
    given = [part.strip() for part in across.split(",")] if isinstance(across, str) else across
    if isinstance(given, list | tuple):
        for name in given:
            if name not in names:
                raise unknown_name("segment", str(name), names)
        if len(given) > 1 and len(set(given)) == len(given):
            return tuple(names.index(name) for name in given)
    raise InvalidInputError(
        f'across must rank segments, the one that succeeds least often first, such as "{", ".join(names)}", '
        f"got {shown(across)}"
    )
