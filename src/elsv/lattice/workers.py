"""Threads: how sweeps over the lattice share the processor's cores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from elsv._base.machine import cores
from elsv._base.progress import Progress
from elsv.lattice.numbering import Layer

CHUNK = 1 << 15  # least number of states that are worth a call
Work = Callable[[int, int], None]  # on a range of blocks


class Crew:
    """Threads that work on the blocks of one layer at a time; output must differ from input."""

    def __init__(self, pool: ThreadPoolExecutor, workers: int) -> None:
        self._pool = pool
        self.workers = workers

    def run(self, layer: Layer, work: Work) -> None:
        """Call `work` on ranges of blocks that together make up the layer."""
        states = max(CHUNK, layer.size // (8 * self.workers))
        if self.workers == 1 or layer.size <= states:
            work(0, len(layer.pulls))
            return
        for done in [self._pool.submit(work, *bounds) for bounds in layer.chunks(states)]:
            done.result()

    def map(self, work: Callable[[Any], None], parts: Iterable[Any]) -> None:
        """Call `work` on every part."""
        list(self._pool.map(work, parts))


@contextmanager
def crew(workers: int | None = None) -> Iterator[Crew]:
    """Provide threads for the length of a ``with`` block."""
    number = cores(workers)
    with ThreadPoolExecutor(number) as pool:
        yield Crew(pool, number)


class Cascade:
    """Sweeps over successive layers that overwrite one another, several under way at once.

    Within a layer the work goes through the blocks in increasing order. The blocks with :math:`n_1 = k` of
    layer m read those with k and k + 1 of layer m + 1 and write where those with k and less were, so
    a layer may follow the one before it at a distance of two such groups.
    """

    def __init__(self, first: int, stage: Callable[[int], tuple[Layer, Work]], progress: Progress) -> None:
        self._stage = stage
        self._progress = progress
        self._total = first
        self._next = first
        self._groups_done = {first + 1: first + 2}  # of each layer: values of n_1 that are finished
        self._change = threading.Condition()
        self._failed = False

    def run(self, workers: int) -> None:
        """Work through the layers first, first - 1, …, 1."""
        with ThreadPoolExecutor(workers) as pool:
            tasks = [pool.submit(self._work) for _ in range(workers)]
            try:
                for task in tasks:
                    task.result()
            except BaseException:
                self._stop()
                raise

    def _stop(self) -> None:
        with self._change:
            self._failed = True
            self._change.notify_all()

    def _work(self) -> None:
        try:
            while (made := self._take()) > 0:
                layer, work = self._stage(made)
                for begin, end in layer.chunks(max(CHUNK, layer.size // 64)):
                    last = int(layer.pulls[end - 1, 0])
                    if not self._wait(made + 1, min(last, made) + 2):
                        return
                    work(begin, end)
                    self._mark(made, last + 1)
        except BaseException:
            self._stop()
            raise

    def _take(self) -> int:
        with self._change:
            if self._failed or self._next < 1:
                return 0
            made = self._next
            self._next -= 1
            self._groups_done[made] = 0
            return made

    def _wait(self, made: int, groups: int) -> bool:
        with self._change:
            self._change.wait_for(lambda: self._failed or self._groups_done[made] >= groups)
            return not self._failed

    def _mark(self, made: int, groups: int) -> None:
        with self._change:
            self._groups_done[made] = groups
            self._change.notify_all()
            if groups == made + 1:
                del self._groups_done[made + 1]
                self._progress(self._total - made + 1, self._total)
