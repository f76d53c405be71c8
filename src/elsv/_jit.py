"""The one way kernels are compiled: cached on disk, without the GIL, single-threaded, strict.

Strict means IEEE arithmetic in the order as written. With fast-math the last bits would depend on what LLVM
happened to inline, which differs between a fresh compilation and a cached one, and so between the workers of
one run; measured, it gains nothing here.

Only modules named ``_*_kernels.py`` import this one, and they are imported inside the functions that
need them, so that ``import elsv`` does not load numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` with numba in nopython mode."""
    return cast(F, numba.njit(cache=True, nogil=True)(function))


def inlined(function: F) -> F:
    """Compile a small helper that LLVM should inline into the kernels that call it."""
    return cast(F, numba.njit(cache=True, nogil=True, inline="never", forceinline=True)(function))


def borrowing(function: F) -> F:
    """Compile, as `inlined` does, a helper that counts no references to the arrays it is given.

    Counting them, for each array in each call, took more time than the arithmetic of a small tile. Such a
    helper must not return an array and cannot make one. (The option is numba's own, without a promise to
    stay; without it results are the same.)
    """
    compiled = numba.njit(cache=True, nogil=True, inline="never", forceinline=True, _nrt=False)(function)
    return cast(F, compiled)
