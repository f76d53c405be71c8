"""Run experiments and write what they found: results, figures, ``summary.json`` and one page."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from elsv._base.export import write_columns
from elsv._base.files import Outputs, write_text
from elsv._base.machine import cores
from elsv._base.numbers import duration, finite
from elsv._version import __version__
from elsv.errors import InvalidInputError, unknown_name
from elsv.exact.cuda.sweeps import check_device, find_device
from elsv.paper import depth, discount, growth, long_horizon, optimum, pictures, theorem
from elsv.paper.base import Context, Experiment, Outcome, all_together, side_by_side
from elsv.paper.claims import Claim, Verdict, minus, words
from elsv.report import figures
from elsv.report.comparison import check_extras
from elsv.report.headline import REGRET
from elsv.report.page import Page
from elsv.simulation.compare import versions
from elsv.simulation.engine import StoppedError
from elsv.simulation.store import digest_of

EXPERIMENTS: tuple[Experiment, ...] = (
    pictures.TRANSITION,
    pictures.VALUES,
    theorem.EXPERIMENT,
    growth.COST,
    depth.EXPERIMENT,
    discount.EXPERIMENT,
    optimum.EXPERIMENT,
    long_horizon.EXPERIMENT,
    discount.MORE_ARMS,
    growth.EXPERIMENT,
    theorem.LEMMA,
)
NAMES = tuple(experiment.name for experiment in EXPERIMENTS)
Progress = Callable[[str, float], None]
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
    seed: int
    quick: bool
    whole: float  # seconds of all together, some of them side by side

    @property
    def claims(self) -> list[Claim]:
        """All claims with their verdicts, by label."""
        return sorted((claim for _, outcome in self.parts for claim in outcome.claims), key=lambda c: c.label)

    def plot(self, experiment: str, drawing: str | None = None, ax: Any = None) -> Any:
        """Draw a figure of an experiment, by their names, as `elsv.paper.base.Drawing.plot` does."""
        outcomes = {found.name: outcome for found, outcome in self.parts}
        if experiment not in outcomes:
            raise InvalidInputError(f"no experiment {experiment!r} here; there are: {', '.join(outcomes)}")
        return outcomes[experiment].plot(drawing, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return everything that goes into ``summary.json``; all but ``timing`` repeats with the seed."""
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
                "seconds": {experiment.name: outcome.seconds for experiment, outcome in self.parts},
                "whole": self.whole,
                **{e.name: outcome.timing for e, outcome in self.parts if outcome.timing},
            },
        }
        return cast(dict[str, Any], finite(summary))


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
    weights = {experiment.name: experiment.weight for experiment in experiments}
    note, over = all_together(weights, progress or (lambda name, share: None)), threading.Event()
    began = time.perf_counter()

    def run(experiment: Experiment) -> Outcome:
        def report(share: float) -> None:
            if over.is_set():
                raise StoppedError
            note(experiment.name, share)

        start = time.perf_counter()
        report(0.0)
        outcome = experiment.run(experiment.settings(quick), Context(seed, jobs, report, device))
        return replace(outcome, seconds=time.perf_counter() - start)

    # Two at once, the longest first: what one leaves idle the other uses. Meanwhile this thread draws. The
    # short ones run beside the first, so that the time left is known soon.
    first, *others = sorted(experiments, key=lambda experiment: -experiment.weight)
    order = [first, *sorted(others, key=lambda experiment: experiment.weight > 1)]
    found = {}
    for experiment, outcome in side_by_side(run, order, min(2, cores(jobs)), over):
        _write(outputs, experiment, outcome, asdict(experiment.settings(quick)))
        found[experiment] = outcome
    parts = tuple((experiment, found[experiment]) for experiment in experiments)
    reproduction = Reproduction(parts, seed, quick, time.perf_counter() - began)
    reproduction_page(reproduction).write(outputs.path("report.html"))
    write_text(outputs.path("summary.json"), _json(reproduction.to_dict()))
    return reproduction


def _write(outputs: Outputs, experiment: Experiment, outcome: Outcome, settings: dict[str, Any]) -> None:
    results = {"settings": settings, "numbers": outcome.numbers}
    write_text(outputs.path(f"results/{experiment.name}.json"), _json(results))
    if outcome.columns is not None:
        write_columns(outputs.path(f"results/{experiment.name}.parquet"), outcome.columns)
    for drawing in outcome.drawings:
        stem = f"figures/{experiment.name}-{drawing.name}"
        outputs.claim(f"{stem}{suffix}" for suffix in _FIGURES)
        figures.save(drawing.figure, outputs.directory / stem)
        figures.for_page(drawing.figure)  # which keeps it for the page


