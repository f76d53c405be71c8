"""``elsv warm``: compile everything in advance."""

from __future__ import annotations

import sys

from elsv._base.numbers import duration
from elsv.cli.console import Json, print_json, progress_bar


def warm(as_json: Json = False) -> None:
    """Compile all kernels now instead of on first use; they are kept for every later run."""
    from elsv.warm import warm as run

    with progress_bar("compiling") as progress:
        found = run(progress)
    if as_json:
        print_json({"functions": found.functions, "compiling_seconds": found.seconds, "seconds": found.total})
    else:
        print(
            f"compiled {found.functions:,} functions in {duration(found.seconds)} "
            f"({duration(found.total)} in all)",
            file=sys.stderr,
        )
