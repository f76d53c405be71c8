"""A comparison as files: Parquet, JSON, figures, and a page to send to a colleague."""

from __future__ import annotations

import hashlib
import json
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from elsv._base.export import write_columns
from elsv._base.files import Outputs, write_text
from elsv._base.numbers import finite
from elsv.errors import MissingExtraError
from elsv.report import figures
from elsv.report.comparison_page import FIGURES, comparison_page, draw
from elsv.simulation.compare import Comparison
from elsv.simulation.store import is_chunk


def check_extras() -> None:
    """Raise `MissingExtraError` unless everything that `write_comparison` needs is installed."""
    needed = {"plot": ("matplotlib", "jinja2"), "data": ("polars",)}
    missing = [extra for extra, modules in needed.items() if None in map(find_spec, modules)]
    if missing:
        raise MissingExtraError("writing a report", ",".join(missing))


def report_files() -> list[str]:
    """Return the names of all files that `write_comparison` may write."""
    drawn = [f"figures/{name}{suffix}" for name in FIGURES for suffix in (".svg", ".png")]
    return ["results.parquet", "problem.toml", "raw.parquet", "report.html", "summary.json", *drawn]


def write_comparison(
    comparison: Comparison, out: str | Path, command: str | None = None, overwrite: bool = False
) -> list[Path]:
    """Write everything about a comparison into the directory `out` and return the paths.

    ``results.parquet`` has one row for each policy and step, ``summary.json`` the totals, ``figures/`` every
    figure as SVG and PNG, ``report.html`` all of it on one page, ``problem.toml`` the problem. If the curves
    of single instances were kept, ``raw.parquet`` has a row for each instance and step and a column for each
    policy. The same seed gives the same bytes, times aside. ``elsv-files.json`` names all of them; what is
    not named there is never touched.

    Parameters
    ----------
    command
        The command line that repeats the run; default: one that uses ``problem.toml``.
    overwrite
        Replace another run that is in the directory.
    """
    check_extras()
    outputs = Outputs.read(out)
    outputs.check(report_files())
    outputs.begin(comparison.fingerprint or _key(comparison), overwrite)
    written = [outputs.path("results.parquet"), outputs.path("problem.toml")]
    write_columns(written[0], comparison.columns())
    draws = [written[1].with_name(name) for name in comparison.problem.files(written[1])[1]]
    outputs.claim(path.name for path in draws)
    comparison.problem.save(written[1])
    written += draws
    if all(result.curves is not None for result in comparison.totals.policies):
        written.append(outputs.path("raw.parquet"))
        write_columns(written[-1], _raw_columns(comparison))
    drawn = draw(comparison)
    outputs.claim(f"figures/{name}{suffix}" for name in drawn for suffix in (".svg", ".png"))
    for name, figure in drawn.items():
        written += figures.save(figure, outputs.directory / "figures" / name)
    svgs = {name: figures.for_page(figure) for name, figure in drawn.items()}
    page = comparison_page(comparison, svgs, command or repeat_command(comparison))
    written += [page.write(outputs.path("report.html")), outputs.path("summary.json")]
    write_text(written[-1], summary_json(comparison))
    kept = {path.relative_to(outputs.directory).as_posix() for path in written}
    outputs.remove(lambda name: name not in kept and not is_chunk(name))
    return written


def _key(comparison: Comparison) -> str:
    """Return a key of a comparison that was made without a directory: the digest of its numbers."""
    numbers = {**comparison.to_dict(), "seconds": 0}
    for policy in numbers["policies"]:
        policy["microseconds_per_decision"] = 0
    return hashlib.sha256(json.dumps(finite(numbers), sort_keys=True).encode()).hexdigest()


def summary_json(comparison: Comparison) -> str:
    """Return the text of ``summary.json``; what is not finite, as the interval of one instance, is null."""
    return json.dumps(finite(comparison.to_dict()), sort_keys=True, indent=2, allow_nan=False) + "\n"


def repeat_command(comparison: Comparison, problem: str = "problem.toml") -> str:
    """Return the command line that gives the same numbers, for means from the prior."""
    words = ["elsv", "compare", problem]
    for name in comparison.names:
        words += ["-p", name]
    words += ["--instances", str(comparison.instances), "--seed", str(comparison.seed)]
    if comparison.horizon != comparison.problem.horizon:
        words += ["--until", str(comparison.horizon)]
    if comparison.against is not None:
        words += ["--against", comparison.problem.names[comparison.against]]
    return shlex.join(words)


def _raw_columns(comparison: Comparison) -> dict[str, Any]:
    """Return the regret of every instance and step, one column for each policy."""
    steps, instances = comparison.horizon, comparison.instances
    columns: dict[str, Any] = {
        "instance": np.repeat(np.arange(instances, dtype=np.int32), steps),
        "step": np.tile(np.arange(1, steps + 1, dtype=np.int32), instances),
    }
    for name in comparison.names:
        curves = comparison[name].curves
        assert curves is not None
        columns[name] = curves.T.reshape(-1)
    return columns
