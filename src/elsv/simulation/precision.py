r"""Before a campaign starts: how precisely its gain over today's arm will be known, and what a holdout costs.

Let n customers come, a share h of them held out, let today's arm c pay r, and let its rate have mean m and
variance v beforehand. The half-widths to expect of the 95 % intervals are

.. math:: 1.96\,n\,r\sqrt{\frac{v\,s}{s + h n}}\ \text{by all that is known},\qquad
    1.96\,n\,r\sqrt{\frac{m(1 - m)}{h n}}\ \text{by the held-out customers alone},

with :math:`s = m(1-m)/v - 1`, the customers that the prior is worth. The first holds for a Beta prior; what
other arms and the policy's own customers of arm c teach only makes it narrower. Held-out customers get c and
not what would be offered to them: the cost is the difference in worth of h n customers, by the prior.
With segments variances and costs are summed over the segments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from elsv._base.numbers import whole, with_minus
from elsv.beliefs.abilities import moments
from elsv.policies.single import called
from elsv.problem import Problem
from elsv.simulation.intervals import Z95
from elsv.state import State

HOLDOUTS = (0.0, 0.05, 0.1, 0.2)
HEADS = ("holdout", "costs", "gain known to ±", "by holdout alone ±")


def money(amount: float, unit: str, signed: bool = False) -> str:
    """Return an amount as people read it: ``1,234 EUR``, ``−3.20 EUR``."""
    text = f"{amount:{'+' if signed else ''},.{0 if abs(amount) >= 100 else 2}f}"
    return with_minus(text) + (f" {unit}" if unit else "")


@dataclass(frozen=True)
class HoldoutPrecision:
    """What one size of holdout brings and costs; sums over all customers, in the unit of the rewards."""

    holdout: float  # share of the customers
    cost: float
    belief: float  # half-width by all that is known
    alone: float | None  # half-width by the held-out customers alone; None without any


@dataclass(frozen=True)
class Precision:
    """How precisely the gain will be known with each size of holdout."""

    customers: int
    name: str  # today's arm, or that of each segment
    expected: float  # gain of the arms that look best beforehand over today's
    rows: tuple[HoldoutPrecision, ...]
    unit: str = ""

    @property
    def advice(self) -> str:
        """One sentence: which holdout, and why."""
        gain = money(self.expected, self.unit)
        enough = [row for row in self.rows if row.alone is not None and row.alone < self.expected]
        if self.expected <= 0:
            return f"{self.name} already looks best beforehand: by what is known, a holdout costs nothing."
        if not enough:
            least = min((row.alone for row in self.rows if row.alone is not None), default=float("inf"))
            return (
                f"A gain of about {gain} cannot be told by a holdout of up to "
                f"{100 * self.rows[-1].holdout:g} % (± {money(least, self.unit)}): rely on what is known "
                f"(± {money(self.rows[0].belief, self.unit)}), or plan for more customers."
            )
        row = enough[0]
        return (
            f"A holdout of {100 * row.holdout:g} % costs about {money(row.cost, self.unit)} and tells a gain "
            f"of about {gain} by itself (± {money(row.alone or 0.0, self.unit)})."
        )

    def cells(self) -> list[tuple[str, ...]]:
        """Return the table's cells, row by row, without its heads."""
        rows = []
        for row in self.rows:
            amounts = (row.cost, row.belief, row.alone)
            told = ("–" if amount is None else money(amount, self.unit) for amount in amounts)
            rows.append((f"{100 * row.holdout:g} %", *told))
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**asdict(self), "rows": [asdict(row) for row in self.rows], "advice": self.advice}

    def table(self) -> str:
        """Return the table as text."""
        title = f"how precisely {self.customers:,} customers tell the gain over always {self.name}"
        widths = "  {:>8} {:>14} {:>16} {:>20}"
        return "\n".join([title, *(widths.format(*row) for row in (HEADS, *self.cells()))])

    def __str__(self) -> str:
        return f"{self.table()}\n{self.advice}"


def precision(
    problem: Problem,
    customers: int,
    control: Sequence[int],
    unit: str = "",
    holdouts: Sequence[float] = HOLDOUTS,
) -> Precision:
    """Return how precisely the gain over today's arms will be known, for several sizes of holdout.

    Parameters
    ----------
    problem
        Its prior and structure are what is known beforehand.
    customers
        How many are planned for.
    control
        Today's arm from 0; with segments one for each of them.
    unit
        Of the rewards, such as ``"EUR"``.

    Examples
    --------
    >>> shop = Problem([20, 18], horizon=1500, prior=[(4, 96), (6, 94)], names=["none", "10 % off"])
    >>> found = precision(shop, 1500, [0], "EUR")
    >>> [round(row.cost) for row in found.rows], round(found.rows[2].alone)
    ([0, 21, 42, 84], 941)
    """
    total, start = whole("customers", customers), State.initial(problem)
    mean, variance = moments(problem.belief, start, np.random.default_rng(0))
    shares = problem.segments.chances_in(start, problem)
    worth, today = problem.rewards * mean, list(control)
    offered = np.array([worth[list(group)].max() for group in problem.segments.groups])
    m, v, paid, came = mean[today], variance[today], problem.rewards[today], total * shares
    strength = np.maximum(0.0, m * (1 - m) / np.maximum(v, 1e-300) - 1)
    lost = float(came @ (offered - worth[today]))
    rows = []
    for share in holdouts:
        held = share * came
        known = (came * paid) ** 2 * v * strength / (strength + held)
        alone = None
        if share > 0:
            alone = Z95 * float(np.sqrt(((came * paid) ** 2 * m * (1 - m) / held).sum()))
        rows.append(HoldoutPrecision(share, share * lost, Z95 * float(np.sqrt(known.sum())), alone))
    return Precision(total, called(problem, today), lost, tuple(rows), unit)
