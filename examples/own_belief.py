"""A belief of one's own: means and joint draws are enough to plan on (docs/extending.md)."""

from dataclasses import dataclass

import numpy as np

import elsv


@dataclass(frozen=True)
class Curve:
    """Demand falls along a logistic curve; a thousand curves, weighted by how well they fit the counts."""

    prices: tuple[float, ...]
    repeats = True  # the same state always gives the same means

    def _curves(self):
        """Return the means of a thousand curves drawn in advance, ``[1000, N]``."""
        rng = np.random.default_rng(1)
        level, slope = rng.normal(0, 2, (1000, 1)), np.exp(rng.normal(1, 0.5, (1000, 1)))
        return 1 / (1 + np.exp(-(level - slope * np.array(self.prices))))

    def _chances(self, state):
        """Return the curves and how likely each is, ``[..., 1000]``."""
        curves = self._curves()
        log = (state.alpha - 1) @ np.log(curves).T + (state.beta - 1) @ np.log1p(-curves).T
        chance = np.exp(log - log.max(axis=-1, keepdims=True))
        return curves, chance / chance.sum(axis=-1, keepdims=True)

    def mean(self, state, rng=None):
        curves, chance = self._chances(state)
        return chance @ curves

    def draw(self, state, rng):
        curves, chance = self._chances(state)
        below = np.cumsum(chance, axis=-1)
        return curves[(below < rng.random((*state.shape, 1))).sum(axis=-1)]


belief = Curve((0.5, 1.0, 1.5))
problem = elsv.Problem(rewards=belief.prices, horizon=40)
for name in ("greedy", "thompson"):
    policy = getattr(elsv.policies, name.title())(problem, belief)
    bandit = elsv.Bandit(problem, policy, seed=0)
    bandit.observe(0, success=True)
    print(name, bandit.choose(), belief.mean(bandit.state).round(3))
