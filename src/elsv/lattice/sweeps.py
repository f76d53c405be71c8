"""Sweeps between layers of the lattice, shared among threads.

A sweep takes what is known of all states of layer m + 1 and gives it for layer m. Where the belief has
weights W (`elsv.beliefs.abilities.layer_weights`) values are W times the worth of a state, else the worth.

`Sweeps` and `elsv.lattice.steps` alone call the compiled sweeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import Lattice, Layer, layer_size
from elsv.lattice.steps import NO_ACTIONS, Arriving, Blocks, Customers, add_weights, blocks_of, coming, plain
from elsv.lattice.workers import Crew
from elsv.state import Arms

_NOTHING = np.empty(0)
_ROUNDING = 1e-6  # of chances that sum to 1
Weigh = Callable[[Any, Arms, Lattice, int, int], FloatArray]  # belief, arms, lattice, pulls made, threads


@dataclass(eq=False)
class Sweeps:
    """The layers of one problem's lattice, last one first, and what policies share while going through them.

    A state is worth what its customers are, whoever comes. After `horizon` pulls nothing is earned. `weigh`
    gives the weights of the last layer under a belief, or nothing where no weights are needed; those of
    earlier layers are sums. Beliefs that are equal share their weights.
    """

    arms: Customers
    horizon: int
    crew: Crew
    weigh: Weigh
    lattice: Lattice = field(init=False)
    _weights: dict[Any, dict[int, FloatArray]] = field(init=False, default_factory=dict)
    _layers: dict[int, Layer] = field(init=False, default_factory=dict)
    _spare: list[FloatArray] = field(init=False, default_factory=list)
    _numbers: tuple[FloatArray, FloatArray] = field(init=False)  # rewards and prior, for the kernels

    def __post_init__(self) -> None:
        self.lattice = Lattice(self.arms.arms, self.horizon)
        self._numbers = plain(self.arms)

    @property
    def segments(self) -> Arriving:
        """Who comes."""
        return self.arms.segments

    def layer(self, made: int) -> Layer:
        """Return the states after `made` pulls."""
        if made not in self._layers:
            self._layers[made] = self.lattice.layer(made)
        return self._layers[made]

    def weights(self, made: int, belief: Any) -> FloatArray:
        """Return W of the states after `made` pulls under `belief`; nothing where none are needed."""
        key = belief if belief.__hash__ is not None else id(belief)
        if key not in self._weights:
            last = self.weigh(belief, self.arms, self.lattice, self.horizon, self.crew.workers)
            self._weights[key] = {self.horizon: last}
        known = self._weights[key]
        while made not in known:
            lowest = min(known)
            if not len(known[lowest]):
                return _NOTHING
            known[lowest - 1] = self._add(self.layer(lowest - 1), known[lowest])
        return known[made]

    def _add(self, layer: Layer, later: FloatArray) -> FloatArray:
        # Many layers of weights may be held at once: none takes more room than it needs.
        out = np.empty(layer.size)
        self.sweep(layer, lambda blocks: add_weights(later, blocks, out))
        return out

    def descend(self, made: int, reach: int) -> Layer:
        """Go down to the layer `made`, forgetting what lies more than `reach` layers after it; return it."""
        for known in self._weights.values():
            for old in [m for m in known if m > made + reach and m > min(known)]:
                del known[old]
        for old in [m for m in self._layers if m > made + reach]:
            del self._layers[old]
        return self.layer(made)

    def take(self, size: int) -> FloatArray:
        """Return room for `size` numbers, used before if possible."""
        room = self._spare.pop() if self._spare else np.empty(layer_size(self.arms.arms, self.horizon))
        return room[:size]

    def give(self, room: FloatArray) -> None:
        """Give back what `take` returned."""
        self._spare.append(room if room.base is None else room.base)

    def sweep(self, layer: Layer, work: Callable[[Blocks], None]) -> None:
        """Call `work` on all blocks of the layer, shared among the threads."""
        self.crew.run(layer, lambda begin, end: work(blocks_of(layer, begin, end)))

    def room_for_arms(self, layer: Layer) -> AnyArray:
        """Return room for what a policy chooses: the arm of every segment in every state, ``[G, states]``."""
        return np.empty((self.segments.count, layer.size), np.uint8)

    def best_arms(self, scores: FloatArray) -> AnyArray:
        """Return every segment's first best arm by these scores ``[B, N]``: ``[G, B]``."""
        scale, every = float(self.arms.rewards.max()), range(self.segments.count)
        own = (np.where(self.segments.of_arm == g, scores, -np.inf) for g in every)
        return np.stack([best_arm(part, scale) for part in own]).astype(np.uint8)

    def maximise(
        self, layer: Layer, values: FloatArray, belief: Any, actions: AnyArray = NO_ACTIONS
    ) -> FloatArray:
        """Return what every state is worth if each segment gets its best arm; `values` is given back.

        `values` are of the next layer; `actions` ``[G, states]`` become these arms, unless they are empty.
        """
        from elsv.lattice._sweep_kernels import maximise

        weights, out = self.weights(layer.made + 1, belief), self.take(layer.size)
        numbers, who = self._numbers, self.segments
        self.sweep(
            layer,
            lambda blocks: maximise(values, weights, *blocks, *numbers, *coming(who, blocks), out, actions),
        )
        self.give(values)
        return out

    def pull(self, layer: Layer, values: FloatArray, arm: int, belief: Any) -> FloatArray:
        """Return the worth of pulling `arm` in every state; `values` of the next layer is given back."""
        from elsv.lattice._sweep_kernels import pull_arm

        weights, out = self.weights(layer.made + 1, belief), self.take(layer.size)
        reward, prior = float(self.arms.rewards[arm]), self._numbers[1]
        self.sweep(layer, lambda blocks: pull_arm(values, weights, *blocks, arm, reward, prior, out))
        self.give(values)
        return out

    def follow(
        self, layer: Layer, values: FloatArray, arms: AnyArray, belief: Any, rewards: FloatArray | None = None
    ) -> FloatArray:
        """Return the worth of a policy in every state; `values` of the next layer is given back.

        `arms` names the arm of each segment ``[G, states]``, or holds the probability of each arm when its
        segment comes ``[N, states]``. The arms pay `rewards`, such as those of one segment alone; default:
        all of them.
        """
        from elsv.lattice._sweep_kernels import follow, mix

        arms, who = checked_choice(arms, layer, self.segments), self.segments
        kernel = follow if arms.dtype == np.uint8 else mix
        weights, out = self.weights(layer.made + 1, belief), self.take(layer.size)
        numbers = self._numbers if rewards is None else (rewards, self._numbers[1])
        self.sweep(
            layer, lambda blocks: kernel(values, weights, *blocks, *numbers, *coming(who, blocks), arms, out)
        )
        self.give(values)
        return out

    def average(self, layer: Layer, later: FloatArray, belief: Any) -> FloatArray:
        """Return the expectation of a martingale in every state, from its values in the next layer."""
        from elsv.lattice._sweep_kernels import average

        weights, out = self.weights(layer.made + 1, belief), np.empty(layer.size)
        self.sweep(layer, lambda blocks: average(later, weights, *blocks, self._numbers[1], out))
        return out

    def best_reward(self, layer: Layer, times: float, belief: Any) -> FloatArray:
        """Return `times` what the next customer pays in expectation, by the segment's best arm.

        The result is in room to give back.
        """
        from elsv.lattice._layer_kernels import commit_values

        weights, out = self.weights(layer.made + 1, belief), self.take(layer.size)
        numbers, who = self._numbers, self.segments
        self.sweep(
            layer, lambda blocks: commit_values(weights, *blocks, *numbers, *coming(who, blocks), times, out)
        )
        return out

    def sum_tables(self, layer: Layer, tables: FloatArray, scale: FloatArray, belief: Any) -> FloatArray:
        """Return in every state Σ_i scale_i times the number of arm i's state in its table ``[N, size]``."""
        from elsv.lattice._layer_kernels import separable_values

        group = np.arange(self.arms.arms)
        weights, out = self.weights(layer.made, belief), self.take(layer.size)
        self.sweep(layer, lambda b: separable_values(tables, group, scale, weights, b[0], b[1], out))
        return out

    def prefer_infinite(self, layer: Layer, tables: FloatArray, group: IntArray, actions: AnyArray) -> None:
        """Set `actions` to the best arms by reward times index where any arm has an infinite one."""
        from elsv.lattice._layer_kernels import prefer_infinite

        if np.isposinf(tables).any():
            known = tables, group, self._numbers[0], np.array(self.segments.of_arm)
            self.sweep(layer, lambda blocks: prefer_infinite(*known, blocks[0], blocks[1], actions))


