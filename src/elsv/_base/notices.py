"""Notices to the user, in the log and once on a terminal; one of them says that kernels are compiled."""

from __future__ import annotations

import logging
import sys
import time

_log = logging.getLogger("elsv")
_said: set[str] = set()
_NOTICED = 1.0  # seconds of compiling after which the user is told
_COMPILES = (
    "elsv compiles its kernels on their first use, which takes a while and is kept for the next time; "
    "`elsv warm` does it all in advance"
)
_PIPED = "elsv: compiling for the first time, about 15 to 45 s; `elsv warm` does it all in advance"


def hush() -> None:
    """Show no notices on the terminal: for programs that have a display of their own."""
    _said.add("")


def tell_compiling(tell: bool) -> None:
    """Say on stderr that kernels are compiled where nobody sees a display, once: for programs in a pipe."""
    (_said.discard if tell else _said.add)(_PIPED)


_said.add(_PIPED)  # a library says nothing


def say_once(text: str) -> None:
    """Log `text`, and print it on stderr if that is a terminal; the same text once in a process."""
    if text in _said:
        return
    _log.info(text)
    if "" not in _said and sys.stderr is not None and sys.stderr.isatty():
        from rich.console import Console

        Console(stderr=True).print(text, style="dim", markup=False, highlight=False)
    _said.add(text)


class Stopwatch:
    """Functions that were compiled, and the seconds that it took."""

    def __init__(self) -> None:
        self.depth, self.functions, self.seconds = 0, 0, 0.0  # depth: of functions within functions
        self._began = 0.0

    def start(self) -> None:
        """Start the clock at the outermost function: those that it calls are compiled within."""
        if self.depth == 0:
            self._began = time.perf_counter()
        self.depth += 1

    def stop(self) -> None:
        """Stop the clock, and give notice once if compiling has taken long."""
        self.depth -= 1
        self.functions += 1
        so_far = time.perf_counter() - self._began
        if self.seconds + so_far > _NOTICED:
            say_once(_COMPILES)
            if _PIPED not in _said and sys.stderr is not None and not sys.stderr.isatty():
                _said.add(_PIPED)
                print(_PIPED, file=sys.stderr, flush=True)
        if self.depth == 0:
            self.seconds += so_far


compiling = Stopwatch()
"""The one of this process."""
