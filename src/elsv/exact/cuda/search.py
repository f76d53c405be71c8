r"""Policies that search ahead, on whole layers of a GPU: lookahead on the commit value, and `plan`.

A search of depth d from all states of layer m is the commit value of layer m + d, swept back by the best arm
to layer m + 1, and one sweep that chooses. Where it goes by a step of several pulls, those of each arm are
swept back apart until the best of them is taken. Many pulls of one arm are swept back side by side with it
(`elsv.policies.plan_layers`). Weights of a layer serve all arrays that are swept through it.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from elsv.exact.cuda.device import NULL
from elsv.exact.cuda.sweeps import LayerSweeps
from elsv.lattice.steps import Sweep
from elsv.policies.plan_rules import EQUAL, OUTWEIGH, RECOVERED, Way
from elsv.problem import Problem


def arrays_of(problem: Problem, way: Sweep | Way | None) -> int:
    """Return how many layers a search holds at one time, by the way from the first step."""
    return 5 + 4 * problem.arms * _is_long(way)


def _is_long(way: Sweep | Way | None) -> bool:
    return isinstance(way, Way) and way.stops > 0


class Buffers:
    """Arrays that searches use in turn: two for the search; for each arm two of a step, two of many pulls."""

    def __init__(self, sweeps: LayerSweeps, first: Sweep | Way | None) -> None:
        arms, horizon = sweeps.problem.arms, sweeps.problem.steps
        self.size = sweeps.numbering.size(horizon - 1)
        self._ahead = [sweeps.device.empty(self.size) for _ in range(2)]
        long = _is_long(first)
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


def follow_search(
    sweeps: LayerSweeps, way: Sweep | Way, values: list[Any], room: Buffers, layer: int
) -> None:
    """Set values[1] to the worth of the policy in a layer, values[0] being that of the next one."""
    arms, horizon = sweeps.problem.arms, sweeps.problem.steps
    left = horizon - layer
    later = values[0] if layer + 1 < horizon else NULL
    if isinstance(way, Sweep):
        kernel, extra = sweeps.kernel(way, layer)
        sweeps.whole(kernel, layer, later, values[1], extra)
        return
    most = way.stops
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
        more = (ahead, room.stops_of(layer + 1), room.size, float(left), RECOVERED, OUTWEIGH, EQUAL)
        sweeps.whole("sweep_plan", layer, later, values[1], more)
    else:
        sweeps.whole("sweep_search", layer, later, values[1], (ahead,))
