r"""Outcomes that come late: planning on the expected outcomes of open decisions (past the paper).

Between a decision and its outcome other customers come. With :math:`k_i` decisions of arm i open, a policy is
asked in the state

.. math:: \alpha_i + k_i p_i(s), \qquad \beta_i + k_i (1 - p_i(s)),

with p the means of the belief in the state s of the outcomes that are in. Its step counts the open decisions,
as its pulls do. ``pending=ignore`` in the name of a policy asks it in the state s itself, as if nothing were
under way.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import FloatArray
from elsv.beliefs import Belief
from elsv.beliefs.base import mean_of
from elsv.errors import InvalidInputError, unknown_name
from elsv.policies.base import IGNORE, WAYS, BasePolicy
from elsv.problem import Problem
from elsv.state import State


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
    """Return what `expected_state` does for counts that are known to be some."""
    return State.trusted(state.alpha + waiting * mean, state.beta + waiting * (1.0 - mean))


def planning_state(
    problem: Problem,
    policy: BasePolicy,
    state: State,
    open_decisions: ArrayLike,
    rng: np.random.Generator | None = None,
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
