"""Compiled product of messages and densities over the quadrature nodes."""

from __future__ import annotations

import numpy as np

from elsv._base.jit import helper, kernel
from elsv._base.typing import FloatArray

FEW = 5  # columns that are not worth going through side by side


@kernel
def add_products(before: FloatArray, density: FloatArray, behind: FloatArray, out: FloatArray) -> None:
    """Add Σ_g before[a, g] density[b, g] behind[c, g] to out[a, b, c] (flat)."""
    columns = len(behind)
    turned = np.ascontiguousarray(behind.T)
    product, sums = np.empty(density.shape[1]), np.empty(columns)
    at = 0
    for a in range(len(before)):
        for b in range(len(density)):
            for g in range(len(product)):
                product[g] = before[a, g] * density[b, g]
            if columns < FEW:
                for c in range(columns):
                    sums[c] = 0.0
                    for g in range(len(product)):
                        sums[c] += product[g] * behind[c, g]
            else:
                add_side_by_side(product, turned, sums)
            for c in range(columns):
                out[at + c] += sums[c]
            at += columns


@helper
def add_side_by_side(product: FloatArray, turned: FloatArray, sums: FloatArray) -> None:
    """Set `sums` to Σ_g product[g] turned[g, c]: the same sums, but vectorised over c."""
    sums[:] = 0.0
    for g in range(len(product)):
        factor, line = product[g], turned[g]
        for c in range(len(sums)):
            sums[c] += factor * line[c]
