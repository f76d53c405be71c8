"""Who got which arm when, for any number of decisions: each is read once by a server, and only counted.

Customers are taken together in parts of 8, 16, 32, … such that there are `PARTS` at most. Decisions are only
ever appended, so that what has been counted stays; new ones are read in short transactions, since writers of
a small database wait meanwhile. Nobody waits for a long log: what has not been counted within a moment is
left to the next look.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from elsv.campaign import Campaign, log
from elsv.service.page.views import COLOURS, percent

PARTS = 64
_LEAST = 8  # customers in a part
_KEPT = 256  # campaigns
_AT_ONCE = 50_000  # decisions in one transaction
_MOMENT = 0.2  # seconds
_OTHERS = 7  # the colour of arms that share one


@dataclass
class Course:
    """Decisions of one campaign, by part and arm."""

    arms: int
    size: int = _LEAST
    counted: int = 0
    made: int = 0  # decisions in all
    parts: list[list[int]] = field(default_factory=list)

    def add(self, part: int, arm: int, count: int) -> None:
        """Count decisions of one part."""
        while len(self.parts) <= part:
            self.parts.append([0] * self.arms)
        self.parts[part][arm] += count
        self.counted += count

    def make_room(self, decisions: int) -> None:
        """Join parts, two into one, until `decisions` have room."""
        while decisions > PARTS * self.size:
            pairs = [self.parts[k : k + 2] for k in range(0, len(self.parts), 2)]
            self.parts = [[sum(counts) for counts in zip(*pair, strict=True)] for pair in pairs]
            self.size *= 2

    def ends(self) -> list[int]:
        """Return the last customer of every part."""
        return [min(self.counted, (k + 1) * self.size) for k in range(len(self.parts))]


class Courses:
    """The courses of all campaigns, brought up to date when they are asked for."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Course] = OrderedDict()
        self._lock = Lock()

    def of(self, campaign: Campaign, arms: int, seconds: float = _MOMENT) -> Course:
        """Return the course of a campaign, by now or as far as it could be counted."""
        until_time = time.monotonic() + seconds
        with self._lock:
            course = self._known.get(campaign.name)
            if course is None or course.arms != arms:
                course = self._known[campaign.name] = Course(arms)
            self._known.move_to_end(campaign.name)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
            while True:
                made, until, rows = log.allocation(
                    campaign.store, campaign.name, course.counted, course.size, _AT_ONCE
                )
                if until > PARTS * course.size:  # in larger parts, then
                    course.make_room(made)
                    continue
                for part, arm, count in rows:
                    course.add(part, arm, count)
                course.made = made
                if until >= made or time.monotonic() > until_time:
                    return course


@dataclass(frozen=True)
class CourseView:
    """What is drawn and said of a course."""

    data: str  # JSON for the script that draws it
    legend: tuple[tuple[int, str, str], ...]  # colour, name, share of all customers
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]  # customers of each arm by part
    note: str  # that some are still to be counted, or nothing


def course_view(course: Course, names: Sequence[str]) -> CourseView:
    """Return a course for a page; of many arms those with the most customers, and the others as one."""
    ends = course.ends()
    columns = [[part[arm] for part in course.parts] for arm in range(course.arms)]
    shown = list(range(course.arms))
    if course.arms > COLOURS:
        shown = sorted(sorted(shown, key=lambda arm: -sum(columns[arm]))[: COLOURS - 2])
    series = [(names[arm], arm % COLOURS, columns[arm]) for arm in shown]
    if len(shown) < course.arms:
        rest = [columns[arm] for arm in range(course.arms) if arm not in shown]
        series.append(("other arms", _OTHERS, [sum(counts) for counts in zip(*rest, strict=True)]))
    drawn = {
        "ends": ends,
        "names": [name for name, _, _ in series],
        "colours": [colour for _, colour, _ in series],
        "counts": [counts for _, _, counts in series],
    }
    total = max(1, course.counted)
    starts = [1 + end for end in [0, *ends][: len(ends)]]
    return CourseView(
        data=json.dumps(drawn, separators=(",", ":")),
        legend=tuple((colour, name, percent(sum(counts) / total)) for name, colour, counts in series),
        head=("Customers", *(name for name, _, _ in series)),
        rows=tuple(
            (f"{start:,} – {end:,}", *(f"{counts[k]:,}" for _, _, counts in series))
            for k, (start, end) in enumerate(zip(starts, ends, strict=True))
        ),
        note=f"The first {course.counted:,} customers; the others are being counted."
        if course.counted < course.made
        else "",
    )
