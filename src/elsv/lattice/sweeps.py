"""What exact evaluation shares between policies: the layer's numbering, its weights, room to work in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from elsv._typing import AnyArray, FloatArray, IntArray
from elsv.beliefs.layer_weights import layer_weights
from elsv.lattice.numbering import Lattice, Layer, layer_size
from elsv.lattice.workers import Crew
from elsv.problem import Problem

_NOTHING = np.empty(0)
_NO_ACTIONS = np.empty(0, np.uint8)
Blocks = tuple[IntArray, IntArray, IntArray]


def blocks_of(layer: Layer, begin: int, end: int) -> Blocks:
    """Return pulls, first states and successors of a range of blocks, as the kernels take them."""
    return layer.pulls[begin:end], layer.starts[begin:end], layer.after[begin:end]


@dataclass(eq=False)
class Arena:
    """Sweeps between layers of one problem's lattice, by a crew of threads.

    ``ordered`` says of every method whether the belief is the problem's, with its order, or that of
    independent arms; on a problem without an order it makes no difference.
    """

    problem: Problem
    horizon: int
    crew: Crew
    lattice: Lattice = field(init=False)
    _weights: dict[int, FloatArray] = field(init=False, default_factory=dict)
    _layers: dict[int, Layer] = field(init=False, default_factory=dict)
    _spare: list[FloatArray] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.lattice = Lattice(self.problem.arms, self.horizon)
        if self.problem.order is not None:
            self._weights[self.horizon] = layer_weights(
                self.problem, self.lattice, self.horizon, self.crew.workers
            )

    def layer(self, made: int) -> Layer:
        """Return the states after `made` pulls."""
        if made not in self._layers:
            self._layers[made] = self.lattice.layer(made)
        return self._layers[made]

    def weights(self, made: int, ordered: bool = True) -> FloatArray:
        """Return W of the states after `made` pulls; nothing for independent arms."""
        return self._weights[made] if ordered and self.problem.order is not None else _NOTHING

    def descend(self, made: int, reach: int) -> Layer:
        """Go down to the layer `made`, keeping the `reach` layers after it; return it."""
        layer = self.layer(made)
        if self.problem.order is not None:
            from elsv.lattice._sweep_kernels import add_weights

            # Many layers of weights may be held at once: none takes more room than it needs.
            out = np.empty(layer.size)
            self.sweep(layer, lambda blocks: add_weights(self._weights[made + 1], *blocks, out))
            self._weights[made] = out
        for old in [m for m in self._weights if m > made + reach]:
            del self._weights[old]
        for old in [m for m in self._layers if m > made + reach]:
            del self._layers[old]
        return layer

    def take(self, size: int) -> FloatArray:
        """Return room for `size` numbers, used before if possible."""
        room = self._spare.pop() if self._spare else np.empty(layer_size(self.problem.arms, self.horizon))
        return room[:size]

    def give(self, room: FloatArray) -> None:
        """Give back what `take` returned."""
        self._spare.append(room if room.base is None else room.base)

    def sweep(self, layer: Layer, work: Callable[[Blocks], None]) -> None:
        """Call `work` on all blocks of the layer, shared among the threads."""
        self.crew.run(layer, lambda begin, end: work(blocks_of(layer, begin, end)))

    def maximise(
        self, layer: Layer, values: FloatArray, ordered: bool, actions: AnyArray = _NO_ACTIONS
    ) -> FloatArray:
        """Return the best arm's worth in every state of `layer`; `values` of the next one is given back."""
        from elsv.lattice._sweep_kernels import maximise

        weights, out = self.weights(layer.made + 1, ordered), self.take(layer.size)
        rewards, prior = self.problem.rewards, self.problem.prior
        self.sweep(layer, lambda blocks: maximise(values, weights, *blocks, rewards, prior, out, actions))
        self.give(values)
        return out

    def pull(self, layer: Layer, values: FloatArray, arm: int, ordered: bool) -> FloatArray:
        """Return the worth of pulling `arm` in every state; `values` of the next layer is given back."""
        from elsv.lattice._sweep_kernels import pull_arm

        weights, out = self.weights(layer.made + 1, ordered), self.take(layer.size)
        reward, prior = float(self.problem.rewards[arm]), self.problem.prior
        self.sweep(layer, lambda blocks: pull_arm(values, weights, *blocks, arm, reward, prior, out))
        self.give(values)
        return out

    def average(self, layer: Layer, later: FloatArray, ordered: bool) -> FloatArray:
        """Return the expectation of a martingale in every state, from its values in the next layer."""
        from elsv.lattice._sweep_kernels import average

        weights, out = self.weights(layer.made + 1, ordered), np.empty(layer.size)
        self.sweep(layer, lambda blocks: average(later, weights, *blocks, self.problem.prior, out))
        return out
