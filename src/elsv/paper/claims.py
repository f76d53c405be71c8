"""The paper's claims and how a verdict follows from what was measured.

A verdict is computed, never typed: each function below applies a rule of ``words.toml`` to numbers. A claim
*holds*, *holds in part* (against some rivals only, up to some depth, in some settings), or is *not
reproduced*. Intervals are 95 %; "clearly" means that the interval excludes zero.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from elsv.report.headline import listed as listed
from elsv.report.page import words as words_of

words = partial(words_of, "elsv.paper")
MINE = "ELSV-Gittins"
IN_PAPER = (MINE, "ELSV-UCB", "TS", "TS constrained", "Bayes-UCB", "Gittins", "UCB")
NOBODY_AHEAD = "No rival has less regret."


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


def claim(label: str, judged: tuple[Verdict, str], measured: str, why: str, **said: Any) -> Claim:
    """Return a claim of the paper as one of the rules below has judged it."""
    name = label.partition(" ")[0]  # "C4 exact" is C4 judged again
    return Claim(label, words(name, "says"), measured, *judged, why, words(name, "rule", **said))


def claim_in(section: str, label: str, judged: tuple[Verdict, str], **said: Any) -> Claim:
    """Return a claim of which a section of ``words.toml`` says what was measured and why."""
    return claim(label, judged, words(section, "measured", **said), words(section, "why", **said), **said)


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


def least_regret(leads: Sequence[Lead]) -> tuple[Verdict, str]:
    """Judge that a policy has the least regret."""
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


def exact_leads(rows: Mapping[int, Mapping[str, float]], horizon: int) -> tuple[list[Lead], str]:
    """Return how far ELSV-Gittins leads, by exact regrets of horizon and label, and who is ahead of it."""
    last = rows[horizon]
    leads = [
        Lead(f"T = {t}", rival, regret - row[MINE], 0.0, rival in IN_PAPER)
        for t, row in rows.items()
        for rival, regret in row.items()
        if rival not in (MINE, "optimum")
    ]
    ahead = sorted((x for x in last if x != "optimum" and last[x] < last[MINE]), key=lambda x: last[x])
    return leads, "; ".join(f"{rival} {last[rival]:.3f}" for rival in ahead)


def no_difference(changes: Sequence[Change], margin: float = 10.0) -> tuple[Verdict, str]:
    """Judge that depth makes virtually no difference."""
    if all(change.within(margin) for change in changes):
        return Verdict.HOLDS, f"holds: no depth changes the regret by over {margin:g} %"
    if any(change.percent + change.half_width < -margin for change in changes):
        return Verdict.NOT_REPRODUCED, "not reproduced: deeper search has clearly less regret"
    if any(change.percent - change.half_width > margin for change in changes):
        return Verdict.PARTLY, f"no depth helps, but some are worse by over {margin:g} %"
    open_cases = listed(dict.fromkeys(change.label for change in changes if not change.within(margin)))
    return Verdict.PARTLY, f"holds but for {open_cases}, where the interval reaches past ± {margin:g} %"


def grows(leads: Iterable[Sequence[tuple[float, float]]], settings: Sequence[str]) -> tuple[Verdict, str]:
    """Judge that a lead grows; each item holds (lead, half-width) by number of arms."""
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


def far_better(ratios: Sequence[Ratio]) -> tuple[Verdict, str]:
    """Judge that one policy is far better than another."""
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
