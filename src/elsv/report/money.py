"""What policies earn, and how much more than always pulling one arm: in cells and in sentences."""

from __future__ import annotations

import math

from elsv._base.numbers import with_minus
from elsv.policies.single import Gain

REGRET = (
    "Regret is what a policy earns less, in expectation, than one who knew the truly best arm and always "
    "pulled it: less is better, and nobody can have none."
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
