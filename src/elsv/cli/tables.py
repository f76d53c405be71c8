"""``elsv gittins`` and ``elsv value``, and what is kept of such tables: ``elsv cache`` and ``elsv warm``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from elsv._base.numbers import duration
from elsv._base.progress import progress_bar
from elsv.cli.console import in_json, load_problem, note, print_json, show, working, write_table
from elsv.cli.options import Horizon, ProblemFile
from elsv.errors import InvalidInputError

if TYPE_CHECKING:
    from elsv._base.cache import KeptFile


def gittins(
    alpha: Annotated[float | None, Argument(help="Successes plus prior, a positive real.")] = None,
    beta: Annotated[float | None, Argument(help="Failures plus prior, a positive real.")] = None,
    discount: Annotated[
        float | None, Option(help="Discount γ between 0 and 1; 0.99 unless --pulls-left.")
    ] = None,
    pulls_left: Annotated[
        int | None, Option(help="Finite horizon: pulls left; undiscounted unless --discount.")
    ] = None,
    tolerance: Annotated[float, Option(help="Largest error of the index.")] = 1e-6,
    table: Annotated[
        int | None, Option(metavar="SIZE", help="All whole states with alpha + beta <= SIZE.")
    ] = None,
    out: Annotated[Path | None, Option(help="File for --table: .csv or .parquet.")] = None,
) -> None:
    """Gittins index of one state, or a table of them."""
    if table is not None:
        if alpha is not None or pulls_left is not None:
            raise InvalidInputError(
                "--table takes --discount and --tolerance, and neither a state nor --pulls-left"
            )
        _gittins_table(table, out, 0.99 if discount is None else discount, tolerance)
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
    result = {"alpha": alpha, "beta": beta, "discount": discount, "pulls_left": pulls_left}
    result |= {"tolerance": tolerance, "index": index, "mean": mean, "bonus": index - mean}
    digits = max(4, math.ceil(-math.log10(tolerance)))
    lines = (f"{key:<6} {result[key]:.{digits}f}" for key in ("index", "mean", "bonus"))
    show("\n".join(lines), result)


def _gittins_table(size: int, out: Path | None, discount: float, tolerance: float) -> None:
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
    write_table(out, columns, discount=discount, tolerance=tolerance)


def value(
    problem: ProblemFile,
    index: Annotated[str, Option(help="Index, NAME[:key=value,…].")] = "gittins",
    step: Annotated[int, Option(help="Step t of the table: states with fewer than t pulls.")] = 10,
    arm: Annotated[int, Option(help="Arm whose prior is used, from 1.")] = 1,
    horizon: Horizon = None,
    offset: Annotated[
        bool, Option("--offset", help="Add the constant of the paper's plots (needs a horizon).")
    ] = False,
    out: Annotated[Path | None, Option(help="File to write: .csv or .parquet.")] = None,
) -> None:
    """Separable value υ_t of an index: one row for every state of an arm (reward 1)."""
    from elsv._base import triangle
    from elsv._base.export import check_target
    from elsv.indices import index_from_name
    from elsv.values import SeparableValue

    loaded = load_problem(problem, horizon)
    if out is not None:
        check_target(out)
    elif not in_json.get() and step > 12:
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
        write_table(out, columns, index=index, step=step, arm=arm)
    elif in_json.get():
        numbers = zip(*(column.tolist() for column in columns.values()), strict=True)
        rows = [dict(zip(columns, row, strict=True)) for row in numbers]
        print_json({"index": index, "step": step, "arm": arm, "states": rows})
    else:
        print(f"{'alpha':>8} {'beta':>8} {'pulls':>6} {'mean':>8} {'value':>12}")
        for row in zip(*columns.values(), strict=True):
            print("{:>8g} {:>8g} {:>6d} {:>8.4f} {:>12.6f}".format(*row))


def cache(
    clear: Annotated[bool, Option("--clear", help="Remove all of it; nothing else is touched.")] = False,
) -> None:
    """Tables and compiled kernels kept on this machine: where, how much, at most how much.

    ELSV_CACHE_DIR: where; default: the user's directory for caches.

    ELSV_CACHE_DISK: most tables on disk; default 1GB, and 0 keeps none.

    ELSV_CACHE_MEMORY: most tables in memory, in each process; default 512MB.
    """
    from elsv._base import cache as files

    memory, disk = files.memory_limit(), files.disk_limit()
    removed = files.clear_files() if clear else None
    directory = files.cache_directory()
    tables, kernels = (_sums(files.kept_files(kind)) for kind in files.KINDS)
    if removed is not None and (left := tables["count"] + kernels["count"]):
        raise InvalidInputError(
            f"{left} files in {directory} cannot be removed; look at the permissions of the directory"
        )
    lines = [
        f"directory  {'none: there is no home directory' if directory is None else directory}",
        f"tables     {_amount(tables)} of at most {disk / 1e6:,.0f} MB",
        f"kernels    {_amount(kernels)}, those that numba keeps beside the sources not counted",
        f"memory     at most {memory / 1e6:,.0f} MB of tables in each process",
    ]
    values: dict[str, Any] = {"directory": None if directory is None else str(directory), "tables": tables}
    values |= {"kernels": kernels, "disk_limit": disk, "memory_limit": memory}
    if removed is not None:
        values["removed"] = _sums(removed)
        lines.append(f"removed    {_amount(values['removed'])}")
    show("\n".join(lines), values)


def _sums(found: Sequence[KeptFile]) -> dict[str, int]:
    return {"count": len(found), "bytes": sum(file.bytes for file in found)}


def _amount(sums: dict[str, int]) -> str:
    return f"{sums['count']:,} {'file' if sums['count'] == 1 else 'files'}, {sums['bytes'] / 1e6:,.1f} MB"


def warm() -> None:
    """Compile all kernels now instead of on first use; they are kept for every later run."""
    from elsv.warm import warm as run

    with progress_bar("compiling") as progress:
        found = run(progress)
    if in_json.get():
        print_json({"functions": found.functions, "compiling_seconds": found.seconds, "seconds": found.total})
    else:
        taken = f"{duration(found.seconds)} ({duration(found.total)} in all)"
        note(f"compiled {found.functions:,} functions in {taken}")
