"""What the experiments that compare policies share: their numbers, columns and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from elsv._base.typing import AnyArray
from elsv.paper.base import Drawing, Table
from elsv.paper.claims import minus
from elsv.report import figures
from elsv.report.headline import ranking, shown_digits
from elsv.report.money import with_half
from elsv.simulation.compare import Comparison


def numbers_of(comparison: Comparison, policies: Mapping[str, Any]) -> dict[str, Any]:
    """Return the final regrets of a comparison by label, with what was run."""
    return {
        "instances": comparison.instances,
        "horizon": comparison.horizon,
        "means": comparison.source,
        "policies": {
            label: {
                "policy": policy if isinstance(policy, str) else policy.__name__,
                "regret": float(comparison[label].mean[-1]),
                "ci95": float(comparison[label].ci95[-1]),
                "best_share": float(comparison[label].best_share.mean()),
            }
            for label, policy in policies.items()
        },
    }


def columns_of(comparisons: Mapping[str, Comparison]) -> dict[str, AnyArray]:
    """Return one row for each setting, policy and step."""
    columns: dict[str, list[AnyArray]] = {}
    for setting, comparison in comparisons.items():
        table = {key: np.asarray(values) for key, values in comparison.columns().items()}
        table = {key: table[key] for key in ("policy", "step", "regret", "ci95", "best_share")}
        table["setting"] = np.full(len(table["step"]), setting)
        for key, values in table.items():
            columns.setdefault(key, []).append(values)
    return {key: np.concatenate(parts) for key, parts in columns.items()}


def curves(
    name: str, comparison: Comparison, labels: Sequence[str], caption: str, all_labels: Sequence[str]
) -> Drawing:
    """Return regret curves with their bands, coloured as in every figure with the same labels."""
    return Drawing(
        name,
        figures.regret_curves(
            {label: comparison[label].mean for label in labels},
            {label: comparison[label].ci95 for label in labels},
            style=figures.styles(all_labels),
        ),
        caption,
    )


def regret_table(
    comparison: Comparison, policies: Mapping[str, Any], reference: str, caption: str, common: str = ""
) -> Table:
    """Return final regrets, the least first, with paired differences to `reference`.

    Parameters that many policies have in `common` are shown as a dagger.
    """
    digits = shown_digits(comparison)
    rows = []
    for label in ranking(comparison):
        result, policy = comparison[label], policies[label]
        difference, half = comparison.difference(label, reference)
        rows.append(
            [
                label,
                _policy(policy, common),
                with_half(float(result.mean[-1]), float(result.ci95[-1]), digits),
                None if label == reference else _signed(difference, half, digits),
                f"{100 * result.best_share.mean():.1f} %",
            ]
        )
    headers = ["", "policy", "regret ± 95 %", f"minus {reference}, paired", "best arm"]
    return Table(headers, rows, caption, "lwrrr", (0,))


def _policy(policy: Any, common: str) -> str:
    if not isinstance(policy, str):
        return str(policy.__doc__).splitlines()[0].rstrip(".")
    short = policy.removesuffix(common) if common else policy
    return f"`{short}`" if short == policy else f"`{short}` †"


def _signed(difference: float, half: float, digits: int) -> str:
    text = minus(f"{difference:+.{digits}f} ± {half:.{digits}f}")
    return text if abs(difference) > half else f"*{text}*"
