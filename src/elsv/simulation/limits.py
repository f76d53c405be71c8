"""How large a simulation may be."""

from __future__ import annotations

from elsv._base.machine import available_memory
from elsv._base.numbers import counted
from elsv.errors import InvalidInputError
from elsv.simulation.engine import Run

_MOST_STEPS = 10_000_000
_MOST_DECISIONS = 10**12  # of each policy: hours for the quickest ones


def check_size(run: Run) -> None:
    """Raise if a run would take days, or more memory than there is."""
    if run.horizon > _MOST_STEPS:
        raise InvalidInputError(
            f"simulations go up to {_MOST_STEPS:,} steps, got {counted(run.horizon)}; give a shorter horizon"
        )
    if run.instances * run.horizon > _MOST_DECISIONS:
        raise InvalidInputError(
            f"{counted(run.instances)} instances of {run.horizon:,} steps are more than {_MOST_DECISIONS:,} "
            "decisions of each policy; give fewer instances or steps"
        )
    curves, room = 8 * len(run.policies) * run.instances * run.horizon, available_memory()
    if run.keep_raw and room is not None and curves > room:
        raise InvalidInputError(
            f"the regret of every instance and step takes {curves / 1e9:,.1f} GB, and {room / 1e9:,.1f} GB "
            "are available; leave out --raw (keep_raw), or give fewer instances or steps"
        )
