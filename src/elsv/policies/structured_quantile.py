"""Bayes-UCB on what is believed of each arm under the structure.

The level is that of E. Kaufmann, O. Cappé and A. Garivier, *On Bayesian upper confidence bounds for bandit
problems*, Artificial Intelligence and Statistics (2012).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs import Belief
from elsv.beliefs.abilities import factors, quantiles, repeats
from elsv.beliefs.base import mean_of
from elsv.indices.base import Setting
from elsv.indices.bayes_ucb import BayesUCB
from elsv.policies.base import BestScore
from elsv.problem import Problem
from elsv.state import State, check_width


@dataclass(frozen=True, eq=False)
class StructuredBayesUCB(BestScore):
    """The largest reward times quantile of an arm's mean, given all that was seen and the structure."""

    problem: Problem
    index: BayesUCB
    belief: Belief

    @property
    def deterministic(self) -> bool:
        """If the belief is."""
        return repeats(self.belief)

    @property
    def costly(self) -> bool:
        """Unless arms are independent."""
        return not factors(self.belief)

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return the quantiles of all arms, reward included; the means where the level is not positive."""
        check_width(state, self.problem)
        log_tail = self.index.log_tail(math.log(step), Setting.of(self.problem))
        level = -math.expm1(log_tail)
        if level <= 0.0:
            return self.problem.rewards * mean_of(self.belief, state, rng)
        found: FloatArray = quantiles(self.belief, state, (min(level, 1 - 2**-53),))[0]
        return self.problem.rewards * found
