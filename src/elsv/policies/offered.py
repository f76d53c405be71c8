"""What is on offer to the customer who has come.

Scores and chances are given for all arms, each within its own segment: what a pull is worth does not depend
on who has come. Whoever chooses looks at the arms on offer alone.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import AnyArray, FloatArray, IntArray, Rng
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.problem import Problem
from elsv.segments import Segments
from elsv.state import State

Segment = ArrayLike | None
"""Who has come, for each instance of a batch: numbers from 0, shape ``[...]``; None if none are stated."""


def offered(problem: Problem, segment: Segment, shape: tuple[int, ...]) -> AnyArray | None:
    """Return which arms are on offer, ``[..., N]`` for a batch of this shape; None if all of them are."""
    segments = problem.segments
    numbers = segments.numbers(segment)
    return None if segments.count == 1 else np.broadcast_to(segments.masks[numbers], (*shape, problem.arms))


def ask(
    policy: Any, problem: Problem, state: State, step: int, rng: Rng, segment: Segment = None
) -> IntArray:
    """Return a policy's arms ``[...]``, telling it who has come where that is said."""
    problem.segments.numbers(segment)
    arms: IntArray = policy(state, step, rng) if segment is None else policy(state, step, rng, segment)
    return arms


def best_offered(problem: Problem, scores: FloatArray, segment: Segment, what: str) -> IntArray:
    """Return the arm on offer with the best score by the one tie rule; ``[..., N]`` to ``[...]``."""
    mask = offered(problem, segment, scores.shape[:-1])
    if mask is None:
        return best_arm(scores, problem.scale, what)
    seen = np.where(mask, scores, -np.inf)
    # An arm that is not on offer must not win where all that are have the score minus infinity.
    hopeless = np.isneginf(seen).all(axis=-1, keepdims=True) & mask
    return best_arm(np.where(hopeless, 0.0, seen), problem.scale, what)


def chances_offered(problem: Problem, chances: FloatArray, segment: Segment) -> FloatArray:
    """Return the probabilities ``[..., N]`` of the arms on offer, and 0 for all others."""
    mask = offered(problem, segment, chances.shape[:-1])
    if mask is None:
        return chances
    own = np.where(mask, chances, 0.0)
    return np.asarray(own / own.sum(axis=-1, keepdims=True))


def check_offered(problem: Problem, arms: IntArray, segment: Segment) -> IntArray:
    """Return a policy's answer ``[...]`` if every arm is on offer."""
    mask = offered(problem, segment, arms.shape)
    if mask is None or (fine := np.take_along_axis(mask, arms[..., None], axis=-1)[..., 0]).all():
        return arms
    raise InvalidInputError(
        "a policy must choose among the arms on offer to the segment that has come, got arm "
        f"{arms[~fine].flat[0] + 1}; give the policy `scores`, or a fourth argument `segment`: numbers from 0"
    )


def fits_segments(policy: object, problem: Problem) -> bool:
    """Return whether a policy can be told all that it must be told of who has come."""
    return not problem.segments.names or takes_segment(policy)


def takes_segment(function: object) -> bool:
    """Return whether a policy can be told who has come."""
    try:
        parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return "segment" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def distinct_states(state: State) -> tuple[State, IntArray]:
    """Return the distinct states of a batch, one row for each, and which of them every instance is in."""
    rows, place = np.unique(np.hstack(state.rows()), axis=0, return_inverse=True)
    return State.trusted(rows[:, : state.arms].copy(), rows[:, state.arms :].copy()), place.reshape(-1)


def within_segments(segments: Segments, count: int, answer: Callable[[list[int]], FloatArray]) -> FloatArray:
    """Return ``[..., N]`` from answers ``[..., n]`` for the arms of one segment after another."""
    parts = [answer(list(arms)) for arms in segments.groups]
    out = np.empty((*parts[0].shape[:-1], count), dtype=parts[0].dtype)
    for arms, part in zip(segments.groups, parts, strict=True):
        out[..., list(arms)] = part
    return out
