"""What the pages show of a campaign, as text and pictures that are ready to be put into a template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from elsv._base.numbers import with_minus
from elsv.campaign.opening import Listed
from elsv.campaign.status import METHODS, SegmentStatus, Status
from elsv.live.explain import Explanation
from elsv.service.page import pictures
from elsv.service.page.reasons import Reasons, decimals, figure, method_of, percent, reasons_of

PHASES = {"not begun": "waiting", "running": "running", "paused": "paused", "over": "over"}


@dataclass(frozen=True)
class ArmView:
    """A row of the arms."""

    name: str
    swatch: Markup
    reward: str
    customers: str
    conversion: str
    between: str  # its 95 % interval
    worth: str
    worth_between: str
    picture: Markup  # of the worth
    best: str
    best_picture: Markup
    segment: str  # whom it is for; empty: everyone
    leads: bool
    next: bool  # whether the next customer gets it
    outcomes: tuple[str, ...]  # successes, failures, expired, under way, late, from before, earned


@dataclass(frozen=True)
class RivalView:
    """What the campaign earned, or what another way would have."""

    name: str
    picture: Markup
    earned: str
    gain: str = ""
    between: str = ""
    per_cent: str = ""
    source: str = ""
    sure: str = ""  # good or bad where the interval tells more from less


@dataclass(frozen=True)
class Tile:
    """A number that stands out."""

    label: str
    value: str
    note: str = ""
    share: Markup | None = None


@dataclass(frozen=True)
class CampaignView:
    """A campaign at one moment."""

    name: str
    phase: str
    phase_kind: str
    lead: tuple[str, ...]
    tiles: tuple[Tile, ...]
    arms: tuple[ArmView, ...]
    worth_axis: Markup
    unit: str
    history: bool  # whether outcomes from before the campaign were taken in
    rivals: tuple[RivalView, ...]
    rivals_axis: Markup | None
    assumed: str
    notes: tuple[str, ...]  # what else there is to say of the gain
    doubts: tuple[str, ...]  # what speaks against what is assumed
    reasons: tuple[Reasons, ...]  # one, or one for each segment
    method: tuple[str, ...]
    segments: tuple[tuple[str, ...], ...]  # rows of their table
    settings: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ListedView:
    """A campaign in the list."""

    name: str
    phase: str
    phase_kind: str
    customers: str
    share: Markup | None
    earned: str
    best: str
    best_chance: str
    contradicted: bool
    unreadable: str = ""  # why the campaign cannot be served


def listed(status: Status) -> ListedView:
    """Return a line of the list."""
    planned = "" if status.customers is None else f" of {status.customers:,}"
    share = None if not status.customers else pictures.progress(status.decided / status.customers)
    return ListedView(
        name=status.name,
        phase=status.phase.capitalize(),
        phase_kind=PHASES[status.phase],
        customers=f"{status.decided:,}{planned}",
        share=share,
        earned=status.money(status.earned),
        best=", ".join(segment.leader for segment in status.segments) or status.leader.name,
        best_chance="by segment" if status.segments else percent(status.leader.best),
        contradicted=status.contradicted,
    )


def listed_briefly(one: Listed) -> ListedView:
    """Return a line of the list for a campaign whose status cannot be computed here."""
    planned = "" if one.customers is None else f" of {one.customers:,}"
    share = None if not one.customers else pictures.progress(one.decided / one.customers)
    customers = f"{one.decided:,}{planned}"
    return ListedView(
        one.name,
        one.phase.capitalize(),
        PHASES[one.phase],
        customers,
        share,
        "–",
        "–",
        "",
        False,
        one.unreadable or "",
    )


def view_of(status: Status, explanations: Sequence[Explanation]) -> CampaignView:
    """Return all that the page of a campaign shows but who got which arm when.

    There is one explanation for each segment, or one alone.
    """
    chosen = {explanation.arm for explanation in explanations}
    scale = pictures.scale_of(arm.reward * arm.high for arm in status.arms)
    rivals, rivals_axis = _rivals(status)
    return CampaignView(
        name=status.name,
        phase=status.phase.capitalize(),
        phase_kind=PHASES[status.phase],
        lead=status.sentences(),
        tiles=_tiles(status),
        arms=tuple(_arm(status, i, scale, chosen) for i in range(len(status.arms))),
        worth_axis=pictures.axis(scale),
        unit=status.unit,
        history=any(arm.history for arm in status.arms),
        rivals=rivals,
        rivals_axis=rivals_axis,
        assumed=status.assumed,
        notes=status.notes(),
        doubts=tuple(doubt.words for doubt in status.doubts),
        reasons=tuple(reasons_of(status, explanation) for explanation in explanations),
        method=method_of(status),
        segments=tuple(_segment(status, segment) for segment in status.segments),
        settings=_settings(status),
    )


def _tiles(status: Status) -> tuple[Tile, ...]:
    expired = sum(arm.expired for arm in status.arms)
    planned = "no last customer" if status.customers is None else f"of {status.customers:,}"
    share = None if not status.customers else pictures.progress(status.decided / status.customers)
    left = "" if status.left is None else f", {status.left:,} left"
    gain = next(iter(status.gains), None)
    tiles = [Tile("Earned", status.money(status.earned), _successes(status))]
    if gain is not None:
        tiles.append(
            Tile(f"Against {gain.name}", status.money(gain.gain, True), f"95 %: {status.between(gain)}")
        )
    tiles += [
        Tile("Customers", f"{status.decided:,}", f"{planned}{left}", share),
        _best(status),
        Tile("Outcomes under way", f"{status.under_way:,}", f"{expired:,} expired without one"),
    ]
    return tuple(tiles)


def _successes(status: Status) -> str:
    count = sum(arm.successes for arm in status.arms)
    return f"{count:,} success{'' if count == 1 else 'es'}"


def _segment(status: Status, segment: SegmentStatus) -> tuple[str, ...]:
    counts = (percent(segment.share), f"{segment.decided:,}", f"{segment.under_way:,}")
    return (segment.name, *counts, status.money(segment.earned), segment.leader, percent(segment.best))


def _leaders(status: Status) -> set[str]:
    """Return the names of the arms that earn most, one of each segment if there are some."""
    return {segment.leader for segment in status.segments} or {status.leader.name}


def _best(status: Status) -> Tile:
    if not status.segments:
        said = f"the best with a probability of {percent(status.leader.best)}"
        return Tile("Earns most by now", status.leader.name, said)
    each = ", ".join(f"{segment.leader} for {segment.name}" for segment in status.segments)
    return Tile("Earn most by now", f"of {len(status.segments)} segments", each)


def _arm(status: Status, place: int, scale: pictures.Scale, chosen: set[int]) -> ArmView:
    arm, digits = status.arms[place], decimals(status.leader.worth)
    low, high = arm.reward * arm.low, arm.reward * arm.high
    counts = (arm.successes, arm.failures, arm.expired, arm.under_way, arm.late, arm.history)
    return ArmView(
        name=arm.name,
        swatch=pictures.swatch(place),
        reward=f"{arm.reward:,.6g}{' ' + status.unit if status.unit else ''}",
        customers=f"{arm.decided:,}",
        conversion=_points(arm.conversion),
        between=f"{_points(arm.low, False)} – {_points(arm.high)}",
        worth=figure(arm.worth, digits),
        worth_between=f"{figure(low, digits)} – {figure(high, digits)}",
        picture=pictures.interval(scale, arm.worth, low, high, place),
        best=percent(arm.best),
        best_picture=pictures.share(arm.best, place),
        segment=arm.segment or "",
        leads=arm.name in _leaders(status),
        next=place in chosen,
        outcomes=(*(f"{count:,}" for count in counts), status.money(arm.earned)),
    )


def _points(share: float, sign: bool = True) -> str:
    """Return a share in per cent with one decimal, two below one per cent."""
    text = f"{100 * share:.{1 if share >= 0.01 else 2}f}"
    return f"{text}\N{NO-BREAK SPACE}%" if sign else text


def _rivals(status: Status) -> tuple[tuple[RivalView, ...], Markup | None]:
    if not status.gains:
        return (), None
    ends = [status.earned - bound for gain in status.gains for bound in (gain.low, gain.high)]
    scale = pictures.scale_of(max(0.0, end) for end in (status.earned, *ends))
    own = RivalView("This campaign", pictures.bar(scale, status.earned, 0), status.money(status.earned))
    rows = [own]
    for gain in status.gains:
        span = max(0.0, status.earned - gain.high), max(0.0, status.earned - gain.low)
        rows.append(
            RivalView(
                name=gain.name[0].upper() + gain.name[1:],
                picture=pictures.bar(scale, gain.alternative, None, span),
                earned=status.money(gain.alternative),
                gain=status.money(gain.gain, True),
                between=status.between(gain),
                per_cent="" if gain.percent is None else with_minus(f"{gain.percent:+.1f} %"),
                source=METHODS[gain.method],
                sure="good" if gain.low > 0 else "bad" if gain.high < 0 else "",
            )
        )
    return tuple(rows), pictures.axis(scale)


def _settings(status: Status) -> tuple[tuple[str, str], ...]:
    return (
        ("Policy", status.policy),
        ("Window for an outcome", status.window),
        ("Floor", f"{100 * status.floor:g} % of the customers for every arm, at least"),
        ("Holdout", f"{100 * status.holdout:g} % of the customers get the control arm"),
        ("Assumed", status.assumed),
    )
