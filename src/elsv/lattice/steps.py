"""Sweeps that choose and pull in one, over some blocks of a layer; a layer may overwrite the one after it.

With `elsv.lattice.sweeps` these are the functions that a second backend would replace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.lattice.numbering import Lattice, Layer
from elsv.lattice.workers import Cascade, Progress, Work
from elsv.state import Arms

Blocks = tuple[IntArray, IntArray, IntArray]
_NO_ACTIONS = np.empty(0, np.uint8)


class Step(Protocol):
    """A sweep over some blocks of a layer."""

    def __call__(self, values: FloatArray, weights: FloatArray, blocks: Blocks, out: FloatArray) -> None:
        """Set `out`, which may be `values`, to their worth from values and weights of the next layer."""
        ...


def blocks_of(layer: Layer, begin: int, end: int) -> Blocks:
    """Return pulls, first states and successors of a range of blocks, as the kernels take them."""
    return layer.pulls[begin:end], layer.starts[begin:end], layer.after[begin:end]


def plain(arms: Arms) -> tuple[FloatArray, FloatArray]:
    """Return rewards and prior in the one layout that the kernels are compiled for: an array of one's own."""
    return arms.rewards.copy(), arms.prior.copy()


def add_weights(later: FloatArray, blocks: Blocks, out: FloatArray) -> None:
    """Set `out`, which may be `later`, to W(s) = W(s + success) + W(s + failure)."""
    from elsv.lattice._sweep_kernels import add_weights as kernel

    kernel(later, *blocks, out)


def best_step(arms: Arms, actions: AnyArray = _NO_ACTIONS) -> Step:
    """Return the sweep that pulls the best arm and writes it into `actions` unless that is empty."""
    from elsv.lattice._sweep_kernels import maximise

    numbers = plain(arms)

    def step(values: FloatArray, weights: FloatArray, blocks: Blocks, out: FloatArray) -> None:
        maximise(values, weights, *blocks, *numbers, out, actions)

    return step


def table_step(arms: Arms, tables: FloatArray, group: IntArray) -> Step:
    """Return the sweep that pulls the arm with the largest reward times table entry."""
    from elsv.lattice._follow_kernels import follow_tables

    numbers, own = plain(arms), np.require(tables, np.float64, ["C", "W"])

    def step(values: FloatArray, weights: FloatArray, blocks: Blocks, out: FloatArray) -> None:
        follow_tables(values, weights, *blocks, *numbers, own, group, out)

    return step


def gain_step(arms: Arms, gains: FloatArray, group: IntArray) -> Step:
    """Return the sweep that pulls the arm whose outcomes gain most; it needs weights.

    `gains` ``[3, groups, size]`` holds what a success, a failure and another arm's pull are worth per reward.
    """
    from elsv.lattice._follow_kernels import follow_one_step

    numbers, (won, lost, shared) = plain(arms), gains

    def step(values: FloatArray, weights: FloatArray, blocks: Blocks, out: FloatArray) -> None:
        follow_one_step(values, weights, *blocks, *numbers, won, lost, shared, group, out)

    return step


def overwrite_layers(
    lattice: Lattice,
    weights: FloatArray,
    sweep_of: Callable[[Layer], Work],
    workers: int,
    progress: Progress,
) -> None:
    """Sweep over the layers T - 1 … 1, each in the place of the next one, and so `weights` unless empty."""

    def stage(made: int) -> tuple[Layer, Work]:
        layer = lattice.layer(made)
        sweep = sweep_of(layer)

        def work(begin: int, end: int) -> None:
            sweep(begin, end)
            if len(weights):
                add_weights(weights, blocks_of(layer, begin, end), weights)

        return layer, work

    Cascade(lattice.most - 1, stage, progress).run(workers)


def spread(
    paths: FloatArray, weights: FloatArray, layer: Layer, arms: Arms, actions: AnyArray, later: FloatArray
) -> float:
    """Add what reaches each state of `layer` to where its arm leads; return the reward earned."""
    from elsv.lattice._sweep_kernels import spread as kernel

    blocks = layer.pulls, layer.starts, layer.after
    return float(kernel(paths, weights, *blocks, *plain(arms), np.array(actions), later))
