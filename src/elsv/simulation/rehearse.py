r"""Is it worth it? What a campaign of some number of customers earns, before there is one.

Shops are drawn from the prior. In each, a policy plays against always giving today's arm c, and what both are
expected to earn given the shop's own means is compared: :math:`\sum_t r_{a_t}\mu_{a_t} - T r_c \mu_c`. The
gain has two parts. Switching, without learning, to the arm b that looks best beforehand brings
:math:`T\,E[r_b\mu_b - r_c\mu_c]`, which needs no simulation; learning adds what the policy earns beyond
always b in the same shops. Of this sum and the plain difference to always c the surer one is taken; both are
exact where all states can be counted (`elsv.exact`).

To be quick, policies of a long campaign are not asked for every customer but keep their arm for 4 % of the
customers so far; what they would gain by being asked more often is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any, cast

import numpy as np

from elsv._base.numbers import whole
from elsv._base.progress import Progress, part_of, watched
from elsv._base.typing import FloatArray
from elsv.beliefs.abilities import weighs
from elsv.beliefs.base import mean_of
from elsv.errors import InvalidInputError
from elsv.exact.evaluate import evaluate
from elsv.lattice.numbering import states_up_to
from elsv.policies import Policy
from elsv.policies.single import best_single_arm, expected_rewards, find_choice, fixed_name
from elsv.prior.expectations import Interval, from_rates, parse_expectation
from elsv.prior.untried import nothing_said
from elsv.problem import Problem
from elsv.simulation.compare import name_of
from elsv.simulation.engine import Run, check_size
from elsv.simulation.instances import FromPrior, GivenMeans, delays_of
from elsv.simulation.parallel import run_chunks
from elsv.simulation.precision import Z95
from elsv.simulation.rehearsal import Elsewhere, Outcome, Rehearsal
from elsv.state import State

POLICIES = ("plan:effort=4096",)
_IN_SEGMENTS = ("plan:effort=4096,points=192",)  # as good to a twentieth of a gain's error, in half the time
INSTANCES = 200
PATIENCE = 25
_EXACT_STATES = 3_000_000
_TIMES = (0.5, 2.0)  # rates of shops in which the prior is wrong
_ELSEWHERE = 50  # times that each of them is played


def rehearse(
    problem: Problem,
    customers: Sequence[int] | None = None,
    *,
    against: str | int | None = None,
    policies: str | Policy | Sequence[str | Policy] | None = None,
    instances: int = INSTANCES,
    seed: int = 0,
    delay: int | str | None = None,
    batch: int | None = None,
    lost: float | None = None,
    jobs: int | None = None,
    progress: Progress | bool | None = False,
    at_most: float | str | None = None,
    unit: str = "",
    truth: str | Mapping[str, Interval] | None = None,
) -> Rehearsal:
    """Return what a campaign would earn with each number of customers, against always today's arm.

    Parameters
    ----------
    problem
        Its prior says which shops are likely.
    customers
        The numbers of customers to try; default: the problem's horizon, a third, the half and the double of
        it. The answers are about the horizon if it is among them, else about the largest.
    against
        Today's arm, its name or its number from 0; default: the one that is best in expectation.
    policies
        Names or functions; default: `plan` with less effort than it makes live, and with segments fewer
        points.
    instances
        Shops that are simulated; default: 200.
    seed
        The same seed gives the same numbers. With as many instances it draws the shops that `elsv.compare`
        draws; figures still differ a little, since `compare` asks policies for every customer and takes what
        single arms earn from the shops, where it is exact here.
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
    unit
        Of the rewards, such as ``"EUR"``.
    truth
        The rate of every arm in the one shop to play in, such as ``"none=3%, sale=5%"`` or
        ``{"none": 0.03, "sale": 0.05}``; default: many shops, drawn from the prior.
    """
    around = problem.horizon or round(1 / (1 - (problem.discount or 0.0)))
    chosen = {-(-around // 3), -(-around // 2), around, 2 * around} if customers is None else customers
    sizes = sorted({whole("customers", size) for size in chosen})
    if not sizes:
        raise InvalidInputError("customers must name at least one number, got none; for example [100, 1000]")
    policies = default_policies(problem) if policies is None else policies
    given: list[Any] = [policies] if isinstance(policies, str) or callable(policies) else list(policies)
    likely = best_single_arm(problem)
    present = likely if against is None else find_choice(problem, against)
    rates = None if truth is None else _truth(problem, truth)
    late = delays_of(delay, batch, lost)
    fixed = dict.fromkeys(fixed_name(problem, arm) for arm in (likely, present))
    runs = [
        Run(
            problem=(sized := problem.with_horizon(size)),
            policies=(*given, *fixed),
            instances=whole("instances", instances),
            horizon=size,
            seed=whole("seed", seed, 0),
            source=FromPrior(sized) if rates is None else GivenMeans(rates[None], problem.arms),
            checkpoints=np.array([size]),
            keep_raw=True,
            delays=late,
            patience=PATIENCE,
        )
        for size in sizes
    ]
    asked = around if around in sizes else sizes[-1]
    others = []
    if rates is None and nothing_said(problem) is None:
        others = [_elsewhere(run, times) for run in runs if run.horizon == asked for times in _TIMES]
    for run in (everything := [*runs, *others]):
        check_size(run)
    decisions = (run.instances * sum(map(run.asks, range(1, run.horizon + 1))) for run in everything)
    ends = [0, *accumulate(decisions)]
    remedy = "use fewer customers, shops (instances) or policies"
    played: list[list[FloatArray]] = []
    with watched(progress, "rehearsing", at_most=at_most, remedy=remedy) as told:
        for run, (begin, end) in zip(everything, pairwise(ends), strict=True):
            played.append(_played(run, jobs, part_of(told, begin, end, ends[-1])))
    beforehand, today = expected_rewards(problem, rates)[[likely, present]]
    exact = late is None and rates is None
    found: list[Outcome] = []
    for run, parts in zip(runs, played, strict=False):
        found += _outcomes(run, given, parts, beforehand, today, exact)
    elsewhere = []
    for times, run, parts in zip(_TIMES, others, played[len(runs) :], strict=False):
        lost, lost_today = (run.unit * float(part[:, 0].mean()) for part in parts)
        elsewhere.append(Elsewhere(times, lost_today - lost, lost))
    known = "" if late is None else late.describe()
    shown = None if rates is None else tuple(rates.tolist())
    return Rehearsal(
        problem, present, instances, seed, known, tuple(found), unit, asked, shown, tuple(elsewhere)
    )


def default_policies(problem: Problem) -> tuple[str, ...]:
    """Return the policies that are rehearsed where none is named."""
    return POLICIES if problem.segments.count == 1 else _IN_SEGMENTS


def _truth(problem: Problem, given: str | Mapping[str, Interval]) -> FloatArray:
    """Return the rate of every arm ``[N]``."""
    if isinstance(given, str):
        parts = re.split(r"[,;]\s*(?=[^,;=]+=)", given)
        given = dict(map(parse_expectation, parts))
    rates = from_rates(problem, given)
    missing = [name for name, rate in zip(problem.names, rates, strict=True) if np.isnan(rate)]
    if missing:
        raise InvalidInputError(f"truth must give the rate of every arm, got none for {', '.join(missing)}")
    if not problem.structure.holds(rates):
        raise InvalidInputError(
            f"truth must be possible: {problem.structure.describe()}; got "
            + ", ".join(f"{name} {rate:g}" for name, rate in zip(problem.names, rates, strict=True))
        )
    return rates


def _elsewhere(run: Run, times: float) -> Run:
    """Return the first policy beside today's arm, in a shop whose rates are so many times the expected."""
    mean = mean_of(run.problem.belief, State.initial(run.problem), np.random.default_rng(0))
    rates = np.minimum(times * mean, (1 + mean) / 2)
    return replace(
        run,
        policies=(run.policies[0], run.policies[-1]),
        instances=min(run.instances, _ELSEWHERE),
        source=GivenMeans(rates[None], run.problem.arms),
    )


