"""Numbers as people give and read them.

What is not a number is refused, even where NumPy would convert it; long values are shortened in messages.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError

TIE = 1e-9
"""Scores tie within this share of the best score or the largest reward, whichever is larger."""

_LONGEST = 60
_MOST_MEMORY = 1e15  # bytes
UNITS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0, "week": 604_800.0}
_SHORT = {"s": "second", "min": "minute", "h": "hour", "d": "day", "w": "week"}
_DAY, _YEAR = 86_400.0, 86_400.0 * 365.25


def numbers(name: str, values: object) -> FloatArray:
    """Copy `values` into a float array of their own shape.

    Text, truth values, rows of unequal length and numbers past the largest float are refused.
    """
    try:
        given = np.asarray(values if hasattr(values, "dtype") else np.array(values, dtype=object))
        if given.dtype.kind == "O":
            for entry in given.flat:
                if entry is None or isinstance(entry, bool | np.bool_ | str | bytes):
                    raise InvalidInputError(f"{name} must be numbers, got {shown(entry)}")
        elif given.dtype.kind not in "iuf":
            raise InvalidInputError(f"{name} must be numbers, got {shown(values)}")
        return np.array(given, dtype=np.float64)
    except InvalidInputError:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name} must be numbers, got {shown(values)}") from error
    except OverflowError as error:
        raise InvalidInputError(f"{name} must be numbers up to 1e308, got {shown(values)}") from error


def whole(name: str, value: object, least: int = 1) -> int:
    """Return `value` as an int if it is a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidInputError(f"{name} must be a whole number, at least {least}, got {shown(value)}")
    return int(value)


def shown(value: object) -> str:
    """Return `value` for a message, shortened where it is long."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python prints
        text = "a number of thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def with_minus(text: str) -> str:
    """Return a number as people read it: with a minus sign, not a hyphen.

    Examples
    --------
    >>> with_minus(f"{-1.5:+.2f}")
    '−1.50'
    """
    return text.replace("-", "−")


def many(number: int, what: str = "customer") -> str:
    """Return how many there are of something: ``1 customer``, ``2,000 customers``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def counted(number: int) -> str:
    """Return a count for a message, as a power of ten where it has too many digits to be read."""
    return f"{number:,}" if number < 10**15 else f"10^{math.floor(math.log10(number))}"


def memory(size: float, digits: int = 0) -> str:
    """Return a number of bytes as people read it, in GB; from a million GB on no machine has it."""
    return f"{size / 1e9:,.{digits}f} GB" if size < _MOST_MEMORY else "more memory than any machine has"


def duration(seconds: float) -> str:
    """Return a time as people read it: ``350 ms``, ``1.1 s``, ``2 min 10 s``, ``3 h 5 min``, ``12 days``."""
    if not 0 < seconds < math.inf:
        return "forever" if seconds > 0 else "0 s"
    if seconds >= 2 * _YEAR:
        return f"{counted(round(seconds / _YEAR))} years"
    if seconds >= 2 * _DAY:
        return f"{seconds / _DAY:.0f} days"
    if (whole_minutes := round(seconds / 60)) >= 60:
        hours, minutes = divmod(whole_minutes, 60)
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    if (whole_seconds := round(seconds)) >= 60:
        minutes, rest = divmod(whole_seconds, 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{_short(seconds / size)} {unit}"
    return f"{_short(seconds / 1e-9)} ns"


def seconds_of(name: str, value: object) -> float:
    """Return a length of time in seconds: ``"10min"``, ``"2 hours"``, or a number of seconds.

    Examples
    --------
    >>> seconds_of("at_most", "10min")
    600.0
    """
    found = as_seconds(value)
    if not 0 < found < math.inf:
        raise InvalidInputError(
            f"{name} must be a length of time such as '10min', '2 hours' or 90 (seconds), got {shown(value)}"
        )
    return found


def as_seconds(value: object) -> float:
    """Return a length of time in seconds; NaN for what is none."""
    if isinstance(value, str) and (parts := re.fullmatch(r"\s*([0-9.]+)\s*([a-z]+)\s*", value.lower())):
        word = _SHORT.get(parts[2], parts[2].removesuffix("s"))
        if word in UNITS and parts[1].count(".") < 2 and parts[1] != ".":
            return float(parts[1]) * UNITS[word]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return math.nan


def _short(number: float) -> str:
    """Return two significant digits below 100, all digits before the point above."""
    return f"{number:.1f}" if number < 9.95 else f"{number:.0f}"


def as_float(number: int) -> float:
    """Return a whole number as a float, infinity where it is too large for one."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def finite(value: Any) -> Any:
    """Return `value` with every number that JSON cannot hold replaced by None."""
    if isinstance(value, dict):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
