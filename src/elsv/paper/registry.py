"""All experiments, in the order of the page."""

from __future__ import annotations

from collections.abc import Sequence

from elsv.errors import unknown_name
from elsv.paper import (
    arms,
    cost,
    decomposition,
    depth,
    discount,
    growth,
    long_horizon,
    optimum,
    theorem,
    transition,
    values,
)
from elsv.paper.base import Experiment

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    module.EXPERIMENT
    for module in (
        transition,
        values,
        theorem,
        cost,
        depth,
        discount,
        optimum,
        long_horizon,
        arms,
        growth,
        decomposition,
    )
)
NAMES = tuple(experiment.name for experiment in EXPERIMENTS)


def chosen(only: Sequence[str] = ()) -> list[Experiment]:
    """Return the experiments with these names, all of them by default, in the order of the page."""
    for name in only:
        if name not in NAMES:
            raise unknown_name("experiment", name, NAMES)
    return [experiment for experiment in EXPERIMENTS if not only or experiment.name in only]
