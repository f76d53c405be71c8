"""Bayesian bandits with structured priors: exact beliefs, exact indices, value-directed exploration.

Start with `Problem` and `Bandit`; `compare` simulates policies and `evaluate` computes what they earn. Where
each thing is in the sources is said in docs/design.md.

A name is imported when it is first used: importing everything takes half a second.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from elsv._version import __version__ as __version__

if TYPE_CHECKING:
    from elsv import prior, structure
    from elsv.assumptions import ArmCheck, Check
    from elsv.assumptions.check import check
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
    from elsv.exact import Evaluation
    from elsv.exact.evaluate import evaluate
    from elsv.exact.solve import solve
    from elsv.indices import Index, Setting, make_index
    from elsv.live import ArmExplanation, Bandit, Explanation
    from elsv.live.explain import explain
    from elsv.policies import Policy, make_policy, policy_names
    from elsv.policies.single import Gain
    from elsv.problem import Problem, belief_of
    from elsv.report.latex import to_latex
    from elsv.search.lookahead import lookahead
    from elsv.simulation.compare import Comparison, compare
    from elsv.simulation.rehearsal import Rehearsal
    from elsv.simulation.rehearse import rehearse
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
    "to_latex",
]

_HOMES = {
    name: f"elsv.{module}"
    for module, names in {
        "assumptions": "ArmCheck Check check",
        "beliefs": "Belief Chain Independent Rejection",
        "campaign": "Campaign Decision StoreError UnknownDecisionError",
        "choice": "best_arm",
        "errors": "CorruptFileError ElsvError InvalidInputError MissingExtraError SamplingError UnsavedError",
        "exact": "Evaluation evaluate solve",
        "indices": "Index Setting make_index",
        "live": "ArmExplanation Bandit Explanation explain",
        "policies": "Policy make_policy policy_names",
        "policies.single": "Gain",
        "problem": "Problem belief_of",
        "report.latex": "to_latex",
        "search": "lookahead",
        "simulation.compare": "Comparison compare",
        "simulation.rehearse": "Rehearsal rehearse",
        "simulation.sharing": "Sharing compare_sharing",
        "state": "State",
        "structure": "Structure",
        "values": "SeparableValue ValueFunction",
    }.items()
    for name in names.split()
}  # where each name of `__all__` is


def __getattr__(name: str) -> Any:
    """Import what is asked for: a name of `__all__`, or a module of the package."""
    home = _HOMES.get(name)
    if home is not None:
        found = getattr(import_module(home), name)
    elif not name.startswith("_") and find_spec(f"elsv.{name}") is not None:
        found = import_module(f"elsv.{name}")
    else:
        raise AttributeError(f"module 'elsv' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return what there is, imported or not."""
    return sorted({*globals(), *__all__})
