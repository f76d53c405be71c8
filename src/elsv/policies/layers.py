"""How a policy acts in all states of a lattice layer at once, for exact evaluation.

A policy answers `on_layers()` with one of these. By default it is asked state by state (`StateByState`); the
others are quicker ways to the same arms. All use the tie rule of `elsv.choice`. They say which arm each
segment would get; the sweeps know how many segments there are, one if none is stated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from elsv._base.triangle import number
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.beliefs import Belief
from elsv.beliefs.abilities import best_bytes, layer_best, precise
from elsv.errors import InvalidInputError
from elsv.indices.tables import IndexTables
from elsv.lattice.numbering import Layer, layer_size
from elsv.lattice.sweeps import Sweep, Sweeps
from elsv.problem import Problem
from elsv.state import State
from elsv.values.base import ValueFunction, layer_values, names_sweep, nothing
from elsv.values.separable import gain_sweep

BATCH = 1 << 14
_LEAST = 16  # states that are worth a thread
_PARTS = 4  # of a batch for each thread
_BATCH_BYTES = 72.0  # for each state of a batch and arm


@dataclass(frozen=True)
class Room:
    """Memory that a policy takes in one layer, besides the values that are followed.

    Arrays have one number for each state of the layer.
    """

    shared: int = 1  # arrays from those that sweeps share
    passing: float = 0.125  # arrays of its own that come and go; an arm takes an eighth of a number
    kept: float = 0.0  # arrays that stay for the next layer
    batch: float = 0.0  # bytes of batches that are asked for one after the other
    tables: float = 0.0  # bytes that stay until the end
    first: float = 0.0  # bytes before the first layer that are given back


class LayerPolicy:
    """A policy on whole layers, the last layer first: `decide`, and what it declares of itself."""

    in_place: bool = False  # whether the CPU has its `kernel`, so that a layer may take the place of the next

    @property
    def reach(self) -> int:
        """How many layers past the present one `decide` reads."""
        return 0

    def decide(self, sweeps: Sweeps, layer: Layer) -> AnyArray:
        """Return each segment's arm in every state, bytes ``[G, states]``; ``[states]`` will do for one.

        Or the probability of each arm when its segment comes, ``[N, states]``.
        """
        raise NotImplementedError

    def kernel(self, problem: Problem, step: int) -> Sweep | None:
        """Return the sweep that chooses and pulls in one at `step`, or None; a GPU has all of them."""
        return None

    def room(self, problem: Problem, made: int) -> Room:
        """Return the memory that `decide` takes in the layer `made`."""
        return Room(shared=2, passing=1.0)

    def earns(self, problem: Problem) -> float | None:
        """Return what the policy earns where no sweep is needed to know it."""
        return None


@dataclass(frozen=True)
class OwnLayers(LayerPolicy):
    """A form of a user's own that is no `LayerPolicy`: its `reach` and `decide`."""

    form: Any

    @property
    def reach(self) -> int:
        """The form's."""
        return int(self.form.reach)

    def decide(self, sweeps: Sweeps, layer: Layer) -> AnyArray:
        """Return what the form decides."""
        return np.asarray(self.form.decide(sweeps, layer))


def batch_bytes(problem: Problem, made: int, batch: int) -> float:
    """Return the bytes of asking for a layer in batches of so many states."""
    return _BATCH_BYTES * min(batch, layer_size(problem.arms, made)) * problem.arms


@dataclass(frozen=True)
class OneArm(LayerPolicy):
    """One arm, whatever happens; with segments one arm for each of them."""

    arm: int | tuple[int, ...]
    in_place = True

    def decide(self, sweeps: Sweeps, layer: Layer) -> AnyArray:
        """Return the same arm everywhere."""
        arms = sweeps.room_for_arms(layer)
        arms[...] = np.reshape(self.arm, (-1, 1))
        return arms

    def kernel(self, problem: Problem, step: int) -> Sweep:
        """Return the sweep that pulls the arm."""
        return Sweep("arm", arm=int(np.max(self.arm)))

    def earns(self, problem: Problem) -> float:
        """Return what the arm earns: by the law of total expectation its prior mean at every step."""
        arm = int(np.max(self.arm))
        mean = precise(problem.belief).mean(State.initial(problem), np.random.default_rng(0))
        return float(problem.steps * problem.rewards[arm] * mean[arm])


