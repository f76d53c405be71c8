"""``elsv value``: the separable value of an index."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elsv.cli.console import (
    Horizon,
    Json,
    ProblemFile,
    load_problem,
    print_json,
    working,
    write_table,
)
from elsv.errors import InvalidInputError


def value(
    problem: ProblemFile,
    index: Annotated[str, typer.Option(help="Index, NAME[:key=value,…].")] = "gittins",
    step: Annotated[int, typer.Option(help="Step t of the table: states with fewer than t pulls.")] = 10,
    arm: Annotated[int, typer.Option(help="Arm whose prior is used, from 1.")] = 1,
    horizon: Horizon = None,
    offset: Annotated[
        bool, typer.Option("--offset", help="Add the constant of the paper's plots (needs a horizon).")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="File to write: .csv or .parquet.")] = None,
    as_json: Json = False,
) -> None:
    """Separable value υ_t of an index: one row for every state of an arm (reward 1)."""
    from elsv._base import triangle
    from elsv._base.export import check_target
    from elsv.indices import index_from_name
    from elsv.values import SeparableValue

    loaded = load_problem(problem, horizon)
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
