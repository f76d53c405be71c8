"""Sweeps that choose and pull in one, over some blocks of a layer; a layer may overwrite the one after it.

A policy names its sweep (`Sweep`), and each backend has a kernel for the name: here the CPU, in
`elsv.exact.cuda` a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.lattice.numbering import Lattice, Layer
from elsv.lattice.workers import Cascade, Progress, Work
from elsv.state import Arms

Blocks = tuple[IntArray, IntArray, IntArray]
NO_ACTIONS = np.empty((0, 0), np.uint8)


class Arriving(Protocol):
    """Who comes, as far as sweeps need it; one segment of all arms where everyone is offered the same."""

    @property
    def count(self) -> int:
        """G, the number of segments."""
        ...

    @property
    def of_arm(self) -> IntArray:
        """The segment of every arm, ``[N]``."""
        ...

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The arms of each segment."""
        ...

    @property
    def turns(self) -> tuple[int | None, ...]:
        """Whose turn a policy is told it is: each segment's number, or None where nobody named segments."""
        ...

    def chances(self, pulls: ArrayLike) -> FloatArray:
        """Return the probability that each segment comes next: pulls ``[..., N]`` to ``[..., G]``."""
        ...


class Customers(Arms, Protocol):
    """Arms and who comes, such as a problem."""

    @property
    def segments(self) -> Arriving:
        """Who comes."""
        ...


class Sweep(NamedTuple):
    """A sweep over a layer that chooses and pulls in one: the kernel's name and its extra arguments.

    ``best`` pulls each segment's best arm. The others give everyone the same arm: ``arm`` that one, ``table``
    the one with the largest reward times entry of its table, ``gain`` the one whose outcomes gain most, by
    tables of what a success, a failure and another arm's pull are worth per reward.
    """

    name: Literal["best", "arm", "table", "gain"]
    arm: int = 0
    tables: FloatArray = np.empty(
        0
    )  # of each arm's own states: [groups, states], for gains [3, groups, states]
    group: IntArray = np.empty(0, np.int64)  # [N], which table each arm reads


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


def coming(who: Arriving, blocks: Blocks) -> tuple[IntArray, FloatArray]:
    """Return the segment of every arm and the chances of some blocks, as the kernels take them."""
    if who.count == 1:
        return np.array(who.of_arm), np.ones((len(blocks[0]), 1))
    return np.array(who.of_arm), np.array(who.chances(blocks[0]), np.float64)


def add_weights(later: FloatArray, blocks: Blocks, out: FloatArray) -> None:
    """Set `out`, which may be `later`, to W(s) = W(s + success) + W(s + failure)."""
    from elsv.lattice._sweep_kernels import add_weights as kernel

    kernel(later, *blocks, out)


def best_step(problem: Customers, actions: AnyArray = NO_ACTIONS) -> Step:
    """Return the sweep that pulls each segment's best arm; `actions` ``[G, states]`` get it unless empty."""
    from elsv.lattice._sweep_kernels import maximise

    numbers, who = plain(problem), problem.segments

    def step(values: FloatArray, weights: FloatArray, blocks: Blocks, out: FloatArray) -> None:
        maximise(values, weights, *blocks, *numbers, *coming(who, blocks), out, actions)

    return step


def step_of(problem: Customers, sweep: Sweep) -> Step:
    """Return a sweep as the CPU does it."""
    from elsv.lattice import _follow_kernels, _sweep_kernels

    if sweep.name == "best":
        return best_step(problem)
    rewards, prior = plain(problem)
    tables = np.require(sweep.tables, np.float64, ["C", "W"])

    def step(values: FloatArray, weights: FloatArray, blocks: Blocks, out: FloatArray) -> None:
        known = values, weights, *blocks
        if sweep.name == "arm":
            _sweep_kernels.pull_arm(*known, sweep.arm, float(rewards[sweep.arm]), prior, out)
        elif sweep.name == "table":
            _follow_kernels.follow_tables(*known, rewards, prior, tables, sweep.group, out)
        else:
            won, lost, shared = tables
            _follow_kernels.follow_one_step(*known, rewards, prior, won, lost, shared, sweep.group, out)

    return step


def overwrite_layers(
    lattice: Lattice, weights: FloatArray, sweep_of: Callable[[Layer], Work], workers: int, progress: Progress
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
    paths: FloatArray,
    weights: FloatArray,
    layer: Layer,
    problem: Customers,
    actions: AnyArray,
    later: FloatArray,
) -> float:
    """Add what reaches each state of `layer` to where its arms lead; return the reward earned.

    `actions` ``[G, states]`` are those of each segment.
    """
    from elsv.lattice._sweep_kernels import spread as kernel

    blocks, numbers = (layer.pulls, layer.starts, layer.after), plain(problem)
    _, chances = coming(problem.segments, blocks)
    earned = 0.0
    for shares, arms in zip(np.ascontiguousarray(chances.T), actions, strict=True):
        earned += kernel(paths, weights, *blocks, *numbers, shares, np.array(arms), later)
    return float(earned)
