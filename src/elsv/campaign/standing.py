r"""From counts and settings to a `Status`: what is believed of each arm, what was gained, what is doubtful.

What a campaign earned more than it would have earned otherwise has three answers, never more. The n customers
whose outcomes are in earned :math:`E = \sum r_a y`. Always arm c would have earned :math:`n r_c\mu_c` in
expectation. So the gain is :math:`G_c = E - n r_c \mu_c`, where only :math:`\mu_c` is unknown.

1. ``belief``: its mean and 95 % interval by all that is known: outcomes, structure, prior, history.
2. ``outcomes``: :math:`E - n r_c C_c` with `elsv.simulation.precision.anytime` of this campaign's outcomes.
   It only assumes that :math:`\mu_c` does not change, and holds for any policy and however often one looks.
3. ``holdout``: the same with the held-out customers alone. It also survives rates that change with time.

With segments an alternative names an arm for each of them, and all is summed over their customers. An equal
split gives each arm on offer its share. By outcomes, several arms share the 5 % that an interval may miss.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from elsv._base.numbers import with_minus
from elsv._base.typing import FloatArray
from elsv.beliefs.abilities import POINTS, best_in_groups, marginals
from elsv.beliefs.points import joint_points
from elsv.campaign.choosing import Chooser
from elsv.campaign.figures import BELIEF, HOLDOUT, OUTCOMES, ArmStatus, GainSoFar, SegmentStatus, Sources
from elsv.campaign.history import Measured, split_doubt
from elsv.campaign.records import Tally, arms_in_words, in_iso
from elsv.campaign.settings import in_words, several, zone_of
from elsv.campaign.status import Status
from elsv.live.explain import BEST_TOLERANCE, INTERVAL
from elsv.prior.untried import nothing_said
from elsv.simulation.precision import MISS, anytime, one_look, precision
from elsv.state import State
from elsv.structure.base import has_own_prior
from elsv.structure.evidence import Counts, Doubt, doubts, evidence

Known = tuple[FloatArray, tuple[FloatArray, FloatArray]]
"""What is believed of every arm: means, and both ends of their 95 % intervals."""


def status_of(
    name: str,
    chooser: Chooser,
    tallies: Sequence[Tally],
    now: float,
    measured: Measured | None = None,
    past: Mapping[str, Any] | None = None,
) -> Status:
    """Return how a campaign with these counts stands; `measured` and `past_of` are what else its log says."""
    log, decided = measured or Measured(), sum(t.used for t in tallies)
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
    left = settings.left(decided)
    today = list(leaders if control is None else control)
    expected = problem.prior[today].sum() - sum(tallies[i].past for i in today)
    gains, sources = gains_of(chooser, tallies, (mean, (low, high)), leaders, control, log.held)
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
            for g, name in enumerate(segments.names)
        ),
        doubts=(*against, *_disagreement(gains, settings.unit)),
        sources=sources,
        expected=None if has_own_prior(problem.structure) else float(expected),
        precision=None
        if decided or unsaid or control is None or settings.horizon is None
        else precision(problem, settings.horizon, control, settings.unit),
        rested=sum(t.rested for t in tallies),
        voided=sum(t.voided for t in tallies),
        **past or {},
        timezone=zone_of(settings.timezone).key,
        last=None if log.last is None else in_iso(log.last),
        days=log.days,
        resting=arms_in_words(problem, several(settings.resting_arm(segments))),
        counting=measured is None and sum(t.decided for t in tallies) > 0,
        unsaid=unsaid,
    )


def _disagreement(gains: Sequence[GainSoFar], unit: str) -> Iterator[Doubt]:
    """Yield that the headline lies outside the interval by this campaign's outcomes alone."""
    seen = (gain for gain in gains if gain.against == gains[0].against and gain.method == OUTCOMES)
    alone = next(seen, None)
    if alone is not None and not alone.low <= gains[0].gain <= alone.high:
        digits = 0 if max(abs(alone.low), abs(alone.high)) >= 100 else 2
        words = (
            f"What was assumed beforehand does not fit the outcomes: against {gains[0].name} the gain is "
            f"{gains[0].gain:+,.{digits}f} by all that is known, and {alone.low:+,.{digits}f} to "
            f"{alone.high:+,.{digits}f} {unit} "
            "by this campaign's outcomes alone. Trust the outcomes; look at the prior rows, the history "
            "and the structure, or measure with a holdout."
        )
        yield Doubt("outcomes", with_minus(words).replace("  ", " "))


