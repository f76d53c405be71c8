r"""The axis on which a ladder's arms are ranked, its panels, and the arms' densities on them.

The axis runs from 0 to 1: the means themselves, or the rewards :math:`r_i\mu_i` over the largest reward. It
is cut into pieces wherever an arm's density begins or ends (a bound, a reward), and each piece is followed in
:math:`u = \mathrm{logit}` of the share of the piece that lies below: distances from both ends are exact, and
whatever power of them a density begins or ends with is smooth.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss

from elsv._base.jit import borrowing, helper, inlined
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.beliefs.ladder import Setup
from elsv.beliefs.quadrature import integrals_to

POINTS = 8
NEVER = -1e300  # the logarithm of nothing
_SMALLEST_PANEL = 1e-9
_POLES = 0.1  # half a panel over its distance from a pole, for each nat that is allowed
_BENT = 5.0  # nats of span that are as hard as one of bend
_FIRST = 8  # panels of a piece to begin with
_MOST = 20_000


_PLACES, _SHARES = leggauss(POINTS)
# On [0, 1]: nodes, weights, and the matrix of integrals from 0 to each node.
NODES, WEIGHTS, CUMULATIVE = 0.5 * (_PLACES + 1), 0.5 * _SHARES, 0.5 * integrals_to(_PLACES, POINTS)


class Panels(NamedTuple):
    """Panels in order along the axis."""

    piece: IntArray  # [P]
    left: FloatArray  # [P], u
    right: FloatArray  # [P], u


class Densities(NamedTuple):
    """Densities of the arms per unit of u, relative to their largest value on a panel."""

    value: FloatArray  # [N, P, POINTS]
    log: FloatArray  # [N, P]
    place: FloatArray  # [P, POINTS], on the axis


@inlined
def log_share(u: float) -> float:
    """Return log of 1/(1 + exp(-u))."""
    return u - math.log1p(math.exp(u)) if u < 0 else -math.log1p(math.exp(-u))


@borrowing
def log_density(setup: Setup, i: int, s: int, u: float) -> float:
    """Return the logarithm of arm i's density per unit of u on piece s, not normalised."""
    axis = setup.axis
    begin, end, support = axis.begin[s], axis.end[s], axis.support[i]
    below, above = log_share(u), log_share(-u)
    width = math.log(end - begin)
    size = math.log(support)
    log_x = width + below - size
    if begin > 0:
        log_x = math.log((begin + (end - begin) * math.exp(below)) / support)
    log_rest = width + above - size
    if end < support:
        log_rest = math.log((support - end + (end - begin) * math.exp(above)) / support)
    alpha, beta = setup.alpha[i], setup.beta[i]
    return float((alpha - 1) * log_x + (beta - 1) * log_rest + width + below + above - size)


@helper
def log_peak(alpha: float, beta: float, support: float, low: float, high: float) -> float:
    """Return about the largest logarithm of an arm's density between two places on the axis."""
    x = min(max(alpha / (alpha + beta), low / support), high / support)
    x = min(max(x, 1e-300), 1 - 1e-16)
    # Per unit of u no place is passed faster than a quarter of the way between the bounds.
    slow = math.log(min(1.0, 0.25 * (high - low) / support / (x * (1 - x))))
    return alpha * math.log(x) + beta * math.log1p(-x) + slow


