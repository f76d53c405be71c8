"""What an exact answer takes, known before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from elsv._numbers import amount, as_float, counted
from elsv.beliefs.abilities import factors
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import layer_size, states_up_to
from elsv.machine import available_memory, cores
from elsv.problem import Problem

_NANOSECONDS = 4.0  # for one state and arm on one core: the estimate of how long it will take


@dataclass(frozen=True)
class Cost:
    """What a solution takes: known before it starts."""

    states: int  # of all layers
    bytes: int  # largest memory at one time
    seconds: float  # roughly


def estimate(problem: Problem, arrays: int | None = None, keep: int = 0) -> Cost:
    """Return what solving takes, with `arrays` of the last layer's size and the actions of `keep` steps."""
    horizon, arms = problem.steps, problem.arms
    weighted = not factors(problem.belief)
    held = arrays if arrays is not None else 1 + weighted
    states = states_up_to(arms, horizon - 1)
    kept = layer_size(arms, max(keep - 1, 0)) if keep else 0
    room = 8 * held * layer_size(arms, horizon) + kept
    if weighted:
        room += 1 << 29 if layer_size(arms, horizon) > 1 << 22 else 0
    return Cost(states, room, 1e-9 * _NANOSECONDS * arms * as_float(states) / cores())


def check_memory(cost: Cost, memory: int | None = None) -> None:
    """Raise if `cost` does not fit into `memory` bytes (default: what is available)."""
    limit = available_memory() if memory is None else memory
    if limit is not None and cost.bytes > limit:
        raise InvalidInputError(
            f"{counted(cost.states)} states need {amount(as_float(cost.bytes) / 1e9, 1)} GB and about "
            f"{amount(cost.seconds)} s; "
            f"{limit / 1e9:,.1f} GB are available; use a shorter horizon, or simulate instead (elsv compare)"
        )
