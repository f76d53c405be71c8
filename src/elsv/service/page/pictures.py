"""Pictures in a row of a table: as wide as the cell, with text of its own size, from numbers alone.

Places are percentages of the width, so that a picture needs neither a script nor a style attribute to fit a
telephone or a wide screen; colours are classes, ``c0`` for the first arm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from markupsafe import Markup

from elsv._base.numbers import with_minus

COLOURS = 9  # classes c0 … c8 of the style sheet
_EDGE = 3.0  # per cent at both sides, so that dots and labels are not cut off
_HEIGHT, _MIDDLE = 26, 13
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high` over the width."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Return where a value stands, in per cent."""
        share = (value - self.low) / (self.high - self.low)
        return _EDGE + (100 - 2 * _EDGE) * min(1.0, max(0.0, share))

    def ticks(self, most: int = 5) -> list[float]:
        """Return round values within the scale, `most` at most."""
        raw = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(k * power for k in _STEPS if k * power >= raw * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]


def scale_of(values: Iterable[float]) -> Scale:
    """Return a scale that shows all values and zero."""
    known = [0.0, *(value for value in values if math.isfinite(value))]
    low, high = min(known), max(known)
    return Scale(low, high) if high > low else Scale(low, low + 1.0)


def axis(scale: Scale) -> Markup:
    """Return the numbers above the rows."""
    labels = "".join(
        f'<text x="{scale.place(x):.2f}%" y="12" class="{_side(scale.place(x))}">{_label(x)}</text>'
        for x in scale.ticks()
    )
    return _svg("axis", labels, 16)


def interval(scale: Scale, value: float, low: float, high: float, colour: int) -> Markup:
    """Return a dot with its interval."""
    kind = f"c{colour % COLOURS}"
    return _svg(
        "picture",
        f'{_grid(scale)}<line class="whisker {kind}" x1="{scale.place(low):.2f}%" '
        f'x2="{scale.place(high):.2f}%" y1="{_MIDDLE}" y2="{_MIDDLE}"/>'
        f'<circle class="dot {kind}" cx="{scale.place(value):.2f}%" cy="{_MIDDLE}" r="5"/>',
    )


def bar(
    scale: Scale, value: float, colour: int | None = None, span: tuple[float, float] | None = None
) -> Markup:
    """Return a bar from zero, with the interval of its end if there is one."""
    kind = "plain" if colour is None else f"c{colour % COLOURS}"
    start, end = sorted((scale.place(0.0), scale.place(value)))
    drawn = (
        f'{_grid(scale)}<rect class="bar {kind}" x="{start:.2f}%" y="6" width="{end - start:.2f}%" '
        'height="14" rx="2"/>'
    )
    if span is not None:
        low, high = map(scale.place, span)
        drawn += (
            f'<line class="error" x1="{low:.2f}%" x2="{high:.2f}%" y1="{_MIDDLE}" y2="{_MIDDLE}"/>'
            f'<line class="error" x1="{low:.2f}%" x2="{low:.2f}%" y1="9" y2="17"/>'
            f'<line class="error" x1="{high:.2f}%" x2="{high:.2f}%" y1="9" y2="17"/>'
        )
    return _svg("picture", drawn)


def share(value: float, colour: int) -> Markup:
    """Return a share of the whole width."""
    full = 'width="100%" y="8" height="10" rx="2"'
    part = f'width="{100 * min(1.0, max(0.0, value)):.2f}%" y="8" height="10" rx="2"'
    return _svg("picture", f'<rect class="ground" {full}/><rect class="bar c{colour % COLOURS}" {part}/>')


def swatch(colour: int) -> Markup:
    """Return a small square in an arm's colour."""
    return Markup(
        '<svg class="swatch" width="12" height="12" aria-hidden="true">'
        f'<rect class="bar c{colour % COLOURS}" width="12" height="12" rx="3"/></svg>'
    )


def progress(share: float) -> Markup:
    """Return how far something is, as a thin bar."""
    done = 100 * min(1.0, max(0.0, share))
    return Markup(
        '<svg class="progress" width="100%" height="4" aria-hidden="true">'
        '<rect class="rest" width="100%" height="4" rx="2"/>'
        f'<rect class="done" width="{done:.2f}%" height="4" rx="2"/></svg>'
    )


def _grid(scale: Scale) -> str:
    return "".join(
        f'<line class="{"zero" if x == 0 else "grid"}" x1="{scale.place(x):.2f}%" '
        f'x2="{scale.place(x):.2f}%" y1="0" y2="{_HEIGHT}"/>'
        for x in scale.ticks()
    )


def _svg(kind: str, drawn: str, height: int = _HEIGHT) -> Markup:
    """Return the drawing; it is hidden from screen readers, which have the numbers beside it."""
    return Markup(f'<svg class="{kind}" width="100%" height="{height}" aria-hidden="true">{drawn}</svg>')


def _side(place: float) -> str:
    """Return where a label stands beside its tick: within the picture at both ends."""
    return "first" if place < 6 else "last" if place > 94 else "middle"


def _label(value: float) -> str:
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return with_minus(text)
