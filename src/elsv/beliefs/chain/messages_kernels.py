r"""Messages along a chain of arms by Gauss–Legendre panels in the logit :math:`y = \log(x/(1-x))`.

In y the unnormalised density of arm i is :math:`f_i = x^{\alpha_i}(1-x)^{\beta_i}`: smooth and log-concave
for every :math:`\alpha_i, \beta_i > 0`. For a decreasing order the messages are

.. math:: L_i(y) = \int_{-\infty}^y f_i L_{i+1}, \qquad U_i(y) = \int_y^\infty f_i U_{i-1},

the weight is :math:`Z = L_1(\infty)` and the density of arm i is :math:`f_i U_{i-1} L_{i+1}/Z`. Arm i lives
on its window of panels ``first[i] .. last[i]``; above it :math:`L_i` is constant, below it :math:`U_i` is.
Windows go down with i. A message on a panel is kept as values relative to its largest one and the log of
that one, so nothing underflows.

Gauss–Legendre collocation is its own adjoint, so the means have twice the order of the messages, and the
weight comes out the same whichever arm it is summed over, however coarse the panels: that spread says
nothing about accuracy.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss

from elsv._base.jit import borrowing, helper, merged
from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs.chain import Placed
from elsv.beliefs.quadrature import integrals_to

POINTS = 10
NOTHING = 700.0  # nats by which a panel falls short of all panels before it, and adds nothing


NODES, WEIGHTS = leggauss(POINTS)
CUMULATIVE = integrals_to(NODES, POINTS)  # from -1 to each node
_KNOTS = np.concatenate(([-1.0], NODES))
BARYCENTRIC = 1 / (_KNOTS[:, None] - _KNOTS + np.eye(POINTS + 1)).prod(axis=1)  # with -1 in front
_TRANSPOSED = np.ascontiguousarray(CUMULATIVE.T)


@helper
def log_complement(y: float) -> float:
    """Return log(1 - x) at the logit y."""
    return -math.log1p(math.exp(y)) if y < 0 else -y - math.log1p(math.exp(-y))


@helper
def probability(y: float) -> float:
    """Return x = 1/(1 + exp(-y))."""
    return 1 / (1 + math.exp(-y)) if y > -700 else 0.0


@borrowing
def integrate(values: FloatArray, width: float, out: FloatArray) -> float:
    """Set `out` to the integral from the left edge to each node; return it over the whole panel."""
    half = 0.5 * width
    for k in range(POINTS):
        out[k] = 0.0
    total = 0.0
    for j in range(POINTS):
        value = half * values[j]
        total += WEIGHTS[j] * value
        for k in range(POINTS):
            out[k] += _TRANSPOSED[j, k] * value
    return total


class Panels(NamedTuple):
    """One state, its panels, and every arm's window of them."""

    alpha: FloatArray  # [N]
    beta: FloatArray  # [N]
    edges: FloatArray  # [panels + 1], logits
    y: FloatArray  # [panels, POINTS]
    complement: FloatArray  # [panels, POINTS], log(1 - x)
    x: FloatArray  # [panels, POINTS]
    first: IntArray  # [N]
    last: IntArray  # [N], one past the end
    start: IntArray  # [N], row of panel p of arm i in stacked storage is start[i] + p


class Messages(NamedTuple):
    """Densities and messages; rows are the panels of all windows, stacked."""

    density: FloatArray  # [rows, POINTS], f relative to its scale
    density_log: FloatArray  # [rows]
    lower: FloatArray  # [rows, POINTS], L relative to its value at the right edge
    lower_log: FloatArray  # [rows]
    upper: FloatArray  # [panels, POINTS], U of one arm at a time, relative to its value at the left edge
    upper_log: FloatArray  # [panels]


@helper
def new_panels(alpha: FloatArray, beta: FloatArray, capacity: int) -> Panels:
    """Return room for `capacity` panels of a state."""
    nodes, windows = np.empty((3, capacity, POINTS)), np.empty((3, len(alpha)), np.int64)
    edges = np.empty(capacity + 1)
    return Panels(alpha, beta, edges, nodes[0], nodes[1], nodes[2], windows[0], windows[1], windows[2])


