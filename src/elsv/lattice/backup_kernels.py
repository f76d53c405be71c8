r"""Compiled sweeps back from the frontier of a search to its root, over a small lattice in one call.

The states are those of `elsv.lattice.small` with the root at its origin. With W of the layer past the
frontier, every earlier layer is :math:`W(s) = W(s{+}\text{success}) + W(s{+}\text{failure})`, and
:math:`W p_l(s) = W(s{+}\text{success}_l)`. Other packages' kernels may call these.
"""

from __future__ import annotations

import numpy as np

from elsv._jit import helper
from elsv._typing import FloatArray
from elsv.lattice._layer_kernels import commit_values
from elsv.lattice._sweep_kernels import add_weights, maximise
from elsv.lattice.small import Layers


@helper
def back_up(
    rewards: FloatArray,
    prior: FloatArray,
    left: float,
    discount: float,
    layers: Layers,
    weights: FloatArray,
    room: tuple[FloatArray, FloatArray],
    q: FloatArray,
) -> None:
    """Set q of the root from W of the last layer; `weights` is filled up for the others.

    Without weights the arms are independent, and `prior` ``[N, 2]`` are the root's counts.
    """
    values, spare = room
    no_actions, weighted = np.empty(0, np.uint8), len(weights) > 0
    depth = len(layers.first_block) - 3
    for m in range(depth, -1, -1):
        begin, end = layers.first_block[m], layers.first_block[m + 1]
        pulls, after = layers.pulls[begin:end], layers.after[begin:end]
        starts = layers.starts[begin + m : end + m + 1]
        here, later = weights, weights
        if weighted:
            here = weights[layers.first_state[m] : layers.first_state[m + 1]]
            later = weights[layers.first_state[m + 1] : layers.first_state[m + 2]]
            add_weights(later, pulls, starts, after, here)
        if m == depth:
            commit_values(later, pulls, starts, after, rewards, prior, left, values)
        elif m > 0:
            maximise(values, later, pulls, starts, after, rewards, prior, spare, no_actions)
            values, spare = spare, values
        else:
            for c in range(len(rewards)):
                lost = after[0, c]
                won = lost + 1
                if weighted:
                    q[c] = (rewards[c] * later[won] + values[lost] + values[won]) / here[0]
                else:
                    p = prior[c, 0] / (prior[c, 0] + prior[c, 1])
                    q[c] = p * (rewards[c] + values[won]) + (1 - p) * values[lost]
        if discount != 1.0:
            for s in range(layers.first_state[m + 1] - layers.first_state[m]):
                values[s] *= discount
