"""The form of a new campaign: turns what is typed into a problem and settings, and says what they imply.

Every error says which field it is about.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import starmap, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from elsv._base.numbers import shown
from elsv._base.progress import Progress
from elsv._base.typing import AnyArray, FloatArray
from elsv.assumptions import Check
from elsv.campaign.records import text_of
from elsv.campaign.settings import Arm, Settings, seconds_of, zone_of
from elsv.campaign.views import figure
from elsv.errors import InvalidInputError
from elsv.policies import make_policy
from elsv.prior.expectations import from_expectations
from elsv.prior.history import from_history
from elsv.prior.sources import read_history
from elsv.prior.untried import from_neighbours, known_arms, neutral, nothing_said
from elsv.problem import Problem
from elsv.simulation.precision import HEADS
from elsv.simulation.rehearse import rehearse

MOST_ARMS = 50
_LONGEST_ARM = 100  # characters of its name
MOST_REHEARSED = 10_000  # customers
_INSTANCES = 60  # imaginary shops of a rehearsal
_FLAT = 0.03  # of the largest worth: arms nearer than this are about as good

ORDERS = {
    "decreasing": "Each arm succeeds at least as often as the next, such as discounts, largest first",
    "increasing": "Each arm succeeds at most as often as the next, such as discounts, smallest first",
    "unimodal": "They rise to one arm and fall from there, as a dose that can be too small or too large",
    "free": "Nothing: the arms tell nothing of one another",
}
POLICIES = {
    "plan": "plan: near the optimum",
    "elsv": "elsv: one step ahead",
    "thompson": "thompson: by lot",
    "bayes-ucb": "bayes-ucb: optimistic",
    "greedy": "greedy: never explores",
}


class FieldError(InvalidInputError):
    """What is wrong with one field."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


@dataclass(frozen=True)
class ArmFields:
    """A row of the form, as it was typed."""

    name: str = ""
    reward: str = ""
    expected: str = ""  # conversion in per cent
    won: str = ""  # how many bought of those who had it before
    seen: str = ""


@dataclass(frozen=True)
class NewForm:
    """The form of a new campaign, as it was typed."""

    name: str = ""
    arms: tuple[ArmFields, ...] = (ArmFields(),) * 3
    today: str = ""  # number of the arm that is given today, from 0; empty: none
    unit: str = ""
    order: str = "decreasing"
    softened: bool = False
    share: str = ""  # of the visitors who buy today, in per cent
    sureness: str = "10"
    segments: str = ""  # of the customers, such as "mobile 60 %, desktop 40 %"
    history: str = ""  # a file of outcomes from before, as text
    horizon: str = "1500"
    window: str = "7 days"
    policy: str = "plan"
    floor: str = "0"
    holdout: str = "0"
    timezone: str = ""


def typed(fields: Sequence[tuple[str, str]]) -> NewForm:
    """Return the form that was sent."""
    single = {key: value.strip() for key, value in fields}
    columns = [
        [v.strip() for k, v in fields if k == key] for key in ("arm", "reward", "expected", "won", "seen")
    ]
    arms = tuple(starmap(ArmFields, zip_longest(*columns, fillvalue="")))
    texts = {one.name for one in dataclasses.fields(NewForm)} - {"arms", "softened"}
    rest = {key: value for key, value in single.items() if key in texts}
    return NewForm(arms=arms or NewForm.arms, softened=single.get("softened") == "yes", **rest)


