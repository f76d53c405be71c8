"""Bayesian bandits with structured priors: exact beliefs, exact indices, value-directed exploration.

Start with `Problem` and `Bandit`; `compare` simulates policies and `evaluate` computes what they earn. Where
each thing is in the sources is said in docs/design.md.
"""

from elsv import prior, structure
from elsv._version import __version__ as __version__
from elsv.assumptions import ArmCheck, Check, check
from elsv.beliefs import Belief, Chain, Independent, Rejection
from elsv.campaign import Campaign, Decision, StoreError, UnknownDecisionError
from elsv.choice import best_arm
from elsv.errors import (
    CorruptFileError,
    ElsvError,
    InvalidInputError,
    MissingExtraError,
    SamplingError,
    UnsavedError,
)
from elsv.exact import Evaluation, evaluate, solve
from elsv.indices import Index, Setting, make_index
from elsv.live import ArmExplanation, Bandit, Explanation, explain
from elsv.policies import Policy, make_policy, policy_names
from elsv.policies.single import Gain
from elsv.problem import Problem, belief_of
from elsv.search import lookahead
from elsv.simulation.compare import Comparison, compare
from elsv.simulation.rehearse import Rehearsal, rehearse
from elsv.simulation.sharing import Sharing, compare_sharing
from elsv.state import State
from elsv.structure import Structure
from elsv.values import SeparableValue, ValueFunction

__all__ = [
    "ArmCheck",
    "ArmExplanation",
    "Bandit",
    "Belief",
    "Campaign",
    "Chain",
    "Check",
    "Comparison",
    "CorruptFileError",
    "Decision",
    "ElsvError",
    "Evaluation",
    "Explanation",
    "Gain",
    "Independent",
    "Index",
    "InvalidInputError",
    "MissingExtraError",
    "Policy",
    "Problem",
    "Rehearsal",
    "Rejection",
    "SamplingError",
    "SeparableValue",
    "Setting",
    "Sharing",
    "State",
    "StoreError",
    "Structure",
    "UnknownDecisionError",
    "UnsavedError",
    "ValueFunction",
    "belief_of",
    "best_arm",
    "check",
    "compare",
    "compare_sharing",
    "evaluate",
    "explain",
    "lookahead",
    "make_index",
    "make_policy",
    "policy_names",
    "prior",
    "rehearse",
    "solve",
    "structure",
]
