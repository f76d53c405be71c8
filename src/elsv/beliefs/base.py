"""What a belief answers: given a state, what is known of the means."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol, Self, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.inheritance import still_holds
from elsv._base.numbers import numbers
from elsv._base.typing import FloatArray, IntArray, Rng
from elsv.errors import InvalidInputError, unknown_name
from elsv.state import State

Order = Literal["decreasing", "increasing"]
NO_LEVELS = np.empty(0)
Points = Callable[[State], tuple[FloatArray, FloatArray]]


class Belief(Protocol):
    r"""Posterior of the means given a state, :math:`p_i(s) = E[\mu_i \mid s, \text{order}]`.

    Lookahead and policies need only `mean` and `draw`, both batch-shaped. A belief that samples needs
    `rng`; an exact one ignores it in `mean`.
    """

    def mean(self, state: State, rng: Rng | None = None) -> FloatArray:
        """Return posterior means, shape ``[..., N]``."""
        ...

    def draw(self, state: State, rng: Rng) -> FloatArray:
        """Return one joint draw of the means for every instance, shape ``[..., N]``."""
        ...


class Measured(ABC):
    """Gives the shorter answers of a belief that has the longer ones."""

    def mean(self, state: State, rng: Rng | None = None) -> FloatArray:
        """Return posterior means, shape ``[..., N]``; `rng` is not used."""
        return self.mean_and_variance(state)[0]

    def variance(self, state: State) -> FloatArray:
        """Return posterior variances, shape ``[..., N]``."""
        return self.mean_and_variance(state)[1]

    def mean_and_variance(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Return `mean` and `variance` at the cost of one."""
        return self.mean(state), self.variance(state)

    def best(
        self, state: State, rewards: ArrayLike, tolerance: float | None = None
    ) -> tuple[FloatArray, FloatArray]:
        r"""Return P(arm i has the largest :math:`r_i \mu_i`) ``[..., N]`` and :math:`E[\max_i r_i\mu_i]`."""
        return self.best_with_error(state, rewards, tolerance)[:2]

    @abstractmethod
    def best_with_error(
        self, state: State, rewards: ArrayLike, tolerance: float | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what `best` does and its error, ``[...]``."""


class Integrated(Measured):
    """Reads answers from a belief that is integrated to a tolerance.

    Beliefs give `log_weight` beside their `draw`: it would not hold below another one (`still_holds`).
    """

    tolerance: float
    repeats: ClassVar[bool] = True
    _inside: ClassVar[
        float
    ]  # of the nats on a panel where values inside it are read, which have half the order
    _finer: ClassVar[tuple[float, float]]  # the same where the error is measured, and the most nats there

    def __post_init__(self) -> None:
        check_tolerance(self.tolerance)

    @staticmethod
    @abstractmethod
    def _rule(tolerance: float) -> tuple[float, float]:
        """Return how many nats a panel may span, and how many below its peak a density is cut off."""

    @abstractmethod
    def _read(
        self, state: State, nats: float, cut: float, rows: int, levels: FloatArray = NO_LEVELS
    ) -> tuple[FloatArray, FloatArray]:
        """Return log W ``[...]``, and `rows` of means, variances and quantiles, ``[rows, ..., N]``."""

    def mean(self, state: State, rng: Rng | None = None) -> FloatArray:
        r"""Return :math:`p_i(s) = E[\mu_i \mid s, \text{order}]`, shape ``[..., N]``; `rng` is not used."""
        mean: FloatArray = self._read(state, *self._rule(self.tolerance), 1)[1][0]
        return mean

    def mean_and_variance(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Return `mean` and `variance` at the cost of one."""
        mean, variance = self._read(state, *self._rule(self.tolerance), 2)[1]
        return mean, variance

    def quantile(self, state: State, level: float) -> FloatArray:
        """Return posterior quantiles at `level`, shape ``[..., N]``."""
        found: FloatArray = self.marginals(state, (level,))[1][0]
        return found

    def marginals(self, state: State, levels: tuple[float, ...]) -> tuple[FloatArray, FloatArray]:
        """Return means ``[..., N]`` and quantiles ``[levels, ..., N]``, integrated once for both."""
        nats, cut = self._rule(self.tolerance)
        wanted = np.array([check_level(level) for level in levels], dtype=np.float64)
        found = self._read(state, self._inside * nats, cut, 2 + len(wanted), wanted)[1]
        return found[0], found[2:]

    def error(self, state: State) -> FloatArray:
        """Return the larger change of a mean and of log W when the quadrature is refined, ``[...]``.

        It estimates the error of `mean` and the relative error of W.
        """
        nats, cut = self._rule(self.tolerance)
        share, most = self._finer
        weight, found = self._read(state, nats, cut, 1)
        finer_weight, finer = self._read(state, min(share * nats, most), cut + 8, 1)
        change: FloatArray = np.abs(found[0] - finer[0]).max(axis=-1)
        return np.maximum(change, np.abs(weight - finer_weight))

    def precise(self) -> Self:
        """Return the same belief with the finest tolerance, for what is integrated once."""
        return replace(self, tolerance=1e-12)  # type: ignore[type-var]


def mean_of(belief: Belief, state: State, rng: Rng | None = None) -> FloatArray:
    """Return the means of any belief ``[..., N]`` if there is one for each arm of each state."""
    answer = getattr(belief, "mean", None)
    if answer is None:
        raise InvalidInputError(f"a belief must have mean(state, rng) and draw(state, rng), got {belief!r}")
    mean = np.asarray(answer(state, rng), dtype=np.float64)
    if mean.shape != state.alpha.shape:
        raise InvalidInputError(
            f"a belief must give one mean for each arm, shape {state.alpha.shape}, got {mean.shape}"
        )
    return mean


def check_order(order: object) -> Order:
    """Return `order` if it is a direction in which means can go."""
    if order not in get_args(Order):
        raise unknown_name("order", str(order), get_args(Order))
    return cast(Order, order)


def check_level(level: float) -> float:
    """Return `level` if it is a probability strictly between 0 and 1."""
    if not 0 < level < 1:
        raise InvalidInputError(f"level must lie strictly between 0 and 1, got {level!r}; try 0.95")
    return float(level)


def check_tolerance(tolerance: float) -> float:
    """Return `tolerance` if it is in the range that can be reached."""
    if not 1e-12 <= tolerance <= 1e-3:
        raise InvalidInputError(f"tolerance must lie between 1e-12 and 1e-3, got {tolerance!r}")
    return float(tolerance)


def check_rewards(state: State, rewards: ArrayLike) -> FloatArray:
    """Return `rewards` as one positive number for each arm ``[N]``."""
    payoff = np.ascontiguousarray(numbers("rewards", rewards))
    if payoff.shape != (state.arms,) or not (payoff.min() > 0 and payoff.max() < np.inf):
        raise InvalidInputError(
            f"rewards must be {state.arms} positive numbers, one for each arm, got {rewards!r}"
        )
    return payoff


@dataclass(frozen=True)
class MethodUsed:
    """A way to compute a belief in a state."""

    name: str  # one word, such as "ladder"
    words: str  # the same for people, with its figures
    figures: Mapping[str, float] = field(default_factory=dict)  # such as messages, draws, acceptance, r_hat

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"name": self.name, "words": self.words, **self.figures}


