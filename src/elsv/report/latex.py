"""Comparisons and evaluations as LaTeX: chosen columns, the best in bold, several problems in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from elsv._base.export import latex_table
from elsv.errors import InvalidInputError, unknown_name
from elsv.exact.evaluate import OPTIMAL, Evaluation
from elsv.report.evaluation import latex_rows
from elsv.report.headline import headers, headline_rows
from elsv.simulation.compare import Comparison

Result = Comparison | Evaluation
_GAINS = ("gain", "gain_percent")
_COMPARED = ("regret", "relative", "median", "quantiles", "best_arm", "time")
_BEST: dict[str, Callable[[Iterable[float]], float]] = {
    **dict.fromkeys(("earns", "gain", "gain_percent", "best_arm"), max),
    **dict.fromkeys(("regret", "relative", "median", "above_optimum"), min),
}


def to_latex(
    results: Result | Mapping[str, Result],
    *,
    columns: Sequence[str] | None = None,
    bold_best: bool = False,
    digits: int | None = None,
    caption: str | None = None,
    label: str | None = None,
    booktabs: bool = True,
) -> str:
    r"""Return a table of policies as LaTeX, of one result or of several side by side.

    Parameters
    ----------
    results
        What `compare` or `evaluate` returned, or several of them by the title that stands above their
        columns. A policy that one of them does not have gets empty cells there.
    columns
        Of a comparison ``earns``, ``gain``, ``gain_percent``, ``regret``, ``relative``, ``median``,
        ``quantiles``, ``best_arm`` and ``time``, of an evaluation ``earns``, ``gain``, ``gain_percent``,
        ``regret`` and ``above_optimum``; default: all but ``time``, which is that of one machine, and of
        several results ``regret`` alone.
    bold_best
        Set the best figure of every column in bold, by what is shown: equal figures are all in bold. The
        Bayes optimum does not compete.
    digits
        Decimals of earnings, gains and regret; default: by the narrowest interval, and of exact figures three
        for rewards up to 1.
    caption, label
        Put the table into a ``table`` environment with these.
    booktabs
        Rules of the package ``booktabs``; else those of LaTeX itself.

    Examples
    --------
    >>> import elsv
    >>> shop = elsv.Problem([0.5, 1.0], "decreasing", horizon=9)
    >>> found = elsv.evaluate(shop, ["optimal", "greedy", "thompson"])
    >>> print(found.to_latex(columns=["regret"], bold_best=True))
    \begin{tabular}{lr}
    \toprule
    policy & regret \\
    \midrule
    optimal & 0.372 \\
    greedy & 0.750 \\
    thompson & \textbf{0.554} \\
    always arm 1 & 0.750 \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    """
    several = results if isinstance(results, Mapping) else {"": results}
    if not several:
        raise InvalidInputError("results must have at least one comparison or evaluation, got none")
    if isinstance(results, Mapping) and columns is None:
        columns = ["regret"]
    parts = [_part(result, columns, bold_best, digits) for result in several.values()]
    policies = list(dict.fromkeys(policy for _, cells in parts for policy in cells))
    heads, rows, bold, groups = ["policy"], [[policy] for policy in policies], set(), []
    for title, (shown, cells) in zip(several, parts, strict=True):
        groups += [(title, len(shown))] if isinstance(results, Mapping) else []
        for i, policy in enumerate(policies):
            for k, (text, is_best) in enumerate(cells.get(policy, [("", False)] * len(shown))):
                rows[i].append(text)
                bold |= {(i, len(heads) + k)} if is_best else set()
        heads += shown
    return latex_table(heads, rows, bold=bold, groups=groups, caption=caption, label=label, booktabs=booktabs)


def _part(
    result: Result, columns: Sequence[str] | None, bold_best: bool, digits: int | None
) -> tuple[list[str], dict[str, list[tuple[str, bool]]]]:
    """Return the heads of the columns, and by policy its cells and whether each is the best."""
    last: tuple[str, ...]
    if isinstance(result, Comparison):
        heads, rows, last = headers(result), headline_rows(result, digits), _COMPARED
    elif isinstance(result, Evaluation):
        (heads, rows), last = latex_rows(result, digits), ("regret", "above_optimum")
    else:
        raise InvalidInputError(
            f"results must be what compare or evaluate returned, got {type(result).__name__}; several of "
            "them are given by their titles: {'prices': …, 'doses': …}"
        )
    keys = ["policy", "earns", *_GAINS * len(result.rivals), *last]
    for key in columns or ():
        if key not in keys[1:]:
            raise unknown_name("column", key, dict.fromkeys(keys[1:]))
    if columns is None:
        places = [k for k in range(1, len(keys)) if keys[k] != "time"]
    else:
        places = [k for key in columns for k, known in enumerate(keys) if known == key]
    cells: dict[str, list[tuple[str, bool]]] = {row[0]: [] for row in rows}
    for k in places:
        figures = {row[0]: _figure(row[k]) for row in rows if row[0] != OPTIMAL}
        known, best = [figure for figure in figures.values() if figure is not None], _BEST.get(keys[k])
        goal = best(known) if bold_best and best and known else None
        for row in rows:
            cells[row[0]].append((row[k], goal is not None and figures.get(row[0]) == goal))
    return [heads[k] for k in places], cells


def _figure(cell: str) -> float | None:
    """Return the first number of a cell, None if there is none."""
    try:
        return float(cell.split()[0].replace("−", "-").replace(",", ""))
    except (IndexError, ValueError):
        return None
