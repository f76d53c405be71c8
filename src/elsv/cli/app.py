"""The command line. It parses, calls the library and prints; it holds no logic of its own.

Results go to stdout (``--json``: one JSON object and nothing else), everything else to stderr. Errors
that elsv raises on purpose end with exit code 2.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated

import typer

from elsv.cli.cache import cache
from elsv.cli.compare import compare
from elsv.cli.console import (
    Json,
    ProblemFile,
    complain,
    discard_output,
    print_in_any_encoding,
    print_json,
    working,
    write_table,
)
from elsv.cli.exact import evaluate, solve
from elsv.cli.reproduce import reproduce
from elsv.errors import ElsvError, InvalidInputError

app = typer.Typer(
    name="elsv",
    help="Bayesian bandits with structured priors: indices, values and decisions.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from elsv._version import __version__

        print(__version__)
        raise typer.Exit


@app.command()
def gittins(
    alpha: Annotated[float | None, typer.Argument(help="Successes plus prior, a positive real.")] = None,
    beta: Annotated[float | None, typer.Argument(help="Failures plus prior, a positive real.")] = None,
    discount: Annotated[
        float | None, typer.Option(help="Discount γ between 0 and 1; 0.99 unless --pulls-left.")
    ] = None,
    pulls_left: Annotated[
        int | None, typer.Option(help="Finite horizon: pulls left; undiscounted unless --discount.")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="Largest error of the index.")] = 1e-6,
    table: Annotated[
        int | None, typer.Option(metavar="SIZE", help="All whole states with alpha + beta <= SIZE.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for --table: .csv or .parquet.")] = None,
    as_json: Json = False,
) -> None:
    """Gittins index of one state, or a table of them."""
    if table is not None:
        if alpha is not None or pulls_left is not None:
            raise InvalidInputError(
                "--table takes --discount and --tolerance, and neither a state nor --pulls-left"
            )
        _gittins_table(table, out, 0.99 if discount is None else discount, tolerance, as_json)
        return
    if alpha is None or beta is None:
        raise InvalidInputError(
            "give ALPHA and BETA, or --table SIZE --out FILE; for example: elsv gittins 1 1"
        )
    if out is not None:
        raise InvalidInputError("--out goes with --table")
    if pulls_left is None:
        from elsv.indices.gittins import gittins_index

        discount = 0.99 if discount is None else discount
        index = float(gittins_index(alpha, beta, discount, tolerance))
    else:
        from elsv.indices.finite_gittins import finite_gittins_index

        discount = 1.0 if discount is None else discount
        index = float(finite_gittins_index(alpha, beta, pulls_left, discount, tolerance))
    mean = alpha / (alpha + beta)
    result = {
        "alpha": alpha,
        "beta": beta,
        "discount": discount,
        "pulls_left": pulls_left,
        "tolerance": tolerance,
        "index": index,
        "mean": mean,
        "bonus": index - mean,
    }
    if as_json:
        print_json(result)
        return
    digits = max(4, math.ceil(-math.log10(tolerance)))
    for key in ("index", "mean", "bonus"):
        print(f"{key:<6} {result[key]:.{digits}f}")


def _gittins_table(size: int, out: Path | None, discount: float, tolerance: float, as_json: bool) -> None:
    from elsv import triangle
    from elsv.export import check_target
    from elsv.indices.gittins import gittins_table

    if size < 2:
        raise InvalidInputError(f"--table SIZE must be at least 2 (alpha = beta = 1), got {size}")
    if out is None:
        raise InvalidInputError("--table needs --out FILE, ending in .csv or .parquet")
    check_target(out)
    with working(f"Gittins indices of {triangle.size(size - 1):,} states"):
        values = gittins_table(1.0, 1.0, size - 1, discount, tolerance)
    successes, pulls = triangle.states(size - 1)
    columns = {"alpha": 1 + successes, "beta": 1 + pulls - successes, "index": values}
    write_table(out, columns, as_json, discount=discount, tolerance=tolerance)


@app.command()
def value(
    problem: ProblemFile,
    index: Annotated[str, typer.Option(help="Index, NAME[:key=value,…].")] = "gittins",
    step: Annotated[int, typer.Option(help="Step t of the table: states with fewer than t pulls.")] = 10,
    arm: Annotated[int, typer.Option(help="Arm whose prior is used, from 1.")] = 1,
    offset: Annotated[
        bool, typer.Option("--offset", help="Add the constant of the paper's plots (needs a horizon).")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="File to write: .csv or .parquet.")] = None,
    as_json: Json = False,
) -> None:
    """Separable value υ_t of an index: one row for every state of an arm (reward 1)."""
    from elsv import triangle
    from elsv.export import check_target
    from elsv.indices import index_from_name
    from elsv.problem import Problem
    from elsv.values import SeparableValue

    loaded = Problem.load(problem)
    if out is not None:
        check_target(out)
    elif not as_json and step > 12:
        raise InvalidInputError(f"a table of step {step} is too long to print; give --out FILE or --json")
    if not 1 <= arm <= loaded.arms:
        raise InvalidInputError(f"--arm must lie from 1 to {loaded.arms}, got {arm}")
    separable = SeparableValue(loaded, index_from_name(index))
    with working(f"value of {index} at step {step}"):
        table = separable.table(step, arm - 1)
        if offset:
            if loaded.horizon is None:
                raise InvalidInputError("--offset needs a problem with a horizon")
            table = table + separable.offset(step, loaded.horizon + 1, arm - 1)
    successes, pulls = triangle.states(step)
    alpha, beta = loaded.prior[arm - 1, 0] + successes, loaded.prior[arm - 1, 1] + pulls - successes
    columns = {"alpha": alpha, "beta": beta, "pulls": pulls, "mean": alpha / (alpha + beta), "value": table}
    if out is not None:
        write_table(out, columns, as_json, index=index, step=step, arm=arm)
    elif as_json:
        rows = [
            dict(zip(columns, row, strict=True))
            for row in zip(*(c.tolist() for c in columns.values()), strict=True)
        ]
        print_json({"index": index, "step": step, "arm": arm, "states": rows})
    else:
        print(f"{'alpha':>8} {'beta':>8} {'pulls':>6} {'mean':>8} {'value':>12}")
        for row in zip(*columns.values(), strict=True):
            print("{:>8g} {:>8g} {:>6d} {:>8.4f} {:>12.6f}".format(*row))


@app.command()
def decide(
    problem: ProblemFile,
    policy: Annotated[
        str | None, typer.Option("-p", "--policy", help="Policy, NAME[:key=value,…]; default: plan.")
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(help='One alpha,beta pair for each arm, such as "3,1 2,2 1,1"; default: the prior.'),
    ] = None,
    step: Annotated[
        int | None, typer.Option(help="Step t, from 1; default: one more than the pulls in the state.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed, for policies that draw.")] = 0,
    as_json: Json = False,
) -> None:
    """Which arm to pull in a state, and why."""
    import numpy as np

    from elsv.live.explain import explain
    from elsv.policies import DEFAULT_POLICY, make_policy
    from elsv.problem import Problem
    from elsv.search.lookahead import check_step
    from elsv.state import State, check_arms

    loaded = Problem.load(problem)
    name = DEFAULT_POLICY if policy is None else policy
    chosen = make_policy(name, loaded)
    counts = State.initial(loaded) if state is None else State.parse(state)
    check_arms(counts, loaded)
    if seed < 0:
        raise InvalidInputError(f"--seed must be at least 0, got {seed}")
    at_least = counts.step(loaded)
    if step is not None and step < at_least:
        raise InvalidInputError(f"--step must be at least {at_least} after {at_least - 1} pulls, got {step}")
    now = at_least if step is None else step
    if step is None and loaded.horizon is not None and now > loaded.horizon:
        raise InvalidInputError(
            f"--state holds {now - 1} pulls, and the horizon of {loaded.horizon} is over; "
            "give a state before it"
        )
    check_step(loaded, now)
    with working(f"deciding with {name}"):
        explanation = explain(loaded, chosen, counts, now, np.random.default_rng(seed), name)
    if as_json:
        print_json(explanation.to_dict())
    else:
        print(explanation)


app.command()(compare)
app.command()(solve)
app.command()(evaluate)
app.command()(reproduce)
app.command()(cache)


def main() -> None:
    """Run the command line; errors raised on purpose give one line on stderr and exit code 2.

    So does what the machine lacks: memory, or room for the output. A reader that has gone away is no error.
    """
    print_in_any_encoding()
    code = _run()
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        discard_output()
        if not code and not isinstance(error, BrokenPipeError):
            code = complain(f"cannot write the output: {error.strerror or error}")
    raise SystemExit(code)


def _run() -> str | int | None:
    """Run the command and return its exit code."""
    try:
        app()
    except SystemExit as end:
        return end.code
    except ElsvError as error:
        return complain(str(error))
    except MemoryError as error:
        return complain(
            f"not enough memory ({str(error) or 'none is left'}); ask for less, such as a shorter horizon"
        )
    except OSError as error:
        what = "write the output" if error.filename is None else f"use {error.filename}"
        return complain(f"cannot {what}: {error.strerror or error}")
    return 0


if __name__ == "__main__":
    main()
