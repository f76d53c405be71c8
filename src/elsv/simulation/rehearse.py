r"""Is it worth it? What a campaign of some number of customers earns, before there is one.

Shops are drawn from the prior. In each, a policy plays against always giving the present arm, and what both
are expected to earn given the shop's own means is compared: :math:`\sum_t r_{a_t}\mu_{a_t} - T r_c \mu_c`.
Means over shops are exact where all states can be counted (`elsv.exact`), else simulated, with their error.

To be quick, policies of a long campaign are not asked for every customer but keep their arm for 4 % of the
customers so far; what they would gain by being asked more often is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from elsv._base.numbers import whole
from elsv._base.progress import Progress
from elsv._base.typing import FloatArray
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
from elsv.simulation.engine import Run, check_size
from elsv.simulation.instances import FromPrior
from elsv.simulation.intervals import Z95
from elsv.simulation.parallel import run_chunks
from elsv.simulation.rehearsal import Outcome, legend, shops, table, verdict
from elsv.simulation.rehearse_cost import seconds_of, times_asked
from elsv.simulation.steps import Steps

SIZES = (100, 300, 1000, 3000)
POLICIES = ("plan:effort=4096",)
INSTANCES = 200
PATIENCE = 25
_EXACT_SECONDS, _EXACT_BYTES = 3.0, 1 << 30


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
        return verdict(choice_name(self.problem, self.against), [self.best(size) for size in self.sizes])

    def shops(self) -> str:
        """Say in words what the shops are like on average."""
        return shops(self.problem)

    def legend(self) -> dict[str, str]:
        """Return what each column of the table means."""
        return legend(choice_name(self.problem, self.against))

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
            "shops": self.shops(),
        }

    def __str__(self) -> str:
        shown = table(choice_name(self.problem, self.against), self.outcomes)
        return f"{shown}\n\n{self.recommendation()}\n{self.shops()}"


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
    announce: Callable[[float], None] | None = None,
) -> Rehearsal:
    """Return what a campaign would earn with each number of customers, against always the present arm.

    Parameters
    ----------
    problem
        Its prior says which shops are likely; its own horizon does not matter.
    customers
        The numbers of customers to try; default: 100, 300, 1000 and 3000.
    against
        The present arm, its name or its number from 0; default: the one that is best in expectation.
    policies
        Names or functions; default: `plan` with less effort than it makes live.
    instances
        Shops that are simulated; default: 200.
    seed
        The same seed gives the same numbers. With as many instances it draws the shops that `elsv.compare`
        draws; figures still differ a little, since `compare` asks policies for every customer and takes the
        present arm's earnings from the shops, where they are exact here.
    delay, batch, lost
        Outcomes that come late, as for `elsv.compare`.
    jobs
        Threads; default: one for each core.
    progress
        Called with the decisions made and all decisions.
    announce
        Called before the work begins with the seconds that it will take, within a factor of about three; a
        few shops are played to know.
    """
    sizes = sorted({whole("customers", size) for size in customers})
    if not sizes:
        raise InvalidInputError("customers must name at least one number, got none; for example [100, 1000]")
    several = isinstance(policies, Sequence) and not isinstance(policies, str)
    given: list[Any] = list(policies) if several else [policies]  # type: ignore[arg-type]
    present = best_single_arm(problem) if against is None else find_choice(problem, against)
    late = delays_of(delay, batch, lost)
    runs = [
        Run(
            problem=(sized := _of_size(problem, size)),
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
        for size in sizes
    ]
    for run in runs:
        check_size(run)
    if announce is not None:
        pairs = [(run.problem, policy) for run in runs for policy in given] if late is None else []
        announce(seconds_of(runs, jobs) + sum(_exact_seconds(*pair) or 0.0 for pair in pairs))
    ends = [0, *np.cumsum([run.instances * times_asked(run) for run in runs]).tolist()]
    found: list[Outcome] = []
    for run, begin, end in zip(runs, ends, ends[1:], strict=False):
        report = None if progress is None else _within(progress, begin, end, ends[-1])
        done: dict[int, list[FloatArray]] = {}
        steps = Steps(run.chunks, run.steps_of_chunk, report)
        for tally in run_chunks(run, range(run.chunks), jobs, steps=steps):
            done[tally.chunk] = [_summary(policy.curves) for policy in tally.policies]
        parts = [np.concatenate([done[c][p] for c in range(run.chunks)]) for p in range(len(run.policies))]
        found += _outcomes(run, given, parts, present, late)
    words = "" if late is None else late.describe()
    return Rehearsal(problem, present, instances, seed, words, tuple(found))


def _of_size(problem: Problem, customers: int) -> Problem:
    values = {key: value for key, value in problem.to_dict().items() if key != "discount"}
    return Problem.from_dict({**values, "horizon": customers})


def _within(progress: Progress, begin: int, end: int, total: int) -> Progress:
    """Return what reports the progress of a part that takes from `begin` to `end` of `total`."""

    def report(done: int, all_of_it: int) -> None:
        progress(begin + (end - begin) * done // all_of_it, total)

    return report


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
                policy=_name(policy),
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


def _exact_seconds(problem: Problem, policy: Any) -> float | None:
    """Return what exact evaluation of a policy takes, or None where that is long or not possible."""
    if not weighs(problem.belief):
        return None
    try:
        passes = passes_of(problem, [on_layers(problem, make_policy(policy, problem))], _EXACT_BYTES)
        cost = cost_of(problem, passes)
    except InvalidInputError:  # a policy that draws, for example
        return None
    return None if cost.seconds > _EXACT_SECONDS or cost.bytes > _EXACT_BYTES else cost.seconds


def _exact_earnings(problem: Problem, policy: Any) -> float | None:
    """Return what a policy earns by exact evaluation, or None where that takes long or is not possible."""
    if _exact_seconds(problem, policy) is None:
        return None
    try:
        return evaluate(problem, [policy])[0].value
    except InvalidInputError:
        return None
