"""The Bayes-optimal arm of every state, in memory, in a file and as a policy (past the paper).

A file holds one byte for each state of the lattice (and segment), compressed step by step, after a header
that says which problem it solves and a checksum over all of it. It is written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from elsv._base.files import note_input, unreadable, write_bytes
from elsv._base.typing import AnyArray, FloatArray, IntArray, Rng
from elsv.choice import best_arm
from elsv.errors import CorruptFileError, InvalidInputError
from elsv.lattice.numbering import Lattice, Layer, layer_size
from elsv.lattice.sweeps import Sweeps
from elsv.policies.base import BasePolicy, Segment, check_bound
from elsv.policies.layers import LayerPolicy
from elsv.problem import Problem
from elsv.state import State, check_arms

_MAGIC = b"elsv optimal 1\n"
_REMEDY = "make it with elsv solve PROBLEM.toml --save FILE"


def pack(actions: AnyArray) -> bytes:
    """Return the arms of one layer, compressed."""
    return zlib.compress(actions.astype(np.uint8).tobytes(), 1)


def best_of_each(problem: Problem, scores: FloatArray) -> AnyArray:
    """Return the best arm of each segment in one state by its scores ``[N]``: ``[G, 1]``."""
    chosen = [best_arm(np.where(mask, scores, -np.inf), problem.scale) for mask in problem.segments.masks]
    return np.array(chosen, dtype=np.uint8)[:, None]


@dataclass(frozen=True, eq=False)
class Actions(LayerPolicy):
    """The optimal arms of the steps 1 … `steps` of a problem, in all states of their layers."""

    problem: Problem
    packed: Mapping[int, bytes] = field(repr=False)  # step: one byte for each state, compressed
    _latest: dict[int, AnyArray] = field(init=False, repr=False, default_factory=dict)

    @property
    def steps(self) -> int:
        """The last step whose arms are known."""
        return len(self.packed)

    def at(self, step: int) -> AnyArray:
        """Return the arms of all states at `step` in the lattice's numbering.

        With segments those of each, ``[G, states]``.
        """
        return self.problem.segments.each(self.by_segment(step))

    def by_segment(self, step: int) -> AnyArray:
        """Return every segment's arms ``[G, states]``, kept for the next call."""
        if (known := self._latest.get(step)) is not None:
            return known
        if step not in self.packed:
            raise InvalidInputError(f"the optimal arms are known for steps 1 to {self.steps}, got {step}")
        try:
            arms = np.frombuffer(zlib.decompress(self.packed[step]), dtype=np.uint8)
        except zlib.error as error:
            raise CorruptFileError(f"the arms of step {step} are damaged: {error}; {_REMEDY}") from error
        shape = self.problem.segments.count, layer_size(self.problem.arms, step - 1)
        if len(arms) != prod(shape) or arms.max() >= self.problem.arms:
            raise CorruptFileError(f"the arms of step {step} are not those of this problem; {_REMEDY}")
        self._latest.clear()
        return self._latest.setdefault(step, arms.reshape(shape))

    def decide(self, sweeps: Sweeps, layer: Layer) -> AnyArray:
        """Return the arms of the layer's step."""
        return self.by_segment(layer.step)

    def save(self, path: str | Path) -> None:
        """Write header, checksum and arms, atomically."""
        parts = [self.packed[step] for step in range(1, self.steps + 1)]
        about = {"problem": _facts(self.problem), "lengths": [len(part) for part in parts]}
        content = json.dumps(about).encode() + b"\n" + b"".join(parts)
        write_bytes(path, _MAGIC + _digest(content) + content)

    @classmethod
    def load(cls, path: str | Path, problem: Problem) -> Actions:
        """Read what `save` wrote, for the same problem."""
        note_input(path)
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise unreadable(path, error, _REMEDY) from error
        if not content.startswith(_MAGIC):
            raise CorruptFileError(f"{path} does not hold optimal arms; {_REMEDY}")
        digest, rest = content[len(_MAGIC) : len(_MAGIC) + 65], content[len(_MAGIC) + 65 :]
        if digest != _digest(rest):
            raise CorruptFileError(f"{path} is damaged: its checksum is wrong; solve the problem again")
        header, _, body = rest.partition(b"\n")
        about = json.loads(header)
        found, wanted = about["problem"], _facts(problem)
        for key in sorted({*found, *wanted}):
            if found.get(key) != wanted.get(key):
                raise InvalidInputError(
                    f"{path} solves another problem: its {key} is {found.get(key)}, "
                    f"not {wanted.get(key)}; solve this one"
                )
        ends = list(accumulate(about["lengths"], initial=0))
        parts = (body[start:stop] for start, stop in pairwise(ends))
        return cls(problem, dict(enumerate(parts, start=1)))


class OptimalPolicy(BasePolicy):
    """Pull the Bayes-optimal arm that `solve` found: ``policy(state, step, rng) -> arm`` on batches.

    Parameters
    ----------
    problem
        The problem that was solved; names may differ.
    source
        The file that ``solve(problem, save=…)`` wrote, or ``solve(problem, keep=…).policy``.
    """

    def __init__(self, problem: Problem, source: str | Path | Actions) -> None:
        self.problem = problem
        self.actions = source if isinstance(source, Actions) else Actions.load(source, problem)
        check_bound(self.actions, problem)
        self._lattice = Lattice(problem.arms, self.actions.steps)

    def __call__(self, state: State, step: int, rng: Rng | None = None, segment: Segment = None) -> IntArray:
        """Return the optimal arm of every instance at `step`, from 0, shape ``[...]``.

        With segments, `segment` says who has come: numbers from 0, ``[...]``.
        """
        check_arms(state, self.problem)
        successes = np.rint(state.alpha - self.problem.prior[:, 0]).astype(np.int64)
        pulls = successes + np.rint(state.beta - self.problem.prior[:, 1]).astype(np.int64)
        arms = self.actions.by_segment(step)
        if not (pulls.sum(axis=-1) == step - 1).all():
            raise InvalidInputError(
                f"a state at step {step} must have {step - 1} pulls in all; check the step"
            )
        number = self._lattice.number(successes, pulls)
        return np.asarray(arms[self.problem.segments.numbers(segment), number], dtype=np.int64)

    deterministic = True

    def on_layers(self, problem: Problem) -> LayerPolicy:
        """Return the arms as they are stored."""
        return self.actions


def _facts(problem: Problem) -> dict[str, Any]:
    """Return all that the optimal arms depend on."""
    return {key: value for key, value in problem.to_dict().items() if key != "names"}


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode() + b"\n"
