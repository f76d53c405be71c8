"""Decisions as they come: a bandit in memory that chooses, observes, explains itself and survives a restart.

Read `bandit` first; `explain` is what a policy sees in a state, arm by arm.
"""

from elsv.live.bandit import Bandit
from elsv.live.explain import ArmExplanation, Explanation, explain

__all__ = ["ArmExplanation", "Bandit", "Explanation", "explain"]
