"""What measuring needs of the log beside the counts: who was held out, halves in time, and the split.

A decision's outcome is its reward, if that counts, or else a failure once it has expired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elsv.campaign.log import Head
from elsv.campaign.records import Tally
from elsv.stores.base import Transaction
from elsv.structure.evidence import LEAST_IN_A_HALF, SURPRISING, Counts, Doubt, in_percent

_EXPECTED = 5.0  # customers that an arm must be promised, and others too, to be compared
_HALVES = """
SELECT arm, held, CASE WHEN 2 * place > every THEN 1 ELSE 0 END, COUNT(*), SUM(won) FROM (
  SELECT d.arm AS arm, CASE WHEN d.reason = 'holdout' THEN 1 ELSE 0 END AS held,
    CASE WHEN r.success = 1 AND r.counted = 1 THEN 1 ELSE 0 END AS won,
    ROW_NUMBER() OVER (PARTITION BY d.arm ORDER BY d.number) AS place,
    COUNT(*) OVER (PARTITION BY d.arm) AS every
  FROM elsv_decision d
  LEFT JOIN elsv_reward r ON r.campaign = d.campaign AND r.number = d.number
  LEFT JOIN elsv_expiration e ON e.campaign = d.campaign AND e.number = d.number
  WHERE d.campaign = ? AND (r.counted = 1 OR e.number IS NOT NULL)
) AS outcomes GROUP BY 1, 2, 3
"""
_SPLIT = """
SELECT arm, propensities, COUNT(*) FROM elsv_decision WHERE campaign = ? AND propensity < 1 GROUP BY 1, 2
"""


@dataclass(frozen=True)
class Split:
    """Customers of each arm against those that the logged probabilities promised."""

    given: tuple[float, ...]  # customers
    promised: tuple[float, ...]
    chance: float  # of a split as far off


@dataclass(frozen=True)
class Measured:
    """What the log says beside the counts, arm by arm."""

    held: tuple[Counts, ...] = ()  # successes and outcomes of the customers who were held out; (): nobody was
    halves: tuple[tuple[Counts, Counts] | None, ...] = ()
    split: Split | None = None  # None where nothing was drawn


def measure(reading: Transaction, head: Head, tallies: Sequence[Tally], drawn: bool) -> Measured:
    """Return what the log says; `drawn`: whether a floor or a holdout promises every arm customers."""
    split = split_of(reading.rows(_SPLIT, (head.id,)), len(tallies)) if drawn else None
    if not drawn and all(t.seen < 2 * LEAST_IN_A_HALF for t in tallies):
        return Measured(split=split)
    held = [(0.0, 0.0)] * len(tallies)
    halves = [[(0.0, 0.0), (0.0, 0.0)] for _ in tallies]
    for arm, aside, half, seen, won in reading.rows(_HALVES, (head.id,)):
        if aside:
            held[arm] = held[arm][0] + won, held[arm][1] + seen
        before = halves[arm][half]
        halves[arm][half] = before[0] + won, before[1] + seen
    told = tuple(held) if any(seen for _, seen in held) else ()
    return Measured(told, tuple((first, second) for first, second in halves), split)


def split_of(rows: Sequence[tuple[int, str, int]], arms: int) -> Split | None:
    r"""Return the split by rows of (arm, its probabilities as text, customers); None if too few came.

    With q the probabilities of a decision and a its arm, :math:`\sum (e_a - q)` has mean 0 and covariance
    :math:`V = \sum (\mathrm{diag}\,q - q q^T)` whatever the policy did. Its square in terms of V is about
    :math:`\chi^2`.
    Arms that are promised fewer than five customers count together with the others.
    """
    from scipy.special import chdtrc

    given, promised = np.zeros(arms), np.zeros(arms)
    products = np.zeros((arms, arms))
    for arm, text, count in rows:
        chances = np.array([float(part or 0.0) for part in text.split(",")])
        given[arm] += count
        promised += count * chances
        products += count * np.outer(chances, chances)
    total = given.sum()
    kept = np.flatnonzero((promised >= _EXPECTED) & (total - promised >= _EXPECTED))
    if not len(kept):
        return None
    spread = (np.diag(promised) - products)[np.ix_(kept, kept)]
    apart = (given - promised)[kept]
    inverse, rank = (
        np.linalg.pinv(spread, rcond=1e-9, hermitian=True),
        np.linalg.matrix_rank(spread, tol=1e-6),
    )
    chance = float(chdtrc(max(1, int(rank)), max(0.0, float(apart @ inverse @ apart))))
    return Split(tuple(given.tolist()), tuple(promised.tolist()), chance)


def split_doubt(split: Split | None, names: Sequence[str]) -> tuple[Doubt, ...]:
    """Return the warning where arms did not get the customers that they were promised."""
    if split is None or split.chance > SURPRISING:
        return ()
    worst = max(range(len(names)), key=lambda arm: abs(split.given[arm] - split.promised[arm]))
    words = (
        f"The arms did not get the customers that the logged probabilities promised: {names[worst]} got "
        f"{split.given[worst]:,.0f}, promised were {split.promised[worst]:,.0f} (a chance of "
        f"{in_percent(split.chance)}). Events may be lost, or booked twice."
    )
    return (Doubt("split", words, split.chance),)
