r"""Arms of which nothing is known, beside arms of which something is: their rates follow their neighbours'.

Uniform rows say that an untried arm sells to half of the customers, or under an order to some 40 or 70 % of
them. Nobody believes that of a shop in which 5 % buy. Instead its odds are within a factor f of its nearest
known neighbour's for each step between them, with 95 % probability, given the structure:

.. math:: \ln\mathrm{odds}(\mu_j) - \ln\mathrm{odds}(\mu_{nb}) \sim
    N\left(0,\ \text{steps} \cdot (\ln f/1.96)^2\right).

Between two known arms an order says enough: the arm lies between them and keeps its row. Without an order the
neighbour is the rate of all known arms together, with a larger f. The new rows are as wide as these
distributions and have their means under the structure; known arms stay where they were. Rows cannot say that
all rates may be higher or lower together. An order spreads rows of few counts so far apart that means cannot
be close to each other. Then the rows count for more customers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from elsv._base.numbers import shown
from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs import Independent
from elsv.beliefs.abilities import factors, marginals, quantiles, repeats
from elsv.beliefs.base import mean_of
from elsv.beliefs.ladder.ranking import closure
from elsv.errors import InvalidInputError
from elsv.prior.found import percent
from elsv.prior.solving import before_data, chance, log_odds, rows_for
from elsv.problem import Problem
from elsv.state import State
from elsv.structure.base import has_own_prior
from elsv.structure.facts import Facts, ranking_of
from elsv.structure.mixtures import MixtureOf
from elsv.structure.rankings import is_number

FACTOR, FREE_FACTOR = 2.0, 3.0
_LEVELS = (np.arange(101) + 0.5) / 101  # of quantiles that stand for a distribution
_GRID = 4000
_FURTHEST = 6.0  # standard deviations
_WIDER = 2.0  # variance of a row over that of the arm under an order, which narrows it
_MET = 0.1  # a mean is met if it is off by less than this share of it
_MOST_DOUBLINGS = 5  # of counts, until means are met
_NEUTRAL = 0.01  # a row (0.01, 1) below an arm, or (1, 0.01) above it, says nothing of that arm


@dataclass(frozen=True)
class Neighbour:
    """Where an arm takes its rate from."""

    arm: int | None  # None: all known arms together
    steps: int = 1
    side: int = 0  # 1: the arm is at least as large as its neighbour, -1: at most; 0: either
    beyond: int = 0  # arms of which nothing is known further out on that side


def known_arms(problem: Problem, seen: FloatArray | None = None) -> AnyArray:
    """Return of which arms something is known ``[N]``: the row is not uniform, or there are outcomes."""
    said: AnyArray = (problem.prior != 1).any(axis=1)
    return said if seen is None else said | (seen > 0)


def nothing_said(problem: Problem, remedy: str | None = None) -> str | None:
    """Say that uniform rows are no expectation, if all are uniform and no mean is bounded; else None."""
    facts = ranking_of(problem.structure)
    bounded = facts is not None and (facts.bounds is not None or bool(facts.gaps))
    if known_arms(problem).any() or bounded or has_own_prior(problem.structure):
        return None
    mean = mean_of(problem.belief, State.initial(problem), np.random.default_rng(0))
    best = int(mean.argmax())
    how = remedy or f'Say what you expect: --expect "{problem.names[int(mean.argmin())]}=4%".'
    return (
        f"No verdict: with uniform rows this expects {100 * mean[best]:.0f} % of customers to buy at "
        f"{problem.names[best]}. {how}"
    )


def neighbours_of(problem: Problem, known: AnyArray) -> dict[int, Neighbour]:
    """Return the neighbour of every arm of which nothing is known; none for arms between known ones."""
    if not known.any() or has_own_prior(problem.structure):
        return {}
    facts, arms = _ranking(problem.structure), np.arange(problem.arms)
    unknown = arms[~known].tolist()
    if facts is None:
        return {j: Neighbour(None) for j in unknown}
    if facts.unimodal:
        return {j: _nearest(np.abs(arms - j), known) for j in unknown}
    above = closure(problem.arms, facts.order)
    steps, between = _steps(above), above & ~known[:, None] & ~known
    found = {}
    for j in unknown:
        over, under = (above[j] & known).any(), (above[:, j] & known).any()
        if not over and not under:
            found[j] = Neighbour(None)
        elif over != under:
            near = _nearest(steps[j] if over else steps[:, j], known)
            if facts.scale == "mean":
                beyond = int(_longest(between if over else between.T)[j])
                near = replace(near, side=1 if over else -1, beyond=beyond)
            found[j] = near
    return found


def neutral(problem: Problem, known: AnyArray) -> Problem:
    """Return the problem with rows of unknown arms that say nothing of the known ones under an order."""
    if not repeats(problem.belief):
        return problem
    rows = problem.prior.copy()
    for j, near in neighbours_of(problem, known).items():
        if near.side:
            rows[j] = (1, _NEUTRAL) if near.side > 0 else (_NEUTRAL, 1)
    return problem.with_prior(rows)


def from_neighbours(
    problem: Problem,
    known: AnyArray,
    factor: float | None = None,
    ends: FloatArray | None = None,
    coverage: float = 0.9,
    vague: AnyArray | None = None,
) -> tuple[Problem, tuple[str, ...]]:
    """Return the problem with rows for the arms of which nothing is known, and how in sentences.

    The rows of `known` arms ``[N]`` are right; see `neutral` for the others. The intervals `ends` ``[N, 2]``
    with probability `coverage` stay, and where they are NaN the mean does. Rows of `vague` arms ``[N]`` may
    count for more customers where the structure needs it. `factor` is by default 2 for each step in an
    order, and 3 where there is none.
    """
    check_factor(factor)
    near = neighbours_of(problem, known)
    notes = _notes(problem, known, near, factor)
    if not near:
        return problem, notes
    start, rng = State.initial(problem), np.random.default_rng(0)
    wanted, quantile = marginals(problem.belief, start, tuple(_LEVELS), rng)
    wanted = np.where(known, wanted, np.nan)
    rows, grows = problem.prior.copy(), ~known if vague is None else ~known | vague
    together = State(*problem.prior[known].sum(axis=0)[:, None])
    pooled = quantiles(Independent(), together, tuple(_LEVELS))[:, 0]  # the rate of all known arms together
    for j, one in near.items():
        at = log_odds(pooled if one.arm is None else quantile[:, one.arm])
        spread = np.log(factor or (FREE_FACTOR if one.arm is None else FACTOR)) / 1.96
        wanted[j] = chance(at[:, None] + distances(one, spread)).mean()
        middle = chance(at.mean())
        width = _WIDER * (at.var() + one.steps * spread**2)
        rows[j] = np.array([middle, 1 - middle]) * max(1 / (width * middle * (1 - middle)) - 1, 0.5)
    if not repeats(problem.belief) or factors(problem.belief):
        rows[~known] *= _WIDER
        counts = rows.sum(axis=1)
        moved = np.stack([wanted * counts, (1 - wanted) * counts], axis=1)
        stay = known | np.isnan(wanted)
        return problem.with_prior(np.where(stay[:, None], rows, moved)), notes
    stays = np.full((problem.arms, 2), np.nan) if ends is None else ends
    means = np.where(np.isnan(stays[:, 0]), wanted, np.nan)
    for _ in range(_MOST_DOUBLINGS):
        found = problem.with_prior(rows_for(before_data(problem), rows, means, stays, coverage))
        off = np.abs(mean_of(found.belief, State.initial(found)) / wanted - 1)
        if np.nanmax(off) < _MET:
            break
        rows[grows] *= 2
    return found, notes


def check_factor(factor: float | None) -> None:
    """Raise unless a factor of odds is a number above 1."""
    if factor is not None and not (is_number(factor) and 1 < factor <= 1000):
        raise InvalidInputError(
            f"factor must be above 1 (odds of neighbouring arms differ by at most that), got {shown(factor)}"
        )


def distances(near: Neighbour, spread: float) -> FloatArray:
    """Return quantiles of how far an arm's log odds are from its neighbour's."""
    last = near.steps + near.beyond
    x = (np.arange(_GRID) + 0.5) / _GRID * _FURTHEST * spread * np.sqrt(last)

    def density(steps: int) -> FloatArray:
        return np.asarray(np.exp(-(x**2) / (2 * steps * spread**2)))

    if near.side == 0:
        away, weight = np.concatenate([-x[::-1], x]), density(near.steps)
        weight = np.concatenate([weight[::-1], weight])
    else:  # 0 <= distance of the first arm <= that of the second <= ...: messages, as for a chain
        away, below, above = x, np.ones(_GRID), np.ones(_GRID)
        for steps in range(1, near.steps):
            below = np.cumsum(density(steps) * below)
        for steps in range(last, near.steps, -1):
            above = np.cumsum((density(steps) * above)[::-1])[::-1]
        weight = density(near.steps) * below * above
    share = np.cumsum(weight) - 0.5 * weight
    found = np.interp(_LEVELS * weight.sum(), share, away)
    return np.asarray(near.side * found if near.side else found)


def _ranking(structure: object) -> Facts | None:
    """Return the order or peak of a structure, for a mixture that of its likeliest part with one; or None."""
    whole: Sequence[tuple[float, object]] = ((1.0, structure),)
    parts = structure.parts if isinstance(structure, MixtureOf) else whole
    ranked = [(share, facts) for share, part in parts if (facts := ranking_of(part)) and facts.ranks]
    return max(ranked, key=lambda one: one[0])[1] if ranked else None


def _steps(above: AnyArray) -> FloatArray:
    """Return the number of steps from arm a down to arm b ``[N, N]``; infinite where there is no way."""
    steps = np.where(above & ~(above @ above), 1.0, np.inf)
    for k in range(len(steps)):
        steps = np.minimum(steps, steps[:, k : k + 1] + steps[k])
    return steps


def _longest(above: AnyArray) -> FloatArray:
    """Return the number of steps of the longest way down to each arm ``[N]``."""
    longest = np.zeros(len(above))
    for _ in above:
        longest = np.where(above, 1 + longest[:, None], 0.0).max(axis=0)
    return longest


def _nearest(steps: AnyArray, known: AnyArray) -> Neighbour:
    away = np.where(known, steps, np.inf)
    arm = int(away.argmin())
    return Neighbour(arm, int(away[arm]))


def _notes(
    problem: Problem, known: AnyArray, near: dict[int, Neighbour], factor: float | None
) -> tuple[str, ...]:
    """Say where arms take their rates from, and how to change it."""
    if known.all() or not known.any() or has_own_prior(problem.structure):
        return ()
    names = problem.names
    ordered = [names[j] for j, one in near.items() if one.arm is not None]
    free = [names[j] for j, one in near.items() if one.arm is None]
    between = [names[j] for j in np.flatnonzero(~known) if j not in near]
    notes = []
    if ordered:
        whose = ", ".join(dict.fromkeys(names[one.arm] for one in near.values() if one.arm is not None))
        notes.append(
            f"nothing is known of {', '.join(ordered)}: odds are taken to change by a factor of "
            f"{factor or FACTOR:g} at most for each step away from {whose} (95 % sure)"
        )
    if free:
        rate = float(problem.prior[known, 0].sum() / problem.prior[known].sum())
        notes.append(
            f"nothing is known of {', '.join(free)}: odds are taken to be within a factor of "
            f"{factor or FREE_FACTOR:g} (95 % sure) of those of all known arms together, {percent(rate)}"
        )
    if notes:
        notes[-1] += "; another factor: --factor 3 (factor=3), or say what you expect"
    if between:
        notes.append(f"nothing is known of {', '.join(between)} but the arms on both sides")
    return tuple(notes)
