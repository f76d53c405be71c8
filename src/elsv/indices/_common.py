r"""What several indices share: checks of their parameters, worded once, and the empirical mean."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError
from elsv.indices.base import Setting


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
