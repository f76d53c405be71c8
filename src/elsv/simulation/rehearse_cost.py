"""How long a rehearsal takes, from a few shops that are played beforehand."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from elsv._base.machine import cores
from elsv.simulation.engine import Run
from elsv.simulation.parallel import run_chunks

_FEW, _MORE = 2, 10  # shops
_LONGEST = 300  # customers that are played beforehand


def seconds_of(runs: Sequence[Run], jobs: int | None = None) -> float:
    """Return about how many seconds it takes to simulate `runs`: the same policies, ever more customers.

    A few shops are played, and then more of them. What policies take grows with how often they are asked, and
    some of it with the shops; all else grows with the customers.
    """
    run = max((run for run in runs if run.horizon <= _LONGEST), key=lambda run: run.horizon, default=runs[0])
    if run.horizon > _LONGEST:
        run = replace(run, horizon=_LONGEST, checkpoints=run.checkpoints[:0])
    _played(run, 1)  # compiles, and fills tables that last
    few, rest = _played(run, _FEW)
    more, _ = _played(run, _MORE)
    each = max(0.0, more - few) / (_MORE - _FEW)
    always = max(0.0, few - _FEW * each)
    total = 0.0
    for other in runs:
        at_once = min(other.chunks, cores(jobs))
        asked, longer = times_asked(other) / times_asked(run), other.horizon / run.horizon
        chunks = other.chunks / at_once
        total += asked * (chunks * always + each * other.instances / at_once) + longer * chunks * rest
    return total


def _played(run: Run, shops: int) -> tuple[float, float]:
    """Return the seconds that policies took in so many shops, and those of everything else."""
    began = time.perf_counter()
    (tally,) = run_chunks(replace(run, instances=shops), [0], 1)
    wall = time.perf_counter() - began
    deciding = sum(policy.seconds for policy in tally.policies)
    return deciding, max(0.0, wall - deciding)


def times_asked(run: Run) -> int:
    """Return for how many customers of a run policies are asked."""
    return sum(map(run.asks, range(1, run.horizon + 1)))
