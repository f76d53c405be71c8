r"""A problem with some of its arms on offer: policies see these alone, and the belief keeps all.

With the arms O on offer, and counts :math:`s_{-O}` of the others that stay as they are, a state :math:`s_O`
of the arms on offer has the belief of all arms in :math:`(s_O, s_{-O})`, read off at O. So an arm that was
withdrawn still teaches, and scores, candidates, the frontier's maximum and P(best) are over O.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.beliefs import Belief
from elsv.beliefs.abilities import best_in_groups, factors, moments, quantiles, repeats, variance
from elsv.beliefs.base import check_rewards, mean_of
from elsv.beliefs.ladder.ranking import closure
from elsv.beliefs.points import joint_points, spread_points
from elsv.state import State
from elsv.structure.base import Statement, Structure, free
from elsv.structure.facts import Facts, prices_of, ranking_of


@dataclass(frozen=True, eq=False)
class PartOfBelief:
    """The belief of some arms, the counts of all others being what they are."""

    whole: Belief
    arms: IntArray  # [n], on offer, rising
    others: State  # [N], of which the counts of `arms` are not read

    @property
    def repeats(self) -> bool:
        """Whether the belief of all arms gives the same means for the same state."""
        return repeats(self.whole)

    def mean(self, state: State, rng: np.random.Generator | None = None) -> FloatArray:
        """Return posterior means, shape ``[..., n]``."""
        return mean_of(self.whole, self._all(state), rng)[..., self.arms]

    def draw(self, state: State, rng: np.random.Generator) -> FloatArray:
        """Return one joint draw of the means for every instance, shape ``[..., n]``."""
        return np.asarray(self.whole.draw(self._all(state), rng))[..., self.arms]

    def variance(self, state: State) -> FloatArray:
        """Return posterior variances, shape ``[..., n]``."""
        return variance(self.whole, self._all(state))[..., self.arms]

    def mean_and_variance(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Return both."""
        mean, spread = moments(self.whole, self._all(state))
        return mean[..., self.arms], spread[..., self.arms]

    def quantile(self, state: State, level: float) -> FloatArray:
        """Return posterior quantiles at `level`, shape ``[..., n]``."""
        return np.asarray(quantiles(self.whole, self._all(state), (level,))[0][..., self.arms])

    def best(
        self, state: State, rewards: ArrayLike, tolerance: float | None = None
    ) -> tuple[FloatArray, FloatArray]:
        r"""Return P(arm i has the largest :math:`r_i\mu_i` on offer) ``[..., n]`` and E[max] ``[...]``."""
        paid = np.ones(self.others.arms)
        paid[self.arms] = check_rewards(state, rewards)
        chance, largest = best_in_groups(self.whole, self._all(state), paid, [self.arms.tolist()], tolerance)
        return chance[..., self.arms], largest[..., 0]

    def points(self, state: State, count: int) -> tuple[FloatArray, FloatArray]:
        """Return joint points ``[..., M, n]`` and their weights ``[..., M]``."""
        return self.some_points(state, count, np.broadcast_to(np.arange(len(self.arms)), state.alpha.shape))

    def some_points(self, state: State, count: int, arms: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return joint points of some of the arms on offer."""
        return joint_points(self.whole, self._all(state), count, self.arms[arms])

    def spread_points(self, state: State, count: int) -> tuple[FloatArray, FloatArray]:
        """Return points that are spread over the belief, and their weights."""
        theta, weight = spread_points(self.whole, self._all(state), count)
        return theta[..., self.arms], weight

    @property
    def arm_points(self) -> Callable[[State, int], tuple[FloatArray, FloatArray]] | None:
        """Points of every arm with the means of all arms there; None if the belief of all gives none."""
        own: Any = getattr(self.whole, "arm_points", None)

        def read(state: State, each: int) -> tuple[FloatArray, FloatArray]:
            theta, weight = own(self._all(state), each)
            return theta[..., self.arms, :, :][..., self.arms], weight[..., self.arms, :]

        return None if own is None else read

    def _all(self, state: State) -> State:
        return with_others(state, self.arms, self.others)


def with_others(state: State, arms: IntArray, others: State) -> State:
    """Return the state of all arms: that of the `arms` on offer, and counts of the others ``[N]``."""
    shape = (*state.shape, others.arms)
    alpha, beta = (np.broadcast_to(n, shape).copy() for n in (others.alpha, others.beta))
    alpha[..., arms], beta[..., arms] = state.alpha, state.beta
    return State.trusted(alpha, beta)


@dataclass(frozen=True, eq=False)
class Restricted(Statement):
    """What is known of the arms on offer, given the counts of all others."""

    whole: Structure
    arms: tuple[int, ...]  # from 0, rising
    others: State  # [N]

    def describe(self) -> str:
        """Say in words what is assumed of all arms."""
        return self.whole.describe()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, to be compared; no problem file has them."""
        counts = [self.others.alpha.tolist(), self.others.beta.tolist()]
        return {"restricted": [self.whole.to_dict(), list(self.arms), counts]}

    def holds(self, means: ArrayLike) -> AnyArray:
        """Return of means ``[..., n]`` whether they are possible, as far as arms are ranked or bounded."""
        facts = self.ranking()
        given = np.asarray(means, dtype=np.float64)
        return np.ones(given.shape[:-1], dtype=bool) if facts is None else facts.holds(given)

    def belief(self) -> Belief:
        """Return the belief of the arms on offer."""
        return PartOfBelief(self.whole.belief(), np.array(self.arms), self.others)

    def ranking(self) -> Facts | None:
        """Return the order, peak and bounds of the arms on offer."""
        facts = ranking_of(self.whole)
        if facts is None:
            return None
        above = closure(facts.arms, facts.order)[np.ix_(self.arms, self.arms)]
        place = {arm: k for k, arm in enumerate(self.arms)}
        return replace(
            facts,
            names=tuple(facts.names[arm] for arm in self.arms),
            rewards=tuple(facts.rewards[arm] for arm in self.arms),
            order=tuple((int(a), int(b)) for a, b in np.argwhere(above)),
            bounds=None if facts.bounds is None else tuple(facts.bounds[arm] for arm in self.arms),
            gaps=tuple((place[a], place[b], d) for a, b, d in facts.gaps if a in place and b in place),
        )

    @property
    def prices(self) -> tuple[float, ...] | None:
        """The place of each arm on offer on a curve."""
        found = prices_of(self.whole)
        return None if found is None else tuple(found[arm] for arm in self.arms)


def restricted(whole: Structure, belief: Belief, arms: Sequence[int], others: State) -> Structure:
    """Return what a statement about all arms says of those on offer; nothing if arms are independent."""
    return free() if factors(belief) else Restricted(whole, tuple(arms), others)