@helper
def new_messages(rows: int, capacity: int) -> Messages:
    """Return room for `rows` stacked panels of windows on `capacity` panels."""
    values, logs = np.empty((2, rows, POINTS)), np.empty((2, rows))
    upper, upper_log = np.empty((capacity, POINTS)), np.empty(capacity)
    return Messages(values[0], logs[0], values[1], logs[1], upper, upper_log)


@borrowing
def copy(source: FloatArray, row: int, out: FloatArray, place: int) -> None:
    """Set one row of `out` to one of `source`: NumPy's way takes longer than what is done with them."""
    for k in range(POINTS):
        out[place, k] = source[row, k]


@merged
def fill_nodes(panels: Panels, count: int) -> None:
    """Set the logit, log(1 - x) and x at every node of the first `count` panels."""
    edges = panels.edges
    for p in range(count):
        half = 0.5 * (edges[p + 1] - edges[p])
        middle = 0.5 * (edges[p + 1] + edges[p])
        for k in range(POINTS):
            at = middle + half * NODES[k]
            small = math.exp(-abs(at))
            panels.y[p, k] = at
            panels.complement[p, k] = -math.log1p(small) - max(at, 0.0)
            panels.x[p, k] = (1.0 if at > 0 else small) / (1 + small)


@helper
def stack_windows(panels: Panels) -> int:
    """Make windows go down with i, set where each is stored, and return the number of rows."""
    first, last = panels.first, panels.last
    arms = len(first)
    for i in range(1, arms):
        first[i] = min(first[i], first[i - 1])
    for i in range(arms - 2, -1, -1):
        last[i] = max(last[i], last[i + 1])
    rows = 0
    for i in range(arms):
        panels.start[i] = rows - first[i]
        rows += last[i] - first[i]
    return rows


@borrowing
def fill_density(i: int, p: int, panels: Panels, messages: Messages) -> None:
    """Set f of arm i on panel p."""
    a, b, row = panels.alpha[i], panels.beta[i], panels.start[i] + p
    values = messages.density[row]
    peak = -np.inf
    for k in range(POINTS):
        values[k] = a * panels.y[p, k] + (a + b) * panels.complement[p, k]
        peak = max(peak, values[k])
    for k in range(POINTS):
        values[k] = math.exp(values[k] - peak)
    messages.density_log[row] = peak


@borrowing
def _times_lower(i: int, p: int, panels: Panels, messages: Messages, values: FloatArray) -> float:
    """Multiply `values` by L of arm i+1 on panel p, relative to its scale; return the scale's log."""
    if i + 1 == len(panels.first):
        return 0.0
    if p >= panels.last[i + 1]:
        return float(messages.lower_log[panels.start[i + 1] + panels.last[i + 1] - 1])
    row = panels.start[i + 1] + p
    for k in range(POINTS):
        values[k] *= messages.lower[row, k]
    return float(messages.lower_log[row])


@borrowing
def _times_upper(
    i: int, p: int, constant: float, panels: Panels, messages: Messages, values: FloatArray
) -> float:
    """Multiply `values` by U of arm i-1 on panel p; `constant` is the log of U below the window of i-1."""
    if i == 0:
        return 0.0
    if p < panels.first[i - 1]:
        return constant
    for k in range(POINTS):
        values[k] *= messages.upper[p, k]
    return float(messages.upper_log[p])


@borrowing
def lower_message(
    i: int, p: int, total_log: float, panels: Panels, messages: Messages, integrand: FloatArray
) -> float:
    """Fill L of arm i on panel p, where f is known, from its log on the left; return its log on the right."""
    row = panels.start[i] + p
    for k in range(POINTS):
        integrand[k] = messages.density[row, k]
    scale = messages.density_log[row] + _times_lower(i, p, panels, messages, integrand)
    values = messages.lower[row]
    inside = integrate(integrand, panels.edges[p + 1] - panels.edges[p], values)
    if total_log - scale > NOTHING:
        for k in range(POINTS):
            values[k] = 1.0
        messages.lower_log[row] = total_log
        return total_log
    carried = math.exp(total_log - scale)
    right = carried + inside
    for k in range(POINTS):
        values[k] = (carried + values[k]) / right
    messages.lower_log[row] = scale + math.log(right)
    return float(messages.lower_log[row])