@dataclass(frozen=True)
class Optimum(LayerPolicy):
    """The best arm of every segment: the Bayes optimum itself, beside other policies."""

    belief: Belief
    in_place = True
    reach = 1
    _latest: dict[int, FloatArray] = field(init=False, repr=False, default_factory=dict)

    def decide(self, sweeps: Sweeps, layer: Layer) -> AnyArray:
        """Return the best arms, from the next layer's worth; past the last one nothing is worth anything."""
        later = self._latest.pop(layer.made + 1, None)
        if later is None:
            self._latest.clear()
            later = nothing(sweeps, sweeps.layer(layer.made + 1))
        arms = sweeps.room_for_arms(layer)
        self._latest[layer.made] = sweeps.maximise(layer, later, self.belief, arms)
        return arms

    def kernel(self, problem: Problem, step: int) -> Sweep:
        """Return the sweep that takes the best arm."""
        return Sweep("best")

    def room(self, problem: Problem, made: int) -> Room:
        """Return what `decide` takes."""
        return Room(kept=1.0)


@dataclass(frozen=True)
class Search(LayerPolicy):
    r"""Lookahead of any depth: d sweeps from the frontier for each step, not a search for each state.

    Without a value nothing is worth anything after the present pull. With `first`, an arm whose index is
    infinite comes before all search.

    One step on a separable value, or on none, is a kernel. A pull of arm i changes only that arm's term of
    :math:`v = c \sum_i r_i \upsilon(s_i)` (paper Algorithm 1, depth 1), so that but for what all arms share

    .. math:: q(s, i) = r_i \bigl[p_i(s)\, (1 + c\, \upsilon(s_i{+}\text{success}) - c\, \upsilon(s_i))
        + (1 - p_i(s))\, (c\, \upsilon(s_i{+}\text{failure}) - c\, \upsilon(s_i))\bigr],

    two tables for each arm, which know infinite indices by themselves.
    """

    value: ValueFunction | None
    belief: Belief
    depth: int = 1
    first: IndexTables | None = None
    in_place: bool = False  # only for a belief with weights, the problem's own

    @property
    def reach(self) -> int:
        """The depth and what the value reads beyond it."""
        return self.depth + int(getattr(self.value, "layer_reach", 0))

    def decide(self, sweeps: Sweeps, layer: Layer) -> AnyArray:
        """Back the frontier up to the layer and compare."""
        actions = sweeps.room_for_arms(layer)
        top = sweeps.layer(min(layer.made + self.depth, sweeps.horizon))
        values = layer_values(self.value, sweeps, top, self.belief)
        for made in range(top.made - 1, layer.made, -1):
            values = sweeps.maximise(sweeps.layer(made), values, self.belief)
        sweeps.give(sweeps.maximise(layer, values, self.belief, actions))
        if self.first is not None:
            sweeps.prefer_infinite(layer, self.first.at(layer.step), self.first.group, actions)
        return actions

    def room(self, problem: Problem, made: int) -> Room:
        """Return what `decide` takes."""
        tables = 0.0 if self.first is None else self.first.bytes
        return Room(shared=getattr(self.value, "layer_rooms", 2), tables=tables)

    def kernel(self, problem: Problem, step: int) -> Sweep | None:
        """Return the sweep that the value names."""
        value: Any = self.value
        if self.belief != problem.belief:
            return None
        if value is None:
            return gain_sweep(problem, None, step) if self.depth == 1 else None
        named: Sweep | None = value.search_sweep(problem, step, self.depth) if names_sweep(value) else None
        # Of these the gains alone know which arms come first.
        return named if self.first is None or (named and named.name == "gain") else None


