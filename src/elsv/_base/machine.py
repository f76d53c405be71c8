"""What this machine offers: cores and memory."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from elsv.errors import InvalidInputError


def cores(jobs: int | None = None) -> int:
    """Return how many threads to use: `jobs`, or one for each core that this process may use."""
    if jobs is not None:
        if jobs < 1:
            raise InvalidInputError(f"jobs must be at least 1, got {jobs}")
        return jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def jobs_of(jobs: int | None, workers: int | None) -> int | None:
    """Return how many threads were asked for: `workers` is another word for `jobs`."""
    if jobs is not None and workers is not None:
        raise InvalidInputError(f"jobs and workers are the same, got {jobs} and {workers}; give jobs alone")
    return workers if jobs is None else jobs


def available_memory() -> int | None:
    """Return how many bytes this process may still take, or None where the system does not say."""
    found = []
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")]
    with suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        most = int((group / "memory.max").read_text(encoding="ascii"))
        found.append(most - int((group / "memory.current").read_text(encoding="ascii")))
    if not found:
        with suppress(AttributeError, OSError, ValueError):
            found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min(found, default=None)
