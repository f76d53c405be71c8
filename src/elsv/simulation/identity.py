"""What a policy is, as a digest: the same for the same policy in another process, another for any other.

A function is its code, its defaults, the variables that it closes over and the globals that it names; a
module of your own is its source; an object is its class and its state; what comes with Python or was
installed is its name and version. What cannot be told so (a random generator, a file, a lock) is listed as
unknown.
"""

from __future__ import annotations

import copyreg
import dataclasses
import dis
import functools
import hashlib
import random
import sys
import sysconfig
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import BuiltinMethodType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy as np

_PLAIN = frozenset({type(None), bool, int, str, bytes, type(Ellipsis), type(NotImplemented), range})
_NUMBERS = (float, complex)
# Their answers depend on how often they were asked before.
_CHANGING = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)
_NOT_ITS_DOING = frozenset(
    {"__abstractmethods__", "__dict__", "__doc__", "__firstlineno__", "__module__", "__qualname__"}
    | {"__static_attributes__", "__weakref__", "_abc_impl"}
)


@dataclasses.dataclass(frozen=True)
class Identity:
    """A digest, and what could not be taken into it."""

    digest: str
    unknown: tuple[str, ...]  # such as "rng, a Generator"


def identity_of(value: object) -> Identity:
    """Return the digest of a value, such as a policy, and the parts of it whose state cannot be told."""
    teller = _Teller()
    try:
        digest = teller.tell(value, "")
    except Exception as error:  # attributes may do anything when they are read
        return Identity("", (f"it, {type(error).__name__}: {error}",))
    return Identity(digest, tuple(teller.unknown))


