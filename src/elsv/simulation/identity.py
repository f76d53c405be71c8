"""What a policy is, as a digest: its pickle by cloudpickle, hashed.

The digest is the same for the same policy in another process, and another one for any other. Functions and
classes of your own modules count by value, so a changed helper makes another policy. What comes with Python,
elsv or an installed package counts by its name.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
import random
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import cloudpickle
import numpy as np

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
        if isinstance(value, CodeType):
            return str, tuple(_stable(value))
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


_NOT_ITS_DOING = frozenset(
    {"__abstractmethods__", "__dict__", "__doc__", "__firstlineno__", "__module__", "__qualname__"}
    | {"__static_attributes__", "__weakref__", "_abc_impl"}
)


def _stable(code: CodeType) -> Iterator[Any]:
    """Yield what a code object does, but not where it stands."""
    yield from (code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    yield from (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    yield code.co_consts


def _own_state(value: Any) -> dict[str, Any]:
    """Return what an object of elsv was made from; the rest is derived, or kept to save time."""
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
    return {name: entry for name, entry in vars(value).items() if not name.startswith("_")}


@contextmanager
def _own_modules_by_value() -> Iterator[None]:
    """Let cloudpickle take the user's own modules by value, as it takes those of ``__main__``."""
    own = [
        module
        for name, module in list(sys.modules.items())
        if isinstance(module, ModuleType) and name == module.__name__ != "__main__" and _is_own(name)
    ]
    before = cloudpickle.list_registry_pickle_by_value()
    new = [module for module in own if module.__name__ not in before]
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
