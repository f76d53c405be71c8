"""Which kernel a policy on whole layers is, and what that kernel is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from elsv._base.triangle import size
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.exact.cuda.device import Device
from elsv.exact.cuda.sweeps import ARMS
from elsv.policies.index_layers import ByIndex, OneStep
from elsv.policies.layers import Optimum, Search
from elsv.problem import Problem, distinct_priors
from elsv.values.separable import SeparableValue


class Rule(Protocol):
    """A policy that chooses and pulls in one sweep."""

    @property
    def kernel(self) -> str:
        """The name of the kernel."""
        ...

    def more(self, device: Device, layer: int) -> tuple[Any, ...]:
        """Return what the kernel is told besides what all sweeps are."""
        ...


@dataclass(frozen=True)
class Best:
    """The best arm: the Bayes optimum."""

    kernel: str = "sweep_best"

    def more(self, device: Device, layer: int) -> tuple[Any, ...]:
        """Return nothing."""
        return ()


@dataclass(frozen=True, eq=False)
class Table:
    """The arm with the largest reward times index."""

    policy: ByIndex
    kernel: str = "sweep_table"

    def more(self, device: Device, layer: int) -> tuple[Any, ...]:
        """Return the tables of the step."""
        return _tables(device, self.policy.tables.at(layer + 1), self.policy.tables.group, layer)


@dataclass(frozen=True, eq=False)
class Gain:
    """The arm whose outcomes gain most, by tables of each arm."""

    problem: Problem
    policy: OneStep
    kernel: str = "sweep_gain"

    def more(self, device: Device, layer: int) -> tuple[Any, ...]:
        """Return the three tables of the step, and how far they lie apart."""
        group = distinct_priors(self.problem)[1]
        gains = self.policy.gains(self.problem, layer + 1)
        wide = gains.shape[1] * size(layer + 1)
        return (*_tables(device, gains.reshape(-1, gains.shape[-1]), group, layer), wide)


def rule_of(problem: Problem, policy: object) -> Rule | None:
    """Return the kernel of a policy on layers, or None if it is not one sweep."""
    if isinstance(policy, Optimum):
        return Best()
    if isinstance(policy, ByIndex):
        return Table(policy)
    if isinstance(policy, OneStep):
        return Gain(problem, policy)
    if (
        isinstance(policy, Search)
        and type(policy.value) is SeparableValue
        and policy.depth == 1
        and policy.belief == problem.belief
    ):
        return Gain(problem, OneStep(policy.value))
    return None


def _tables(device: Device, tables: FloatArray, group: IntArray, layer: int) -> tuple[Any, Any]:
    """Return tables of the states with up to `layer` pulls, and where each arm's begins."""
    long = size(layer + 1)
    offsets: AnyArray = np.zeros(ARMS, np.int64)
    offsets[ARMS - len(group) :] = group * long
    return device.array(np.ascontiguousarray(tables[:, :long])), device.array(offsets)
