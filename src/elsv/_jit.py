"""The one way kernels are compiled: cached on disk, without the GIL, single-threaded.

Only modules named ``_*_kernels.py`` import this one, and they are imported inside the functions that
need them, so that ``import elsv`` does not load numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile `function` with numba in nopython mode; strict IEEE arithmetic, cached, nogil."""
    return cast(F, numba.njit(cache=True, nogil=True)(function))


def inlined(function: F) -> F:
    """Compile a small helper that LLVM should inline into the kernels that call it."""
    return cast(F, numba.njit(cache=True, nogil=True, inline="never", forceinline=True)(function))


def fast_kernel(function: F) -> F:
    """Compile like `kernel`, letting LLVM contract and reorder sums.

    Infinities and NaN keep their meaning; only rounding may differ from the written order, by the
    same amount on every run.
    """
    flags = {"contract", "reassoc", "nsz", "arcp"}
    return cast(F, numba.njit(cache=True, nogil=True, fastmath=flags)(function))
