"""Progress bars: on a terminal, in a notebook, and none where the output goes to a file or a pipe."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from elsv._base.notices import say_once
from elsv._base.numbers import duration

Report = Callable[..., None]  # (done, total[, what])
Progress = Callable[[int, int], None]
_PATIENCE = 0.7  # seconds before a notebook shows a bar
_PAUSE = 0.2  # between two pictures of it
_LONG = 10.0  # seconds before a line on a terminal says that there is a bar


@contextmanager
def watched(progress: Progress | bool | None, what: str) -> Iterator[Progress | None]:
    """Provide what to tell of one's progress, or None if nobody listens.

    A function is told as it is. None shows a bar in a notebook and on a terminal one line if the work takes
    long, True a bar on a terminal too, False none.
    """
    if callable(progress):
        yield progress
    elif progress is None and not in_notebook() and _at_terminal():
        yield _LongWork(what)
    elif progress is False or not (progress or in_notebook()):
        yield None
    else:
        with progress_bar(what) as report:
            yield report


@contextmanager
def progress_bar(what: str) -> Iterator[Report | None]:
    """Show a bar while working, in a notebook or on stderr if that is a terminal; call with (done, total)."""
    if in_notebook():
        bar = _NotebookBar(what)
        try:
            yield bar
        finally:
            bar.close()
    elif _at_terminal():
        with _on_terminal(what) as report:
            yield report
    else:
        yield None


class _LongWork:
    """One line on the terminal once somebody has waited without a sign."""

    def __init__(self, what: str) -> None:
        self._what, self._began, self._said = what, time.perf_counter(), False

    def __call__(self, done: float, total: float, now: str | None = None) -> None:
        """Say how much is done if that took long, and only once."""
        seconds = time.perf_counter() - self._began
        if self._said or seconds < _LONG or not 0 < done < total:
            return
        self._said = True
        left = duration(seconds * (total - done) / done)
        say_once(
            f"{self._what}: {100 * done / total:.0f} % done, about {left} to go; progress=True shows a bar, "
            "progress=False nothing"
        )


def _at_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


@contextmanager
def _on_terminal(what: str) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description:<14}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def update(done: float, total: float, now: str = what) -> None:
            bar.update(task, completed=done, total=total, description=now)

        yield update


class _NotebookBar:
    """A bar in the cell at work, once that takes a while; it goes when the work is done."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = self._latest = time.perf_counter()
        self._place: Any = None
        self._lock = threading.Lock()

    def __call__(self, done: float, total: float, now: str | None = None) -> None:
        """Draw the bar anew, unless that was just done."""
        with self._lock:
            clock = time.perf_counter()
            if clock - self._began < _PATIENCE or clock - self._latest < _PAUSE:
                return
            self._latest = clock
            self._show(bar_html(now or self._what, done, total, clock - self._began))

    def close(self) -> None:
        """Leave an empty place behind."""
        with self._lock:
            if self._place is not None:
                self._show("")

    def _show(self, content: str) -> None:
        from IPython.display import HTML, display

        if self._place is None:
            self._place = display(HTML(content), display_id=True)
        else:
            self._place.update(HTML(content))


def bar_html(what: str, done: float, total: float, seconds: float) -> str:
    """Return the bar, the share that is done, and about how long the rest will take."""
    share = min(1.0, done / total) if total > 0 else 0.0
    left = f", about {duration(seconds * (1 - share) / share)} to go" if 0 < share < 1 else ""
    ends = "border-radius:0.3em"
    track = f"display:inline-block;width:16em;height:0.6em;background:rgba(128,128,128,0.3);{ends}"
    fill = f"display:block;width:{100 * share:.1f}%;height:100%;background:#3b82f6;{ends}"
    bar = f'<span style="{track}"><span style="{fill}"></span></span>'
    return f'<div style="color:inherit">{escape(what)} {bar} {100 * share:.0f} %{left}</div>'
