"""What an exact evaluation found: one row for each policy, as a table, in frames and in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, overload

import numpy as np

from elsv._base.export import Columns
from elsv._base.html import block, note, table
from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError
from elsv.policies.single import (
    Gain,
    arms_by_segment,
    best_single_arm,
    choice_name,
    expected_rewards,
    find_choice,
    fixed_name,
    people_read,
    rivals,
)
from elsv.problem import Problem

OPTIMAL = "optimal"
_ROUNDING = 1e-12


@dataclass(frozen=True)
class SegmentValue:
    """What a policy earns from one segment, and how much less that is than by its best arm."""

    segment: str
    value: float
    regret: float


@dataclass(frozen=True)
class PolicyValue:
    r"""Exact expected reward of a policy over the horizon, and :math:`T\,E[\max_i r_i\mu_i]` minus it."""

    name: str
    value: float  # what the policy earns in expectation
    regret: float  # what knowing the best arm would add
    seconds: float  # for this policy; what policies share is in the first one's
    label: str = ""  # what people read instead of the name, if that is something else
    by_segment: tuple[SegmentValue, ...] = ()  # what is earned from each segment, if there are some

    def __str__(self) -> str:
        return self.label or self.name


def gap_percent(policy: PolicyValue, optimal: PolicyValue) -> float | None:
    """Return how much a policy's regret lies above the optimal one, in percent of it; None if that is 0."""
    largest = optimal.value + optimal.regret  # what one who knew the means would earn
    if optimal.regret <= 1e-12 * largest:
        return 0.0 if policy.regret <= 1e-9 * largest else None
    percent = 100.0 * (policy.regret - optimal.regret) / optimal.regret
    return 0.0 if abs(percent) < 1e-9 else percent


