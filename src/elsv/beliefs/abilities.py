"""What a belief can do, asked of any belief: its own way where it has one, else a general one, else an error.

Every belief has `mean` and `draw`. Joint draws are enough for points, and points for variances, quantiles and
P(best), each with its error. Draws do not give the weights W: exact solutions need `log_weight`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.inheritance import still_holds
from elsv._base.numbers import as_float
from elsv._base.typing import FloatArray, Rng
from elsv.beliefs.base import Belief, check_level, check_rewards, mean_of
from elsv.beliefs.layers.weights import Ways, size_of_tables, weights_by_parts
from elsv.beliefs.points import joint_points
from elsv.beliefs.quadrature import MOST_IN_TABLE, place_nodes
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import Lattice, Layer, layer_size, states_up_to
from elsv.lattice.workers import Crew
from elsv.state import Arms, State

POINTS = 4096
"""Joint points that stand in for a belief that has no answer of its own."""

BATCH = 1 << 14
_TOGETHER = 1 << 16  # points that are asked for at once
_MOST_BEST = 20_000  # states for which P(best) is integrated one by one; minutes
_NEVER = 1e-300  # of its reward: what an arm pays that cannot be chosen


def _own(belief: Belief, way: str, *facts: str) -> Any:
    """Return the belief's own way, or None; a parent's does not hold beside other `facts`, such as a mean."""
    return getattr(belief, way, None) if still_holds(belief, way, *facts) else None


def factors(belief: Belief) -> bool:
    """Return whether W is a product over the arms, so that the counts' own means hold and no W is needed."""
    return bool(_own(belief, "factors", "mean"))


def repeats(belief: Belief) -> bool:
    """Return whether the belief gives the same means for the same state, as an exact one does."""
    return bool(_own(belief, "repeats"))


def weighs(belief: Belief) -> bool:
    """Return whether the belief gives weights W, so that whole layers of the lattice can be swept."""
    ways = ("layer_weights", "log_weight")
    return factors(belief) or any(_own(belief, way, "mean") is not None for way in ways)


def precise(belief: Belief) -> Belief:
    """Return the same belief at its finest, for what is computed once; a parent's way holds for its mean."""
    own = _own(belief, "precise", "mean")
    found: Belief = belief if own is None else own()
    return found


def apart(belief: Belief, groups: Sequence[Sequence[int]]) -> tuple[Belief, ...] | None:
    """Return the belief of each group of arms by itself where no group tells of another, else None."""
    own = _own(belief, "apart", "mean")
    found: tuple[Belief, ...] | None = None if own is None else own(groups)
    return found


