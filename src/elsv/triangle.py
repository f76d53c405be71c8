r"""Numbering of the states of one arm: level n = successes + failures, then successes.

State (s, f) reached from a prior by s successes and f failures has the number
:math:`n(n+1)/2 + s` with :math:`n = s + f`, so a level is a contiguous run of n + 1 numbers and a
table of all states with fewer than ``levels`` pulls is one flat array of ``size(levels)`` numbers.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from elsv._typing import IntArray

Whole = TypeVar("Whole", int, IntArray)


def size(levels: int) -> int:
    """Return the number of states with fewer than `levels` pulls."""
    return levels * (levels + 1) // 2


def number(successes: Whole, pulls: Whole) -> Whole:
    """Return the number of the state with `successes` out of `pulls`."""
    return pulls * (pulls + 1) // 2 + successes


def states(levels: int) -> tuple[IntArray, IntArray]:
    """Return (successes, pulls) of every state with fewer than `levels` pulls, in order."""
    pulls = np.repeat(np.arange(levels), np.arange(1, levels + 1))
    successes = np.arange(size(levels)) - pulls * (pulls + 1) // 2
    return successes, pulls
