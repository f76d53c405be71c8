r"""How a policy is asked: while outcomes are under way, and for the probability of each arm.

Between a decision and its outcome other customers come (past the paper). With :math:`k_i` decisions of arm i
open, a policy is asked in the state

.. math:: \alpha_i + k_i p_i(s), \qquad \beta_i + k_i (1 - p_i(s)),

with p the means of the belief in the state s of the outcomes that are in. Its step counts the open decisions,
as its pulls do. ``pending=ignore`` in the name of a policy asks it in the state s itself, as if nothing were
under way.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import FloatArray, Rng
from elsv.beliefs import Belief
from elsv.beliefs.base import mean_of
from elsv.errors import InvalidInputError, unknown_name
from elsv.policies.base import IGNORE, WAYS, BasePolicy
from elsv.policies.layers import check_answer
from elsv.policies.offered import ask, offered
from elsv.problem import Problem
from elsv.state import State

Drawing = Rng | Callable[[], Rng] | None
"""A generator, or what makes it; None for a policy that draws nothing."""

COPIES = 1024
"""How often a policy is asked that may draw and does not say with which probabilities."""


def expected_state(state: State, mean: FloatArray, open_decisions: ArrayLike) -> State:
    """Return the state with the expected outcomes of open decisions added.

    Parameters
    ----------
    state
        Outcomes that are in, ``[..., N]``.
    mean
        Means of the belief in it, ``[..., N]``.
    open_decisions
        How many decisions of each arm have no outcome yet, ``[..., N]``.

    Examples
    --------
    >>> planned = expected_state(State([2.0, 1.0], [1.0, 1.0]), np.array([0.75, 0.5]), [4, 0])
    >>> planned.alpha.tolist(), planned.beta.tolist()
    ([5.0, 1.0], [2.0, 1.0])
    """
    waiting = np.asarray(open_decisions, dtype=np.float64)
    if waiting.shape[-1:] != (state.arms,) or not (waiting >= 0).all():
        raise InvalidInputError(
            f"open decisions must be {state.arms} counts, one for each arm, got {open_decisions!r}"
        )
    return with_expected(state, mean, waiting)


def with_expected(state: State, mean: FloatArray, waiting: FloatArray) -> State:
    """Return what `expected_state` does, without a check of the counts."""
    return State.trusted(state.alpha + waiting * mean, state.beta + waiting * (1.0 - mean))


def planning_state(
    problem: Problem, policy: BasePolicy, state: State, open_decisions: ArrayLike, rng: Rng | None = None
) -> State:
    """Return the state in which a policy is asked while decisions are open, by its own way with them.

    The expected outcomes are those of the policy's own belief where it has one, else of the problem's.
    """
    if policy.pending == IGNORE or not np.any(open_decisions):
        return state
    belief: Belief = getattr(policy, "belief", None) or problem.belief
    return expected_state(state, mean_of(belief, state, rng), open_decisions)


def with_pending(policy: BasePolicy, way: str) -> BasePolicy:
    """Return the policy with the way that ``pending=`` names."""
    if way not in WAYS:
        raise unknown_name("way with open decisions (pending=)", way, WAYS)
    same = copy(policy)
    object.__setattr__(same, "pending", way)  # policies are frozen
    return same


def chances_of(
    policy: BasePolicy,
    state: State,
    step: int,
    rng: Drawing,
    problem: Problem | None = None,
    segment: int | None = None,
) -> FloatArray:
    """Return the probability of each arm in one state, ``[N]``.

    In a `problem` with segments these are the chances of the arms on offer to the `segment` that has come
    (from 0), and 0 for all others.

    A policy that draws may say so itself: `chances(state, step)` returns the probabilities, those of each
    segment's arms given that it has come. A deterministic policy has a single arm. Any other is asked
    `COPIES` times, and its frequencies are the probabilities that are then drawn from: so they are exact
    whatever the policy is.
    """
    mask = None if problem is None else offered(problem, segment, ())
    own = policy.chances(state, step)
    if own is not None:
        chances = np.asarray(own, dtype=np.float64)
        if chances.shape == (state.arms,) and mask is not None:
            chances = np.where(mask, chances, 0.0)
        if chances.shape != (state.arms,) or not chances.min() >= -1e-6 or not 0.99 < chances.sum() < 1.01:
            raise InvalidInputError(
                f"chances of a policy must be {state.arms} probabilities that add up to 1, got {chances}"
            )
        chances = np.maximum(chances, 0.0)
        return np.asarray(chances / chances.sum())
    copies = 1 if policy.deterministic else COPIES
    batch = State.trusted(*(counts[None].repeat(copies, axis=0) for counts in (state.alpha, state.beta)))
    made: Any = rng() if callable(rng) else rng
    answer = (
        policy(batch, step, made) if problem is None else ask(policy, problem, batch, step, made, segment)
    )
    arms = check_answer(answer, batch)
    return np.bincount(arms, minlength=state.arms) / copies