def _by_parts(
    belief: Belief, state: State, read: Callable[[FloatArray, FloatArray], FloatArray]
) -> FloatArray:
    """Return what `read` makes of points ``[B, M, N]`` and weights ``[B, M]``, a few states at a time."""
    alpha, beta = state.rows()
    size = max(1, _TOGETHER // POINTS)
    found = [
        read(*joint_points(belief, State.trusted(alpha[k : k + size], beta[k : k + size]), POINTS))
        for k in range(0, len(alpha), size)
    ]
    return np.concatenate(found) if found else np.empty((0, state.arms))


def variance(belief: Belief, state: State) -> FloatArray:
    """Return posterior variances, shape ``[..., N]``."""
    if (own := _own(belief, "variance")) is not None:
        return np.asarray(own(state))

    def read(theta: FloatArray, weight: FloatArray) -> FloatArray:
        mean = (weight[..., None] * theta).sum(axis=-2, keepdims=True)
        return np.asarray((weight[..., None] * (theta - mean) ** 2).sum(axis=-2))

    return _by_parts(belief, state, read).reshape(state.alpha.shape)


def moments(belief: Belief, state: State, rng: Rng | None = None) -> tuple[FloatArray, FloatArray]:
    """Return means and variances ``[..., N]``, together where the belief gives them together."""
    if (own := _own(belief, "mean_and_variance")) is not None:
        mean, found = own(state)
        return mean, found
    return mean_of(belief, state, rng), variance(belief, state)


def quantiles(belief: Belief, state: State, levels: tuple[float, ...]) -> FloatArray:
    """Return posterior quantiles at each of `levels`, shape ``[levels, ..., N]``."""
    if (own := _own(belief, "quantile")) is not None:
        return np.stack([own(state, level) for level in levels])
    wanted = [check_level(level) for level in levels]

    def read(theta: FloatArray, weight: FloatArray) -> FloatArray:
        order = np.argsort(theta, axis=-2)
        in_order = np.take_along_axis(theta, order, axis=-2)
        share = np.take_along_axis(np.broadcast_to(weight[..., None], theta.shape), order, axis=-2)
        below = np.cumsum(share, axis=-2) - 0.5 * share
        found = []
        for level in wanted:
            at = np.minimum((below < level).sum(axis=-2, keepdims=True), theta.shape[-2] - 1)
            found.append(np.take_along_axis(in_order, at, axis=-2)[..., 0, :])
        return np.stack(found, axis=1)

    found = _by_parts(belief, state, read)  # [B, levels, N]
    return np.moveaxis(found, 1, 0).reshape(len(wanted), *state.alpha.shape)


def marginals(
    belief: Belief, state: State, levels: tuple[float, ...], rng: Rng | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return means ``[..., N]`` and quantiles ``[levels, ..., N]``, together where the belief can."""
    if (own := _own(belief, "marginals", "mean", "quantile")) is not None:
        mean, found = own(state, levels)
        return mean, found
    return mean_of(belief, state, rng), quantiles(belief, state, levels)


def best_with_error(
    belief: Belief, state: State, rewards: ArrayLike, tolerance: float | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Return P(arm i has the largest :math:`r_i\mu_i`) ``[..., N]``, E[max] and the error ``[...]``.

    A belief that measures its error aims for `tolerance` (default: its own); NaN where it does not. From
    points the error is that of 4096 draws, :math:`\sqrt{p(1-p)/M}` at most.
    """
    if (measured := _own(belief, "best_with_error")) is not None:
        chance, largest, found = measured(state, rewards, tolerance)
        return chance, largest, found
    if (own := _own(belief, "best")) is not None:
        chance, largest = own(state, rewards)
        return chance, largest, np.full(state.shape, np.nan)
    payoff = check_rewards(state, rewards)

    def read(theta: FloatArray, weight: FloatArray) -> FloatArray:
        worth = payoff * theta
        first = worth.argmax(axis=-1)[..., None] == np.arange(state.arms)
        chance = (weight[..., None] * first).sum(axis=-2)
        return np.concatenate([chance, (weight * worth.max(axis=-1)).sum(axis=-1)[:, None]], axis=1)

    both = _by_parts(belief, state, read)
    chance, largest = both[:, :-1].reshape(state.alpha.shape), both[:, -1].reshape(state.shape)
    spread = np.sqrt((chance * (1 - chance)).max(axis=-1) / POINTS)
    return chance, largest, np.asarray(spread)


def best(
    belief: Belief, state: State, rewards: ArrayLike, tolerance: float | None = None
) -> tuple[FloatArray, FloatArray]:
    r"""Return P(arm i has the largest :math:`r_i\mu_i`) ``[..., N]`` and E[max] ``[...]``."""
    return best_with_error(belief, state, rewards, tolerance)[:2]


def best_in_groups(
    belief: Belief,
    state: State,
    rewards: FloatArray,
    groups: Sequence[Sequence[int]],
    tolerance: float | None = None,
) -> tuple[FloatArray, FloatArray]:
    r"""Return P(arm is best of its group) ``[..., N]`` and E[max] of every group ``[..., G]``.

    Arms of other groups count for what is known of these, and pay next to nothing.
    """
    if len(groups) == 1 and len(groups[0]) == state.arms > 1:
        chance, most = best(belief, state, rewards, tolerance)
        return chance, most[..., None]
    chance = np.ones(state.alpha.shape)
    largest = np.empty((*state.shape, len(groups)))
    for g, group in enumerate(groups):
        own = list(group)
        if len(own) == 1:
            largest[..., g] = rewards[own[0]] * mean_of(belief, state, None)[..., own[0]]
        elif factors(belief):
            alone = State.trusted(state.alpha[..., own], state.beta[..., own])
            chance[..., own], largest[..., g] = best(belief, alone, rewards[own], tolerance)
        else:
            paid = _NEVER * rewards
            paid[own] = rewards[own]
            found, largest[..., g] = best(belief, state, paid, tolerance)
            chance[..., own] = found[..., own]
    return chance, largest


def log_weight(belief: Belief, state: State) -> FloatArray:
    r"""Return log of :math:`W = \int \prod x_i^{\alpha_i-1}(1-x_i)^{\beta_i-1}` over possible means."""
    if (own := _own(belief, "log_weight", "mean")) is None:
        raise InvalidInputError(
            f"this needs the weight W of a state, which {belief!r} does not give; "
            "add log_weight(state) to it, or simulate instead (elsv compare)"
        )
    return np.asarray(own(state))


def error(belief: Belief, state: State) -> FloatArray:
    """Return an estimate of the error of the means, ``[...]``; NaN where the belief does not measure it."""
    own = _own(belief, "error")
    return np.full(state.shape, np.nan) if own is None else np.asarray(own(state))


def _shared_ways(belief: Belief, arms: Arms) -> tuple[Ways, ...] | None:
    own = _own(belief, "shared_ways", "mean")
    found: tuple[Ways, ...] | None = None if own is None else own(arms)
    return found


def layer_weights(
    belief: Belief, arms: Arms, lattice: Lattice, made: int, workers: int = 1, shared: bool = False
) -> FloatArray:
    """Return W of all states after `made` pulls, all divided by one number; nothing where W factors.

    With `shared` a belief that can integrates all states on the same nodes, else one state after the other.
    """
    if factors(belief):
        return np.empty(0)
    layer = lattice.layer(made)
    if shared and (parts := _shared_ways(belief, arms)) is not None:
        return weights_by_parts(arms, parts, lattice, made, workers)
    if (own := _own(belief, "layer_weights", "mean")) is not None:
        weights = np.ascontiguousarray(own(arms, lattice, made, workers), np.float64)
        _check_one_each("layer_weights", weights, (layer.size,))
        return weights
    out = np.empty(layer.size)
    for here, state in layer.batches(arms, BATCH):
        found = log_weight(belief, state)
        _check_one_each("log_weight", found, state.shape)
        out[here] = found
    # Halfway down to the smallest of 2^-made keeps both ends of the lattice within the range of a double.
    out -= float(log_weight(belief, State.initial(arms))) - 0.5 * lattice.most * np.log(2.0)
    return np.exp(out)


def layer_best(
    belief: Belief, arms: Arms, layer: Layer, crew: Crew, groups: Sequence[Sequence[int]]
) -> FloatArray:
    """Return P(arm i is the best of its group) in all states of a layer, ``[N, states]``.

    A belief may know whole layers where all arms are one group.
    """
    if len(groups) == 1 and (own := _own(belief, "layer_best")) is not None:
        chances: FloatArray | None = own(arms, layer, crew)
        if chances is not None:
            return chances
    if layer.size > _MOST_BEST:
        where = f"under {belief!r}" if len(groups) == 1 else f"in {len(groups)} segments"
        raise InvalidInputError(
            f"thompson with {arms.arms} arms {where} needs P(best) of {layer.size:,} states, "
            f"more than {_MOST_BEST:,}; use a shorter horizon, or simulate instead (elsv compare)"
        )
    out = np.empty((arms.arms, layer.size))

    def work(batch: tuple[slice, State]) -> None:
        here, state = batch
        out[:, here] = best_in_groups(belief, state, arms.rewards, groups)[0].T

    crew.map(work, layer.batches(arms, -(-layer.size // (4 * crew.workers))))
    return out


def _check_one_each(name: str, found: FloatArray, shape: tuple[int, ...]) -> None:
    if found.shape != shape or np.isnan(found.min()):
        raise InvalidInputError(
            f"{name} of a belief must be a number for each state, shape {shape}, "
            f"got {np.array2string(found, threshold=6)} of shape {found.shape}"
        )


def weights_bytes(belief: Belief, arms: Arms, made: int, shared: bool = False) -> float:
    """Return the most that `layer_weights` takes, the weights included."""
    if factors(belief):
        return 0.0
    held = 0.0
    if shared and (parts := _shared_ways(belief, arms)) is not None:
        held = size_of_tables(parts, made) * _nodes(arms, made)
    elif _in_order(belief):
        sides = ((arms.arms - 1) // 2, arms.arms - 1 - (arms.arms - 1) // 2)
        messages = sum(as_float(states_up_to(side, made)) for side in sides if side)
        held = messages * _part(arms, made, _nodes(arms, made))
    return 8.0 * (as_float(layer_size(arms.arms, made)) + held)


def best_bytes(belief: Belief, arms: Arms, made: int, groups: Sequence[Sequence[int]]) -> float:
    """Return what `layer_best` takes besides its result."""
    count = arms.arms
    if len(groups) > 1 or count == 1:
        return 0.0  # states are asked for in batches
    nodes, held = _nodes(arms, made), 0.0
    if factors(belief) and count < 64:
        part, pieces = _part(arms, made, nodes), len(np.unique(arms.rewards))
        # One piece's tables go when the next ones are there.
        held = (2 if pieces > 1 or part < nodes else 1) * count * as_float(states_up_to(1, made)) * part
    elif _in_order(belief) and count <= 3:
        # Panels end at the kinks.
        held = {2: 3, 3: 6}[count] * as_float(states_up_to(1, made)) * 1.25 * nodes
    return 8.0 * (held + (count + 1) * as_float(layer_size(count, made))) if held else 0.0


def _in_order(belief: Any) -> bool:
    return getattr(belief, "order", None) is not None and hasattr(belief, "layer_weights")


def _nodes(arms: Arms, made: int) -> float:
    """Return how many nodes there are; of absurdly many pulls, how they would grow."""
    most = 10_000
    return len(place_nodes(arms, min(made, most)).weights) * math.sqrt(max(1.0, made / most))


def _part(arms: Arms, made: int, nodes: float) -> float:
    """Return how many nodes are worked on at a time."""
    return nodes if arms.arms > 3 else min(nodes, max(1, MOST_IN_TABLE // (made + 1) ** 2))
