r"""Beliefs by draws that are kept: any condition on the means, on top of a belief that can be drawn from.

Joint points of the base belief at a state are kept where the condition holds; means and the rest are those of
the points kept, with a Monte Carlo error. Weights W are those of the prior's points that are kept,

.. math:: W(s) \propto \sum_{m \text{ kept}} \prod_i \theta_{mi}^{s_i}(1-\theta_{mi})^{f_i},

so that exact solutions are consistent: they are exact for these points. (The share kept in each state would
give a W with its own error in every state.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from elsv._base.typing import AnyArray, FloatArray, Rng
from elsv.beliefs.base import Belief, CountedBest, MethodUsed, concentration, method_of, state_by_state
from elsv.beliefs.points import MOST, check_count, joint_points, power_from, spread_points
from elsv.beliefs.samples import Samples
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import Layer
from elsv.lattice.workers import Crew
from elsv.state import Arms, State

COUNT = 1 << 14  # points that are drawn in a state
LEAST = 1 / 200  # share of them that must be kept
_MOST_TRIES = 10_000
_BATCH = 1 << 12
_MORE, _SOME = 1.05, 16  # draws a little more than the estimated shortfall: this factor, and some
Condition = Callable[[FloatArray], AnyArray]


@dataclass(frozen=True, eq=False)
class Kept(CountedBest):
    """Posterior of the means given a further condition on them, by draws that are kept.

    Parameters
    ----------
    base
        The belief that is drawn from.
    condition
        Says of means ``[..., N]`` whether they are possible, ``[...]``.
    prior
        Counts ``[N, 2]`` before any data.
    count
        Points that are drawn in a state.
    otherwise
        Belief to ask in states where too few points are kept; default: such states are refused.
    """

    base: Belief
    condition: Condition
    prior: FloatArray = field(repr=False)  # [N, 2]
    count: int = COUNT
    otherwise: Belief | None = None
    repeats: ClassVar[bool] = True
    _repeated: ClassVar[bool] = True

    def acceptance(self, state: State) -> FloatArray:
        """Return the share of the base belief that meets the condition, ``[...]``."""
        return state_by_state(state, lambda alpha, beta: [self._kept(alpha, beta, self.count)[2]], ())[0]

    def mean_and_variance(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Return `mean` and `variance` at the cost of one."""
        mean, variance, _ = self._moments(state)
        return mean, variance

    def error(self, state: State) -> FloatArray:
        """Return the standard error of a mean, that of as many independent draws, ``[...]``.

        Where the base is one of samples, draws of the prior that are there many times count once.
        """
        _, variance, squares = self._moments(state, concentration)
        spread: FloatArray = np.sqrt(variance.max(axis=-1) * squares)
        return spread

    def _moments(
        self, state: State, read: Callable[[FloatArray, FloatArray], float] = lambda *_: 0.0
    ) -> tuple[FloatArray, ...]:
        """Return means and variances ``[..., N]`` and what `read` says of points and weights ``[...]``."""

        def find(alpha: FloatArray, beta: FloatArray) -> tuple[FloatArray, FloatArray, float]:
            points, weight = self._enough(alpha, beta, self.count)
            mean = weight @ points
            return mean, weight @ (points - mean) ** 2, read(points, weight)

        return state_by_state(state, find, (state.arms,), (state.arms,), ())

    def describe_method(self, state: State) -> MethodUsed:
        """Say how the means are computed in one state, and what share of the draws is kept."""
        share = float(self.acceptance(state))
        base = method_of(self.base, state).words
        if share < LEAST and self.otherwise is not None:
            other = method_of(self.otherwise, state)
            words = f"{other.words} (too few draws would be kept: {100 * share:.2g} %)"
            return MethodUsed(other.name, words, {**other.figures, "acceptance": share})
        words = f"draws that are kept: {100 * share:.3g} % of {self.count:,} drawn from {base}"
        return MethodUsed("draws kept", words, {"draws": self.count, "acceptance": share})

    def log_weight(self, state: State) -> FloatArray:
        """Return log W of the prior's points that are kept, ``[...]``."""
        return self._start.log_weight(state)

    @cached_property
    def _start(self) -> Samples:
        """The prior's points that are kept."""
        points, weight = self._enough(self.prior[:, 0], self.prior[:, 1], self.count)
        return Samples(points, self.prior, weight)

    def layer_best(self, arms: Arms, layer: Layer, crew: Crew) -> FloatArray:
        """Return P(arm i is best) in all states of a layer, ``[N, states]``, of the same points as W."""
        out = np.empty((arms.arms, layer.size))
        for here, state in layer.batches(arms, _BATCH):
            out[:, here] = self._start.best(state, arms.rewards)[0].T
        return out

    def draw(self, state: State, rng: Rng) -> FloatArray:
        """Return one joint draw of the means for every instance, shape ``[..., N]``."""
        alpha, beta = state.rows()
        out, left = np.empty_like(alpha), np.arange(len(alpha))
        for _ in range(_MOST_TRIES):
            drawn = self.base.draw(State.trusted(alpha[left], beta[left]), rng)
            good = np.asarray(self.condition(drawn), dtype=bool)
            out[left[good]] = drawn[good]
            left = left[~good]
            if not len(left):
                break
        else:
            if self.otherwise is None:
                raise _too_few(0.0)
            out[left] = self.otherwise.draw(State.trusted(alpha[left], beta[left]), rng)
        return out.reshape(state.alpha.shape)

    def points(self, state: State, count: int) -> tuple[FloatArray, FloatArray]:
        """Return `count` joint points ``[..., M, N]`` that are kept, and their weights ``[..., M]``.

        Where fewer are kept, points of weight 0 make up the number.
        """
        size = check_count(count)

        def find(alpha: FloatArray, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
            found, share = self._enough(alpha, beta, size)
            return found[np.arange(size) % len(found)], np.append(share, np.zeros(size - len(found)))

        theta, weight = state_by_state(state, find, (size, state.arms), (size,))
        return theta, weight

    def _joint(self, one: State) -> tuple[FloatArray, FloatArray]:
        return self._enough(one.alpha, one.beta, self.count)

    def _kept(self, alpha: FloatArray, beta: FloatArray, count: int) -> tuple[FloatArray, FloatArray, float]:
        """Return the points of one state that are kept, their weights, and the share that they are."""
        theta, weight = spread_points(self.base, State.trusted(alpha, beta), count)
        good = np.asarray(self.condition(theta), dtype=bool) & (weight > 0)
        return theta[good], weight[good], float(weight[good].sum() / weight.sum())

    def _enough(self, alpha: FloatArray, beta: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
        """Return up to `count` points of one state that are kept, and their weights, of sum 1."""
        return _points_of(self, tuple(alpha.tolist()), tuple(beta.tolist()), count)


@dataclass
class _Sequence:
    """Points of one state of a base that has a `sequence`, each looked at once."""

    base: Any
    state: State
    condition: Condition
    made: int = 0
    found: list[FloatArray] = field(default_factory=list)

    def kept(self, size: int, enough: int) -> tuple[FloatArray, float]:
        """Return those kept of the first `size` points, or of fewer if `enough` are; and their share."""
        number = sum(map(len, self.found))
        while self.made < size and number < enough:
            # A little more than the share so far says is still missing.
            missing = _MORE * (enough - number) * self.made / max(number, 1) + _SOME
            stop = size if self.made == 0 else min(size, self.made + int(min(missing, size)))
            theta = self.base.sequence(self.state, self.made, stop)
            self.found.append(theta[np.asarray(self.condition(theta), dtype=bool)])
            number += len(self.found[-1])
            self.made = stop
        return np.concatenate(self.found), number / self.made


@lru_cache(maxsize=16)
def _points_of(
    belief: Kept, alpha: tuple[float, ...], beta: tuple[float, ...], count: int
) -> tuple[FloatArray, FloatArray]:
    """Return the points of one state: a decision asks for them several times."""
    one = State.trusted(np.array(alpha), np.array(beta))
    sequence = _Sequence(belief.base, one, belief.condition) if hasattr(belief.base, "sequence") else None
    tried, most = count, min(max(8 * count, belief.count), MOST)
    while True:
        if sequence is not None:
            sure = tried < belief.count or count >= LEAST * power_from(tried)
            points, share = sequence.kept(power_from(tried), count if sure else MOST)
            weight = np.ones(len(points))
        else:
            points, weight, share = belief._kept(one.alpha, one.beta, tried)
        if share < LEAST and tried >= belief.count:
            if belief.otherwise is None:
                raise _too_few(share)
            points, weight = joint_points(belief.otherwise, one, count)
            break
        if len(points) >= count or tried >= most:
            points, weight = points[:count], weight[:count]
            break
        tried *= 2
    weight = weight / weight.sum()
    points.flags.writeable = weight.flags.writeable = False
    return points, weight


def _too_few(share: float) -> InvalidInputError:
    return InvalidInputError(
        f"at least {LEAST:.1%} of the draws must meet the condition, got {share:.2%}: data contradict it, "
        "or it is too narrow; state it as an order or bounds if it is one, or put it into a mixture"
    )
