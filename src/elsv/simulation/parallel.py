"""Chunks on threads, processes or a dask cluster. Who runs a chunk does not change its numbers."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from elsv._base.machine import cores
from elsv.errors import InvalidInputError, MissingExtraError, unknown_name
from elsv.simulation.engine import ChunkTally, Run, run_chunk
from elsv.simulation.helpers import Helpers
from elsv.simulation.steps import SECONDS, Steps, counter_in

Workers = Literal["threads", "processes"]
_RETRIES = 5
_PROTOCOLS = ("inproc", "tcp", "tls", "ucx", "ucxx", "ws", "wss")
_DASK_PORT = 8786  # where a scheduler listens unless told otherwise
_SECONDS_TO_ANSWER = 5.0


def run_chunks(
    run: Run,
    chunks: Sequence[int],
    jobs: int | None = None,
    workers: Workers = "threads",
    dask: str | None = None,
    stop: threading.Event | None = None,
    steps: Steps | None = None,
) -> Iterator[ChunkTally]:
    """Yield the chunks as they finish, in any order.

    Parameters
    ----------
    run, chunks
        What to run, and which chunks of it.
    jobs
        Threads or processes; default: one for each core.
    workers
        ``"threads"`` (the kernels release the GIL) or ``"processes"``.
    dask
        Address of a dask scheduler, instead of local workers (extra ``dask``).
    stop
        Once it is set, threads give up at their next step with `StoppedError`.
    steps
        Where steps are counted, and shown while waiting; on a cluster only finished chunks count.
    """
    if steps is None:
        steps = Steps(run.chunks, run.steps_of_chunk)
    for tally in _run(run, chunks, jobs, workers, dask, stop, steps):
        steps.finish(tally.chunk)
        yield tally
        steps.show()


def _run(
    run: Run,
    chunks: Sequence[int],
    jobs: int | None,
    workers: Workers,
    dask: str | None,
    stop: threading.Event | None,
    steps: Steps,
) -> Iterator[ChunkTally]:
    if dask is not None:
        yield from _on_dask(run, chunks, dask)
        return
    if jobs is not None and jobs < 1:
        raise InvalidInputError(f"jobs must be at least 1, got {jobs}")
    threads = jobs or cores()
    count = min(threads, max(1, len(chunks)))
    if workers == "threads":
        helpers = Helpers(threads)
        try:
            yield from _on_threads(run, chunks, count, stop, steps, helpers)
        finally:
            helpers.close()
    elif workers == "processes":
        yield from _on_processes(run, chunks, count, steps)
    else:
        raise unknown_name("kind of workers", str(workers), ("threads", "processes"))


def _on_threads(
    run: Run,
    chunks: Sequence[int],
    jobs: int,
    stop: threading.Event | None,
    steps: Steps,
    helpers: Helpers,
) -> Iterator[ChunkTally]:
    over = threading.Event()

    def stopped() -> bool:
        return over.is_set() or (stop is not None and stop.is_set())

    if jobs == 1:
        for chunk in chunks:
            yield _helped(run, chunk, stopped, _shown(steps, chunk), helpers)
        return
    with ThreadPoolExecutor(jobs) as pool:
        try:
            yield from _as_completed(
                lambda chunk: pool.submit(_helped, run, chunk, stopped, steps.counter(chunk), helpers),
                chunks,
                jobs,
                steps,
            )
        finally:
            over.set()  # after an error or an interruption nobody waits for the rest
            pool.shutdown(wait=True, cancel_futures=True)


def _helped(
    run: Run,
    chunk: int,
    stopped: Callable[[], bool],
    count: Callable[[int], None] | None,
    helpers: Helpers,
) -> ChunkTally:
    with helpers.at_work():
        return run_chunk(run, chunk, stopped, count, helpers)


def _shown(steps: Steps, chunk: int) -> Callable[[int], None]:
    """Return what counts steps and reports them, for a chunk that runs where the reports are made."""
    note = steps.counter(chunk)

    def count(made: int) -> None:
        note(made)
        steps.show_at_times()

    return count


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
    return run_chunk(run, chunk, count=counter_in(path, chunk))


def _on_processes(run: Run, chunks: Sequence[int], jobs: int, steps: Steps) -> Iterator[ChunkTally]:
    """Run in loky processes; the chunk of a killed process is run again."""
    with steps.across_processes() as path:
        yield from _in_pools(run, chunks, jobs, steps, path)


def _in_pools(
    run: Run, chunks: Sequence[int], jobs: int, steps: Steps, path: Path | None
) -> Iterator[ChunkTally]:
    from joblib.externals.loky import get_reusable_executor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    left = list(chunks)
    for attempt in range(_RETRIES):
        pool = get_reusable_executor(max_workers=jobs, timeout=30, initializer=_leave_interrupts_to_parent)
        try:
            submit = partial(pool.submit, _in_process, run, path=path)
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


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


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
    try:
        from distributed import Client, as_completed
    except ImportError as error:
        raise MissingExtraError("running on a dask cluster", "dask") from error
    _check_answers(address)
    try:
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"no dask scheduler answers at {address!r}: {error}") from error
    with client:
        # The run travels with every chunk: data scattered to one worker would be lost with it.
        futures = [client.submit(run_chunk, run, chunk, pure=False, retries=_RETRIES) for chunk in chunks]
        try:
            for future in as_completed(futures, loop=client.loop):
                yield future.result()
                future.release()
        finally:
            client.cancel(futures)
