"""How the belief under facts about the arms is computed: exactly where that is possible, else by draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs import Belief, Gibbs, Kept
from elsv.beliefs.filtered import Condition
from elsv.beliefs.ladder.belief import exact_belief
from elsv.beliefs.ladder.ranking import Pairs, TooWideError, closure, covers
from elsv.errors import InvalidInputError
from elsv.state import State
from elsv.structure.facts import Facts

Method = Literal["auto", "exact", "keep", "gibbs"]
METHODS: tuple[str, ...] = get_args(Method)


@dataclass(frozen=True)
class All:
    """A condition that several conditions hold."""

    parts: tuple[Condition, ...]

    def __call__(self, means: FloatArray) -> AnyArray:
        """Return of means ``[..., N]`` whether all hold."""
        good = np.ones(np.shape(means)[:-1], dtype=bool)
        for part in self.parts:
            good &= np.asarray(part(means), dtype=bool)
        return good


def belief_of_facts(
    facts: Facts, prior: FloatArray, method: Method = "auto", conditions: tuple[Condition, ...] = ()
) -> Belief:
    """Return the belief under facts and further conditions.

    Parameters
    ----------
    facts
        Order, peak and bounds.
    prior
        Counts before any data, ``[N, 2]``.
    method
        ``"exact"``, ``"keep"``, ``"gibbs"``, or ``"auto"``, which takes the first of them that works.
    conditions
        What else must hold of means ``[..., N]``.
    """
    if facts.gaps:
        conditions = (*conditions, facts.holds)
    if method == "keep":
        # The order, too, is left to the draws: bounds alone can be met exactly by independent arms.
        return Kept(_exact(facts, order=()), All((*conditions, facts.holds)), prior)
    if method == "gibbs":
        if facts.unimodal or conditions:
            raise InvalidInputError(
                "the method gibbs is for orders and bounds; leave it out for a peak, a gap or a condition"
            )
        return Gibbs(len(facts.names), facts.order, facts.bounds, _unit(facts))
    try:
        base: Belief = _exact(facts, facts.order)
    except TooWideError:
        if method == "exact":
            raise
        base = _forest(facts, prior)
    return Kept(base, All(conditions), prior) if conditions else base


def _exact(facts: Facts, order: Pairs) -> Belief:
    """Return the belief by quadrature; an error where a ladder would be too wide."""
    arms = len(facts.names)
    unimodal = facts.unimodal and arms > 2 and (bool(order) or not facts.order)
    return exact_belief(arms, order, unimodal, facts.bounds, _unit(facts))


def _unit(facts: Facts) -> tuple[float, ...] | None:
    return facts.rewards if facts.scale == "reward" else None


def _forest(facts: Facts, prior: FloatArray) -> Belief:
    """Return draws of a part of a wide order that are kept where the rest holds, and Gibbs where few are."""
    arms = len(facts.names)
    chosen = _spanning(arms, facts.order)
    gibbs = Gibbs(arms, facts.order, facts.bounds, _unit(facts))
    kept = Kept(_exact(facts, chosen), facts.holds, prior, otherwise=gibbs)
    start = State(prior[:, 0], prior[:, 1])
    return kept if float(kept.acceptance(start)) >= _LEAST else gibbs


_LEAST = 1 / 200


@lru_cache(maxsize=64)
def _spanning(arms: int, order: Pairs) -> Pairs:
    """Return pairs of the order without a circle, disregarding direction: a forest of its cover relation."""
    group = list(range(arms))

    def root(k: int) -> int:
        while group[k] != k:
            k = group[k]
        return k

    chosen = []
    for a, b in covers(closure(arms, order)):
        if root(a) != root(b):
            group[root(a)] = root(b)
            chosen.append((a, b))
    return tuple(chosen)
