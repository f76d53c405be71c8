r"""Numbering of the states of one arm: level n = successes + failures, then successes.

State (s, f) reached from a prior by s successes and f failures has the number
:math:`n(n+1)/2 + s` with :math:`n = s + f`, so a level is a contiguous run of n + 1 numbers and a
table of all states with fewer than ``levels`` pulls is one flat array of ``size(levels)`` numbers.
"""

from __future__ import annotations

import math

import numpy as np

from elsv._base.numbers import counted
from elsv._base.typing import IntArray
from elsv.errors import InvalidInputError

MOST_LEVELS = 20_000  # 200 million states, 1.6 GB for one number of each


def size(levels: int) -> int:
    """Return the number of states with fewer than `levels` pulls."""
    return levels * (levels + 1) // 2


def check_levels(levels: int) -> None:
    """Raise if a table of so many levels is too large to be made."""
    if levels > MOST_LEVELS:
        raise InvalidInputError(
            f"tables go up to {MOST_LEVELS:,} steps, got {counted(levels)}, {counted(size(levels))} states "
            "of an arm; use fewer, or simulate a policy without tables such as thompson"
        )


def number(successes: IntArray, pulls: IntArray) -> IntArray:
    """Return the number of the state with `successes` out of `pulls`."""
    return pulls * (pulls + 1) // 2 + successes


def level_of(number: int) -> int:
    """Return the pulls of the state with this number."""
    return (math.isqrt(8 * number + 1) - 1) // 2


def states(stop: int, start: int = 0) -> tuple[IntArray, IntArray]:
    """Return (successes, pulls) of every state with start <= pulls < stop, in order."""
    check_levels(stop)
    levels = np.arange(start, stop)
    pulls = np.repeat(levels, levels + 1)
    successes = np.arange(size(start), size(stop)) - pulls * (pulls + 1) // 2
    return successes, pulls
