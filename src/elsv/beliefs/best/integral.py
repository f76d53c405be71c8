r"""Which arm is best, and how good it is: integrals over the largest :math:`v = \max_i r_i\mu_i`.

With :math:`G(c_1, \dots, c_N)` the probability that every :math:`\mu_j \le c_j`, arm i is best at v with
density :math:`\partial G/\partial c_i / r_i` at :math:`c_j = v/r_j`. The range of v is cut where an arm may
have a mean near 1, and up to a cut at the reward h it is followed in :math:`u = \mathrm{logit}(v/h)`: there
h - v does not cancel, and whatever power of the distance an arm begins or ends with is smooth. On a panel of
u the densities of all arms together must come to what G grows by. Panels are halved until they do, and what
is left of the difference is the error. (Arms could err in opposite directions, so the last Legendre
coefficients of every arm must be small too.)

Independent arms have :math:`G(v) = \prod_j I_{v/r_j}(\alpha_j, \beta_j)`. In the logit of a mean the density
of an arm is :math:`x^\alpha (1-x)^\beta / B(\alpha, \beta)`, smooth for any counts. An arm with small counts
has long tails, which are powers of x or 1 - x.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from scipy.special import betainc, betaln, ndtr

from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.beliefs.best.integral_kernels import (
    Field,
    Rule,
    Spans,
    beyond,
    collect,
    first_nodes,
    open_field,
    spread,
)
from elsv.beliefs.chain.panels import place
from elsv.beliefs.ladder import Axis, Setup
from elsv.beliefs.ladder.ranking import Ranking
from elsv.errors import InvalidInputError

_MIDDLE = np.zeros(1)
_ROUNDS = 60
_PATIENCE = 6  # rounds without progress
_USELESS = 0.01  # error of a probability that is refused
_MOST_PANELS = 4000
_SMALLEST = 1e-300  # smaller counts are replaced by this one
_LARGEST = 1e18  # counts whose arms double precision can still tell apart
_NORMAL = 1e12  # counts from which on the logit is normal to double precision
_STIRLING = 1e5  # counts from which on three terms of Stirling's series are exact
_ALL_TAIL = 1e-30  # counts for which x or 1 - x is all there is up to 1/2
_TAIL = 600.0  # logits beyond which x or 1 - x is all there is
_SHALLOWER = 3.0  # nats by which a tail matters less to a probability than to a mean

# From logits of v/r_j [V, C] and a number D: G [V], and in the first D its derivatives by the logits [D, C].
Evaluate = Callable[[FloatArray, int], tuple[FloatArray, FloatArray]]


class Largest(NamedTuple):
    """What is known of the largest reward."""

    chance: FloatArray  # [N], that an arm is the best one
    mean: float  # E[max]
    error: float  # of a chance, and of the mean as a share of the largest reward


@lru_cache(maxsize=16)
def _rule(tolerance: float) -> Rule:
    """Return how to come within `tolerance`; where digits count, another two of them cost little."""
    points, goal = (6, tolerance) if tolerance > 1e-6 else (10, 0.01 * tolerance)
    nodes, weights = legendre.leggauss(points)
    basis = (np.arange(points) + 0.5)[:, None] * legendre.legvander(nodes, points - 1).T * weights
    return Rule(nodes, weights, basis[-2:], goal, 0.8 * goal, 0.05 * goal)


def integrate(
    field: Field, arms: IntArray, size: int, evaluate: Evaluate, tolerance: float, noise: float
) -> Largest:
    """Integrate over the largest reward of `size` arms, to about `tolerance`.

    `evaluate` gives G and its derivatives for the arms of the `field`, which are `arms` ``[C]``. Nothing is
    refined below its rounding error, `noise`.
    """
    rule = _rule(tolerance)
    if not len(field.limit):
        refuse(1.0)
    below = evaluate(field.limit, 0)[0]
    spans, v, limit, rate = first_nodes(field, below, rule)
    # Ends of panels, and what they add to P(best) [P, C] and to E[max], and their errors [P].
    panels = [*spans, *collect(evaluate(limit, len(v))[1], rate, v, spans, rule)]
    stalled = 0
    for _ in range(_ROUNDS):
        before = panels[-1].sum()
        if before <= rule.enough or len(panels[-1]) > _MOST_PANELS:
            break
        coarse = beyond(panels[-1], 0.4 * rule.tolerance) & (panels[-1] > noise)
        if not coarse.any():
            break
        spans = _halves(field, Spans(*(column[coarse] for column in panels[:6])), evaluate)
        v, limit, rate = spread(spans, rule.nodes, field.rewards, field.cut)
        finer = [*spans, *collect(evaluate(limit, len(v))[1], rate, v, spans, rule)]
        panels = [np.concatenate([old[~coarse], new]) for old, new in zip(panels, finer, strict=True)]
        stalled = stalled + 1 if panels[-1].sum() > 0.99 * before else 0
        if stalled == _PATIENCE:
            break
    return add_up(size, noise, arms, field.unit, *panels[6:])


def add_up(size: int, noise: float, arms: IntArray, unit: float, *panels: FloatArray) -> Largest:
    """Return what panels add up to: their parts of P(best) of `arms` ``[P, C]`` and of E[max], and errors."""
    parts, worth, errors = panels
    add = np.add.reduce  # what `sum` calls
    mass, chance = add(parts, axis=None), np.zeros(size)
    error = add(errors) + abs(1 - mass) + noise
    refuse(error)
    chance[arms] = np.minimum((add(parts) if len(arms) > 1 else mass) / mass, 1.0)
    return Largest(chance, unit * (add(worth) / mass), error)


def _halves(field: Field, whole: Spans, evaluate: Evaluate) -> Spans:
    """Return both halves of every panel."""
    left, right, reward, before, after, straight = whole
    # With a reward of 1 alone the logit is u itself.
    alone = np.ones(1), np.ones(1, bool)
    middle = spread(whole._replace(reward=np.ones(len(left))), _MIDDLE, *alone)[1][:, 0].copy()
    inside = whole._replace(left=middle, right=middle, straight=np.zeros(len(left), bool))
    between = evaluate(spread(inside, _MIDDLE, field.rewards, field.cut)[1], 0)[0]
    pairs = (left, middle), (middle, right), (reward, reward), (before, between), (between, after)
    return Spans._make([*map(np.concatenate, pairs), np.tile(straight, 2)])


def refuse(error: float) -> None:
    """Raise if an error of this size makes the answer useless."""
    if not error < _USELESS:
        raise InvalidInputError(
            f"P(best) can only be computed to ±{error:.1g} for these counts; "
            "scale counts above 1e12 down, and those below 1e-12 up"
        )


def expit(u: FloatArray) -> FloatArray:
    """Return 1/(1 + exp(-u))."""
    small = np.exp(-np.abs(u))
    return np.asarray(np.where(u > 0, 1.0, small) / (1 + small))


def log_expit(u: FloatArray) -> FloatArray:
    """Return log of 1/(1 + exp(-u))."""
    return np.asarray(np.minimum(u, 0.0) - np.log1p(np.exp(-np.abs(u))))


def best_of_independent(
    alpha: FloatArray, beta: FloatArray, rewards: FloatArray, tolerance: float
) -> Largest:
    """Return P(arm is best) ``[N]`` and E[max] of one state."""
    largest = float(max(alpha.max(), beta.max()))
    if largest > _LARGEST:
        raise InvalidInputError(f"P(best) needs counts up to {_LARGEST:g}, got {largest:g}; scale them down")
    a, b = np.maximum(alpha, _SMALLEST), np.maximum(beta, _SMALLEST)
    curves = _Curves(a, b)
    field = open_field(rewards, *curves.ranges(3.0 - float(np.log(tolerance))), b)
    noise = 1e-13 + 1e-15 * float(np.sqrt((alpha + beta).max()))
    evaluate = curves if len(field.alive) == len(a) else _Curves(a[field.alive], b[field.alive])
    return integrate(field, field.alive, len(a), evaluate, tolerance, noise)


class _Curves:
    """Distribution functions and densities of arms as functions of the logit."""

    def __init__(self, a: FloatArray, b: FloatArray) -> None:
        self.a, self.b = a, b
        self.mode, self.fewer = np.log(a) - np.log(b), np.minimum(a, b)
        self.small = self.fewer < _ALL_TAIL
        self.normal = self.fewer > _NORMAL
        whole = betaln(a, b)
        self.log_tails = np.log(b) + whole, np.log(a) + whole
        self.log_at_mode = a * log_expit(self.mode) + b * log_expit(-self.mode)
        self.log_peak = self.log_at_mode - whole
        if self.fewer.max() > _STIRLING:
            series = 0.5 * np.log(a / (a + b) * b / (2 * np.pi)) + (1 / (a + b) - 1 / a - 1 / b) / 12
            self.log_peak = np.where(self.fewer > _STIRLING, series, self.log_peak)

    def __call__(self, limit: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
        """Return the product of the distribution functions, and its derivatives in the first `count` rows."""
        below = self._distribution(limit)
        ones = np.ones((len(below), 1))
        before = np.asarray(np.cumprod(np.hstack([ones, below]), axis=1), np.float64)
        after = np.asarray(np.cumprod(np.hstack([ones, below[:, ::-1]]), axis=1)[:, ::-1], np.float64)
        others = before[:count, :-1] * after[:count, 1:]
        return before[:, -1].copy(), others * self._density(limit[:count]) if count else others

    def _distribution(self, y: FloatArray) -> FloatArray:
        """Return P(logit <= y)."""
        upper = y > 0
        near, far = np.where(upper, self.b, self.a), np.where(upper, self.a, self.b)
        distance = np.abs(y)
        tail = betainc(near, far, expit(-distance))
        if self.small.any() or distance.max() > _TAIL:
            with np.errstate(over="ignore"):  # where it is not used: the middle of a narrow curve
                powers = np.exp(-near * np.minimum(distance, 1e305) - np.where(upper, *self.log_tails))
            tail = np.where((distance > _TAIL) | (near < _ALL_TAIL), powers, tail)
        below = np.where(upper, 1 - tail, tail)
        if self.normal.any():
            spread = np.sqrt(1 / self.a + 1 / self.b)
            below = np.where(self.normal, ndtr((y - self.mode) / spread), below)
        return np.asarray(below)

    def _density(self, y: FloatArray) -> FloatArray:
        return np.asarray(np.exp(self.log_peak - self._fall(y)))

    def _fall(self, y: FloatArray) -> FloatArray:
        """Return by how many nats the density at the logit y is below its peak."""
        log_x = log_expit(y)
        far = self.log_at_mode - self.a * log_x - self.b * (log_x - y)
        if self.fewer.max() < _STIRLING:
            return far
        # About the mode the terms are as large as the counts and their sum is not.
        size = self.a + self.b
        step = np.where(self.a <= self.b, 1.0, -1.0) * (y - self.mode)
        inner = np.clip(step, -1.0, 1.0)
        near = size * np.log1p(self.fewer / size * np.expm1(inner)) - self.fewer * inner
        return np.where(step == inner, near, far)

    def ranges(self, nats: float) -> tuple[FloatArray, FloatArray]:
        """Return logits, left and right, where densities are `nats` below their peaks, or a little more."""
        a, b = self.a, self.b
        bulk = np.minimum(np.sqrt((1 / a + 1 / b) * (2 * nats)), np.abs(self.mode) + 6.0)
        y = self.mode + np.stack([-bulk - nats / a, bulk + nats / b])
        # The fall from the peak is convex, so that Newton's steps from outside stay outside.
        for _ in range(2):
            y = y - np.maximum(self._fall(y) - nats, 0.0) / (b * expit(y) - a * expit(-y))
        return y[0], y[1]


def best_of_chain(
    alpha: FloatArray, beta: FloatArray, rewards: FloatArray, tolerance: float, nats: float, cut: float
) -> Largest:
    """Return P(arm is best) ``[N]`` and E[max] of one state whose means decrease with i."""
    from elsv.beliefs.best.chain_kernels import cut_off, first_look, open_chain

    # Messages are exponentials of sums that are as large as the counts.
    noise = 1e-14 + 1e-15 * float((alpha + beta).sum())
    refuse(noise)
    row, other = alpha[None], beta[None]
    rule, (paying, pays) = _rule(tolerance), _paying(rewards.tobytes())
    coarse = tolerance > 1e-6  # then panels are seldom refined
    deep = cut - _SHALLOWER if coarse else cut + 2
    found = None
    if coarse:
        looked = first_look(place(row, other, nats, deep), paying, pays, rule)
        if looked[-1].sum() <= rule.enough:
            found = add_up(len(alpha), noise, *looked)
    if found is None:
        placed = place(row, other, nats, deep)
        low, high = (placed.edges[0][ends[0]] for ends in (placed.first, placed.last))
        solution = open_chain(placed)
        field = open_field(pays, low[paying], high[paying], beta.cumsum()[paying])
        arms = paying[field.alive]

        def evaluate(limit: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
            below, density = np.empty(len(limit)), np.empty((count, len(arms)))
            cut_off(solution, arms, high[arms], limit, below, density)
            return below, density

        found = integrate(field, arms, len(alpha), evaluate, tolerance, noise)
    return found._replace(error=found.error + 0.1 * tolerance)


@lru_cache(maxsize=64)
def _paying(rewards: bytes) -> tuple[IntArray, FloatArray]:
    """Return the arms that can be best, and their rewards: those that pay more than all arms above them."""
    pays = np.frombuffer(rewards)
    arms = np.flatnonzero(np.append(True, pays[1:] > np.maximum.accumulate(pays)[:-1]))
    return arms, pays[arms]


def best_of_ladder(
    solvers: Sequence[tuple[Ranking, Axis]],
    above: AnyArray,
    unit: FloatArray | None,
    alpha: FloatArray,
    beta: FloatArray,
    rewards: FloatArray,
    tolerance: float,
) -> Largest:
    """Return P(arm is best) ``[N]`` and E[max] of one state, from the programs of its independent parts.

    `above` ``[N, N]`` says whether arm a is known to be at least as large as arm b: in the mean, or in r μ
    where the r of every arm are given as `unit` ``[N]``.
    """
    from elsv.beliefs.ladder.readout_kernels import cut_off, open_ladder

    noise = 1e-14 + 1e-15 * float((alpha + beta).sum())
    refuse(noise)
    nats, cut = 5.0 * min((tolerance / 1e-8) ** (1 / 16), 1.2), 7.0 - float(np.log(tolerance))
    low, high = np.empty(len(alpha)), np.empty(len(alpha))
    parts = []
    for part, axis in solvers:
        own, ends = np.array(part.arms), np.empty((2, len(part.arms)))
        setup = Setup(alpha[own], beta[own], part.program, axis, nats, cut)
        parts.append((own, (setup, *open_ladder(setup, *ends))))
        low[own], high[own] = ends
    # An arm cannot be best if another arm has at least its mean and at least its reward.
    payoff = rewards if unit is None else rewards / unit
    beaten = above & (payoff[:, None] >= payoff)
    paying = np.flatnonzero(~beaten.any(axis=0))
    power = beta + above.T @ beta
    field = open_field(rewards[paying], low[paying], high[paying], power[paying])
    arms = paying[field.alive]

    def evaluate(limit: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
        whole = np.full((len(limit), len(alpha)), np.inf)
        whole[:, arms] = limit
        below, rate = np.ones(len(limit)), np.zeros((count, len(alpha)))
        shares = []
        for own, opened in parts:
            share, density = np.empty(len(limit)), np.empty((count, len(own)))
            cut_off(*opened, np.ascontiguousarray(whole[:, own]), share, density)
            rate[:, own] = density
            below *= share
            shares.append(share[:count])
        for k, (own, _) in enumerate(parts):
            for other, share in enumerate(shares):
                if other != k:
                    rate[:, own] *= share[:, None]
        return below, np.ascontiguousarray(rate[:, arms])

    found = integrate(field, arms, len(alpha), evaluate, tolerance, noise)
    return found._replace(error=found.error + 0.1 * tolerance)