@dataclass(frozen=True, repr=False)
class Evaluation(Columns, Sequence[PolicyValue]):
    """Policies with their exact expected earnings and regret, in the order given; a sequence of them."""

    problem: Problem
    rows: tuple[PolicyValue, ...]
    against: int | None = None  # an arm (from 0) that gains are also shown over
    singles: FloatArray = field(init=False, repr=False, compare=False)  # what always each choice earns

    def __post_init__(self) -> None:
        object.__setattr__(self, "singles", self.problem.steps * expected_rewards(self.problem))

    @overload
    def __getitem__(self, place: int | str) -> PolicyValue: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[PolicyValue, ...]: ...
    def __getitem__(self, place: int | slice | str) -> PolicyValue | tuple[PolicyValue, ...]:
        """Return one policy by its place or its name, or several by a slice."""
        if not isinstance(place, str):
            return self.rows[place]
        for row in self.rows:
            if row.name == place:
                return row
        names = ", ".join(row.name for row in self.rows)
        raise InvalidInputError(f"no policy {place!r} here; there are: {names}")

    def __len__(self) -> int:
        """Return the number of policies."""
        return len(self.rows)

    def earnings(self) -> dict[str, float]:
        """Return what every policy earns in expectation over the horizon."""
        return {row.name: row.value for row in self.rows}

    def gain(self, policy: str | PolicyValue, against: str | int | None = None) -> Gain:
        """Return how much more a policy earns than always pulling one arm, exactly.

        `against` is the name of an arm, or its number from 0; default: the arm that is best in expectation
        beforehand. With segments it is one arm for each, such as ``"1+3"``.
        """
        row = self[policy] if isinstance(policy, str) else policy
        chosen = best_single_arm(self.problem) if against is None else find_choice(self.problem, against)
        return self.gain_over(row, chosen)

    def gain_over(self, row: PolicyValue, arm: int) -> Gain:
        """Return the same over one of `elsv.policies.single.choices`: an arm, or one for each segment."""
        alone = float(self.singles[arm])
        gain = row.value - alone
        if abs(gain) <= _ROUNDING * alone:
            gain = 0.0
        arms = arms_by_segment(self.problem, arm)
        return Gain(arm, choice_name(self.problem, arm), gain, 100 * gain / alone, arms=arms)

    def single(self, arm: int) -> PolicyValue:
        """Return what always pulling an arm (from 0) earns, as a row."""
        value, largest = float(self.singles[arm]), self.rows[0].value + self.rows[0].regret
        label = f"always {choice_name(self.problem, arm)}"
        return PolicyValue(fixed_name(self.problem, arm), value, largest - value, 0.0, label)

    @property
    def rivals(self) -> tuple[int, ...]:
        """The arms (from 0) that gains are shown over: the best beforehand first."""
        return rivals(self.problem, self.against)

    def above_optimum(self, policy: PolicyValue) -> float | None:
        """Return how much a policy's regret lies above the optimum's in per cent, if that is here too."""
        optimum = next((row for row in self.rows if row.name == OPTIMAL), None)
        return None if optimum is None else gap_percent(policy, optimum)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, for people: arms from 1."""
        arms = self.rivals
        return {
            "horizon": self.problem.horizon,
            "policies": [
                {
                    "policy": row.name,
                    "label": str(row),
                    "value": row.value,
                    "earnings": row.value,
                    "gains": [self.gain_over(row, arm).to_dict() for arm in arms],
                    "regret": row.regret,
                    "gap_percent": self.above_optimum(row),
                    **({"by_segment": [asdict(part) for part in row.by_segment]} if row.by_segment else {}),
                }
                for row in self.rows
            ],
            "single_arms": [
                {
                    "arm": people_read(self.problem, arm),
                    "name": choice_name(self.problem, arm),
                    "best_beforehand": arm == arms[0],
                    "earnings": float(self.singles[arm]),
                }
                for arm in arms
            ],
        }

    def columns(self) -> dict[str, Any]:
        """Return one row for each policy, by column; gains are those over the best single arm."""
        nan = float("nan")
        above = (self.above_optimum(row) for row in self.rows)
        table: dict[str, Any] = {
            "policy": np.array([row.name for row in self.rows]),
            "label": np.array([str(row) for row in self.rows]),
            "earnings": np.array([row.value for row in self.rows]),
        }
        for arm, word in zip(self.rivals, ("best_single", "against"), strict=False):
            gains = [self.gain_over(row, arm) for row in self.rows]
            table[f"{word}_arm"] = np.array([gain.name for gain in gains])
            table[f"gain_over_{word}"] = np.array([gain.amount for gain in gains])
            table[f"gain_over_{word}_percent"] = np.array([gain.percent for gain in gains])
        table["regret"] = np.array([row.regret for row in self.rows])
        table["above_optimum_percent"] = np.array([nan if gap is None else gap for gap in above])
        for g, segment in enumerate(self.problem.segments.names):
            table[f"earnings_{segment}"] = np.array([row.by_segment[g].value for row in self.rows])
            table[f"regret_{segment}"] = np.array([row.by_segment[g].regret for row in self.rows])
        return table

    def plot(self, ax: Any = None) -> Any:
        """Draw the regrets on a matplotlib Axes with the user's own settings and return it (extra ``plot``).

        One row for each policy, the least on top, and the Bayes optimum, if it is here too, as a line.
        """
        from elsv.report.plots import plot_values

        return plot_values({str(row): row.regret for row in self.rows}, ax, steps=self.problem.steps)

    def to_latex(
        self,
        *,
        columns: Sequence[str] | None = None,
        bold_best: bool = False,
        digits: int | None = None,
        caption: str | None = None,
        label: str | None = None,
        booktabs: bool = True,
    ) -> str:
        """Return the table of policies as LaTeX: see `elsv.to_latex`, which takes several results too."""
        from elsv.report.latex import to_latex

        return to_latex(
            self,
            columns=columns,
            bold_best=bold_best,
            digits=digits,
            caption=caption,
            label=label,
            booktabs=booktabs,
        )

    def __repr__(self) -> str:
        return f"Evaluation({[row.name for row in self.rows]}, horizon={self.problem.horizon})"

    def __str__(self) -> str:
        from elsv.report.terminal import evaluation_text

        return evaluation_text(self)

    def _repr_html_(self) -> str:
        """Return the table of policies, the optimum marked, for notebooks."""
        from elsv.report.evaluation import REGRET, earned, evaluation_table, segment_tables

        optimum = [place for place, row in enumerate(self.rows) if row.name == OPTIMAL]
        shown = table(*evaluation_table(self), chosen=optimum)
        by_segment = [table(*one, chosen=optimum) for one in segment_tables(self)]
        return block("Exact evaluation", shown, *by_segment, note(earned(self)), note(REGRET))
