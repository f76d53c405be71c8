"""What measuring needs of the log beside the counts: who was held out, halves in time, and the split.

A decision that is neither open nor void has an outcome: its reward, if that counts, or else a failure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray
from elsv.campaign.log import Head
from elsv.campaign.records import Tally
from elsv.stores.base import Transaction
from elsv.structure.evidence import LEAST_IN_A_HALF, SURPRISING, Counts, Doubt, in_percent

EXPECTED = 20.0  # customers that an arm must be promised, and others too; with fewer it warns too often
_PARTS = 64  # of a log, by which halves are cut
_RECENT = 50_000  # customers, the last ones, of whom halves and split are looked at: a log may be long
_CLOSED = """
FROM elsv_decision d
LEFT JOIN elsv_reward r ON r.campaign = d.campaign AND r.number = d.number
LEFT JOIN elsv_open o ON o.campaign = d.campaign AND o.number = d.number
LEFT JOIN elsv_void v ON v.campaign = d.campaign AND v.number = d.number
WHERE d.campaign = ? AND o.number IS NULL AND v.number IS NULL
"""
_WON = "SUM(CASE WHEN r.success = 1 AND r.counted = 1 THEN 1 ELSE 0 END)"
_OUTCOMES = f"""
SELECT (d.number - 1 - ?) / ?, d.arm, CASE WHEN d.reason = 'holdout' THEN 1 ELSE 0 END, COUNT(*), {_WON}
{_CLOSED} AND d.number > ? GROUP BY 1, 2, 3
"""
_HELD_BEFORE = (
    f"SELECT d.arm, COUNT(*), {_WON} {_CLOSED} AND d.number <= ? AND d.reason = 'holdout' GROUP BY 1"
)
_SPLIT = """
SELECT arm, propensities, COUNT(*) FROM elsv_decision WHERE campaign = ? AND number > ? AND propensity < 1
GROUP BY 1, 2
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
    before = max(0, head.decisions - _RECENT)
    split = split_of(reading.rows(_SPLIT, (head.id, before)), len(tallies)) if drawn else None
    if not drawn and all(t.seen < 2 * LEAST_IN_A_HALF for t in tallies):
        return Measured(split=split)
    size = max(1, -(-(head.decisions - before) // _PARTS))
    held = np.zeros((len(tallies), 2))
    parts = np.zeros((_PARTS, len(tallies), 2))  # successes and outcomes
    for part, arm, aside, seen, won in reading.rows(_OUTCOMES, (before, size, head.id, before)):
        parts[min(int(part), _PARTS - 1), arm] += int(won), int(seen)
        held[arm] += (int(won), int(seen)) if aside else (0, 0)
    for arm, seen, won in reading.rows(_HELD_BEFORE, (head.id, before)) if before else ():
        held[arm] += int(won), int(seen)
    halves = tuple(_halves(parts[:, arm]) for arm in range(len(tallies)))
    aside_counts = tuple((float(won), float(seen)) for won, seen in held)
    return Measured(aside_counts if held.any() else (), halves, split)


def _halves(parts: FloatArray) -> tuple[Counts, Counts]:
    """Return successes and outcomes of the first half of an arm's customers and of the others.

    They are cut at the end of a part of the log, the one nearest to the middle.
    """
    sums = parts.cumsum(axis=0)
    cut = int(np.abs(sums[:, 1] - sums[-1, 1] / 2).argmin())
    (won, seen), (all_won, all_seen) = sums[cut].tolist(), sums[-1].tolist()
    return (won, seen), (all_won - won, all_seen - seen)


def split_of(rows: Sequence[tuple[int, str, int]], arms: int) -> Split | None:
    r"""Return the split by rows of (arm, its probabilities as text, customers); None if too few came.

    With q the probabilities of a decision and a its arm, :math:`\sum (e_a - q)` has mean 0 and covariance
    :math:`V = \sum (\mathrm{diag}\,q - q q^T)` whatever the policy did. Its square in terms of V is about
    :math:`\chi^2`.
    Arms that are promised fewer than 20 customers count together with the others.
    """
    from scipy.special import chdtrc

    if not rows:
        return None
    counts = np.array([count for _, _, count in rows], dtype=np.float64)
    given = np.bincount([arm for arm, _, _ in rows], counts, arms)
    # Nothing stands for an arm that was not on offer, or has been added since.
    listed = [[float(part or 0.0) for part in text.split(",")] for _, text, _ in rows]
    chances = np.array([row + [0.0] * (arms - len(row)) for row in listed])
    promised, products = counts @ chances, (counts[:, None] * chances).T @ chances
    total = given.sum()
    kept = np.flatnonzero((promised >= EXPECTED) & (total - promised >= EXPECTED))
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
