"""Chunks on threads, processes or a dask cluster, and how far they are. Who runs one changes no number."""

from __future__ import annotations

import asyncio
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from operator import setitem
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import numpy as np

from elsv._base.machine import cores
from elsv._base.progress import Progress
from elsv._base.typing import IntArray
from elsv.errors import InvalidInputError, of_extra, unknown_name
from elsv.simulation.choosing import Helpers
from elsv.simulation.engine import ChunkTally, Run, StoppedError, run_chunk

Workers = Literal["threads", "processes"]
SECONDS = 0.1  # between two reports
_RETRIES = 5
_PROTOCOLS = ("inproc", "tcp", "tls", "ucx", "ucxx", "ws", "wss")
_DASK_PORT = 8786  # where a scheduler listens unless told otherwise
_SECONDS_TO_ANSWER = 5.0


class Steps:
    """Steps that each chunk has made of `each`, all policies together.

    `progress` is told of ever more of them, and of all there are, by the thread that calls `show`.
    """

    def __init__(self, chunks: int, each: int, progress: Progress | None = None) -> None:
        self.each, self.progress = each, progress
        self.made: IntArray = np.zeros(chunks, dtype=np.int64)
        self._shown, self._latest = -1, 0.0

    def show(self, pause: float = 0.0) -> None:
        """Report what has changed, if the last look was `pause` seconds ago.

        A chunk that had to start over takes nothing back.
        """
        now = time.perf_counter()
        if self.progress is None or now - self._latest < pause:
            return
        self._latest, total = now, int(self.made.sum())
        if total > self._shown:
            self._shown = total
            self.progress(total, self.each * len(self.made))

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
        return partial(setitem, np.memmap(path, np.int64, "r+"), chunk)
    except (OSError, ValueError):  # whoever wanted to know is gone
        return None


def run_chunks(
    run: Run,
    chunks: Sequence[int],
    jobs: int | None = None,
    workers: Workers = "threads",
    dask: str | None = None,
    stop: threading.Event | None = None,
    progress: Progress | None = None,
) -> Iterator[ChunkTally]:
    """Yield the chunks as they finish, in any order; see `elsv.compare` for where they run.

    Steps are reported while waiting; on a cluster only finished chunks count. Other chunks count as made.
    """
    steps = Steps(run.chunks, len(run.policies) * run.horizon, progress)
    steps.made[:] = steps.each
    steps.made[list(chunks)] = 0
    steps.show()
    if dask is not None:
        found = _on_dask(run, chunks, dask)
    elif workers == "threads":
        found = _on_threads(run, chunks, cores(jobs), stop, steps)
    elif workers == "processes":
        found = _on_processes(run, chunks, min(cores(jobs), max(1, len(chunks))), steps)
    else:
        raise unknown_name("kind of workers", str(workers), ("threads", "processes"))
    for tally in found:
        steps.made[tally.chunk] = steps.each
        yield tally
        steps.show()


def _on_threads(
    run: Run, chunks: Sequence[int], threads: int, stop: threading.Event | None, steps: Steps
) -> Iterator[ChunkTally]:
    over, helpers, jobs = threading.Event(), Helpers(threads), min(threads, max(1, len(chunks)))

    def work(chunk: int) -> ChunkTally:
        def go_on(made: int) -> None:
            if over.is_set() or (stop is not None and stop.is_set()):
                raise StoppedError
            steps.made[chunk] = made
            if jobs == 1:  # this thread makes the reports too
                steps.show(SECONDS)

        with helpers.at_work():
            return run_chunk(run, chunk, go_on, helpers)

    with closing(helpers):
        if jobs == 1:
            yield from map(work, chunks)
            return
        with ThreadPoolExecutor(jobs) as pool:
            try:
                yield from _as_completed(lambda chunk: pool.submit(work, chunk), chunks, jobs, steps)
            finally:
                over.set()  # after an error or an interruption nobody waits for the rest
                pool.shutdown(cancel_futures=True)


def _as_completed(
    submit: Callable[[int], Future[ChunkTally]], chunks: Sequence[int], jobs: int, steps: Steps
) -> Iterator[ChunkTally]:
    """Keep a few chunks in flight, so that finished ones do not pile up."""
    queue = iter(chunks)
    pending = {submit(chunk) for chunk in islice(queue, 2 * jobs)}
    while pending:
        patience = None if steps.progress is None else SECONDS
        done, pending = wait(pending, timeout=patience, return_when=FIRST_COMPLETED)
        steps.show()
        for future in done:
            yield future.result()
        pending |= {submit(chunk) for chunk in islice(queue, len(done))}


def _in_process(run: Run, chunk: int, path: Path | None) -> ChunkTally:
    return run_chunk(run, chunk, counter_in(path, chunk))


def _on_processes(run: Run, chunks: Sequence[int], jobs: int, steps: Steps) -> Iterator[ChunkTally]:
    """Run in loky processes; the chunk of a killed process is run again."""
    from joblib.externals.loky import get_reusable_executor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    left = list(chunks)
    with steps.across_processes() as path:
        for attempt in range(_RETRIES):
            ignored = signal.SIGINT, signal.SIG_IGN  # the parent answers interrupts
            pool = get_reusable_executor(jobs, timeout=30, initializer=signal.signal, initargs=ignored)
            submit = partial(pool.submit, _in_process, run, path=path)
            try:
                for tally in _as_completed(submit, tuple(left), jobs, steps):
                    left.remove(tally.chunk)
                    yield tally
                return
            except BrokenProcessPool:
                if attempt == _RETRIES - 1:
                    raise
            except BaseException:
                pool.shutdown(wait=False, kill_workers=True)
                raise


def _check_answers(address: str) -> None:
    """Raise soon if the address of a scheduler is none, or no scheduler listens there.

    A client left to itself tries for long, and writes a traceback to stderr as well.
    """
    from distributed import Security
    from distributed.core import connect

    protocol, found, place = address.rpartition("://")
    if found and protocol not in _PROTOCOLS:
        raise unknown_name("protocol of a dask scheduler", protocol, _PROTOCOLS)
    if found and protocol not in ("tcp", "tls"):
        return
    try:
        parts = urlsplit(f"//{place}")
        host, port = parts.hostname, parts.port or _DASK_PORT
        if not host or parts.path or parts.query:
            raise ValueError("it has no host and port")
        socket.create_connection((host, port), timeout=_SECONDS_TO_ANSWER).close()

        async def greet() -> None:
            secured = Security().get_connection_args("client")
            await (await connect(address, timeout=_SECONDS_TO_ANSWER, **secured)).close()

        with ThreadPoolExecutor(1) as pool:  # a notebook has a loop of its own in this thread
            pool.submit(asyncio.run, greet()).result()
    except Exception as error:  # whatever else listens there may answer anything
        raise InvalidInputError(
            f"no dask scheduler answers at {address!r}: {error}; give its address, such as tcp://localhost:8786"
        ) from error


def _on_dask(run: Run, chunks: Sequence[int], address: str) -> Iterator[ChunkTally]:
    """Run on a cluster; the scheduler gives the chunks of a lost worker to another."""
    distributed = of_extra("distributed", "running on a dask cluster", "dask")
    _check_answers(address)
    try:
        client = distributed.Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"no dask scheduler answers at {address!r}: {error}") from error
    with client:
        # The run travels with every chunk: data scattered to one worker would be lost with it.
        futures = [client.submit(run_chunk, run, chunk, pure=False, retries=_RETRIES) for chunk in chunks]
        try:
            for future in distributed.as_completed(futures, loop=client.loop):
                yield future.result()
                future.release()
        finally:
            client.cancel(futures)
