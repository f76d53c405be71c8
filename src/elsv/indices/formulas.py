r"""Indices without tables: the mean, upper confidence bounds, and the optimistic Gittins index.

KL-UCB and Bayes-UCB are smooth in log t, and `elsv.indices.tables` interpolates them between steps.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from elsv._base.numbers import shown, whole
from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError
from elsv.indices.base import NOT_NEGATIVE, POSITIVE, IndexBase, Setting, horizon_of, parameter
from elsv.problem import check_discount

_DEFAULT_DISCOUNT = 0.99
_SMALLEST_STEP, _MOST_STEPS = 1e-13, 200  # of Newton's method
_CHUNK = 1 << 16
_MOST_STEPS_AHEAD = 1000  # the work grows with the square


@dataclass(frozen=True)
class Greedy(IndexBase):
    r"""The posterior mean, :math:`z = \alpha/(\alpha+\beta)`; its bonus is 0."""

    uses_step = False

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the means, elementwise."""
        return np.divide(alpha, np.add(alpha, beta))


def _of_pulled(
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


@dataclass(frozen=True)
class UCB(IndexBase):
    r"""The paper's α-UCB, :math:`z_t = m + \sqrt{\text{scale}\cdot\log t/\text{pulls}}` (paper equation 3).

    The mean :math:`m = \alpha/(\alpha+\beta)` is the posterior one, prior included.

    Parameters
    ----------
    scale
        The constant under the root, positive; the paper calls it α.
    count_prior
        False: pulls are :math:`n`, and an arm without pulls has an infinite index. True: pulls are
        :math:`\alpha+\beta`, as in the authors' program, and every index is finite.
    """

    scale: float = 1.0
    count_prior: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", parameter("scale", self.scale, "scale=1", POSITIVE))
        if not isinstance(self.count_prior, bool | np.bool_):
            raise InvalidInputError(f"count_prior must be True or False, got {self.count_prior!r}")
        object.__setattr__(self, "count_prior", bool(self.count_prior))

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return m + √(scale · log t / pulls), elementwise."""
        counts = np.add(alpha, beta)
        mean = np.divide(alpha, counts)
        pulls = counts if self.count_prior else setting.pulls(alpha, beta)
        bonus = np.sqrt(self.scale * math.log(step) / np.where(pulls > 0, pulls, 1.0))
        return np.where(pulls > 0, mean + bonus, np.inf)


@dataclass(frozen=True)
class UCB1(IndexBase):
    r"""UCB1 of Auer, Cesa-Bianchi and Fischer (2002), :math:`z = \hat\mu + \sqrt{2\ln t/n}`.

    The mean :math:`\hat\mu` is the empirical one, without the prior. Under the logarithm stands the step t,
    as in every other index here; counting the t - 1 pulls made so far instead changes the regret by less
    than can be measured.
    """

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the empirical mean + √(2 ln t / n), elementwise."""
        doubled = 2.0 * math.log(step)
        return _of_pulled(lambda mean, pulls: mean + np.sqrt(doubled / pulls), alpha, beta, setting)


@dataclass(frozen=True)
class UCBV(IndexBase):
    r"""UCB-V of Audibert, Munos and Szepesvári (2009).

    .. math:: z_t = \hat\mu + \sqrt{2 V E/n} + 3cbE/n, \qquad E = \zeta\log t,

    with the empirical mean :math:`\hat\mu` and variance :math:`V = \hat\mu(1-\hat\mu)` of 0/1 rewards.

    Parameters
    ----------
    zeta
        :math:`\zeta`, the weight of the logarithm; above 1 in that paper's theorem.
    c
        Weight of the last term.
    b
        Largest reward; the index is for reward 1.
    """

    zeta: float = 1.2
    c: float = 1.0
    b: float = 1.0

    def __post_init__(self) -> None:
        for name, example in (("zeta", "zeta=1.2"), ("c", "c=1"), ("b", "b=1")):
            object.__setattr__(self, name, parameter(name, getattr(self, name), example, POSITIVE))

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the bound, elementwise."""
        exploration = self.zeta * math.log(step)

        def bound(mean: FloatArray, pulls: FloatArray) -> FloatArray:
            share = exploration / pulls
            return mean + np.sqrt(2.0 * (mean * (1.0 - mean)) * share) + 3.0 * self.c * self.b * share

        return _of_pulled(bound, alpha, beta, setting)


@dataclass(frozen=True)
class MOSS(IndexBase):
    r"""MOSS of Audibert and Bubeck (2009), :math:`z = \hat\mu + \sqrt{\max(\log(T/(Nn)), 0)/n}`.

    T is the problem's horizon, N its number of arms, :math:`\hat\mu` the empirical mean.
    """

    uses_step = False
    needs_horizon = "moss", "give horizon=200 or use kl-ucb"

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the bound, elementwise."""
        share = horizon_of(setting, *self.needs_horizon) / setting.arms

        def bound(mean: FloatArray, pulls: FloatArray) -> FloatArray:
            return mean + np.sqrt(np.maximum(np.log(share / pulls), 0.0) / pulls)

        return _of_pulled(bound, alpha, beta, setting)


@dataclass(frozen=True)
class LogStepIndex(IndexBase):
    """An index at any real log t, with one parameter."""

    c: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", parameter("c", self.c, "c=0", NOT_NEGATIVE))

    @abstractmethod
    def at_log_step(
        self, alpha: FloatArray, beta: FloatArray, log_step: float, setting: Setting
    ) -> FloatArray:
        """Return the index at any real log t, elementwise."""

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the index, elementwise."""
        return self.at_log_step(alpha, beta, math.log(step), setting)


@dataclass(frozen=True)
class KLUCB(LogStepIndex):
    r"""KL-UCB of Garivier and Cappé (2011).

    .. math:: z_t = \max\{q \in [\hat\mu, 1] : n\,d(\hat\mu, q) \le \log t + c\log\log t\},

    with the empirical mean :math:`\hat\mu` and the divergence
    :math:`d(p, q) = p\log(p/q) + (1-p)\log((1-p)/(1-q))`. The last term counts only where it is
    positive, :math:`t \ge 3`. Accurate to 1e-12.

    Parameters
    ----------
    c
        Weight of log log t: 0 is that paper's advice for practice, 3 is in its theorem.
    """

    def at_log_step(
        self, alpha: FloatArray, beta: FloatArray, log_step: float, setting: Setting
    ) -> FloatArray:
        """Return the bound at any real log t, elementwise."""
        budget = self.budget(log_step)
        return _of_pulled(lambda mean, pulls: divergence_bound(mean, budget / pulls), alpha, beta, setting)

    def budget(self, log_step: float) -> float:
        """Return what pulls times divergence may come to at most."""
        return log_step + self.c * math.log(max(log_step, 1.0))


def divergence_bound(mean: FloatArray, limit: FloatArray) -> FloatArray:
    r"""Return :math:`\max\{q : d(\text{mean}, q) \le \text{limit}\}` elementwise, to 1e-12."""
    from elsv.indices._kl_ucb_kernels import upper_bounds

    means, limits = np.broadcast_arrays(mean, limit)
    bounds = np.empty(means.shape)
    upper_bounds(
        np.ascontiguousarray(means).reshape(-1), np.ascontiguousarray(limits).reshape(-1), bounds.reshape(-1)
    )
    return bounds


@dataclass(frozen=True)
class BayesUCB(LogStepIndex):
    r"""Bayes-UCB of Kaufmann, Cappé and Garivier (2012).

    .. math:: z_t = \text{the quantile of } \mathrm{Beta}(\alpha, \beta) \text{ at level }
              1 - \frac{1}{t (\log T)^c}.

    Where the level is not positive, as at t = 1 with c = 0, the index is the mean. At the level of the
    first steps a quantile may lie below the mean: the bonus is then negative. Accurate to 1e-11.

    Parameters
    ----------
    c
        Power of log T: 0 is that paper's advice for practice and needs no horizon, 5 is in its theorem.
    """

    def at_log_step(
        self, alpha: FloatArray, beta: FloatArray, log_step: float, setting: Setting
    ) -> FloatArray:
        """Return the quantile at any real log t, elementwise."""
        # The complement keeps the digits of the small tail that 1 - 1/t would lose.
        from scipy.special import betainccinv

        log_tail = self.log_tail(log_step, setting)
        if log_tail >= 0.0:
            return np.divide(alpha, np.add(alpha, beta))
        return np.asarray(betainccinv(alpha, beta, math.exp(log_tail)))

    def check(self, setting: Setting) -> None:
        """Raise if the power needs a horizon that there is not."""
        self.log_tail(0.0, setting)

    def log_tail(self, log_step: float, setting: Setting) -> float:
        r"""Return the logarithm of one less the level, :math:`-\log t - c\log\log T`."""
        if self.c == 0:
            return -log_step
        horizon = horizon_of(setting, f"bayes-ucb with c={self.c:g}", "give horizon=200 or use c=0")
        return -log_step - (self.c * math.log(math.log(horizon)) if horizon > 1 else -math.inf)


@dataclass(frozen=True)
class OptimisticGittins(IndexBase):
    r"""The optimistic Gittins index of Gutin and Farias (2016); an upper bound of the Gittins index.

    K pulls are looked ahead, then the mean is revealed. Against a known arm that pays λ, the advantage of
    pulling this arm once more is

    .. math:: D_K(\lambda; s) = (1-\gamma)(m_s - \lambda) + \gamma E[D_{K-1}(\lambda; s')^+],
              \qquad D_0 = \theta - \lambda,

    where :math:`s'` is the state after the pull and, for K = 1, :math:`\theta` is drawn from
    :math:`\mathrm{Beta}(\alpha, \beta)` and taken as learnt. The index is the root of :math:`D_K`. With
    :math:`I_\lambda` the regularised incomplete beta function,

    .. math:: E(\theta-\lambda)^+ = m(1 - I_\lambda(\alpha+1, \beta)) - \lambda(1 - I_\lambda(\alpha, \beta)).

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
