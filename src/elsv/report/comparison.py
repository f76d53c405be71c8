"""A comparison as figures, as one page to send to a colleague, and as files; a rehearsal as such a page."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from elsv._base.export import write_columns
from elsv._base.files import Outputs, write_text
from elsv._base.html import block, note, table
from elsv._base.numbers import duration, finite
from elsv.errors import MissingExtraError
from elsv.policies.single import choice_name
from elsv.report import figures, headline
from elsv.report.headline import earned, far_behind, ranking, shown_digits, verdict, with_half
from elsv.report.page import Page, command_line, words
from elsv.report.style import Style, for_notebook, require_matplotlib
from elsv.simulation.compare import Comparison, versions
from elsv.simulation.precision import HEADS
from elsv.simulation.rehearsal import Rehearsal
from elsv.simulation.store import is_chunk

FIGURES = ("regret", "regret-closer", "regret-log", "final-regret", "paired-differences", "pull-shares")
_LOG_X_FROM = 100  # steps; a logarithmic axis says nothing of fewer
_MOST_ARMS_IN_TABLES = 8
_MOST_TICKS = 6
_say = partial(words, "elsv.report", "comparison")
_rehearsed = partial(words, "elsv.report", "rehearsal")


def regret_of(comparison: Comparison, log_x: bool = False, leave_out: Collection[str] = ()) -> partial[Any]:
    """Return what draws the regret curves of a comparison."""
    results = {comparison.label(name): comparison[name] for name in comparison.names if name not in leave_out}
    means = {label: result.mean for label, result in results.items()}
    halves = {label: result.ci95 for label, result in results.items()}
    return partial(figures.regret_curves, means, halves, log_x=log_x, style=_styles(comparison))


def _styles(comparison: Comparison) -> dict[str, Style]:
    """Return the style of every policy by its label."""
    return {comparison.label(name): style for name, style in figures.styles(comparison.names).items()}


def draw(comparison: Comparison) -> dict[str, Any]:
    """Return every figure of a comparison by its file name, out of `FIGURES`."""
    return {name: picture() for name, picture in pictures(comparison).items()}


def pictures(comparison: Comparison) -> dict[str, partial[Any]]:
    """Return what draws every figure of a comparison, by its file name."""
    (best, *others), behind, label = ranking(comparison), far_behind(comparison), comparison.label
    look: dict[str, Any] = {"digits": shown_digits(comparison), "style": _styles(comparison)}
    found = {"regret": regret_of(comparison)}
    if behind:
        found["regret-closer"] = regret_of(comparison, leave_out=behind)
    if comparison.horizon >= _LOG_X_FROM:
        found["regret-log"] = regret_of(comparison, log_x=True, leave_out=behind)
    final, halves = ({label(name): comparison[name].final[k] for name in comparison.names} for k in (0, 1))
    found["final-regret"] = partial(
        figures.dot_plot,
        final,
        halves,
        x_label=f"cumulative regret after {comparison.horizon:,} steps",
        log_x=0 < 10 * min(final.values()) < max(final.values()),
        **look,
    )
    if others:
        apart, halves = (
            {label(name): comparison.difference(name, best)[k] for name in others} for k in (0, 1)
        )
        found["paired-differences"] = partial(figures.paired_differences, apart, halves, label(best), **look)
    shares = {label(name): comparison[name].pull_share for name in (best, *others)}
    found["pull-shares"] = partial(figures.pull_shares, shares, comparison.problem.names)
    return found


def comparison_page(comparison: Comparison, svgs: dict[str, list[str]], command: str) -> Page:
    """Return the page, with the figures of `draw` as SVG."""
    arms, names = comparison.problem.arms, comparison.names
    what = f"{len(names)} policies" if len(names) > 1 else f"`{comparison.label(names[0])}`"
    page = Page(
        f"Comparison of {what}",
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
        parts.append(for_notebook(figures.to_svg(regret_of(comparison)())))
    return block(title, *parts)


def _result(page: Page, comparison: Comparison) -> None:
    page.section("Result")
    page.callout(f"{earned(comparison)} {verdict(comparison)}")
    page.text(f"{headline.EARNINGS} {headline.REGRET}")
    heads, rows = headline.headers(comparison), headline.headline_rows(comparison)
    regret = len(heads) - len(headline.REGRET_HEADERS)
    best = (0,) if len(rows) > 1 else ()
    page.table(heads[: regret + 1], [row[: regret + 1] for row in rows], _say("earnings"), highlight=best)
    apart = [[row[0], *row[regret:]] for row in rows]
    page.table(["policy", *heads[regret:]], apart, _say("regrets"), highlight=best)
    for by_segment in headline.segment_tables(comparison):
        page.section("By segment")
        page.text(headline.customers_by_segment(comparison))
        page.table(*by_segment, _say("segments"), highlight=best)


def _regret(page: Page, comparison: Comparison, svgs: dict[str, list[str]]) -> None:
    def figure(name: str, **numbers: Any) -> None:
        if name in svgs:
            page.figure(svgs[name], _say(name, **numbers), name)

    digits, ranked = shown_digits(comparison), ranking(comparison)
    page.section("Regret over time")
    figure("regret")
    if behind := far_behind(comparison):
        figure("regret-closer", behind=headline.labels_of(comparison, behind))
    figure("regret-log")
    steps = np.unique(np.rint(comparison.horizon * np.array([0.1, 0.25, 0.5, 0.75, 1])).astype(int).clip(1))
    rows = []
    for name in ranked:
        means, halves = comparison[name].mean, comparison[name].ci95
        cells = (with_half(means[t - 1], halves[t - 1], digits) for t in steps)
        rows.append([comparison.label(name), *cells])
    page.table(["policy", *(f"step {t:,}" for t in steps)], rows, _say("on-the-way"))
    page.section("Final regret")
    final = _say("final-regret", steps=comparison.horizon)
    if "paired-differences" not in svgs:
        page.figure(svgs["final-regret"], final, "final-regret")
        return
    page.figure(svgs["final-regret"], _say("final-regret-alone", final=final), "final-regret")
    page.section("Paired differences", anchor="paired-differences")
    page.text(_say("paired", verdict=verdict(comparison)))
    figure("paired-differences", best=comparison.label(ranked[0]))


def _pulls(page: Page, comparison: Comparison, svgs: dict[str, list[str]]) -> None:
    page.section("Which arms are pulled")
    page.figure(svgs["pull-shares"], _say("pull-shares"), "pull-shares")
    arms = comparison.problem.names
    if len(arms) <= _MOST_ARMS_IN_TABLES:
        rows = []
        for name in ranking(comparison):
            shares = comparison[name].pull_share.mean(axis=0)
            rows.append([comparison.label(name), *(f"{100 * share:.1f} %" for share in shares)])
        page.table(["policy", *arms], rows, _say("pulls"))


def _settings(page: Page, comparison: Comparison, command: str) -> None:
    problem, steps = comparison.problem, f"{comparison.horizon:,}"
    goal = f"horizon {problem.horizon:,}" if problem.horizon else f"discount {problem.discount:g}"
    if problem.horizon not in (None, comparison.horizon):
        steps += f" of {problem.horizon:,}"
    page.section("Settings")
    page.settings(
        {
            "policies": ", ".join(f"`{name}`" for name in comparison.names),
            **{f"`{name}`": said for name, said in comparison.legend().items()},
            "instances": f"{comparison.instances:,}, the same for every policy",
            "means": comparison.source,
            "steps": steps,
            **({"outcomes": comparison.delays} if comparison.delays else {}),
            "objective": goal,
            "assumed": problem.structure.describe(),
            "seed": f"{comparison.seed}; the same numbers on any number of workers",
            "run time": duration(comparison.seconds),
            "versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        }
    )
    arms = zip(problem.names, problem.rewards.tolist(), *problem.prior.T.tolist(), strict=True)
    page.table(["arm", "reward", "prior α", "prior β"], list(arms), _say("arms"))
    page.text(_say("repeat"))
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


def repeat_command(comparison: Comparison) -> str:
    """Return the command line that gives the same numbers, for means from the prior."""
    until = None if comparison.horizon == comparison.problem.horizon else comparison.horizon
    against = None if comparison.against is None else choice_name(comparison.problem, comparison.against)
    options = {"instances": comparison.instances, "seed": comparison.seed, "until": until, "against": against}
    return command_line("compare", "problem.toml", comparison.names, options)


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


def gain_figure(rehearsal: Rehearsal) -> Any:
    """Return the gain over today's arm by customers; the band holds the middle 90 of 100 shops."""
    rows = {name: [row for row in rehearsal.outcomes if row.policy == name] for name in rehearsal.policies}
    sizes = np.array(rehearsal.sizes, dtype=np.float64)
    figure = figures.lines(
        sizes,
        {name: [row.gain for row in some] for name, some in rows.items()},
        x_label="customers",
        y_label=f"gain ({rehearsal.unit})" if rehearsal.unit else "gain",
        x_ticks=rehearsal.sizes if len(rehearsal.sizes) <= _MOST_TICKS else None,
        markers=True,
        reference=(0.0, f"always {rehearsal.today}"),
    )
    (panel,), first = figure.axes, rows[rehearsal.policies[0]]
    low, high = [row.low for row in first], [row.high for row in first]
    panel.fill_between(sizes, low, high, color=panel.lines[0].get_color(), alpha=0.15, linewidth=0)
    return figure


