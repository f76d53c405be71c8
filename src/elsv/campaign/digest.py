"""The news of all campaigns of a store, as text or as HTML for an e-mail."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from elsv._base.numbers import many, shown
from elsv.campaign.campaign import Campaign
from elsv.campaign.opening import campaigns_of
from elsv.campaign.status import Status
from elsv.campaign.views import environment
from elsv.errors import ElsvError, InvalidInputError
from elsv.stores.base import Store


@dataclass(frozen=True)
class Item:
    """What is new of one campaign."""

    status: Status
    came: str  # customers, successes and money since then; empty: nothing came
    changes: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """Its news, a sentence each: how it stands, what came, the money, what is offered, the trouble."""
        state, _, offered, wrong = self.status.sentences()
        came = (self.came,) if self.came else ()
        return (state, *came, self.status.money_line(), offered, *self.changes, wrong)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        name, troubles = self.status.name, list(self.status.troubles())
        return {"name": name, "phase": self.status.phase, "troubles": troubles, "lines": list(self.lines)}


@dataclass(frozen=True)
class Digest:
    """The news of all campaigns: those with trouble first, those without news in a line."""

    since: str  # in words
    items: tuple[Item, ...]
    quiet: tuple[str, ...]  # names of campaigns where nothing happened
    unreadable: tuple[tuple[str, str], ...] = ()  # name and reason

    def __str__(self) -> str:
        lines = [self.title]
        for item in self.items:
            lines += ["", item.status.name, *(f"  {line}" for line in item.lines)]
        if self.quiet:
            lines += ["", f"Nothing new: {', '.join(self.quiet)}."]
        return "\n".join([*lines, *(f"\n{name}\n  {why}" for name, why in self.unreadable)])

    @property
    def title(self) -> str:
        """What an e-mail may have as its subject."""
        wrong = sum(bool(item.status.troubles()) for item in self.items) + len(self.unreadable)
        count = len(self.items) + len(self.quiet) + len(self.unreadable)
        news = "nothing is wrong" if not wrong else f"{wrong} with trouble"
        return f"{many(count, 'campaign')} since {self.since}: {news}"

    def html(self) -> str:
        """Return a page whose styles stand in its tags, as programs for e-mail want them (extra ``plot``)."""
        return str(environment().get_template("digest.html").render(digest=self))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        said = {"title": self.title, "since": self.since, "quiet": list(self.quiet)}
        unreadable = [{"name": name, "reason": why} for name, why in self.unreadable]
        return {**said, "campaigns": [item.to_dict() for item in self.items], "unreadable": unreadable}


def digest_of(store: Store, since: str = "yesterday", now: float | None = None) -> Digest:
    """Return the news of all campaigns of a store.

    `since` is ``yesterday``, ``today``, ``7 days`` or a day such as ``2026-03-01``, in each campaign's time
    zone.
    """
    moment = time.time() if now is None else now
    _back(since, date(2000, 1, 1))
    items, quiet, unreadable = [], [], []
    for one in campaigns_of(store):
        try:
            status = Campaign.open(store, one.name, clock=lambda: moment).status()
        except ElsvError as error:
            unreadable.append((one.name, f"It cannot be read: {error}"))
            continue
        first = _back(since, status.today).isoformat()
        days = [day for day in status.days if day.date >= first]
        changes = tuple(
            f"{status.said_moment(change.at)}: {change.what}."
            for change in status.changes
            if status.local(change.at).date().isoformat() >= first
        )
        some = any(day.came + day.outcomes for day in days)
        came = f"Since {status.said_day(first)}: {status.came_in_words(days)}." if some else ""
        if came or changes or status.troubles() or status.phase in ("running", "paused"):
            items.append(Item(status, came, changes))
        else:
            quiet.append(status.name)
    items.sort(key=lambda item: not item.status.troubles())
    return Digest(since, tuple(items), tuple(quiet), tuple(unreadable))


def _back(since: str, today: date) -> date:
    """Return the day that `since` means."""
    text = since.strip().lower()
    if text in ("today", "yesterday"):
        return today - timedelta(days=int(text == "yesterday"))
    number, _, unit = text.partition(" ")
    if number.isdecimal() and unit in ("day", "days", "week", "weeks") and len(number) < 5:
        return today - timedelta(days=int(number) * (7 if unit.startswith("week") else 1))
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise InvalidInputError(
            f"since must be yesterday, today, '7 days' or a day such as 2026-03-01, got {shown(since)}"
        ) from error
