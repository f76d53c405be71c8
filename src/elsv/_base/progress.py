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
_Show = Callable[[str, float, float | None, float], None]  # what is done, its share, seconds left and spent
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

    `progress` is that function, or None: a bar in a notebook and, if the work takes long, one line on a
    terminal; True: a bar on a terminal too; False: nothing. Into a file None and True write a line a minute.
    `share` turns (done, total) into the share of the work that is done; default: done / total. Once the work
    is seen to take longer than `at_most`, the report raises `TooLongError`, which ends with the `remedy`.
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


def silent(done: int, total: int) -> None:
    """Tell nobody."""


def part_of(report: Progress | None, begin: int, end: int, total: int) -> Progress | None:
    """Return what reports the progress of a part of the work, from `begin` to `end` of `total`."""
    if report is None:
        return None
    return lambda done, whole: report(begin + (end - begin) * done // whole, total)


@contextmanager
def _listener(progress: Progress | bool | None, what: str, share: Share) -> Iterator[Progress | None]:
    if callable(progress):
        yield progress
    elif progress is False:
        yield None
    elif progress is None and not in_notebook() and _at_terminal():
        hint = "progress=True shows a bar, progress=False nothing"
        line = _reporter(what, _lines(_LONG, math.inf, lambda said: say_once(f"{said}; {hint}")))
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
        with _in_cell() as show:
            yield _reporter(what, show)
    elif _at_terminal():
        with _on_terminal(what) as show:
            yield _reporter(what, show)
    else:
        yield _reporter(what, _lines(_MINUTE, _MINUTE, _print))


def _reporter(what: str, show: _Show) -> Report:
    """Return what is called with (done, total[, what]), by one thread at a time."""
    forecast, lock = Forecast(), threading.Lock()

    def report(done: float, total: float, now: str = what) -> None:
        with lock:
            share = min(1.0, done / total) if total > 0 else 0.0
            show(now, share, forecast.left(share), forecast.spent)

    return report


def _lines(first: float, every: float, say: Callable[[str], None]) -> _Show:
    """Return what says a line after `first` seconds, and again after `every` seconds more."""
    due = first

    def show(now: str, share: float, left: float | None, spent: float) -> None:
        nonlocal due
        if spent >= due and left is not None and share < 1.0:
            due = spent + every
            say(f"{now}: {100 * share:.0f} % done, {left_in_words(left)}")

    return show


def _print(line: str) -> None:
    if sys.stderr is not None:
        print(line, file=sys.stderr, flush=True)


def _at_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


@contextmanager
def _on_terminal(what: str) -> Iterator[_Show]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (
        TextColumn("{task.description:<14}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[left]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None, left="")

        def show(now: str, share: float, left: float | None, _: float) -> None:
            words = "" if left is None else left_in_words(left)
            bar.update(task, completed=share, total=1.0, description=now, left=words)

        yield show


@contextmanager
def _in_cell() -> Iterator[_Show]:
    """Show a bar in the cell at work, once that takes a while; leave an empty place behind."""
    from IPython.display import HTML, display

    place: Any = None
    latest = 0.0

    def show(now: str, share: float, left: float | None, spent: float) -> None:
        nonlocal place, latest
        if spent < _PATIENCE or spent - latest < _PAUSE:
            return
        latest, bar = spent, HTML(bar_html(now, share, left))
        if place is None:
            place = display(bar, display_id=True)
        else:
            place.update(bar)

    try:
        yield show
    finally:
        if place is not None:
            place.update(HTML(""))


def bar_html(what: str, share: float, left: float | None) -> str:
    """Return the bar, the share that is done, and about how long the rest will take."""
    words = f", {left_in_words(left)}" if left else ""
    ends = "border-radius:0.3em"
    track = f"display:inline-block;width:16em;height:0.6em;background:rgba(128,128,128,0.3);{ends}"
    fill = f"display:block;width:{100 * share:.1f}%;height:100%;background:#3b82f6;{ends}"
    bar = f'<span style="{track}"><span style="{fill}"></span></span>'
    return f'<div style="color:inherit">{escape(what)} {bar} {100 * share:.0f} %{words}</div>'
