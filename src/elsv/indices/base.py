r"""What an index is: a number :math:`z_t(\alpha, \beta)` for one arm, for reward 1 (paper Algorithm 2).

Arm i's index is :math:`r_i z_t(\alpha_i, \beta_i)`, its bonus :math:`b_t = z_t - \alpha/(\alpha+\beta)`.
An index is called elementwise on arrays of any shape; what it may know besides the counts is in
`Setting`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import ClassVar, Protocol

import numpy as np

from elsv._base.numbers import numbers, shown
from elsv._base.typing import FloatArray
from elsv.beliefs.ladder.ranking import components
from elsv.errors import InvalidInputError
from elsv.problem import Problem

FARTHEST = 1024
"""Pulls within which arms may meet; a table from a corner so far off would be larger than it is worth."""

POSITIVE, NOT_NEGATIVE = "must be positive", "must not be negative"
_WHOLE = 1e-12  # of a count: what rounding makes of whole steps


@dataclass(frozen=True)
class Setting:
    """What an index may depend on besides the counts and the step."""

    prior_alpha: FloatArray  # [N], or [] for a single arm; broadcasts against alpha
    prior_beta: FloatArray
    arms: int
    horizon: int | None
    discount: float | None
    corner: FloatArray | None = field(default=None, repr=False)  # [2], of a single arm among others
    whole: bool = False  # whole levels of states are asked for: an index may use tables however deep
    alone: bool = False  # one instance is asked for, one state of each arm: no table is worth its time

    @classmethod
    def of(cls, problem: Problem, alone: bool = False) -> Setting:
        """Return the setting of all arms of `problem`."""
        alpha, beta = problem.prior.T
        return cls(alpha, beta, problem.arms, problem.horizon, problem.discount, alone=alone)

    def arm(self, i: int) -> Setting:
        """Return the setting of arm i (from 0) alone."""
        alpha, beta = self.prior_alpha[i], self.prior_beta[i]
        return Setting(alpha, beta, self.arms, self.horizon, self.discount, self.corners[i], self.whole)

    @cached_property
    def corners(self) -> FloatArray:
        """Where each arm's tables begin, ``[N, 2]`` or ``[2]``; one place for arms that may meet."""
        if self.corner is not None:
            return self.corner
        prior = np.stack((self.prior_alpha, self.prior_beta), axis=-1)
        return shared_corners(prior.reshape(-1, 2), self.horizon).reshape(prior.shape)

    def pulls(self, alpha: FloatArray, beta: FloatArray) -> FloatArray:
        """Return how often each arm was pulled, a whole number; expected outcomes may be fractions."""
        return np.rint((alpha - self.prior_alpha) + (beta - self.prior_beta))


class Index(Protocol):
    """An index; built-in ones are frozen dataclasses of their parameters."""

    @property
    def uses_step(self) -> bool:
        """Whether the index depends on the step t (if not, values are built incrementally)."""
        ...

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return z elementwise; an arm that must be pulled first gets infinity."""
        ...

    def prepare(self, setting: Setting, pulls: int) -> None:
        """Announce that all states of each arm with up to `pulls` pulls will be asked for."""
        ...


class IndexBase:
    """Base of the built-in indices, which depend on the step and need no tables unless they say otherwise."""

    uses_step: ClassVar[bool] = True
    needs_horizon: ClassVar[tuple[str, ...]] = ()  # who needs one, and what to do without; none: nobody does

    def check(self, setting: Setting) -> None:
        """Raise if the index has no values there, such as without a horizon."""
        if self.needs_horizon:
            horizon_of(setting, *self.needs_horizon)

    def prepare(self, setting: Setting, pulls: int) -> None:
        """Do nothing."""


def check_index(value: FloatArray, alpha: FloatArray, beta: FloatArray, step: int) -> FloatArray:
    """Return the values of an index if all are numbers; infinities are."""
    if value.size and np.isnan(np.min(value)):
        where = tuple(np.argwhere(np.isnan(value))[0])
        a, b = (np.broadcast_to(counts, value.shape)[where] for counts in (alpha, beta))
        raise InvalidInputError(f"an index must be a number, got NaN at alpha={a:g}, beta={b:g}, step {step}")
    return value


@dataclass(frozen=True)
class FunctionIndex(IndexBase):
    """A user's own function of (alpha, beta, step), called on arrays."""

    function: Callable[[FloatArray, FloatArray, int], FloatArray]
    uses_step: bool = True  # type: ignore[misc]

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the function's value, broadcast to the shape of the counts."""
        answer = self.function(alpha, beta, step)
        value, shape = numbers("an index", answer), np.broadcast_shapes(alpha.shape, beta.shape)
        try:
            value = np.broadcast_to(value, shape)
        except ValueError as error:
            raise InvalidInputError(
                f"an index must return one number for each state, shape {shape}, got {shown(answer)}"
            ) from error
        return check_index(value, alpha, beta, step)


def parameter(name: str, value: object, example: str, rule: str | None = None) -> float:
    """Return a parameter of an index as a float if it is finite and keeps the `rule` in words."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise InvalidInputError(f"{name} must be a number, got {value!r}; for example {example}")
    number = float(value)
    if not math.isfinite(number):
        raise InvalidInputError(f"{name} must be finite, got {number:g}; for example {example}")
    if (rule is not None and number < 0) or (rule == POSITIVE and number == 0):
        raise InvalidInputError(f"{name} {rule}, got {number:g}; for example {example}")
    return number


def horizon_of(setting: Setting, who: str, remedy: str) -> int:
    """Return the horizon that an index needs, or say what to do without one."""
    if setting.horizon is None:
        raise InvalidInputError(f"{who} needs a horizon, and the problem has a discount instead; {remedy}")
    return setting.horizon


def shared_corners(prior: FloatArray, horizon: int | None) -> FloatArray:
    """Return the corner (alpha, beta) that each arm counts from, ``[N, 2]``; its prior if it meets none.

    Arms whose priors are whole steps apart may come to the same state. An index that is solved to a tolerance
    must then be one number for both, so all arms that are linked in this way count from one corner, below and
    left of all their priors.
    """
    return _corners(np.ascontiguousarray(prior, dtype=np.float64).tobytes(), horizon)


@lru_cache(maxsize=256)
def _corners(prior: bytes, horizon: int | None) -> FloatArray:
    table = np.frombuffer(prior).reshape(-1, 2)
    distinct, group = np.unique(table, axis=0, return_inverse=True)
    most = FARTHEST if horizon is None else min(FARTHEST, horizon - 1)
    corners = distinct.copy()
    apart = distinct[:, None] - distinct
    whole = np.abs(apart - np.rint(apart)) <= _WHOLE * np.maximum(distinct[:, None], distinct)
    meet = whole.all(axis=-1) & (np.abs(apart).sum(axis=-1) <= most + 0.5)  # so few pulls lead to one state
    for members in components(len(distinct), tuple((int(a), int(b)) for a, b in np.argwhere(meet))):
        corners[members] = distinct[members].min(axis=0)
    found: FloatArray = corners[group.reshape(-1)]
    found.flags.writeable = False
    return found
