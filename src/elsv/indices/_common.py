"""What several indices share: checks of what they are given, worded once, and the empirical mean."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.numbers import counted, duration, numbers
from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError
from elsv.indices.base import Setting

_FINEST, _COARSEST = 1e-12, 0.1
_LEAST_COUNT, _MOST_COUNT = 1e-200, 1e200  # beyond, sums and quotients of counts leave the range of floats
MOST_AHEAD = 10_000_000  # about a minute for one state
_MOST_SECONDS = 3600.0


def real(name: str, value: object, example: str) -> float:
    """Return `value` as a float if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InvalidInputError(f"{name} must be a number, got {value!r}; for example {example}")
    number = float(value)
    if not math.isfinite(number):
        raise InvalidInputError(f"{name} must be finite, got {number:g}; for example {example}")
    return number


def positive(name: str, value: object, example: str) -> float:
    """Return `value` as a float if it is finite and above 0."""
    number = real(name, value, example)
    if number <= 0:
        raise InvalidInputError(f"{name} must be positive, got {number:g}; for example {example}")
    return number


def not_negative(name: str, value: object, example: str) -> float:
    """Return `value` as a float if it is finite and at least 0."""
    number = real(name, value, example)
    if number < 0:
        raise InvalidInputError(f"{name} must not be negative, got {number:g}; for example {example}")
    return number


def flag(name: str, value: object) -> bool:
    """Return `value` as a bool if it is one."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInputError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def horizon_of(setting: Setting, who: str, remedy: str) -> int:
    """Return the horizon that an index needs, or say what to do without one."""
    if setting.horizon is None:
        raise InvalidInputError(f"{who} needs a horizon, and the problem has a discount instead; {remedy}")
    return setting.horizon


def of_pulled(
    formula: Callable[[FloatArray, FloatArray], FloatArray],
    alpha: FloatArray,
    beta: FloatArray,
    setting: Setting,
) -> FloatArray:
    r"""Return ``formula(empirical mean, pulls)`` elementwise, infinity where an arm has no pulls.

    Frequentist indices see successes and pulls without the prior:
    :math:`n = \alpha+\beta-\alpha^0-\beta^0` and :math:`\hat\mu = (\alpha-\alpha^0)/n`. An arm without pulls
    has no empirical mean: it is pulled first.
    """
    pulls = setting.pulls(alpha, beta)
    divisor = np.maximum(pulls, 1.0)
    successes = np.clip(np.rint(alpha - setting.prior_alpha), 0.0, divisor)
    return np.where(pulls > 0, formula(successes / divisor, divisor), np.inf)


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
