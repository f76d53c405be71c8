"""Compiled product of messages and densities over the quadrature nodes."""

from __future__ import annotations

import numpy as np

from elsv._jit import kernel
from elsv._typing import FloatArray


@kernel
def add_products(before: FloatArray, density: FloatArray, behind: FloatArray, out: FloatArray) -> None:
    """Add Σ_g before[a, g] density[b, g] behind[c, g] to out[a, b, c] (flat)."""
    nodes = density.shape[1]
    product = np.empty(nodes)
    at = 0
    for a in range(len(before)):
        for b in range(len(density)):
            for g in range(nodes):
                product[g] = before[a, g] * density[b, g]
            for c in range(len(behind)):
                total = 0.0
                for g in range(nodes):
                    total += product[g] * behind[c, g]
                out[at] += total
                at += 1
