r"""What people expect, as prior rows: "3 to 8 %" becomes a row whose central interval is that.

Of an arm by itself, :math:`\mathrm{Beta}(\alpha, \beta)` with :math:`I_{lo}(\alpha, \beta) = (1-c)/2` and
:math:`I_{hi}(\alpha, \beta) = (1+c)/2` for the coverage c (0.9 by default). Under a structure the arms tell
of each other, and rows are found such that every arm of which something was said has that interval *under
the structure*; where intervals clash with it, the nearest, and what could not be met is named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from elsv._base.numbers import shown
from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs import Independent
from elsv.beliefs.abilities import factors
from elsv.beliefs.ladder.ranking import closure
from elsv.errors import InvalidInputError
from elsv.policies.single import find_arm
from elsv.prior.base import ArmPrior, implied, percent
from elsv.prior.found import Prior
from elsv.prior.solving import before_data, chance, log_odds, rows_for_intervals
from elsv.problem import Problem
from elsv.structure.base import has_own_prior
from elsv.structure.facts import ranking_of

COVERAGE = 0.9
Interval = str | Sequence[float]
_NORMAL = 1.645  # quantile of a normal distribution, to begin with
_MET = 0.02  # of an interval's width, up to which an end is met
_NUMBER = r"(\d+(?:[.,]\d+)?|[.,]\d+)"
_WRITTEN = re.compile(rf"^\s*{_NUMBER}\s*(%?)\s*(?:-|–|—|\bto\b|\.\.)\s*{_NUMBER}\s*(%?)\s*$")


def from_expectations(
    problem: Problem, expected: Mapping[str, Interval], coverage: float = COVERAGE
) -> Prior:
    """Return prior rows under which arms have the intervals that people expect.

    Parameters
    ----------
    problem
        Rows of arms of which nothing is said stay as they are.
    expected
        For arms, by name or number from 1 as text: ``"3-8%"``, ``"0.03 to 0.08"`` or ``(0.03, 0.08)``.
    coverage
        Probability that the mean lies in its interval, the rest half on each side.

    Examples
    --------
    >>> shop = Problem(rewards=[0.8, 1.0], horizon=100, names=["sale", "full"])
    >>> print(from_expectations(shop, {"sale": "3-8%"}).rows.round(1).tolist())
    [[11.1, 199.9], [1.0, 1.0]]
    """
    if isinstance(coverage, bool) or not isinstance(coverage, int | float) or not 0 < coverage < 1:
        raise InvalidInputError(f"coverage must lie strictly between 0 and 1, got {shown(coverage)}; try 0.9")
    if has_own_prior(problem.structure):
        raise InvalidInputError(
            "what is expected of an arm goes into its prior row, which is not used where "
            f"{problem.structure.describe()}; say it there instead, "
            "as conversion and odds_fall of a demand curve"
        )
    if not isinstance(expected, Mapping) or not expected:
        raise InvalidInputError(
            f'expected must name arms with intervals such as {{"sale": "3-8%"}}, got {shown(expected)}'
        )
    said: AnyArray = np.zeros(problem.arms, dtype=bool)
    wanted = np.full((problem.arms, 2), np.nan)
    for arm, interval in expected.items():
        i = find_arm(problem, arm)
        if said[i]:
            raise InvalidInputError(f"something is expected of {problem.names[i]} twice; say it once")
        said[i], wanted[i] = True, _ends(problem.names[i], interval)
    rows = _alone(problem, wanted, said, float(coverage))
    if not factors(problem.belief):
        rows = rows_for_intervals(before_data(problem), rows, wanted, said, float(coverage))
    new = problem.with_prior(rows)
    before, after = implied(problem, float(coverage)), implied(new, float(coverage))
    arms = tuple(
        ArmPrior(
            arm=i,
            name=problem.names[i],
            alpha=float(rows[i, 0]),
            beta=float(rows[i, 1]),
            before=before[i],
            after=after[i],
            said=(float(wanted[i, 0]), float(wanted[i, 1])) if said[i] else None,
        )
        for i in range(problem.arms)
    )
    words = f"intervals hold with probability {coverage:g}, before any data"
    return Prior(new, arms, float(coverage), (words,), tuple(_unmet(problem, arms, wanted, said)))


def parse_expectation(text: str) -> tuple[str, tuple[float, float]]:
    """Read ``"10 % off=3-8%"``: an arm, by name or number from 1, and its interval."""
    arm, sign, interval = text.rpartition("=")
    if not sign or not arm.strip():
        raise InvalidInputError(
            f'an expectation must be ARM=INTERVAL, such as "10 % off=3-8%", got {shown(text)}'
        )
    return arm.strip(), _ends(arm.strip(), interval)


def _ends(arm: str, interval: Interval) -> tuple[float, float]:
    """Return both ends as probabilities."""
    if isinstance(interval, str):
        low, high = _written(arm, interval)
    else:
        try:
            low, high = (float(end) for end in interval)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(
                f'what is expected of {arm} must be an interval such as "3-8%" or [0.03, 0.08], '
                f"got {shown(interval)}"
            ) from error
    if not (0 < low < 1 and 0 < high < 1):
        raise InvalidInputError(
            f"what is expected of {arm} must lie strictly between 0 and 1, or 0 and 100 with a % sign, "
            f"got {shown(interval)}"
        )
    if not low < high:
        raise InvalidInputError(
            f"what is expected of {arm} must go from a smaller to a larger number, got {shown(interval)}"
        )
    return low, high


def _written(arm: str, text: str) -> tuple[float, float]:
    found = _WRITTEN.match(text)
    if found is None:
        raise InvalidInputError(
            f'what is expected of {arm} must be an interval such as "3-8%" or "0.03-0.08", got {shown(text)}'
        )
    first, _, second, _ = found.groups()
    scale = 0.01 if "%" in text else 1.0
    return float(first.replace(",", ".")) * scale, float(second.replace(",", ".")) * scale


def _alone(problem: Problem, wanted: FloatArray, said: AnyArray, coverage: float) -> FloatArray:
    """Return rows that have the intervals by themselves, without a structure."""
    rows = problem.prior.copy()
    odds = log_odds(wanted[said])
    middle, spread = odds.mean(axis=1), (odds[:, 1] - odds[:, 0]) / (2 * _NORMAL)
    mean = chance(middle)
    count = np.maximum(1 / (spread**2 * mean * (1 - mean)) - 1, 0.5)
    rows[said] = np.stack([mean * count, (1 - mean) * count], axis=1)
    return rows_for_intervals(Independent(), rows, wanted, said, coverage)


def _unmet(problem: Problem, arms: tuple[ArmPrior, ...], wanted: FloatArray, said: AnyArray) -> list[str]:
    """Say which intervals are not those that were asked for, and which pairs clash with an order."""
    missed = []
    for arm in arms:
        if arm.said is not None:
            low, high = arm.said
            off = max(abs(arm.after.low - low), abs(arm.after.high - high))
            if off > _MET * (high - low):
                found = _shown(arm.after.low, arm.after.high)
                missed.append(f"{arm.name} is implied at {found}, expected {_shown(low, high)}")
    if not missed:
        return []
    return [f"cannot be met under what is assumed: {'; '.join(missed)}", *_clashes(problem, wanted, said)]


def _clashes(problem: Problem, wanted: FloatArray, said: AnyArray) -> list[str]:
    facts = ranking_of(problem.structure)
    if facts is None or facts.scale != "mean":
        return []
    above = closure(problem.arms, facts.order)
    return [
        f"{problem.names[a]} is at least as good as {problem.names[b]}, and yet is expected at "
        f"{_shown(*wanted[a])} where {problem.names[b]} is at {_shown(*wanted[b])}: change one of the two"
        for a, b in np.argwhere(above)
        if a != b and said[a] and said[b] and (wanted[a] < wanted[b]).any()
    ]


def _shown(low: float, high: float) -> str:
    return f"{percent(low)} to {percent(high)}"
