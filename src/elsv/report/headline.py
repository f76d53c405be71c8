"""The headline of a comparison: which policy is best, by how much, and which cannot be told apart."""

from __future__ import annotations

import math
from collections.abc import Iterable

from elsv.simulation.aggregate import QUANTILES
from elsv.simulation.compare import Comparison

HEADERS = (
    "policy",
    "final regret ± 95 %",
    "relative",
    "median",
    "5–95 %",
    "best arm",
    "µs / decision",
)
LOW, MEDIAN, HIGH = (QUANTILES.index(level) for level in (0.05, 0.5, 0.95))


def ranking(comparison: Comparison) -> list[str]:
    """Return the policies from the least final regret to the largest."""
    return sorted(comparison.names, key=lambda name: (float(comparison[name].mean[-1]), name))


def headline_rows(comparison: Comparison) -> list[list[str]]:
    """Return the cells under `HEADERS`, the best policy first."""
    names = ranking(comparison)
    digits = shown_digits(comparison)
    least = float(comparison[names[0]].mean[-1])
    rows = []
    for name in names:
        result = comparison[name]
        regret, half, quantiles = float(result.mean[-1]), float(result.ci95[-1]), result.quantiles[-1]
        rows.append(
            [
                name,
                with_half(regret, half, digits),
                f"{regret / least:.2f} ×" if least > 0 else "–",
                f"{quantiles[MEDIAN]:.{digits}f}",
                f"{quantiles[LOW]:.{digits}f} – {quantiles[HIGH]:.{digits}f}",
                f"{100 * result.best_share.mean():.1f} %",
                f"{result.microseconds:.3g}",
            ]
        )
    return rows


def with_half(value: float, half: float, digits: int) -> str:
    """Return ``value ± half``, without the half-width where one instance gives none."""
    return f"{value:.{digits}f} ± {half:.{digits}f}" if math.isfinite(half) else f"{value:.{digits}f}"


def shown_digits(comparison: Comparison) -> int:
    """Return decimals that give the narrowest interval two significant digits."""
    halves = [float(result.ci95[-1]) for result in comparison.totals.policies]
    finite = [half for half in halves if 0 < half < math.inf]
    scale = min(finite, default=0.1)
    return min(5, max(1, 1 - math.floor(math.log10(scale))))


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
    if not others:
        return f"`{best}` has a mean regret of {regret}."
    said = f"`{best}` has the least mean regret, {regret}."
    tied = tied_with_best(comparison)
    instances = _count(comparison.instances, "instance")
    if not tied:
        if len(others) == 1:
            return f"{said} The paired 95 % interval of its lead over `{others[0]}` excludes zero."
        return f"{said} The paired 95 % intervals of its lead over the others all exclude zero."
    said += f" On {instances}, {listed(tied)} cannot be told apart from it: the paired 95 % interval"
    said += " holds zero." if len(tied) == 1 else "s hold zero."
    behind = [name for name in others if name not in tied]
    if behind:
        said += f" {listed(behind)} {'has' if len(behind) == 1 else 'have'} more regret."
    return said


def listed(names: Iterable[str]) -> str:
    """Return names as code, parted by commas and a final *and*."""
    *first, last = (f"`{name}`" for name in names)
    return f"{', '.join(first)} and {last}" if first else last


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
