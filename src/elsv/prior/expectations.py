r"""What people expect, as prior rows: "3 to 8 %" becomes a row whose central interval is that.

Of an arm by itself, :math:`\mathrm{Beta}(\alpha, \beta)` with :math:`I_{lo}(\alpha, \beta) = (1-c)/2` and
:math:`I_{hi}(\alpha, \beta) = (1+c)/2` for the coverage c (0.9 by default). Under a structure the arms tell
of each other, and rows are found such that every arm of which something was said has that interval *under
the structure*; where intervals clash with it, the nearest, and what could not be met is named.

One number, "4 % buy today", becomes a row of that mean, worth 25 customers. Arms of which nothing is said
take their rates from their neighbours (`elsv.prior.untried`), so that one number is enough for all arms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from elsv._base.numbers import numbers, shown
from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs.abilities import factors
from elsv.beliefs.ladder.ranking import closure
from elsv.errors import InvalidInputError
from elsv.policies.single import find_arm
from elsv.prior.found import ArmPrior, Prior, arm_priors, percent
from elsv.prior.solving import before_data, rows_alone, rows_for
from elsv.prior.untried import from_neighbours, known_arms, neutral
from elsv.problem import Problem
from elsv.structure.base import has_own_prior
from elsv.structure.facts import ranking_of
from elsv.structure.product import arms_of
from elsv.structure.rankings import is_number

COVERAGE = 0.9
WORTH = 25  # customers that one number counts for
Interval = str | float | Sequence[float]
_MET = 0.02  # what is expected is met up to this share of its interval's width, or of its one number
_NUMBER = r"(\d+(?:[.,]\d+)?|[.,]\d+)"
_WRITTEN = re.compile(rf"^\s*{_NUMBER}\s*%?(?:\s*(?:-|–|—|\bto\b|\.\.)\s*{_NUMBER}\s*%?)?\s*$")


def from_expectations(
    problem: Problem,
    expected: Mapping[str, Interval],
    coverage: float = COVERAGE,
    factor: float | None = None,
    *,
    fill: bool = True,
) -> Prior:
    """Return prior rows under which arms have the rates that people expect.

    Parameters
    ----------
    problem
        Rows that are not uniform stay as they are where nothing is said.
    expected
        For arms, by name or number from 1 as text, or for an option that all segments have: ``"4%"`` or
        ``0.04``, worth 25 customers; or an interval, ``"3-8%"``, ``"0.03 to 0.08"`` or ``(0.03, 0.08)``.
    coverage
        Probability that the mean lies in its interval, the rest half on each side.
    factor
        An arm of which nothing is said has odds within this factor of its neighbour's, for each step
        between them; default: 2, or 3 where nothing is known of an order. See `elsv.prior.untried`.
    fill
        Whether such arms get rows; without, they keep theirs, for history to come.

    Examples
    --------
    >>> shop = Problem(rewards=[0.8, 1.0], horizon=100, names=["sale", "full"])
    >>> print(from_expectations(shop, {"sale": "3-8%"}).rows.round(1).tolist())
    [[11.1, 199.9], [2.9, 45.7]]
    """
    if not is_number(coverage) or not 0 < coverage < 1:
        raise InvalidInputError(f"coverage must lie strictly between 0 and 1, got {shown(coverage)}; try 0.9")
    if has_own_prior(problem.structure):
        raise InvalidInputError(
            "what is expected of an arm goes into its prior row, which is not used where "
            f"{problem.structure.describe()}; say it there instead, "
            "as conversion and odds_fall of a demand curve"
        )
    wanted = _wanted(problem, expected)
    share = float(coverage)
    said: AnyArray = ~np.isnan(wanted[:, 0])
    by_mean = said & (wanted[:, 0] == wanted[:, 1])
    means = np.where(by_mean, wanted[:, 0], np.nan)
    ends = np.where(by_mean[:, None], np.nan, wanted)
    known = known_arms(problem) | said
    base = neutral(problem, known) if fill else problem
    one_number = WORTH * np.stack([means, 1 - means], axis=1)
    rows = rows_alone(np.where(by_mean[:, None], one_number, base.prior), ends, share)
    if not factors(problem.belief):
        rows = rows_for(before_data(base), rows, means, ends, share)
    found = base.with_prior(rows)
    new, notes = from_neighbours(found, known, factor, ends, share, by_mean) if fill else (found, ())
    given = zip(wanted.tolist(), said, strict=True)
    fields = ({"said": tuple(interval) if stated else None} for interval, stated in given)
    arms = arm_priors(problem, new, share, fields)
    worth = new.prior[by_mean].sum(axis=1)
    more = "" if (worth < 1.01 * WORTH).all() else ": with fewer what is assumed could not imply it"
    words = [f"one number is worth {worth.max():.0f} customers{more}"] if by_mean.any() else []
    if not by_mean[said].all():
        words.append(f"intervals hold with probability {coverage:g}, before any data")
    return Prior(new, arms, share, tuple(words), notes, tuple(_unmet(problem, arms, wanted, said)))


def from_rates(problem: Problem, rates: Mapping[str, Interval]) -> FloatArray:
    """Return the rates ``[N]`` that are said of arms, by name or number from 1; NaN where none is."""
    wanted = _wanted(problem, rates)
    ranges = [name for name, (low, high) in zip(problem.names, wanted, strict=True) if low < high]
    if ranges:
        raise InvalidInputError(f"the rate of {ranges[0]} must be one number such as 4%, got an interval")
    return np.asarray(wanted[:, 0])


def parse_expectation(text: str) -> tuple[str, tuple[float, float]]:
    """Read ``"10 % off=3-8%"`` or ``"none=4%"``: an arm, by name or number from 1, and both ends."""
    arm, sign, interval = text.rpartition("=")
    if not sign or not arm.strip():
        raise InvalidInputError(
            f'an expectation must be ARM=RATE, such as "none=4%" or "10 % off=3-8%", got {shown(text)}'
        )
    return arm.strip(), _ends(arm.strip(), interval)


def _wanted(problem: Problem, expected: Mapping[str, Interval]) -> FloatArray:
    """Return both ends of what is expected of every arm ``[N, 2]``; NaN where nothing is."""
    if not isinstance(expected, Mapping) or not expected:
        raise InvalidInputError(
            f'expected must name arms, such as {{"no": "4%", "sale": "3-8%"}}, got {shown(expected)}'
        )
    wanted = np.full((problem.arms, 2), np.nan)
    for arm, interval in expected.items():
        for i in arms_of(arm, problem.names) or [find_arm(problem, arm)]:
            if not np.isnan(wanted[i, 0]):
                raise InvalidInputError(f"something is expected of {problem.names[i]} twice; say it once")
            wanted[i] = _ends(problem.names[i], interval)
    return wanted


def _ends(arm: str, given: Interval) -> tuple[float, float]:
    """Return both ends as probabilities, twice the same for one number."""
    try:
        values = _written(given) if isinstance(given, str) else np.atleast_1d(numbers(arm, given)).tolist()
        low, high = map(float, values * 2 if len(values) == 1 else values)
    except (TypeError, ValueError):
        rule = 'be a rate such as "4%" or an interval such as "3-8%"'
    else:
        if 0 < low <= high < 1:
            return low, high
        rule = "lie strictly between 0 and 1, or 0 and 100 with a % sign"
        if 0 < high < low < 1:
            rule = "go from a smaller to a larger number"
    raise InvalidInputError(f"what is expected of {arm} must {rule}, got {shown(given)}")


def _written(text: str) -> list[float]:
    found = _WRITTEN.match(text)
    if found is None:
        raise ValueError(text)
    scale = 0.01 if "%" in text else 1.0
    return [float(end.replace(",", ".")) * scale for end in found.groups() if end is not None]


def _unmet(problem: Problem, arms: Sequence[ArmPrior], wanted: FloatArray, said: AnyArray) -> list[str]:
    """Say which intervals are not those that were asked for, and which pairs clash with an order."""
    missed = []
    for arm, (low, high) in ((arm, arm.said) for arm in arms if arm.said is not None):
        found = arm.after
        if low == high and abs(found.mean - low) > _MET * low:
            missed.append(f"{arm.name} is implied at {percent(found.mean)}, expected {percent(low)}")
        elif low < high and max(abs(found.low - low), abs(found.high - high)) > _MET * (high - low):
            implied = _shown(found.low, found.high)
            missed.append(f"{arm.name} is implied at {implied}, expected {_shown(low, high)}")
    facts = ranking_of(problem.structure)
    if not missed:
        return []
    met = [f"cannot be met under what is assumed: {'; '.join(missed)}"]
    if facts is None or facts.scale != "mean":
        return met
    return met + [
        f"{problem.names[a]} is at least as good as {problem.names[b]}, and yet is expected at "
        f"{_shown(*wanted[a])} where {problem.names[b]} is at {_shown(*wanted[b])}: change one of the two"
        for a, b in np.argwhere(closure(problem.arms, facts.order))
        if said[a] and said[b] and (wanted[a] < wanted[b]).any()
    ]


def _shown(low: float, high: float) -> str:
    return percent(low) if low == high else f"{percent(low)} to {percent(high)}"
