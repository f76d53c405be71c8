"""The paper's claims and how a verdict follows from what was measured.

A verdict is computed, never typed: each function below states its rule and applies it to numbers. A claim
*holds*, *holds in part* (against some rivals only, up to some depth, in some settings), or is *not
reproduced*. Intervals are 95 %; "clearly" means that the interval excludes zero.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from elsv.report.headline import listed as listed


class Verdict(StrEnum):
    """The verdict on a claim."""

    HOLDS = "holds"
    PARTLY = "holds in part"
    NOT_REPRODUCED = "not reproduced"


@dataclass(frozen=True)
class Claim:
    """One claim of the paper with its verdict."""

    label: str  # C1 … C9
    says: str
    measured: str
    verdict: Verdict
    in_short: str  # the verdict in words: "holds against TS and Gittins only"
    why: str
    rule: str


@dataclass(frozen=True)
class Lead:
    """How much more regret a rival has than the policy that is claimed to be best."""

    setting: str
    rival: str
    difference: float  # regret of the rival minus that of the policy, paired
    half_width: float  # 95 %; 0 where both are exact
    in_paper: bool  # whether the paper compares with this rival

    @property
    def clear(self) -> bool:
        """Whether the policy has clearly less regret than this rival."""
        return self.difference > self.half_width

    @property
    def reversed(self) -> bool:
        """Whether the rival has clearly less regret."""
        return self.difference < -self.half_width


@dataclass(frozen=True)
class Change:
    """A paired difference relative to a reference, in percent of it."""

    setting: str
    label: str
    percent: float
    half_width: float

    def within(self, margin: float) -> bool:
        """Whether the whole interval lies within ± `margin` percent."""
        return abs(self.percent) + self.half_width <= margin


LEAST_REGRET = (
    "holds if every rival has clearly more regret in every setting; in part if that is so for some rivals "
    "and no rival of the paper has clearly less; otherwise not reproduced"
)


def least_regret(leads: Sequence[Lead]) -> tuple[Verdict, str]:
    """Judge that a policy has the least regret (rule: `LEAST_REGRET`)."""
    rivals = list(dict.fromkeys(lead.rival for lead in leads))
    beaten = [name for name in rivals if all(lead.clear for lead in leads if lead.rival == name)]
    if len(beaten) == len(rivals):
        return Verdict.HOLDS, "holds against every rival"
    if not beaten or any(lead.reversed and lead.in_paper for lead in leads):
        return Verdict.NOT_REPRODUCED, "not reproduced"
    others = listed(name for name in rivals if name not in beaten)
    if {lead.rival for lead in leads if lead.in_paper} <= set(beaten):
        return Verdict.PARTLY, f"holds against every rival of the paper, but not against {others}"
    return Verdict.PARTLY, f"holds against {listed(beaten)} only, not against {others}"


def exact_lead(
    label: str,
    rows: Mapping[int, Mapping[str, float]],
    horizon: int,
    in_paper: Collection[str],
    measured: str,
    ahead_is: str,
    and_then: str = "",
) -> Claim:
    """Judge from exact regrets by horizon and label that ELSV-Gittins has the least (claim C4).

    `ahead_is` begins the sentence on the policies with less regret at `horizon`.
    """
    mine = "ELSV-Gittins"
    leads = [
        Lead(f"T = {t}", rival, regret - row[mine], 0.0, rival in in_paper)
        for t, row in rows.items()
        for rival, regret in row.items()
        if rival not in (mine, "optimum")
    ]
    last = rows[horizon]
    ahead = sorted((x for x in last if x != "optimum" and last[x] < last[mine]), key=lambda x: last[x])
    told = "; ".join(f"{rival} {last[rival]:.3f}" for rival in ahead)
    return Claim(
        label,
        "ELSV-Gittins outperforms all other algorithms on the 3-arm discount problem.",
        measured,
        *least_regret(leads),
        f"{ahead_is}{told}.{and_then}" if ahead else "No rival has less regret.",
        LEAST_REGRET,
    )


NO_DIFFERENCE = (
    "holds if every interval of the change lies within ± 10 % of the regret at depth 1; not reproduced if "
    "some depth clearly has over 10 % less regret; otherwise in part"
)


def no_difference(changes: Sequence[Change], margin: float = 10.0) -> tuple[Verdict, str]:
    """Judge that depth makes virtually no difference (rule: `NO_DIFFERENCE`)."""
    if all(change.within(margin) for change in changes):
        return Verdict.HOLDS, f"holds: no depth changes the regret by over {margin:g} %"
    if any(change.percent + change.half_width < -margin for change in changes):
        return Verdict.NOT_REPRODUCED, "not reproduced: deeper search has clearly less regret"
    if any(change.percent - change.half_width > margin for change in changes):
        return Verdict.PARTLY, f"no depth helps, but some are worse by over {margin:g} %"
    open_cases = listed(dict.fromkeys(change.label for change in changes if not change.within(margin)))
    return Verdict.PARTLY, f"holds but for {open_cases}, where the interval reaches past ± {margin:g} %"


GROWS = (
    "in each setting the lead grows if it is clearly larger for the most arms than for the fewest and never "
    "clearly falls in between; holds if it grows in all settings, in part if in some"
)


def grows(leads: Iterable[Sequence[tuple[float, float]]], settings: Sequence[str]) -> tuple[Verdict, str]:
    """Judge that a lead grows (rule: `GROWS`); each item holds (lead, half-width) by number of arms."""
    growing = [name for name, row in zip(settings, leads, strict=True) if _rises(row)]
    if len(growing) == len(settings):
        return Verdict.HOLDS, "holds"
    if growing:
        return Verdict.PARTLY, f"holds for {listed(growing)} only"
    return Verdict.NOT_REPRODUCED, "not reproduced"


def _rises(row: Sequence[tuple[float, float]]) -> bool:
    def clearly_more(later: tuple[float, float], earlier: tuple[float, float]) -> bool:
        return later[0] - earlier[0] > math.hypot(later[1], earlier[1])

    falls = any(clearly_more(row[k], row[k + 1]) for k in range(len(row) - 1))
    return clearly_more(row[-1], row[0]) and not falls


@dataclass(frozen=True)
class Ratio:
    """Regret of a policy over that of its rival, with a paired difference to tell them apart."""

    setting: str
    label: str
    ratio: float
    difference: float  # rival minus policy
    half_width: float


FAR_BETTER = (
    "far better: clearly less regret, and at most half of it; holds if so in every pairing, in part if in "
    "some, otherwise not reproduced"
)


def far_better(ratios: Sequence[Ratio]) -> tuple[Verdict, str]:
    """Judge that one policy is far better than another (rule: `FAR_BETTER`)."""
    won = [r for r in ratios if r.difference > r.half_width and r.ratio <= 0.5]
    if len(won) == len(ratios):
        return Verdict.HOLDS, "holds"
    if won:
        return Verdict.PARTLY, f"holds for {listed(dict.fromkeys(r.label for r in won))} only"
    return Verdict.NOT_REPRODUCED, "not reproduced"


def all_of(parts: Sequence[bool]) -> tuple[Verdict, str]:
    """Judge a claim of several parts: all, some, none."""
    found = Verdict.HOLDS if all(parts) else Verdict.PARTLY if any(parts) else Verdict.NOT_REPRODUCED
    return found, str(found)


def at_most(value: float, bound: float) -> tuple[Verdict, str]:
    """Judge a number that must not exceed a bound."""
    return all_of([value <= bound])


def in_a_row(numbers: Iterable[float]) -> str:
    """Return numbers with commas between them."""
    return ", ".join(f"{x:g}" for x in numbers)


def minus(text: str) -> str:
    """Return text with the hyphens of its numbers as minus signs."""
    return re.sub(r"-(?=[\d.])", "−", text)
