"""An exact evaluation as a table: what is earned, gains over single arms, regret, and the optimum's."""

from __future__ import annotations

import math

from elsv._base.numbers import whole
from elsv.exact.evaluate import OPTIMAL, Evaluation
from elsv.report.headline import REGRET as REGRET
from elsv.report.headline import gain_cells, gain_heads, gains_in_words, number

_PERCENT_DIGITS = 3
_LATEX_PERCENT_DIGITS = 2


def evaluation_table(evaluation: Evaluation) -> tuple[list[str], list[list[str]]]:
    """Return the heads and one row for each policy, then those of the single arms that are not among them.

    Earnings and regret have nine decimals where rewards are up to 1: they are exact.
    """
    digits = _digits(evaluation, 9)
    return _table(evaluation, digits, max(0, digits - _PERCENT_DIGITS), _PERCENT_DIGITS)


def latex_rows(evaluation: Evaluation, digits: int | None) -> tuple[list[str], list[list[str]]]:
    """Return the same with as many decimals as are read: `digits`, or three where rewards are up to 1."""
    shown = _digits(evaluation, 3) if digits is None else whole("digits", digits, 0)
    return _table(evaluation, shown, shown, _LATEX_PERCENT_DIGITS)


def _table(
    evaluation: Evaluation, digits: int, gain_digits: int, percent_digits: int
) -> tuple[list[str], list[list[str]]]:
    shown = {str(row) for row in evaluation}
    singles = [row for row in map(evaluation.single, evaluation.rivals) if str(row) not in shown]
    rows = []
    for row in [*evaluation, *singles]:
        cells = [str(row), number(row.value, digits)]
        for arm in evaluation.rivals:
            cells += gain_cells(evaluation.gain_over(row, arm), gain_digits, percent_digits)
        gap = None if row.name == OPTIMAL else evaluation.above_optimum(row)
        rows.append(
            [*cells, number(row.regret, digits), "" if gap is None else f"{gap:,.{percent_digits}f} %"]
        )
    gains = gain_heads(evaluation.problem, evaluation.rivals)
    return ["policy", "earns", *gains, "regret", "above optimum"], rows


def segment_tables(evaluation: Evaluation) -> list[tuple[list[str], list[list[str]]]]:
    """Return heads and rows of what every policy earns from each segment; no table without segments."""
    names, digits = evaluation.problem.segments.names, _digits(evaluation, 9)
    heads = ["policy", *(f"{name}{word}" for name in names for word in (" earns", " regret"))]
    rows = [
        [str(row), *(number(x, digits) for part in row.by_segment for x in (part.value, part.regret))]
        for row in evaluation
    ]
    return [(heads, rows)] if names else []


def earned(evaluation: Evaluation) -> str:
    """Say what the best of the policies earns, the optimum aside, and how much more than one arm."""
    rows = [row for row in evaluation if row.name != OPTIMAL] or list(evaluation)
    best, digits = max(rows, key=lambda row: row.value), max(0, _digits(evaluation, 9) - 6)
    gains = [evaluation.gain_over(best, arm) for arm in evaluation.rivals]
    name = f"`{best}` earns" + (" the most," if len(rows) > 1 else "")
    sums, steps = number(best.value, digits), f"{evaluation.problem.steps:,} steps, exactly"
    return f"{name} {sums} in {steps}: {gains_in_words(gains, digits, _PERCENT_DIGITS)}."


def _digits(evaluation: Evaluation, decimals: int) -> int:
    """Return so many decimals for rewards up to 1, fewer for larger ones, more for smaller ones."""
    return max(0, decimals - math.ceil(math.log10(evaluation.problem.scale)))
