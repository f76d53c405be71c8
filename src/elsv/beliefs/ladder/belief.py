r"""Exact beliefs under anything that ranks the arms: partial orders, grids, a single peak, bounds.

With :math:`f_i` the Beta densities, a ladder of sets of smallest arms has one message for each set,

.. math:: L_J(x) = \int_0^x \sum_{I \to J \text{ placing } i} f_i L_I, \quad
    U_I(x) = \int_x^1 \sum_{I \to J \text{ placing } i} f_i U_J, \quad
    p(\mu_i = x) \propto f_i(x) \sum_{I \to J \text{ placing } i} L_I(x)\, U_J(x), \quad
    W = L_{\text{all}}(1),

however many rankings there are; trees have one message for each pair instead (`elsv.beliefs.ladder.ranking`).
The order may also be one of the expected rewards :math:`r_i\mu_i`: the same on the axis :math:`r x`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import FloatArray, IntArray, Rng
from elsv.beliefs.base import (
    NO_LEVELS,
    Belief,
    Integrated,
    MethodUsed,
    best_of_points,
    best_one_by_one,
    check_rewards,
    check_tolerance,
    grouped,
)
from elsv.beliefs.chain.belief import Chain
from elsv.beliefs.independent import Independent
from elsv.beliefs.ladder import Axis, Setup
from elsv.beliefs.ladder.ranking import Pairs, Ranking, closure, covers, rankings
from elsv.beliefs.layers.tables import contradicts
from elsv.beliefs.layers.weights import Ways, ways_of
from elsv.beliefs.points import check_count, some_uniforms, uniforms
from elsv.errors import InvalidInputError
from elsv.state import Arms, State

_MANY_NODES = 400  # messages from which on P(best) is read from points
_POINTS = 1 << 14
_DRAWN = 0.7  # of the nats on a panel where draws are read, which need fewer digits


@dataclass(frozen=True)
class Ladder(Integrated):
    r"""Posterior of the means given what ranks them, by quadrature.

    Parameters
    ----------
    arms
        How many there are.
    order
        Pairs ``(a, b)``, arms from 0: arm a is at least as large as arm b.
    unimodal
        Whether the arms rise to a peak, in their numbering, and fall from there.
    bounds
        For each arm the least and the largest mean, or None.
    rewards
        If given, order and peak are those of :math:`r_i\mu_i`, not of the means.
    tolerance
        Error of the means that is aimed for, between 1e-12 and 1e-3. `error` measures what was reached.

    Examples
    --------
    >>> Ladder(3, order=((0, 1), (0, 2))).mean(State([1, 1, 1], [1, 1, 1])).round(6)
    array([0.75 , 0.375, 0.375])
    """

    arms: int
    order: Pairs = ()
    unimodal: bool = False
    bounds: tuple[tuple[float, float], ...] | None = None
    rewards: tuple[float, ...] | None = None
    tolerance: float = 1e-8
    _inside: ClassVar[float] = 0.4
    _finer: ClassVar[tuple[float, float]] = 0.6, np.inf

    @staticmethod
    def _rule(tolerance: float) -> tuple[float, float]:
        return 5.0 * (tolerance / 1e-8) ** (1 / 16), 8.5 - float(np.log(tolerance))

    @cached_property
    def parts(self) -> tuple[Ranking, ...]:
        """What ranks arms that are connected, part by part; the parts are independent."""
        return rankings(self.arms, self.order, self.unimodal)

    @property
    def nodes(self) -> int:
        """Number of messages: what a state costs is proportional to it."""
        return sum(part.nodes for part in self.parts)

    def log_weight(self, state: State) -> FloatArray:
        r"""Return log of :math:`W = \int \prod x_i^{\alpha_i-1}(1-x_i)^{\beta_i-1} dx` where possible."""
        return self._read(state, *self._rule(self.tolerance), 0)[0]

    def shared_ways(self, arms: Arms) -> tuple[Ways, ...] | None:
        """Return the parts whose weights can be worked out for a whole layer at once, or None."""
        if self.bounds is not None or self.rewards is not None or contradicts(arms, self):
            return None
        return ways_of(self.arms, self.order, self.unimodal)

    def describe_method(self, state: State) -> MethodUsed:
        """Say how the means are computed."""
        count = {"messages": self.nodes}
        joined = [part for part in self.parts if len(part.arms) > 1]
        if not joined:
            return MethodUsed("cut off", "each arm by itself, its density cut off at its bounds", count)
        said = f"{self.nodes:,} messages"
        if len(self.parts) > 1:
            said += f" in {len(self.parts)} parts that do not depend on each other"
        if all(part.tree for part in joined):
            return MethodUsed("tree", f"a tree of {self.arms} arms, integrated: {said}", count)
        return MethodUsed("ladder", f"a ladder of {said}, integrated", count)

    def draw(self, state: State, rng: Rng) -> FloatArray:
        """Return one joint draw of the means for every instance, shape ``[..., N]``."""
        alpha, beta = self._rows(state)
        won, lost, starts, order = grouped(alpha, beta)
        out = np.empty_like(alpha)
        out[order] = self._walks(won, lost, starts, rng.random((len(alpha), self._uniforms))[order])
        return out.reshape(state.alpha.shape)

    def points(self, state: State, count: int) -> tuple[FloatArray, FloatArray]:
        """Return joint points ``[..., M, N]`` and weights ``[..., M]``: M is a power of two from `count` up.

        Evenly spread uniform numbers through the inverse that `draw` uses.
        """
        alpha, beta = self._rows(state)
        number = check_count(count)
        if len(alpha) == 1:
            theta = _points_of(self, tuple(alpha[0].tolist()), tuple(beta[0].tolist()), number)
        else:
            theta = self._spread(alpha, beta, number)
        theta = theta.reshape(*state.shape, -1, self.arms)
        return theta, np.full(theta.shape[:-1], 1 / theta.shape[-2])

    def sequence(self, state: State, start: int, stop: int) -> FloatArray:
        """Return points `start` to `stop` - 1 of one state, ``[M, N]``; `points` begins with them."""
        uniform = some_uniforms(start, stop, self._uniforms)
        return self._walks(*self._rows(state), np.array([0, stop - start]), uniform)

    def _spread(self, alpha: FloatArray, beta: FloatArray, count: int) -> FloatArray:
        """Return joint points of all states, one after another, ``[B M, N]``."""
        uniform = uniforms(count, self._uniforms)
        return self._walks(alpha, beta, len(uniform) * np.arange(len(alpha) + 1), uniform)

    def best_with_error(
        self, state: State, rewards: ArrayLike, tolerance: float | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what `best` does and its error, for E[max] over the largest reward, ``[...]``.

        Every arm is cut off where it would pay v, as for a chain. With many messages (a grid of 5 by 8) it is
        counted among 16,384 joint points, and the error is that of as many draws.
        """
        payoff = check_rewards(state, rewards)
        goal = self.tolerance if tolerance is None else check_tolerance(tolerance)
        if self.nodes > _MANY_NODES:
            return best_of_points(partial(self.points, count=_POINTS), state, payoff)
        from elsv.beliefs.best.integral import best_of_ladder

        unit, above = None if self.rewards is None else np.array(self.rewards), closure(self.arms, self.order)
        solvers = list(zip(self.parts, self._axes, strict=True))
        best_of = partial(best_of_ladder, solvers, above, unit, rewards=payoff, tolerance=goal)
        self._rows(state)
        return best_one_by_one(state, best_of)

    def apart(self, groups: Sequence[Sequence[int]]) -> tuple[Belief, ...] | None:
        """Return the belief of each of these groups of arms by itself; None if one tells of another."""
        if self.unimodal:
            return None
        place = {arm: (g, k) for g, group in enumerate(groups) for k, arm in enumerate(group)}
        pairs = [(place[a], place[b]) for a, b in covers(closure(self.arms, self.order))]
        if any(a[0] != b[0] for a, b in pairs):
            return None
        found = []
        for g, group in enumerate(groups):
            order = tuple((a[1], b[1]) for a, b in pairs if a[0] == g)
            bounds = self.bounds and tuple(self.bounds[i] for i in group)
            rewards = self.rewards and tuple(self.rewards[i] for i in group)
            own = Ladder(len(group), order, False, bounds, rewards, self.tolerance)
            found.append(own.quickest())
        return tuple(found)

    def quickest(self) -> Belief:
        """Return the quickest belief by quadrature that says the same."""
        free = self.bounds is None or all(pair == (0.0, 1.0) for pair in self.bounds)
        ranked = self.unimodal or bool(self.order)
        if free and not ranked:
            return Independent()
        if free and self.rewards is None and not self.unimodal and self.arms > 1:
            cover = covers(closure(self.arms, self.order))
            falling = tuple((k, k + 1) for k in range(self.arms - 1))
            if cover == falling:
                return Chain("decreasing", self.tolerance)
            if cover == tuple((b, a) for a, b in falling):
                return Chain("increasing", self.tolerance)
        rankings(self.arms, self.order, self.unimodal)  # an order that is too wide is refused now
        bounds, rewards = None if free else self.bounds, self.rewards if ranked else None
        return replace(self, bounds=bounds, rewards=rewards)

    @property
    def _uniforms(self) -> int:
        return sum(part.uniforms for part in self.parts)

    @cached_property
    def _axes(self) -> list[Axis]:
        """The axis of each part."""
        whole = np.ones(self.arms) if self.rewards is None else np.array(self.rewards)
        bounds = np.array(self.bounds or ((0.0, 1.0),) * self.arms)
        return [_axis(whole[list(part.arms)], bounds[list(part.arms)]) for part in self.parts]

    def _rows(self, state: State) -> tuple[FloatArray, FloatArray]:
        if state.arms != self.arms:
            raise InvalidInputError(f"this belief is one of {self.arms} arms, got a state of {state.arms}")
        return state.rows()

    def _setups(
        self, alpha: FloatArray, beta: FloatArray, nats: float, cut: float
    ) -> Iterator[tuple[Ranking, Setup]]:
        """Yield each part and what the kernels solve for it."""
        for part, axis in zip(self.parts, self._axes, strict=True):
            won, lost = (np.ascontiguousarray(counts[:, part.arms]) for counts in (alpha, beta))
            yield part, Setup(won, lost, part.program, axis, nats, cut)

    def _walks(
        self, alpha: FloatArray, beta: FloatArray, starts: IntArray, uniform: FloatArray
    ) -> FloatArray:
        """Return draws ``[D, N]``; a row of `uniform` has numbers for the parts one after another."""
        from elsv.beliefs.ladder.readout_kernels import batch_draw

        out, first = np.empty((int(starts[-1]), self.arms)), 0
        nats, cut = self._rule(self.tolerance)
        for part, setup in self._setups(alpha, beta, _DRAWN * nats, cut):
            drawn, last = np.empty((len(out), len(part.arms))), first + part.uniforms
            batch_draw(setup, starts, np.ascontiguousarray(uniform[:, first:last]), drawn)
            out[:, part.arms], first = drawn, last
        return out

    def _read(
        self, state: State, nats: float, cut: float, rows: int, levels: FloatArray = NO_LEVELS
    ) -> tuple[FloatArray, FloatArray]:
        """Return log W ``[...]``, and means, variances and quantiles whatever is asked for."""
        from elsv.beliefs.ladder.readout_kernels import batch_read

        alpha, beta = self._rows(state)
        weight, found = np.zeros(len(alpha)), np.empty((2 + len(levels), *alpha.shape))
        for part, setup in self._setups(alpha, beta, nats, cut):
            log, read = np.empty(len(alpha)), np.empty((len(found), *setup.alpha.shape))
            batch_read(setup, levels, log, read)
            weight += log
            found[:, :, part.arms] = read
        return weight.reshape(state.shape), found.reshape(len(found), *state.alpha.shape)


@lru_cache(maxsize=8)
def _points_of(belief: Ladder, alpha: tuple[float, ...], beta: tuple[float, ...], count: int) -> FloatArray:
    """Return joint points of one state ``[M, N]``: a decision asks for them more than once."""
    theta = belief._spread(np.array([alpha]), np.array([beta]), count)
    theta.flags.writeable = False
    return theta


def _axis(scale: FloatArray, bounds: FloatArray) -> Axis:
    """Return the axis of some arms with these rewards ``[A]``, and least and largest means ``[A, 2]``."""
    support = scale / scale.max()
    low, high = bounds.T * support
    marks = np.unique(np.concatenate([[0.0], low, high]))
    begin, end = marks[:-1].copy(), marks[1:].copy()
    inside = (low[:, None] <= begin) & (end <= high[:, None])
    used = inside.any(axis=0)
    return Axis(begin[used], end[used], support, np.ascontiguousarray(inside[:, used]))
