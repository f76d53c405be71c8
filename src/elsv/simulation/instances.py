"""Where instances come from: the prior (conditioned on the order) or given means; and who comes to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.numbers import numbers
from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs.base import Order
from elsv.errors import InvalidInputError
from elsv.problem import Problem
from elsv.segments import Segments
from elsv.state import State
from elsv.structure import Structure, structure_of


@dataclass(frozen=True)
class FromPrior:
    """Means drawn from the prior, exactly conditioned on the order if there is one."""

    problem: Problem

    def means(self, start: int, stop: int, rng: np.random.Generator) -> FloatArray:
        """Return the means of the instances from `start` to `stop`, ``[stop - start, N]``."""
        return self.problem.belief.draw(State.initial(self.problem, (stop - start,)), rng)

    def describe(self) -> str:
        """Say in words where the means come from."""
        known = self.problem.structure.to_dict()
        short = self.problem.order or (self.problem.structure.describe() if known else "")
        return f"drawn from the prior{', ' if short else ''}{short}"


@dataclass(frozen=True, eq=False)
class GivenMeans:
    """Means that are given, row after row, the whole list repeated as often as instances ask for."""

    table: FloatArray = field(repr=False)  # [rows, N]

    def __init__(self, means: ArrayLike, arms: int) -> None:
        table = numbers("means", means)
        if table.ndim != 2 or table.shape[1] != arms or len(table) == 0:
            raise InvalidInputError(f"means must have shape [rows, {arms}], got {table.shape}")
        if not ((table >= 0) & (table <= 1)).all():
            bad = table[~((table >= 0) & (table <= 1))].flat[0]
            raise InvalidInputError(f"means must lie between 0 and 1, got {bad:g}")
        object.__setattr__(self, "table", table)

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
    from their Dirichlet prior.
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

        out = np.empty(len(self.shares), dtype=np.int64)
        arrive(self.shares, self.key, step, self.horizon, out)
        return out

    def everyone(self) -> list[IntArray]:
        """Return all who may come: for each segment its number in every instance, ``[B]``."""
        return [np.full(len(self.shares), g, dtype=np.int64) for g in range(self.shares.shape[1])]

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
    levels = np.linspace(0.0, 1.0, points)
    rows = np.array(list(product(range(points), repeat=arms)))
    means: FloatArray = levels[rows]
    return means[structure_of(structure).holds(means)]
