"""Sweeps between layers of the lattice, shared among threads.

A sweep takes what is known of all states of layer m + 1 and gives it for layer m. Where the belief has
weights W (`elsv.beliefs.abilities.layer_weights`) values are W times the worth of a state, else the worth.

`Sweeps` and `elsv.lattice.steps` alone call the compiled sweeps: a second backend (a GPU) would replace their
methods and functions, and nothing else would change.
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
from elsv.lattice.steps import Blocks, add_weights, blocks_of, plain
from elsv.lattice.workers import Crew
from elsv.state import Arms

_NOTHING = np.empty(0)
_ROUNDING = 1e-6  # of chances that sum to 1
_NO_ACTIONS = np.empty(0, np.uint8)
Weigh = Callable[[Any, Arms, Lattice, int, int], FloatArray]  # belief, arms, lattice, pulls made, threads


@dataclass(eq=False)
class Sweeps:
    """The layers of one problem's lattice, last one first, and what policies share while going through them.

    Parameters
    ----------
    arms
        Rewards and priors.
    horizon
        Pulls after which nothing is earned.
    crew
        The threads that do the work.
    weigh
        Gives the weights of the last layer under a belief, or nothing where no weights are needed. Those of
        earlier layers are sums. Beliefs that are equal share their weights.
    """

    arms: Arms
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
        """Return room for what a policy chooses in every state: its arm, ``[states]``."""
        return np.empty(layer.size, np.uint8)

    def best_arms(self, scores: FloatArray) -> AnyArray:
        """Return what goes into such room, for states with these scores ``[B, N]``: the first best arm."""
        return best_arm(scores, float(self.arms.rewards.max())).astype(np.uint8)

    def maximise(
        self, layer: Layer, values: FloatArray, belief: Any, actions: AnyArray = _NO_ACTIONS
    ) -> FloatArray:
        """Return the best arm's worth in every state of `layer`; `values` of the next one is given back."""
        from elsv.lattice._sweep_kernels import maximise

        weights, out = self.weights(layer.made + 1, belief), self.take(layer.size)
        rewards, prior = self._numbers
        self.sweep(layer, lambda blocks: maximise(values, weights, *blocks, rewards, prior, out, actions))
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

    def follow(self, layer: Layer, values: FloatArray, arms: AnyArray, belief: Any) -> FloatArray:
        """Return the worth of a policy in every state; `values` of the next layer is given back.

        `arms` names the arm of each state ``[states]``, or holds the probability of each arm ``[N, states]``.
        """
        from elsv.lattice._sweep_kernels import follow, mix

        arms = checked_choice(arms, layer, self.arms.arms)
        kernel = follow if arms.ndim == 1 else mix
        weights, out = self.weights(layer.made + 1, belief), self.take(layer.size)
        rewards, prior = self._numbers
        self.sweep(layer, lambda blocks: kernel(values, weights, *blocks, rewards, prior, arms, out))
        self.give(values)
        return out

    def average(self, layer: Layer, later: FloatArray, belief: Any) -> FloatArray:
        """Return the expectation of a martingale in every state, from its values in the next layer."""
        from elsv.lattice._sweep_kernels import average

        weights, out = self.weights(layer.made + 1, belief), np.empty(layer.size)
        self.sweep(layer, lambda blocks: average(later, weights, *blocks, self._numbers[1], out))
        return out

    def best_reward(self, layer: Layer, times: float, belief: Any) -> FloatArray:
        """Return `times` the best expected reward of one pull in every state, in room to give back."""
        from elsv.lattice._layer_kernels import commit_values

        weights, out = self.weights(layer.made + 1, belief), self.take(layer.size)
        rewards, prior = self._numbers
        self.sweep(layer, lambda blocks: commit_values(weights, *blocks, rewards, prior, times, out))
        return out

    def sum_tables(self, layer: Layer, tables: FloatArray, scale: FloatArray, belief: Any) -> FloatArray:
        """Return in every state Σ_i scale_i times the number of arm i's state in its table ``[N, size]``."""
        from elsv.lattice._layer_kernels import separable_values

        group = np.arange(self.arms.arms)
        weights, out = self.weights(layer.made, belief), self.take(layer.size)
        self.sweep(layer, lambda b: separable_values(tables, group, scale, weights, b[0], b[1], out))
        return out

    def prefer_infinite(self, layer: Layer, tables: FloatArray, group: IntArray, actions: AnyArray) -> None:
        """Set `actions` to the first arm whose number in its table is infinite, where there is one."""
        from elsv.lattice._layer_kernels import prefer_infinite

        if np.isposinf(tables).any():
            self.sweep(layer, lambda b: prefer_infinite(tables, group, b[0], b[1], actions))


def checked_choice(choice: object, layer: Layer, arms: int) -> AnyArray:
    """Return what a policy chose in all states of a layer, if it is an arm of each or the arms' chances."""
    found = np.asarray(choice)
    if found.shape == (layer.size,) and found.dtype.kind in "iu":
        if found.min() >= 0 and found.max() < arms:
            return np.ascontiguousarray(found, np.uint8)
    elif found.shape == (arms, layer.size) and found.dtype.kind == "f":
        total = found.sum(axis=0)
        if found.min() >= 0 and total.min() > 1 - _ROUNDING and total.max() < 1 + _ROUNDING:
            return np.ascontiguousarray(found, np.float64)
    raise InvalidInputError(
        f"a policy on layers must give each of the {layer.size:,} states at step {layer.step} an arm from 0 "
        f"to {arms - 1}, or chances of the arms [{arms}, {layer.size:,}] that sum to 1, got "
        f"{np.array2string(found, threshold=6)} of shape {found.shape}"
    )
