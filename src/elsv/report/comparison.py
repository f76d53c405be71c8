"""A comparison as figures, as one page to send to a colleague, and as files."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from elsv._base.export import write_columns
from elsv._base.files import Outputs, write_text
from elsv._base.html import Part, block, note, table
from elsv._base.numbers import duration, finite
from elsv.errors import MissingExtraError
from elsv.report import figures, headline
from elsv.report.headline import earned, far_behind, ranking, shown_digits, verdict, with_half
from elsv.report.page import Cell, Page
from elsv.report.style import for_notebook
from elsv.simulation.compare import Comparison, versions
from elsv.simulation.store import is_chunk

FIGURES = ("regret", "regret-closer", "regret-log", "final-regret", "paired-differences", "pull-shares")
_LOG_X_FROM = 100  # steps; a logarithmic axis says nothing of fewer
_MOST_ARMS_IN_TABLES = 8


def regret_figure(comparison: Comparison, log_x: bool = False, leave_out: Collection[str] = ()) -> Any:
    """Return the regret curves of a comparison as a matplotlib figure."""
    results = {comparison.label(name): comparison[name] for name in comparison.names if name not in leave_out}
    return figures.regret_curves(
        {name: result.mean for name, result in results.items()},
        {name: result.ci95 for name, result in results.items()},
        log_x=log_x,
        style=_styles(comparison),
    )


def _styles(comparison: Comparison) -> dict[str, figures.Style]:
    """Return the style of every policy by its label."""
    return {comparison.label(name): style for name, style in figures.styles(comparison.names).items()}


def draw(comparison: Comparison) -> dict[str, Any]:
    """Return every figure of a comparison by its file name, out of `FIGURES`."""
    names, behind = comparison.names, far_behind(comparison)
    drawn = {"regret": regret_figure(comparison)}
    if behind:
        drawn["regret-closer"] = regret_figure(comparison, leave_out=behind)
    if comparison.horizon >= _LOG_X_FROM:
        drawn["regret-log"] = regret_figure(comparison, log_x=True, leave_out=behind)
    final = {comparison.label(name): float(comparison[name].mean[-1]) for name in names}
    drawn["final-regret"] = figures.dot_plot(
        final,
        {comparison.label(name): float(comparison[name].ci95[-1]) for name in names},
        x_label=f"cumulative regret after {comparison.horizon:,} steps",
        digits=shown_digits(comparison),
        log_x=0 < 10 * min(final.values()) < max(final.values()),
        style=_styles(comparison),
    )
    if len(names) > 1:
        best, *others = ranking(comparison)
        apart = {comparison.label(name): comparison.difference(name, best) for name in others}
        drawn["paired-differences"] = figures.paired_differences(
            {name: difference for name, (difference, _) in apart.items()},
            {name: half for name, (_, half) in apart.items()},
            comparison.label(best),
            digits=shown_digits(comparison),
            style=_styles(comparison),
        )
    drawn["pull-shares"] = figures.pull_shares(
        {comparison.label(name): comparison[name].pull_share for name in ranking(comparison)},
        comparison.problem.names,
    )
    return drawn


def comparison_page(comparison: Comparison, svgs: dict[str, list[str]], command: str) -> Page:
    """Return the page, with the figures of `draw` as SVG."""
    arms, policies = comparison.problem.arms, len(comparison.names)
    title = "Comparison of " + (
        f"{policies} policies" if policies > 1 else f"`{comparison.label(comparison.names[0])}`"
    )
    page = Page(
        title,
        f"{arms} {'arm' if arms == 1 else 'arms'}, {comparison.horizon:,} steps; "
        f"{comparison.instances:,} instances, means {comparison.source}; seed {comparison.seed}.",
    )
    _result(page, comparison)
    _regret(page, comparison, svgs)
    _pulls(page, comparison, svgs)
    _settings(page, comparison, command)
    return page


def notebook_html(comparison: Comparison) -> str:
    """Return the headline table and, with the extra ``plot``, the regret curves, for a notebook."""
    title = f"Comparison: {comparison.instances:,} instances of {comparison.horizon:,} steps"
    chosen = (0,) if len(comparison.names) > 1 else ()
    parts = [table(headline.headers(comparison), headline.headline_rows(comparison), chosen=chosen)]
    parts += [table(*by_segment, chosen=chosen) for by_segment in headline.segment_tables(comparison)]
    parts += [note(f"{earned(comparison)} {verdict(comparison)}"), note(headline.REGRET)]
    if find_spec("matplotlib") is not None:
        parts.append(Part(svg=for_notebook(figures.to_svg(regret_figure(comparison)))))
    return block(title, *parts)


def _table(
    page: Page, heads: Sequence[str], rows: Sequence[Sequence[Cell]], caption: str, best: bool
) -> None:
    """Add a table of numbers with a row for each policy, the first one set off if it is the `best`."""
    page.table(heads, rows, caption, "l" + "r" * (len(heads) - 1), (0,) if best and len(rows) > 1 else ())


def _result(page: Page, comparison: Comparison) -> None:
    page.section("Result")
    page.callout(f"{earned(comparison)} {verdict(comparison)}")
    page.text(f"{headline.EARNINGS} {headline.REGRET}")
    heads, rows = headline.headers(comparison), headline.headline_rows(comparison)
    regret = len(heads) - len(headline.REGRET_HEADERS)
    said = (
        "What is earned over all steps; how much more that is than always pulling one arm, in units and in "
        "per cent, with the half-width of its paired 95 % interval; regret."
    )
    _table(page, heads[: regret + 1], [row[: regret + 1] for row in rows], said, best=True)
    said = (
        "Regret over all steps, relative to the least, and its quantiles over instances (to 1 %); share of "
        "pulls that went to a best arm; time for one decision."
    )
    _table(page, ["policy", *heads[regret:]], [[row[0], *row[regret:]] for row in rows], said, best=True)
    for by_segment in headline.segment_tables(comparison):
        page.section("By segment")
        page.text(headline.customers_by_segment(comparison))
        said = (
            "What the customers of each segment pay in expectation, and how much less that is than with the "
            "segment's best arm, with half-widths of 95 % intervals."
        )
        _table(page, *by_segment, said, best=True)


def _regret(page: Page, comparison: Comparison, svgs: dict[str, list[str]]) -> None:
    page.section("Regret over time")
    behind = far_behind(comparison)
    captions = {
        "regret": "Mean cumulative regret by step; bands are 95 % intervals.",
        "regret-closer": f"The same without {headline.labels_of(comparison, behind)}." if behind else "",
        "regret-log": "The same on a logarithmic time axis, where logarithmic growth is a straight line.",
    }
    for name, caption in captions.items():
        if name in svgs:
            page.figure(svgs[name], caption, name)
    digits, ranked = shown_digits(comparison), ranking(comparison)
    steps = np.unique(np.rint(comparison.horizon * np.array([0.1, 0.25, 0.5, 0.75, 1])).astype(int).clip(1))
    rows = []
    for name in ranked:
        result = comparison[name]
        cells = (with_half(result.mean[t - 1], result.ci95[t - 1], digits) for t in steps)
        rows.append([comparison.label(name), *cells])
    heads = ["policy", *(f"step {t:,}" for t in steps)]
    _table(page, heads, rows, "Mean cumulative regret on the way.", best=False)
    page.section("Final regret")
    caption = f"Mean regret after {comparison.horizon:,} steps with 95 % intervals, the least on top."
    paired = "paired-differences"
    if paired not in svgs:
        page.figure(svgs["final-regret"], caption, "final-regret")
        return
    caption += (
        f" The intervals are those of each policy on its own; [paired differences](#{paired}) are sharper."
    )
    page.figure(svgs["final-regret"], caption, "final-regret")
    page.section("Paired differences", anchor=paired)
    page.text(
        "All policies meet the same instances, and the k-th pull of an arm has the same outcome under each "
        "of them, so that much of the chance cancels in a difference. " + verdict(comparison)
    )
    page.figure(
        svgs[paired],
        f"Final regret minus that of `{comparison.label(ranked[0])}`, instance by instance, with 95 % "
        "intervals. Hollow: the interval holds zero. Each interval stands for itself; none is widened for "
        "their number.",
        paired,
    )


def _pulls(page: Page, comparison: Comparison, svgs: dict[str, list[str]]) -> None:
    page.section("Which arms are pulled")
    caption = "Share of instances that pull each arm, by step; one panel a policy."
    page.figure(svgs["pull-shares"], caption, "pull-shares")
    arms = comparison.problem.names
    if len(arms) <= _MOST_ARMS_IN_TABLES:
        rows = []
        for name in ranking(comparison):
            shares = comparison[name].pull_share.mean(axis=0)
            rows.append([comparison.label(name), *(f"{100 * share:.1f} %" for share in shares)])
        _table(page, ["policy", *arms], rows, "Share of all pulls.", best=False)


def _settings(page: Page, comparison: Comparison, command: str) -> None:
    problem = comparison.problem
    objective = (
        f"discount {problem.discount:g}" if problem.horizon is None else f"horizon {problem.horizon:,}"
    )
    page.section("Settings")
    page.settings(
        {
            "policies": ", ".join(f"`{name}`" for name in comparison.names),
            **{f"`{name}`": said for name, said in comparison.legend().items()},
            "instances": f"{comparison.instances:,}, the same for every policy",
            "means": comparison.source,
            "steps": f"{comparison.horizon:,}"
            + ("" if problem.horizon in (None, comparison.horizon) else f" of {problem.horizon:,}"),
            **({"outcomes": comparison.delays} if comparison.delays else {}),
            "objective": objective,
            "assumed": problem.structure.describe(),
            "seed": f"{comparison.seed}; the same numbers on any number of workers",
            "run time": duration(comparison.seconds),
            "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        }
    )
    arms = zip(problem.names, problem.rewards.tolist(), problem.prior.tolist(), strict=True)
    page.table(
        ["arm", "reward", "prior α", "prior β"],
        [[name, reward, *counts] for name, reward, counts in arms],
        "Arms: what each pays on success, and its Beta prior.",
        align="lrrr",
    )
    page.text("This command repeats the run:")
    page.code(command)


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
