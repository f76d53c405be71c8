"""What this machine offers: cores and memory."""

from __future__ import annotations

import os
from pathlib import Path

from elsv.errors import InvalidInputError


def cores(workers: int | None = None) -> int:
    """Return how many threads to use: `workers`, or one for each core that this process may use."""
    if workers is not None:
        if workers < 1:
            raise InvalidInputError(f"workers must be at least 1, got {workers}")
        return workers
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int | None:
    """Return how many bytes this process may still take, or None where the system does not say."""
    found = []
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable")]
    except (OSError, ValueError, IndexError):
        pass
    try:
        group = Path("/sys/fs/cgroup")
        most = int((group / "memory.max").read_text(encoding="ascii"))
        found.append(most - int((group / "memory.current").read_text(encoding="ascii")))
    except (OSError, ValueError):
        pass
    if not found:
        try:
            found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        except (AttributeError, OSError, ValueError):
            return None
    return min(found)
