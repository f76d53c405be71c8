"""What the Gittins functions are given: checks, worded once, and the place of states on a prior's lattice."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.numbers import counted, duration, numbers
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.errors import InvalidInputError
from elsv.indices._parameters import real
from elsv.indices.base import Setting

_FINEST, _COARSEST = 1e-12, 0.1
_WHOLE = 1e-6
_FARTHEST = 2.0**30
_LEAST_COUNT, _MOST_COUNT = 1e-200, 1e200  # beyond, sums and quotients of counts leave the range of floats
MOST_AHEAD = 10_000_000  # about a minute for one state
_MOST_SECONDS = 3600.0


def check_tolerance(value: object) -> float:
    """Return the tolerance if it is one that double precision can keep."""
    tolerance = real("tolerance", value, "tolerance=1e-6")
    if not _FINEST <= tolerance <= _COARSEST:
        raise InvalidInputError(
            f"tolerance must lie between {_FINEST:g} and {_COARSEST:g}, got {tolerance:g}; "
            "for example tolerance=1e-6"
        )
    return tolerance


def check_ahead(pulls: int, discount: float, tolerance: float) -> int:
    """Return how far an infinite horizon is followed, unless that would take minutes for each state."""
    if pulls > MOST_AHEAD:
        raise InvalidInputError(
            f"the Gittins index of discount {discount!r} and tolerance {tolerance:g} looks {counted(pulls)} "
            f"pulls ahead, more than {MOST_AHEAD:,}; use a smaller discount (0.99999), or a coarser tolerance"
        )
    return pulls


def check_pulls_left(pulls: int) -> None:
    """Raise if a finite horizon is so long that following it would take minutes for each state."""
    if pulls > MOST_AHEAD:
        raise InvalidInputError(
            f"the finite-horizon Gittins index takes at most {MOST_AHEAD:,} pulls left, "
            f"got {counted(pulls)}; use the Gittins index with a discount"
        )


def check_work(seconds: float, levels: int) -> None:
    """Raise if a table would take hours."""
    if seconds > _MOST_SECONDS:
        raise InvalidInputError(
            f"a Gittins table of {levels:,} levels would take about {duration(seconds)}; "
            "use fewer levels, a smaller discount or a coarser tolerance"
        )


def check_discount_of_horizon(value: object) -> float:
    """Return the discount if it lies in (0, 1]; 1 is the plain sum, allowed with a finite horizon only."""
    discount = real("discount", value, "discount=1")
    if not 0.0 < discount <= 1.0:
        raise InvalidInputError(
            f"discount of a finite horizon must lie in (0, 1], got {discount:g}; 1 is no discount"
        )
    return discount


def check_counts(alpha: ArrayLike, beta: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return alpha and beta as float arrays of one shape if they are positive and finite."""
    checked = []
    for name, value in (("alpha", alpha), ("beta", beta)):
        counts = numbers(name, value)
        bad = ~(np.isfinite(counts) & (counts > 0.0))
        if bad.any():
            raise InvalidInputError(
                f"{name} must be positive and finite, got {counts[bad].flat[0]:g}; the uniform prior is 1"
            )
        extreme = (counts < _LEAST_COUNT) | (counts > _MOST_COUNT)
        if extreme.any():
            raise InvalidInputError(
                f"{name} must lie between {_LEAST_COUNT:g} and {_MOST_COUNT:g}, "
                f"got {counts[extreme].flat[0]:g}; the uniform prior is 1"
            )
        checked.append(counts)
    try:
        a, b = np.broadcast_arrays(*checked)
    except ValueError as error:
        raise InvalidInputError(
            f"alpha and beta must have shapes that fit, got {checked[0].shape} and {checked[1].shape}"
        ) from error
    return a, b


def distinct_corners(setting: Setting, shape: tuple[int, ...]) -> list[tuple[float, float, AnyArray]]:
    """Return each distinct corner (alpha, beta) with the mask of the states of that shape that it serves."""
    alpha, beta = setting.corners[..., 0], setting.corners[..., 1]
    pairs = sorted({(float(a), float(b)) for a, b in zip(np.ravel(alpha), np.ravel(beta), strict=True)})
    return [(a, b, np.broadcast_to((alpha == a) & (beta == b), shape)) for a, b in pairs]


def farthest_prior(setting: Setting, alpha: float, beta: float, mine: AnyArray) -> int:
    """Return how many pulls from a corner the farthest prior is that counts from it."""
    away = (setting.prior_alpha - alpha) + (setting.prior_beta - beta)
    return int(np.rint(np.max(np.broadcast_to(away, mine.shape)[mine])))


def offsets(
    alpha: FloatArray, beta: FloatArray, corner_a: float, corner_b: float
) -> tuple[IntArray, IntArray, AnyArray]:
    """Return successes and pulls since the corner, and which states are whole steps away from it."""
    wins, losses = np.rint(alpha - corner_a), np.rint(beta - corner_b)
    off = np.maximum(np.abs(alpha - corner_a - wins), np.abs(beta - corner_b - losses))
    whole = (off <= _WHOLE) & (wins >= 0) & (losses >= 0) & (wins + losses <= _FARTHEST)
    wins, losses = np.where(whole, wins, 0), np.where(whole, losses, 0)
    return wins.astype(np.int64), (wins + losses).astype(np.int64), whole
