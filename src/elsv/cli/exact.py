"""``elsv solve``, ``elsv evaluate`` and ``elsv reproduce``: exact answers, and the paper's figures again."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Exit, Option

from elsv._base.notices import compiling
from elsv._base.numbers import counted, duration
from elsv._base.numbers import memory as memory_in_words
from elsv._base.progress import progress_bar
from elsv.cli.console import in_json, load_problem, note, policies_option, print_json, show
from elsv.cli.options import Against, AtMost, Horizon, Jobs, Overwrite, ProblemFile
from elsv.errors import InvalidInputError, UnsavedError

if TYPE_CHECKING:
    from elsv.exact import Cost, Solution
    from elsv.problem import Problem

DEFAULT_POLICIES = ("plan", "elsv", "gittins", "thompson", "greedy")
_CPU_ONLY = ("thompson",)  # of these
_SMALL = 10**7  # bytes
# Rewards by step need the optimal arm of every state: 1 to 4 of them fit in a byte.
_STATES_TO_KEEP = 200_000_000
_NOTICED = 0.1  # seconds of compiling that are worth a word
Memory = Annotated[float | None, Option(metavar="GB", help="Most memory to use; default: what is available.")]
Device = Annotated[
    str, Option(metavar="cpu|cuda", help="Where to compute; cuda: on a GPU (extra gpu), 2 or 3 arms.")
]


def solve(
    problem: ProblemFile,
    horizon: Horizon = None,
    save: Annotated[
        Path | None, Option(metavar="FILE", help="Keep the optimal arm of every state here.")
    ] = None,
    keep: Annotated[
        int | None, Option(metavar="STEP", help="With --save: only the steps up to this one.")
    ] = None,
    memory: Memory = None,
    jobs: Jobs = None,
    at_most: AtMost = None,
    device: Device = "cpu",
) -> None:
    """Solve a problem exactly: the most that can be earned in expectation, and the arms to pull first."""
    from elsv.exact import estimate
    from elsv.exact import solve as run
    from elsv.exact.cuda.run import solve_cost
    from elsv.exact.cuda.sweeps import check_device, find_device

    if keep is not None and save is None:
        raise InvalidInputError("--keep goes with --save FILE")
    room = _bytes(memory)
    loaded = load_problem(problem, horizon)
    steps = loaded.steps if save is not None and keep is None else keep or 0
    if check_device(device):
        if save is None:
            _announce(solve_cost(loaded, find_device(room)))
    else:
        if keep is None and save is None and estimate(loaded).states <= _STATES_TO_KEEP:
            keep = steps = loaded.steps
        _announce(estimate(loaded, steps))
    try:
        limits: dict[str, Any] = {"memory": room, "jobs": jobs, "device": device, "at_most": at_most}
        found = run(loaded, save=save, keep=keep, progress=True, **limits)
    except UnsavedError as error:
        _show(loaded, error.result, {"saved": None})
        raise
    _show(loaded, found, {"saved": str(save)} if save is not None else {})
    if save is not None and not in_json.get():
        note(f"wrote {save}")


def _show(problem: Problem, found: Solution, more: dict[str, Any]) -> None:
    """Print what was found: lines for people, or one JSON object with `more` in it."""
    if in_json.get():
        by_step = None if found.rewards is None else found.rewards.tolist()
        told: dict[str, Any] = {"horizon": problem.horizon, "value": found.value, "regret": found.regret}
        told |= {"first_arms": [arm + 1 for arm in found.actions], "scores": found.scores.tolist()}
        told |= {"reward_by_step": by_step, "states": found.states, "bytes": found.bytes}
        print_json(told | {"seconds": found.seconds} | more)
        return
    from elsv.report.terminal import solution_text

    compiled = compiling.seconds
    after = f" after {duration(compiled)} of compiling" if compiled > _NOTICED else ""
    print(solution_text(found, f"{duration(max(0.0, found.seconds - compiled))}{after}"))


def evaluate(
    problem: ProblemFile,
    policy: Annotated[list[str] | None, policies_option(DEFAULT_POLICIES)] = None,
    horizon: Horizon = None,
    against: Against = None,
    memory: Memory = None,
    jobs: Jobs = None,
    at_most: AtMost = None,
    device: Device = "cpu",
) -> None:
    """Compare policies exactly, without simulation: earnings, the gain over always one arm, and regret.

    For problems whose states can all be counted; `elsv compare` simulates any other.

    The default policy is `plan`. On 60 problems drawn at random its regret is above the Bayes optimum by
    0.00 % in the median, 0.01 % on nine in ten and 0.10 % at most.
    """
    from elsv.exact import evaluate as run

    loaded = load_problem(problem, horizon)
    usual = [name for name in DEFAULT_POLICIES if device == "cpu" or name not in _CPU_ONLY]
    names = [name for name in policy or usual if name != "optimal"]  # it is always there
    limits: dict[str, Any] = {"memory": _bytes(memory), "jobs": jobs, "device": device, "at_most": at_most}
    found = run(loaded, ["optimal", *names], against=against, announce=_announce, progress=True, **limits)
    answer = found.to_dict()
    best, *answer["policies"] = answer["policies"]
    optimal = {key: best[key] for key in ("value", "earnings", "gains", "regret")}
    show(found, answer | {"optimal": optimal})


def _announce(cost: Cost) -> None:
    """Say how many states there are and the memory that they take."""
    room = f"{cost.bytes // 10**6:,} MB" if cost.bytes < 10**10 else memory_in_words(cost.bytes)
    room = f"about {room}" if room.endswith("B") else room
    if cost.bytes < _SMALL:  # lost in what the interpreter itself takes
        room = f"under {_SMALL // 10**6} MB of memory"
    note(f"{counted(cost.states)} states, {room}")


def _bytes(gigabytes: float | None) -> int | None:
    if gigabytes is None:
        return None
    room = 1e9 * gigabytes
    if not 0 < room < math.inf:
        raise InvalidInputError(f"--memory must be a positive number of GB, got {gigabytes:g}")
    return int(room)


def reproduce(
    out: Annotated[
        Path, Option(metavar="DIR", help="Write report.html, summary.json, results and figures here.")
    ],
    quick: Annotated[
        bool,
        Option("--quick", help="Smaller problems and fewer instances; under a minute after compilation."),
    ] = False,
    only: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Experiment: transition, values, theorem, cost, depth, discount, optimum, long-horizon, "
            "arms, growth or decomposition; repeat for more. Default: all.",
            show_default=False,
        ),
    ] = None,
    jobs: Jobs = None,
    seed: Annotated[int, Option(help="The same seed gives the same numbers.")] = 0,
    overwrite: Overwrite = False,
    device: Annotated[
        str, Option(metavar="cpu|cuda", help="cuda: T = 290 is computed again on a GPU (extra gpu).")
    ] = "cpu",
) -> None:
    """Reproduce the paper, figure by figure, with a verdict on each of its claims."""
    from elsv.paper.run import reproduce as run

    if seed < 0:
        raise InvalidInputError(f"--seed must be at least 0, got {seed}")
    if jobs is not None and jobs < 1:
        raise InvalidInputError(f"--jobs must be at least 1, got {jobs}")
    try:
        with progress_bar("reproducing") as bar:
            part = lambda name, share: bar(share, 1.0, name)  # noqa: E731
            found = run(out, only or (), quick, seed, jobs, part, overwrite, device)
    except KeyboardInterrupt:
        note(f"interrupted; what was finished is in {out / 'results'}")
        raise Exit(130) from None
    if in_json.get():
        print_json(found.to_dict())
    else:
        for claim in found.claims:
            print(f"{claim.label:<14}  {claim.verdict.value:<15} {claim.says}")
            if claim.in_short != claim.verdict.value:
                print(f"{' ':<32}{claim.in_short}")
    note(f"wrote {out / 'report.html'}")
