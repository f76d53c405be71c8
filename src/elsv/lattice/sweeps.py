"""Sweeps between layers of the lattice: the one place that calls the compiled sweeps of the CPU.

A sweep takes what is known of all states of layer m + 1 and gives it for layer m. Where the belief has
weights W (`elsv.beliefs.abilities.layer_weights`) values are W times the worth of a state, else the worth.

A policy that chooses and pulls in one names its sweep (`Sweep`), and a layer takes the place of the one after
it (`overwrite_layers`). Each backend has a kernel for the name: here the CPU, in `elsv.exact.cuda` a GPU. All
other policies go layer by layer (`Sweeps`), several threads to a layer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from elsv._base.progress import Progress
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import Lattice, Layer, layer_size
from elsv.lattice.workers import Cascade, Crew, Work

# Sets the first array from values and weights of the next layer, in a range of a layer's blocks.
Step = Callable[[FloatArray, FloatArray, FloatArray, Layer, int, int], None]
Customers = Any  # arms and who comes: a problem, with its `segments`
NO_ACTIONS = np.empty((0, 0), np.uint8)
_NOTHING = np.empty(0)
_ROUNDING = 1e-6  # of chances that sum to 1


class Sweep(NamedTuple):
    """How a policy chooses in a layer: the kernel's name and its arguments.

    ``best`` pulls each segment's best arm. The others give everyone the same arm: ``arm`` that one, ``table``
    the one with the largest reward times entry of its table, ``gain`` the one whose outcomes gain most, by
    tables of what a success, a failure and another arm's pull are worth per reward. ``search``, which a GPU
    alone has, looks several layers ahead; the others read the next layer alone.
    """

    name: Literal["best", "arm", "table", "gain", "search"]
    arm: int = 0
    tables: FloatArray = np.empty(0)  # of each arm's own states: [groups, states], gains [3, groups, states]
    group: IntArray = np.empty(0, np.int64)  # [N], which table each arm reads
    steps: tuple[int, ...] = ()  # by which a search goes ahead, in pulls of one arm, to commit there
    stops: int = 0  # pulls of one arm that it weighs besides; none: it sees all that is left


def given_by(problem: Customers) -> Callable[[FloatArray, FloatArray, Layer, int, int], Any]:
    """Return what makes the kernels' `Given` of the next layer's values and weights and a range of blocks."""
    from elsv.lattice._tile_kernels import Given

    who = problem.segments
    # Copies have the one layout that the kernels are compiled for.
    rewards, prior, segment = problem.rewards.copy(), problem.prior.copy(), np.array(who.of_arm)

    def given(values: FloatArray, weights: FloatArray, layer: Layer, begin: int, end: int) -> Given:
        pulls, starts, after = layer.pulls[begin:end], layer.starts[begin:end], layer.after[begin:end]
        chances = np.ones((len(pulls), 1)) if who.count == 1 else np.array(who.chances(pulls))
        return Given(values, weights, pulls, starts, after, rewards, prior, segment, chances)

    return given


def best_step(problem: Customers, actions: AnyArray = NO_ACTIONS) -> Step:
    """Return the sweep that pulls each segment's best arm; `actions` ``[G, states]`` get it unless empty."""
    from elsv.lattice._sweep_kernels import maximise

    given = given_by(problem)
    return lambda out, *where: maximise(given(*where), actions, out)


def step_of(problem: Customers, sweep: Sweep) -> Step:
    """Return a sweep over some blocks as the CPU does it; `out` may be the values."""
    from elsv.lattice import _follow_kernels, _sweep_kernels

    if sweep.name == "best":
        return best_step(problem)
    kernel: Any = _sweep_kernels.pull_arm
    extra: tuple[Any, ...] = (sweep.arm,)
    if sweep.name != "arm":
        kernel = _follow_kernels.follow_tables if sweep.name == "table" else _follow_kernels.follow_one_step
        extra = np.require(sweep.tables, np.float64, ["C", "W"]), sweep.group
    given = given_by(problem)
    return lambda out, *where: kernel(given(*where), *extra, out)


def overwrite_layers(
    problem: Customers,
    lattice: Lattice,
    weights: FloatArray,
    sweep_of: Callable[[Layer], Work],
    workers: int,
    progress: Progress,
) -> None:
    """Sweep over the layers T - 1 … 1, each in the place of the next one, and so `weights` unless empty."""
    from elsv.lattice._sweep_kernels import add_weights

    given = given_by(problem)

    def stage(made: int) -> tuple[Layer, Work]:
        layer = lattice.layer(made)
        sweep = sweep_of(layer)

        def work(begin: int, end: int) -> None:
            sweep(begin, end)
            if len(weights):
                add_weights(given(weights, weights, layer, begin, end), weights)

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

    given = given_by(problem)(paths, weights, layer, 0, len(layer.pulls))
    return float(sum(kernel(given, g, np.array(arms), later) for g, arms in enumerate(actions)))


