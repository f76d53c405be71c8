"""Run experiments and write what they found: results, figures, ``summary.json`` and one page."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from elsv._base.export import write_columns
from elsv._base.files import Outputs, write_text
from elsv._base.numbers import duration, finite
from elsv._version import __version__
from elsv.errors import InvalidInputError, unknown_name
from elsv.exact.cuda.sweeps import check_device, find_device
from elsv.paper import (
    arms,
    cost,
    decomposition,
    depth,
    discount,
    growth,
    long_horizon,
    optimum,
    theorem,
    transition,
    values,
)
from elsv.paper.base import Context, Experiment, Outcome
from elsv.paper.claims import Claim, Verdict, minus
from elsv.report import figures
from elsv.report.comparison import check_extras
from elsv.report.money import REGRET
from elsv.report.page import Page
from elsv.simulation.compare import versions
from elsv.simulation.identity import digest_of

EXPERIMENTS: tuple[Experiment, ...] = (
    transition.EXPERIMENT,
    values.EXPERIMENT,
    theorem.EXPERIMENT,
    cost.EXPERIMENT,
    depth.EXPERIMENT,
    discount.EXPERIMENT,
    optimum.EXPERIMENT,
    long_horizon.EXPERIMENT,
    arms.EXPERIMENT,
    growth.EXPERIMENT,
    decomposition.EXPERIMENT,
)
NAMES = tuple(experiment.name for experiment in EXPERIMENTS)
Progress = Callable[[str, float], None]
Parts = Sequence[tuple[Experiment, Outcome]]
_FIGURES = (".svg", ".png")


def chosen(only: Sequence[str] = ()) -> list[Experiment]:
    """Return the experiments with these names, all of them by default, in the order of the page."""
    for name in only:
        if name not in NAMES:
            raise unknown_name("experiment", name, NAMES)
    return [experiment for experiment in EXPERIMENTS if not only or experiment.name in only]


@dataclass(frozen=True)
class Reproduction:
    """What was run and what it found, in the order of the page."""

    parts: tuple[tuple[Experiment, Outcome], ...]
    seconds: tuple[float, ...]  # of each part
    seed: int
    quick: bool

    def plot(self, experiment: str, drawing: str | None = None, ax: Any = None) -> Any:
        """Draw a figure of an experiment, by their names, as `elsv.paper.base.Drawing.plot` does."""
        outcomes = {found.name: outcome for found, outcome in self.parts}
        if experiment not in outcomes:
            raise InvalidInputError(f"no experiment {experiment!r} here; there are: {', '.join(outcomes)}")
        return outcomes[experiment].plot(drawing, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return everything that goes into ``summary.json``; all but ``timing`` repeats with the seed."""
        names = [experiment.name for experiment, _ in self.parts]
        summary = {
            "claims": [
                {**vars(claim), "verdict": claim.verdict.value, "experiment": experiment.name}
                for experiment, outcome in self.parts
                for claim in outcome.claims
            ],
            "experiments": {
                experiment.name: {
                    "settings": asdict(experiment.settings(self.quick)),
                    "numbers": outcome.numbers,
                }
                for experiment, outcome in self.parts
            },
            "settings": {"seed": self.seed, "quick": self.quick},
            "versions": versions(),
            "timing": {
                "seconds": dict(zip(names, self.seconds, strict=True)),
                **{e.name: outcome.timing for e, outcome in self.parts if outcome.timing},
            },
        }
        found: dict[str, Any] = finite(json.loads(json.dumps(summary)))
        return found


