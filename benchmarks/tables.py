"""Tables of pages, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[int] = (0,)) -> str:
    """Return a table; columns that are not `words` are figures, at the right."""
    lines = [" | ".join(heads)]
    rule = "|".join("---" if k in words else "---:" for k in range(len(heads)))
    lines += [" | ".join(row) for row in rows]
    first, *others = (f"| {line} |" for line in lines)
    return "\n".join([first, f"|{rule}|", *others])


def plus_minus(pair: Sequence[float], digits: int = 2) -> str:
    """Return a value and half its interval."""
    value, half = pair
    return f"{value:.{digits}f} ± {half:.{digits}f}".replace("-", "−")