def _json(value: Any) -> str:
    """Return a value as JSON; what is not finite is null."""
    return json.dumps(finite(value), sort_keys=True, indent=2, allow_nan=False) + "\n"


def _planned(directory: Path, experiments: Sequence[Experiment]) -> list[str]:
    """Return where files will go; of the figures, whose names only a run knows, those that are there."""
    names = [experiment.name for experiment in experiments]
    results = [f"results/{name}{suffix}" for name in names for suffix in (".json", ".parquet")]
    there = [path for name in names for path in (directory / "figures").glob(f"{name}-*")]
    drawn = [f"figures/{path.name}" for path in there if path.suffix in _FIGURES]
    return ["report.html", "summary.json", *results, *(f"figures/{name}-" for name in names), *drawn]


_TONE: dict[Verdict, Any] = {Verdict.HOLDS: "good", Verdict.PARTLY: "note", Verdict.NOT_REPRODUCED: "bad"}
_say = partial(words, "page")


def reproduction_page(found: Reproduction) -> Page:
    """Return the page: verdicts in words, figures, the table of claims, settings."""
    size = _say("quick" if found.quick else "full")
    page = Page("Value directed exploration, reproduced", _say("paper", size=size, seed=found.seed))
    page.section("Summary")
    page.text(_say("summary", rules=_say("linked-rules" if found.claims else "rules"), regret=REGRET))
    if found.quick:
        page.callout(_say("do-not-quote"))
    for verdict, tone in _TONE.items():
        lines = [_summary_line(claim) for claim in found.claims if claim.verdict is verdict]
        if lines:
            count = f"({len(lines)} of {len(found.claims)})"
            page.callout(f"**{verdict.capitalize()}** {count}\n\n" + "\n".join(lines), tone)
    for experiment, outcome in found.parts:
        page.section(experiment.title, anchor=experiment.name)
        page.text(outcome.text)
        for drawing in outcome.drawings:
            name = f"{experiment.name}-{drawing.name}"
            page.figure(figures.for_page(drawing.figure), drawing.caption, name)
        for table in outcome.tables:
            page.table(**vars(table))
        for claim in outcome.claims:
            page.callout(f"**{claim.label} {claim.in_short}.** {minus(claim.why)}", _TONE[claim.verdict])
    if found.claims:
        _claims(page, found)
    _settings(page, found)
    return page


def _summary_line(claim: Claim) -> str:
    plain = claim.in_short in (Verdict.HOLDS, Verdict.NOT_REPRODUCED)
    said = f"- **{claim.label}** {claim.says.rstrip('.')}."
    return said if plain else f"{said} *{_sentence(claim.in_short)}*"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _claims(page: Page, found: Reproduction) -> None:
    where = {claim.label: experiment.name for experiment, outcome in found.parts for claim in outcome.claims}
    rows = [
        [f"[{c.label}](#{where[c.label]})", c.says, minus(c.measured), f"**{c.in_short}**", minus(c.why)]
        for c in found.claims
    ]
    page.section("Claims and verdicts", anchor="claims")
    page.table(["claim", "the paper says", "measured", "verdict", "why"], rows, _say("claims"), "lwwww")
    rules = [[c.label, _sentence(c.rule)] for c in found.claims]
    page.table(["claim", "rule"], rules, _say("verdicts"), "lw")


def _settings(page: Page, found: Reproduction) -> None:
    rows = []
    for experiment, outcome in found.parts:
        settings = asdict(experiment.settings(found.quick))
        told = "; ".join(f"{name} {_plain(value)}" for name, value in settings.items())
        rows.append([experiment.name, told, duration(outcome.seconds)])
    page.section("Settings")
    page.table(["experiment", "settings", "time"], rows, _say("settings"), "lwr")
    page.settings(
        {
            "seed": f"{found.seed}; the same numbers on any number of jobs",
            "run time": duration(found.whole),
            "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        }
    )
    page.text("This command repeats the run:")
    names = [experiment.name for experiment, _ in found.parts]
    only = "" if len(names) == len(NAMES) else "".join(f" --only {name}" for name in names)
    page.code(f"elsv reproduce{' --quick' if found.quick else ''}{only} --seed {found.seed} --out DIR")


def _plain(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(f"({_plain(v)})" if isinstance(v, tuple | list) else str(v) for v in value)
    return str(value)
