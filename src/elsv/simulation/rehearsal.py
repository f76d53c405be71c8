"""What a rehearsal finds, in words: three answers in money, the risk, and its table."""

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
    """A policy with so many customers, against always today's arm."""

    customers: int
    policy: str
    earnings: float  # expected
    present: float  # what today's arm is expected to earn
    gain: float
    error: float  # half-width of the 95 % interval of the gain; 0 if it is exact
    low: float  # in 5 of 100 shops the gain is below this
    high: float  # in 5 of 100 shops it is above this
    losing: float  # share of shops in which the policy earns less than today's arm
    found: float  # share of shops in which the last customer gets the best arm
    until: float | None  # median customers until then, where it is found
    exact: bool  # whether earnings and gain are; the shares are always simulated
    switching: float = 0.0  # what always the arm that looks best beforehand gains, without learning

    @property
    def percent(self) -> float:
        """The gain in per cent of what today's arm earns."""
        return 100 * self.gain / self.present

    @property
    def learning(self) -> float:
        """What learning adds to the gain."""
        return self.gain - self.switching


@dataclass(frozen=True)
class Elsewhere:
    """The policy in one shop whose rates are so many times those expected."""

    times: float
    gain: float  # over today's arm
    regret: float  # what knowing the best arm would add


def money(amount: float, unit: str, signed: bool = False) -> str:
    """Return an amount as people read it: ``1,234 EUR``, ``−3.20 EUR``."""
    text = f"{amount:{'+' if signed else ''},.{0 if abs(amount) >= 100 else 2}f}"
    return with_minus(text) + (f" {unit}" if unit else "")


def answers(row: Outcome, today: str, beforehand: str, unit: str, one_shop: bool) -> list[str]:
    """Say what a campaign brings, how much of that is switching, what learning adds, and the risk."""
    error = "" if row.exact else f" ± {money(row.error, '')}"
    sure = row.percent - 100 * row.error / row.present >= WORTH_IT
    verdict = "Worth it" if sure else "Perhaps worth it" if row.percent >= WORTH_IT else "Not worth it"
    share = f"{row.percent:+.1f} %"
    if row.percent > 100:
        share = f"{row.earnings / row.present:.1f} times what always {today} earns"
    where = "in this shop" if one_shop else "on average over such shops"
    more = "more" if row.gain >= 0 else "less"
    said = [
        f"{verdict}: with {row.customers:,} customers it brings {money(abs(row.gain), unit)}{error} {more} "
        f"than always {today} {where} ({with_minus(share)})."
    ]
    if today == beforehand:
        said.append(f"None of that is switching beforehand: {today} already looks best.")
    else:
        gained = "brings" if row.switching >= 0 else "loses"
        said.append(
            f"Merely switching to {beforehand} beforehand {gained} {money(abs(row.switching), unit)} of that."
        )
    adds = "Learning adds" if row.learning >= 0 else "Learning costs"
    said.append(f"{adds} {money(abs(row.learning), unit)}{error}.")
    if one_shop:
        return said
    losing = round(100 * row.losing)
    worst = f"in the worst 5 the loss is {money(-row.low, unit)} or more"
    if row.low >= 0:
        worst = "fewer than 5 lose anything"
    said.append(
        f"Risk: in {losing} of 100 such shops always {today} would have earned more; {worst}. In the middle "
        f"90 the gain is {money(row.low, '', True)} to {money(row.high, unit, True)}."
    )
    return said


def fares(found: Sequence[Elsewhere], today: str, unit: str) -> str:
    """Say how the policy fares where rates are others than expected."""
    names = {0.5: "half", 2.0: "double"}
    parts = [
        f"with {names.get(one.times, f'{one.times:g} times')} the expected rates it earns "
        f"{money(abs(one.gain), unit)} {'more' if one.gain >= 0 else 'less'} than always {today} and "
        f"{money(one.regret, unit)} less than knowing the best arm"
        for one in found
    ]
    return f"If the prior is wrong: {'; '.join(parts)}."


def legend(name: str) -> dict[str, str]:
    """Return what each column means, where `name` is today's arm."""
    return {
        "earns": "expected earnings of all customers, on average over shops",
        "gain": f"so much more than always {name}, ± its 95 % interval, or exact",
        "5–95 % of shops": "the gain in the middle 90 of 100 shops",
        "loses": f"shops in which the policy earns less than always {name} would",
        "finds": "shops whose last customer gets the best arm",
        "after": "in half of these it is settled by that customer",
    }


def cells(row: Outcome) -> tuple[str, ...]:
    """Return a row of the table."""
    gain = with_minus(f"{row.gain:+,.2f}") + (" exact" if row.exact else f" ± {row.error:,.2f}")
    times = f"{row.earnings / row.present:,.1f} times" if row.percent > 100 else f"{row.percent:+.1f} %"
    return (
        f"{row.customers:,}",
        row.policy,
        f"{row.earnings:,.2f}",
        gain,
        with_minus(times),
        with_minus(f"{row.low:+,.2f} to {row.high:+,.2f}"),
        f"{100 * row.losing:.0f} %",
        f"{100 * row.found:.0f} %",
        "–" if row.until is None else f"{row.until:,.0f}",
    )


def table(name: str, rows: Sequence[Outcome]) -> str:
    """Return the rows as text, with what the columns mean."""
    widths = "{:>9}  {:<18.18} {:>10} {:>17} {:>9} {:>20} {:>7} {:>7} {:>6}"
    heads = ("customers", "policy", "earns", "gain", "", "5–95 % of shops", "loses", "finds", "after")
    lines = [f"against always {name}", widths.format(*heads), *(widths.format(*cells(row)) for row in rows)]
    said = "; ".join(f"{column}: {meaning}" for column, meaning in legend(name).items())
    return "\n".join([*lines, *textwrap.wrap(said, _WIDTH)])


def wrapped(sentences: Sequence[str]) -> str:
    """Return sentences as lines of a terminal."""
    return "\n".join(textwrap.fill(one, _WIDTH, break_on_hyphens=False) for one in sentences)


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
        f"100 customers{others}. If that is far from yours, say what you expect (--expect)."
    )
