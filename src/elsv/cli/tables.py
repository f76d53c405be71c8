"""A comparison on the terminal, or as the JSON object that was asked for."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from elsv.cli.console import print_json

if TYPE_CHECKING:
    from elsv.simulation.compare import Comparison


def show_comparison(comparison: Comparison, as_json: bool) -> None:
    """Print the headline table, the best policy in bold, or the JSON object."""
    if as_json:
        print_json(comparison.to_dict())
        return
    from rich.console import Console

    from elsv.report.terminal import WIDTH, print_comparison

    width = None if sys.stdout.isatty() else WIDTH
    print_comparison(comparison, Console(width=width, markup=False, emoji=False, highlight=False))
