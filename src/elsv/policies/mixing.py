"""Policies that draw their arm: what they share is the chance of each arm in a state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.lattice.numbering import Layer
from elsv.lattice.sweeps import Sweeps
from elsv.policies.layers import Room, batch_bytes
from elsv.problem import Problem
from elsv.state import State


class Mixing(Protocol):
    """A policy that can say how likely it pulls each arm."""

    def chances(self, state: State, step: int) -> FloatArray:
        """Return the probability of each arm, ``[..., N]``; the same for the same state."""
        ...


@dataclass(frozen=True)
class ByChances:
    """All states of a layer, each arm with the probability that the policy gives it."""

    policy: Mixing
    reach: int = 0
    batch: int = 1 << 12  # states that are asked for at a time

    def decide(self, sweeps: Sweeps, layer: Layer) -> AnyArray:
        """Ask for all states of the layer."""
        out = np.empty((sweeps.arms.arms, layer.size))
        for here, state in layer.batches(sweeps.arms, self.batch):
            out[:, here] = self.policy.chances(state, layer.step).T
        return out

    def room(self, problem: Problem, made: int) -> Room:
        """Return what `decide` takes."""
        batch = batch_bytes(problem, made, self.batch)
        return Room(passing=problem.arms, kept=problem.arms, batch=batch)


def chances_once(policy: Mixing, state: State, step: int) -> FloatArray:
    """Return the chances ``[..., N]`` of a batch in which equal states are asked for once."""
    rows = np.hstack(state.rows())
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    alpha, beta = distinct[:, : state.arms], distinct[:, state.arms :]
    found = policy.chances(State.trusted(alpha.copy(), beta.copy()), step)
    return found[place.reshape(-1)].reshape(state.alpha.shape)


def drawn(chances: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return an arm for each instance, drawn with these chances ``[..., N]``."""
    below = np.cumsum(chances, axis=-1)
    mark = rng.random(chances.shape[:-1])[..., None] * below[..., -1:]
    arm = (below <= mark).sum(axis=-1)
    return np.asarray(np.minimum(arm, chances.shape[-1] - 1), dtype=np.int64)