def reproduce(
    out: str | Path,
    only: Sequence[str] = (),
    quick: bool = False,
    seed: int = 0,
    jobs: int | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
    device: str = "cpu",
) -> Reproduction:
    """Run the experiments and write everything into the directory `out`.

    ``report.html`` is one self-contained page, ``summary.json`` has all numbers and verdicts, ``results/``
    one JSON file for each experiment and a Parquet file where there are curves, ``figures/`` every figure as
    SVG and PNG. The same seed gives the same bytes on any number of jobs, times aside; where memory is too
    short for the longest exact horizons, they are left out and the page says so. ``elsv-files.json`` names
    all files; what is not named there is never touched.

    Parameters
    ----------
    only
        Names of experiments; default: all.
    quick
        Fewer instances and smaller problems; the same code.
    progress
        Called with the name of the experiment at work and the share of the whole that is done.
    overwrite
        Replace another run that is in the directory.
    device
        ``"cuda"``: compute the paper's own horizon again on a GPU (extra ``gpu``) instead of showing what was
        computed once.
    """
    check_extras()
    if check_device(device):
        find_device()
    experiments = chosen(only)
    outputs = Outputs.read(out)
    outputs.check(_planned(outputs.directory, experiments))
    about = [(experiment.name, experiment.settings(quick)) for experiment in experiments]
    on_gpu = () if device == "cpu" else (device,)
    outputs.begin(digest_of(("reproduce", about, quick, seed, __version__, *on_gpu)), overwrite)
    outputs.remove()  # so that page and files belong together
    total, done = sum(experiment.weight for experiment in experiments), 0.0
    outcomes, seconds = [], []
    for experiment in experiments:
        report = _share(progress, experiment, done / total, experiment.weight / total)
        report(0.0)
        began = time.perf_counter()
        outcome = experiment.run(experiment.settings(quick), Context(seed, jobs, report, device))
        seconds.append(time.perf_counter() - began)
        _write(outputs, experiment, outcome, asdict(experiment.settings(quick)))
        outcomes.append((experiment, outcome))
        done += experiment.weight
    found = Reproduction(tuple(outcomes), tuple(seconds), seed, quick)
    reproduction_page(found).write(outputs.path("report.html"))
    write_text(outputs.path("summary.json"), _json(found.to_dict()))
    return found


def _share(
    progress: Progress | None, experiment: Experiment, start: float, part: float
) -> Callable[[float], None]:
    def report(share: float) -> None:
        if progress is not None:
            progress(experiment.name, start + part * share)

    return report


def _write(outputs: Outputs, experiment: Experiment, outcome: Outcome, settings: dict[str, Any]) -> None:
    write_text(
        outputs.path(f"results/{experiment.name}.json"),
        _json(finite(json.loads(json.dumps({"settings": settings, "numbers": outcome.numbers})))),
    )
    if outcome.columns is not None:
        write_columns(outputs.path(f"results/{experiment.name}.parquet"), outcome.columns)
    for drawing in outcome.drawings:
        stem = f"figures/{experiment.name}-{drawing.name}"
        outputs.claim(f"{stem}{suffix}" for suffix in _FIGURES)
        figures.save(drawing.figure, outputs.directory / stem)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, indent=2, allow_nan=False) + "\n"


def _planned(directory: Path, experiments: Sequence[Experiment]) -> list[str]:
    """Return where files will go; of the figures, whose names only a run knows, those that are there."""
    names = [experiment.name for experiment in experiments]
    results = [f"results/{name}{suffix}" for name in names for suffix in (".json", ".parquet")]
    there = [path for name in names for path in (directory / "figures").glob(f"{name}-*")]
    drawn = [f"figures/{path.name}" for path in there if path.suffix in _FIGURES]
    return ["report.html", "summary.json", *results, *(f"figures/{name}-" for name in names), *drawn]


_TITLE = "Value directed exploration, reproduced"
_PAPER = (
    "Cserna, Petrik, Russel and Ruml, *Value Directed Exploration in Multi-Armed Bandits with Structured "
    "Priors*"
)


def reproduction_page(found: Reproduction) -> Page:
    """Return the page: verdicts in words, figures, the table of claims, settings."""
    parts, quick, seed = found.parts, found.quick, found.seed
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
    _settings(page, found)
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


def _settings(page: Page, found: Reproduction) -> None:
    parts, seconds, quick = found.parts, found.seconds, found.quick
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
            "seed": f"{found.seed}; the same numbers on any number of jobs",
            "run time": duration(sum(seconds)),
            "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        }
    )
    page.text("This command repeats the run:")
    only = "" if len(parts) == len(NAMES) else "".join(f" --only {e.name}" for e, _ in parts)
    page.code(f"elsv reproduce{' --quick' if quick else ''}{only} --seed {found.seed} --out DIR")


def _plain(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(f"({_plain(v)})" if isinstance(v, tuple | list) else str(v) for v in value)
    return str(value)
