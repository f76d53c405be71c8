"""Comparisons and evaluations on the terminal: a table, what it says in sentences, what its words mean."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from elsv._words import REGRET
from elsv.cli.console import print_json

if TYPE_CHECKING:
    from elsv.exact import Evaluation
    from elsv.simulation.compare import Comparison


def show_comparison(comparison: Comparison, as_json: bool) -> None:
    """Print the headline table, the best policy in bold, or the JSON object."""
    from elsv.report.headline import (
        REGRET_HEADERS,
        customers_by_segment,
        earned,
        headers,
        headline_rows,
        segment_table,
        verdict,
    )

    if as_json:
        print_json(comparison.to_dict())
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 120, markup=False, emoji=False, highlight=False)
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
    if comparison.problem.segments is not None:
        by_segment = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        own_heads, own_rows = segment_table(comparison)
        for k, head in enumerate(own_heads):
            by_segment.add_column(_broken(head), justify="right" if k else "left", overflow="fold")
        for row in own_rows:
            by_segment.add_row(*row)
        console.print(by_segment)
        console.print(customers_by_segment(comparison), soft_wrap=not sys.stdout.isatty())
    policies = (f"{name}: {said}." for name, said in comparison.legend().items())
    for line in (earned(comparison), verdict(comparison), REGRET, *policies):
        console.print(line.replace("`", ""), soft_wrap=not sys.stdout.isatty())


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


def show_evaluation(found: Evaluation) -> None:
    """Print the table, what it says of the best policy, and what its words mean."""
    from elsv.policies.meanings import legend
    from elsv.report.evaluation import earned, evaluation_table, segment_table

    _print_table(*evaluation_table(found))
    print()
    if found.problem.segments is not None:
        _print_table(*segment_table(found))
        print()
    print(earned(found).replace("`", ""))
    print(REGRET)
    for name, said in legend({row.name: row.name for row in found}).items():
        print(f"{name}: {said}.")


def _print_table(heads: list[str], rows: list[list[str]]) -> None:
    """Print heads and rows, the first column on the left, all others on the right."""
    heads = [head.replace("over always ", "over always\n") for head in heads]
    deep = max(head.count("\n") for head in heads)
    lines = [("\n" * (deep - head.count("\n")) + head).split("\n") for head in heads]
    table = [*map(list, zip(*lines, strict=True)), *rows]
    widths = [max(len(row[k]) for row in table) for k in range(len(heads))]
    for row in table:
        cells = (f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
        print("  ".join([f"{row[0]:<{widths[0]}}", *cells]).rstrip())
