r"""The exact Bayes reward of a policy: backward induction that follows it instead of the maximum.

For a policy that pulls arm a(s) at step t,

.. math:: V_t(s) = p_a(s)\,(r_a + V_{t+1}(s{+}\text{success}_a)) + (1-p_a(s))\,V_{t+1}(s{+}\text{failure}_a)

over every state of the lattice (past the paper): no simulation, no error bars. A policy that pulls arm i with
a known probability, such as Thompson sampling (`elsv.policies.layers.ByChance`), is the average over i.
What was found is one row for each policy (`Evaluation`), as a table, in frames and in LaTeX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np

from elsv._base.export import Columns
from elsv._base.html import block, note, table
from elsv._base.machine import available_memory, cores, jobs_of
from elsv._base.progress import Progress, part_of, silent, watched
from elsv._base.typing import FloatArray
from elsv.errors import InvalidInputError
from elsv.exact.cuda.sweeps import check_device
from elsv.exact.passes import SHORTER, Cost, Earned, Weights, check_memory, cost_of_all, passes_of, share_of
from elsv.exact.solve import largest_by_segment
from elsv.policies import Policy, make_policy
from elsv.policies.layers import LayerPolicy, Optimum, OwnLayers
from elsv.policies.single import (
    Gain,
    arms_by_segment,
    best_single_arm,
    choice_name,
    expected_rewards,
    find_choice,
    fixed_name,
    labels_of,
    people_read,
    rivals,
)
from elsv.problem import Problem

AnyPolicy = str | Policy | LayerPolicy
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

    @cached_property
    def singles(self) -> FloatArray:
        """What always each choice earns."""
        return self.problem.steps * expected_rewards(self.problem)

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


def evaluate(
    problem: Problem,
    policies: AnyPolicy | Sequence[AnyPolicy],
    *,
    horizon: int | None = None,
    against: str | int | None = None,
    memory: int | None = None,
    jobs: int | None = None,
    workers: int | None = None,
    progress: Progress | bool | None = None,
    announce: Callable[[Cost], None] | None = None,
    at_most: float | str | None = None,
    device: str = "cpu",
) -> Evaluation:
    """Compute what every policy earns, exactly: no simulation, no error bars.

    Returns a sequence of rows in the order given, each with a policy's `value` (its expected earnings) and
    `regret`; `gain` says how much more than always pulling one arm that is.

    Parameters
    ----------
    problem
        Must have a horizon, unless one is given.
    policies
        Names as for `elsv.make_policy`, ``"optimal"`` for the Bayes optimum, policies, a user's own
        functions (state, step, rng) that draw no random numbers, or whole-layer forms.
    horizon
        Replaces the problem's horizon (or discount), for the policies too.
    against
        An arm, by name or number from 0: tables show the gain over always pulling it, besides that over the
        arm that is best in expectation beforehand. With segments one arm for each, such as ``"1+3"``.
    memory
        Bytes that may be used; default: what is available. Policies that need more together go one part
        after the other.
    jobs
        Threads; default: one for each core. `workers` is the same.
    progress
        Called with (steps done, steps in all). None: a bar in a notebook, a line on a terminal if it
        takes long; True: a bar there too; False: none.
    announce
        Called before the start with the states and the memory that it will take.
    at_most
        Seconds, or text such as ``"10min"``: a run that is seen to take longer, by the layers that have run,
        ends with `elsv.errors.TooLongError`.
    device
        ``"cuda"``: on a GPU (extra ``gpu``), for two and three arms, independent or in an order, and policies
        that it knows: the optimum, index policies, one step of elsv, greedy, commit, plan and fixed arms.

    Examples
    --------
    >>> problem = Problem(rewards=[0.4, 0.7, 1.0], order="decreasing", horizon=10)
    >>> for row in evaluate(problem, ["fixed:arm=2", "greedy", "optimal"]):
    ...     print(row.name, round(row.value, 4))
    fixed:arm=2 3.5
    greedy 3.5507
    optimal 3.6032
    """
    several = isinstance(policies, Sequence) and not isinstance(policies, str)
    given: list[Any] = list(policies) if several else [policies]  # type: ignore[arg-type]
    if not given:
        raise InvalidInputError("name at least one policy to evaluate")
    threads, on_card = cores(jobs_of(jobs, workers)), check_device(device)
    if horizon is not None:
        problem = problem.with_horizon(horizon)
    rival = None if against is None else find_choice(problem, against)
    names, forms = [_name(policy) for policy in given], [on_layers(problem, policy) for policy in given]
    limit = available_memory() if memory is None else memory
    if on_card:
        from elsv.exact.cuda.run import passes_on_card

        passes = passes_on_card(problem, forms, names, memory)
    else:
        passes = passes_of(problem, forms, limit)
    cost = cost_of_all(passes)
    if announce is not None:
        announce(cost)
    if not on_card:
        check_memory(cost, limit)
    found: dict[int, Earned] = {}
    weights, share = Weights(problem, threads, len(passes)), share_of(problem, passes)
    with watched(progress, "evaluating", share=share, at_most=at_most, remedy=SHORTER) as report:
        for k, one in enumerate(passes):
            begin, total = k * problem.steps, len(passes) * problem.steps
            part = part_of(report, begin, begin + problem.steps, total) or silent
            found |= one.run(problem, weights, threads, part)
            weights.passes -= 1
    largest, labels = largest_by_segment(problem), labels_of(names, given, problem)
    rows = (_row(names[k], found[k], largest, labels[k], problem) for k in range(len(given)))
    return Evaluation(problem, tuple(rows), rival)


def _row(name: str, found: Earned, largest: FloatArray, label: str, problem: Problem) -> PolicyValue:
    (earned, seconds), value = found, sum(found[0])
    parts = zip(problem.segments.names, earned, largest.tolist(), strict=False)
    by_segment = tuple(SegmentValue(segment, part, most - part) for segment, part, most in parts)
    return PolicyValue(name, value, float(largest.sum()) - value, seconds, label, by_segment)


def on_layers(problem: Problem, policy: AnyPolicy) -> LayerPolicy:
    """Return the whole-layer form of a policy: its own, or state by state."""
    if isinstance(policy, str) and policy == OPTIMAL:
        return Optimum(problem.belief)
    form: Any = policy
    if not (hasattr(form, "decide") and hasattr(form, "reach")):
        form = make_policy(form, problem).on_layers(problem)
    return form if isinstance(form, LayerPolicy) else OwnLayers(form)


def _name(policy: Any) -> str:
    if isinstance(policy, str):
        return policy
    return str(getattr(policy, "__name__", None) or type(policy).__name__)