def _played(run: Run, jobs: int | None, report: Progress | None) -> list[FloatArray]:
    """Return what `_summary` says of every policy ``[B, 3]``."""
    tallies = run_chunks(run, range(run.chunks), jobs, progress=report)
    found = {tally.chunk: list(map(_summary, cast(FloatArray, tally.curves))) for tally in tallies}
    return [np.concatenate([found[c][p] for c in range(run.chunks)]) for p in range(len(run.policies))]


def _summary(curves: FloatArray) -> FloatArray:
    """Return final regret, the last step without a best arm, and whether the last had one, ``[B, 3]``."""
    grown = np.diff(curves, axis=0, prepend=0.0) > 0
    steps = np.arange(1, len(curves) + 1)[:, None]
    last_wrong = np.where(grown, steps, 0).max(axis=0)
    return np.stack([curves[-1], last_wrong, ~grown[-1]], axis=1)


def _outcomes(
    run: Run, policies: Sequence[Any], parts: list[FloatArray], beforehand: float, today: float, exact: bool
) -> list[Outcome]:
    """Return what each policy gains; after the policies' parts comes that of the best arm, last today's."""
    problem, size = run.problem, run.horizon
    own, switching = today * size, (beforehand - today) * size
    rows = []
    for policy, part in zip(policies, parts, strict=False):
        gains = run.unit * (parts[-1][:, 0] - part[:, 0])
        learnt = run.unit * (parts[len(policies)][:, 0] - part[:, 0])
        counted = _exact_earnings(problem, policy) if exact else None
        found = part[:, 2] > 0
        beyond, known = (learnt, switching) if learnt.std() < gains.std() else (gains, 0.0)
        spread = beyond.std(ddof=1) / np.sqrt(len(beyond)) if len(beyond) > 1 else np.inf
        gain = known + float(beyond.mean()) if counted is None else counted - own
        rows.append(
            Outcome(
                customers=size,
                policy=name_of(policy),
                earnings=float(own + gain),
                present=float(own),
                gain=float(gain),
                error=float(Z95 * spread) if counted is None else 0.0,
                low=float(np.quantile(gains, 0.05)),
                high=float(np.quantile(gains, 0.95)),
                losing=float((gains < -1e-9 * problem.scale * size).mean()),
                found=float(found.mean()),
                until=float(np.median(part[found, 1])) if found.any() else None,
                exact=counted is not None,
                switching=float(switching),
            )
        )
    return rows


def _exact_earnings(problem: Problem, policy: Any) -> float | None:
    """Return what a policy earns by exact evaluation, or None where states are many or it is not possible."""
    if not weighs(problem.belief) or states_up_to(problem.arms, problem.steps - 1) > _EXACT_STATES:
        return None
    try:
        return evaluate(problem, [policy], progress=False)[0].value
    except InvalidInputError:  # a policy that draws, for example
        return None
