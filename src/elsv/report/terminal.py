"""Comparisons, evaluations and solutions as text: a table, what it says in sentences, what its words mean."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from elsv.policies.meanings import legend
from elsv.report.evaluation import earned as earned_exactly
from elsv.report.evaluation import evaluation_table
from elsv.report.evaluation import segment_tables as segments_evaluated
from elsv.report.headline import (
    REGRET_HEADERS,
    customers_by_segment,
    earned,
    headers,
    headline_rows,
    verdict,
)
from elsv.report.headline import segment_tables as segments_compared
from elsv.report.money import REGRET

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
    from rich import box
    from rich.table import Table

    heads = [_broken(header) for header in headers(comparison)]
    rows = headline_rows(comparison)
    shown = _columns_that_fit([heads, *rows], len(heads) - len(REGRET_HEADERS), console.width)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for k in shown:
        table.add_column(heads[k], justify="right" if k else "left", no_wrap=bool(k), overflow="fold")
    for place, row in enumerate(rows):
        best = place == 0 and len(rows) > 1
        table.add_row(*(row[k] for k in shown), style="bold" if best else None)
    console.print(table)
    for own_heads, own_rows in segments_compared(comparison):
        by_segment = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        for k, head in enumerate(own_heads):
            by_segment.add_column(_broken(head), justify="right" if k else "left", overflow="fold")
        for row in own_rows:
            by_segment.add_row(*row)
        console.print(by_segment)
        console.print(customers_by_segment(comparison), soft_wrap=not console.is_terminal)
    policies = (f"{name}: {said}." for name, said in comparison.legend().items())
    for line in (earned(comparison), verdict(comparison), REGRET, *policies):
        console.print(line.replace("`", ""), soft_wrap=not console.is_terminal)


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
    said = aligned(*evaluation_table(found))
    for by_segment in segments_evaluated(found):
        said += ["", *aligned(*by_segment)]
    policies = legend({row.name: row.name for row in found})
    said += ["", earned_exactly(found).replace("`", ""), REGRET]
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
        f"regret  {found.regret:.9f}  (so much more earns one who knows the best arm and always pulls it)",
        f"first   {found.in_words()}",
    ]
    if found.rewards is not None:
        horizon = len(found.rewards)
        chosen = sorted({1, *(round(k * horizon / 5) for k in range(1, 6))} - {0})
        lines.append("reward  " + "  ".join(f"t={t}: {found.rewards[t - 1]:.4f}" for t in chosen))
    return "\n".join([*lines, f"states  {found.states:,} in {took}"])
