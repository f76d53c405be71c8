"""Finished chunks on disk, so that an interrupted comparison can go on."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from elsv._base.files import Outputs, write_bytes
from elsv.errors import InvalidInputError
from elsv.simulation.engine import MEANING, ChunkTally, Run
from elsv.simulation.identity import UnknownIdentityError, digest_of

_FOLDER = "chunks"


def fingerprint(run: Run, version: str, policies: bool = True) -> str:
    """Return a key of all that the numbers of a run depend on; without the `policies` if they are unknown."""
    size = run.instances, run.horizon, run.seed, run.keep_raw
    about = run.problem.to_dict(), size, run.checkpoints, run.source, run.delays
    return digest_of((about, run.made if policies else None, version, MEANING))


def is_chunk(name: str) -> bool:
    """Return whether a file in a directory of results is a finished chunk."""
    return name.startswith(f"{_FOLDER}/")


class ChunkStore:
    """One file for each finished chunk of the run whose directory it is, of so many chunks in all."""

    def __init__(self, outputs: Outputs, chunks: int) -> None:
        self._outputs = outputs
        self._names = [f"{_FOLDER}/{chunk:06d}.npz" for chunk in range(chunks)]

    def begin(self, run: Run, version: str, resume: bool, overwrite: bool) -> str:
        """Get ready for a run and return its key: with `resume` what is there of it stays."""
        try:
            key = fingerprint(run, version)
        except UnknownIdentityError as error:
            if resume:
                raise InvalidInputError(
                    "resume must know that the policies are the same as before, and cannot tell for "
                    f"{error}; leave resume out to start over, or make it from plain values"
                ) from error
            key = fingerprint(run, version, policies=False)
        keep = resume and self._outputs.run == key
        self._outputs.check(self._names)
        self._outputs.begin(key, overwrite)
        if not keep:
            self._outputs.remove(is_chunk)
        self._outputs.claim(self._names)
        return key

    def save(self, tally: ChunkTally) -> None:
        """Write one chunk, atomically."""
        arrays = {name: value for name, value in vars(tally).items() if value is not None}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, run=np.array(self._outputs.run), **arrays)
        write_bytes(self._outputs.path(self._names[tally.chunk]), buffer.getvalue())

    def load(self) -> Iterator[ChunkTally]:
        """Yield the finished chunks; a damaged file counts as not finished."""
        for name in self._names:
            path = self._outputs.directory / name
            try:
                with np.load(path, allow_pickle=False) as data:
                    arrays: dict[str, Any] = dict(data)
                    key, chunk, instances = (arrays.pop(k).item() for k in ("run", "chunk", "instances"))
                    tally = ChunkTally(chunk, instances, **arrays)
            except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
                continue
            if key != self._outputs.run:
                raise InvalidInputError(
                    f"{path.parent} holds another run (settings, policies or version differ); "
                    "use another --out, or leave --resume out to start over"
                )
            yield tally
