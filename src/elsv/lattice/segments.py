"""Sweeps where customers come from segments, each with arms of its own (`elsv.segments`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.triangle import number
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import Layer
from elsv.lattice.steps import Blocks, Step, plain, spread
from elsv.lattice.sweeps import Sweeps
from elsv.state import Arms

_NO_ACTIONS = np.empty((0, 0), np.uint8)
_BATCH = 1 << 16
_ROUNDING = 1e-6  # of chances that sum to 1


class Arriving(Protocol):
    """Who comes, as far as sweeps need it."""

    @property
    def count(self) -> int:
        """G, the number of segments."""
        ...

    @property
    def of_arm(self) -> IntArray:
        """The segment of every arm, ``[N]``."""
        ...

    def chances(self, pulls: ArrayLike) -> FloatArray:
        """Return the probability that each segment comes next: pulls ``[..., N]`` to ``[..., G]``."""
        ...


def coming(who: Arriving, blocks: Blocks) -> tuple[IntArray, FloatArray]:
    """Return the segment of every arm and the chances of some blocks, as the kernels take them."""
    return np.array(who.of_arm), np.array(who.chances(blocks[0]), np.float64)


def best_step_by_segment(arms: Arms, who: Arriving, actions: AnyArray = _NO_ACTIONS) -> Step:
    """Return the sweep that pulls each segment's best arm, written into `actions` unless that is empty."""
    from elsv.lattice._segment_kernels import maximise_by_segment

    numbers = plain(arms)

    def step(values: FloatArray, weights: FloatArray, blocks: Blocks, out: FloatArray) -> None:
        maximise_by_segment(values, weights, *blocks, *numbers, *coming(who, blocks), out, actions)

    return step


def spread_by_segment(
    paths: FloatArray,
    weights: FloatArray,
    layer: Layer,
    arms: Arms,
    who: Arriving,
    actions: AnyArray,
    later: FloatArray,
) -> float:
    """Add what reaches each state of `layer` to where its arms lead; return the reward earned."""
    shares = zip(_arriving(who, layer), actions, strict=True)
    return sum(spread(share * paths, weights, layer, arms, named, later) for share, named in shares)