@helper
def first_panels(setup: Setup) -> Panels:
    """Return panels that resolve every arm by itself: all that may matter while data agree with the order."""
    alpha, beta, axis = setup.alpha, setup.beta, setup.axis
    piece, left, right = np.empty(_MOST, np.int64), np.empty(_MOST), np.empty(_MOST)
    count = 0
    arms = len(alpha)
    peak, mode = np.full(arms, NEVER), np.empty(arms)
    for i in range(arms):
        low, high = 1.0, 0.0
        for s in range(len(axis.begin)):
            if axis.inside[i, s]:
                low, high = min(low, axis.begin[s]), max(high, axis.end[s])
        peak[i] = log_peak(alpha[i], beta[i], axis.support[i], low, high)
        mode[i] = alpha[i] / (alpha[i] + beta[i]) * axis.support[i]
        if not low < mode[i] < high:
            mode[i] = math.nan  # at a bound: there the density per unit of u has a tail, and no narrow peak
    waiting = np.empty((_MOST, 2))
    logs = new_logs()
    room = _FIRST * len(axis.begin) + 4
    for s in range(len(axis.begin)):
        low, high, some = ends_of(setup, s)
        if not some:
            continue
        depth = 0
        for k in range(_FIRST - 1, -1, -1):
            waiting[depth, 0] = low + (high - low) * k / _FIRST
            waiting[depth, 1] = low + (high - low) * (k + 1) / _FIRST
            depth += 1
        while depth > 0:
            depth -= 1
            a, b = waiting[depth, 0], waiting[depth, 1]
            fine = b - a <= _SMALLEST_PANEL * (1 + abs(a)) or count + depth > _MOST - room
            if not fine:
                fine = resolves_arms(setup, s, a, b, mode, peak, logs)
            if fine:
                piece[count], left[count], right[count] = s, a, b
                count += 1
            else:
                middle = 0.5 * (a + b)
                waiting[depth, 0], waiting[depth, 1] = middle, b
                waiting[depth + 1, 0], waiting[depth + 1, 1] = a, middle
                depth += 2
    return Panels(piece[:count].copy(), left[:count].copy(), right[:count].copy())


