r"""Is it worth it? What a campaign of some number of customers earns, before there is one.

Shops are drawn from the prior. In each, a policy plays against always giving the present arm, and what both
are expected to earn given the shop's own means is compared: :math:`\sum_t r_{a_t}\mu_{a_t} - T r_c \mu_c`.
Means over shops are exact where all states can be counted (`elsv.exact`), else simulated, with their error.

To be quick, policies of a long campaign are not asked for every customer but keep their arm for 4 % of the
customers so far; what they would gain by being asked more often is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from elsv._numbers import whole
from elsv._progress import Progress
from elsv._typing import FloatArray
from elsv.beliefs.abilities import weighs
from elsv.errors import InvalidInputError
from elsv.exact.evaluate import evaluate, on_layers
from elsv.exact.passes import cost_of, passes_of
from elsv.names import parse
from elsv.policies import Policy, make_policy
from elsv.policies.single import (
    best_single_arm,
    choice_name,
    expected_rewards,
    find_choice,
    fixed_name,
    people_read,
)
from elsv.problem import Problem
from elsv.simulation.delays import Delays, delays_of
from elsv.simulation.engine import Run
from elsv.simulation.instances import FromPrior
from elsv.simulation.intervals import Z95
from elsv.simulation.limits import check_size
from elsv.simulation.parallel import run_chunks

SIZES = (100, 300, 1000, 3000)
POLICIES = ("plan:effort=4096",)
INSTANCES = 200
PATIENCE = 25
WORTH_IT = 1.0  # per cent of gain
_EXACT_SECONDS, _EXACT_BYTES = 3.0, 1 << 30


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


@dataclass(frozen=True)
class Rehearsal:
    """What campaigns of several sizes would earn."""

    problem: Problem
    against: int  # the present arm, from 0
    instances: int
    seed: int
    delays: str  # in words; empty if outcomes are known at once
    outcomes: tuple[Outcome, ...]  # by size, then by policy

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies, in their order."""
        return tuple(dict.fromkeys(row.policy for row in self.outcomes))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of customers, the least first."""
        return tuple(dict.fromkeys(row.customers for row in self.outcomes))

    def best(self, customers: int) -> Outcome:
        """Return the policy with the largest gain for so many customers."""
        return max((row for row in self.outcomes if row.customers == customers), key=lambda row: row.gain)

    def recommendation(self) -> str:
        """Say in words from how many customers on a campaign is worth it."""
        name = choice_name(self.problem, self.against)
        best = [self.best(size) for size in self.sizes]
        worth = [row.percent - 100 * row.error / row.present >= WORTH_IT for row in best]
        first = next((k for k in range(len(best)) if all(worth[k:])), None)
        parts = []
        if first != 0:
            last = best[-1] if first is None else best[first - 1]
            parts.append(
                f"With {last.customers:,} customers the gain over always {name} is "
                f"{_gain_in_words(last)}: not worth it."
            )
        if first is not None:
            row = best[first]
            rest = best[-1]
            more = "" if row is rest else f", with {rest.customers:,} it is {rest.percent:.1f} %"
            parts.append(
                f"{'With' if first == 0 else 'From'} {row.customers:,} customers the gain is "
                f"{row.percent:.1f} %{more}: worth it. In {100 * row.losing:.0f} of 100 shops always {name} "
                f"would earn more{'' if row.low >= 0 else f', in 5 of them by more than {-row.low:,.2f}'}."
            )
        return " ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, for people: arms from 1."""
        return {
            "against": people_read(self.problem, self.against),
            "name": choice_name(self.problem, self.against),
            "instances": self.instances,
            "seed": self.seed,
            "outcomes_known": self.delays or "at once",
            "rows": [{**asdict(row), "percent": row.percent} for row in self.outcomes],
            "recommendation": self.recommendation(),
        }

    def __str__(self) -> str:
        widths = "{:>9}  {:<18} {:>10} {:>17} {:>8} {:>17} {:>7} {:>7} {:>6}"
        heads = ("customers", "policy", "earns", "gain", "", "5–95 % of shops", "loses", "finds", "after")
        lines = [f"against always {choice_name(self.problem, self.against)}", widths.format(*heads)]
        for row in self.outcomes:
            gain = f"{row.gain:+,.2f}" + (" exact" if row.exact else f" ± {row.error:,.2f}")
            lines.append(
                widths.format(
                    f"{row.customers:,}",
                    row.policy[:18],
                    f"{row.earnings:,.2f}",
                    gain,
                    f"{row.percent:+.1f} %",
                    f"{row.low:+,.2f} – {row.high:+,.2f}",
                    f"{100 * row.losing:.0f} %",
                    f"{100 * row.found:.0f} %",
                    "–" if row.until is None else f"{row.until:,.0f}",
                )
            )
        return "\n".join([*lines, "", self.recommendation()])