def checked_choice(choice: object, layer: Layer, who: Arriving) -> AnyArray:
    """Return what a policy chose for every segment in all states of a layer, if that is possible.

    With one segment the arms may come without it, ``[states]``.
    """
    given, segment, arms = np.asarray(choice), who.of_arm, len(who.of_arm)
    found = given[None] if given.shape == (layer.size,) and who.count == 1 else given
    if found.shape == (who.count, layer.size) and found.dtype.kind in "iu":
        inside = found.min() >= 0 and found.max() < arms
        if inside and (who.count == 1 or all((segment[row] == g).all() for g, row in enumerate(found))):
            return np.ascontiguousarray(found, np.uint8)
    elif found.shape == (arms, layer.size) and found.dtype.kind == "f":
        own = [found] if who.count == 1 else [found[segment == g] for g in range(who.count)]  # spares a copy
        totals = [part.sum(axis=0) for part in own]
        whole = all(total.min() > 1 - _ROUNDING and total.max() < 1 + _ROUNDING for total in totals)
        if found.min() >= 0 and whole:
            return np.ascontiguousarray(found, np.float64)
    asked = f"an arm from 0 to {arms - 1}, or chances of the arms [{arms}, {layer.size:,}] that sum to 1"
    if who.count > 1:
        asked = (
            f"an arm of every segment, [{who.count}, {layer.size:,}], or chances of the arms "
            f"[{arms}, {layer.size:,}] that sum to 1 in every segment"
        )
    raise InvalidInputError(
        f"a policy on layers must give each of the {layer.size:,} states at step {layer.step} {asked}, got "
        f"{np.array2string(given, threshold=6)} of shape {given.shape}"
    )
