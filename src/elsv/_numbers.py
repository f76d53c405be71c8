"""Numbers as people give them: what is not a number, though NumPy would take it for one, is refused."""

from __future__ import annotations

import numpy as np

from elsv._typing import FloatArray
from elsv.errors import InvalidInputError

_LONGEST = 60


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
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"{name} must be numbers, got {shown(values)}") from error
    except OverflowError as error:
        raise InvalidInputError(f"{name} must be numbers up to 1e308, got {shown(values)}") from error


def shown(value: object) -> str:
    """Return `value` for a message, shortened where it is long."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python prints
        text = f"a {type(value).__name__} of thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
