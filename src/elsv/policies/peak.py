r"""Policies for arms whose expected rewards have a single peak: the leader against its neighbours.

`Uts` is unimodal Thompson sampling: S. Paladino, F. Trovò, M. Restelli and N. Gatti, *Unimodal Thompson
sampling for graph-structured arms*, AAAI (2017). `Osub` is R. Combes and A. Proutiere, *Unimodal bandits:
regret lower bounds and optimal algorithms*, International Conference on Machine Learning (2014).

The leader is the arm with the best average reward so far; an arm that is not the best has a neighbour that is
better, so looking at the leader and its neighbours is enough. Both papers count how often an arm has led. A
state does not hold that; the pulls of the leader and its neighbours stand in: while an arm leads, only these
are pulled, so that both counts grow together. With segments each has its leader: a peak of all arms is one of
those on offer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.beliefs import Independent
from elsv.beliefs.abilities import best
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.indices.base import Setting
from elsv.indices.kl_ucb import KLUCB, divergence_bound
from elsv.policies.base import BestScore
from elsv.policies.layers import OnLayers
from elsv.policies.mixing import ByChances
from elsv.policies.offered import within_segments
from elsv.problem import Problem
from elsv.state import State, check_width
from elsv.structure.facts import ranking_of


@dataclass(frozen=True)
class Leading:
    """Who leads in some states, of the N arms of a segment or of all; arms from 0."""

    leader: IntArray  # [...]
    near: AnyArray  # [..., N], whether an arm is the leader or next to it
    pulls: IntArray  # [...], of these arms together
    mean: FloatArray  # [..., N], share of successes, 0 for an arm never pulled
    pulled: FloatArray  # [..., N]

    def only_leader(self, every: IntArray | int) -> AnyArray:
        """Return ``[..., N]``, which arms may be pulled: at every so many pulls the leader alone."""
        arms = np.arange(self.near.shape[-1])
        forced = self.pulls % every == 0
        return np.asarray(np.where(forced[..., None], arms == self.leader[..., None], self.near))


def leading(problem: Problem, state: State, arms: list[int]) -> Leading:
    """Return who leads of some arms: the first one with the largest reward times share of successes."""
    check_width(state, problem)
    pulled = Setting.of(problem).pulls(state.alpha, state.beta)[..., arms]
    divisor = np.maximum(pulled, 1.0)
    mean = np.clip(np.rint((state.alpha - problem.prior[:, 0])[..., arms]), 0.0, divisor) / divisor
    leader = best_arm(problem.rewards[arms] * mean, problem.scale)
    near = np.abs(np.arange(len(arms)) - leader[..., None]) <= 1
    return Leading(leader, near, (pulled * near).sum(axis=-1).astype(np.int64), mean, pulled)


@dataclass(frozen=True, eq=False)
class Uts(BestScore):
    """Thompson sampling among the leader and its neighbours, each arm by itself.

    Whenever these arms have been pulled a multiple of their number of times, the leader is pulled.
    """

    problem: Problem

    def __post_init__(self) -> None:
        check_peak(self.problem, "uts")

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of the means, times the rewards; minus infinity for arms that are not looked at."""
        allowed = within_segments(self.problem.segments, state.arms, lambda arms: self._allowed(state, arms))
        return np.where(allowed, self.problem.rewards * Independent().draw(state, rng), -np.inf)

    def chances(self, state: State, step: int) -> FloatArray:
        """Return the probability of each arm, ``[..., N]``."""
        return within_segments(self.problem.segments, state.arms, lambda arms: self._chances(state, arms))

    def _chances(self, state: State, arms: list[int]) -> FloatArray:
        allowed = self._allowed(state, arms).reshape(-1, len(arms))
        alpha, beta = (counts[:, arms] for counts in state.rows())
        out = np.zeros(alpha.shape)
        shown, place = np.unique(allowed, axis=0, return_inverse=True)
        for k, looked_at in enumerate(shown):
            rows, chosen = np.flatnonzero(place.reshape(-1) == k), np.flatnonzero(looked_at)
            here = np.ix_(rows, chosen)
            among = State.trusted(alpha[here], beta[here])
            one = len(chosen) == 1
            out[here] = 1.0 if one else best(Independent(), among, self.problem.rewards[arms][chosen])[0]
        return out.reshape((*state.shape, len(arms)))

    def on_layers(self, problem: Problem) -> OnLayers:
        """Return each arm with its chance."""
        return ByChances(self)

    def _allowed(self, state: State, arms: list[int]) -> AnyArray:
        lead = leading(self.problem, state, arms)
        return lead.only_leader(lead.near.sum(axis=-1))


@dataclass(frozen=True, eq=False)
class Osub(BestScore):
    r"""The best KL-UCB bound among the leader and its neighbours.

    With m pulls of these arms the bound is :math:`\max\{q : n\,d(\hat\mu, q) \le \log l + c\log\log l\}` at
    l = m + 1, which is 1 for an arm never pulled; every third time (:math:`m` divisible by the largest number
    of neighbours, plus one) the leader is pulled.

    Parameters
    ----------
    problem
        Its structure must say that there is a single peak.
    c
        Weight of log log l: 3 in the theorem; 0 is what is advised for KL-UCB.
    """

    problem: Problem
    c: float = 0.0
    _index: KLUCB = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_peak(self.problem, "osub")
        object.__setattr__(self, "_index", KLUCB(self.c))

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return reward times bound; minus infinity for arms that are not looked at."""
        return within_segments(self.problem.segments, state.arms, lambda arms: self._bounds(state, arms))

    def _bounds(self, state: State, arms: list[int]) -> FloatArray:
        lead = leading(self.problem, state, arms)
        known, place = np.unique(lead.pulls, return_inverse=True)
        budget = np.array([self._index.budget(math.log(m + 1)) for m in known.tolist()])
        limit = budget[place.reshape(lead.pulls.shape)][..., None] / np.maximum(lead.pulled, 1.0)
        bound = np.where(lead.pulled > 0, divergence_bound(lead.mean, limit), 1.0)
        most = min(len(arms) - 1, 2) + 1
        return np.where(lead.only_leader(most), self.problem.rewards[arms] * bound, -np.inf)


def check_peak(problem: Problem, owner: str) -> None:
    """Raise unless the structure says that expected rewards have a single peak."""
    facts = ranking_of(problem.structure)
    if problem.arms > 1 and (facts is None or not facts.single_peak):
        raise InvalidInputError(
            f"{owner} needs a single peak of the expected rewards: structure unimodal "
            '(unimodal = "reward", or unimodal = true where all arms pay the same), '
            f"got: {problem.structure.describe()}"
        )
