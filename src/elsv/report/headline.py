"""The headline of a comparison: which policy is best, by how much, and which cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from elsv._base.numbers import duration, whole
from elsv.policies.single import choice_name, rivals
from elsv.report.money import decimals, gain_cells, gain_sentence, number, with_half
from elsv.simulation.aggregate import QUANTILES
from elsv.simulation.compare import Comparison

REGRET_HEADERS = (
    "regret ± 95 %",
    "relative",
    "median",
    "5–95 %",
    "best arm",
    "time / decision",
)
LOW, MEDIAN, HIGH = (QUANTILES.index(level) for level in (0.05, 0.5, 0.95))


def ranking(comparison: Comparison) -> list[str]:
    """Return the policies from the least final regret to the largest."""
    return sorted(comparison.names, key=lambda name: (float(comparison[name].mean[-1]), name))


def headers(comparison: Comparison) -> list[str]:
    """Return the heads of the columns of `headline_rows`: what is earned, gains over single arms, regret."""
    names = [choice_name(comparison.problem, arm) for arm in _rivals(comparison)]
    gains = (f"over always {name}{percent}" for name in names for percent in ("", " in %"))
    return ["policy", "earns", *(f"{head} ± 95 %" for head in gains), *REGRET_HEADERS]


def headline_rows(comparison: Comparison, digits: int | None = None) -> list[list[str]]:
    """Return the cells under `headers`, the best policy first; so many decimals, or `shown_digits`."""
    names, arms = ranking(comparison), _rivals(comparison)
    digits = shown_digits(comparison) if digits is None else whole("digits", digits, 0)
    percent_digits = _percent_digits(comparison)
    least = float(comparison[names[0]].mean[-1])
    rows = []
    for name in names:
        result = comparison[name]
        regret, half, quantiles = float(result.mean[-1]), float(result.ci95[-1]), result.quantiles[-1]
        gains = (gain_cells(comparison.gain_over(name, arm), digits, percent_digits) for arm in arms)
        rows.append(
            [
                comparison.label(name),
                number(float(result.earnings[-1]), digits),
                *(cell for cells in gains for cell in cells),
                with_half(regret, half, digits),
                f"{regret / least:.2f} ×" if least > 0 else "–",
                number(quantiles[MEDIAN], digits),
                f"{number(quantiles[LOW], digits)} – {number(quantiles[HIGH], digits)}",
                f"{100 * result.best_share.mean():.1f} %",
                duration(1e-6 * result.microseconds),
            ]
        )
    return rows


def segment_tables(comparison: Comparison) -> list[tuple[list[str], list[list[str]]]]:
    """Return heads and rows of what every policy earns from each segment; no table without segments."""
    if not comparison.problem.segments.named:
        return []
    digits = shown_digits(comparison)
    heads = ["policy"]
    for part in comparison.totals.policies[0].by_segment:
        heads += [f"{part.segment} earns ± 95 %", f"{part.segment} regret ± 95 %"]
    rows = []
    for name in ranking(comparison):
        cells = [comparison.label(name)]
        for part in comparison[name].by_segment:
            cells += [with_half(part.earnings, part.earnings_ci95, digits)]
            cells += [with_half(part.regret, part.ci95, digits)]
        rows.append(cells)
    return [(heads, rows)]


def customers_by_segment(comparison: Comparison) -> str:
    """Say how many customers came from each segment."""
    parts = comparison.totals.policies[0].by_segment
    counted = " and ".join(f"{part.customers:,.1f} of {part.segment}" for part in parts)
    return f"Of {comparison.horizon:,} customers {counted} came on average, the same under every policy."


def shown_digits(comparison: Comparison) -> int:
    """Return decimals that give the narrowest interval two significant digits."""
    return decimals(
        [float(result.ci95[-1]) for result in comparison.totals.policies], comparison.problem.scale
    )


def earned(comparison: Comparison) -> str:
    """Say what the best policy earns, and how much more that is than always pulling one arm."""
    best, digits = ranking(comparison)[0], shown_digits(comparison)
    sums = number(float(comparison[best].earnings[-1]), digits)
    most = "" if len(comparison.names) == 1 else "the most, "
    said = f"`{comparison.label(best)}` earns {most}{sums} in {_count(comparison.horizon, 'step')}"
    percent_digits = _percent_digits(comparison)
    gains = [
        gain_sentence(comparison.gain_over(best, arm), digits, percent_digits, place == 0)
        for place, arm in enumerate(_rivals(comparison))
    ]
    return f"{said}: {'; and '.join(gains)}."


def _rivals(comparison: Comparison) -> tuple[int, ...]:
    return rivals(comparison.problem, comparison.against)


def _percent_digits(comparison: Comparison) -> int:
    """Return one decimal of per cents, or two if all intervals are narrow."""
    halves = comparison.totals.singles.percent_ci95[:, list(_rivals(comparison))]
    widest = halves[np.isfinite(halves)].max(initial=0.0)
    return 1 if widest >= 0.1 else 2


def far_behind(comparison: Comparison) -> list[str]:
    """Return the policies that would flatten the others in a figure: over four times the median."""
    final = {name: float(comparison[name].mean[-1]) for name in comparison.names}
    typical = sorted(final.values())[(len(final) - 1) // 2]
    return [name for name in ranking(comparison) if final[name] > 4 * typical > 0]


def tied_with_best(comparison: Comparison) -> list[str]:
    """Return the policies whose paired 95 % interval against the best one holds zero."""
    best, *others = ranking(comparison)
    found = []
    for name in others:
        difference, half = comparison.difference(name, best)
        if not difference > half:
            found.append(name)
    return found


def verdict(comparison: Comparison) -> str:
    """Say in a sentence or two which policy did best and which cannot be told apart from it."""
    best, *others = ranking(comparison)
    result, digits = comparison[best], shown_digits(comparison)
    regret = with_half(float(result.mean[-1]), float(result.ci95[-1]), digits)
    regret += f" after {_count(comparison.horizon, 'step')}"
    name = comparison.label(best)
    if not others:
        return f"`{name}` has a mean regret of {regret}."
    said = f"`{name}` has the least mean regret, {regret}."
    tied = tied_with_best(comparison)
    instances = _count(comparison.instances, "instance")
    if not tied:
        if len(others) == 1:
            other = comparison.label(others[0])
            return f"{said} The paired 95 % interval of its lead over `{other}` excludes zero."
        return f"{said} The paired 95 % intervals of its lead over the others all exclude zero."
    said += f" On {instances}, {listed(map(comparison.label, tied))} cannot be told apart from it:"
    said += " the paired 95 % interval"
    said += " holds zero." if len(tied) == 1 else "s hold zero."
    behind = [name for name in others if name not in tied]
    if behind:
        said += (
            f" {listed(map(comparison.label, behind))} {'has' if len(behind) == 1 else 'have'} more regret."
        )
    return said


def listed(names: Iterable[str]) -> str:
    """Return names as code, parted by commas and a final *and*."""
    *first, last = (f"`{name}`" for name in names)
    return f"{', '.join(first)} and {last}" if first else last


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
