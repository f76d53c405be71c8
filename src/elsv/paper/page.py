"""The page of the reproduction: verdicts in words, figures, the table of claims, settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from elsv._base.numbers import duration
from elsv._base.words import REGRET
from elsv.paper.base import Experiment, Outcome
from elsv.paper.claims import Claim, Verdict, minus
from elsv.report import figures
from elsv.report.page import Page
from elsv.simulation.compare import versions

Parts = Sequence[tuple[Experiment, Outcome]]
_TITLE = "Value directed exploration, reproduced"
_PAPER = (
    "Cserna, Petrik, Russel and Ruml, *Value Directed Exploration in Multi-Armed Bandits with Structured "
    "Priors*"
)


def reproduction_page(parts: Parts, seconds: Sequence[float], seed: int, quick: bool, whole: bool) -> Page:
    """Return the page; `whole` if it has all experiments."""
    size = "quick run: small problems, wide intervals" if quick else "full run"
    page = Page(_TITLE, f"{_PAPER}, figure by figure; {size}, seed {seed}.")
    claims = sorted((claim for _, outcome in parts for claim in outcome.claims), key=lambda c: c.label)
    _summary(page, claims, quick)
    for experiment, outcome in parts:
        page.section(experiment.title, anchor=experiment.name)
        page.text(outcome.text)
        for drawing in outcome.drawings:
            page.figure(
                figures.for_page(drawing.figure), drawing.caption, f"{experiment.name}-{drawing.name}"
            )
        for table in outcome.tables:
            page.table(table.headers, table.rows, table.caption, table.align, table.highlight)
        for claim in outcome.claims:
            page.callout(f"**{claim.label} {claim.in_short}.** {minus(claim.why)}", _TONE[claim.verdict])
    if claims:
        _claims(page, claims, parts)
    _settings(page, parts, seconds, seed, quick, whole)
    return page


_TONE: dict[Verdict, Any] = {Verdict.HOLDS: "good", Verdict.PARTLY: "note", Verdict.NOT_REPRODUCED: "bad"}


def _summary(page: Page, claims: Sequence[Claim], quick: bool) -> None:
    page.section("Summary")
    page.text(
        "Every claim of the paper is measured again, with the corrected equations and exact beliefs and, "
        "for the simulations, also with the settings of the authors' program. Rivals that the paper leaves "
        "out stand beside its own: greedy on the ordered belief, and each arm alone. Verdicts are computed "
        "from the numbers by "
        + ("the rules stated in the [table of claims](#claims). " if claims else "stated rules. ")
        + REGRET
    )
    if quick:
        page.callout("A quick run shows that everything works. Its intervals are wide; do not quote it.")
    for verdict, lead in (
        (Verdict.HOLDS, "Holds"),
        (Verdict.PARTLY, "Holds in part"),
        (Verdict.NOT_REPRODUCED, "Not reproduced"),
    ):
        found = [claim for claim in claims if claim.verdict is verdict]
        if found:
            rows = "\n".join(_summary_line(claim) for claim in found)
            page.callout(f"**{lead}** ({len(found)} of {len(claims)})\n\n{rows}", _TONE[verdict])


def _summary_line(claim: Claim) -> str:
    said = claim.says.rstrip(".")
    known = (Verdict.HOLDS.value, Verdict.NOT_REPRODUCED.value)
    return f"- **{claim.label}** {said}." + (
        "" if claim.in_short in known else f" *{_sentence(claim.in_short)}*"
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _claims(page: Page, claims: Sequence[Claim], parts: Parts) -> None:
    where = {claim.label: experiment.name for experiment, outcome in parts for claim in outcome.claims}
    page.section("Claims and verdicts", anchor="claims")
    page.table(
        ["claim", "the paper says", "measured", "verdict", "why"],
        [
            [f"[{c.label}](#{where[c.label]})", c.says, minus(c.measured), f"**{c.in_short}**", minus(c.why)]
            for c in claims
        ],
        "The claims of the paper. Differences are paired, intervals are 95 %.",
        "lwwww",
    )
    page.table(
        ["claim", "rule"],
        [[c.label, _sentence(c.rule)] for c in claims],
        "How each verdict follows from the numbers. Clearly: the 95 % interval excludes zero.",
        "lw",
    )


def _settings(
    page: Page, parts: Parts, seconds: Sequence[float], seed: int, quick: bool, whole: bool
) -> None:
    page.section("Settings")
    page.table(
        ["experiment", "settings", "time"],
        [
            [
                e.name,
                "; ".join(f"{k} {_plain(v)}" for k, v in asdict(e.settings(quick)).items()),
                duration(t),
            ]
            for (e, _), t in zip(parts, seconds, strict=True)
        ],
        "Settings of every experiment, and how long it took.",
        "lwr",
    )
    page.settings(
        {
            "seed": f"{seed}; the same numbers on any number of jobs",
            "run time": duration(sum(seconds)),
            "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        }
    )
    page.text("This command repeats the run:")
    only = "" if whole else "".join(f" --only {e.name}" for e, _ in parts)
    page.code(f"elsv reproduce{' --quick' if quick else ''}{only} --seed {seed} --out DIR")


def _plain(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(f"({_plain(v)})" if isinstance(v, tuple | list) else str(v) for v in value)
    return str(value)
