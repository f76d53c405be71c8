"""Memory that an answer on a GPU takes, known before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from elsv._base.numbers import counted, memory
from elsv.errors import InvalidInputError
from elsv.exact.cuda.search import Search, arrays_of
from elsv.exact.cuda.sweeps import ARMS, Numbering, weighted
from elsv.exact.memory import Cost
from elsv.lattice.numbering import states_up_to
from elsv.problem import Problem

_SPARE = 300 << 20  # bytes that are left alone
_NODES = 0.5  # of quadrature, for each pull


@dataclass(frozen=True)
class Room:
    """How a card's memory is divided: doubles of the values, of one batch, of weights."""

    values: int
    batch: int
    weights: int
    bytes: int


def room_for(problem: Problem, free: int) -> Room:
    """Return the quickest division that fits into `free` bytes: whole layers, else some groups at a time."""
    numbering, horizon = Numbering(problem.arms, problem.steps), problem.steps
    before = max(horizon - 2, 0)
    weigh = weighted(problem)
    values, tables = numbering.size(horizon - 1), _table_bytes(problem) + _SPARE
    batch, weights = numbering.size(before), numbering.size(horizon) * weigh
    left = (free - tables) // 8 - values
    if batch + weights > left:
        least, least_weights = numbering.largest_group(before), 2 * numbering.largest_group(horizon) * weigh
        more = max(0, left - least - least_weights)
        batch = min(batch, least + (more // 3 if weigh else more))
        weights = least_weights + 2 * more // 3 * weigh
    return Room(values, batch, weights, 8 * (values + batch + weights) + tables)


def cost_of(problem: Problem, sweeps: int, searches: list[Search], free: int) -> Cost:
    """Return what policies take that are one sweep, and those that search, one after the other."""
    states = states_up_to(problem.arms, problem.steps - 1)
    size = room_for(problem, free).bytes if sweeps else 0
    for search in searches:
        whole = 8 * Numbering(problem.arms, problem.steps).size(problem.steps)
        size = max(size, arrays_of(search, problem) * whole + _table_bytes(problem) + _SPARE)
    return Cost(states, size)


def check_room(cost: Cost, free: int, name: str) -> None:
    """Raise if the card has too little memory."""
    if cost.bytes > free:
        raise InvalidInputError(
            f"{counted(cost.states)} states need {memory(cost.bytes, 1)} on the GPU, where "
            f"{memory(free, 1)} are free ({name}); use a shorter horizon, or simulate instead "
            "(elsv compare)"
        )


def check_arms(problem: Problem) -> None:
    """Raise if the kernels do not know so many arms, or segments."""
    if problem.segments.stated:
        raise InvalidInputError("device='cuda' does not know segments; use device='cpu'")
    if not 2 <= problem.arms <= ARMS:
        raise InvalidInputError(
            f"device='cuda' knows 2 and {ARMS} arms, got {problem.arms}; use device='cpu'"
        )


def _nodes(problem: Problem) -> float:
    whole = bool((problem.prior == problem.prior.round()).all())
    return (
        _NODES * (problem.steps + float(problem.prior.sum())) if whole else 26.0 * problem.steps**0.5 + 60.0
    )


def _table_bytes(problem: Problem) -> int:
    if not weighted(problem):
        return 0
    entries = problem.steps * (problem.steps + 1) / 2
    return int(8 * ARMS * _nodes(problem) * entries)
