r"""The rate at which P(every :math:`\mu_j \le c_j`) grows with one of the limits, ordered or not."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsv._jit import kernel
from elsv._typing import FloatArray, IntArray
from elsv.beliefs._chain_kernels import Room, with_edges
from elsv.beliefs._chain_messages_kernels import (
    NODES,
    POINTS,
    WEIGHTS,
    Messages,
    Panels,
    fill_nodes,
    log_complement,
    lower_messages,
    new_messages,
    new_panels,
    stack_windows,
    upper_message,
)


class Arms(NamedTuple):
    """One state: its arms and, for each, the panels that its own probability needs."""

    alpha: FloatArray  # [N]
    beta: FloatArray  # [N]
    rewards: FloatArray  # [N]
    contender: FloatArray  # [N], 1 where the arm can be best, else 0
    edges: FloatArray  # [N, edges], logits
    first: IntArray  # [N]
    last: IntArray  # [N]


@kernel
def chain_density(
    arms: Arms, count: int, limit: FloatArray, log_weight: float, room: Room, out: FloatArray
) -> None:
    """Set d P(all below their limits) / d limit of every contender ``[N]``, in an order decreasing with i.

    The panels of the chain are split at the limits, and a window ends at its arm's limit.
    """
    size = len(limit)
    out[:] = 0.0
    base = arms.edges[0]
    marks = np.empty(size)
    lowest = base[count]
    for j in range(size):
        lowest = min(lowest, limit[j])
        if lowest <= base[arms.first[j]]:
            return
        marks[j] = lowest
    edges = np.unique(np.concatenate((base, marks)))
    cap = np.searchsorted(edges, marks)
    panels = with_edges(edges, new_panels(size, 0))
    for j in range(size):
        panels.first[j] = np.searchsorted(edges, base[arms.first[j]])
        panels.last[j] = min(cap[j], np.searchsorted(edges, base[arms.last[j]]))
    fill_nodes(panels, len(edges) - 1)
    rows = stack_windows(panels)
    messages = room.messages
    if rows > len(messages.lower_log) or len(edges) > len(messages.upper_log):
        messages = new_messages(rows, len(edges))
    lower_messages(arms.alpha, arms.beta, panels, messages)
    _read_density(arms, limit, cap, log_weight, panels, messages, out)


@kernel
def _read_density(
    arms: Arms,
    limit: FloatArray,
    cap: IntArray,
    log_weight: float,
    panels: Panels,
    messages: Messages,
    out: FloatArray,
) -> None:
    """Set f U L of every contender at its limit, relative to the whole weight."""
    size = len(limit)
    for i in range(size):
        if i > 0:
            upper_message(i - 1, panels, messages)
        if arms.contender[i] == 0 or limit[i] > arms.edges[0, arms.last[i]]:
            continue
        value = arms.alpha[i] * limit[i] + (arms.alpha[i] + arms.beta[i]) * log_complement(limit[i])
        if i + 1 < size:
            value += messages.lower_log[panels.start[i + 1] + panels.last[i + 1] - 1]
        if i > 0:
            at = max(cap[i], panels.first[i - 1])
            if at >= panels.last[i - 1]:
                continue
            value += messages.upper_log[at]
        out[i] = math.exp(min(value - log_weight, 700.0))


@kernel
def independent_density(arms: Arms, masses: FloatArray, limit: FloatArray, out: FloatArray) -> None:
    """Set d P(all below their limits) / d limit of every arm ``[N]``; `masses` ``[N, panels]`` sum to 1."""
    size = len(limit)
    out[:] = 1.0
    for i in range(size):
        below, density = 0.0, 0.0
        a, b = arms.alpha[i], arms.beta[i]
        edges = arms.edges[i]
        for p in range(arms.last[i]):
            if edges[p + 1] <= limit[i]:
                below += masses[i, p]
            elif edges[p] < limit[i]:
                half = 0.5 * (limit[i] - edges[p])
                for k in range(POINTS):
                    y = edges[p] + half * (1 + NODES[k])
                    below += WEIGHTS[k] * half * math.exp(a * y + (a + b) * log_complement(y) - masses[i, -1])
        if edges[0] < limit[i] < edges[arms.last[i]]:
            density = math.exp(a * limit[i] + (a + b) * log_complement(limit[i]) - masses[i, -1])
        for j in range(size):
            out[j] *= density if i == j else below
