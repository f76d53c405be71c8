"""Beliefs: what a state says of the means, with and without an order."""

from __future__ import annotations

from elsv.beliefs.base import Belief, ExactBelief
from elsv.beliefs.chain import Chain
from elsv.beliefs.independent import Independent
from elsv.beliefs.rejection import Estimate, Rejection
from elsv.problem import Problem

__all__ = ["Belief", "Chain", "Estimate", "ExactBelief", "Independent", "Rejection", "belief_of"]


def belief_of(problem: Problem) -> ExactBelief:
    """Return the exact belief for the problem's order: a chain, or independent arms."""
    return Independent() if problem.order is None else Chain(problem.order)
