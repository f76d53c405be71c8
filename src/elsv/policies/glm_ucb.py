r"""GLM-UCB on a logistic demand curve: an optimistic fit of two coefficients (cited by the paper).

S. Filippi, O. Cappé, A. Garivier and C. Szepesvári, *Parametric bandits: the generalized linear case*,
Advances in Neural Information Processing Systems 23 (2010).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from elsv._base.numbers import shown
from elsv._base.typing import AnyArray, FloatArray
from elsv.errors import InvalidInputError
from elsv.indices.base import Setting
from elsv.policies.base import BestScore
from elsv.policies.layers import BATCH, OnLayers, StateByState
from elsv.problem import Problem
from elsv.state import State, check_width
from elsv.structure.facts import prices_of

SCALE = 0.5
RIDGE = 0.1
_MOST_STEPS = 200
_LONGEST = 2.0  # change of a coefficient in one step
_SETTLED = 1e-11
_ROOM = 80.0  # bytes for a state of a batch and arm, of the fit


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

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return the optimistic expected rewards, ``[..., N]``."""
        check_width(state, self.problem)
        pulls = Setting.of(self.problem).pulls(state.alpha, state.beta)
        successes = np.clip(np.rint(state.alpha - self.problem.prior[:, 0]), 0.0, pulls)
        features = self._features()
        theta = logistic_fit(features, successes, pulls, self.ridge)
        spread = np.sqrt(_quadratic(features, np.linalg.inv(_gram(features, pulls, self.ridge))))
        curve = _expit(theta @ features.T)
        return np.asarray(self.problem.rewards * (curve + math.sqrt(self.scale * math.log(step)) * spread))

    def on_layers(self, problem: Problem) -> OnLayers:
        """Return that it is asked state by state, with more in memory than most."""
        return StateByState(self, bytes=_ROOM * BATCH * problem.arms)

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


def _quadratic(features: FloatArray, inverse: AnyArray) -> FloatArray:
    """Return xᵀ A x for every arm, ``[..., N]``."""
    return np.asarray(np.einsum("id,...de,ie->...i", features, inverse, features), dtype=np.float64)


def _expit(u: FloatArray) -> FloatArray:
    small = np.exp(-np.abs(u))
    return np.asarray(np.where(u > 0, 1.0, small) / (1 + small))
