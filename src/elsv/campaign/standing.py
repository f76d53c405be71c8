"""From counts and settings to a `Status`: what is believed of each arm, what was gained, what is doubtful."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from elsv._base.numbers import with_minus
from elsv.beliefs.abilities import best_in_groups, marginals
from elsv.campaign.choosing import Chooser
from elsv.campaign.figures import ArmStatus, SegmentStatus
from elsv.campaign.gains import OUTCOMES, GainSoFar, gains_of
from elsv.campaign.history import Measured, Past, split_doubt
from elsv.campaign.records import Tally, arms_in_words, in_iso
from elsv.campaign.settings import in_words, several, zone_of
from elsv.campaign.status import Status
from elsv.live.explain import BEST_TOLERANCE, INTERVAL
from elsv.prior.untried import nothing_said
from elsv.simulation.precision import precision
from elsv.structure.base import has_own_prior
from elsv.structure.evidence import Doubt, doubts, evidence


def status_of(
    name: str,
    chooser: Chooser,
    tallies: Sequence[Tally],
    decided: int,
    now: float,
    measured: Measured | None = None,
    past: Past | None = None,
) -> Status:
    """Return how a campaign with these counts stands; the last two are what else its log says.

    `decided` are the customers of those planned for who have come.
    """
    log, before = measured or Measured(), past or Past()
    problem, settings, state = chooser.problem, chooser.settings, chooser.state(tallies)
    segments, gone = problem.segments, set(settings.withdrawn)
    groups = [tuple(arm for arm in group if arm not in gone) for group in segments.groups]  # on offer
    mean, (low, high) = marginals(problem.belief, state, INTERVAL, np.random.default_rng(0))
    chance, largest = best_in_groups(problem.belief, state, problem.rewards, groups, BEST_TOLERANCE)
    shares = np.array(segments.shares)
    if segments.shares is None:
        planned = chooser.planned(tallies, decided + 1, np.random.default_rng(0))
        shares = chooser.asked.segments.chances_in(planned, chooser.asked)
    worth = problem.rewards * mean
    control = several(settings.control) or None
    zone = zone_of(settings.timezone)
    leaders = [group[int(worth[list(group)].argmax())] for group in groups]
    ahead, known = float(shares @ worth[leaders]), float(shares @ largest)
    arms = tuple(
        ArmStatus(
            arm=i,
            name=problem.names[i],
            reward=float(problem.rewards[i]),
            decided=t.had,
            successes=t.successes,
            failures=t.failures,
            expired=t.expired,
            under_way=t.open,
            late=t.late,
            history=t.past,
            conversion=float(mean[i]),
            low=float(low[i]),
            high=float(high[i]),
            worth=float(worth[i]),
            best=0.0 if i in gone else float(chance[i]),
            earned=float(problem.rewards[i] * t.successes),
            segment=segments.name_of(i),
            voided=t.voided,
            withdrawn=i in gone,
            recent=log.recent[i] if log.recent else 0,
            today=control is not None and i in control,
        )
        for i, t in enumerate(tallies)
    )
    left, resting = settings.left(decided), several(settings.resting_arm(segments))
    gains, sources = gains_of(chooser, tallies, leaders, control, log.held)
    found = evidence(problem, state) if any(t.seen for t in tallies) else None
    against = doubts(problem, state, found, log.halves) + split_doubt(log.split, problem.names)
    unsaid = None if decided or any(t.past for t in tallies) else nothing_said(problem)
    return Status(
        name=name,
        at=in_iso(now),
        phase=settings.phase(decided),
        unit=settings.unit,
        policy=settings.policy or "a policy of your own",
        assumed=problem.structure.describe(),
        window=in_words(settings.window),
        floor=settings.floor,
        holdout=settings.holdout,
        customers=settings.horizon,
        decided=decided,
        left=left,
        under_way=sum(t.open for t in tallies),
        earned=sum(arm.earned for arm in arms),
        arms=arms,
        gains=gains,
        ahead=None if left is None else float(left * ahead),
        to_learn=None if left is None else float(max(0.0, left * (known - ahead))),
        doubt=None if found is None or found.factor is None else 1 / found.factor,
        segments=tuple(
            SegmentStatus(
                name,
                float(shares[g]),
                decided=sum(tallies[i].had for i in segments.groups[g]),
                under_way=sum(tallies[i].open for i in segments.groups[g]),
                earned=sum(arms[i].earned for i in segments.groups[g]),
                leader=problem.names[leaders[g]],
                best=float(chance[leaders[g]]),
            )
            for g, name in enumerate(segments.named)
        ),
        doubts=(*against, *_disagreement(gains, settings.unit)),
        sources=sources,
        expected=_expected(chooser, tallies, leaders if control is None else control),
        precision=None
        if decided or unsaid or control is None or settings.horizon is None
        else precision(problem, settings.horizon, control, settings.unit),
        rested=sum(t.rested for t in tallies),
        voided=sum(t.voided for t in tallies),
        **vars(before) | {"ended": before.ended if left == 0 else None},
        timezone=zone.key,
        last=None if log.last is None else in_iso(log.last),
        days=log.days,
        resting=arms_in_words(problem, resting),
        counting=measured is None and sum(t.decided for t in tallies) > 0,
        unsaid=unsaid,
    )


def _expected(chooser: Chooser, tallies: Sequence[Tally], arms: Sequence[int]) -> float | None:
    """Return how many customers the prior rows of some arms are worth; None where rows say nothing."""
    if has_own_prior(chooser.problem.structure):
        return None
    rows = chooser.problem.prior[list(arms)].sum()
    return float(rows - sum(tallies[i].past for i in arms))


def _disagreement(gains: Sequence[GainSoFar], unit: str) -> Iterator[Doubt]:
    """Yield that the headline lies outside the interval by this campaign's outcomes alone."""
    seen = [gain for gain in gains if gain.against == gains[0].against and gain.method == OUTCOMES]
    for gain, alone in zip(gains, seen, strict=False):  # the first of each, if there is one
        if not alone.low <= gain.gain <= alone.high:
            digits = 0 if max(abs(alone.low), abs(alone.high)) >= 100 else 2
            words = (
                f"What was assumed beforehand does not fit the outcomes: against {gain.name} the gain is "
                f"{gain.gain:+,.{digits}f} by all that is known, and {alone.low:+,.{digits}f} to "
                f"{alone.high:+,.{digits}f} {unit} "
                "by this campaign's outcomes alone. Trust the outcomes; look at the prior rows, the history "
                "and the structure, or measure with a holdout."
            )
            yield Doubt("outcomes", with_minus(words).replace("  ", " "))
