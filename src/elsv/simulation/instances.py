"""Where instances come from, who comes to them, and which of their outcomes come late.

The delay of an outcome is the number of further customers who come before it is known; 0 is at once. With
batches, outcomes are looked at before the first customer of a batch only. A lost outcome is never reported
and counts as a failure when its time comes, as when the window of a decision passes. How late the outcome of
a step is, and whether it is lost, depends on instance and step alone: every policy meets the same luck.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.numbers import numbers, shown, whole
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.beliefs.base import Order
from elsv.errors import InvalidInputError
from elsv.problem import Problem
from elsv.segments import Segments
from elsv.state import State
from elsv.structure import Free, Structure, structure_of

_EXAMPLES = "give customers, such as 60, or their mean number, such as geometric:60"


@dataclass(frozen=True)
class FromPrior:
    """Means drawn from the prior, exactly conditioned on the order if there is one."""

    problem: Problem

    def means(self, start: int, stop: int, rng: np.random.Generator) -> FloatArray:
        """Return the means of the instances from `start` to `stop`, ``[stop - start, N]``."""
        return self.problem.belief.draw(State.initial(self.problem, (stop - start,)), rng)

    def describe(self) -> str:
        """Say in words where the means come from."""
        known = self.problem.structure
        short = self.problem.order or ("" if isinstance(known, Free) else known.describe())
        return f"drawn from the prior{', ' if short else ''}{short}"


class GivenMeans:
    """Means that are given, row after row, the whole list repeated as often as instances ask for."""

    def __init__(self, means: ArrayLike, arms: int) -> None:
        self.table = table = numbers("means", means)  # [rows, N]
        if table.ndim != 2 or table.shape[1] != arms or len(table) == 0:
            raise InvalidInputError(f"means must have shape [rows, {arms}], got {table.shape}")
        if not (fine := (table >= 0) & (table <= 1)).all():
            raise InvalidInputError(f"means must lie between 0 and 1, got {table[~fine].flat[0]:g}")

    def means(self, start: int, stop: int, rng: np.random.Generator) -> FloatArray:
        """Return the rows of the instances from `start` to `stop`."""
        return self.table[np.arange(start, stop) % len(self.table)]

    def describe(self) -> str:
        """Say in words where the means come from."""
        return f"{len(self.table)} given rows of means, repeated"


@dataclass(frozen=True)
class Arrivals:
    """Customers of a chunk of instances: a function of instance and step alone, the same for every policy.

    Known shares of the segments hold in every instance. Shares that are learnt are drawn for each instance
    from their Dirichlet prior. Where nobody named segments, all customers are of the one that there is.
    """

    shares: FloatArray  # [B, G], the true ones
    key: np.uint64
    horizon: int

    @classmethod
    def of(cls, segments: Segments, instances: int, horizon: int, seed: np.random.SeedSequence) -> Arrivals:
        """Return the customers that a seed stands for."""
        if segments.shares is not None:
            shares: FloatArray = np.tile(np.array(segments.shares), (instances, 1))
        else:
            shares = np.random.default_rng(seed).dirichlet(np.array(segments.share_prior), size=instances)
        return cls(shares, seed.generate_state(1, np.uint64)[0], horizon)

    def at(self, step: int) -> IntArray:
        """Return the segment of each instance's customer at `step`, ``[B]``."""
        from elsv.simulation._engine_kernels import arrive

        out = np.zeros(len(self.shares), dtype=np.int64)
        if self.shares.shape[1] > 1:
            arrive(self.shares, self.key, step, self.horizon, out)
        return out

    def counts(self) -> IntArray:
        """Return how many customers of each segment come in all, ``[B, G]``."""
        total = np.zeros(self.shares.shape, dtype=np.int64)
        for step in range(1, self.horizon + 1):
            np.add.at(total, (np.arange(len(total)), self.at(step)), 1)
        return total


def grid(arms: int, points: int = 11, structure: Structure | Order | None = None) -> FloatArray:
    """Return every combination of `points` evenly spaced means from 0 to 1 that is possible.

    With 3 arms, 11 points and ``"decreasing"``: the 286 instances of the authors' program.
    """
    means = np.array(list(product(np.linspace(0.0, 1.0, points).tolist(), repeat=arms)))
    return means[structure_of(structure).holds(means)]