def problem_of(form: NewForm) -> tuple[Problem, Arm | None]:
    """Return the problem that the form states, and the arm that is given today; an empty row is no arm.

    With segments every one of them has all arms, and today's arm is one for each.
    """
    filled = [(k, arm) for k, arm in enumerate(form.arms) if arm.name or arm.reward]
    if len(filled) < 2:
        raise FieldError("arms", "give at least two arms, each with a name and what a success earns")
    if len(filled) > MOST_ARMS:
        raise FieldError("arms", f"give at most {MOST_ARMS} arms here, got {len(filled)}")
    names, rewards, prior = [], [], []
    sureness = number("sureness", "how sure you are", form.sureness or "10", least=0.1, most=1e6)
    for place, (_, arm) in enumerate(filled, 1):
        if len(arm.name) > _LONGEST_ARM:
            raise FieldError("arms", f"the name of arm {place} must have at most {_LONGEST_ARM} characters")
        names.append(arm.name or f"arm {place}")
        rewards.append(number("arms", f"what a success of arm {place} earns", arm.reward, least=0.0))
        prior.append(_prior(place, arm, sureness))
    today = next((k for k, (row, _) in enumerate(filled) if form.today == str(row)), None)
    stated = _structure(form)
    horizon = int(number("horizon", "the number of customers", form.horizon, least=1, whole=True))
    segments = _segments(form.segments)
    more: dict[str, Any] = {"structure": stated}
    if segments is not None:
        if form.softened or form.order == "unimodal":
            rule = "with segments an order, or nothing, is known of the arms within each"
            raise FieldError("segments", f"{rule}; choose that below, or leave the segments out")
        more = {"segments": segments, "order": None if stated is None else form.order}
    with _blame("segments" if segments else "arms"):
        problem = Problem(rewards=rewards, names=names, horizon=horizon, prior=prior, **more)
        _ = problem.belief
    control: Arm | None = today
    if segments is not None and today is not None:
        control = tuple(group[today] for group in problem.segments.groups)
    with _blame("history"):
        counts = _history(form, [arm for _, arm in filled], problem)
    with _blame("share"):
        known = known_arms(problem, None if counts is None else counts[0] + counts[1])
        expecting = _with_share(form, problem, 0 if today is None else today, known, fill=counts is None)
    if counts is None:
        return expecting, control
    with _blame("history"):
        return from_history(expecting, *counts).problem, control


def _segments(text: str) -> list[str] | dict[str, float] | None:
    """Return the segments that were typed, with their shares if they have some."""
    parts = [part.strip() for part in re.split(r"[,;\n]", text) if part.strip()]
    if not parts:
        return None
    found = [re.fullmatch(r"(.*?)[\s:=]*(\d+(?:\.\d+)?)\s*%", part) for part in parts]
    if not any(found):
        return parts
    if not all(found):
        rule = "give a share for every segment, such as mobile 60 %, desktop 40 %, or for none"
        raise FieldError("segments", f"{rule}, got {shown(text)}")
    return {one[1]: float(one[2]) / 100 for one in found if one is not None}


def _history(
    form: NewForm, arms: Sequence[ArmFields], problem: Problem
) -> tuple[FloatArray, FloatArray] | None:
    """Return successes and failures from before: of a file, or as typed beside the arms; None without any."""
    if form.history:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "history.csv"
            path.write_text(form.history + "\n", encoding="utf-8")
            try:
                return (found := read_history(path, problem)).successes, found.failures
            except InvalidInputError as error:
                raise FieldError("history", str(error).replace(str(path), "the file")) from error
    if not any(arm.won or arm.seen for arm in arms):
        return None
    if problem.segments.names:
        rule = "with segments the history comes from a file with the columns arm, segment, successes, trials"
        raise FieldError("history", f"{rule}; leave the numbers beside the arms empty")
    counts = np.zeros((2, len(arms)))
    for place, arm in enumerate(arms):
        if arm.won or arm.seen:
            seen = number("arms", f"who had arm {place + 1} before", arm.seen or "0", least=1, whole=True)
            what = f"who bought of the {seen:,.0f} who had arm {place + 1} before"
            won = number("arms", what, arm.won or "0", least=0, most=seen, whole=True)
            counts[:, place] = won, seen - won
    return counts[0], counts[1]


def _with_share(form: NewForm, problem: Problem, today: int, known: AnyArray, fill: bool) -> Problem:
    """Return the problem with a row for every arm, where the form says something of the rates at all.

    `fill`: whether arms of which nothing is said get a row; history does it by itself.
    """
    arms = [group[today] for group in problem.segments.groups]
    if form.share and not known[arms].any():
        points = number("share", "the share that buys today", form.share.removesuffix("%").strip(), least=0.0)
        expected = {problem.names[arm]: points / 100 for arm in arms}
        return from_expectations(problem, expected, fill=fill).problem
    if fill and known.any() and not known.all():
        return from_neighbours(neutral(problem, known), known)[0]
    return problem


def settings_of(form: NewForm, problem: Problem, today: Arm | None) -> dict[str, Any]:
    """Return the keywords of `Campaign.open` that the form states, checked."""
    with _blame("name"):
        text_of("name of a campaign", form.name)
    if form.name != form.name.strip() or not form.name.isprintable():
        raise FieldError("name", f"name must be one line of text, got {shown(form.name)}")
    with _blame("window"):
        window = seconds_of(form.window) if form.window else None
    if form.policy not in POLICIES:
        raise FieldError("policy", f"policy must be one of the list, got {shown(form.policy)}")
    with _blame("policy"):
        make_policy(form.policy, problem)
    given = {
        "policy": form.policy,
        "window": window,
        "unit": form.unit[:20],
        "control": list(today) if isinstance(today, tuple) else today,
        "floor": share("floor", form.floor or "0"),
        "holdout": share("holdout", form.holdout or "0"),
    }
    if form.timezone:
        with _blame("timezone"):
            given["timezone"] = zone_of(form.timezone).key
    for name in ("floor", "holdout"):
        with _blame(name):
            Settings(horizon=problem.horizon, control=today).changed(problem, **{name: given[name]})
    return given


