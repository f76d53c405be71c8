r"""Intervals of means and of one success probability; and how precisely a campaign's gain will be known.

`anytime` holds whichever rule picks the customers and however often one looks. With k successes of n,

.. math:: C = \{\mu : \ln m(k, n) - k \ln\mu - (n - k)\ln(1 - \mu) < \ln(1/a)\}, \qquad
    m(k, n) = \frac{B(k + \frac12, n - k + \frac12)}{B(\frac12, \frac12)}.

Under the true rate the ratio of m to the likelihood is a martingale of mean 1. By Ville's inequality C ever
misses the rate with probability a at most. `wilson` is for one look.

`precision` says before a campaign starts how well its gain over today's arm c will be known, and what a
holdout costs. Let n customers come, a share h of them held out, let c pay r, and let its rate have mean m and
variance v. The half-widths to expect of the 95 % intervals are

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
from numpy.typing import ArrayLike

from elsv._base.numbers import whole, with_minus
from elsv._base.typing import FloatArray
from elsv.beliefs.abilities import moments
from elsv.policies.single import called
from elsv.problem import Problem
from elsv.state import State

Z95 = 1.959963984540054
MISS = 0.05  # chance that an interval misses
FEW = 10  # successes or failures below which Wilson's interval is not used
_HALVINGS = 60
HOLDOUTS = (0.0, 0.05, 0.1, 0.2)
HEADS = ("holdout", "costs", "gain known to ±", "by holdout alone ±")


def interval(total: FloatArray, squares: FloatArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the half-width of its 95 % interval from Σx and Σx²."""
    mean = total / n
    if n < 2:
        return mean, np.full(mean.shape, np.inf)
    variance = np.maximum(squares - n * mean * mean, 0.0) / (n - 1)
    return mean, Z95 * np.sqrt(variance / n)


def anytime(successes: ArrayLike, trials: ArrayLike, miss: float = MISS) -> tuple[FloatArray, FloatArray]:
    """Return both ends of C; arrays of counts give arrays of ends.

    Examples
    --------
    >>> low, high = anytime(40, 190)
    >>> round(float(low), 4), round(float(high), 4)
    (0.1222, 0.3221)
    """
    from scipy.special import betaln, xlog1py, xlogy

    won, seen = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(trials, np.float64))
    lost = seen - won
    mixture = betaln(won + 0.5, lost + 0.5) - betaln(0.5, 0.5) + np.log(miss)
    rate = np.divide(won, seen, out=np.full(won.shape, 0.5), where=seen > 0)

    def inside(mean: FloatArray) -> FloatArray:
        return np.asarray(mixture < xlogy(won, mean) + xlog1py(lost, -mean))

    def end(outer: float) -> FloatArray:
        near, far = rate.copy(), np.full(rate.shape, outer)
        for _ in range(_HALVINGS):
            middle = 0.5 * (near + far)
            good = inside(middle)
            near, far = np.where(good, middle, near), np.where(good, far, middle)
        return np.where(inside(np.full(rate.shape, outer)), outer, far)

    return end(0.0), end(1.0)


def wilson(successes: ArrayLike, trials: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return both ends of Wilson's 95 % interval with continuity correction; there must be trials.

    The ends solve (|p − k/n| − 1/(2n))² n = z² p (1 − p). Without the correction the interval covers 91 to
    97 %, depending on the rate; with it 95 % at least, for the rates and numbers that campaigns have.
    """
    won, seen = np.asarray(successes, np.float64), np.asarray(trials, np.float64)
    lost, square, scale = seen - won, Z95**2, 2 * (seen + Z95**2)
    below = Z95 * np.sqrt(np.maximum(0.0, square - 2 - 1 / seen + 4 * won * (lost + 1) / seen))
    above = Z95 * np.sqrt(np.maximum(0.0, square + 2 - 1 / seen + 4 * won * (lost - 1) / seen))
    low, high = (2 * won + square - 1 - below) / scale, (2 * won + square + 1 + above) / scale
    return np.where(won == 0, 0.0, low), np.where(lost == 0, 1.0, high)


def one_look(successes: ArrayLike, trials: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's interval, or `anytime` with fewer than 10 successes or failures."""
    won, seen = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(trials, np.float64))
    few = (won < FEW) | (seen - won < FEW)
    careful, usual = anytime(won, seen), wilson(np.where(few, 1, won), np.where(few, 2, seen))
    return np.where(few, careful[0], usual[0]), np.where(few, careful[1], usual[1])


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
