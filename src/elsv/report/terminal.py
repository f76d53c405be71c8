"""Comparisons, evaluations and solutions as text: a table, what it says in sentences, what its words mean."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from elsv.policies.registry import legend
from elsv.report import evaluation, headline

if TYPE_CHECKING:
    from rich.console import Console

    from elsv.exact import Evaluation, Solution
    from elsv.simulation.compare import Comparison

WIDTH = 120


def comparison_text(comparison: Comparison) -> str:
    """Return what `print_comparison` prints, without colours."""
    from rich.console import Console

    said = io.StringIO()
    console = Console(file=said, width=WIDTH, markup=False, emoji=False, highlight=False, color_system=None)
    print_comparison(comparison, console)
    return "\n".join(line.rstrip() for line in said.getvalue().strip("\n").split("\n"))


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print the headline table, the best policy in bold, and what it says."""
    heads = [_broken(header) for header in headline.headers(comparison)]
    rows = headline.headline_rows(comparison)
    shown = _columns_that_fit([heads, *rows], len(heads) - len(headline.REGRET_HEADERS), console.width)
    bold = len(rows) > 1
    _print_table(console, [heads[k] for k in shown], [[row[k] for k in shown] for row in rows], bold, True)
    for segments, each in headline.segment_tables(comparison):
        _print_table(console, [_broken(head) for head in segments], each)
        console.print(headline.customers_by_segment(comparison), soft_wrap=not console.is_terminal)
    policies = (f"{name}: {said}." for name, said in comparison.legend().items())
    for line in (headline.earned(comparison), headline.verdict(comparison), headline.REGRET, *policies):
        console.print(line.replace("`", ""), soft_wrap=not console.is_terminal)


def _print_table(
    console: Console, heads: list[str], rows: list[list[str]], bold: bool = False, whole: bool = False
) -> None:
    """Print a table, the first row in `bold`; cells in numbers' columns stay `whole` instead of wrapping."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for k, head in enumerate(heads):
        table.add_column(head, justify="right" if k else "left", no_wrap=whole and k > 0, overflow="fold")
    for place, row in enumerate(rows):
        table.add_row(*row, style="bold" if bold and place == 0 else None)
    console.print(table)


def _broken(header: str) -> str:
    """Return the head of a column in short lines."""
    for words, lines in (("over always ", "over always\n"), (" in %", "\nin %"), (" / ", "\n/ ")):
        header = header.replace(words, lines)
    return header if header.count("\n") > 1 else header.replace(" ± ", "\n± ")


def _columns_that_fit(rows: list[list[str]], regret: int, width: int) -> list[int]:
    """Leave columns out where the terminal is narrow: quantiles, median and ratio first, gains last."""
    needed = [max(len(line) for row in rows for line in row[k].split("\n")) + 3 for k in range(len(rows[0]))]
    needed[0] = min(needed[0], 24)
    shown = list(range(len(needed)))
    of_regret = (regret + 3, regret + 2, regret + 1, regret + 5, regret + 4)
    for k in (*of_regret, *range(2, regret, 2)):
        if sum(needed[j] for j in shown) > width:
            shown.remove(k)
    return shown


def evaluation_text(found: Evaluation) -> str:
    """Return the table, what it says of the best policy, and what its words mean."""
    said = aligned(*evaluation.evaluation_table(found))
    for by_segment in evaluation.segment_tables(found):
        said += ["", *aligned(*by_segment)]
    policies = legend({row.name: row.name for row in found})
    said += ["", evaluation.earned(found).replace("`", ""), headline.REGRET]
    return "\n".join([*said, *(f"{name}: {words}." for name, words in policies.items())])


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return heads and rows as lines, the first column on the left, all others on the right."""
    heads = [head.replace("over always ", "over always\n") for head in heads]
    deep = max(head.count("\n") for head in heads)
    lines = [("\n" * (deep - head.count("\n")) + head).split("\n") for head in heads]
    table = [*map(list, zip(*lines, strict=True)), *rows]
    widths = [max(len(row[k]) for row in table) for k in range(len(heads))]
    said = []
    for row in table:
        cells = (f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        said.append("  ".join([f"{row[0]:<{widths[0]}}", *cells]).rstrip())
    return said


def solution_text(found: Solution, took: str) -> str:
    """Return value, regret, the first arms, rewards on the way and the states, in so much time."""
    lines = [
        f"value   {found.value:.9f}",
        f"regret  {found.regret:.9f}  (what knowing the best arm and always pulling it would add)",
        f"first   {found.in_words()}",
    ]
    if found.rewards is not None:
        horizon = len(found.rewards)
        chosen = sorted({1, *(round(k * horizon / 5) for k in range(1, 6))} - {0})
        lines.append("reward  " + "  ".join(f"t={t}: {found.rewards[t - 1]:.4f}" for t in chosen))
    return "\n".join([*lines, f"states  {found.states:,} in {took}"])
