r"""Weighted joint points of a belief: all that a search needs of it (past the paper).

With points :math:`\theta_m` of weight :math:`w_m` at a state, a state that s successes and f failures lead to
has :math:`W \propto \sum_m w_m \prod_i \theta_{mi}^{s_i} (1 - \theta_{mi})^{f_i}`, whatever the structure. A
belief offers `points`, and perhaps `arm_points`, where it has a good rule; any other one is drawn from. The
same state always has the same points.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from elsv._base.cache import remembered
from elsv._base.numbers import shown, whole
from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs.base import Belief, mean_of
from elsv.errors import InvalidInputError
from elsv.state import State

FEW = 3  # arms for which a product of Gauss rules needs fewer points than uniform numbers do
ENOUGH = 10  # points of a rule for one arm
MOST = 1 << 20  # points of one state
_SEED = 20_240_601  # of the scrambling, and of the draws of a belief without points


def joint_points(
    belief: Belief, state: State, count: int, arms: IntArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return points ``[..., M, A]`` of some `arms` ``[..., A]``, or of all, and their weights ``[..., M]``.

    A belief without `points` is drawn from, always with the same seed, and the weights of its draws are
    changed so that the means are those of the belief.
    """
    some: Any = getattr(belief, "some_points", None)
    if arms is not None and some is not None:
        return _checked(some(state, count, arms), arms.shape)
    own: Any = getattr(belief, "points", None)
    if own is not None:
        theta, weight = _checked(own(state, count), state.alpha.shape)
    else:
        theta, weight = drawn_points(belief, state, count)
    return (theta if arms is None else np.take_along_axis(theta, arms[..., None, :], axis=-1)), weight


def drawn_points(belief: Belief, state: State, count: int) -> tuple[FloatArray, FloatArray]:
    """Return draws in the state itself as points ``[..., M, N]``, and their weights ``[..., M]``."""
    if getattr(belief, "repeats", False) and len(state.shape) == 1 and len(state.alpha) > 1:
        # State by state, so that a batch changes nothing.
        each = [_drawn(belief, State.trusted(*one), count) for one in zip(*state.rows(), strict=True)]
        return np.stack([theta for theta, _ in each]), np.stack([weight for _, weight in each])
    return _drawn(belief, state, count)


def most_points(belief: Belief) -> int | None:
    """Return how many points a belief that is made of draws has in all; None: more of them are no nearer."""
    found: int | None = getattr(belief, "most_points", None)
    return found


def _drawn(belief: Belief, state: State, count: int) -> tuple[FloatArray, FloatArray]:
    """Return draws as points, weighted so that their means are the belief's."""
    rng = np.random.default_rng(_SEED)
    repeated = (np.repeat(part[..., None, :], count, axis=-2) for part in (state.alpha, state.beta))
    theta, shape = np.asarray(belief.draw(State.trusted(*repeated), rng)), (*state.shape, count, state.arms)
    if theta.shape != shape:
        raise InvalidInputError(f"a belief must draw one mean for each arm, shape {shape}, got {theta.shape}")
    return theta, match_means(theta, mean_of(belief, state, rng))


def spread_points(belief: Belief, state: State, count: int) -> tuple[FloatArray, FloatArray]:
    """Return points ``[..., M, N]`` that are spread over the belief, and their weights ``[..., M]``.

    They serve what is no polynomial, such as whether a condition holds: few nodes of a Gauss rule would not
    tell. Any first part of the points is spread as well.
    """
    own: Any = getattr(belief, "spread_points", None)
    if own is not None:
        return _checked(own(state, count), state.alpha.shape)
    return joint_points(belief, state, count)