@helper
def send_down(panels: Panels, count: int) -> tuple[Messages, float]:
    """Fill the nodes of the first `count` panels; return f and L of every arm on its window, and log Z."""
    fill_nodes(panels, count)
    messages, integrand = new_messages(stack_windows(panels), count), np.empty(POINTS)
    total_log = 0.0
    for i in range(len(panels.alpha) - 1, -1, -1):
        total_log = -np.inf
        for p in range(panels.first[i], panels.last[i]):
            fill_density(i, p, panels, messages)
            total_log = lower_message(i, p, total_log, panels, messages, integrand)
    return messages, total_log


@helper
def upper_message(i: int, bottom: int, panels: Panels, messages: Messages) -> None:
    """Replace U of arm i-1 in `messages.upper` by U of arm i, on its window from panel `bottom` up."""
    integrand = np.empty(POINTS)
    integral = np.empty(POINTS)
    constant = messages.upper_log[panels.first[i - 1]] if i > 0 else 0.0
    total_log = -np.inf
    for p in range(panels.last[i] - 1, max(panels.first[i], bottom) - 1, -1):
        row = panels.start[i] + p
        for k in range(POINTS):
            integrand[k] = messages.density[row, k]
        scale = messages.density_log[row] + _times_upper(i, p, constant, panels, messages, integrand)
        inside = integrate(integrand, panels.edges[p + 1] - panels.edges[p], integral)
        if total_log - scale > NOTHING:
            for k in range(POINTS):
                messages.upper[p, k] = 1.0
            messages.upper_log[p] = total_log
            continue
        carried = math.exp(total_log - scale)
        left = carried + inside
        for k in range(POINTS):
            messages.upper[p, k] = (carried + (inside - integral[k])) / left
        total_log = scale + math.log(left)
        messages.upper_log[p] = total_log


@merged
def marginal(
    i: int, log_weight: float, panels: Panels, messages: Messages, out: FloatArray
) -> tuple[float, float]:
    """Set `out` ``[panels, POINTS]`` to arm i's probability at the nodes of its window; arms come in turn.

    Return the sum of these, and of them times x.
    """
    if i > 0:
        upper_message(i - 1, panels.first[i - 1], panels, messages)
    total, first = 0.0, 0.0
    constant = messages.upper_log[panels.first[i - 1]] if i > 0 else 0.0
    for p in range(panels.first[i], panels.last[i]):
        row = panels.start[i] + p
        values = out[p]
        for k in range(POINTS):
            values[k] = messages.density[row, k]
        scale = messages.density_log[row] - log_weight
        scale += _times_upper(i, p, constant, panels, messages, values)
        scale += _times_lower(i, p, panels, messages, values)
        factor = math.exp(min(scale, 700.0)) * 0.5 * (panels.edges[p + 1] - panels.edges[p])
        for k in range(POINTS):
            values[k] *= WEIGHTS[k] * factor
            total += values[k]
            first += values[k] * panels.x[p, k]
    return total, first


class Solution(NamedTuple):
    """Panels and downward messages of one state."""

    panels: Panels
    messages: Messages
    log_weight: float


@merged
def solve(placed: Placed, s: int) -> Solution:
    """Fill the panels of state s and send the messages down its chain."""
    alpha, beta, first, last = placed.alpha[s], placed.beta[s], placed.first[s], placed.last[s]
    count, start = placed.panels[s], np.empty(len(alpha), np.int64)
    nodes = np.empty((3, count, POINTS))
    panels = Panels(alpha, beta, placed.edges[s], nodes[0], nodes[1], nodes[2], first, last, start)
    messages, log_weight = send_down(panels, count)
    return Solution(panels, messages, log_weight)
