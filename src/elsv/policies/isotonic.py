r"""KL-UCB bounds under an order: no arm is better than the bound of an arm that is at least as good.

The bounds are those of A. Garivier and O. Cappé, *The KL-UCB algorithm for bounded stochastic bandits and
beyond*, Conference on Learning Theory (2011).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs.ladder.ranking import closure
from elsv.errors import InvalidInputError
from elsv.indices.base import Setting
from elsv.indices.kl_ucb import KLUCB
from elsv.policies.base import BestScore
from elsv.policies.layers import BATCH, OnLayers, StateByState
from elsv.problem import Problem
from elsv.state import State, check_width
from elsv.structure.facts import Facts, ranking_of

_ROOM = 50.0  # bytes for a state of a batch and arm, of the bounds and those above them


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", KLUCB(self.c))
        self._facts()

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return the bounds of all arms, reward included."""
        check_width(state, self.problem)
        facts, rewards = self._facts(), self.problem.rewards
        own = self._index(state.alpha, state.beta, step, Setting.of(self.problem))
        most = 1.0 if facts.bounds is None else np.array([high for _, high in facts.bounds])
        bound = np.minimum(own, most)
        above = closure(self.problem.arms, facts.order) | np.eye(self.problem.arms, dtype=bool)
        if facts.scale == "reward":
            bound = rewards * bound
        least: FloatArray = np.where(above, bound[..., :, None], np.inf).min(axis=-2)
        return least if facts.scale == "reward" else rewards * least

    def on_layers(self, problem: Problem) -> OnLayers:
        """Return that it is asked state by state, with more in memory than most."""
        return StateByState(self, bytes=_ROOM * BATCH * problem.arms)

    def _facts(self) -> Facts:
        facts = ranking_of(self.problem.structure)
        if facts is None or not facts.order:
            raise InvalidInputError(
                'isotonic-kl-ucb needs arms in order: structure order (such as order = "decreasing") or '
                f"grid, got: {self.problem.structure.describe()}; kl-ucb looks at each arm by itself"
            )
        return facts
