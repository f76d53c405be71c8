"""With which probability a policy pulls each arm, so that decisions can be evaluated later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError
from elsv.policies.base import BasePolicy
from elsv.policies.layers import check_answer
from elsv.policies.offered import ask, offered
from elsv.problem import Problem
from elsv.state import State

Drawing = np.random.Generator | Callable[[], np.random.Generator] | None
"""A generator, or what makes it; None for a policy that draws nothing."""

COPIES = 1024
"""How often a policy is asked that may draw and does not say with which probabilities."""


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
