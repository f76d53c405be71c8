r"""Policies of other authors that know something of the structure.

`Uts` is unimodal Thompson sampling: S. Paladino, F. Trovò, M. Restelli and N. Gatti, *Unimodal Thompson
sampling for graph-structured arms*, AAAI (2017). `Osub` is R. Combes and A. Proutiere, *Unimodal bandits:
regret lower bounds and optimal algorithms*, International Conference on Machine Learning (2014). Both are for
expected rewards with a single peak. The leader is the arm with the best average reward so far. An arm that is
not the best has a neighbour that is better, so looking at the leader and its neighbours is enough. Both
papers count how often an arm has led. A state does not hold that; the pulls of the leader and its neighbours
stand in: while an arm leads, only these are pulled, so that both counts grow together. With segments each has
its leader: a peak of all arms is one of those on offer.

`IsotonicKLUCB` has the bounds of A. Garivier and O. Cappé, *The KL-UCB algorithm for bounded stochastic
bandits and beyond*, Conference on Learning Theory (2011), under an order. `GlmUCB` fits a logistic demand
curve: S. Filippi, O. Cappé, A. Garivier and C. Szepesvári, *Parametric bandits: the generalized linear case*,
Advances in Neural Information Processing Systems 23 (2010), cited by the paper. `StructuredBayesUCB` has the
level of E. Kaufmann, O. Cappé and A. Garivier, *On Bayesian upper confidence bounds for bandit problems*,
Artificial Intelligence and Statistics (2012).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from elsv._base.numbers import shown
from elsv._base.typing import AnyArray, FloatArray, IntArray, Rng
from elsv.beliefs import Belief, Independent
from elsv.beliefs.abilities import best, quantiles
from elsv.beliefs.base import mean_of
from elsv.beliefs.ladder.ranking import closure
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.indices.base import Setting
from elsv.indices.formulas import KLUCB, BayesUCB, divergence_bound
from elsv.policies.base import BeliefScore, BestScore, within_segments
from elsv.policies.layers import by_chances
from elsv.problem import Problem
from elsv.state import State, check_width
from elsv.structure.facts import Facts, prices_of, ranking_of

SCALE = 0.5
RIDGE = 0.1
_MOST_STEPS = 200
_LONGEST = 2.0  # change of a coefficient in one step
_SETTLED = 1e-11


class Leading(NamedTuple):
    """What is known of who leads in some states, of the N arms of a segment or of all."""

    allowed: AnyArray  # [..., N], whether an arm may be pulled: the leader, and mostly those next to it
    together: IntArray  # [...], pulls of the leader and those next to it
    pulled: FloatArray  # [..., N]
    mean: FloatArray  # [..., N], share of successes, 0 for an arm never pulled


def leading(problem: Problem, state: State, arms: list[int], every: int | None = None) -> Leading:
    """Return who leads of some arms: the first one with the largest reward times share of successes.

    At `every` so many pulls of the leader and those next to it (default: their number) only the leader may
    be pulled.
    """
    check_width(state, problem)
    pulled = state.pulls_made(problem)[..., arms]
    divisor = np.maximum(pulled, 1.0)
    mean = np.clip(np.rint((state.alpha - problem.prior[:, 0])[..., arms]), 0.0, divisor) / divisor
    away = np.abs(np.arange(len(arms)) - best_arm(problem.rewards[arms] * mean, problem.scale)[..., None])
    near = away <= 1
    together = (pulled * near).sum(axis=-1).astype(np.int64)
    forced = together % (every or near.sum(axis=-1)) == 0
    return Leading(np.where(forced[..., None], away == 0, near), together, pulled, mean)


@dataclass(frozen=True, eq=False)
class Uts(BestScore):
    """Thompson sampling among the leader and its neighbours, each arm by itself.

    Whenever these arms have been pulled a multiple of their number of times, the leader is pulled.
    """

    problem: Problem

    def __post_init__(self) -> None:
        check_peak(self.problem, "uts")

    def scores(self, state: State, step: int, rng: Rng) -> FloatArray:
        """Return draws of the means, times the rewards; minus infinity for arms that are not looked at."""
        problem = self.problem
        allowed = within_segments(problem.segments, lambda arms: leading(problem, state, arms).allowed)
        return np.where(allowed, problem.rewards * Independent().draw(state, rng), -np.inf)

    def chances(self, state: State, step: int) -> FloatArray:
        """Return the probability of each arm, ``[..., N]``."""
        return within_segments(self.problem.segments, lambda arms: self._chances(state, arms))

    def _chances(self, state: State, arms: list[int]) -> FloatArray:
        allowed = leading(self.problem, state, arms).allowed.reshape(-1, len(arms))
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

    on_layers = by_chances


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

    def scores(self, state: State, step: int, rng: Rng) -> FloatArray:
        """Return reward times bound; minus infinity for arms that are not looked at."""
        return within_segments(self.problem.segments, lambda arms: self._bounds(state, arms))

    def _bounds(self, state: State, arms: list[int]) -> FloatArray:
        lead = leading(self.problem, state, arms, every=min(len(arms) - 1, 2) + 1)
        known, place = np.unique(lead.together, return_inverse=True)
        budget = np.array([self._index.budget(math.log(m + 1)) for m in known.tolist()])
        limit = budget[place.reshape(lead.together.shape)][..., None] / np.maximum(lead.pulled, 1.0)
        bound = np.where(lead.pulled > 0, divergence_bound(lead.mean, limit), 1.0)
        return np.where(lead.allowed, self.problem.rewards[arms] * bound, -np.inf)


def check_peak(problem: Problem, owner: str) -> None:
    """Raise unless the structure says that expected rewards have a single peak."""
    facts = ranking_of(problem.structure)
    if problem.arms > 1 and (facts is None or not facts.single_peak):
        raise InvalidInputError(
            f"{owner} needs a single peak of the expected rewards: structure unimodal "
            '(unimodal = "reward", or unimodal = true where all arms pay the same), '
            f"got: {problem.structure.describe()}"
        )


@dataclass(frozen=True, eq=False)
class IsotonicKLUCB(BestScore):
    r"""The largest :math:`r_i \min_{j \ge i} z_j`: the least KL-UCB bound of the arms at least as good as i.

    An arm never pulled has the bound 1, or the end of its known range. Under an order of expected rewards the
    bound is :math:`\min_{j \ge i} r_j z_j`.

    Parameters
    ----------
    problem
        Its structure must order some arms.
    c
        Weight of log log t in the bounds.
    """

    problem: Problem
    c: float = 0.0
    _index: KLUCB = field(init=False, repr=False)
    batch_bytes = 50.0  # of bounds and those above them

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", KLUCB(self.c))
        self._facts()

    def scores(self, state: State, step: int, rng: Rng) -> FloatArray:
        """Return the bounds of all arms, reward included."""
        check_width(state, self.problem)
        facts, rewards = self._facts(), self.problem.rewards
        own = self._index(state.alpha, state.beta, step, Setting.of(self.problem))
        most = 1.0 if facts.bounds is None else np.array([high for _, high in facts.bounds])
        above = closure(self.problem.arms, facts.order) | np.eye(self.problem.arms, dtype=bool)
        before, after = (rewards, 1.0) if facts.scale == "reward" else (1.0, rewards)
        bound = before * np.minimum(own, most)
        return np.asarray(after * np.where(above, bound[..., :, None], np.inf).min(axis=-2))

    def _facts(self) -> Facts:
        facts = ranking_of(self.problem.structure)
        if facts is None or not facts.order:
            raise InvalidInputError(
                'isotonic-kl-ucb needs arms in order: structure order (such as order = "decreasing") or '
                f"grid, got: {self.problem.structure.describe()}; kl-ucb looks at each arm by itself"
            )
        return facts


@dataclass(frozen=True, eq=False)
class GlmUCB(BestScore):
    r"""Optimism about a logistic curve over prices.

    .. math:: r_i\,\bigl(\sigma(x_i^\top\hat\theta) + \sqrt{scale\,\log t}\;\|x_i\|_{M^{-1}}\bigr), \qquad
        M = ridge\,I + \sum_i n_i x_i x_i^\top,

    with :math:`x_i = (1, \text{place of price } i)`, the lowest price at -1/2 and the highest at 1/2, and
    :math:`\hat\theta` the logistic fit to all outcomes. The authors' theorem has a larger factor before the
    norm; a scale of 1/2 is what Hoeffding's inequality gives for outcomes of 0 and 1. They pull independent
    arms first and keep the fit within a known set: the ridge stands for both. The prior of the problem is
    not used.

    Parameters
    ----------
    problem
        Gives the rewards, and the prices if its structure is a demand curve.
    prices
        One for each arm; default: those of the structure.
    scale
        How wide the bounds are, at least 0.
    ridge
        Weight of the penalty on the squared coefficients, above 0.
    """

    problem: Problem
    prices: tuple[float, ...] | None = None
    scale: float = SCALE
    ridge: float = RIDGE
    batch_bytes = 80.0  # of the fit

    def __post_init__(self) -> None:
        if not 0 <= self.scale < math.inf:
            raise InvalidInputError(f"scale of glm-ucb must be at least 0, got {shown(self.scale)}; try 0.5")
        if not 0 < self.ridge < math.inf:
            raise InvalidInputError(f"ridge of glm-ucb must be positive, got {shown(self.ridge)}; try 0.1")
        found = prices_of(self.problem.structure) if self.prices is None else self.prices
        if found is None:
            raise InvalidInputError(
                "glm-ucb needs the prices of a demand curve: structure logistic, or "
                f"glm-ucb:prices=8+10+12, got: {self.problem.structure.describe()}"
            )
        if len(found) != self.problem.arms:
            raise InvalidInputError(
                f"prices of glm-ucb must be {self.problem.arms} numbers, one for each arm, got {len(found)}"
            )
        if not np.isfinite(found).all() or np.ptp(found) == 0:
            raise InvalidInputError(f"prices of glm-ucb must be numbers that differ, got {shown(found)}")
        object.__setattr__(self, "prices", tuple(float(price) for price in found))

    def scores(self, state: State, step: int, rng: Rng) -> FloatArray:
        """Return the optimistic expected rewards, ``[..., N]``."""
        check_width(state, self.problem)
        pulls = state.pulls_made(self.problem)
        successes = np.clip(np.rint(state.alpha - self.problem.prior[:, 0]), 0.0, pulls)
        features = self._features()
        theta = logistic_fit(features, successes, pulls, self.ridge)
        inverse = np.linalg.inv(_gram(features, pulls, self.ridge))
        spread = np.sqrt(np.einsum("id,...de,ie->...i", features, inverse, features))
        curve = _expit(theta @ features.T)
        return np.asarray(self.problem.rewards * (curve + math.sqrt(self.scale * math.log(step)) * spread))

    def _features(self) -> FloatArray:
        price = np.array(self.prices)
        place = (price - 0.5 * (price.min() + price.max())) / np.ptp(price)
        return np.stack([np.ones(len(price)), place], axis=1)


def logistic_fit(features: FloatArray, successes: FloatArray, pulls: FloatArray, ridge: float) -> FloatArray:
    """Return the coefficients ``[..., D]`` that outcomes ``[..., N]`` make most likely, less the penalty.

    Newton's method with steps of at most 2 on a function that is strictly concave, until a step is below
    1e-11.
    """
    theta = np.zeros((*pulls.shape[:-1], features.shape[1]))
    for _ in range(_MOST_STEPS):
        chance = _expit(theta @ features.T)
        slope = (successes - pulls * chance) @ features - ridge * theta
        curvature = _gram(features, pulls * chance * (1 - chance), ridge)
        move = np.linalg.solve(curvature, slope[..., None])[..., 0]
        size = np.abs(move).max(axis=-1, keepdims=True)
        theta = theta + move * np.minimum(1.0, _LONGEST / np.maximum(size, _LONGEST))
        if size.size == 0 or size.max() < _SETTLED:
            break
    return theta


def _gram(features: FloatArray, weight: FloatArray, ridge: float) -> FloatArray:
    """Return ridge I + Σ weight x xᵀ, ``[..., D, D]``."""
    return np.asarray(
        ridge * np.eye(features.shape[1]) + np.einsum("...i,id,ie->...de", weight, features, features)
    )


def _expit(u: FloatArray) -> FloatArray:
    small = np.exp(-np.abs(u))
    return np.asarray(np.where(u > 0, 1.0, small) / (1 + small))


@dataclass(frozen=True, eq=False)
class StructuredBayesUCB(BeliefScore, chooses_alike=True):
    """The largest reward times quantile of an arm's mean, given all that was seen and the structure."""

    problem: Problem
    index: BayesUCB
    belief: Belief

    def scores(self, state: State, step: int, rng: Rng) -> FloatArray:
        """Return the quantiles of all arms, reward included; the means where the level is not positive."""
        check_width(state, self.problem)
        level = -math.expm1(self.index.log_tail(math.log(step), Setting.of(self.problem)))
        if level <= 0.0:
            return self.problem.rewards * mean_of(self.belief, state, rng)
        return np.asarray(self.problem.rewards * quantiles(self.belief, state, (min(level, 1 - 2**-53),))[0])
