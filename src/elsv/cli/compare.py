"""``elsv compare``: policies on the same instances, a table on the terminal, a report in a directory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Exit, Option

from elsv._base.files import Outputs, unreadable
from elsv._base.numbers import counted, numbers
from elsv._base.progress import progress_bar
from elsv.cli.console import in_json, load_problem, note, policies_option, policy_named, show, working
from elsv.cli.options import Against, AtMost, Batch, Delay, Horizon, Lost, Overwrite, Seed
from elsv.errors import ElsvError, InvalidInputError

if TYPE_CHECKING:
    from elsv._base.typing import FloatArray
    from elsv.problem import Problem
    from elsv.simulation.compare import Comparison
    from elsv.suite import SuiteResult

DEFAULT_POLICIES = ("plan", "elsv", "thompson", "bayes-ucb", "greedy")
_MOST_GRID_ROWS = 10_000_000


def compare(
    problem: Annotated[
        Path | None,
        Argument(
            metavar="[PROBLEM.toml]", help="Rewards, order, horizon or discount, prior.", show_default=False
        ),
    ] = None,
    policy: Annotated[list[str] | None, policies_option(DEFAULT_POLICIES, files=True)] = None,
    suite: Annotated[
        str | None,
        Option(metavar="VERSION", help="On all problems of a fixed suite, v1, instead of one problem."),
    ] = None,
    only: Annotated[
        list[str] | None, Option(metavar="NAME", help="Problem of the suite; repeat for more. Default: all.")
    ] = None,
    instances: Annotated[
        int | None,
        Option(
            help="Number of instances, the same for every policy. Default: 5000; on a suite 1000 each.",
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        Option(metavar="DIR", help="Write report.html, summary.json, results.parquet and figures here."),
    ] = None,
    horizon: Horizon = None,
    until: Annotated[
        int | None,
        Option(
            metavar="STEP", help="End there; policies still plan for the whole horizon. Default: its end."
        ),
    ] = None,
    against: Against = None,
    means: Annotated[
        Path | None,
        Option(metavar="FILE", help="Rows of means instead of draws from the prior: .csv or .npy."),
    ] = None,
    grid: Annotated[
        int | None, Option(metavar="POINTS", help="All means on an even grid from 0 to 1 that fit the order.")
    ] = None,
    delay: Delay = None,
    batch: Batch = None,
    lost: Lost = None,
    at_most: AtMost = None,
    jobs: Annotated[int | None, Option(help="Threads or processes; default: one a core.")] = None,
    processes: Annotated[bool, Option("--processes", help="Processes instead of threads.")] = False,
    dask: Annotated[str | None, Option(metavar="ADDRESS", help="Run on a dask cluster (extra dask).")] = None,
    resume: Annotated[bool, Option("--resume", help="Go on with what an interrupted run kept.")] = False,
    overwrite: Overwrite = False,
    raw: Annotated[bool, Option("--raw", help="Keep every instance's regret: raw.parquet.")] = False,
    sharing: Annotated[
        bool,
        Option(
            "--sharing", help="Of a problem with segments: one policy with, for each of them, and pooled."
        ),
    ] = False,
) -> None:
    """Compare policies by simulation: earnings, the gain over always one arm, and regret, with their errors.

    All meet the same instances. Where all states can be counted, `elsv evaluate` gives the exact figures.
    """
    from elsv.simulation.compare import compare as run

    if suite is not None:
        alone = {
            "PROBLEM.toml": problem, "--horizon": horizon, "--until": until, "--against": against,
            "--means": means, "--grid": grid, "--delay": delay, "--batch": batch, "--lost": lost,
            "--processes": processes, "--dask": dask, "--resume": resume, "--raw": raw, "--sharing": sharing,
        }  # fmt: skip
        for option, value in alone.items():
            if value not in (None, False):
                raise InvalidInputError(f"{option} does not go with --suite, whose problems are fixed")
        options: dict[str, Any] = {"only": only or (), "jobs": jobs, "at_most": at_most}
        show(_on_suite(suite, policy or list(DEFAULT_POLICIES), instances, seed, out, overwrite, options))
        return
    if problem is None:
        raise InvalidInputError("compare needs a PROBLEM.toml, or --suite v1 for a fixed suite of problems")
    if only:
        raise InvalidInputError("--only names problems of a suite: give --suite v1 too")
    instances = 5000 if instances is None else instances
    if means is not None and grid is not None:
        raise InvalidInputError("--means and --grid both say which means to use; give one of them")
    if dask is not None and (jobs is not None or processes):
        raise InvalidInputError("--dask runs on the cluster's workers; leave out --jobs and --processes")
    _check_out(out, {"--resume": resume, "--raw": raw, "--overwrite": overwrite})
    loaded = load_problem(problem, horizon)
    table = _means(loaded, means, grid)
    _warn_of_contradiction(loaded, table)
    names, played = _policies(loaded, policy, sharing)
    asked: dict[str, Any] = {"instances": instances, "seed": seed, "until": until, "against": against}
    asked |= {"delay": delay, "batch": batch, "lost": lost, "out": out}
    how: dict[str, Any] = {"jobs": jobs, "workers": "processes" if processes else "threads", "dask": dask}
    how |= {"resume": resume, "overwrite": overwrite, "keep_raw": raw, "at_most": at_most}
    shared = names[0] if sharing else None
    with _kept_on_interrupt(out):
        many = "policy" if len(names) == 1 else "policies"
        with progress_bar(f"comparing {len(names)} {many}") as progress:
            comparison = run(loaded, played, means=table, progress=progress, **asked, **how)
        if out is not None:
            from elsv.report.comparison import write_comparison
            from elsv.report.page import command_line
            from elsv.simulation.store import is_chunk

            # How many workers shared the run does not matter.
            more = {"horizon": horizon, "means": means, "grid": grid, "sharing": sharing}
            try:
                with working("writing the report"):
                    write_comparison(comparison, out, command_line("compare", problem, names, asked | more))
                Outputs.read(out).remove(is_chunk)  # no longer needed
            except ElsvError:
                _show(comparison, shared)
                raise
    _show(comparison, shared)
    if table is not None and instances % len(table):
        whole = -(-instances // len(table)) * len(table)
        note(f"--instances {whole} would use each of the {len(table):,} rows equally often")
    if out is not None:
        note(f"wrote {out / 'report.html'}")


def _policies(
    problem: Problem, given: list[str] | None, sharing: bool
) -> tuple[list[str], list[str] | dict[str, Any]]:
    """Return the policies that were named, and those that play by their labels."""
    if not sharing:
        names = given or list(DEFAULT_POLICIES)
        found = {name: policy_named(name) for name in names}
        if all(isinstance(policy, str) for policy in found.values()):
            return names, names
        from elsv.suite import made

        return names, {name: made(policy, problem) for name, policy in found.items()}
    from elsv.simulation.sharing import sharing_policies

    names = given or [DEFAULT_POLICIES[0]]
    if len(names) > 1:
        raise InvalidInputError(
            f"--sharing compares one policy with itself, got {', '.join(names)}; name one"
        )
    return names, dict(sharing_policies(problem, names[0]))


def _on_suite(
    version: str,
    names: list[str],
    instances: int | None,
    seed: int,
    out: Path | None,
    overwrite: bool,
    options: dict[str, Any],
) -> SuiteResult:
    """Compare on a suite, and write what was found with ``--out``."""
    from elsv import suite

    policies = {name: policy_named(name) for name in names}
    if len(policies) < len(names):
        raise InvalidInputError(f"policies must differ from one another, got {', '.join(names)}")
    outputs = None
    if out is not None:
        from elsv.simulation.store import digest_of

        outputs = Outputs.read(out)
        outputs.check(suite.FILES)
        run = "suite", version, policies, tuple(options["only"]), instances, seed
        outputs.begin(digest_of(run), overwrite)
    count = suite.INSTANCES if instances is None else instances
    found = suite.run(policies, version, count, seed, progress=True, **options)
    if outputs is not None:
        for name in suite.FILES:
            found.write(name, outputs.path(name))
        note(f"wrote {', '.join(str(outputs.directory / name) for name in suite.FILES)}")
    return found


def _show(comparison: Comparison, shared: str | None) -> None:
    """Print the comparison, and what sharing is worth if `shared` names what plays."""
    from elsv.simulation.sharing import Sharing

    sharing = None if shared is None else Sharing(comparison, shared)
    if in_json.get():
        show(sharing or comparison)
        return
    from rich.console import Console

    from elsv.report.terminal import WIDTH, print_comparison

    width = None if sys.stdout.isatty() else WIDTH
    print_comparison(comparison, Console(width=width, markup=False, emoji=False, highlight=False))
    if sharing is not None:
        print(sharing.verdict())


def _check_out(out: Path | None, options: dict[str, bool]) -> None:
    """Refuse `options` that need a directory, and a report that could not be written, before simulating."""
    if out is None and any(options.values()):
        raise InvalidInputError(f"{next(key for key in options if options[key])} needs --out DIR")
    if out is None:
        return
    from elsv.report.comparison import check_extras, report_files

    check_extras()
    Outputs.read(out).check(report_files())
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"cannot use {out} as a directory: {error.strerror or error}") from error


def _means(problem: Problem, path: Path | None, points: int | None) -> FloatArray | None:
    """Return the means that --means or --grid ask for, ``[rows, N]``."""
    from elsv.simulation.instances import grid

    if path is not None:
        return _read_means(path)
    if points is None:
        return None
    if points < 2:
        raise InvalidInputError(f"--grid POINTS must be at least 2, got {points}")
    if points**problem.arms > _MOST_GRID_ROWS:
        raise InvalidInputError(
            f"--grid {points} with {problem.arms} arms has {counted(points**problem.arms)} points, more than "
            f"{_MOST_GRID_ROWS:,}; give fewer points, or rows of means in a file with --means"
        )
    return grid(problem.arms, points, problem.structure)


def _warn_of_contradiction(problem: Problem, table: FloatArray | None) -> None:
    """Say on stderr if given means are not what the problem says of them."""
    if table is None or table.ndim != 2 or table.shape[1] != problem.arms:
        return
    wrong = ~problem.structure.holds(table)
    if wrong.any():
        note(
            f"note: {int(wrong.sum()):,} of {len(table):,} rows of means contradict the problem "
            f"({problem.structure.describe()}); policies that use it are misled there"
        )


def _read_means(path: Path) -> FloatArray:
    """Read rows of numbers from a CSV file (a first line of names is skipped) or a NumPy file."""
    import numpy as np

    if path.suffix.lower() not in (".csv", ".npy"):
        raise InvalidInputError(f"--means reads .csv or .npy, got {str(path)!r}")
    try:
        if path.suffix.lower() == ".npy":
            return numbers("means", np.load(path, allow_pickle=False))
        rows = [line.split(",") for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
        if rows and not any(_is_number(field) for field in rows[0]):
            rows = rows[1:]
        for number, row in enumerate(rows, start=1):
            if len(row) != len(rows[0]) or not all(_is_number(field) for field in row):
                raise ValueError(f"row {number} reads {','.join(row)!r}")
        return np.array(rows, dtype=np.float64)
    except OSError as error:
        raise unreadable(f"means from {path}", error, "give a .csv or .npy file") from error
    except (ValueError, EOFError) as error:
        told = "not a NumPy file of numbers" if path.suffix.lower() == ".npy" else error
        raise InvalidInputError(f"{path} must hold one row of means for each instance: {told}") from error


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextmanager
def _kept_on_interrupt(out: Path | None) -> Iterator[None]:
    """On Ctrl-C say what is kept and how to go on, and end with exit code 130."""
    try:
        yield
    except KeyboardInterrupt:
        from elsv.simulation.store import is_chunk

        kept = 0 if out is None else sum(map(is_chunk, Outputs.read(out).files))
        if out is None:
            note("interrupted; nothing is kept without --out")
        elif kept == 0:
            note("interrupted before any part was finished")
        else:
            note(
                f"interrupted; {kept} finished {'part is' if kept == 1 else 'parts are'} kept in {out}: "
                "repeat the command with --resume to go on"
            )
        raise Exit(130) from None
