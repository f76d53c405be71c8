"""How far a run is, in steps: counted by those who run the chunks, read by the one who waits for them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from elsv._base.progress import Progress
from elsv._base.typing import IntArray

SECONDS = 0.1  # between two reports


class Steps:
    """Steps that each chunk has made, all policies together.

    Parameters
    ----------
    chunks, each
        How many chunks there are, and the steps of one.
    progress
        Told how many steps are made of how many, ever more of them, by the thread that calls `show`.
    """

    def __init__(self, chunks: int, each: int, progress: Progress | None = None) -> None:
        self.each, self.progress = each, progress
        self.made: IntArray = np.zeros(chunks, dtype=np.int64)
        self._shown, self._latest = -1, 0.0

    def counter(self, chunk: int) -> Callable[[int], None]:
        """Return what notes the steps that a chunk has made; any thread may call it."""
        made = self.made

        def count(steps: int) -> None:
            made[chunk] = steps

        return count

    def finish(self, chunk: int) -> None:
        """Note that a chunk has made all of its steps."""
        self.made[chunk] = self.each

    def show(self) -> None:
        """Report, unless nothing has changed; a chunk that had to start over takes nothing back."""
        self._latest = time.perf_counter()
        total = int(self.made.sum())
        if self.progress is not None and total > self._shown:
            self._shown = total
            self.progress(total, self.each * len(self.made))

    def show_at_times(self) -> None:
        """Report if the last time was a while ago."""
        if self.progress is not None and time.perf_counter() - self._latest > SECONDS:
            self.show()

    @contextmanager
    def across_processes(self) -> Iterator[Path | None]:
        """Keep the counts in a file for a while, where other processes find them; None if nobody looks."""
        if self.progress is None:
            yield None
            return
        with tempfile.TemporaryDirectory(prefix="elsv-", ignore_cleanup_errors=True) as folder:
            path, before = Path(folder) / "steps", self.made
            shared = np.memmap(path, np.int64, "w+", shape=before.shape)
            shared[:] = before
            self.made = shared
            try:
                yield path
            finally:
                self.made = np.array(shared)


def counter_in(path: Path | None, chunk: int) -> Callable[[int], None] | None:
    """Return what notes a chunk's steps in the file of `Steps.across_processes`, or None if there is none."""
    if path is None:
        return None
    try:
        made = np.memmap(path, np.int64, "r+")
    except (OSError, ValueError):  # whoever wanted to know is gone
        return None

    def count(steps: int) -> None:
        made[chunk] = steps

    return count
