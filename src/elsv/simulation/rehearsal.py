"""What a rehearsal finds, in words: three answers in money, the risk, and its table."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from elsv._base.numbers import with_minus
from elsv.policies.single import best_single_arm, choice_name, choices, people_read
from elsv.prior.untried import nothing_said
from elsv.problem import Problem
from elsv.simulation.precision import Precision, money, precision
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

    def cells(self) -> tuple[str, ...]:
        """Return a row of the table."""
        gain = with_minus(f"{self.gain:+,.2f}") + (" exact" if self.exact else f" ± {self.error:,.2f}")
        times = (
            f"{self.earnings / self.present:,.1f} times" if self.percent > 100 else f"{self.percent:+.1f} %"
        )
        return (
            f"{self.customers:,}",
            self.policy,
            f"{self.earnings:,.2f}",
            gain,
            with_minus(times),
            with_minus(f"{self.low:+,.2f} to {self.high:+,.2f}"),
            f"{100 * self.losing:.0f} %",
            f"{100 * self.found:.0f} %",
            "–" if self.until is None else f"{self.until:,.0f}",
        )


@dataclass(frozen=True)
class Elsewhere:
    """The policy in one shop whose rates are so many times those expected."""

    times: float
    gain: float  # over today's arm
    regret: float  # what knowing the best arm would add


@dataclass(frozen=True)
class Rehearsal:
    """What campaigns of several sizes would earn."""

    problem: Problem
    against: int  # today's arm, from 0
    instances: int
    seed: int
    delays: str  # in words; empty if outcomes are known at once
    outcomes: tuple[Outcome, ...]  # by size, then by policy
    unit: str = ""
    asked: int | None = None  # the number of customers that the answers are about; default: the largest
    truth: tuple[float, ...] | None = None  # the one shop that was played
    elsewhere: tuple[Elsewhere, ...] = ()

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies, in their order."""
        return tuple(dict.fromkeys(row.policy for row in self.outcomes))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of customers, the least first."""
        return tuple(dict.fromkeys(row.customers for row in self.outcomes))

    @property
    def today(self) -> str:
        """The name of today's arm, or those of all segments."""
        return choice_name(self.problem, self.against)

    def best(self, customers: int) -> Outcome:
        """Return the policy with the largest gain for so many customers."""
        return max((row for row in self.outcomes if row.customers == customers), key=lambda row: row.gain)

    def answers(self) -> list[str]:
        """Say in sentences what a campaign brings, or that nothing can be said of nothing."""
        nothing = nothing_said(self.problem)
        if nothing is not None and self.truth is None:
            return [nothing]
        row = self.best(self.asked or self.sizes[-1])
        said = [self._verdict(row), *self._parts(row)]
        if self.truth is None:
            said.append(self._risk(row))
        if self.elsewhere:
            said.append(f"If the prior is wrong: {'; '.join(map(self._fares, self.elsewhere))}.")
        if self.truth is None:
            said.append(self.precision().advice)
        return said

    def _verdict(self, row: Outcome) -> str:
        """Say what the campaign brings in all."""
        sure = row.percent - 100 * row.error / row.present >= WORTH_IT
        verdict = "Worth it" if sure else "Perhaps worth it" if row.percent >= WORTH_IT else "Not worth it"
        share = f"{row.percent:+.1f} %"
        if row.percent > 100:
            share = f"{row.earnings / row.present:.1f} times what always {self.today} earns"
        where = "on average over such shops" if self.truth is None else "in this shop"
        return (
            f"{verdict}: with {row.customers:,} customers it brings {money(abs(row.gain), self.unit)}"
            f"{_error(row)} {_more(row.gain)} than always {self.today} {where} ({with_minus(share)})."
        )

    def _parts(self, row: Outcome) -> list[str]:
        """Say how much of the gain is switching beforehand, and what learning adds."""
        beforehand = choice_name(self.problem, best_single_arm(self.problem))
        gained = "brings" if row.switching >= 0 else "loses"
        amount = money(abs(row.switching), self.unit)
        switching = f"Merely switching to {beforehand} beforehand {gained} {amount} of that."
        if self.today == beforehand:
            switching = f"None of that is switching beforehand: {self.today} already looks best."
        adds = "Learning adds" if row.learning >= 0 else "Learning costs"
        return [switching, f"{adds} {money(abs(row.learning), self.unit)}{_error(row)}."]

    def _risk(self, row: Outcome) -> str:
        worst = f"in the worst 5 the loss is {money(-row.low, self.unit)} or more"
        if row.low >= 0:
            worst = "fewer than 5 lose anything"
        return (
            f"Risk: in {round(100 * row.losing)} of 100 such shops always {self.today} would have earned "
            f"more; {worst}. In the middle 90 the gain is {money(row.low, '', True)} to "
            f"{money(row.high, self.unit, True)}."
        )

    def _fares(self, one: Elsewhere) -> str:
        """Say how the policy fares where rates are others than expected."""
        times = {0.5: "half", 2.0: "double"}.get(one.times, f"{one.times:g} times")
        return (
            f"with {times} the expected rates it earns {money(abs(one.gain), self.unit)} {_more(one.gain)} "
            f"than always {self.today} and {money(one.regret, self.unit)} less than knowing the best arm"
        )

    def recommendation(self) -> str:
        """Return these sentences, one on a line."""
        return "\n".join(self.answers())

    def precision(self) -> Precision:
        """Return how precisely the gain will be known, by the size of a holdout."""
        arms = choices(self.problem)[self.against]
        return precision(self.problem, self.asked or self.sizes[-1], arms, self.unit)

    def shops(self) -> str:
        """Say what the shops are like that are drawn, so that nobody takes them for their own unseen."""
        mean = 100 * self.problem.belief.mean(State.initial(self.problem))
        shown = list(zip(self.problem.names, mean.tolist(), strict=True))
        if len(shown) > _MOST_NAMED:
            shown = [shown[0], shown[-1]]
        (first, often), *rest = shown
        others = "".join(f", {name} with {share:.3g}" for name, share in rest)
        return (
            f"The shops come from the prior and what is assumed: on average {first} succeeds with "
            f"{often:.3g} of 100 customers{others}. If that is far from yours, say what you expect "
            "(--expect)."
        )

    def legend(self) -> dict[str, str]:
        """Return what each column of the table means."""
        return {
            "earns": "expected earnings of all customers, on average over shops",
            "gain": f"how much more than always {self.today} earns, ± its 95 % interval, or exact",
            "5–95 % of shops": "the gain in the middle 90 of 100 shops",
            "loses": f"shops in which the policy earns less than always {self.today} would",
            "finds": "shops whose last customer gets the best arm",
            "after": "in half of these it is settled by that customer",
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, for people: arms from 1."""
        return {
            "against": people_read(self.problem, self.against),
            "name": self.today,
            "instances": self.instances,
            "seed": self.seed,
            "unit": self.unit,
            "outcomes_known": self.delays or "at once",
            "rows": [
                {**asdict(row), "percent": row.percent, "learning": row.learning} for row in self.outcomes
            ],
            "asked": self.asked or self.sizes[-1],
            "answers": self.answers(),
            "recommendation": self.recommendation(),
            "elsewhere": [asdict(one) for one in self.elsewhere],
            "truth": None if self.truth is None else list(self.truth),
            "precision": self.precision().to_dict(),
            "shops": self.shops(),
        }

    def __str__(self) -> str:
        widths = "{:>9}  {:<18.18} {:>10} {:>17} {:>9} {:>20} {:>7} {:>7} {:>6}"
        heads = ("customers", "policy", "earns", "gain", "", "5–95 % of shops", "loses", "finds", "after")
        rows = [widths.format(*cells) for cells in (heads, *(row.cells() for row in self.outcomes))]
        legend = "; ".join(f"{column}: {meaning}" for column, meaning in self.legend().items())
        table = "\n".join([f"against always {self.today}", *rows, *textwrap.wrap(legend, _WIDTH)])
        said = self.answers() if self.truth is not None else [*self.answers(), self.shops()]
        parts = [table, wrapped(said)]
        if self.truth is None and nothing_said(self.problem) is None:
            parts.append(self.precision().table())
        return "\n\n".join(parts)


def _error(row: Outcome) -> str:
    return "" if row.exact else f" ± {money(row.error, '')}"


def _more(gain: float) -> str:
    return "more" if gain >= 0 else "less"


def wrapped(sentences: Sequence[str]) -> str:
    """Return sentences as lines of a terminal."""
    return "\n".join(textwrap.fill(one, _WIDTH, break_on_hyphens=False) for one in sentences)
