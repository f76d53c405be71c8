"""Batches of chains, one state after another on panels that are given: moments and weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsv._base.jit import helper, kernel
from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs.chain.messages_kernels import (
    POINTS,
    Messages,
    Panels,
    fill_nodes,
    lower_messages,
    marginal,
    new_messages,
    stack_windows,
    upper_message,
)
from elsv.beliefs.chain.panels import Placed

ROWS = 64  # panels in the window of an arm of a long chain, on average


class Room(NamedTuple):
    """Storage that the states of a batch share; messages that do not fit get their own."""

    y: FloatArray
    complement: FloatArray
    x: FloatArray
    start: IntArray
    messages: Messages


class Solution(NamedTuple):
    """Panels and downward messages of one state."""

    panels: Panels
    messages: Messages
    log_weight: float


@helper
def new_room(placed: Placed) -> Room:
    """Return storage for the states of a batch."""
    widest, arms = placed.edges.shape[1] - 1, placed.first.shape[1]
    return Room(
        np.empty((widest, POINTS)),
        np.empty((widest, POINTS)),
        np.empty((widest, POINTS)),
        np.empty(arms, np.int64),
        new_messages(min(arms * widest, max(arms * ROWS, widest)), widest),
    )


@helper
def solve(alpha: FloatArray, beta: FloatArray, placed: Placed, s: int, room: Room) -> Solution:
    """Fill the panels of state s and send the messages down its chain."""
    panels = Panels(
        placed.edges[s], room.y, room.complement, room.x, placed.first[s], placed.last[s], room.start
    )
    fill_nodes(panels, placed.panels[s])
    rows = stack_windows(panels)
    messages = room.messages
    if rows > len(messages.lower_log):
        messages = new_messages(rows, len(room.y))
    return Solution(panels, messages, lower_messages(alpha[s], beta[s], panels, messages))


@kernel
def batch_moments(
    alpha: FloatArray,
    beta: FloatArray,
    placed: Placed,
    mean: FloatArray,
    variance: FloatArray,
    log_weight: FloatArray,
) -> None:
    """Set means and variances ``[B, N]`` and log W ``[B]``."""
    room = new_room(placed)
    out = np.empty(room.y.shape)
    for s in range(len(alpha)):
        panels, messages, log_weight[s] = solve(alpha, beta, placed, s, room)
        for i in range(alpha.shape[1]):
            if i > 0:
                upper_message(i - 1, 0, panels, messages)
            marginal(i, log_weight[s], panels, messages, out)
            total, first = 0.0, 0.0
            for p in range(panels.first[i], panels.last[i]):
                for k in range(POINTS):
                    total += out[p, k]
                    first += out[p, k] * panels.x[p, k]
            mean[s, i] = first / total
            second = 0.0
            for p in range(panels.first[i], panels.last[i]):
                for k in range(POINTS):
                    second += out[p, k] * (panels.x[p, k] - mean[s, i]) ** 2
            variance[s, i] = second / total


@kernel
def batch_log_weight(alpha: FloatArray, beta: FloatArray, placed: Placed, log_weight: FloatArray) -> None:
    """Set log W ``[B]``: the downward messages alone."""
    room = new_room(placed)
    for s in range(len(alpha)):
        log_weight[s] = solve(alpha, beta, placed, s, room).log_weight