def arm_points(belief: Belief, state: State, each: int, count: int) -> tuple[FloatArray, FloatArray]:
    """Return points of every arm with the means of all arms there, ``[..., N, K, N]``, ``[..., N, K]``.

    A belief that offers them gives `each` for an arm; the joint points of any other, `count` of them, serve
    all arms: ``[..., 1, M, N]``.
    """
    own: Any = getattr(belief, "arm_points", None)
    if own is not None:
        return _checked(own(state, each), (*state.alpha.shape, state.arms))
    theta, weight = joint_points(belief, state, count)
    return theta[..., None, :, :], weight[..., None, :]


def _checked(given: tuple[object, object], shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """Return a belief's points and weights, of which kernels rely on the shapes and on weights above 0."""
    points, shares = (np.asarray(part, np.float64) for part in given)
    if points.shape != (*shape[:-1], *shares.shape[-1:], shape[-1]) or points.shape[:-1] != shares.shape:
        raise InvalidInputError(
            f"points of a belief must have the shape {(*shape[:-1], 'M', shape[-1])} and weights "
            f"{(*shape[:-1], 'M')}, got {points.shape} and {shares.shape}"
        )
    if points.size and not (points.min() >= 0 and points.max() <= 1 and shares.min() >= 0):
        raise InvalidInputError("points of a belief must lie from 0 to 1 and have no negative weights")
    if not (shares.sum(axis=-1) > 0).all():
        raise InvalidInputError("points of a belief must have weights above 0, got none")
    return points, shares


def match_means(theta: FloatArray, mean: FloatArray, start: FloatArray | None = None) -> FloatArray:
    """Return weights ``[..., M]`` with which `theta` ``[..., M, N]`` has these means.

    They are as equal as can be, or as near to the weights `start`.
    """
    away = theta - mean[..., None, :]
    inner = np.concatenate([np.ones((*away.shape[:-1], 1)), away], axis=-1)
    weighed = inner if start is None else start[..., None] * inner
    if start is None:
        products = np.asarray(np.einsum("...mi,...mj->...ij", inner, inner))
    else:
        products = np.swapaxes(weighed, -1, -2) @ inner
    one = np.zeros((*products.shape[:-1], 1))
    one[..., 0, 0] = 1.0
    weight: FloatArray = np.maximum((weighed @ np.linalg.pinv(products, hermitian=True) @ one)[..., 0], 0.0)
    total = weight.sum(axis=-1, keepdims=True)
    return np.where(total > 0, weight / np.where(total > 0, total, 1.0), 1.0 / theta.shape[-2])


def check_count(count: int) -> int:
    """Return `count` if it is a whole number of points."""
    if whole("points", count) > MOST:
        raise InvalidInputError(f"points must be at most {MOST:,}, got {shown(count)}; 1,000 do")
    return int(count)


@lru_cache(maxsize=64)
def rule_sizes(count: int, arms: int) -> tuple[int, int]:
    """Return the sizes of a rule for one arm and of rules for the others given it: `count` points at most.

    Half as many again for the first: what the others have given it is no polynomial, and their rules are
    exact for polynomials.
    """
    sizes = ((inner + inner // 2, inner) for inner in range(ENOUGH, 1, -1))
    return next((size for size in sizes if size[0] * size[1] ** (arms - 1) <= count), (1, 1))


@remembered
def uniforms(count: int, arms: int) -> FloatArray:
    """Return points that fill the unit cube evenly, strictly inside, ``[M, N]``: Sobol, scrambled once.

    M is the power of two from `count` up.
    """
    from scipy.stats import qmc

    points = qmc.Sobol(arms, scramble=True, rng=_SEED).random_base2(max(count - 1, 0).bit_length())
    inside: FloatArray = np.clip(points, 1e-12, 1 - 1e-12)
    return inside


def some_uniforms(start: int, stop: int, arms: int) -> FloatArray:
    """Return points `start` to `stop` - 1 of the sequence that `uniforms` begins, ``[stop - start, N]``."""
    return np.ascontiguousarray(uniforms(power_from(stop), arms)[start:stop])


def power_from(count: int) -> int:
    """Return the power of two from `count` up."""
    return 1 << max(count - 1, 0).bit_length()
