r"""Policies that search ahead, on whole layers of a GPU: lookahead on the commit value, and `plan`.

A search of depth d from all states of layer m is the commit value of layer m + d, swept back by the best arm
to layer m + 1, and one sweep that chooses. Where it goes by a step of several pulls, those of each arm are
swept back apart until the best of them is taken. Many pulls of one arm are swept back side by side with it
(`elsv.policies.plan_layers`). Weights of a layer serve all arrays that are swept through it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from elsv.exact.cuda.device import NULL
from elsv.exact.cuda.rules import Rule, Table
from elsv.exact.cuda.sweeps import LayerSweeps
from elsv.lattice.small import singles
from elsv.policies.layers import Search as LayerSearch
from elsv.policies.plan_layers import PlannedSearch, SearchOrIndex
from elsv.policies.plan_rules import (
    FAR,
    STALLED,
    WORTHWHILE,
    Way,
    depth_of,
    searches_free,
    way_ahead,
)
from elsv.problem import Problem
from elsv.values.commit import CommitValue


@dataclass(frozen=True)
class Search:
    """How far a policy searches from a layer, by the pulls that are left."""

    depth: int | None = None  # None: what the effort allows
    effort: int = 0
    far: int = FAR
    index: Rule | None = None  # decides where a search of independent arms is too short

    def way(self, arms: int, left: int) -> Way:
        """Return how the search goes ahead, and how many pulls of one arm are weighed besides."""
        if self.depth is not None:
            return Way(singles(min(self.depth, left)))
        if self.index is not None:
            return Way(singles(depth_of(arms, self.effort, left)))
        return way_ahead(arms, self.effort, left, self.far)

    def searches(self, arms: int, left: int) -> bool:
        """Return whether a search decides, not an index."""
        return self.index is None or searches_free(arms, self.effort, left)


def search_of(problem: Problem, policy: object) -> Search | None:
    """Return the search that a policy on layers is, or None."""
    if isinstance(policy, PlannedSearch) and policy.belief == problem.belief:
        return Search(effort=policy.effort, far=policy.far)
    if isinstance(policy, SearchOrIndex) and policy.belief == problem.belief:
        return Search(effort=policy.effort, index=Table(policy.index))
    if isinstance(policy, LayerSearch) and policy.first is None and policy.belief == problem.belief:
        return Search(policy.depth) if type(policy.value) is CommitValue else None
    return None


def arrays_of(search: Search, problem: Problem) -> int:
    """Return how many layers are held at one time."""
    long = search.way(problem.arms, problem.steps).stops > 0
    return 5 + 4 * problem.arms * long


class Rooms:
    """Arrays that searches use in turn: two for the search; for each arm two of a step, two of many pulls."""

    def __init__(self, sweeps: LayerSweeps, search: Search) -> None:
        arms, horizon = sweeps.problem.arms, sweeps.problem.steps
        self.size = sweeps.numbering.size(horizon - 1)
        self._ahead = [sweeps.device.empty(self.size) for _ in range(2)]
        long = search.way(arms, horizon).stops > 0
        self._stops = [sweeps.device.empty(self.size * arms) for _ in range(2 * long)]
        self._steps = [sweeps.device.empty(self.size * arms) for _ in range(2 * long)]

    def ahead(self, made: int) -> Any:
        """Return the search's array of a layer."""
        return self._ahead[made % 2]

    def stops_of(self, made: int) -> Any:
        """Return the arrays of all arms' many pulls, one after the other."""
        return self._stops[made % 2]

    def stop(self, arm: int, made: int) -> Any:
        """Return that of one arm."""
        return self._stops[made % 2][arm * self.size :]

    def steps_of(self, made: int) -> Any:
        """Return the arrays of all arms' pulls of one step, one after the other."""
        return self._steps[made % 2]

    def step(self, arm: int, made: int) -> Any:
        """Return that of one arm."""
        return self._steps[made % 2][arm * self.size :]


def follow_search(sweeps: LayerSweeps, search: Search, values: list[Any], room: Rooms, layer: int) -> None:
    """Set values[1] to the worth of the policy in a layer, values[0] being that of the next one."""
    arms, horizon = sweeps.problem.arms, sweeps.problem.steps
    left = horizon - layer
    way = search.way(arms, left)
    most = way.stops
    later = values[0] if layer + 1 < horizon else NULL
    if search.index is not None and not search.searches(arms, left):
        sweeps.whole(search.index.kernel, layer, later, values[1], search.index.more(sweeps.device, layer))
        return
    top = layer + way.depth
    chosen = {layer + made for made in accumulate(way.steps)}  # layers where an arm is chosen
    ahead: Any = NULL  # of the layer after the one swept
    stops: list[Any] = [NULL] * arms
    for made in range(layer + max(way.depth, most), layer, -1):
        times = float(horizon - made)
        if made == horizon:
            continue  # nothing is earned any more
        if most:
            for arm in range(arms):
                if made == layer + most:
                    sweeps.whole("sweep_commit", made, NULL, room.stop(arm, made), (times,))
                else:
                    told = (arm + sweeps.first, times)
                    sweeps.whole("sweep_stop", made, stops[arm], room.stop(arm, made), told)
                stops[arm] = room.stop(arm, made)
        if made == top:
            sweeps.whole("sweep_commit", made, NULL, room.ahead(made), (times,))
        elif made < top and made not in chosen:
            for arm in range(arms):
                before = ahead if made + 1 in chosen else room.step(arm, made + 1)
                sweeps.whole("sweep_stop", made, before, room.step(arm, made), (arm + sweeps.first, 0.0))
        elif made < top and made + 1 not in chosen:
            sweeps.whole("sweep_step", made, NULL, room.ahead(made), (room.steps_of(made + 1), room.size))
        elif made < top:
            sweeps.whole("sweep_best", made, ahead, room.ahead(made))
        if made in chosen:
            ahead = room.ahead(made)
    if most:
        gains = (STALLED, WORTHWHILE, way.settled)
        more = (ahead, room.stops_of(layer + 1), room.size, float(left), *gains)
        sweeps.whole("sweep_plan", layer, later, values[1], more)
    else:
        sweeps.whole("sweep_search", layer, later, values[1], (ahead,))
