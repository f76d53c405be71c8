"""Finished chunks on disk, so that an interrupted comparison can go on."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np

from elsv._files import write_bytes
from elsv.errors import InvalidInputError
from elsv.simulation.engine import MEANING, ChunkTally, PolicyTally, Run

_ARRAYS = tuple(f.name for f in fields(PolicyTally) if f.name != "seconds")


def fingerprint(run: Run, version: str) -> str:
    """Return a key of everything that the numbers of a run depend on."""
    names = [p if isinstance(p, str) else getattr(p, "__qualname__", repr(p)) for p in run.policies]
    about = [run.problem.to_dict(), names, run.instances, run.horizon, run.seed, run.keep_raw, version]
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    digest.update(MEANING.encode())
    digest.update(run.checkpoints.tobytes())
    digest.update(getattr(run.source, "table", np.empty(0)).tobytes())
    return digest.hexdigest()[:16]


class ChunkStore:
    """A directory with one file for each finished chunk of one run."""

    def __init__(self, directory: Path, key: str) -> None:
        self.directory = directory / "chunks"
        self._key = key

    def save(self, tally: ChunkTally) -> None:
        """Write one chunk, atomically."""
        arrays = {
            "about": np.array([self._key, str(tally.chunk), str(tally.instances), str(len(tally.policies))]),
            "differences": tally.differences,
            "difference_squares": tally.difference_squares,
            "seconds": np.array([p.seconds for p in tally.policies]),
        }
        for p, policy in enumerate(tally.policies):
            for name in _ARRAYS:
                if getattr(policy, name) is not None:
                    arrays[f"{name}_{p}"] = getattr(policy, name)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        write_bytes(self.directory / f"{tally.chunk:06d}.npz", buffer.getvalue())

    def load(self) -> Iterator[ChunkTally]:
        """Yield the finished chunks; a damaged file counts as not finished."""
        for path in sorted(self.directory.glob("*.npz")):
            try:
                with np.load(path, allow_pickle=False) as data:
                    yield self._tally(path, data)
            except InvalidInputError:
                raise
            except (OSError, ValueError, KeyError, zipfile.BadZipFile):
                continue

    def _tally(self, path: Path, data: np.lib.npyio.NpzFile) -> ChunkTally:
        key, chunk, instances, policies = (str(x) for x in data["about"])
        if key != self._key:
            raise InvalidInputError(
                f"{path.parent} holds another run (settings, policies or version differ); "
                "use another --out, or leave --resume out to start over"
            )
        tallies = tuple(
            PolicyTally(
                **{name: data[f"{name}_{p}"] for name in _ARRAYS if f"{name}_{p}" in data},
                seconds=float(data["seconds"][p]),
            )
            for p in range(int(policies))
        )
        return ChunkTally(
            int(chunk), int(instances), tallies, data["differences"], data["difference_squares"]
        )

    def clear(self) -> None:
        """Remove every chunk."""
        shutil.rmtree(self.directory, ignore_errors=True)
