"""Finished chunks on disk, so that an interrupted comparison can go on, and what tells one run from another.

A policy counts by its digest: its pickle by cloudpickle, hashed. It is the same for the same policy in
another process, and another one for any other. Functions and classes of your own modules count by value, so
a changed helper makes another policy. What comes with Python, elsv or an installed package counts by its
name.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
import random
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import cloudpickle
import numpy as np

from elsv._base.files import Outputs, write_bytes
from elsv.errors import InvalidInputError
from elsv.simulation.engine import MEANING, ChunkTally, Run

_FOLDER = "chunks"
# Their answers depend on how often they were asked before.
_CHANGING = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random, io.IOBase)


class UnknownIdentityError(Exception):
    """A policy holds something whose state cannot be told, such as a random generator or a lock."""


def digest_of(value: object) -> str:
    """Return the digest of a value, such as a policy; `UnknownIdentityError` where it cannot be told."""
    pickled = io.BytesIO()
    try:
        with _own_modules_by_value():
            _Pickler(pickled).dump(value)
    except UnknownIdentityError:
        raise
    except Exception as error:  # attributes may do anything when they are read
        raise UnknownIdentityError(str(error) or type(error).__name__) from error
    return hashlib.sha256(pickled.getvalue()).hexdigest()


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles what a value is, for its digest only; nothing is ever loaded again."""

    def persistent_id(self, value: Any) -> Any:
        """Replace a set, whose order differs between processes, by the digests of its elements."""
        if isinstance(value, set | frozenset):
            return [type(value).__name__, *sorted(map(digest_of, value))]
        return None

    def reducer_override(self, value: Any) -> Any:
        """Replace what differs between processes, or from call to call, by what does not."""
        kind = type(value)
        if isinstance(value, _CHANGING):
            raise UnknownIdentityError(f"a {kind.__name__}")
        if isinstance(value, CodeType):  # what it does, but not where it stands
            return str, tuple(getattr(value, f"co_{name}") for name in _CODE)
        if isinstance(value, np.ndarray) and value.dtype.kind != "O":
            return str, (str(value.dtype), value.shape, np.ascontiguousarray(value).tobytes())
        if callable(inner := getattr(value, "py_func", None) or getattr(value, "__wrapped__", None)):
            return str, (kind.__name__, inner)  # what was compiled, or wrapped by lru_cache
        if isinstance(value, type) and _is_own(value.__module__):
            ours = {name: entry for name, entry in sorted(vars(value).items()) if name not in _NOT_ITS_DOING}
            return str, (), (value.__bases__, ours)
        if kind.__module__.partition(".")[0] == "elsv" and not isinstance(value, type):
            return str, (), (kind, _own_state(value))
        return super().reducer_override(value)


_CODE = (
    *("code", "names", "varnames", "freevars", "cellvars"),
    *("argcount", "posonlyargcount", "kwonlyargcount", "flags", "consts"),
)
_NOT_ITS_DOING = frozenset(
    {"__abstractmethods__", "__dict__", "__doc__", "__firstlineno__", "__module__", "__qualname__"}
    | {"__static_attributes__", "__weakref__", "_abc_impl"}
)


def _own_state(value: Any) -> dict[str, Any]:
    """Return what an object of elsv was made from; the rest is derived, or kept to save time."""
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
    return {name: entry for name, entry in vars(value).items() if not name.startswith("_")}


@contextmanager
def _own_modules_by_value() -> Iterator[None]:
    """Let cloudpickle take the user's own modules by value, as it takes those of ``__main__``."""
    known = {"__main__", *cloudpickle.list_registry_pickle_by_value()}
    new = [
        module
        for name, module in list(sys.modules.items())
        if isinstance(module, ModuleType) and name == module.__name__ and name not in known and _is_own(name)
    ]
    for module in new:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in new:
            with suppress(ValueError):
                cloudpickle.unregister_pickle_by_value(module)


@functools.lru_cache(maxsize=4096)
def _is_own(module: str) -> bool:
    """Return whether a module is the user's own: neither part of Python, nor of elsv, nor installed."""
    top = module.partition(".")[0]
    if top == "elsv" or (top in sys.stdlib_module_names and top != "__main__"):
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    installed = (sysconfig.get_path(name) for name in ("purelib", "platlib"))
    return file is None or not any(Path(file).is_relative_to(path) for path in installed)


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
