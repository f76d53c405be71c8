r"""The state: what has been seen of every arm (paper §2.1).

:math:`s = ((\alpha_1, \beta_1), \dots, (\alpha_N, \beta_N))`. A success adds one to
:math:`\alpha_i`, a failure one to :math:`\beta_i`.
Arrays have shape ``[..., N]``: any number of leading instances, arms last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.numbers import numbers
from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError


class Arms(Protocol):
    """What states start from: the arms of a problem, each with its prior and what it pays."""

    @property
    def arms(self) -> int:
        """N, the number of arms."""

    @property
    def prior(self) -> FloatArray:
        r"""Rows :math:`(\alpha^0_i, \beta^0_i)`, shape ``[N, 2]``."""

    @property
    def rewards(self) -> FloatArray:
        """What each arm pays on success, shape ``[N]``."""


# Counts that differ from a whole number by less than this came from adding ones to a real prior.
_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False)
class State:
    """Beta parameters of every arm, batch-shaped; immutable."""

    alpha: FloatArray  # [..., N]
    beta: FloatArray  # [..., N]

    def __init__(self, alpha: ArrayLike, beta: ArrayLike) -> None:
        given = numbers("alpha", alpha), numbers("beta", beta)
        try:
            a, b = (np.array(counts) for counts in np.broadcast_arrays(*given))
        except ValueError as error:
            raise InvalidInputError(f"alpha and beta must have one shape: {error}") from error
        if a.ndim == 0:
            raise InvalidInputError(
                "alpha and beta must have the arms as their last axis, got single numbers"
            )
        for name, array in (("alpha", a), ("beta", b)):
            if array.size and not (np.min(array) > 0 and np.max(array) < np.inf):
                bad = array[~((array > 0) & (array < np.inf))].flat[0]
                raise InvalidInputError(
                    f"{name} must be positive and finite, got {bad:g}; "
                    "counts begin with the prior's: 1,1 is an arm without data"
                )
        _freeze(a, b)
        object.__setattr__(self, "alpha", a)
        object.__setattr__(self, "beta", b)

    @classmethod
    def initial(cls, problem: Arms, batch: tuple[int, ...] = ()) -> State:
        """Return the prior of `problem`, repeated over the leading shape `batch`."""
        shape = (*batch, problem.arms)
        alpha, beta = (np.broadcast_to(column, shape).copy() for column in problem.prior.T)
        return cls.trusted(*_freeze(alpha, beta))

    @classmethod
    def trusted(cls, alpha: FloatArray, beta: FloatArray) -> State:
        """Wrap arrays that are valid and that no one else changes, without checks and copies: for speed."""
        state = object.__new__(cls)
        object.__setattr__(state, "alpha", alpha)
        object.__setattr__(state, "beta", beta)
        return state

    @classmethod
    def parse(cls, text: str) -> State:
        """Read ``"3,1 2,2 1,1"``: one ``alpha,beta`` pair for each arm, separated by spaces."""
        try:
            pairs = [[float(x) for x in pair.split(",")] for pair in text.split()]
            array = np.array(pairs, dtype=np.float64)
        except ValueError:
            array = np.empty(0)
        if array.ndim != 2 or array.shape[1] != 2:
            raise InvalidInputError(f'state must be alpha,beta pairs such as "3,1 2,2 1,1", got {text!r}')
        return cls(array[:, 0], array[:, 1])

    @property
    def arms(self) -> int:
        """N, the length of the last axis."""
        return int(self.alpha.shape[-1])

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading, batch shape."""
        return self.alpha.shape[:-1]

    def part(self, here: Any) -> State:
        """Return some instances: what numpy's index `here` selects of the batch shape."""
        return State.trusted(self.alpha[here], self.beta[here])

    @property
    def mean(self) -> FloatArray:
        r"""Means of the independent Betas, :math:`\alpha/(\alpha+\beta)`, shape ``[..., N]``."""
        return np.divide(self.alpha, self.alpha + self.beta)

    def pulls(self, problem: Arms) -> FloatArray:
        r"""Return :math:`n_i = \alpha_i + \beta_i - \alpha^0_i - \beta^0_i`, shape ``[..., N]``."""
        check_arms(self, problem)
        return self.pulls_made(problem)

    def pulls_made(self, problem: Arms) -> FloatArray:
        """Return the same without checks, also where outcomes are only expected."""
        return np.rint((self.alpha - problem.prior[:, 0]) + (self.beta - problem.prior[:, 1]))

    def step(self, problem: Arms) -> int:
        """Return t = 1 + Σ pulls; every instance of a batch must be at the same step."""
        steps = self.pulls(problem).sum(axis=-1)
        if steps.size and steps.min() != steps.max():
            raise InvalidInputError(
                f"instances must be at one step, got {int(steps.min()) + 1} to "
                f"{int(steps.max()) + 1}; pass the step"
            )
        return int(steps.flat[0]) + 1 if steps.size else 1

    def observe(self, arm: ArrayLike, success: ArrayLike) -> State:
        """Return the state after pulling `arm` (from 0) with the outcome `success`, both ``[...]``."""
        arms = np.asarray(arm)
        wins = np.asarray(success)
        if arms.dtype.kind not in "iu" or (arms.size and (arms.min() < 0 or arms.max() >= self.arms)):
            raise InvalidInputError(f"arm must be a whole number from 0 to {self.arms - 1}, got {arm!r}")
        if wins.dtype.kind not in "biuf" or not np.isin(wins, (0, 1)).all():
            raise InvalidInputError(f"success must be true or false (1 or 0), got {success!r}")
        hit = np.arange(self.arms) == np.broadcast_to(arms, self.shape)[..., None]
        won = np.broadcast_to(wins, self.shape)[..., None].astype(bool)
        return State.trusted(*_freeze(self.alpha + (hit & won), self.beta + (hit & ~won)))

    def rows(self, turn: int = 1) -> tuple[FloatArray, FloatArray]:
        """Return alpha and beta as kernels take them, ``[instances, N]``; `turn` -1: the last arm first.

        An array that is read-only is copied: kernels would be compiled once more for its type.
        """
        shape = (-1, self.arms)
        alpha, beta = self.alpha.reshape(shape)[:, ::turn], self.beta.reshape(shape)[:, ::turn]
        return alpha if alpha.flags.carray else alpha.copy(), beta if beta.flags.carray else beta.copy()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, State)
            and np.array_equal(self.alpha, other.alpha)
            and np.array_equal(self.beta, other.beta)
        )

    def __hash__(self) -> int:
        return hash((self.alpha.tobytes(), self.beta.tobytes()))


def _freeze(*arrays: FloatArray) -> tuple[FloatArray, ...]:
    for array in arrays:
        array.flags.writeable = False
    return arrays


def check_width(state: State, problem: Arms) -> None:
    """Raise unless the state has the problem's number of arms; quick enough for every public function."""
    if state.arms != problem.arms:
        raise InvalidInputError(
            f"state must have {problem.arms} arms as the problem has, got {state.arms}; "
            "give one alpha,beta pair for each"
        )


def check_arms(state: State, problem: Arms) -> None:
    """Raise unless the state has the problem's number of arms and was reached from its prior."""
    check_width(state, problem)
    for name, counts, start in (
        ("alpha", state.alpha, problem.prior[:, 0]),
        ("beta", state.beta, problem.prior[:, 1]),
    ):
        gained = counts - start
        bad = (gained < -_ROUNDING) | (np.abs(gained - np.rint(gained)) > _ROUNDING)
        if bad.any():
            where = tuple(int(k) for k in np.argwhere(bad)[0])
            raise InvalidInputError(
                f"{name} must be the prior plus a whole number of outcomes; arm {where[-1] + 1} has "
                f"{counts[where]:g} with prior {start[where[-1]]:g}"
            )
