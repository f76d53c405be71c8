"""The one way kernels are compiled: cached on disk, without the GIL, single-threaded, strict.

Strict means IEEE arithmetic in the order as written. With fast-math the last bits would depend on what LLVM
happened to inline, which differs between a fresh compilation and a cached one, and so between the workers of
one run; measured, it gains nothing here.

Compiled kernels are kept where numba keeps them: in ``NUMBA_CACHE_DIR`` if that is set, else beside the
sources, else in the user's cache of numba; and where none of these can be written, in ``kernels`` below
`elsv._base.cache.cache_directory`. Where that cannot be written either, or the disk is full, everything still
runs, compiled anew by every process, and one warning says so.

Only modules named ``*_kernels.py`` import this one, and they are imported inside the functions that
need them, so that ``import elsv`` does not load numba.
"""

from __future__ import annotations

import functools
import gc
import importlib.util
import logging
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numba.core.caching import FunctionCache

from elsv._base.notices import compiling

F = TypeVar("F", bound=Callable[..., Any])
_log = logging.getLogger("elsv")
_said: list[str] = []
_NO_DOORS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_IMPORT = re.compile(r"^from (elsv\.[\w.]+) import", re.MULTILINE)


class _Listener(event.Listener):  # type: ignore[misc]
    """Tells the stopwatch when numba compiles; garbage waits, as collecting it took a tenth of the time."""

    _collects = False

    def on_start(self, _: Any) -> None:
        if compiling.depth == 0:
            self._collects = gc.isenabled()
            gc.disable()
        compiling.start()

    def on_end(self, _: Any) -> None:
        compiling.stop()
        if compiling.depth == 0 and self._collects:
            gc.enable()


event.register("numba:compile", _Listener())


def kernel(function: F) -> F:
    """Compile what Python calls, with numba in nopython mode."""
    return _compile(function, no_cfunc_wrapper=True)


def helper(function: F) -> F:
    """Compile what only kernels call.

    Python cannot call it: without that door, and without one for C, a fresh install compiles a quarter less.
    """
    return _compile(function, **_NO_DOORS)


def merged(function: F) -> F:
    """Compile a helper as a part of what calls it, in one place and no more: not by itself as well.

    Numba optimises other helpers by themselves and again in each of their callers. (In several places this
    one would be compiled for each.)
    """
    return _compile(function, inline="always", **_NO_DOORS)


def inlined(function: F) -> F:
    """Compile a small helper that LLVM should inline into the kernels that call it."""
    return _compile(function, inline="never", forceinline=True, **_NO_DOORS)


def borrowing(function: F) -> F:
    """Compile, as `inlined` does, a helper that counts no references to the arrays it is given.

    Counting them, for each array in each call, took more time than the arithmetic of a small tile. Such a
    helper must not return an array and cannot make one. (The option is numba's own, without a promise to
    stay; without it results are the same.)
    """
    return _compile(function, inline="never", forceinline=True, _nrt=False, **_NO_DOORS)


def _compile(function: F, **options: Any) -> F:
    compiled = numba.njit(nogil=True, **options)(function)
    if compiled is not function:  # NUMBA_DISABLE_JIT compiles nothing
        try:
            compiled._cache = _cache_of(function)
        except (OSError, RuntimeError) as error:
            _say_once(error)
    return cast(F, compiled)


class _KernelCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache on disk, as a convenience: what cannot be read or written is compiled.

    Numba looks at the age of a function's own file. What it calls is compiled into it, so here the files of
    all that it imports count too.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        own = self._impl.locator.get_source_stamp()
        self._cache_file._source_stamp = (own, _stamp(function.__module__))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function, or None."""
        try:
            try:
                return super().load_overload(sig, target_context)
            except (EOFError, pickle.UnpicklingError, ImportError, AttributeError):
                self.flush()  # a damaged file, or one from before a module was moved: start over
        except OSError as error:
            _say_once(error)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled function if the disk allows it."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _say_once(error)


@functools.cache
def _imports(module: str) -> tuple[Path | None, list[str]]:
    """Return the file of a module and the modules of the package that it imports."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return None, []
    path = Path(spec.origin)
    return path, _IMPORT.findall(path.read_text(encoding="utf-8"))


@functools.cache
def _sources(module: str) -> list[Path]:
    """Return the files of a module and of all that it imports, near and far, in order."""
    found, left = dict[str, Path | None](), [module]
    while left:
        if (name := left.pop()) not in found:
            found[name], names = _imports(name)
            left += names
    return sorted(filter(None, found.values()))


def _stamp(module: str) -> tuple[tuple[str, float, int], ...]:
    """Return what changes when anything changes that the module's kernels are compiled from."""
    stats = ((path, path.stat()) for path in _sources(module))
    return tuple((path.name, stat.st_mtime, stat.st_size) for path, stat in stats)


def _cache_of(function: Callable[..., Any]) -> _KernelCache:
    """Return a cache in one of numba's own places, or else in ours; an error if none can be written."""
    try:
        return _KernelCache(function)
    except RuntimeError:
        from elsv._base.cache import cache_directory  # here: kernels are not compiled from it

        ours = cache_directory()
        if ours is None:
            raise
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(ours / "kernels")
    try:
        return _KernelCache(function)
    finally:
        numba.config.CACHE_DIR = before


def _say_once(error: Exception) -> None:
    if not _said:
        _said.append(str(error))
        _log.warning(
            "compiled kernels cannot be kept (%s), so that every process compiles them anew; "
            "set ELSV_CACHE_DIR to a directory that can be written",
            error,
        )
