"""What a campaign is run by and may be changed on the way; every change is a new version in the log."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from elsv._base.numbers import UNITS, as_seconds, many, shown
from elsv.errors import CorruptFileError, InvalidInputError
from elsv.names import parse
from elsv.policies import DEFAULT_POLICY
from elsv.problem import Problem
from elsv.segments import Segments

Arm = int | tuple[int, ...]
"""An arm, from 0, or one for each segment."""


def several(arm: Arm | None) -> tuple[int, ...]:
    """Return an arm, or those of all segments, one after the other."""
    return () if arm is None else (arm,) if isinstance(arm, int) else arm


CAMPAIGN, OPEN, NEVER = STICKY = ("campaign", "open", "never")
_MAY_BE_NONE = ("window", "control", "fallback")  # no limit; no arm
_LONGEST = 36525 * 86400.0  # 100 years: a decision then expires within the years that dates can have


@dataclass(frozen=True)
class Settings:
    """The present version of the settings; arms from 0."""

    policy: str | None = DEFAULT_POLICY  # None: a function of the caller's own
    horizon: int | None = None  # customers; None for a problem with a discount
    window: float | None = None  # seconds until a decision without an outcome is a failure; None: for ever
    accept_late: bool = True  # whether an outcome after that corrects it
    sticky: str = CAMPAIGN  # for how long a customer keeps the arm: campaign, open (decisions) or never
    floor: float = 0.0  # least probability of every arm
    holdout: float = 0.0  # share of customers who get the control arm
    control: Arm | None = None  # the arm that others are measured against, or that of each segment
    fallback: Arm | None = None  # the arm while paused; None: the control arm, or the first
    paused: bool = False
    unit: str = ""  # of the rewards, such as EUR
    timezone: str = ""  # whose days are the campaign's, such as Europe/Berlin; empty: that of the machine
    ended: bool = False  # whether the customers so far are the last that are planned for
    withdrawn: tuple[int, ...] = ()  # arms that are not on offer now, rising

    def to_json(self) -> str:
        """Return the text that the log keeps."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Read what `to_json` wrote."""
        try:
            values = {"sticky": True, **json.loads(text)}  # a store of an earlier elsv keeps what it had
            for key in ("control", "fallback", "withdrawn"):
                if isinstance(values.get(key), list):
                    values[key] = tuple(values[key])
            return cls(**values | {"sticky": sticky_of(values["sticky"])})
        except (TypeError, ValueError) as error:
            raise CorruptFileError(f"the settings of a campaign are damaged: {error}") from error

    def left(self, used: int) -> int | None:
        """Return how many of the customers planned for are to come after `used`; None without an end."""
        if self.horizon is None:
            return None
        return 0 if self.ended else max(0, self.horizon - used)

    def phase(self, used: int) -> str:
        """Return what a campaign is doing after `used` customers, in a word."""
        if self.paused:
            return "paused"
        if self.left(used) == 0:
            return "over"
        return "running" if used else "not begun"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with arms from 1."""
        values = asdict(self) | {"withdrawn": [arm + 1 for arm in self.withdrawn]}
        for key in ("control", "fallback"):
            if (arm := values[key]) is not None:
                values[key] = arm + 1 if isinstance(arm, int) else [one + 1 for one in arm]
        return values

    def resting_arm(self, segments: Segments) -> Arm:
        """Return the arm while paused, or that of each segment: the first of these that is on offer."""
        wished = [several(arm) for arm in (self.fallback, self.control) if arm is not None]
        return segments.each(
            tuple(
                next(arm for arm in (*(one[g] for one in wished), *arms) if arm not in self.withdrawn)
                for g, arms in enumerate(segments.groups)
            )
        )

    def changed(self, problem: Problem, **changes: Any) -> Settings:
        """Return the settings with `changes`, checked against the arms of `problem`."""
        new = replace(self, **changes)
        if new.horizon != self.horizon and "ended" not in changes:
            new = replace(new, ended=False)
        for name, share in (("floor", new.floor), ("holdout", new.holdout)):
            if not isinstance(share, int | float) or isinstance(share, bool) or not 0 <= share < 1:
                raise InvalidInputError(f"{name} must be a share from 0 to below 1, got {shown(share)}")
        arms = max(map(len, problem.segments.groups))
        if not new.floor * arms < 1 and new.floor > 0:
            raise InvalidInputError(
                f"floor must leave room for the policy: below 1/{arms} with {arms} arms"
                f"{' on offer' if problem.segments.names else ''}, "
                f"got {new.floor:g}; try {0.1 / arms:.2g}"
            )
        if new.holdout and new.control is None:
            raise InvalidInputError("holdout needs the arm that its customers get; give control=")
        if problem.horizon is None and new.horizon is not None:
            raise InvalidInputError("a problem with a discount has no last customer; leave horizon out")
        for name, group in zip(problem.segments.names or ("",), problem.segments.groups, strict=True):
            if all(arm in new.withdrawn for arm in group):
                whose = f" of {name}" if name else ""
                raise InvalidInputError(
                    f"at least one arm{whose} must stay on offer, got "
                    f"{', '.join(problem.names[arm] for arm in group)} withdrawn; pause or end the campaign "
                    "instead"
                )
        held = [problem.names[arm] for arm in several(new.control) if arm in new.withdrawn]
        if new.holdout and held:
            raise InvalidInputError(
                f"held-out customers must get an arm on offer, got {held[0]} withdrawn; set holdout to 0 or "
                "give another control first"
            )
        return new


def as_kept(given: dict[str, Any]) -> dict[str, Any]:
    """Return settings as callers give them in the form in which they are kept."""
    for key, value in given.items():
        if value is None and key not in _MAY_BE_NONE:
            raise InvalidInputError(f"{key} must have a value, got none; leave it out to keep it as it is")
    forms: dict[str, Callable[[Any], Any]] = {
        "policy": lambda policy: str(parse(policy)) if isinstance(policy, str) else None,
        "window": seconds_of,
        "accept_late": bool,
        "sticky": sticky_of,
        "unit": str,
        "timezone": lambda name: zone_of(str(name)).key if name else name,
    }
    return {key: forms[key](value) if key in forms else value for key, value in given.items()}


def sticky_of(given: object) -> str:
    """Return for how long customers keep their arm; truth values are from before there were words.

    Examples
    --------
    >>> sticky_of("campaign"), sticky_of(True), sticky_of(False)
    ('campaign', 'open', 'never')
    """
    if isinstance(given, bool):
        return OPEN if given else NEVER
    if given not in STICKY:
        raise InvalidInputError(f"sticky must be one of {', '.join(STICKY)}, got {shown(given)}")
    return str(given)


def seconds_of(window: object) -> float | None:
    """Return a length of time in seconds: ``"7 days"``, ``"90 min"``, a number of seconds, or a timedelta.

    None, or the word "none", is no limit.

    Examples
    --------
    >>> seconds_of("7 days")
    604800.0
    """
    if window is None or (isinstance(window, str) and window.strip().lower() == "none"):
        return None
    found = window.total_seconds() if isinstance(window, timedelta) else as_seconds(window)
    if not 0 < found <= _LONGEST:
        raise InvalidInputError(
            "window must be a length of time such as '7 days', '36 hours' or 3600 (seconds), 100 years at "
            f"most, got {shown(window)}; None waits for ever"
        )
    return found


def in_words(seconds: float | None) -> str:
    """Return a length of time as people say it.

    Examples
    --------
    >>> in_words(604800), in_words(5400)
    ('7 days', '90 minutes')
    """
    if seconds is None:
        return "no limit"
    for word, length in reversed(UNITS.items()):
        if word != "week" and seconds >= length and math.isclose(seconds / length, round(seconds / length)):
            return many(round(seconds / length), word)
    return f"{seconds:g} seconds"


def zone_of(name: str) -> ZoneInfo:
    """Return a time zone by its name; an empty one is that of this machine."""
    try:
        return ZoneInfo(name or local_zone())
    except (KeyError, OSError, ValueError) as error:
        raise InvalidInputError(
            f"timezone must be a name such as Europe/Berlin or UTC, got {shown(name)}"
        ) from error


@cache
def local_zone() -> str:
    """Return the name of this machine's time zone; UTC if it does not say."""
    link = Path("/etc/localtime")
    told = str(link.resolve()).partition("zoneinfo/")[2] if link.is_symlink() else ""
    for name in filter(None, (os.environ.get("TZ", "").removeprefix(":"), told)):
        with suppress(KeyError, OSError, ValueError):
            return ZoneInfo(name).key
    return "UTC"


def problem_as_planned(problem: Problem, horizon: int | None, history: Sequence[tuple[int, int]]) -> Problem:
    """Return the problem with its present horizon and with history, (successes, failures), in its prior.

    Where the shares of segments are learnt, history counts as arrivals.
    """
    values = problem.to_dict()
    if horizon is not None:
        values["horizon"] = horizon
    prior = zip(values["prior"], history, strict=True)
    values["prior"] = [[a + won, b + lost] for (a, b), (won, lost) in prior]
    segments = problem.segments
    if segments.share_prior is not None:
        came = [sum(sum(history[i]) for i in arms) for arms in segments.groups]
        values["segment_prior"] = [a + n for a, n in zip(segments.share_prior, came, strict=True)]
    return Problem.from_dict(values)
