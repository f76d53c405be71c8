r"""What the frequentist indices see: successes and pulls without the prior.

:math:`n = \alpha+\beta-\alpha^0-\beta^0` and :math:`\hat\mu = (\alpha-\alpha^0)/n`. An arm without pulls
has no empirical mean: its index is infinite, so that every arm is pulled once first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from elsv._base.typing import FloatArray
from elsv.indices.base import Setting


def of_pulled(
    formula: Callable[[FloatArray, FloatArray], FloatArray],
    alpha: FloatArray,
    beta: FloatArray,
    setting: Setting,
) -> FloatArray:
    r"""Return ``formula(empirical mean, pulls)`` elementwise, infinity where an arm has no pulls."""
    pulls = setting.pulls(alpha, beta)
    divisor = np.maximum(pulls, 1.0)
    successes = np.clip(np.rint(alpha - setting.prior_alpha), 0.0, divisor)
    return np.where(pulls > 0, formula(successes / divisor, divisor), np.inf)