def rehearse(
    problem: Problem,
    customers: Sequence[int] = SIZES,
    *,
    against: str | int | None = None,
    policies: str | Policy | Sequence[str | Policy] = POLICIES,
    instances: int = INSTANCES,
    seed: int = 0,
    delay: int | str | None = None,
    batch: int | None = None,
    lost: float | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Rehearsal:
    """Return what a campaign would earn with each number of customers, against always the present arm.

    Parameters
    ----------
    problem
        Its prior says which shops are likely; its own horizon does not matter.
    customers
        The numbers of customers to try.
    against
        The present arm, its name or its number from 0; default: the one that is best in expectation.
    policies
        Names or functions; default: `plan` with less effort than it makes live.
    instances
        Shops that are simulated.
    seed
        The same seed gives the same numbers.
    delay, batch, lost
        Outcomes that come late, as for `elsv.compare`.
    jobs
        Threads; default: one for each core.
    progress
        Called with the parts done and all parts.
    """
    sizes = sorted({whole("customers", size) for size in customers})
    if not sizes:
        raise InvalidInputError("customers must name at least one number, got none; for example [100, 1000]")
    several = isinstance(policies, Sequence) and not isinstance(policies, str)
    given: list[Any] = list(policies) if several else [policies]  # type: ignore[arg-type]
    present = best_single_arm(problem) if against is None else find_choice(problem, against)
    late = delays_of(delay, batch, lost)
    found: list[Outcome] = []
    for k, size in enumerate(sizes):
        values = {key: value for key, value in problem.to_dict().items() if key != "discount"}
        sized = Problem.from_dict({**values, "horizon": size})
        run = Run(
            problem=sized,
            policies=(*given, fixed_name(problem, present)),
            instances=whole("instances", instances),
            horizon=size,
            seed=whole("seed", seed, 0),
            source=FromPrior(sized),
            checkpoints=np.array([size]),
            keep_raw=True,
            delays=late,
            patience=PATIENCE,
        )
        check_size(run)
        done: dict[int, list[FloatArray]] = {}
        for tally in run_chunks(run, range(run.chunks), jobs):
            done[tally.chunk] = [_summary(policy.curves) for policy in tally.policies]
            if progress is not None:
                progress(k * run.chunks + len(done), len(sizes) * run.chunks)
        parts = [np.concatenate([done[c][p] for c in range(run.chunks)]) for p in range(len(run.policies))]
        found += _outcomes(run, given, parts, present, late)
    words = "" if late is None else late.describe()
    return Rehearsal(problem, present, instances, seed, words, tuple(found))


def _summary(curves: FloatArray | None) -> FloatArray:
    """Return final regret, the last step without a best arm, and whether the last had one, ``[B, 3]``."""
    assert curves is not None
    grown = np.diff(curves, axis=0, prepend=0.0) > 0
    steps = np.arange(1, len(curves) + 1)[:, None]
    last_wrong = np.where(grown, steps, 0).max(axis=0)
    return np.stack([curves[-1], last_wrong, ~grown[-1]], axis=1)


def _outcomes(
    run: Run, policies: Sequence[Any], parts: list[FloatArray], present: int, late: Delays | None
) -> list[Outcome]:
    problem, size = run.problem, run.horizon
    own = float(expected_rewards(problem)[present] * size)
    rows = []
    for policy, part in zip(policies, parts, strict=False):
        gains = run.unit * (parts[-1][:, 0] - part[:, 0])
        exact = None if late is not None else _exact_earnings(problem, policy)
        found = part[:, 2] > 0
        spread = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.inf
        gain = float(gains.mean()) if exact is None else exact - own
        rows.append(
            Outcome(
                customers=size,
                policy=str(parse(policy))
                if isinstance(policy, str)
                else getattr(policy, "__name__", repr(policy)),
                earnings=own + gain,
                present=own,
                gain=gain,
                error=float(Z95 * spread) if exact is None else 0.0,
                low=float(np.quantile(gains, 0.05)),
                high=float(np.quantile(gains, 0.95)),
                losing=float((gains < -1e-9 * problem.scale * size).mean()),
                found=float(found.mean()),
                until=float(np.median(part[found, 1])) if found.any() else None,
                exact=exact is not None,
            )
        )
    return rows


def _name(policy: Any) -> str:
    return str(parse(policy)) if isinstance(policy, str) else getattr(policy, "__name__", repr(policy))


def _exact_earnings(problem: Problem, policy: Any) -> float | None:
    """Return what a policy earns by exact evaluation, or None where that takes long or is not possible."""
    if not weighs(problem.belief):
        return None
    try:
        passes = passes_of(problem, [on_layers(problem, make_policy(policy, problem))], _EXACT_BYTES)
        cost = cost_of(problem, passes)
        if cost.seconds > _EXACT_SECONDS or cost.bytes > _EXACT_BYTES:
            return None
        return evaluate(problem, [policy])[0].value
    except InvalidInputError:  # a policy that draws, for example
        return None


def _gain_in_words(row: Outcome) -> str:
    if row.percent < WORTH_IT:
        return f"under {WORTH_IT:g} %"
    return f"{row.percent:.1f} % and may be under {WORTH_IT:g} %"
