r"""The GPU of this process, and sweeps over layers of two or three arms on it.

Layer m is computed from layer m + 1 by **batches** of whole groups (blocks with one :math:`n_1`): group k
reads the groups k and k + 1 of the next layer. Weights are not kept: those of the groups that a batch reads
are added up from the arms' tables (`elsv.beliefs.layers.tables`) when it is their turn, each once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from math import comb
from typing import Any

import numpy as np

from elsv._base.triangle import size
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.beliefs.abilities import factors
from elsv.choice import TIE
from elsv.errors import InvalidInputError, of_extra
from elsv.lattice.sweeps import Sweep
from elsv.problem import Problem

ARMS = 3  # that the kernels know; the first of them may be missing
NULL = 0  # in the place of an array that a kernel must not read
_ROWS, _COLUMNS, _PADDED = 8, 8, 8  # of a tile of weights and of the arms' tables, as in lattice.cu
_THREADS, _TILE_THREADS = 256, 128
_MOST_EACH = 16  # states that a thread goes over
_FULL = 132 * 8 * _THREADS  # threads that fill a large card


def source() -> str:
    """Return the source of the kernels, with the constant of the tie rule (`elsv.choice`) in front."""
    own = files("elsv.exact.cuda").joinpath("lattice.cu").read_text(encoding="utf-8")
    return f"#define TIE {TIE!r}\n{own}"


class Device:
    """The current CUDA device through CuPy; tests have another, which runs the kernels on the CPU."""

    def __init__(self, memory: int | None = None) -> None:
        self._cupy, self._memory = of_extra("cupy", "device='cuda'", "gpu"), memory
        properties = self._cupy.cuda.runtime.getDeviceProperties(self._cupy.cuda.Device().id)
        self.name = properties["name"].decode()
        self._module = self._cupy.RawModule(code=source(), options=("--std=c++17",))
        self._kernels: dict[str, Any] = {}

    def free(self) -> int:
        """Return how many bytes may be taken, after giving back what earlier answers left behind."""
        self._cupy.get_default_memory_pool().free_all_blocks()
        free = int(self._cupy.cuda.runtime.memGetInfo()[0])
        return free if self._memory is None else min(self._memory, free)

    def empty(self, size: int) -> Any:
        """Return room for `size` doubles."""
        return self._cupy.empty(size, dtype=self._cupy.float64)

    def array(self, values: AnyArray) -> Any:
        """Return a copy on the card."""
        return self._cupy.asarray(values)

    def launch(self, kernel: str, blocks: int, threads: int, arguments: Sequence[Any]) -> None:
        """Start a kernel on the current stream."""
        if kernel not in self._kernels:
            self._kernels[kernel] = self._module.get_function(kernel)
        self._kernels[kernel]((blocks,), (threads,), tuple(arguments))

    def fetch(self, values: Any) -> AnyArray:
        """Return a copy as a NumPy array."""
        return np.asarray(self._cupy.asnumpy(values))


def find_device(memory: int | None = None) -> Device:
    """Return the CUDA device, of which `memory` bytes may be used, or raise in one line why there is none."""
    cupy = of_extra("cupy", "device='cuda'", "gpu")
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise InvalidInputError(
            f"device='cuda' needs an NVIDIA driver and a GPU ({error}); use device='cpu'"
        ) from None
    if count == 0:
        raise InvalidInputError("device='cuda' needs a GPU, and CUDA finds none; use device='cpu'")
    return Device(memory)


def check_device(name: str) -> bool:
    """Return whether the answer is to be computed on a GPU."""
    if name not in ("cpu", "cuda"):
        raise InvalidInputError(f"device must be 'cpu' or 'cuda', got {name!r}")
    return name == "cuda"


@dataclass(frozen=True)
class Numbering:
    """Where groups and tiles begin, for all layers up to `most`; width is most + 2."""

    arms: int
    most: int

    @property
    def width(self) -> int:
        """Entries of a row: one for each group, and the end."""
        return self.most + 2

    @cached_property
    def groups(self) -> IntArray:
        """Number of each group's first state, ``[most + 1, width]``; past the last the layer's size."""
        return self._starts(np.array([comb(left + 3, 3) for left in range(self.width)]))  # of two arms

    @cached_property
    def prefix(self) -> IntArray:
        """Tiles before block n2 for each s1, by the pulls of the second and third arm, ``[width, width]``."""
        found = np.zeros((self.width, self.width), np.int64)
        for left in range(self.most + 1):
            second = np.arange(left + 1)
            tiles = -(-(second + 1) // _ROWS) * -(-(left - second + 1) // _COLUMNS)
            found[left, 1 : left + 2] = np.cumsum(tiles)
        return found

    @cached_property
    def tiles(self) -> IntArray:
        """Tiles before each group, ``[most + 1, width]``."""
        return self._starts(np.array([self.prefix[left, left + 1] for left in range(self.most + 1)]))

    def groups_of(self, layer: int) -> int:
        """Return how many groups a layer has."""
        return layer + 1 if self.arms == ARMS else 1

    def largest_group(self, layer: int) -> int:
        """Return the number of states of a layer's largest group."""
        return int(np.diff(self.groups[layer, : self.groups_of(layer) + 1]).max())

    def _starts(self, pairs: IntArray) -> IntArray:
        """Return sums of (n1 + 1) times what the other two arms have, over the groups before each."""
        found = np.zeros((self.most + 1, self.width), np.int64)
        for layer in range(self.most + 1):
            count = self.groups_of(layer)
            first = np.arange(count)
            found[layer, 1 : count + 1] = np.cumsum((first + 1) * pairs[layer - first])
            found[layer, count + 1 :] = found[layer, count]
        return found


