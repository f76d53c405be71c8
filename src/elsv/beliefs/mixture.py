r"""Several beliefs, each with a probability: "the order holds with probability 0.9, else nothing is known".

The prior is :math:`\sum_c \pi_c\, p_c`, each part normalised. After data the parts weigh

.. math:: \pi_c(s) \propto \pi_c\, W_c(s) / W_c(\text{prior}),

means, probabilities and :math:`W(s) = \sum_c \pi_c W_c(s)/W_c(\text{prior})` are weighted sums.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import FloatArray, IntArray, Rng
from elsv.beliefs import abilities
from elsv.beliefs.base import Belief, Measured, MethodUsed, check_level, mean_of, method_of
from elsv.beliefs.points import check_count, joint_points, spread_points
from elsv.state import State

# Levels at which the parts' quantiles are taken, to be turned into one distribution; finer in the tails.
_LEVELS = tuple(float(level) for level in 1 / (1 + np.exp(-np.linspace(-14.0, 14.0, 401))))


@dataclass(frozen=True, eq=False)
class Mixture(Measured):
    """Posterior under one of several beliefs.

    Parameters
    ----------
    parts
        The beliefs; each must give `log_weight`.
    shares
        Their probabilities before any data, of sum 1.
    prior
        Counts ``[N, 2]`` before any data.

    Examples
    --------
    >>> from elsv.beliefs import Chain, Independent
    >>> both = Mixture((Chain(), Independent()), (0.9, 0.1), np.ones((2, 2)))
    >>> both.mean(State([1, 1], [1, 1])).round(4)
    array([0.65, 0.35])
    >>> both.chances(State([1, 9], [9, 1])).round(3)  # data against the order
    array([0., 1.])
    """

    parts: tuple[Belief, ...]
    shares: tuple[float, ...]
    prior: FloatArray = field(repr=False)  # [N, 2]

    @property
    def repeats(self) -> bool:
        """Whether all parts give the same means for the same state."""
        return all(map(abilities.repeats, self.parts))

    @cached_property
    def _log_start(self) -> FloatArray:
        """Logarithm of the share over W of the prior of every part, ``[C]``."""
        start = State(self.prior[:, 0], self.prior[:, 1])
        before = np.array([float(abilities.log_weight(part, start)) for part in self.parts])
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.shares) - before)

    def _logs(self, state: State) -> FloatArray:
        """Return the logarithms of what the parts add to W, ``[C, ...]``."""
        start = self._log_start
        return np.stack([abilities.log_weight(part, state) + start[c] for c, part in enumerate(self.parts)])

    def log_weight(self, state: State) -> FloatArray:
        """Return log W, relative to the prior's, ``[...]``."""
        logs = self._logs(state)
        top = logs.max(axis=0)
        return np.asarray(top + np.log(np.exp(logs - top).sum(axis=0)))

    def chances(self, state: State) -> FloatArray:
        """Return the probability of every part given the data, ``[..., C]``."""
        logs = np.moveaxis(self._logs(state), 0, -1)
        weight = np.exp(logs - logs.max(axis=-1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=-1, keepdims=True))

    def mean(self, state: State, rng: Rng | None = None) -> FloatArray:
        """Return posterior means, shape ``[..., N]``."""
        chance = self.chances(state)
        return self._averaged(chance, [mean_of(part, state, rng) for part in self.parts])

    def mean_and_variance(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Return `mean` and `variance` at the cost of one: that within the parts and between their means."""
        found = [abilities.moments(part, state) for part in self.parts]
        means, inner = (np.stack(kind) for kind in zip(*found, strict=True))
        weight = np.moveaxis(self.chances(state), -1, 0)[..., None]
        middle = (weight * means).sum(axis=0)
        return middle, np.asarray((weight * (inner + (means - middle) ** 2)).sum(axis=0))

    def error(self, state: State) -> FloatArray:
        """Return the largest error of a part's means, weighed by its probability, ``[...]``."""
        return self._averaged(self.chances(state), [abilities.error(part, state) for part in self.parts])

    def describe_method(self, state: State) -> MethodUsed:
        """Say how the parts' means are computed."""
        parts = [method_of(part, state) for part in self.parts]
        messages = sum(part.figures.get("messages", 0) for part in parts)
        said = "; ".join(f"({c + 1}) {part.words}" for c, part in enumerate(parts))
        count = {"messages": messages} if messages else {}
        beliefs = sum(part.figures.get("beliefs", 1) for part in parts)
        return MethodUsed("mixture", f"a mixture of {len(parts)}: {said}", {"beliefs": beliefs, **count})

    def quantile(self, state: State, level: float) -> FloatArray:
        """Return posterior quantiles at `level`, shape ``[..., N]``, to about 1e-4 of the spread."""
        return np.asarray(self._quantiles(state, (level,))[0])

    def marginals(self, state: State, levels: tuple[float, ...]) -> tuple[FloatArray, FloatArray]:
        """Return means ``[..., N]`` and quantiles ``[levels, ..., N]``; parts are asked once for all."""
        return self.mean(state), self._quantiles(state, levels)

    def _quantiles(self, state: State, levels: tuple[float, ...]) -> FloatArray:
        wanted = [check_level(level) for level in levels]
        chance = self.chances(state).reshape(-1, len(self.parts))
        tables = [
            abilities.marginals(part, state, _LEVELS)[1].reshape(len(_LEVELS), -1, state.arms)
            for part in self.parts
        ]
        out = np.empty((len(wanted), len(chance), state.arms))
        for b in range(len(chance)):
            for i in range(state.arms):
                columns = [table[:, b, i] for table in tables]
                places = np.unique(np.concatenate(columns))
                below = sum(
                    chance[b, c] * np.interp(places, column, _LEVELS, left=0.0, right=1.0)
                    for c, column in enumerate(columns)
                )
                out[:, b, i] = np.interp(wanted, np.maximum.accumulate(below), places)
        return out.reshape(len(wanted), *state.alpha.shape)

    def draw(self, state: State, rng: Rng) -> FloatArray:
        """Return one joint draw of the means for every instance, shape ``[..., N]``."""
        alpha, beta = state.rows()
        chance = self.chances(State.trusted(alpha, beta))
        chosen = (np.cumsum(chance, axis=-1) < rng.random((len(alpha), 1))).sum(axis=-1)
        out = np.empty_like(alpha)
        for c, part in enumerate(self.parts):
            here = np.flatnonzero(chosen == c) if c + 1 < len(self.parts) else np.flatnonzero(chosen >= c)
            if len(here):
                out[here] = part.draw(State.trusted(alpha[here], beta[here]), rng)
        return out.reshape(state.alpha.shape)

    def points(self, state: State, count: int, arms: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return joint points ``[..., M, A]`` of all arms, or of `arms` ``[..., A]``, and weights.

        Points with the same mean of the second arm stand together, as they do in a product of Gauss rules:
        a search takes them as one.
        """
        each = max(1, check_count(count) // len(self.parts))
        found = [joint_points(part, state, each, arms) for part in self.parts]
        theta, weight = self._weighed(state, found)
        if theta.shape[-1] < 2:
            return theta, weight
        turn = np.argsort(theta[..., 1], axis=-1, kind="stable")
        return np.take_along_axis(theta, turn[..., None], axis=-2), np.take_along_axis(weight, turn, axis=-1)

    some_points = points

    @property
    def arm_points(self) -> Callable[[State, int], tuple[FloatArray, FloatArray]] | None:
        """Points of every arm with the means of all arms there; None if a part does not give them."""
        own: list[Any] = [getattr(part, "arm_points", None) for part in self.parts]
        if None in own:
            return None

        def arm_points(state: State, count: int) -> tuple[FloatArray, FloatArray]:
            """Return `count` points of every part, ``[..., N, K, N]`` and ``[..., N, K]``."""
            return self._weighed(state, [points(state, count) for points in own])

        return arm_points

    def spread_points(self, state: State, count: int) -> tuple[FloatArray, FloatArray]:
        """Return the spread points of every part ``[..., M, N]``, weighed ``[..., M]``, the parts in turn."""
        each = max(1, check_count(count) // len(self.parts))
        found = [spread_points(part, state, each) for part in self.parts]
        theta, weight = self._weighed(state, found)
        sizes = [share.shape[-1] for _, share in found]
        turn = np.argsort(np.concatenate([(np.arange(size) + 0.5) / size for size in sizes]), kind="stable")
        return theta[..., turn, :], weight[..., turn]

    def _weighed(
        self, state: State, found: list[tuple[FloatArray, FloatArray]]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the points of the parts one after the other, and their weights."""
        chance = self.chances(state)
        theta = np.concatenate([place for place, _ in found], axis=-2)
        shares = [
            _beside(chance[..., c], share) * share / share.sum(axis=-1, keepdims=True)
            for c, (_, share) in enumerate(found)
        ]
        return theta, np.concatenate(shares, axis=-1)

    def best_with_error(
        self, state: State, rewards: ArrayLike, tolerance: float | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what `best` does and its error, both those of the parts, weighed."""
        chance = self.chances(state)
        found = [abilities.best_with_error(part, state, rewards, tolerance) for part in self.parts]
        best, largest, error = (self._averaged(chance, kind) for kind in zip(*found, strict=True))
        return best, largest, error

    def _averaged(self, chance: FloatArray, found: Sequence[FloatArray]) -> FloatArray:
        """Return what the parts say, weighed by their chances ``[..., C]``."""
        parts = enumerate(found)
        return np.asarray(sum(_beside(chance[..., c], part) * part for c, part in parts))


def _beside(chance: FloatArray, part: FloatArray) -> FloatArray:
    """Return `chance` ``[...]`` with axes of length 1 for those that `part` has besides."""
    return chance.reshape(chance.shape + (1,) * (part.ndim - chance.ndim))