@dataclass(eq=False)
class SweepsBySegment(Sweeps):
    """The same sweeps where customers come from segments: a state is worth what they are, whoever comes."""

    segments: Arriving

    def room_for_arms(self, layer: Layer) -> AnyArray:
        """Return room for the arm of every segment in every state, ``[G, states]``."""
        return np.empty((self.segments.count, layer.size), np.uint8)

    def best_arms(self, scores: FloatArray) -> AnyArray:
        """Return every segment's first best arm by these scores ``[B, N]``: ``[G, B]``."""
        own = np.equal(np.arange(self.segments.count)[:, None], self.segments.of_arm)
        scale = float(self.arms.rewards.max())
        chosen = [best_arm(np.where(mask, scores, -np.inf), scale) for mask in own]
        return np.stack(chosen).astype(np.uint8)

    def prefer_infinite(self, layer: Layer, tables: FloatArray, group: IntArray, actions: AnyArray) -> None:
        """Set `actions` to the best arms by reward times index where any arm has an infinite one."""
        if not np.isposinf(tables).any():
            return
        for first in range(0, layer.size, _BATCH):
            stop = min(first + _BATCH, layer.size)
            index = tables[group, number(*layer.counts(first, stop))]
            here = np.flatnonzero(np.isposinf(index).any(axis=1))
            actions[:, first + here] = self.best_arms(self.arms.rewards * index[here])

    def maximise(
        self, layer: Layer, values: FloatArray, belief: Any, actions: AnyArray = _NO_ACTIONS
    ) -> FloatArray:
        """Return what every state is worth if each segment gets its best arm; `values` is given back.

        `actions` ``[G, states]`` becomes these arms, unless it is empty.
        """
        weights, out = self.weights(layer.made + 1, belief), self.take(layer.size)
        step = best_step_by_segment(self.arms, self.segments, actions)
        self.sweep(layer, lambda blocks: step(values, weights, blocks, out))
        self.give(values)
        return out

    def follow(self, layer: Layer, values: FloatArray, arms: AnyArray, belief: Any) -> FloatArray:
        """Return the worth of a policy in every state; `values` of the next layer is given back.

        `arms` names the arm of each segment ``[G, states]``, or holds the probability of each arm when its
        segment comes, ``[N, states]``.
        """
        return self.follow_paid(layer, values, arms, belief, self._numbers[0])

    def follow_paid(
        self, layer: Layer, values: FloatArray, arms: AnyArray, belief: Any, rewards: FloatArray
    ) -> FloatArray:
        """Return the same if the arms pay `rewards`, such as those of one segment alone."""
        from elsv.lattice._segment_kernels import follow_by_segment
        from elsv.lattice._sweep_kernels import mix

        who, prior = self.segments, self._numbers[1]
        arms = checked_by_segment(arms, layer, who)
        weights, out = self.weights(layer.made + 1, belief), self.take(layer.size)
        if arms.dtype == np.uint8:

            def work(blocks: Blocks) -> None:
                follow_by_segment(values, weights, *blocks, rewards, prior, *coming(who, blocks), arms, out)
        else:
            pulled = _with_arrivals(who, layer, arms)

            def work(blocks: Blocks) -> None:
                mix(values, weights, *blocks, rewards, prior, pulled, out)

        self.sweep(layer, work)
        self.give(values)
        return out

    def best_reward(self, layer: Layer, times: float, belief: Any) -> FloatArray:
        """Return `times` what the next customer pays in expectation, each from the segment's best arm."""
        from elsv.lattice._segment_kernels import commit_by_segment

        weights, out = self.weights(layer.made + 1, belief), self.take(layer.size)
        numbers, who = self._numbers, self.segments
        self.sweep(
            layer,
            lambda blocks: commit_by_segment(weights, *blocks, *numbers, *coming(who, blocks), times, out),
        )
        return out


def _arriving(who: Arriving, layer: Layer) -> list[FloatArray]:
    """Return of every segment the probability that it comes next in all states of a layer."""
    sizes = np.diff(layer.starts)
    return [np.repeat(column, sizes) for column in np.array(who.chances(layer.pulls)).T]


def _with_arrivals(who: Arriving, layer: Layer, chances: FloatArray) -> FloatArray:
    """Return with which probability each arm is pulled ``[N, states]``, given those within the segments."""
    arrive = _arriving(who, layer)
    return np.stack([row * arrive[g] for row, g in zip(chances, who.of_arm, strict=True)])


def checked_by_segment(choice: object, layer: Layer, who: Arriving) -> AnyArray:
    """Return what a policy chose for every segment in all states of a layer, if that is possible."""
    found, segment = np.asarray(choice), who.of_arm
    arms = len(segment)
    if found.shape == (who.count, layer.size) and found.dtype.kind in "iu":
        inside = found.min() >= 0 and found.max() < arms
        if inside and all((segment[row] == g).all() for g, row in enumerate(found)):
            return np.ascontiguousarray(found, np.uint8)
    elif found.shape == (arms, layer.size) and found.dtype.kind == "f":
        totals = [found[segment == g].sum(axis=0) for g in range(who.count)]
        if found.min() >= 0 and all(np.abs(total - 1).max() < _ROUNDING for total in totals):
            return np.ascontiguousarray(found, np.float64)
    raise InvalidInputError(
        f"a policy on layers must give each of the {layer.size:,} states at step {layer.step} an arm of every"
        f" segment, [{who.count}, {layer.size:,}], or chances of the arms [{arms}, {layer.size:,}] that sum "
        f"to 1 in every segment, got {np.array2string(found, threshold=6)} of shape {found.shape}"
    )