def rehearsal_page(rehearsal: Rehearsal, command: str = "") -> Page:
    """Return the page of a rehearsal."""
    require_matplotlib()
    name = rehearsal.today
    single = f"{rehearsal.policies[0]} a" if len(rehearsal.policies) == 1 else "A"
    drawn = "shops drawn from the prior" if rehearsal.truth is None else "times in one given shop"
    page = Page(
        "Is a campaign worth it?",
        f"{single}gainst always {name}; {rehearsal.instances:,} {drawn}; seed {rehearsal.seed}.",
    )
    page.section("Result")
    first, *rest = rehearsal.answers()
    page.callout(first)
    for sentence in rest:
        page.text(sentence)
    if rehearsal.truth is None:
        page.text(rehearsal.shops())
    if len(rehearsal.sizes) > 1:
        svg = figures.for_page(gain_figure(rehearsal))
        page.figure(svg, _rehearsed("gain", today=name), "gain")
    said = "; ".join(f"*{column}*: {meaning}" for column, meaning in rehearsal.legend().items())
    heads = ["customers", "policy", "earns", "gain", "per cent", "5–95 % of shops", "loses", "finds", "after"]
    rows, align = [heads, *(list(row.cells()) for row in rehearsal.outcomes)], "rlrrrrrrr"
    if len(rehearsal.policies) == 1:  # it is named above
        rows, align = [row[:1] + row[2:] for row in rows], align[:1] + align[2:]
    page.table(rows[0], rows[1:], f"{said}.", align)
    if rehearsal.truth is None:
        page.section("How precisely it will be known")
        page.table(HEADS, rehearsal.precision().cells(), _rehearsed("holdout"), "rrrr")
    page.settings(
        {
            "assumed": rehearsal.problem.structure.describe(),
            "outcomes": rehearsal.delays or "known before the next customer",
            "earnings": _rehearsed("earnings"),
        }
    )
    if command:
        page.text("This command repeats the rehearsal:")
        page.code(command)
    return page
