"""Pieces of work that share one commit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar, cast

from elsv.stores.base import Store, Transaction

T = TypeVar("T")
Work = Callable[[Transaction], T]


def run_together(store: Store, works: Sequence[Work[Any]]) -> list[Any]:
    """Run `works` in one transaction and return what each returns, or the error it ends with.

    One that fails is undone alone. If the store itself fails, nothing is recorded and the error is raised.
    """
    found: list[Any] = []
    with store.writing() as writing:
        for work in works:
            writing.run("SAVEPOINT elsv_part")
            try:
                found.append(work(writing))
            except Exception as error:
                try:
                    writing.run("ROLLBACK TO SAVEPOINT elsv_part")
                except Exception:  # the store has given up the whole transaction, as on a full disk
                    raise error from None
                found.append(error)
            writing.run("RELEASE SAVEPOINT elsv_part")
    return found


class _Piece(Generic[T]):
    """Work of one thread, and what became of it."""

    def __init__(self, work: Work[T]) -> None:
        self.work, self.done = work, False
        self.found: T | Exception | None = None


class SharedCommits:
    """Commits that threads share: whoever comes first commits for all who have come meanwhile.

    Parameters
    ----------
    store
        Where they write.
    most
        Pieces in one transaction, at most.
    """

    def __init__(self, store: Store, most: int = 256) -> None:
        self._store, self._most = store, most
        self._waiting: list[_Piece[Any]] = []
        self._guard, self._committing = threading.Lock(), threading.Lock()

    def run(self, work: Work[T]) -> T:
        """Return what `work` returns, when it is on disk."""
        mine: _Piece[T] = _Piece(work)
        with self._guard:
            self._waiting.append(mine)
        while not mine.done:
            with self._committing:
                if not mine.done:
                    self._commit()
        if isinstance(mine.found, Exception):
            raise mine.found
        return cast(T, mine.found)

    def _commit(self) -> None:
        with self._guard:
            pieces, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
        try:
            found = run_together(self._store, [piece.work for piece in pieces])
        except Exception as error:
            found = [error] * len(pieces)
        for piece, result in zip(pieces, found, strict=True):
            piece.found, piece.done = result, True