def method_of(belief: Belief, state: State) -> MethodUsed:
    """Return how a belief is computed in one state; a parent's answer does not hold beside another mean."""
    own = getattr(belief, "describe_method", None)
    if own is not None and still_holds(belief, "describe_method", "mean"):
        found: MethodUsed = own(state)
        return found
    name = type(belief).__name__
    return MethodUsed(name, f"{name}, which does not say how it computes")


def grouped(alpha: FloatArray, beta: FloatArray) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Return the distinct states ``[U, N]``, where the rows of each begin, and the rows in that order."""
    distinct, group = np.unique(np.hstack([alpha, beta]), axis=0, return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    counts = np.bincount(group.reshape(-1), minlength=len(distinct))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    arms = alpha.shape[1]
    return distinct[:, :arms].copy(), distinct[:, arms:].copy(), starts, order


def concentration(theta: FloatArray, share: FloatArray) -> float:
    """Return the sum of squared weights, those of equal points taken together: one by the effective draws."""
    marks = np.modf(np.sqrt(np.arange(2.0, 2.0 + theta.shape[1])))[0] + 1
    _, group = np.unique((theta * marks).sum(axis=1), return_inverse=True)
    return float((np.bincount(group.reshape(-1), weights=share) ** 2).sum())


def state_by_state(
    state: State,
    find: Callable[[FloatArray, FloatArray], Iterable[FloatArray | float]],
    *shapes: tuple[int, ...],
    step: int = 1,
) -> tuple[FloatArray, ...]:
    """Return what `find` says of the counts ``[N]`` of each state, ``[..., *shape]`` for each shape."""
    alpha, beta = state.rows(step)
    out = [np.empty((len(alpha), *shape)) for shape in shapes]
    for k in range(len(alpha)):
        for part, found in zip(out, find(alpha[k], beta[k]), strict=True):
            part[k] = found
    return tuple([part.reshape(state.shape + shape) for part, shape in zip(out, shapes, strict=True)])


def best_one_by_one(
    state: State, find: Callable[[FloatArray, FloatArray], Iterable[FloatArray | float]], step: int = 1
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return P(best) ``[..., N]``, E[max] and the error ``[...]``, of which `find` tells for one state."""
    chance, largest, error = state_by_state(state, find, (state.arms,), (), (), step=step)
    return chance if step > 0 else chance[..., ::-1].copy(), largest, error


def best_of_points(
    points: Points, state: State, rewards: FloatArray, repeated: bool = False
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Return P(arm i is best) ``[..., N]``, E[max] and the error ``[...]``, one state after another.

    The error is that of as many independent draws as are effective, :math:`\sqrt{p(1-p) \sum_m w_m^2}`;
    points that are evenly spread do better. Where points may be `repeated`, equal ones count as one.
    """

    def find(alpha: FloatArray, beta: FloatArray) -> tuple[Any, ...]:
        theta, weight = points(State.trusted(alpha, beta))
        share = weight / weight.sum()
        worth = rewards * theta
        chance = np.bincount(worth.argmax(axis=-1), weights=share, minlength=len(rewards))
        squares = concentration(theta, share) if repeated else (share**2).sum()
        error = np.sqrt((chance * (1 - chance)).max() * squares)
        return chance, (share * worth.max(axis=-1)).sum(), error

    return best_one_by_one(state, find)


class CountedBest(Measured):
    """Gives P(best) of a belief of weighted draws, counted among them."""

    _repeated: ClassVar[bool] = False  # whether a draw may be there several times

    @abstractmethod
    def _joint(self, one: State) -> tuple[FloatArray, FloatArray]:
        """Return joint draws ``[M, N]`` for one state and their weights ``[M]``."""

    def best_with_error(
        self, state: State, rewards: ArrayLike, tolerance: float | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what `best` does and its error, that of as many independent draws, ``[...]``."""
        return best_of_points(self._joint, state, check_rewards(state, rewards), self._repeated)
