"""What is found out about a prior, as text."""

from __future__ import annotations

import textwrap

from elsv.prior.base import ArmPrior, Findings, Implied, percent

_WIDTH = 100
_NAME = 16
_NO_BREAK = "\N{NO-BREAK SPACE}"


def text(found: Findings) -> str:
    """Return what was done, a table of the arms, and what is not as it should be."""
    label = "history" if found.weight is not None else "expected"
    lines = [row for k, words in enumerate(found.words) for row in _labelled("" if k else label, words)]
    lines += ["", *_table(found), "", f"prior = {_rows(found)}"]
    for warning in found.warnings:
        lines += _labelled("warning", warning)
    return "\n".join(lines)


def _table(found: Findings) -> list[str]:
    of_history = found.weight is not None
    given = f"{'seen':>20}" if of_history else f"{'expected':>16}"
    heads = ("before", f"{'and now':<24}")
    head = f"{'arm':>4}  {'name':<{_NAME}} {given}   {heads[0]:<24} {heads[1]} {'row':>14}"
    under = f"means and {100 * found.coverage:g} % intervals under what is assumed, before any new data"
    return [under, head, *(_row(arm, of_history) for arm in found.arms)]


def _row(arm: ArmPrior, of_history: bool) -> str:
    name = arm.name if len(arm.name) <= _NAME else arm.name[: _NAME - 1] + "…"
    given = f"{_seen(arm):>20}" if of_history else f"{_said(arm):>16}"
    shown = (
        f"{arm.arm + 1:>4}  {name:<{_NAME}} {given}   {_interval(arm.before):<24} {_interval(arm.after):<24}"
    )
    return f"{shown} {f'{arm.alpha:.4g}, {arm.beta:.4g}':>14}"


def _seen(arm: ArmPrior) -> str:
    won, tried = arm.successes or 0.0, (arm.successes or 0.0) + (arm.failures or 0.0)
    return f"{won:,.0f} of {tried:,.0f}: {percent(won / tried)}" if tried else "never offered"


def _said(arm: ArmPrior) -> str:
    return "" if arm.said is None else f"{100 * arm.said[0]:.2f} – {percent(arm.said[1])}"


def _interval(shown: Implied) -> str:
    return f"{percent(shown.mean):>7} [{100 * shown.low:.2f}, {100 * shown.high:.2f}]"


def _rows(found: Findings) -> str:
    return "[" + ", ".join(f"[{alpha:.6g}, {beta:.6g}]" for alpha, beta in found.rows) + "]"


def _labelled(label: str, said: str) -> list[str]:
    kept = said.replace(" %", f"{_NO_BREAK}%")
    rows = textwrap.wrap(
        kept, _WIDTH, initial_indent=f"{label:<10}", subsequent_indent=" " * 10, break_on_hyphens=False
    )
    return [row.replace(_NO_BREAK, " ") for row in rows]
