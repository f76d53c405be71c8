"""Batches of chains, one state after another: moments, weights and conditional means."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsv._jit import helper, kernel
from elsv._typing import FloatArray
from elsv.beliefs._chain_march_kernels import march
from elsv.beliefs._chain_messages_kernels import (
    POINTS,
    Messages,
    Panels,
    fill_nodes,
    lower_messages,
    marginal,
    new_messages,
    new_panels,
    stack_windows,
    upper_message,
)
from elsv.beliefs._chain_refine_kernels import Draft, new_draft, refine

FEW = 12  # arms for which the march is tried first
ROOM = 256  # panels that the march may use
ROWS = 64  # panels in the window of an arm of a long chain, on average
WIDEST_SPAN = 8.0  # nats on a panel of a long chain, where errors add up over the arms
LARGEST_SKETCH = 8_000_000  # entries of one array of log-domain messages


class Room(NamedTuple):
    """Storage that the states of a batch share; what does not fit gets its own."""

    panels: Panels
    messages: Messages
    draft: Draft


class Solution(NamedTuple):
    """Panels and downward messages of one state."""

    panels: Panels
    messages: Messages
    log_weight: float


@helper
def sketch_size(arms: int) -> int:
    """Return how many edges the panels of a long chain may have."""
    return min(max(LARGEST_SKETCH // arms, 4096), 65536)


@helper
def new_room(arms: int) -> Room:
    """Return storage for chains of up to `arms` arms."""
    few = min(arms, FEW)
    messages = new_messages(max(few * ROOM, arms * ROWS), ROOM)
    # Few arms seldom need a draft.
    return Room(new_panels(few, ROOM), messages, new_draft(arms, sketch_size(arms) if arms > FEW else 0))


@helper
def first_arms(panels: Panels, arms: int) -> Panels:
    """Return the same storage with windows for `arms` arms."""
    return Panels(
        panels.edges,
        panels.y,
        panels.complement,
        panels.x,
        panels.first[:arms],
        panels.last[:arms],
        panels.start[:arms],
    )


@helper
def place(
    alpha: FloatArray, beta: FloatArray, bottom: float, top: float, nats: float, cut: float, room: Room
) -> tuple[Panels, int]:
    """Return panels between the logits `bottom` and `top`, and their number; nodes are not yet filled."""
    arms = len(alpha)
    if arms <= FEW:
        panels = first_arms(room.panels, arms)
        count = march(alpha, beta, bottom, top, nats, cut + 0.3 * arms, panels)
        if count > 0:
            return panels, count
    panels = new_panels(arms, 0)
    draft = room.draft
    if sketch_size(arms) > len(draft.edges):
        draft = new_draft(arms, sketch_size(arms))
    span = min(1.2 * nats, WIDEST_SPAN)
    edges, size = refine(alpha, beta, bottom, top, span, cut, draft, panels.first, panels.last)
    return with_edges(edges[:size], panels), size - 1


@helper
def with_edges(edges: FloatArray, windows: Panels) -> Panels:
    """Return panels with room for the nodes between `edges`, and the given windows."""
    count = len(edges) - 1
    return Panels(
        edges,
        np.empty((count, POINTS)),
        np.empty((count, POINTS)),
        np.empty((count, POINTS)),
        windows.first,
        windows.last,
        windows.start,
    )


@helper
def solve(
    alpha: FloatArray, beta: FloatArray, bottom: float, top: float, nats: float, cut: float, room: Room
) -> Solution:
    """Place panels for one state and send the messages down the chain."""
    panels, count = place(alpha, beta, bottom, top, nats, cut, room)
    fill_nodes(panels, count)
    rows = stack_windows(panels)
    messages = room.messages
    if rows > len(messages.lower_log) or count > len(messages.upper_log):
        messages = new_messages(rows, count)
    return Solution(panels, messages, lower_messages(alpha, beta, panels, messages))


@helper
def moments(
    alpha: FloatArray,
    beta: FloatArray,
    bottom: float,
    top: float,
    nats: float,
    cut: float,
    room: Room,
    mean: FloatArray,
    variance: FloatArray,
) -> float:
    """Set the mean and variance of every arm of one state ``[N]``; return log W."""
    panels, messages, log_weight = solve(alpha, beta, bottom, top, nats, cut, room)
    out = np.empty((len(panels.y), POINTS))
    for i in range(len(alpha)):
        if i > 0:
            upper_message(i - 1, panels, messages)
        marginal(i, log_weight, panels, messages, out)
        total, first = 0.0, 0.0
        for p in range(panels.first[i], panels.last[i]):
            for k in range(POINTS):
                total += out[p, k]
                first += out[p, k] * panels.x[p, k]
        mean[i] = first / total
        second = 0.0
        for p in range(panels.first[i], panels.last[i]):
            for k in range(POINTS):
                second += out[p, k] * (panels.x[p, k] - mean[i]) ** 2
        variance[i] = second / total
    return log_weight


@kernel
def batch_moments(
    alpha: FloatArray,
    beta: FloatArray,
    nats: float,
    cut: float,
    mean: FloatArray,
    variance: FloatArray,
    log_weight: FloatArray,
) -> None:
    """Set means and variances ``[B, N]`` and log W ``[B]``."""
    room = new_room(alpha.shape[1])
    for s in range(len(alpha)):
        log_weight[s] = moments(alpha[s], beta[s], -np.inf, np.inf, nats, cut, room, mean[s], variance[s])


@kernel
def batch_log_weight(
    alpha: FloatArray, beta: FloatArray, nats: float, cut: float, log_weight: FloatArray
) -> None:
    """Set log W ``[B]``: the downward messages alone."""
    room = new_room(alpha.shape[1])
    for s in range(len(alpha)):
        log_weight[s] = solve(alpha[s], beta[s], -np.inf, np.inf, nats, cut, room).log_weight


@kernel
def conditional_means(
    alpha: FloatArray, beta: FloatArray, arm: int, at: FloatArray, nats: float, cut: float, out: FloatArray
) -> None:
    """Set E[μ_l | μ_arm = x] for x in `at` ``[K]``, shape ``[B, K, N]``: two chains that x keeps apart."""
    arms = alpha.shape[1]
    room = new_room(arms)
    unused = np.empty(arms)
    for s in range(len(alpha)):
        for k in range(len(at)):
            y = math.log(at[k]) - math.log1p(-at[k])
            mean = out[s, k]
            mean[arm] = at[k]
            if arm > 0:
                moments(alpha[s, :arm], beta[s, :arm], y, np.inf, nats, cut, room, mean[:arm], unused)
            if arm + 1 < arms:
                rest = slice(arm + 1, arms)
                moments(alpha[s, rest], beta[s, rest], -np.inf, y, nats, cut, room, mean[rest], unused)
