"""The commands `elsv solve` and `elsv evaluate`: exact answers, printed."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from elsv._compiling import compiling
from elsv._numbers import counted, duration
from elsv.cli.console import Against, Horizon, Json, ProblemFile, load_problem, print_json, progress_bar
from elsv.cli.tables import show_evaluation
from elsv.errors import InvalidInputError, UnsavedError

if TYPE_CHECKING:
    from elsv.exact import Solution
    from elsv.problem import Problem

DEFAULT_POLICIES = ("plan", "elsv", "gittins", "thompson", "greedy")
_CPU_ONLY = ("thompson",)  # of these
# Rewards by step need the optimal arm of every state: 1 to 4 of them fit in a byte.
_STATES_TO_KEEP = 200_000_000
_NOTICED = 0.1  # seconds of compiling that are worth a word
Jobs = Annotated[int | None, typer.Option(help="Threads; default: one a core.")]
Memory = Annotated[
    float | None, typer.Option(metavar="GB", help="Most memory to use; default: what is available.")
]
Device = Annotated[
    str, typer.Option(metavar="cpu|cuda", help="Where to compute; cuda: on a GPU (extra gpu), 2 or 3 arms.")
]


def solve(
    problem: ProblemFile,
    horizon: Horizon = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the optimal arm of every state here.")
    ] = None,
    keep: Annotated[
        int | None, typer.Option(metavar="STEP", help="With --save: only the steps up to this one.")
    ] = None,
    memory: Memory = None,
    jobs: Jobs = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Solve a problem exactly: the most that can be earned in expectation, and the arms to pull first."""
    from elsv.exact import estimate
    from elsv.exact import solve as run
    from elsv.gpu.device import check_device, find_device
    from elsv.gpu.run import solve_cost

    if keep is not None and save is None:
        raise InvalidInputError("--keep goes with --save FILE")
    room = _bytes(memory)
    loaded = load_problem(problem, horizon)
    steps = loaded.steps if save is not None and keep is None else keep or 0
    if check_device(device):
        if save is None:
            _announce(solve_cost(loaded, find_device(), room))
    else:
        if keep is None and save is None and estimate(loaded).states <= _STATES_TO_KEEP:
            keep = steps = loaded.steps
        _announce(estimate(loaded, steps, jobs))
    try:
        with progress_bar("solving") as progress:
            limits: dict[str, Any] = {"memory": room, "jobs": jobs, "progress": progress, "device": device}
            found = run(loaded, save=save, keep=keep, **limits)
    except UnsavedError as error:
        _show(loaded, error.result, as_json, {"saved": None})
        raise
    _show(loaded, found, as_json, {"saved": str(save)} if save is not None else {})
    if save is not None and not as_json:
        print(f"wrote {save}", file=sys.stderr)


def _show(problem: Problem, found: Solution, as_json: bool, more: dict[str, Any]) -> None:
    """Print what was found: lines for people, or one JSON object with `more` in it."""
    names = [problem.names[arm] for arm in found.actions]
    if as_json:
        result: dict[str, Any] = {
            "horizon": problem.horizon,
            "value": found.value,
            "regret": found.regret,
            "first_arms": [arm + 1 for arm in found.actions],
            "scores": found.scores.tolist(),
            "reward_by_step": None if found.rewards is None else found.rewards.tolist(),
            "states": found.states,
            "bytes": found.bytes,
            "seconds": found.seconds,
        }
        print_json(result | more)
        return
    print(f"value   {found.value:.9f}")
    print(f"regret  {found.regret:.9f}  (so much more earns one who knows the best arm and always pulls it)")
    print(f"first   {' or '.join(names)}")
    if found.rewards is not None:
        horizon = len(found.rewards)
        chosen = sorted({1, *(round(k * horizon / 5) for k in range(1, 6))} - {0})
        steps = "  ".join(f"t={t}: {found.rewards[t - 1]:.4f}" for t in chosen)
        print(f"reward  {steps}")
    compiled = compiling.seconds
    after = f" after {duration(compiled)} of compiling" if compiled > _NOTICED else ""
    print(f"states  {found.states:,} in {duration(max(0.0, found.seconds - compiled))}{after}")


def evaluate(
    problem: ProblemFile,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "-p",
            "--policy",
            help=f"Policy, NAME[:key=value,…]; repeat for more. Default: {', '.join(DEFAULT_POLICIES)}.",
            show_default=False,
        ),
    ] = None,
    horizon: Horizon = None,
    against: Against = None,
    memory: Memory = None,
    jobs: Jobs = None,
    device: Device = "cpu",
    as_json: Json = False,
) -> None:
    """Compare policies exactly, without simulation: earnings, the gain over always one arm, and regret.

    For problems whose states can all be counted; `elsv compare` simulates any other.
    """
    from elsv.exact import evaluate as run

    loaded = load_problem(problem, horizon)
    usual = [name for name in DEFAULT_POLICIES if device == "cpu" or name not in _CPU_ONLY]
    names = [name for name in policy or usual if name != "optimal"]  # it is always there
    with progress_bar("evaluating") as progress:
        limits: dict[str, Any] = {
            "memory": _bytes(memory),
            "jobs": jobs,
            "progress": progress,
            "device": device,
        }
        found = run(loaded, ["optimal", *names], against=against, announce=_announce, **limits)
    if as_json:
        answer = found.to_dict()
        best, *answer["policies"] = answer["policies"]
        print_json(answer | {"optimal": {key: best[key] for key in ("value", "earnings", "gains", "regret")}})
        return
    show_evaluation(found)


def _announce(cost: Any) -> None:
    """Say what the work will take, and apart from it whether kernels have to be compiled first."""
    unit, size = ("MB", 10**6) if cost.bytes < 10**10 else ("GB", 10**9)
    first = "; kernels are compiled first, once, up to a minute" if cost.compiles else ""
    print(
        f"{counted(cost.states)} states, about {counted(cost.bytes // size)} {unit} "
        f"and {duration(cost.seconds)}{first}",
        file=sys.stderr,
    )


def _bytes(gigabytes: float | None) -> int | None:
    if gigabytes is None:
        return None
    room = 1e9 * gigabytes
    if not 0 < room < math.inf:
        raise InvalidInputError(f"--memory must be a positive number of GB, got {gigabytes:g}")
    return int(room)