@dataclass(frozen=True)
class StateByState(LayerPolicy):
    """Any function (state, step, rng) -> arms, called on batches; it must not draw random numbers."""

    function: Callable[..., Any]
    bytes: float = 0.0  # that the function takes whatever the states
    repeats: bool = False  # whether it is known to draw no random numbers, and takes time

    def decide(self, sweeps: Sweeps, layer: Layer) -> AnyArray:
        """Ask for all states of the layer; one that takes time for parts of a batch side by side."""
        actions, crew = sweeps.room_for_arms(layer), sweeps.crew

        def ask(state: State, seed: int) -> IntArray:
            """Return the arm of every segment in every state, ``[G, states]``."""
            who = (() if turn is None else (turn,) for turn in sweeps.segments.turns)
            asked = (self.function(state, layer.step, np.random.default_rng(seed), *one) for one in who)
            return np.stack([check_answer(arms, state) for arms in asked])

        def work(batch: tuple[slice, State]) -> None:
            here, state = batch
            actions[..., here] = ask(state, 0)
            if self.repeats or here.start > 0:
                return
            if not np.array_equal(actions[..., here], ask(state, 1)):
                raise InvalidInputError(
                    "exact evaluation needs a policy that draws no random numbers; this one gave two answers "
                    f"at step {layer.step}; simulate it instead"
                )

        parts = _PARTS * crew.workers if self.repeats else 1
        batches = layer.batches(sweeps.arms, max(_LEAST, min(BATCH, layer.size) // parts))
        while some := tuple(islice(batches, parts)):
            if self.repeats:
                crew.map(work, some)
            else:
                work(*some)
        return actions

    def room(self, problem: Problem, made: int) -> Room:
        """Return what `decide` takes."""
        return Room(batch=batch_bytes(problem, made, BATCH) + self.bytes)


@dataclass(frozen=True)
class ByChances(LayerPolicy):
    """Each arm with the probability that the policy gives it, in batches of states."""

    policy: Any  # its `chances(state, step)` are the same for the same state
    batch: int = 1 << 12  # states that are asked for at a time

    def decide(self, sweeps: Sweeps, layer: Layer) -> AnyArray:
        """Ask for all states of the layer."""
        out = np.empty((sweeps.arms.arms, layer.size))
        for here, state in layer.batches(sweeps.arms, self.batch):
            out[:, here] = self.policy.chances(state, layer.step).T
        return out

    def room(self, problem: Problem, made: int) -> Room:
        """Return what `decide` takes."""
        batch = batch_bytes(problem, made, self.batch)
        return Room(passing=problem.arms, kept=problem.arms, batch=batch)


def by_chances(policy: Any, problem: Problem) -> LayerPolicy:
    """Return each arm with its chance: the `on_layers` of a policy that knows its chances in every state."""
    return ByChances(policy)


@dataclass(frozen=True)
class ByChance(LayerPolicy):
    r"""Thompson sampling: arm i with the probability that it is the best of its segment.

    :math:`P(i \text{ best} \mid s)` is a martingale: only the last layer needs quadrature, every earlier one
    is the expectation over the outcomes of one pull. `change` makes other chances ``[states, N]`` of them.
    """

    belief: Belief
    change: Callable[[FloatArray], FloatArray] | None = None
    reach = 1
    _latest: dict[int, FloatArray] = field(init=False, repr=False, default_factory=dict)

    def decide(self, sweeps: Sweeps, layer: Layer) -> AnyArray:
        """Return P(arm i is best), from the next layer's or, at first, by quadrature."""
        later = self._latest.pop(layer.made + 1, None)
        if later is None:
            self._latest.clear()
            chances = layer_best(self.belief, sweeps.arms, layer, sweeps.crew, sweeps.segments.groups)
        else:
            chances = np.stack([sweeps.average(layer, row, self.belief) for row in later])
        self._latest[layer.made] = chances
        return chances if self.change is None else np.ascontiguousarray(self.change(chances.T).T)

    def room(self, problem: Problem, made: int) -> Room:
        """Return what `decide` takes."""
        arms, first = problem.arms, 0.0
        if made == problem.steps - 1:
            first = best_bytes(self.belief, problem, made, problem.segments.groups)
        return Room(passing=(2 if self.change is None else 7) * arms, kept=arms, first=first)


@dataclass(frozen=True)
class ByIndex(LayerPolicy):
    """The arm with the largest reward times index in all states of a layer (paper Algorithm 2)."""

    tables: IndexTables
    in_place = True

    def decide(self, sweeps: Sweeps, layer: Layer) -> AnyArray:
        """Look every arm up in its table."""
        actions = sweeps.room_for_arms(layer)
        table, group = self.tables.at(layer.step), self.tables.group
        for first in range(0, layer.size, BATCH):
            stop = min(first + BATCH, layer.size)
            index = table[group, number(*layer.counts(first, stop))]
            actions[..., first:stop] = sweeps.best_arms(sweeps.arms.rewards * index)
        return actions

    def kernel(self, problem: Problem, step: int) -> Sweep:
        """Return the sweep that looks them up, and writes no arms down."""
        return Sweep("table", tables=self.tables.at(step), group=self.tables.group)

    def room(self, problem: Problem, made: int) -> Room:
        """Return what `decide` takes, and the tables."""
        return Room(batch=batch_bytes(problem, made, BATCH), tables=self.tables.bytes)


def check_answer(answer: object, state: State) -> IntArray:
    """Return a policy's arms, one for each instance, if they are whole numbers from 0 to N - 1."""
    arms = np.asarray(answer)
    right = arms.dtype.kind in "iu" and arms.size > 0 and arms.min() >= 0 and arms.max() < state.arms
    if not right or arms.shape not in ((), state.shape):
        raise InvalidInputError(
            f"a policy must return whole numbers from 0 to {state.arms - 1}, one for each of the "
            f"{state.shape or 'single'} states, got {np.array2string(arms, threshold=6)}"
        )
    return np.broadcast_to(arms, state.shape).astype(np.int64)
