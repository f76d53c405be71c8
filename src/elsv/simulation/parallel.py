"""Chunks on threads, processes or a dask cluster. Who runs a chunk does not change its numbers."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Literal
from urllib.parse import urlsplit

from elsv.errors import InvalidInputError, MissingExtraError, unknown_name
from elsv.machine import cores
from elsv.simulation.engine import ChunkTally, Run, run_chunk

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
    """
    if dask is not None:
        yield from _on_dask(run, chunks, dask)
        return
    if jobs is not None and jobs < 1:
        raise InvalidInputError(f"jobs must be at least 1, got {jobs}")
    count = min(jobs or cores(), max(1, len(chunks)))
    if workers == "threads":
        yield from _on_threads(run, chunks, count, stop)
    elif workers == "processes":
        yield from _on_processes(run, chunks, count)
    else:
        raise unknown_name("kind of workers", str(workers), ("threads", "processes"))


def _on_threads(
    run: Run, chunks: Sequence[int], jobs: int, stop: threading.Event | None
) -> Iterator[ChunkTally]:
    over = threading.Event()

    def stopped() -> bool:
        return over.is_set() or (stop is not None and stop.is_set())

    if jobs == 1:
        for chunk in chunks:
            yield run_chunk(run, chunk, stopped)
        return
    with ThreadPoolExecutor(jobs) as pool:
        try:
            yield from _as_completed(lambda chunk: pool.submit(run_chunk, run, chunk, stopped), chunks, jobs)
        finally:
            over.set()  # after an error or an interruption nobody waits for the rest
            pool.shutdown(wait=True, cancel_futures=True)


def _as_completed(
    submit: Callable[[int], Future[ChunkTally]], chunks: Sequence[int], jobs: int
) -> Iterator[ChunkTally]:
    """Keep a few chunks in flight, so that finished ones do not pile up."""
    queue, pending = iter(chunks), set()
    for chunk in queue:
        pending.add(submit(chunk))
        if len(pending) < 2 * jobs:
            continue
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()
    while pending:
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()


def _on_processes(run: Run, chunks: Sequence[int], jobs: int) -> Iterator[ChunkTally]:
    """Run in loky processes; the chunk of a killed process is run again."""
    from joblib.externals.loky import get_reusable_executor
    from joblib.externals.loky.process_executor import BrokenProcessPool

    left = list(chunks)
    for attempt in range(_RETRIES):
        pool = get_reusable_executor(max_workers=jobs, timeout=30, initializer=_leave_interrupts_to_parent)
        try:
            for tally in _as_completed(lambda chunk: pool.submit(run_chunk, run, chunk), tuple(left), jobs):  # noqa: B023
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