def share(name: str, text: str) -> float:
    """Return a share that was typed in per cent."""
    return number(name, name, text.removesuffix("%").strip(), least=0.0, most=100.0) / 100


def _structure(form: NewForm) -> Mapping[str, Any] | None:
    if form.order not in ORDERS:
        raise FieldError("order", f"what you know must be one of the list, got {shown(form.order)}")
    if form.order == "free":
        return None
    stated: dict[str, Any] = {"unimodal": True} if form.order == "unimodal" else {"order": form.order}
    return {"mixture": [[0.9, stated], [0.1, {"free": True}]]} if form.softened else stated


def _prior(place: int, arm: ArmFields, sureness: float) -> tuple[float, float]:
    """Return the Beta counts of an arm: uniform, or as many customers as one is sure of."""
    if not arm.expected:
        return 1.0, 1.0
    what = f"the expected conversion of arm {place}"
    points = number("arms", what, arm.expected.removesuffix("%").strip(), least=0.0, most=100.0)
    if not 0 < points < 100:
        raise FieldError("arms", f"{what} must lie between 0 and 100 per cent, got {shown(arm.expected)}")
    return sureness * points / 100, sureness * (1 - points / 100)


def number(
    name: str, what: str, text: str, *, least: float, most: float = 1e15, whole: bool = False
) -> float:
    """Return a number that was typed; 1,000 and 1 000 are 1000 where it is a whole one."""
    plain = text
    if whole:
        plain = "".join(c for c in text if not c.isspace() and c not in ",'’")
    try:
        value = float(plain) if plain.isascii() else math.nan
    except ValueError:
        value = math.nan
    if not least <= value <= most or (whole and value != int(value)):
        kind = "a whole number" if whole else "a number"
        up_to = "" if most >= 1e15 else f" to {most:g}"
        raise FieldError(name, f"{what} must be {kind} from {least:g}{up_to}, got {shown(text)}")
    return value


def best_beforehand(found: Check, unit: str) -> str:
    """Say which arm is expected to earn most before the first customer."""
    worths = sorted(((arm.reward * arm.prior.mean, arm.name) for arm in found.arms), reverse=True)
    (first, name), (second, other) = worths[:2]
    money = figure(first) + (f" {unit}" if unit else "")
    near = first - second <= _FLAT * first
    rest = f"nearly the same as {other}" if near else f"against {figure(second)} with {other}"
    return f"Before any customer {name} is expected to earn most, {money} a customer, {rest}."


def rehearsed(form: NewForm, problem: Problem, today: Arm | None, progress: Progress) -> dict[str, Any]:
    """Return what a small rehearsal says and how precisely the gain will be known, or what to type for it.

    It tries the number of customers asked for, and a third, half and twice as many.
    """
    against = "+".join(str(arm + 1) for arm in today) if isinstance(today, tuple) else today
    horizon = problem.horizon or MOST_REHEARSED
    asked = min(MOST_REHEARSED, horizon)
    found = rehearse(
        problem if horizon == asked else problem.with_horizon(asked),
        sorted({-(-asked // 3), -(-asked // 2), asked, 2 * asked}),
        against=against,
        policies=None if form.policy == "plan" else form.policy,
        instances=_INSTANCES,
        jobs=1,
        unit=form.unit,
        progress=progress,
    )
    nothing = nothing_said(found.problem, "Say above what share of your visitors buys today.")
    return {
        "error": None,
        "found": found,
        "cut": MOST_REHEARSED if horizon > MOST_REHEARSED else None,
        "against": found.today,
        "heads": HEADS,
        "answers": found.answers() if nothing is None else [nothing],
        "precision": found.precision() if nothing is None else None,
    }


@contextmanager
def _blame(name: str) -> Iterator[None]:
    """Turn errors of the library into errors of this field."""
    try:
        yield
    except FieldError:
        raise
    except InvalidInputError as error:
        raise FieldError(name, str(error)) from error
