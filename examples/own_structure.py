"""A structure of one's own: known ranges of the means, used by everything (docs/extending.md)."""

from dataclasses import dataclass

import numpy as np

import elsv

NODES, WEIGHTS = np.polynomial.legendre.leggauss(100)


@dataclass(frozen=True)
class RangeBelief:
    """Independent arms, each within its range, by numerical integration."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    repeats = True

    def _mass(self, state):
        low, high = np.array(self.low)[:, None], np.array(self.high)[:, None]
        x = low + (high - low) * (NODES + 1) / 2
        log = (state.alpha[..., None] - 1) * np.log(x) + (state.beta[..., None] - 1) * np.log1p(-x)
        return x, (high - low) / 2 * WEIGHTS * np.exp(log)

    def mean(self, state, rng=None):
        x, mass = self._mass(state)
        return (x * mass).sum(axis=-1) / mass.sum(axis=-1)

    def draw(self, state, rng):
        x, mass = self._mass(state)
        below = np.cumsum(mass, axis=-1)
        at = (below < rng.random((*state.alpha.shape, 1)) * below[..., -1:]).sum(axis=-1)
        return np.take_along_axis(np.broadcast_to(x, mass.shape), at[..., None], axis=-1)[..., 0]

    def log_weight(self, state):
        return np.log(self._mass(state)[1].sum(axis=-1)).sum(axis=-1)


@dataclass(frozen=True)
class Range:
    """Every mean lies between two known numbers."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def describe(self):
        pairs = zip(self.low, self.high, strict=True)
        return "the means lie within " + ", ".join(f"{a:g} to {b:g}" for a, b in pairs)

    def to_dict(self):
        return {"range": [list(self.low), list(self.high)]}

    def holds(self, means):
        means = np.asarray(means)
        return ((means >= self.low) & (means <= self.high)).all(axis=-1)

    def belief(self):
        return RangeBelief(self.low, self.high)


# Files and saved bandits know the statement by its key.
elsv.structure.register("range", lambda given: Range(*map(tuple, given)))

problem = elsv.Problem(rewards=[0.6, 1.0], horizon=8, structure=Range((0.3, 0.0), (1.0, 0.6)))
print(problem.structure.describe())
print(elsv.Bandit(problem).explain())
for row in elsv.evaluate(problem, ["optimal", "plan", "elsv", "greedy"]):
    print(f"{row.name:<9} regret {row.regret:.4f}")
assert elsv.Problem.from_dict(problem.to_dict()) == problem