class _Teller:
    """Turns values into digests; remembers where it has been, since functions may name one another."""

    def __init__(self) -> None:
        self.unknown: dict[str, None] = {}
        self._open: list[int] = []
        self._done: dict[int, tuple[str, Any]] = {}  # with the value, so that its id stays its own

    def tell(self, value: Any, name: str) -> str:
        """Return the digest of a value that goes by `name`."""
        kind = type(value)
        if kind in _PLAIN:
            return _digest(kind.__name__, repr(value))
        if kind in _NUMBERS:
            return _digest(kind.__name__, np.complex128(value).tobytes())
        if id(value) in self._open:
            return _digest("within", str(self._open.index(id(value))))
        if id(value) not in self._done:
            self._open.append(id(value))
            self._done[id(value)] = _digest(*self._parts(value, name)), value
            self._open.pop()
        return self._done[id(value)][0]

    def _parts(self, value: Any, name: str) -> Iterator[str | bytes]:
        kind = type(value)
        yield f"{kind.__module__}.{kind.__qualname__}"
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind != "O":
            yield from (str(value.dtype), str(value.shape), np.ascontiguousarray(value).tobytes())
        elif kind in (tuple, list):
            yield from (self.tell(entry, name) for entry in value)
        elif kind in (dict, MappingProxyType):
            for key, entry in value.items():
                yield from (self.tell(key, name), self.tell(entry, f"{name}.{key}".lstrip(".")))
        elif kind in (set, frozenset):
            yield from sorted(self.tell(entry, name) for entry in value)
        elif isinstance(value, CodeType):
            yield from self._code(value, name)
        elif isinstance(value, ModuleType):
            yield from self._module(value, name)
        elif _is_importable(value):
            yield from (value.__module__, value.__qualname__, _version_of(value.__module__))
        elif isinstance(value, FunctionType):
            yield from self._function(value, name)
        elif isinstance(value, type):
            yield from self._class(value)
        else:
            yield from self._object(value, name)

    def _code(self, code: CodeType, name: str) -> Iterator[str | bytes]:
        """Yield what a code object does, but not where it stands."""
        yield code.co_code
        yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))
        yield repr((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags))
        yield from (self.tell(constant, name) for constant in code.co_consts)

    def _function(self, value: FunctionType, name: str) -> Iterator[str | bytes]:
        yield self.tell(value.__code__, name)
        yield self.tell((value.__defaults__, value.__kwdefaults__), f"a default of {value.__name__}")
        for variable, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            try:
                yield self.tell(cell.cell_contents, variable)
            except ValueError:  # it has no value yet
                yield variable
        for variable in sorted(_globals_of(value.__code__)):
            if variable in value.__globals__:
                yield from (variable, self.tell(value.__globals__[variable], variable))
        if vars(value):
            yield self.tell(vars(value), value.__name__)

    def _module(self, module: ModuleType, name: str) -> Iterator[str | bytes]:
        yield from (module.__name__, _version_of(module.__name__))
        if not _is_own(module.__name__):
            return
        try:
            yield Path(str(module.__file__)).read_bytes()
        except (AttributeError, OSError):
            self._give_up(module, name)
        for variable, entry in sorted(vars(module).items()):
            simple = type(entry) in _PLAIN or isinstance(entry, (*_NUMBERS, np.ndarray, ModuleType))
            if simple and not variable.startswith("__"):
                yield from (variable, self.tell(entry, f"{name}.{variable}"))

    def _class(self, value: type) -> Iterator[str | bytes]:
        yield self.tell(value.__bases__, value.__name__)
        for attribute, entry in sorted(vars(value).items()):
            if attribute not in _NOT_ITS_DOING:
                yield from (attribute, self.tell(entry, f"{value.__name__}.{attribute}"))

    def _object(self, value: Any, name: str) -> Iterator[str | bytes]:
        kind = type(value)
        if isinstance(value, _CHANGING):
            self._give_up(value, name)
        elif isinstance(value, MethodType):
            yield self.tell((value.__func__, value.__self__), name)
        elif isinstance(value, BuiltinMethodType):
            yield from (value.__name__, self.tell(value.__self__, name))
        elif isinstance(value, staticmethod | classmethod):
            yield self.tell(value.__func__, name)
        elif isinstance(value, property):
            yield self.tell((value.fget, value.fset, value.fdel), name)
        elif isinstance(value, functools.cached_property):
            yield self.tell(value.func, name)
        elif callable(inner := getattr(value, "py_func", None) or getattr(value, "__wrapped__", None)):
            yield self.tell(inner, name)  # what was compiled, or wrapped by lru_cache
        elif kind.__module__.partition(".")[0] == "elsv":
            yield self.tell(_own_state(value), name)
        else:
            yield from self._state(value, name)

    def _state(self, value: Any, name: str) -> Iterator[str | bytes]:
        """Yield what an object would be made from again, as pickle sees it."""
        reduce = copyreg.dispatch_table.get(type(value))
        try:
            made = reduce(value) if reduce is not None else value.__reduce_ex__(4)
        except Exception:
            self._give_up(value, name)
            return
        if isinstance(made, str):
            yield made
            return
        maker, arguments, *rest = made
        yield self.tell((maker, arguments), name)
        for part in rest[:1]:
            yield self.tell(part, name)
        for entries in rest[1:3]:
            yield self.tell(None if entries is None else list(entries), name)

    def _give_up(self, value: object, name: str) -> None:
        self.unknown.setdefault(f"{name or 'the policy'}, a {type(value).__name__}")


def _own_state(value: Any) -> dict[str, Any]:
    """Return what an object of elsv was made from; the rest is derived, or kept to save time."""
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
    return {name: entry for name, entry in vars(value).items() if not name.startswith("_")}


def _globals_of(code: CodeType) -> set[str]:
    """Return the global names that a function, or one within it, reads."""
    found = {str(i.argval) for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _globals_of(constant)
    return found


def _is_importable(value: Any) -> bool:
    """Return whether a value is known by its name in Python, in elsv or in something installed."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or _is_own(module):
        return False
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value


@functools.lru_cache(maxsize=1024)
def _is_own(module: str) -> bool:
    """Return whether a module is the user's own: neither part of Python, nor of elsv, nor installed."""
    top = module.partition(".")[0]
    if top == "elsv" or (top in sys.stdlib_module_names and top != "__main__"):
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    installed = (sysconfig.get_path(name) for name in ("purelib", "platlib"))
    return file is None or not any(Path(file).is_relative_to(path) for path in installed)


@functools.lru_cache(maxsize=256)
def _version_of(module: str) -> str:
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return sys.version.partition(" ")[0]
    return str(getattr(sys.modules.get(top), "__version__", None) or _installed_version(top))


def _installed_version(top: str) -> str:
    try:
        return metadata.version(top)
    except (metadata.PackageNotFoundError, ValueError):
        return ""


def _digest(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little") + content)
    return digest.hexdigest()
