r"""Policies: names become thin assemblies of beliefs, indices, values and lookahead.

A policy is a function ``policy(state, step, rng) -> arm`` on batches: counts ``[..., N]`` to arms ``[...]``,
numbered from 0. A user's own function of that form is accepted wherever a name is.

Read `base` first (what a policy is), then `library`. `registry` turns names into policies, `plan` is the
default, `mixing` and `rivals` have policies of other authors, and `layers` says how policies act on whole
lattice layers, for exact evaluation.
"""

from elsv.policies.base import BasePolicy, BestScore, FunctionPolicy, Policy, ScoringPolicy
from elsv.policies.library import Commit, Elsv, Fixed, Greedy, IndexPolicy, Random, Thompson
from elsv.policies.registry import DEFAULT_POLICY, make_policy, policy_names

__all__ = [
    "DEFAULT_POLICY",
    "BasePolicy",
    "BestScore",
    "Commit",
    "Elsv",
    "Fixed",
    "FunctionPolicy",
    "Greedy",
    "IndexPolicy",
    "Policy",
    "Random",
    "ScoringPolicy",
    "Thompson",
    "make_policy",
    "policy_names",
]
