r"""The rates within a statement that explain outcomes best.

With k of n successes of each arm the log likelihood :math:`\ell(\mu) = \sum k\ln\mu + (n - k)\ln(1 - \mu)`
is a sum of concave functions. Its maximum under a partial order with bounds is found exactly by splitting.
All arms begin with one common value, the best for all of them. Of the sets that contain every arm above
their own, the one that gains most from a larger value is split off and goes up. That is repeated until no
set gains. For means without bounds it is isotonic regression with weights n. Least differences between
means need a logarithmic barrier instead: with m constraints and weight 1/t of the barrier, the value found is
at most m/t below the best.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs import Belief
from elsv.beliefs.ladder.ranking import Pairs, closure, components, covers
from elsv.beliefs.points import joint_points
from elsv.errors import ElsvError, InvalidInputError
from elsv.state import State
from elsv.structure.facts import Facts, ability, steps

_NEAR = 1e-12  # of a bound
_NEVER = 1e3  # gain of what a bound forces
_GAINED = 1e-9  # a set is split off if it gains more log likelihood than this for each customer
_HALVINGS = 60
_MISSING, _HEAVIER, _NEWTON_STEPS = 1e-7, 20.0, 40  # of the barrier
_POINTS = 4096  # points that a search starts from
_SMALLEST = 1e-7  # step at which a search ends


def likelihood(means: FloatArray, won: FloatArray, lost: FloatArray) -> FloatArray:
    """Return the log likelihood of means ``[..., N]``, shape ``[...]``."""
    from scipy.special import xlog1py, xlogy

    return np.asarray((xlogy(won, means) + xlog1py(lost, -means)).sum(axis=-1))


def as_seen(won: FloatArray, lost: FloatArray) -> FloatArray:
    """Return the rates as seen ``[N]``; one half for an arm without outcomes."""
    seen = won + lost
    return np.asarray(np.divide(won, seen, out=np.full(won.shape, 0.5), where=seen > 0))


def fit_facts(facts: Facts, won: FloatArray, lost: FloatArray) -> FloatArray:
    """Return the best rates that agree with facts; with one peak, the best over all arms as the peak."""
    rates = as_seen(won, lost)
    if bool(facts.holds(rates)):
        return rates
    arms = facts.arms
    orders: list[Pairs] = [facts.order]
    if facts.unimodal:
        rising, falling = steps("increasing", arms), steps("decreasing", arms)
        orders = [(*facts.order, *rising[:peak], *falling[peak:]) for peak in range(arms)]
    solve = _with_gaps if facts.gaps else _by_splitting
    found = [fitted for order in orders if (fitted := solve(facts, order, won, lost)) is not None]
    return max(found, key=lambda fitted: float(likelihood(fitted, won, lost)))


def _unit(facts: Facts) -> FloatArray:
    """Return what means are multiplied by before order and peak are read, at most 1, ``[N]``."""
    return np.ones(facts.arms) if facts.unit is None else np.array(facts.unit) / max(facts.unit)


def _by_splitting(facts: Facts, order: Pairs, won: FloatArray, lost: FloatArray) -> FloatArray | None:
    """Return the best rates under an order and bounds; None if the order runs in a circle."""
    arms = facts.arms
    try:
        above = closure(arms, order)
    except InvalidInputError:
        return None
    unit = _unit(facts)
    low, high = unit * facts.limits
    cover = covers(above)

    total, most = float((won + lost).sum()), _NEVER / (2 * arms)
    columns = np.stack([unit, low, high, won, lost], axis=1).tolist()  # plain numbers: arms are few

    def slope(of: AnyArray, value: float, up: bool) -> list[float]:
        """Return what each arm gains by a larger value, or loses by a smaller one, for one customer."""
        near, gains = _NEAR if up else -_NEAR, []
        for arm in of.tolist():
            scale, least, greatest, won_here, lost_here = columns[arm]
            mean = min(max(value / scale, 1e-15), 1 - 1e-15)
            gain = min(max((won_here / mean - lost_here / (1 - mean)) / (scale * total), -most), most)
            if value > greatest - near:
                gain = -_NEVER
            elif value < least - near:
                gain = _NEVER
            gains.append(gain)
        return gains

    def common(of: AnyArray) -> float:
        """Return the best value that some arms can share."""
        floor, ceiling = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (floor + ceiling)
            if sum(slope(of, middle, True)) > 0:
                floor = middle
            else:
                ceiling = middle
        return ceiling

    values = np.empty(arms)
    waiting = [np.array(part) for part in components(arms, cover)]
    while waiting:
        of = waiting.pop()
        value = common(of)
        rising = _best_set(np.array(slope(of, value, True)), above[np.ix_(of, of)])
        falling = _best_set(-np.array(slope(of, value, False)), above[np.ix_(of, of)].T)
        if rising.any() and not rising.all():
            waiting += [of[rising], of[~rising]]
        elif falling.any() and not falling.all():
            waiting += [of[falling], of[~falling]]
        else:
            values[of] = value
    return np.clip(values / unit, 0.0, 1.0)


def _best_set(gain: FloatArray, above: AnyArray) -> AnyArray:
    """Return the set with the largest sum of `gain` that contains every arm above one of its own."""
    higher = above.sum(axis=0)
    if higher.sum() == len(gain) * (len(gain) - 1) // 2:  # a line: sets are its beginnings
        line = np.argsort(higher)
        sums = gain[line].cumsum()
        size = 1 + int(sums.argmax()) if sums.max() > _GAINED else 0
        return np.isin(np.arange(len(gain)), line[:size])
    if (gain <= 0).all():
        return np.zeros(len(gain), dtype=bool)
    from scipy.optimize import linprog

    pairs = np.argwhere(above)
    rows = np.zeros((len(pairs), len(gain)))
    rows[np.arange(len(pairs)), pairs[:, 1]], rows[np.arange(len(pairs)), pairs[:, 0]] = 1.0, -1.0
    chosen = linprog(-gain, A_ub=rows, b_ub=np.zeros(len(pairs)), bounds=(0, 1)).x > 0.5
    return np.asarray(chosen & (gain[chosen].sum() > _GAINED))


def _with_gaps(facts: Facts, order: Pairs, won: FloatArray, lost: FloatArray) -> FloatArray | None:
    """Return the best rates with least differences; None if no means have them all."""
    one, unit, (low, high) = np.eye(facts.arms), _unit(facts), facts.limits
    ordered = [unit[a] * one[a] - unit[b] * one[b] for a, b in dict.fromkeys(order)]
    apart = [one[a] - one[b] for a, b, _ in facts.gaps]
    # Means are possible where rows @ means >= least.
    rows = np.array([*one, *-one, *ordered, *apart])
    least = np.array([*low, *-high, *[0.0] * len(ordered), *(gap for *_, gap in facts.gaps)])
    means = _inside(rows, least)
    weight = 1.0
    while means is not None and len(least) / weight > _MISSING:
        weight *= _HEAVIER
        for _ in range(_NEWTON_STEPS):
            slack = rows @ means - least
            slope = weight * (won / means - lost / (1 - means)) + rows.T @ (1 / slack)
            bend = np.diag(weight * (won / means**2 + lost / (1 - means) ** 2)) + (rows.T / slack**2) @ rows
            step = np.linalg.solve(bend, slope)
            change, rise = rows @ step, float(slope @ step)
            length = min(1.0, 0.99 * float(np.min(-slack[change < 0] / change[change < 0], initial=np.inf)))
            height = weight * likelihood(means, won, lost) + np.log(slack).sum()
            while length > 1e-12:
                tried = means + length * step
                if weight * likelihood(tried, won, lost) + np.log(rows @ tried - least).sum() > height:
                    means = tried
                    break
                length /= 2
            if rise < 1e-9 or length <= 1e-12:
                break
    return means


def _inside(rows: FloatArray, least: FloatArray) -> FloatArray | None:
    """Return the means furthest inside all constraints; None if no means are inside."""
    from scipy.optimize import linprog

    goal = np.append(np.zeros(rows.shape[1]), -1.0)
    slack = np.column_stack([-rows, np.ones(len(rows))])
    found = linprog(goal, A_ub=slack, b_ub=-least, bounds=(None, 1))
    return None if found.x is None or found.x[-1] < _NEAR else np.asarray(found.x[:-1])


def fit_line(place: FloatArray, won: FloatArray, lost: FloatArray) -> FloatArray:
    """Return the best rates whose log odds fall in a straight line with `place`, or are all the same."""
    from scipy.optimize import minimize
    from scipy.special import expit, log_expit

    def missing(line: FloatArray) -> tuple[float, FloatArray]:
        odds = line[0] - line[1] * place
        apart = won - (won + lost) * expit(odds)
        return -float(won @ log_expit(odds) + lost @ log_expit(-odds)), np.array(
            [-apart.sum(), apart @ place]
        )

    start = np.array([np.log((won.sum() + 0.5) / (lost.sum() + 0.5)), 1.0])
    found = minimize(missing, start, jac=True, bounds=[(-60.0, 60.0), (0.0, 200.0)], options={"gtol": 1e-9})
    return np.asarray(expit(found.x[0] - found.x[1] * place))


def closest(
    structure: Any, belief: Belief, state: State, won: FloatArray, lost: FloatArray
) -> FloatArray | None:
    """Return the best rates within a statement, or None if none were found.

    A statement that has ``closest(won, lost)`` answers itself. For any other the best of many points of its
    belief is improved.
    """
    if (own := ability(structure, "closest", won, lost, otherwise=None)) is not None:
        return np.asarray(own)
    try:
        points = joint_points(belief, state, _POINTS)[0]
    except ElsvError:  # too few draws agree with the outcomes: those before any data must do
        before = State(state.alpha - won, state.beta - lost)
        points = joint_points(belief, before, _POINTS)[0]
    return fit_points(structure.holds, points, won, lost)


def fit_points(
    holds: Callable[[FloatArray], AnyArray], points: FloatArray, won: FloatArray, lost: FloatArray
) -> FloatArray | None:
    """Return the best of points ``[M, N]`` that hold, moved towards the rates as seen until nothing helps.

    None if no point holds.
    """
    rates, tried = as_seen(won, lost), won + lost > 0
    kept = points[np.asarray(holds(points))]
    if not len(kept):
        return None
    seen = np.where(tried, rates, kept)
    if (good := np.asarray(holds(seen))).any():
        return np.asarray(seen[good][0])
    value = likelihood(kept, won, lost)
    best, height = kept[int(value.argmax())], float(value.max())
    rng, size = np.random.default_rng(0), 1.0
    while size > _SMALLEST:
        share = rng.random((64, 1)) * size * (rng.random((64, len(rates))) < rng.random((64, 1)))
        # An arm without outcomes has no rate of its own: it goes where another kept point has it.
        aim = np.where(tried, rates, kept[rng.integers(len(kept), size=64)])
        moved = best + share * (aim - best) + 0.01 * size * rng.standard_normal((64, len(rates)))
        moved = np.clip(moved, 0.0, 1.0)
        gained = np.where(holds(moved), likelihood(moved, won, lost), -np.inf)
        if gained.max() > height + 1e-9:
            best, height = moved[int(gained.argmax())], float(gained.max())
        else:
            size *= 0.8
    return np.asarray(best)
