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
from elsv._base.numbers import finite
from elsv._version import __version__
from elsv.errors import InvalidInputError, unknown_name
from elsv.exact.cuda.device import check_device, find_device
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
from elsv.paper.page import reproduction_page
from elsv.report import figures
from elsv.report.comparison import check_extras
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
    page = reproduction_page(found.parts, found.seconds, seed, quick, len(outcomes) == len(NAMES))
    page.write(outputs.path("report.html"))
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
