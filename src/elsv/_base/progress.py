"""Progress bars and how long work still takes: on a terminal and in a notebook; else a line a minute.

Nobody knows beforehand how long a run takes. What has run tells: the bar extrapolates from it, and a run that
was given a limit (`at_most`) ends as soon as the extrapolation passes it.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from elsv._base.notices import say_once
from elsv._base.numbers import duration, seconds_of
from elsv.errors import TooLongError

Report = Callable[..., None]  # (done, total[, what])
Progress = Callable[[int, int], None]
Share = Callable[[int, int], float]  # (done, total) to the share of the work that is done
_PATIENCE = 0.7  # seconds before a notebook shows a bar
_PAUSE = 0.2  # between two pictures of it
_LONG = 10.0  # seconds before a line on a terminal says that there is a bar
_MINUTE = 60.0  # between two lines in a file
_EVIDENCE = 0.02  # share of the time allowed that must have run before an extrapolation counts


class Forecast:
    """How long work still takes, from what has run since the first report.

    What comes before that, such as compiling or the weights of the last layer, is not done again.
    """

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self._first: tuple[float, float] | None = None  # share and seconds of the first report

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self.began

    def left(self, share: float, evidence: float = 0.0) -> float | None:
        """Return the seconds that are left with this share done; None while too little has run to tell."""
        if self._first is None:
            self._first = share, self.spent
        done, seconds = share - self._first[0], self.spent - self._first[1]
        if done <= 0.0 or seconds <= evidence:
            return None
        return seconds * max(0.0, 1.0 - share) / done


def left_in_words(seconds: float) -> str:
    """Return ``about 4 min left``."""
    rounded = 60 * round(seconds / 60) if seconds >= 120 else max(1, round(seconds))
    return f"about {duration(rounded)} left"


@contextmanager
def watched(
    progress: Progress | bool | None,
    what: str,
    *,
    share: Share | None = None,
    at_most: float | str | None = None,
    remedy: str = "",
) -> Iterator[Progress | None]:
    """Provide a function to report progress to, or None if nobody listens.

    Parameters
    ----------
    progress
        A function is called as it is. None shows a bar in a notebook and on a terminal one line if the work
        takes long, True a bar on a terminal too, False nothing. Where stderr is neither, as in a file, both
        write a line a minute.
    share
        Turns (done, total) into the share of the work that is done; default: done / total.
    at_most
        Seconds, or text such as ``"10min"``: once the work is seen to take longer, the report raises
        `TooLongError`, which ends with the `remedy`.
    """
    part = share or (lambda done, total: done / total if total else 1.0)
    with _listener(progress, what, part) as listener:
        if at_most is None:
            yield listener
            return
        allowed, forecast = seconds_of("at_most", at_most), Forecast()

        def report(done: int, total: int) -> None:
            if listener is not None:
                listener(done, total)
            finished = part(done, total)
            takes = forecast.spent + (forecast.left(finished, _EVIDENCE * allowed) or 0.0)
            if finished < 1.0 and takes > allowed:
                raise TooLongError(
                    f"{what} takes about {duration(takes)}, more than the {duration(allowed)} "
                    f"allowed by --at-most; {remedy}"
                )

        yield report


@contextmanager
def _listener(progress: Progress | bool | None, what: str, share: Share) -> Iterator[Progress | None]:
    if callable(progress):
        yield progress
    elif progress is False:
        yield None
    elif progress is None and not in_notebook() and _at_terminal():
        line = _LongWork(what)
        yield lambda done, total: line(share(done, total), 1.0)
    else:
        with progress_bar(what) as bar:
            yield lambda done, total: bar(share(done, total), 1.0)


@contextmanager
def progress_bar(what: str) -> Iterator[Report]:
    """Show a bar while working, in a notebook or on stderr if that is a terminal; call with (done, total).

    Into a file or a pipe goes a line a minute instead.
    """
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
        yield _LongWork(what, every=_MINUTE)


class _LongWork:
    """A line for somebody who has waited without a sign: one on a terminal, or one at regular times."""

    def __init__(self, what: str, every: float | None = None) -> None:
        self._what, self._every, self._forecast = what, every, Forecast()
        self._next = _LONG if every is None else every
        self._lock = threading.Lock()

    def __call__(self, done: float, total: float, now: str | None = None) -> None:
        """Say how much is done if the time for that has come."""
        with self._lock:
            left = self._forecast.left(done / total)
            if self._forecast.spent < self._next or left is None or done == total:
                return
            self._next = math.inf if self._every is None else self._forecast.spent + self._every
        so_far = f"{now or self._what}: {100 * done / total:.0f} % done, {left_in_words(left)}"
        if self._every is None:
            say_once(f"{so_far}; progress=True shows a bar, progress=False nothing")
        elif sys.stderr is not None:
            print(so_far, file=sys.stderr, flush=True)


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
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (
        TextColumn("{task.description:<14}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    forecast = Forecast()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, left="")

        def update(done: float, total: float, now: str = what) -> None:
            seconds = forecast.left(done / total) if total else None
            left = "" if seconds is None else left_in_words(seconds)
            bar.update(task, completed=done, total=total, description=now, left=left)

        yield update


class _NotebookBar:
    """A bar in the cell at work, once that takes a while; it goes when the work is done."""

    def __init__(self, what: str) -> None:
        self._what, self._forecast = what, Forecast()
        self._latest = self._forecast.began
        self._place: Any = None
        self._lock = threading.Lock()

    def __call__(self, done: float, total: float, now: str | None = None) -> None:
        """Draw the bar anew, unless that was just done."""
        with self._lock:
            share = min(1.0, done / total) if total > 0 else 0.0
            left = self._forecast.left(share)
            clock = time.perf_counter()
            if self._forecast.spent < _PATIENCE or clock - self._latest < _PAUSE:
                return
            self._latest = clock
            self._show(bar_html(now or self._what, share, left))

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


def bar_html(what: str, share: float, left: float | None) -> str:
    """Return the bar, the share that is done, and about how long the rest will take."""
    words = f", {left_in_words(left)}" if left else ""
    ends = "border-radius:0.3em"
    track = f"display:inline-block;width:16em;height:0.6em;background:rgba(128,128,128,0.3);{ends}"
    fill = f"display:block;width:{100 * share:.1f}%;height:100%;background:#3b82f6;{ends}"
    bar = f'<span style="{track}"><span style="{fill}"></span></span>'
    return f'<div style="color:inherit">{escape(what)} {bar} {100 * share:.0f} %{words}</div>'
