"""The compiled search of independent arms, which needs no points."""

from __future__ import annotations

import numpy as np

from elsv._jit import kernel
from elsv._typing import FloatArray
from elsv.lattice.backup_kernels import back_up
from elsv.lattice.small import Layers


@kernel
def search_free(
    alpha: FloatArray,
    beta: FloatArray,
    rewards: FloatArray,
    left: float,
    layers: Layers,
    q: FloatArray,
) -> None:
    """Set q ``[B, N]`` for independent arms: the same search of all of them, without weights."""
    depth = len(layers.first_block) - 3
    largest = layers.first_state[depth + 1] - layers.first_state[depth]
    values, nothing = (np.empty(largest), np.empty(largest)), np.empty(0)
    for n in range(len(alpha)):
        counts = np.stack((alpha[n], beta[n]), axis=1)
        back_up(rewards, counts, left, 1.0, layers, nothing, values, q[n])