@borrowing
def resolves_arms(
    setup: Setup, s: int, left: float, right: float, mode: FloatArray, peak: FloatArray, logs: Logs
) -> bool:
    """Return whether a panel of a piece resolves the density of every arm."""
    alpha, beta, axis, nats, cut = setup.alpha, setup.beta, setup.axis, setup.nats, setup.cut
    begin, end = axis.begin[s], axis.end[s]
    set_shares(logs, left, right)
    low = begin + (end - begin) * math.exp(log_share(left))
    high = begin + (end - begin) * math.exp(log_share(right))
    known = 0.0
    for i in range(len(alpha)):
        if not axis.inside[i, s]:
            continue
        if axis.support[i] != known:
            known = axis.support[i]
            set_means(logs, known, begin, end)
        least, most, bend = math.inf, -math.inf, 0.0
        for k in range(POINTS):
            value = (alpha[i] - 1) * logs.x[k] + (beta[i] - 1) * logs.rest[k] + logs.rate[k]
            least, most = min(least, value), max(most, value)
            if k in (0, POINTS - 1):
                bend += 0.5 * value
            elif k in (POINTS // 2 - 1, POINTS // 2):
                bend -= 0.5 * value
        if low <= mode[i] <= high and begin < mode[i] < end:
            u = min(max(math.log((mode[i] - begin) / (end - mode[i])), left), right)
            most = max(most, log_density(setup, i, s, u))
        if not resolved(left, right, spread_of(most - least, bend), most - peak[i], nats, cut):
            return False
    return True


@inlined
def spread_of(span: float, bend: float) -> float:
    """Return how many nats of a straight rise or fall are as hard to integrate as `span` with a `bend`.

    The bend is by how much a logarithm lies higher in the middle of a panel than its ends say; a Gaussian
    peak needs eight times the nodes for the digits that its bend, and sixteen that its span, costs.
    """
    return max(span, _BENT * math.sqrt(abs(bend)))


@inlined
def resolved(left: float, right: float, spread: float, share: float, nats: float, cut: float) -> bool:
    """Return whether a panel resolves what spans `spread` nats and holds exp(`share`) of all there is.

    The error of a rule with POINTS nodes goes with the power 2 POINTS of the spread, and of the panel's half
    width over its distance from the poles of 1/(1 + exp(-u)) at ±πi.
    """
    if share < -cut:
        return True
    allowed = nats * math.exp(max(-share, 0.0) / (2 * POINTS))
    away = math.hypot(0.5 * (left + right), math.pi)
    return spread <= allowed and 0.5 * (right - left) <= _POLES * allowed * away


@inlined
def surely_resolved(left: float, right: float, nats: float) -> tuple[float, float]:
    """Return the span and the bend up to which `resolved` holds on a panel whatever share is there."""
    away = math.hypot(0.5 * (left + right), math.pi)
    if 0.5 * (right - left) > _POLES * nats * away:
        return -1.0, -1.0
    return nats * (1 - 1e-9), (nats / _BENT) ** 2 * (1 - 1e-9)


@helper
def ends_of(setup: Setup, s: int) -> tuple[float, float, bool]:
    """Return the values of u beyond which nothing on a piece matters, and whether any arm lives there."""
    alpha, beta, axis, cut = setup.alpha, setup.beta, setup.axis, setup.cut
    low, high, some = 0.0, 0.0, False
    for i in range(len(alpha)):
        if axis.inside[i, s]:
            some = True
            before = alpha[i] if axis.begin[s] == 0 else 1.0
            behind = beta[i] if axis.end[s] >= axis.support[i] else 1.0
            reach = math.log(2 + alpha[i] + beta[i])
            low = min(low, -(cut + 5) / before - reach)
            high = max(high, (cut + 5) / behind + reach)
    return low, high, some


class Logs(NamedTuple):
    """Logarithms at the nodes of a panel."""

    below: FloatArray  # [POINTS], of the share of the piece below
    above: FloatArray  # [POINTS], of the share above
    x: FloatArray  # [POINTS], of an arm's mean
    rest: FloatArray  # [POINTS], of one less it
    rate: FloatArray  # [POINTS], of the mean's change by u


@helper
def new_logs() -> Logs:
    """Return room for logarithms."""
    return Logs(np.empty(POINTS), np.empty(POINTS), np.empty(POINTS), np.empty(POINTS), np.empty(POINTS))


@borrowing
def set_shares(logs: Logs, left: float, right: float) -> None:
    """Set the shares of a piece below and above the nodes of a panel."""
    for k in range(POINTS):
        u = left + (right - left) * NODES[k]
        both = math.log1p(math.exp(-abs(u)))
        logs.below[k], logs.above[k] = min(u, 0.0) - both, min(-u, 0.0) - both


@borrowing
def set_means(logs: Logs, support: float, begin: float, end: float) -> None:
    """Set the means of an arm at the nodes of a panel."""
    width, shift, size = math.log(end - begin), math.log(support), end - begin
    for k in range(POINTS):
        logs.x[k], logs.rest[k] = width + logs.below[k] - shift, width + logs.above[k] - shift
        logs.rate[k] = width + logs.below[k] + logs.above[k] - shift
    if begin > 0:
        for k in range(POINTS):
            logs.x[k] = math.log((begin + size * math.exp(logs.below[k])) / support)
    if end < support:
        for k in range(POINTS):
            logs.rest[k] = math.log((support - end + size * math.exp(logs.above[k])) / support)


@helper
def densities(setup: Setup, panels: Panels) -> Densities:
    """Return the densities at the nodes of all panels."""
    alpha, beta, axis = setup.alpha, setup.beta, setup.axis
    arms, count = len(alpha), len(panels.piece)
    value, log = np.empty((arms, count, POINTS)), np.empty((arms, count))
    place = np.empty((count, POINTS))
    logs = new_logs()
    for p in range(count):
        s = panels.piece[p]
        begin, end = axis.begin[s], axis.end[s]
        set_shares(logs, panels.left[p], panels.right[p])
        for k in range(POINTS):
            place[p, k] = begin + (end - begin) * math.exp(logs.below[k])
        known = 0.0
        for i in range(arms):
            if not axis.inside[i, s]:
                value[i, p, :] = 0.0
                log[i, p] = NEVER
                continue
            if axis.support[i] != known:
                known = axis.support[i]
                set_means(logs, known, begin, end)
            most = -math.inf
            for k in range(POINTS):
                now = (alpha[i] - 1) * logs.x[k] + (beta[i] - 1) * logs.rest[k] + logs.rate[k]
                value[i, p, k] = now
                most = max(most, now)
            log[i, p] = most
            for k in range(POINTS):
                value[i, p, k] = math.exp(value[i, p, k] - most)
    return Densities(value, log, place)


@helper
def halved(panels: Panels, chosen: AnyArray) -> Panels:
    """Return the panels with those `chosen` halved."""
    count = len(panels.piece) + int(chosen.sum())
    piece, left, right = np.empty(count, np.int64), np.empty(count), np.empty(count)
    at = 0
    for p in range(len(panels.piece)):
        a, b, s = panels.left[p], panels.right[p], panels.piece[p]
        middle = 0.5 * (a + b)
        piece[at], left[at], right[at] = s, a, b
        if chosen[p]:
            right[at] = middle
            at += 1
            piece[at], left[at], right[at] = s, middle, b
        at += 1
    return Panels(piece, left, right)
