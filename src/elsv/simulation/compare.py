"""Compare policies on the same instances: one call, one result that prints, plots and exports."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.export import Columns
from elsv._base.files import Outputs
from elsv._base.machine import jobs_of
from elsv._base.numbers import whole
from elsv._base.progress import Progress, watched
from elsv._base.typing import IntArray
from elsv._version import __version__
from elsv.errors import InvalidInputError
from elsv.names import parse
from elsv.policies import Policy, single
from elsv.policies.registry import legend
from elsv.problem import Problem
from elsv.simulation.aggregate import QUANTILES, PolicyResult, Totals, totals_of
from elsv.simulation.engine import ChunkTally, Run, check_size
from elsv.simulation.instances import FromPrior, GivenMeans, delays_of
from elsv.simulation.parallel import Workers, run_chunks
from elsv.simulation.store import ChunkStore

_MOST_CHECKPOINTS = 50


@dataclass(frozen=True)
class Comparison(Columns):
    """What `compare` measured. Arrays are by step and cumulative.

    Earnings are expected rewards; regret is what was earned less than by always pulling the arm that is truly
    best in an instance. The luck of single outcomes counts in neither (pseudo-regret).
    """

    problem: Problem
    names: tuple[str, ...]
    horizon: int  # steps simulated; those that the policies planned for are the problem's
    seed: int
    source: str
    checkpoints: IntArray = field(repr=False)
    totals: Totals = field(repr=False)
    seconds: float = field(repr=False)
    fingerprint: str = field(default="", repr=False)  # of all that the numbers depend on; if they were kept
    labels: tuple[str, ...] = field(default=(), repr=False)  # what people read instead of the names
    specs: tuple[object, ...] = field(default=(), repr=False)  # what each name stands for, if it is text
    against: int | None = field(default=None, repr=False)  # an arm (from 0) that gains are also shown over
    delays: str = ""  # in words; empty if every outcome was known before the next step

    def __getitem__(self, policy: str) -> PolicyResult:
        """Return the result of one policy by the name it was given."""
        if policy not in self.names:
            raise InvalidInputError(f"no policy {policy!r} here; there are: {', '.join(self.names)}")
        return self.totals.policies[self.names.index(policy)]

    @property
    def instances(self) -> int:
        """Number of instances."""
        return self.totals.instances

    @property
    def rivals(self) -> tuple[int, ...]:
        """The arms (from 0) that gains are shown over: the best beforehand first."""
        return single.rivals(self.problem, self.against)

    def difference(self, first: str, second: str) -> tuple[float, float]:
        """Return the mean final regret of `first` minus that of `second` and its 95 % half-width.

        Both met the same instances and outcomes, so the interval is that of paired differences.
        """
        self[first], self[second]
        p, q = self.names.index(first), self.names.index(second)
        return float(self.totals.difference[p, q]), float(self.totals.difference_ci95[p, q])

    def label(self, policy: str) -> str:
        """Return what people read for a policy: ``always full price`` for ``fixed:arm=4``, else its name."""
        return self.labels[self.names.index(policy)] if self.labels else policy

    def legend(self) -> dict[str, str]:
        """Return what each policy of the package does, in a few words."""
        return legend(dict(zip(self.names, self.specs or self.names, strict=True)))

    def earnings(self) -> dict[str, tuple[float, float]]:
        """Return what every policy earns in expectation over all steps, and its 95 % half-width."""
        return {
            name: (float(result.earnings[-1]), float(result.earnings_ci95[-1]))
            for name, result in zip(self.names, self.totals.policies, strict=True)
        }

    def gain(self, policy: str, against: str | int | None = None) -> single.Gain:
        """Return how much more a policy earns than always pulling one arm, in units and in per cent.

        Both met the same instances, so the intervals are those of paired differences.

        Parameters
        ----------
        against
            The name of an arm, or its number from 0; default: the arm that is best in expectation beforehand.
            With segments one arm for each, such as ``"1+3"``.
        """
        self[policy]
        arm = self.rivals[0] if against is None else single.find_choice(self.problem, against)
        return self.gain_over(policy, arm)

    def gain_over(self, policy: str, arm: int) -> single.Gain:
        """Return the same over one of `elsv.policies.single.choices`: an arm, or one for each segment."""
        problem, singles = self.problem, self.totals.singles
        place = self.names.index(policy), arm
        parts = (singles.gains, singles.percent, singles.ci95, singles.percent_ci95)
        amount, percent, half, percent_half = (float(part[place]) for part in parts)
        arms = single.arms_by_segment(problem, arm)
        return single.Gain(arm, single.choice_name(problem, arm), amount, percent, half, percent_half, arms)

    def to_dict(self) -> dict[str, Any]:
        """Return everything that goes into ``summary.json``."""
        arms, regret_at = self.rivals, _spread(self.horizon, 10)
        policies = [
            {
                "policy": name,
                "label": self.label(name),
                "earnings": float(result.earnings[-1]),
                "earnings_ci95": float(result.earnings_ci95[-1]),
                "gains": [self.gain_over(name, arm).to_dict() for arm in arms],
                "regret": result.final[0],
                "ci95": result.final[1],
                "regret_at": {str(t): float(result.mean[t - 1]) for t in regret_at},
                "quantiles": dict(zip(map(str, QUANTILES), result.quantiles[-1].tolist(), strict=True)),
                "pull_share": result.pull_share.mean(axis=0).tolist(),
                "best_share": float(result.best_share.mean()),
                "microseconds_per_decision": result.microseconds,
                **({"by_segment": [asdict(part) for part in result.by_segment]} if result.by_segment else {}),
            }
            for name, result in zip(self.names, self.totals.policies, strict=True)
        ]
        pairs = [
            {"policy": p, "minus": q} | dict(zip(("difference", "ci95"), self.difference(p, q), strict=True))
            for p, q in combinations(self.names, 2)
        ]
        settings = {
            "problem": self.problem.to_dict(),
            "instances": self.instances,
            "horizon": self.problem.horizon,
            "steps": self.horizon,
            "seed": self.seed,
            "means": self.source,
            **({"outcomes": self.delays} if self.delays else {}),
        }
        singles = [
            {
                "arm": single.people_read(self.problem, arm),
                "name": single.choice_name(self.problem, arm),
                "best_beforehand": arm == arms[0],
                "earnings": float(self.totals.singles.arms[arm]),
            }
            for arm in arms
        ]
        return {
            "policies": policies,
            "single_arms": singles,
            "paired_differences": pairs,
            "settings": settings,
            "versions": versions(),
            "seconds": self.seconds,
        }

    def columns(self) -> dict[str, Any]:
        """Return one row for each policy and step, by column."""
        rows, results = len(self.names), self.totals.policies
        table: dict[str, Any] = {
            "policy": np.repeat(np.array(self.names), self.horizon),
            "step": np.tile(np.arange(1, self.horizon + 1), rows),
            "label": np.repeat(np.array([self.label(name) for name in self.names]), self.horizon),
            "earnings": np.concatenate([r.earnings for r in results]),
            "earnings_ci95": np.concatenate([r.earnings_ci95 for r in results]),
            "regret": np.concatenate([r.mean for r in results]),
            "ci95": np.concatenate([r.ci95 for r in results]),
            "best_share": np.concatenate([r.best_share for r in results]),
        }
        for k, level in enumerate(QUANTILES):
            column = np.full((rows, self.horizon), np.nan)
            for p, result in enumerate(results):
                column[p, self.checkpoints - 1] = result.quantiles[:, k]
            table[f"quantile_{100 * level:.0f}"] = column.reshape(-1)
        for i in range(self.problem.arms):
            table[f"pull_share_{i + 1}"] = np.concatenate([r.pull_share[:, i] for r in results])
        return table

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

    def __str__(self) -> str:
        from elsv.report.terminal import comparison_text

        return comparison_text(self)

    def plot(
        self,
        ax: Any = None,
        *,
        kind: Literal["regret", "final", "differences", "pulls"] = "regret",
        policy: str | None = None,
        leave_out: Collection[str] = (),
        log_x: bool = False,
        labels: Literal["ends", "legend", "none"] | None = None,
        colours: Mapping[str, str] | None = None,
    ) -> Any:
        """Draw on a matplotlib Axes with the user's own settings and return it (extra ``plot``).

        Parameters
        ----------
        ax
            Where to draw; default: a new pyplot figure.
        kind
            Mean regret by step with 95 % bands, final regrets with their intervals, paired differences to the
            best policy, or the share of instances that pull each arm under one `policy`.
        leave_out, log_x, labels
            For regret: policies that are not drawn; a logarithmic axis of steps; where the legend stands:
            beside the lines (``"ends"``, default where the figure makes room for it), where matplotlib finds
            room (``"legend"``), or nowhere (``"none"``).
        colours
            By policy; the others keep theirs.
        """
        from elsv.report.plots import plot_comparison

        return plot_comparison(self, ax, kind, policy, leave_out, log_x, labels, colours)

    def _repr_html_(self) -> str:
        """Return the headline table and, with the extra ``plot``, the regret curves, for notebooks."""
        from elsv.report.comparison import notebook_html

        return notebook_html(self)


def compare(
    problem: Problem,
    policies: Sequence[str | Policy] | Mapping[str, str | Policy],
    instances: int = 5000,
    seed: int = 0,
    *,
    horizon: int | None = None,
    until: int | None = None,
    against: str | int | None = None,
    means: ArrayLike | None = None,
    delay: int | str | None = None,
    batch: int | None = None,
    lost: float | None = None,
    jobs: int | None = None,
    workers: Workers | int = "threads",
    dask: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    keep_raw: bool = False,
    progress: Progress | bool | None = None,
    at_most: float | str | None = None,
    stop: threading.Event | None = None,
) -> Comparison:
    """Simulate policies on the same instances and outcomes: what they earn, and their regret.

    Parameters
    ----------
    problem
        Its prior, conditioned on its order, is where the means come from unless `means` is given.
    policies
        Names or functions ``(state, step, rng) -> arm``; a mapping gives them labels of your own.
    instances
        How many; a multiple of the rows of `means` uses every row equally often.
    seed
        The same seed gives the same numbers on any number of threads, processes or cluster workers.
    horizon
        Replaces the problem's horizon (or discount), for the policies too.
    until
        Stop after this step, while the policies still plan for the whole horizon; default: at the horizon.
        A problem with a discount has no end of its own and needs it.
    against
        An arm, by name or number from 0: tables show the gain over always pulling it, besides that over the
        arm that is best in expectation beforehand. With segments one arm for each, such as ``"1+3"``.
    means
        Rows of means ``[rows, N]``, used one after the other, instead of draws from the prior.
    delay, batch, lost
        Outcomes that come late: after so many further customers, or ``"geometric:60"`` for 60 on average;
        looked at after batches of so many customers; this share never, which counts as failures. Policies
        plan on what the outcomes under way are expected to be, or not (``"plan:pending=ignore"``).
    jobs, workers, dask
        How many threads (default, one for each core) or processes (``workers="processes"``), or the address
        of a dask scheduler. A number as `workers` is the same as `jobs`.
    out, resume, overwrite
        A directory that keeps finished chunks; with `resume` those that are there are not run again. It may
        hold other files, which stay, and another run only with `overwrite`.
    keep_raw
        Keep the regret curve of every instance (memory grows with the instances).
    progress
        Called with the number of steps made and of all steps, those of every policy on every chunk of
        instances, a few times a second. None: a bar in a notebook, a line on a terminal if it takes long;
        True: a bar there too; False: none.
    at_most
        Seconds, or text such as ``"10min"``: a run that is seen to take longer, by the steps that were made,
        ends with `elsv.errors.TooLongError`. With `out` the chunks that are done are kept for `resume`.
    stop
        Set it from another thread to give up: threads end at their next step with `StoppedError`.
    """
    by_name = named(policies)
    names, specs = tuple(by_name), tuple(by_name.values())
    if horizon is not None:
        problem = problem.with_horizon(horizon)
    steps = _steps(problem, until)
    rival = None if against is None else single.find_choice(problem, against)
    if isinstance(workers, int):
        jobs, workers = jobs_of(jobs, workers), "threads"
    run = Run(
        problem=problem,
        policies=specs,
        instances=whole("instances", instances),
        horizon=steps,
        seed=whole("seed", seed, 0),
        source=FromPrior(problem) if means is None else GivenMeans(means, problem.arms),
        checkpoints=_spread(steps, _MOST_CHECKPOINTS),
        keep_raw=keep_raw,
        delays=delays_of(delay, batch, lost),
    )
    check_size(run)
    began = time.perf_counter()
    store = None if out is None else ChunkStore(Outputs.read(out), run.chunks)
    key = "" if store is None else store.begin(run, __version__, resume, overwrite)
    kept = "" if out is None else "; --resume goes on with what was kept"
    remedy = f"use fewer instances or policies, or a shorter horizon{kept}"
    with watched(progress, "comparing", at_most=at_most, remedy=remedy) as report:

        def tallies() -> Iterator[ChunkTally]:
            left = set(range(run.chunks))
            for tally in store.load() if store is not None and resume else ():
                left.discard(tally.chunk)
                yield tally
            for tally in run_chunks(run, sorted(left), jobs, workers, dask, stop, report):
                if store is not None:
                    store.save(tally)
                yield tally

        totals = totals_of(run, tallies())
    labels = single.labels_of(names, specs, problem)
    written = tuple(spec if isinstance(spec, str) else None for spec in specs)
    took, late = time.perf_counter() - began, "" if run.delays is None else run.delays.describe()
    settings = run.horizon, run.seed, run.source.describe(), run.checkpoints
    return Comparison(problem, names, *settings, totals, took, key, labels, written, rival, late)


def versions() -> dict[str, str]:
    """Return the versions that the numbers were made with."""
    import platform
    from importlib.metadata import version

    found = {"elsv": __version__, "python": platform.python_version()}
    return found | {name: version(name) for name in ("numpy", "numba", "scipy")}


def _steps(problem: Problem, until: int | None) -> int:
    """Return how many steps to simulate."""
    steps = problem.horizon if until is None else whole("until", until)
    if steps is None:
        raise InvalidInputError(
            "a problem with a discount has no last step; give until=, such as until=200, to end a run there, "
            "or horizon= to replace the discount"
        )
    if problem.horizon is not None and steps > problem.horizon:
        raise InvalidInputError(
            f"until must not exceed the horizon of {problem.horizon} steps, got {steps}; "
            "give a longer horizon to go further"
        )
    return steps


def named(policies: Any) -> dict[str, Any]:
    """Return policies by their names, which must differ; the names of a mapping stay."""
    if isinstance(policies, Mapping):
        found = dict(policies)
    else:
        given = [policies] if isinstance(policies, str) or callable(policies) else list(policies)
        names = list(map(name_of, given))
        for name in names:
            if names.count(name) > 1:
                raise InvalidInputError(f"policies must differ from one another, got {name!r} twice")
        found = dict(zip(names, given, strict=True))
    if not found:
        raise InvalidInputError("policies must name at least one policy, got none; for example ['thompson']")
    return found


def name_of(policy: object) -> str:
    """Return the name of a policy: as it is written, or that of the function."""
    return str(parse(policy)) if isinstance(policy, str) else getattr(policy, "__name__", repr(policy))


def _spread(horizon: int, most: int) -> IntArray:
    """Return at most `most` steps, evenly spread, the last one included."""
    return np.unique(np.rint(np.linspace(0, horizon, min(most, horizon) + 1)[1:]).astype(np.int64))
