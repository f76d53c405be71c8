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

from elsv._base.numbers import whole
from elsv._base.progress import Progress, watched
from elsv._base.typing import FloatArray
from elsv.beliefs.abilities import weighs
from elsv.errors import InvalidInputError
from elsv.exact.evaluate import evaluate
from elsv.lattice.numbering import states_up_to
from elsv.names import parse
from elsv.policies import Policy
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
from elsv.simulation.steps import Steps

SIZES = (100, 300, 1000, 3000)
POLICIES = ("plan:effort=4096",)
INSTANCES = 200
PATIENCE = 25
_EXACT_SECONDS, _EXACT_BYTES, _EXACT_STATES = 3.0, 1 << 30, 10**8


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
    progress: Progress | bool | None = False,
    at_most: float | str | None = None,
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
        Called with the decisions made and all decisions. None: a bar in a notebook, a line on a terminal if
        it takes long; True: a bar there too; False, the default: none.
    at_most
        Seconds, or text such as ``"10min"``: a run that is seen to take longer, by the decisions that were
        made, ends with `elsv.errors.TooLongError`.
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
    ends = [0, *np.cumsum([run.instances * _times_asked(run) for run in runs]).tolist()]
    found: list[Outcome] = []
    remedy = "use fewer customers, shops (instances) or policies"
    with watched(progress, "rehearsing", at_most=at_most, remedy=remedy) as told:
        for run, begin, end in zip(runs, ends, ends[1:], strict=False):
            report = None if told is None else _within(told, begin, end, ends[-1])
            done: dict[int, list[FloatArray]] = {}
            steps = Steps(run.chunks, run.steps_of_chunk, report)
            for tally in run_chunks(run, range(run.chunks), jobs, steps=steps):
                done[tally.chunk] = [_summary(policy.curves) for policy in tally.policies]
            played = range(len(run.policies))
            parts = [np.concatenate([done[c][p] for c in range(run.chunks)]) for p in played]
            found += _outcomes(run, given, parts, present, late)
    words = "" if late is None else late.describe()
    return Rehearsal(problem, present, instances, seed, words, tuple(found))


def _times_asked(run: Run) -> int:
    """Return for how many customers of a run policies are asked."""
    return sum(map(run.asks, range(1, run.horizon + 1)))


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


def _exact_earnings(problem: Problem, policy: Any) -> float | None:
    """Return what a policy earns by exact evaluation, or None where that takes long or is not possible."""
    if not weighs(problem.belief) or states_up_to(problem.arms, problem.steps - 1) > _EXACT_STATES:
        return None
    limits: dict[str, Any] = {"memory": _EXACT_BYTES, "at_most": _EXACT_SECONDS, "progress": False}
    try:
        return evaluate(problem, [policy], **limits)[0].value
    except InvalidInputError:  # a policy that draws, for example, or one that takes too long
        return None
