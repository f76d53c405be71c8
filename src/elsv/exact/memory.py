"""How much memory an exact answer takes: known in closed form, and refused beforehand if there is too little.

A policy on layers says what it takes in one layer (`elsv.policies.layers.Room`); here that is added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from elsv._base.machine import available_memory
from elsv._base.numbers import as_float, counted
from elsv._base.numbers import memory as memory_in_words
from elsv.beliefs.abilities import factors
from elsv.beliefs.layers.memory import weights_bytes
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import block_count, layer_size, states_up_to
from elsv.policies.layers import Room, room_of
from elsv.problem import Problem

SHORTER = "use a shorter horizon, or simulate instead (elsv compare)"
_OTHER = 1.5e6  # bytes of small things
_ARRIVING = 10.0  # bytes for a state and segment, of who comes next
_PACKED = 0.3  # bytes that the arm of a state takes when it is kept, about


@dataclass(frozen=True)
class Cost:
    """What an exact answer takes, known before it starts."""

    states: int  # of all layers
    bytes: int  # largest memory at one time


def estimate(problem: Problem, keep: int = 0) -> Cost:
    """Return what `elsv.exact.solve` takes if it keeps the actions of `keep` steps."""
    room = in_place_bytes(problem, [Room()])
    if keep:
        arms, horizon, each = problem.arms, problem.steps, problem.segments.count
        states = as_float(states_up_to(arms, keep - 1))
        packed = each * (_PACKED * states + as_float(layer_size(arms, keep - 1)))
        room += packed
        if keep == horizon:  # then the rewards by step are followed, and one of what was swept is still there
            more = 0.0 if each == 1 else _ARRIVING * each
            following = (18.0 + more) * as_float(layer_size(arms, horizon)) + _weights(problem)
            room = max(room, packed + following)
    return cost_of(problem, room)


def cost_of(problem: Problem, room: float) -> Cost:
    """Return an answer of so many bytes; past all memory it no longer matters how many."""
    total = min(room + _OTHER, 1e300)
    return Cost(states_up_to(problem.arms, problem.steps - 1), int(total))


def in_place_bytes(problem: Problem, rooms: Sequence[Room]) -> float:
    """Return what policies take that choose and pull in one sweep, each layer in the place of the next."""
    size = 8.0 * as_float(layer_size(problem.arms, problem.steps))
    sweeping = size * (len(rooms) + _weighted(problem)) + sum(room.tables for room in rooms)
    return max(sweeping, _weights(problem))


def by_layers_bytes(problem: Problem, policies: Sequence[Any]) -> float:
    """Return what policies take that need as many layers as they read."""
    arms, horizon, parts = problem.arms, problem.steps, problem.segments.count
    shared, most_passing, kept, tables, first = list[float](), 0.0, 0.0, 0.0, 0.0
    for made in _some_layers(horizon):
        size = 8.0 * as_float(layer_size(arms, made))
        rooms = [room_of(policy, problem, made) for policy in policies]
        # Arrays that only earlier layers need are smaller.
        shared += [size] * (max(room.shared for room in rooms) - len(shared))
        choice = (parts - 1) / 8  # of further segments
        most_passing = max(most_passing, *(size * (room.passing + choice) + room.batch for room in rooms))
        kept = max(kept, size * sum(room.kept for room in rooms))
        tables = max(tables, sum(room.tables for room in rooms))
        first = max(first, sum(room.first for room in rooms))
    reach: int = max(1, *(policy.reach for policy in policies))
    held = 8.0 * _layers_held(arms, horizon, reach) if _weighted(problem) else 0.0
    blocks = 8.0 * (2 * arms + 1) * (reach + 2) * as_float(block_count(arms, horizon))
    values = 8.0 * as_float(layer_size(arms, horizon)) * parts * len(policies)
    sweeping = values + max(sum(shared) + most_passing + kept, first)
    return max(held + blocks + tables + sweeping, _weights(problem))


def check_memory(cost: Cost, memory: int | None = None) -> None:
    """Raise if `cost` does not fit into `memory` bytes (default: what is available)."""
    limit = available_memory() if memory is None else memory
    if limit is not None and cost.bytes > limit:
        raise InvalidInputError(
            f"{counted(cost.states)} states need {memory_in_words(cost.bytes, 1)}; "
            f"{limit / 1e9:,.1f} GB are available; {SHORTER}"
        )


def _some_layers(horizon: int) -> Iterator[int]:
    """Yield the last layers and ever fewer of those before: the largest ones decide."""
    made = horizon - 1
    while made >= 0:
        yield made
        made -= max(1, (horizon - made) // 8)


def _weights(problem: Problem) -> float:
    return weights_bytes(problem.belief, problem, problem.steps, problem.segments.count > 1)


def _weighted(problem: Problem) -> bool:
    return not factors(problem.belief)


def _layers_held(arms: int, horizon: int, reach: int) -> float:
    """Return the states of the layers whose weights are held at one time."""
    below = horizon - reach - 1
    return as_float(states_up_to(arms, horizon) - (states_up_to(arms, below) if below >= 0 else 0))
