"""``elsv gittins``: the index of one state, or a table of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from elsv.cli.console import Json, print_json, working, write_table
from elsv.errors import InvalidInputError


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
    from elsv._base import triangle
    from elsv._base.export import check_target
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