@dataclass(frozen=True)
class Delays:
    """How outcomes are held back."""

    customers: float = 0  # who come before an outcome is known; with `geometric` their mean number
    geometric: bool = False  # whether every outcome has a delay of its own, geometric with that mean
    batch: int = 1  # customers who are decided for between two looks at the outcomes
    lost: float = 0.0  # share of outcomes that never come and so count as failures

    def __post_init__(self) -> None:
        whole("batch", self.batch)
        if not 0 <= self.lost < 1:
            raise InvalidInputError(
                f"lost must be a share from 0 to below 1, got {shown(self.lost)}; try 0.1"
            )

    def describe(self) -> str:
        """Say in words when outcomes are known."""
        parts = []
        if self.customers:
            mean = "on average " if self.geometric else ""
            parts.append(f"outcomes are known {mean}{self.customers:g} customers later")
        if self.batch > 1:
            parts.append(f"customers come in batches of {self.batch:,}")
        if self.lost:
            parts.append(f"{100 * self.lost:g} % of outcomes are lost and count as failures")
        return "; ".join(parts)


def delays_of(delay: object = None, batch: int | None = None, lost: float | None = None) -> Delays | None:
    """Return what ``--delay``, ``--batch`` and ``--lost`` ask for; None if outcomes are known at once.

    Examples
    --------
    >>> delays_of("geometric:60", lost=0.1)
    Delays(customers=60.0, geometric=True, batch=1, lost=0.1)
    """
    customers, geometric = _delay(delay)
    found = Delays(customers, geometric, 1 if batch is None else batch, 0.0 if lost is None else lost)
    return None if found == Delays() else found


def _delay(delay: object) -> tuple[float, bool]:
    text = "0" if delay is None else str(delay).strip()
    kind, colon, mean = text.partition(":")
    if isinstance(delay, bool) or (colon and kind != "geometric"):
        raise InvalidInputError(f"delay must be a number or geometric:MEAN, got {shown(delay)}; {_EXAMPLES}")
    try:
        customers = float(mean) if colon else int(text)
    except ValueError as error:
        raise InvalidInputError(
            f"delay must be a whole number of customers, got {text!r}; {_EXAMPLES}"
        ) from error
    if not (math.isfinite(customers) and 0 <= customers <= 10**9):
        raise InvalidInputError(f"delay must lie from 0 to 10^9 customers, got {text}; {_EXAMPLES}")
    return customers, bool(colon)


class Waiting:
    """The outcomes of a chunk with `means` ``[B, N]`` that are in, and those that are under way.

    `keys` are those of the outcomes and of their delays.
    """

    def __init__(
        self, delays: Delays, means: FloatArray, horizon: int, keys: tuple[np.uint64, np.uint64]
    ) -> None:
        mean, geometric = delays.customers, delays.geometric
        # A geometric delay has P(at least k) = (m / (m + 1))^k; quantiles need the logarithm of the ratio.
        ratio = math.log(mean / (mean + 1)) if geometric and mean > 0 else 0.0
        self._late = 0 if geometric else int(mean), ratio, delays.batch, delays.lost
        self._means, self._horizon, self._keys = means, horizon, keys
        self.successes, self.pulls, self.open = (np.zeros(means.shape, dtype=np.int32) for _ in range(3))
        room = 64 if geometric else min(horizon, int(mean) + delays.batch)
        self._under_way = np.empty((len(means), room, 3), dtype=np.int32)  # arm, success, due
        self._count = np.zeros(len(means), dtype=np.int64)

    def deliver(self, step: int) -> None:
        """Take in the outcomes that are known before `step`."""
        from elsv.simulation import _engine_kernels as kernels

        kernels.deliver(step, self._under_way, self._count, self.successes, self.pulls, self.open)

    def send(self, step: int, arm: IntArray, made: AnyArray) -> None:
        """Put the outcomes of `arm` ``[B]`` under way; `made` are the pulls before it ``[B, N]``."""
        from elsv.simulation import _engine_kernels as kernels

        if self._count.max(initial=0) >= self._under_way.shape[1]:
            more = np.empty_like(self._under_way)
            self._under_way = np.concatenate((self._under_way, more), axis=1)
        known = self._means, self._horizon, *self._keys, *self._late
        kernels.send(step, arm, made, *known, self._under_way, self._count, self.open)
