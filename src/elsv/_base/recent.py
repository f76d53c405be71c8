"""A mapping that keeps the values used last, up to a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """A mapping that drops what was not used for longest; the last value put always stays.

    Parameters
    ----------
    limit
        Called whenever something is put: the bytes that all values together may take.
    """

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """What all values together take."""
        return self._bytes

    def get(self, key: Key) -> Value | None:
        """Return the value, which counts as a use of it, or None."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Keep a value of `size` bytes and drop others if need be."""
        limit = self._limit()
        with self._lock:
            self._drop(key)
            self._values[key] = value, size
            self._bytes += size
            while self._bytes > limit and len(self._values) > 1:
                self._drop(next(iter(self._values)))

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._values.clear()
            self._bytes = 0

    def _drop(self, key: Key) -> None:
        if key in self._values:
            self._bytes -= self._values.pop(key)[1]
