"""A comparison as figures and as one page."""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from typing import Any

import numpy as np

from elsv._base.html import Part, block, note, table
from elsv._base.numbers import duration
from elsv.report import figures
from elsv.report.headline import (
    REGRET_HEADERS,
    customers_by_segment,
    earned,
    far_behind,
    headers,
    headline_rows,
    listed,
    ranking,
    segment_tables,
    shown_digits,
    verdict,
)
from elsv.report.money import EARNINGS, REGRET, with_half
from elsv.report.page import Page
from elsv.report.style import for_notebook
from elsv.simulation.compare import Comparison, versions

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
        drawn["paired-differences"] = _differences_figure(comparison)
    drawn["pull-shares"] = figures.pull_shares(
        {comparison.label(name): comparison[name].pull_share for name in ranking(comparison)},
        comparison.problem.names,
    )
    return drawn


def _differences_figure(comparison: Comparison) -> Any:
    best, *others = ranking(comparison)
    apart = {comparison.label(name): comparison.difference(name, best) for name in others}
    return figures.paired_differences(
        {name: difference for name, (difference, _) in apart.items()},
        {name: half for name, (_, half) in apart.items()},
        comparison.label(best),
        digits=shown_digits(comparison),
        style=_styles(comparison),
    )


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
    for part in (_result, _segments, _over_time, _final, _paired, _pulls):
        part(page, comparison, svgs)
    _settings(page, comparison, command)
    return page


def notebook_html(comparison: Comparison) -> str:
    """Return the headline table and, with the extra ``plot``, the regret curves, for a notebook."""
    title = f"Comparison: {comparison.instances:,} instances of {comparison.horizon:,} steps"
    chosen = (0,) if len(comparison.names) > 1 else ()
    said = f"{earned(comparison)} {verdict(comparison)}"
    parts = [table(headers(comparison), headline_rows(comparison), chosen=chosen), note(said), note(REGRET)]
    parts[1:1] = [table(*by_segment, chosen=chosen) for by_segment in segment_tables(comparison)]
    if find_spec("matplotlib") is not None:
        parts.append(Part(svg=for_notebook(figures.to_svg(regret_figure(comparison)))))
    return block(title, *parts)


def _result(page: Page, comparison: Comparison, svgs: dict[str, list[str]]) -> None:
    page.section("Result")
    page.callout(f"{earned(comparison)} {verdict(comparison)}")
    page.text(f"{EARNINGS} {REGRET}")
    heads, rows = headers(comparison), headline_rows(comparison)
    regret = len(heads) - len(REGRET_HEADERS)
    best = (0,) if len(comparison.names) > 1 else ()
    page.table(
        heads[: regret + 1],
        [row[: regret + 1] for row in rows],
        "What is earned over all steps; how much more that is than always pulling one arm, in units and in "
        "per cent, with the half-width of its paired 95 % interval; regret.",
        align="l" + "r" * regret,
        highlight=best,
    )
    page.table(
        ["policy", *heads[regret:]],
        [[row[0], *row[regret:]] for row in rows],
        "Regret over all steps, relative to the least, and its quantiles over instances (to 1 %); share of "
        "pulls that went to a best arm; time for one decision.",
        align="l" + "r" * len(REGRET_HEADERS),
        highlight=best,
    )


def _segments(page: Page, comparison: Comparison, svgs: dict[str, list[str]]) -> None:
    for heads, rows in segment_tables(comparison):
        page.section("By segment")
        page.text(customers_by_segment(comparison))
        page.table(
            heads,
            rows,
            "What the customers of each segment pay in expectation, and how much less that is than with the "
            "segment's best arm, with half-widths of 95 % intervals.",
            align="l" + "r" * (len(heads) - 1),
            highlight=(0,) if len(rows) > 1 else (),
        )


def _over_time(page: Page, comparison: Comparison, svgs: dict[str, list[str]]) -> None:
    page.section("Regret over time")
    page.figure(svgs["regret"], "Mean cumulative regret by step; bands are 95 % intervals.", "regret")
    if "regret-closer" in svgs:
        without = listed(map(comparison.label, far_behind(comparison)))
        page.figure(svgs["regret-closer"], f"The same without {without}.", "regret-closer")
    if "regret-log" in svgs:
        page.figure(
            svgs["regret-log"],
            "The same on a logarithmic time axis, where logarithmic growth is a straight line.",
            "regret-log",
        )
    digits = shown_digits(comparison)
    steps = np.unique(np.rint(comparison.horizon * np.array([0.1, 0.25, 0.5, 0.75, 1])).astype(int).clip(1))
    rows = []
    for name in ranking(comparison):
        result = comparison[name]
        rows.append(
            [
                comparison.label(name),
                *(with_half(result.mean[t - 1], result.ci95[t - 1], digits) for t in steps),
            ]
        )
    page.table(
        ["policy", *(f"step {t:,}" for t in steps)],
        rows,
        "Mean cumulative regret on the way.",
        align="l" + "r" * len(steps),
    )


def _final(page: Page, comparison: Comparison, svgs: dict[str, list[str]]) -> None:
    page.section("Final regret")
    caption = f"Mean regret after {comparison.horizon:,} steps with 95 % intervals, the least on top."
    if "paired-differences" in svgs:
        caption += (
            " The intervals are those of each policy on its own; "
            "[paired differences](#paired-differences) are sharper."
        )
    page.figure(svgs["final-regret"], caption, "final-regret")


def _paired(page: Page, comparison: Comparison, svgs: dict[str, list[str]]) -> None:
    if "paired-differences" not in svgs:
        return
    best = comparison.label(ranking(comparison)[0])
    page.section("Paired differences", anchor="paired-differences")
    page.text(
        "All policies meet the same instances, and the k-th pull of an arm has the same outcome under each "
        "of them, so that much of the chance cancels in a difference. " + verdict(comparison)
    )
    page.figure(
        svgs["paired-differences"],
        f"Final regret minus that of `{best}`, instance by instance, with 95 % intervals. Hollow: the "
        "interval holds zero. Each interval stands for itself; none is widened for their number.",
        "paired-differences",
    )


def _pulls(page: Page, comparison: Comparison, svgs: dict[str, list[str]]) -> None:
    page.section("Which arms are pulled")
    page.figure(
        svgs["pull-shares"],
        "Share of instances that pull each arm, by step; one panel a policy.",
        "pull-shares",
    )
    arms = comparison.problem.names
    if len(arms) > _MOST_ARMS_IN_TABLES:
        return
    rows = []
    for name in ranking(comparison):
        shares = comparison[name].pull_share.mean(axis=0)
        rows.append([comparison.label(name), *(f"{100 * share:.1f} %" for share in shares)])
    page.table(["policy", *arms], rows, "Share of all pulls.", align="l" + "r" * len(arms))


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