class Weights:
    """W of some groups of a layer at a time, in one buffer on the device."""

    def __init__(self, device: Device, problem: Problem, numbering: Numbering, room: int) -> None:
        self._device, self._numbering, self.room = device, numbering, room
        tables = problem.belief.factor_tables(problem, numbering.most)  # type: ignore[attr-defined]
        self.nodes = tables[0][0].shape[1]
        ones: list[list[FloatArray]] = [[np.ones((1, self.nodes))]] * (ARMS - problem.arms)
        self.tables = [device.array(_by_node(table)) for table in (*ones, *tables)]
        self._groups, self._tiles = device.array(numbering.groups), device.array(numbering.tiles)
        self._prefix = device.array(numbering.prefix)
        self._buffer = device.empty(room)
        self._layer, self._first, self._stop, self._at = -1, 0, 0, 0

    def of(self, layer: int, first: int, stop: int) -> tuple[Any, int]:
        """Return W of groups first … stop - 1, and the number of the first of these states."""
        starts = self._numbering.groups[layer]
        begin = int(starts[first])
        if layer == self._layer and self._first <= first < self._stop:
            self._at += begin - int(starts[self._first])
        else:
            self._stop, self._at = first, 0
        self._layer, self._first = layer, first
        known = int(starts[self._stop]) - begin
        if self._at + int(starts[stop]) - begin > self.room:
            if known <= self._at:
                self._buffer[:known] = self._buffer[self._at : self._at + known]
            else:
                self._stop, known = first, 0
            self._at = 0
        if stop > self._stop:
            self._weigh(layer, self._stop, stop, self._buffer[self._at + known :])
            self._stop = stop
        return self._buffer[self._at :], begin

    def _weigh(self, layer: int, first: int, stop: int, out: Any) -> None:
        tiles = int(self._numbering.tiles[layer, stop] - self._numbering.tiles[layer, first])
        given = (layer, first, stop, self._groups, self._numbering.width, self._tiles, self._prefix)
        blocks = -(-tiles // _TILE_THREADS)
        self._device.launch("weigh", blocks, _TILE_THREADS, (*given, self.nodes, *self.tables, out))


def _by_node(table: Sequence[FloatArray]) -> FloatArray:
    """Return the tables of n = 0, 1, … pulls one after the other, successes fastest, in padded rows."""
    return np.concatenate([np.pad(part.T, ((0, 0), (0, -len(part) % _PADDED))).ravel() for part in table])


class LayerSweeps:
    """Kernels over batches of a layer, with the weights that they read."""

    def __init__(self, device: Device, problem: Problem, room: int = 0) -> None:
        self.device, self.problem = device, problem
        self.first = ARMS - problem.arms
        self.numbering = Numbering(problem.arms, problem.steps)
        self.weights = Weights(device, problem, self.numbering, room) if weighted(problem) else None
        arms = np.zeros(3 * ARMS + 1)
        arms[self.first : ARMS] = problem.rewards
        arms[ARMS + self.first : 2 * ARMS], arms[2 * ARMS + self.first : 3 * ARMS] = problem.prior.T
        arms[-1] = problem.rewards.max()
        self.arms, self.groups = device.array(arms), device.array(self.numbering.groups)

    def batches(self, layer: int, room: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of groups whose states fit into `room`, and whose weights fit into their buffer."""
        here, later = self.numbering.groups[layer], self.numbering.groups[layer + 1]

        def fits(first: int, stop: int) -> bool:
            weighed = 0 if self.weights is None else self.weights.room - later[self._end(stop)] + later[first]
            return bool(here[stop] - here[first] <= room and weighed >= 0)

        groups, first = self.numbering.groups_of(layer), 0
        for stop in range(1, groups + 1):
            if stop == groups or not fits(first, stop + 1):
                yield first, stop
                first = stop

    def _end(self, stop: int) -> int:
        """Return the group after the last one that is read: one more than are written, with a first arm."""
        return stop + 1 if self.problem.arms == ARMS else stop

    def sweep(
        self, kernel: str, layer: int, groups: tuple[int, int], later: Any, out: Any, more: Sequence[Any] = ()
    ) -> None:
        """Set `out` for some groups of a layer from `later`, the whole next one (or `NULL`, zeros)."""
        low, high = (int(self.numbering.groups[layer, k]) for k in groups)
        weights, shift = NULL, 0
        if self.weights is not None:
            weights, shift = self.weights.of(layer + 1, groups[0], self._end(groups[1]))
        each = min(_MOST_EACH, -(-(high - low) // _FULL))
        blocks = -(-(high - low) // (_THREADS * each))
        given = (layer, low, high, each, self.first, self.groups, self.numbering.width, self.arms)
        self.device.launch(kernel, blocks, _THREADS, (*given, later, weights, shift, out, *more))

    def kernel(self, sweep: Sweep, layer: int) -> tuple[str, tuple[Any, ...]]:
        """Return the kernel of a sweep that reads the next layer alone, and its arguments in a layer."""
        if sweep.name == "best":
            return "sweep_best", ()
        if sweep.name == "arm":
            return "sweep_stop", (self.first + sweep.arm, 0.0)
        long = size(layer + 1)  # states of an arm with up to `layer` pulls
        tables = np.ascontiguousarray(sweep.tables[..., :long])
        offsets = np.zeros(ARMS, np.int64)
        offsets[self.first :] = sweep.group * long
        given = self.device.array(tables.reshape(-1, long)), self.device.array(offsets)
        if sweep.name == "table":
            return "sweep_table", given
        return "sweep_gain", (*given, tables.shape[1] * long)  # how far the three tables lie apart

    def whole(self, kernel: str, layer: int, later: Any, out: Any, more: Sequence[Any] = ()) -> None:
        """Set `out` for a whole layer."""
        self.sweep(kernel, layer, (0, self.numbering.groups_of(layer)), later, out, more)


def weighted(problem: Problem) -> bool:
    """Return whether the belief has weights; refuse one whose weights the kernels cannot add up."""
    if factors(problem.belief):
        return False
    if getattr(problem.belief, "factor_tables", None) is None:
        raise InvalidInputError(
            "device='cuda' knows independent arms and arms in one order, "
            f"not this structure ({problem.structure.describe()}); use device='cpu'"
        )
    return True
