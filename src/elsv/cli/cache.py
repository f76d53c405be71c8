"""``elsv cache``: what elsv keeps on this machine, and how to remove it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from elsv.cli.console import Json, print_json
from elsv.errors import InvalidInputError

if TYPE_CHECKING:
    from elsv._base.cache import Files


def cache(
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove all of it; nothing else is touched.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Tables and compiled kernels kept on this machine: where, how much, at most how much.

    ELSV_CACHE_DIR: where; default: the user's directory for caches.
    ELSV_CACHE_DISK: most tables on disk; default 1GB, and 0 keeps none.
    ELSV_CACHE_MEMORY: most tables in memory, in each process; default 512MB.
    """
    from elsv._base import cache as files

    memory, disk = files.memory_limit(), files.disk_limit()
    removed = files.clear_files() if clear else None
    directory, tables, kernels = files.directory_or_none(), files.table_files(), files.kernel_files()
    if removed is not None and tables.count + kernels.count:
        raise InvalidInputError(
            f"{tables.count + kernels.count} files in {directory} cannot be removed; "
            "look at the permissions of the directory"
        )
    if as_json:
        print_json(
            {
                "directory": None if directory is None else str(directory),
                "tables": vars(tables),
                "kernels": vars(kernels),
                "disk_limit": disk,
                "memory_limit": memory,
            }
            | ({} if removed is None else {"removed": vars(removed)})
        )
        return
    print(f"directory  {'none: there is no home directory' if directory is None else directory}")
    print(f"tables     {_amount(tables)} of at most {disk / 1e6:,.0f} MB")
    print(f"kernels    {_amount(kernels)}, those that numba keeps beside the sources not counted")
    print(f"memory     at most {memory / 1e6:,.0f} MB of tables in each process")
    if removed is not None:
        print(f"removed    {_amount(removed)}")


def _amount(found: Files) -> str:
    return f"{found.count:,} {'file' if found.count == 1 else 'files'}, {found.bytes / 1e6:,.1f} MB"
