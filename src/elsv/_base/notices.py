"""Notices to the user: written to the log, and shown once on a terminal."""

from __future__ import annotations

import logging
import sys

_log = logging.getLogger("elsv")
_said: set[str] = set()


def hush() -> None:
    """Show no notices on the terminal: for programs that have a display of their own."""
    _said.add("")


def say_once(text: str) -> None:
    """Log `text`, and print it on stderr if that is a terminal; the same text once in a process."""
    if text in _said:
        return
    _log.info(text)
    if "" not in _said and sys.stderr is not None and sys.stderr.isatty():
        from rich.console import Console

        Console(stderr=True).print(text, style="dim", markup=False, highlight=False)
    _said.add(text)
