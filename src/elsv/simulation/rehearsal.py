"""What a rehearsal finds, in words: its table, what the columns mean, whether a campaign is worth it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from elsv._base.numbers import with_minus
from elsv.problem import Problem
from elsv.state import State

WORTH_IT = 1.0  # per cent of gain
_WIDTH = 110
_MOST_NAMED = 6  # arms whose means are all said


@dataclass(frozen=True)
class Outcome:
    """A policy with so many customers, against always the present arm."""

    customers: int
    policy: str
    earnings: float  # expected
    present: float  # what the present arm is expected to earn
    gain: float
    error: float  # half-width of the 95 % interval of the gain; 0 if it is exact
    low: float  # in 5 of 100 shops the gain is below this
    high: float  # in 5 of 100 shops it is above this
    losing: float  # share of shops in which the policy earns less than the present arm
    found: float  # share of shops in which the last customer gets the best arm
    until: float | None  # median customers until then, where it is found
    exact: bool  # whether earnings and gain are; the shares are always simulated

    @property
    def percent(self) -> float:
        """The gain in per cent of what the present arm earns."""
        return 100 * self.gain / self.present


def legend(name: str) -> dict[str, str]:
    """Return what each column means, where `name` is the present arm."""
    return {
        "earns": "expected earnings of all customers, on average over shops",
        "gain": f"so much more than always {name}, ± its 95 % interval, or exact",
        "5–95 % of shops": "the gain in the middle 90 of 100 shops",
        "loses": f"shops in which the policy earns less than always {name} would",
        "finds": "shops whose last customer gets the best arm",
        "after": "in half of these it is settled by that customer",
    }


def table(name: str, rows: Sequence[Outcome]) -> str:
    """Return the rows as text, with what the columns mean."""
    widths = "{:>9}  {:<18} {:>10} {:>17} {:>8} {:>20} {:>7} {:>7} {:>6}"
    heads = ("customers", "policy", "earns", "gain", "", "5–95 % of shops", "loses", "finds", "after")
    lines = [f"against always {name}", widths.format(*heads)]
    for row in rows:
        gain = with_minus(f"{row.gain:+,.2f}") + (" exact" if row.exact else f" ± {row.error:,.2f}")
        lines.append(
            widths.format(
                f"{row.customers:,}",
                row.policy[:18],
                f"{row.earnings:,.2f}",
                gain,
                with_minus(f"{row.percent:+.1f} %"),
                spread_of(row),
                f"{100 * row.losing:.0f} %",
                f"{100 * row.found:.0f} %",
                "–" if row.until is None else f"{row.until:,.0f}",
            )
        )
    said = "; ".join(f"{column}: {meaning}" for column, meaning in legend(name).items())
    return "\n".join([*lines, *textwrap.wrap(said, _WIDTH)])


def spread_of(row: Outcome) -> str:
    """Return the gain in the middle 90 of 100 shops."""
    return with_minus(f"{row.low:+,.2f} to {row.high:+,.2f}")


def shops(problem: Problem) -> str:
    """Say what the shops are like that are drawn, so that nobody takes them for their own unseen."""
    mean = 100 * problem.belief.mean(State.initial(problem))
    shown = list(zip(problem.names, mean.tolist(), strict=True))
    if len(shown) > _MOST_NAMED:
        shown = [shown[0], shown[-1]]
    (first, often), *rest = shown
    others = "".join(f", {name} with {share:.3g}" for name, share in rest)
    return (
        f"The shops come from the prior and what is assumed: on average {first} succeeds with {often:.3g} of "
        f"100 customers{others}. If that is far from yours, give the problem a prior (elsv prior) first."
    )


def verdict(name: str, best: Sequence[Outcome]) -> str:
    """Say from how many customers on a campaign is worth it, given the best policy for each number."""
    worth = [row.percent - 100 * row.error / row.present >= WORTH_IT for row in best]
    first = next((k for k in range(len(best)) if all(worth[k:])), None)
    parts = []
    if first != 0:
        parts.append(_not_worth_it(name, best[-1] if first is None else best[first - 1]))
    if first is not None:
        row, rest = best[first], best[-1]
        begin = "With" if first == 0 else "From"
        more = "" if row is rest else f", with {rest.customers:,} {rest.percent:.1f} %"
        parts.append(
            f"{begin} {row.customers:,} customers{'' if first == 0 else ' on'} it is worth it: the gain over "
            f"always {name} is {row.percent:.1f} % on average over shops{more}."
        )
        parts += _luck(name, row)
    return " ".join(parts)


def _not_worth_it(name: str, row: Outcome) -> str:
    begin = f"With {row.customers:,} customers the gain over always {name} is"
    if row.percent < WORTH_IT:
        return f"{begin} under {WORTH_IT:g} %: not worth it."
    spread = 100 * row.error / row.present
    return (
        f"{begin} {row.percent:.1f} % ± {spread:.1f} %, which may be under {WORTH_IT:g} %: "
        "more shops (instances) would tell."
    )


def _luck(name: str, row: Outcome) -> list[str]:
    """Say how shops differ, where some lose."""
    losing = round(100 * row.losing)
    if losing == 0:
        return []
    worst = "" if row.low >= 0 else f", in the worst 5 of 100 shops by {-row.low:,.2f} or more"
    return [
        f"Shops differ: with {row.customers:,} customers {losing} of 100 would earn more by always {name}, "
        f"where trying other arms costs more than it brings{worst}; the gains of the other {100 - losing} "
        "outweigh that."
    ]
