"""What policies earn and lose, in cells and sentences; the headline of a comparison: which policy is best."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from elsv._base.numbers import duration, many, whole, with_minus
from elsv.policies.single import Gain, choice_name
from elsv.problem import Problem
from elsv.simulation.compare import Comparison

REGRET = (
    "Regret is what knowing the best arm from the start would have earned more, in expectation: "
    "less is better, and no policy has none."
)
EARNINGS = "Earnings are expected: the luck of single outcomes is averaged out."
BEFOREHAND = "the arm that is best in expectation beforehand"
_LITTLE = 1.0  # per cent: what is below is called so
_ROUNDING = 1e-9  # relative to what the arm earns: less is no difference
_MOST_DIGITS = 12


def number(value: float, digits: int, signed: bool = False) -> str:
    """Return a number with so many decimals, as a power of ten where these would be too many to read."""
    kind = ".3e" if digits > _MOST_DIGITS else f",.{digits}f"
    text = f"{value:{'+' if signed else ''}{kind}}"
    if signed and not any(c in "123456789" for c in text.partition("e")[0]):
        text = text[1:]  # neither plus nor minus nothing
    return with_minus(text)


def with_half(value: float, half: float, digits: int) -> str:
    """Return ``value ± half``, without the half-width where one instance gives none."""
    return _with(number(value, digits), half, digits)


def decimals(halves: list[float], scale: float) -> int:
    """Return decimals that give the narrowest interval two significant digits.

    Not more than six digits after the first of `scale`, since half-widths may be those of rounding alone.
    """
    known = [half for half in halves if 0 < half < math.inf]
    wanted = 1 - math.floor(math.log10(min(known, default=0.1 * scale)))
    place = math.floor(math.log10(scale))
    least = 1 if place < 2 else 0
    return min(max(5, 5 - place), max(least, wanted))


def gain_heads(problem: Problem, arms: Iterable[int]) -> list[str]:
    """Return the heads of the columns of `gain_cells` for each of these single arms."""
    names = [choice_name(problem, arm) for arm in arms]
    return [f"over always {name}{percent}" for name in names for percent in ("", " in %")]


def gain_cells(gain: Gain, digits: int, percent_digits: int) -> tuple[str, str]:
    """Return a gain in units and in per cent, each with its half-width if it has one."""
    units = _with(number(gain.amount, digits, signed=True), gain.ci95, digits)
    if not math.isfinite(gain.percent):
        return units, "–"
    percent = number(gain.percent, percent_digits, signed=True)
    return units, _with(percent, gain.percent_ci95, percent_digits) + " %"


def gain_sentence(gain: Gain, digits: int, percent_digits: int, beforehand: bool) -> str:
    """Say how much more than always pulling an arm, to follow ``… earns 36.9``."""
    units, percent = gain_cells(gain, digits, percent_digits)
    rival = f"always `{gain.name}`" + (f", {BEFOREHAND}" if beforehand else "")
    half = gain.ci95 or 0.0
    if half and not math.isfinite(half):
        return f"{units} ({percent}) against {rival}"
    if gain.percent == 0 or abs(gain.percent) < 100 * _ROUNDING:
        return f"as much as {rival}"
    if abs(gain.amount) <= half:
        return f"not to be told apart from {rival} ({units}, {percent})"
    word = "more" if gain.amount > 0 else "less"
    little = ", under 1 %" if abs(gain.percent) + (gain.percent_ci95 or 0.0) < _LITTLE else ""
    return f"{units.lstrip('+−')} {word} than {rival} ({percent}{little})"


def _with(text: str, half: float | None, digits: int) -> str:
    return text if half is None or not math.isfinite(half) else f"{text} ± {number(half, digits)}"


REGRET_HEADERS = ("regret ± 95 %", "relative", "median", "5–95 %", "best arm", "time / decision")


def ranking(comparison: Comparison) -> list[str]:
    """Return the policies from the least final regret to the largest."""
    return sorted(comparison.names, key=lambda name: (comparison[name].final[0], name))


def headers(comparison: Comparison) -> list[str]:
    """Return the heads of the columns of `headline_rows`: what is earned, gains over single arms, regret."""
    gains = gain_heads(comparison.problem, comparison.rivals)
    return ["policy", "earns", *(f"{head} ± 95 %" for head in gains), *REGRET_HEADERS]


def headline_rows(comparison: Comparison, digits: int | None = None) -> list[list[str]]:
    """Return the cells under `headers`, the best policy first; so many decimals, or `shown_digits`."""
    names, arms = ranking(comparison), comparison.rivals
    digits = shown_digits(comparison) if digits is None else whole("digits", digits, 0)
    percent_digits = _percent_digits(comparison)
    least, rows = comparison[names[0]].final[0], []
    for name in names:
        result = comparison[name]
        regret, half = result.final
        low, _, median, _, high = (number(x, digits) for x in result.quantiles[-1])
        cells = [comparison.label(name), number(float(result.earnings[-1]), digits)]
        for arm in arms:
            cells += gain_cells(comparison.gain_over(name, arm), digits, percent_digits)
        relative = f"{regret / least:.2f} ×" if least > 0 else "–"
        cells += [with_half(regret, half, digits), relative, median, f"{low} – {high}"]
        rows.append([*cells, f"{100 * result.best_share.mean():.1f} %", duration(1e-6 * result.microseconds)])
    return rows


def segment_tables(comparison: Comparison) -> list[tuple[list[str], list[list[str]]]]:
    """Return heads and rows of what every policy earns from each segment; no table without segments."""
    names, digits, rows = comparison.problem.segments.names, shown_digits(comparison), []
    heads = ["policy", *(f"{name} {what} ± 95 %" for name in names for what in ("earns", "regret"))]
    for name in ranking(comparison):
        cells = [comparison.label(name)]
        for part in comparison[name].by_segment:
            cells.append(with_half(part.earnings, part.earnings_ci95, digits))
            cells.append(with_half(part.regret, part.ci95, digits))
        rows.append(cells)
    return [(heads, rows)] if names else []


def customers_by_segment(comparison: Comparison) -> str:
    """Say how many customers came from each segment."""
    parts = comparison.totals.policies[0].by_segment
    counted = " and ".join(f"{part.customers:,.1f} of {part.segment}" for part in parts)
    return f"Of {comparison.horizon:,} customers {counted} came on average, the same under every policy."


def shown_digits(comparison: Comparison) -> int:
    """Return decimals that give the narrowest interval two significant digits."""
    halves = [result.final[1] for result in comparison.totals.policies]
    return decimals(halves, comparison.problem.scale)


def earned(comparison: Comparison) -> str:
    """Say what the best policy earns, and how much more that is than always pulling one arm."""
    best, digits = ranking(comparison)[0], shown_digits(comparison)
    gains = [comparison.gain_over(best, arm) for arm in comparison.rivals]
    name = f"`{comparison.label(best)}` earns" + (" the most," if len(comparison.names) > 1 else "")
    sums, steps = number(float(comparison[best].earnings[-1]), digits), many(comparison.horizon, "step")
    return f"{name} {sums} in {steps}: {gains_in_words(gains, digits, _percent_digits(comparison))}."


def gains_in_words(gains: Iterable[Gain], digits: int, percent_digits: int) -> str:
    """Say how much more a policy earns than single arms, the first of them the best beforehand."""
    told = (gain_sentence(gain, digits, percent_digits, place == 0) for place, gain in enumerate(gains))
    return "; and ".join(told)


def _percent_digits(comparison: Comparison) -> int:
    """Return one decimal of per cents, or two if all intervals are narrow."""
    halves = comparison.totals.singles.percent_ci95[:, list(comparison.rivals)]
    return 1 if halves[np.isfinite(halves)].max(initial=0.0) >= 0.1 else 2


def far_behind(comparison: Comparison) -> list[str]:
    """Return the policies that would flatten the others in a figure: over four times the median."""
    final = {name: comparison[name].final[0] for name in comparison.names}
    typical = sorted(final.values())[(len(final) - 1) // 2]
    return [name for name in ranking(comparison) if final[name] > 4 * typical > 0]


def tied_with_best(comparison: Comparison) -> list[str]:
    """Return the policies whose paired 95 % interval against the best one holds zero."""
    best, *others = ranking(comparison)
    apart = {name: comparison.difference(name, best) for name in others}
    return [name for name, (difference, half) in apart.items() if not difference > half]


def verdict(comparison: Comparison) -> str:
    """Say in a sentence or two which policy did best and which cannot be told apart from it."""
    best, *others = ranking(comparison)
    name, regret = comparison.label(best), with_half(*comparison[best].final, shown_digits(comparison))
    regret += f" after {many(comparison.horizon, 'step')}"
    if not others:
        return f"`{name}` has a mean regret of {regret}."
    said = f"`{name}` has the least mean regret, {regret}."
    tied = tied_with_best(comparison)
    if not tied:
        if len(others) == 1:
            other = comparison.label(others[0])
            return f"{said} The paired 95 % interval of its lead over `{other}` excludes zero."
        return f"{said} The paired 95 % intervals of its lead over the others all exclude zero."
    hold = "interval holds" if len(tied) == 1 else "intervals hold"
    said += f" On {many(comparison.instances, 'instance')}, {labels_of(comparison, tied)} cannot be told"
    said += f" apart from it: the paired 95 % {hold} zero."
    behind = [name for name in others if name not in tied]
    if behind:
        said += f" {labels_of(comparison, behind)} {'has' if len(behind) == 1 else 'have'} more regret."
    return said


def listed(names: Iterable[str]) -> str:
    """Return names with commas and a final *and* between them."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def labels_of(comparison: Comparison, names: Iterable[str]) -> str:
    """Return the labels of policies as code, with commas and a final *and* between them."""
    return listed(f"`{comparison.label(name)}`" for name in names)
