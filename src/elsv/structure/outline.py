"""What a statement looks like: which arms stand above which, rows and columns, a peak, parts of a mixture.

A structure may have ``outline()`` and is drawn by it; one without is shown by its means alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from elsv.beliefs.ladder.ranking import Pairs, closure, covers
from elsv.structure.base import Structure
from elsv.structure.facts import Facts, Scale


@dataclass(frozen=True)
class Outline:
    """What can be drawn of a statement; arms from 0.

    Parameters
    ----------
    pairs
        ``(larger, smaller)``, only those that no third arm lies between.
    grid
        Rows and columns, where the arms form them row by row.
    peak
        Whether the arms, in their numbering, rise to one of them and fall from there.
    scale
        What order and peak are those of: ``"mean"`` or ``"reward"`` (reward times mean).
    parts
        Of a mixture: probability, words and outline of each part.
    """

    pairs: Pairs = ()
    grid: tuple[int, int] | None = None
    peak: bool = False
    scale: Scale = "mean"
    parts: tuple[tuple[float, str, Outline], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, arms from 1."""
        values: dict[str, Any] = {"pairs": [[a + 1, b + 1] for a, b in self.pairs], "scale": self.scale}
        if self.grid is not None:
            values["grid"] = list(self.grid)
        if self.peak:
            values["peak"] = True
        if self.parts:
            values["parts"] = [
                {"probability": share, "assumed": words, **part.to_dict()}
                for share, words, part in self.parts
            ]
        return values


def outline_of(structure: Structure) -> Outline:
    """Return what can be drawn of a structure: its own outline, or nothing."""
    own = getattr(structure, "outline", None)
    if own is None:
        return Outline()
    found: Outline = own()
    return found


def outline_of_facts(facts: Facts, grid: tuple[int, int] | None = None) -> Outline:
    """Return what can be drawn of an order, a peak and bounds."""
    pairs = covers(closure(len(facts.names), facts.order))
    return Outline(pairs, grid, facts.unimodal, facts.scale)