class Sweeps:
    """The layers of one problem's lattice, last one first, and what policies share while going through them.

    A state is worth what its customers are, whoever comes. After `horizon` pulls nothing is earned. `weigh`
    gives the weights of the last layer under a belief, or nothing where none are needed; those of earlier
    layers are sums. Beliefs that are equal share their weights.
    """

    def __init__(self, arms: Customers, horizon: int, crew: Crew, weigh: Callable[[Any], FloatArray]) -> None:
        from elsv.lattice import _sweep_kernels

        self.arms, self.segments, self.horizon, self.crew = arms, arms.segments, horizon, crew
        self._weigh, self._kernels, self._given = weigh, _sweep_kernels, given_by(arms)
        self._lattice = Lattice(arms.arms, horizon)
        self._weights: dict[Any, dict[int, FloatArray]] = {}
        self._layers: dict[int, Layer] = {}
        self._spare: list[FloatArray] = []

    def layer(self, made: int) -> Layer:
        """Return the states after `made` pulls."""
        if made not in self._layers:
            self._layers[made] = self._lattice.layer(made)
        return self._layers[made]

    def weights(self, made: int, belief: Any) -> FloatArray:
        """Return W of the states after `made` pulls under `belief`; nothing where none are needed."""
        key = belief if belief.__hash__ is not None else id(belief)
        if key not in self._weights:
            self._weights[key] = {self.horizon: self._weigh(belief)}
        known = self._weights[key]
        while made not in known:
            lowest = min(known)
            later = known[lowest]
            if not len(later):
                return later
            layer = self.layer(lowest - 1)
            # Many layers of weights may be held at once: none takes more room than it needs.
            known[layer.made] = np.empty(layer.size)
            self._sweep(self._kernels.add_weights, layer, later, later, known[layer.made])
        return known[made]

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

    def _sweep(
        self, kernel: Any, layer: Layer, values: FloatArray, weights: FloatArray, *more: Any, **pays: Any
    ) -> None:
        """Run a kernel on all blocks of the layer, shared among the threads; `more` are its arguments."""

        def work(begin: int, end: int) -> None:
            kernel(self._given(values, weights, layer, begin, end)._replace(**pays), *more)

        self.crew.run(layer, work)

    def _next(
        self, kernel: Any, layer: Layer, values: FloatArray, belief: Any, *more: Any, **pays: Any
    ) -> FloatArray:
        """Return what a kernel makes of the next layer, in room to give back; `values` is given back."""
        weights, out = self.weights(layer.made + 1, belief), self.take(layer.size)
        self._sweep(kernel, layer, values, weights, *more, out, **pays)
        if len(values):
            self.give(values)
        return out

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
        return self._next(self._kernels.maximise, layer, values, belief, actions)

    def pull(self, layer: Layer, values: FloatArray, arm: int, belief: Any) -> FloatArray:
        """Return the worth of pulling `arm` in every state; `values` of the next layer is given back."""
        return self._next(self._kernels.pull_arm, layer, values, belief, arm)

    def follow(
        self, layer: Layer, values: FloatArray, arms: AnyArray, belief: Any, rewards: FloatArray
    ) -> FloatArray:
        """Return the worth of a policy in every state; `values` of the next layer is given back.

        `arms` names the arm of each segment ``[G, states]``, or holds the probability of each arm when its
        segment comes ``[N, states]``. The arms pay `rewards`, such as those of one segment alone.
        """
        arms = checked_choice(arms, layer, self.segments)
        kernel = self._kernels.follow if arms.dtype == np.uint8 else self._kernels.mix
        return self._next(kernel, layer, values, belief, arms, rewards=rewards)

    def average(self, layer: Layer, later: FloatArray, belief: Any) -> FloatArray:
        """Return the expectation of a martingale in every state, from its values in the next layer."""
        out = np.empty(layer.size)
        self._sweep(self._kernels.average, layer, later, self.weights(layer.made + 1, belief), out)
        return out

    def best_reward(self, layer: Layer, times: float, belief: Any) -> FloatArray:
        """Return `times` what the next customer pays in expectation, by the segment's best arm.

        The result is in room to give back.
        """
        return self._next(self._kernels.commit_values, layer, _NOTHING, belief, times)

    def sum_tables(self, layer: Layer, tables: FloatArray, scale: FloatArray, belief: Any) -> FloatArray:
        """Return in every state Σ_i scale_i times the number of arm i's state in its table ``[N, size]``."""
        weights, out = self.weights(layer.made, belief), self.take(layer.size)
        self._sweep(self._kernels.separable_values, layer, _NOTHING, weights, tables, scale, out)
        return out

    def prefer_infinite(self, layer: Layer, tables: FloatArray, group: IntArray, actions: AnyArray) -> None:
        """Set `actions` to the best arms by reward times index where any arm has an infinite one."""
        if np.isposinf(tables).any():
            self._sweep(self._kernels.prefer_infinite, layer, _NOTHING, _NOTHING, tables, group, actions)


def checked_choice(choice: object, layer: Layer, who: Any) -> AnyArray:
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
