"""What a belief answers: given a state, what is known of the means."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from elsv._typing import FloatArray
from elsv.state import State


class Belief(Protocol):
    r"""Posterior of the means given a state, :math:`p_i(s) = E[\mu_i \mid s, \text{order}]`.

    Lookahead and policies need only `mean` and `draw`, both batch-shaped. A belief that samples needs
    `rng`; an exact one ignores it in `mean`.
    """

    def mean(self, state: State, rng: np.random.Generator | None = None) -> FloatArray:
        """Return posterior means, shape ``[..., N]``."""
        ...

    def draw(self, state: State, rng: np.random.Generator) -> FloatArray:
        """Return one joint draw of the means for every instance, shape ``[..., N]``."""
        ...


class ExactBelief(Belief, Protocol):
    """A belief that is known to a stated accuracy and can be described to a person."""

    def variance(self, state: State) -> FloatArray:
        """Return posterior variances, shape ``[..., N]``."""
        ...

    def quantile(self, state: State, level: float) -> FloatArray:
        """Return posterior quantiles at `level`, shape ``[..., N]``."""
        ...

    def best(self, state: State, rewards: FloatArray) -> tuple[FloatArray, FloatArray]:
        r"""Return P(arm i has the largest :math:`r_i\mu_i`) ``[..., N]`` and E[max] ``[...]``."""
        ...

    def conditional_mean(self, state: State, arm: int, at: FloatArray) -> FloatArray:
        r"""Return :math:`E[\mu_l \mid \mu_{arm} = x]` for x in `at` ``[K]``, shape ``[..., K, N]``."""
        ...

    def log_weight(self, state: State) -> FloatArray:
        r"""Return log W(s), :math:`W = \int_{order}\prod x_i^{\alpha_i-1}(1-x_i)^{\beta_i-1}dx`, ``[...]``."""
        ...

    def error(self, state: State) -> FloatArray:
        """Return an estimate of the relative error of what the belief reports, ``[...]``."""
        ...