class _Gains:
    """The outcomes that are in, compared with alternatives."""

    def __init__(
        self, chooser: Chooser, tallies: Sequence[Tally], known: Known, held: Sequence[Counts]
    ) -> None:
        self._problem, self._state, self._held = chooser.problem, chooser.state(tallies), held
        self._mean, self._ends = known
        self._won = np.array([t.successes for t in tallies], dtype=np.float64)
        self._seen = np.array([t.seen for t in tallies], dtype=np.float64)
        segments = self._problem.segments
        sizes = np.array([len(group) for group in segments.groups])
        came = np.array([self._seen[list(group)].sum() for group in segments.groups])
        self._came = came[segments.of_arm]  # customers of each arm's segment
        self.split = self._came / sizes[segments.of_arm]  # what an equal split would have given each arm
        self.earned = float(self._problem.rewards @ self._won)

    def always(self, arms: Sequence[int]) -> FloatArray:
        """Return how many customers would have got each arm by giving one arm, or one for each segment."""
        return self._came * np.isin(np.arange(len(self._won)), arms)

    def worth(self, given: FloatArray) -> float:
        """Return what customers would have earned, by the means of the belief."""
        return float(given @ (self._problem.rewards * self._mean))

    def over(
        self, against: str, given: FloatArray, arms: str, words: str = "{}", measured: bool = False
    ) -> Iterator[GainSoFar]:
        """Yield the answers for an alternative: how many customers got each arm, and its `arms` in words.

        `words` is its name, and `measured` whether held-out customers get it.
        """
        problem, asked = self._problem, given > 0
        paid = (given * problem.rewards)[asked]
        won, seen = self._won[asked], self._seen[asked]
        found = [(BELIEF, self.worth(given), *self._by_belief(given), seen)]
        if (seen > 0).all():
            sharing = len(self._won) if against == "split" else problem.segments.count
            low, high = anytime(won, seen, MISS / sharing)  # whether or not customers came for them
            found.append((OUTCOMES, float(paid @ (won / seen)), float(paid @ low), float(paid @ high), seen))
        if measured and len(self._held):
            won, seen = np.array(self._held, dtype=np.float64)[asked].T
            if (seen > 0).all():
                rate, (low, high) = won / seen, one_look(won, seen)
                middle = float(paid @ rate)
                # Errors of several segments are independent: their squares add up.
                below, above = np.linalg.norm(paid * (rate - low)), np.linalg.norm(paid * (high - rate))
                found.append((HOLDOUT, middle, middle - float(below), middle + float(above), seen))
        for method, value, least, most, had in found:
            ends, gain = (self.earned - most, self.earned - least), self.earned - value
            yield GainSoFar(against, words.format(arms), gain, *ends, value, method, int(had.sum()), arms)

    def _by_belief(self, given: FloatArray) -> tuple[float, float]:
        """Return both ends of what customers would have earned."""
        paid, asked = given * self._problem.rewards, np.flatnonzero(given)
        if len(asked) == 1:
            low, high = (paid[asked[0]] * end[asked[0]] for end in self._ends)
        else:
            one = State.trusted(self._state.alpha[None], self._state.beta[None])
            theta, weight = (part[0] for part in joint_points(self._problem.belief, one, POINTS))
            sums = theta @ paid
            order = np.argsort(sums)
            below = (np.cumsum(weight[order]) - 0.5 * weight[order]) / weight.sum()
            low, high = np.interp((MISS / 2, 1 - MISS / 2), below, sums[order])
        return float(low), float(high)


def gains_of(
    chooser: Chooser,
    tallies: Sequence[Tally],
    known: Known,
    best: Sequence[int],
    control: Sequence[int] | None,
    held: Sequence[Counts] = (),
) -> tuple[tuple[GainSoFar, ...], Sources | None]:
    """Return the gains over the control arm, the arm that earns most by now and an equal split.

    `best` and `control` are an arm for each segment; `held` are successes and outcomes of the customers who
    were held out, arm by arm. Also returned: how much of the gain over the control arm is switching, and how
    much is learning.
    """
    if not any(t.seen for t in tallies):
        return (), None
    gains, problem = _Gains(chooser, tallies, known, held), chooser.problem
    found: list[GainSoFar] = []
    if control is not None:
        named = arms_in_words(problem, control)
        found += gains.over("control", gains.always(control), named, "always {}", measured=True)
    if control is None or list(best) != list(control):
        named, words = arms_in_words(problem, best), "always {}, which earns most by now"
        found += gains.over("best", gains.always(best), named, words)
    found += gains.over("split", gains.split, "an equal split")
    if control is None:
        return tuple(found), None
    before = State(problem.prior[:, 0], problem.prior[:, 1])
    worth = problem.rewards * np.asarray(marginals(problem.belief, before, (0.5,))[0])
    first = [group[int(worth[list(group)].argmax())] for group in problem.segments.groups]
    now, then = (gains.worth(gains.always(arms)) for arms in (control, first))
    return tuple(found), Sources(arms_in_words(problem, first), then - now, gains.earned - then)
