r"""Optimistic Gittins indices: K pulls are looked ahead, then the mean is revealed.

Against a known arm that pays λ, the advantage of pulling this arm once more is

.. math:: D_K(\lambda; s) = (1-\gamma)(m_s - \lambda) + \gamma E[D_{K-1}(\lambda; s')^+],
          \qquad D_0 = \theta - \lambda,

where :math:`s'` is the state after the pull and, for K = 1, :math:`\theta` is drawn from
:math:`\mathrm{Beta}(\alpha, \beta)` and taken as learnt. The index is the root of :math:`D_K`. With
:math:`I_\lambda` the regularised incomplete beta function,

.. math:: E(\theta-\lambda)^+ = m(1 - I_\lambda(\alpha+1, \beta)) - \lambda(1 - I_\lambda(\alpha, \beta)),

so K = 1 solves
:math:`\lambda = m - \gamma m I_\lambda(\alpha+1, \beta) + \gamma\lambda I_\lambda(\alpha, \beta)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsv._base.numbers import shown, whole
from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError
from elsv.indices.base import IndexBase, Setting
from elsv.problem import check_discount

_DEFAULT_DISCOUNT = 0.99
_SMALLEST_STEP = 1e-13
_MOST_STEPS = 200
_CHUNK = 1 << 16
_MOST_STEPS_AHEAD = 1000  # the work grows with the square


@dataclass(frozen=True)
class OptimisticGittins(IndexBase):
    r"""The optimistic Gittins index of Gutin and Farias (2016); an upper bound of the Gittins index.

    More steps bring it down to the Gittins index. Accurate to 1e-10 for discounts up to 0.99999.

    Parameters
    ----------
    steps
        K >= 1, pulls looked ahead before the mean is revealed.
    discount
        :math:`\gamma`; None takes the problem's discount, or 0.99 if it has a horizon.
    """

    steps: int = 1
    discount: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", whole("steps", self.steps, 1))
        if self.steps > _MOST_STEPS_AHEAD:
            raise InvalidInputError(
                f"steps must be at most {_MOST_STEPS_AHEAD:,}, got {shown(self.steps)}; "
                "the index gittins looks ahead for ever"
            )
        if self.discount is not None:
            object.__setattr__(self, "discount", check_discount(self.discount))

    uses_step = False

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the index, elementwise."""
        discount = self.discount or setting.discount or _DEFAULT_DISCOUNT
        a, b = np.broadcast_arrays(np.asarray(alpha, np.float64), np.asarray(beta, np.float64))
        flat_a, flat_b = a.reshape(-1), b.reshape(-1)
        index = np.empty(flat_a.shape)
        for start in range(0, flat_a.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            index[part] = _roots(flat_a[part], flat_b[part], self.steps, discount)
        return index.reshape(a.shape)


def _roots(alpha: FloatArray, beta: FloatArray, steps: int, discount: float) -> FloatArray:
    """Return the roots of D by Newton's method, shape ``[S]``.

    D is convex and decreasing in λ and not negative at the mean, so the iterates rise to the root; a
    step that is not upward is rounding.
    """
    root = alpha / (alpha + beta)
    active = np.arange(root.size)
    for _ in range(_MOST_STEPS):
        value, slope = _advantage(root[active], alpha[active], beta[active], steps, discount)
        rise = -value / slope
        moving = rise > _SMALLEST_STEP
        active = active[moving]
        if not active.size:
            break
        root[active] = np.minimum(root[active] + rise[moving], 1.0)
    return root


def _advantage(
    rate: FloatArray, alpha: FloatArray, beta: FloatArray, steps: int, discount: float
) -> tuple[FloatArray, FloatArray]:
    """Return D_K and its slope in λ = `rate`, both ``[S]``."""
    gained = np.arange(steps)[:, None]  # successes in the K - 1 pulls before the mean is revealed
    a, b = alpha + gained, beta + (steps - 1 - gained)  # [K, S]
    value, slope = _revealed(rate, a, b, discount)
    for level in range(steps - 2, -1, -1):
        mean = (alpha + gained[: level + 1]) / (alpha + beta + level)
        kept = value > 0
        gain, gain_slope = np.where(kept, value, 0.0), np.where(kept, slope, 0.0)
        value = (1 - discount) * (mean - rate) + discount * (mean * gain[1:] + (1 - mean) * gain[:-1])
        slope = discount * (mean * gain_slope[1:] + (1 - mean) * gain_slope[:-1]) - (1 - discount)
    return value[0], slope[0]


def _revealed(
    rate: FloatArray, alpha: FloatArray, beta: FloatArray, discount: float
) -> tuple[FloatArray, FloatArray]:
    """Return D_1 and its slope: one pull, then the better of θ and λ for ever."""
    # 1 - I_x(a, b) = I_{1-x}(b, a), and this form is ten times as fast as scipy's complement.
    from scipy.special import betainc

    mean = alpha / (alpha + beta)
    above = betainc(beta, alpha, 1 - rate)
    excess = mean * betainc(beta, alpha + 1, 1 - rate) - rate * above
    return (1 - discount) * (mean - rate) + discount * excess, -(1 - discount) - discount * above
