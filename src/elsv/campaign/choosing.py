r"""Which arm the next customers get, and with which probability.

With :math:`\pi` the probabilities of the policy in the state that counts open decisions
(`elsv.policies.asking`), a floor f for each of N arms and a share h held out for the control arm c, arm i is
chosen with

.. math:: q_i = h\,[i = c] + (1 - h)\,\bigl(f + (1 - N f)\,\pi_i\bigr).

With segments all that is about the N arms on offer to who has come, c being the control arm among them. While
paused the fallback arm is certain. After the last customer :math:`\pi` is the arm that is best by then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs.abilities import repeats
from elsv.beliefs.base import mean_of
from elsv.campaign.records import Tally
from elsv.campaign.settings import Settings
from elsv.policies import BasePolicy, Fixed, Greedy
from elsv.policies.asking import chances_of, with_expected
from elsv.policies.base import IGNORE
from elsv.problem import Problem
from elsv.state import State


def choice_stream(seed: int, number: int) -> np.random.Generator:
    """Return the generator that draws customer `number` (from 1) from the probabilities q."""
    return np.random.default_rng((seed, number))


def policy_stream(seed: int, number: int) -> np.random.Generator:
    """Return the generator that the policy may draw from for a customer; independent of `choice_stream`."""
    return np.random.default_rng(np.random.SeedSequence((seed, number), spawn_key=(0,)))


@dataclass(frozen=True)
class Choice:
    """An arm, from 0, how it came about, and the probability of every arm ``[N]``."""

    arm: int
    reason: str
    propensities: FloatArray
    offered: tuple[int, ...] | None = None  # the arms of the segment that came; None: all

    @property
    def propensity(self) -> float:
        """The probability of the arm itself."""
        return float(self.propensities[self.arm])

    def in_text(self) -> str:
        """Return the probabilities as the log keeps them: not rounded, empty for an arm not on offer."""
        chances = self.propensities.tolist()
        if self.offered is None:
            return ",".join([f"{p:.17g}" for p in chances])
        return ",".join([f"{p:.17g}" if i in self.offered else "" for i, p in enumerate(chances)])


@dataclass(frozen=True)
class Chooser:
    """A policy under one version of the settings."""

    problem: Problem  # as it is planned for: the present horizon, history in the prior
    policy: BasePolicy
    settings: Settings

    def state(self, tallies: Sequence[Tally]) -> State:
        """Return what the outcomes that are in amount to."""
        won = np.array([t.successes for t in tallies], dtype=np.float64)
        lost = np.array([t.lost for t in tallies], dtype=np.float64)
        return State.trusted(self.problem.prior[:, 0] + won, self.problem.prior[:, 1] + lost)

    def acting(self, step: int) -> tuple[BasePolicy, str]:
        """Return who chooses for customer `step` (from 1), and why, before floor and holdout."""
        if self.settings.paused:
            return Fixed(self.problem, self.settings.resting_arm(self.problem.segments)), "paused"
        if self.problem.horizon is not None and step > self.problem.horizon:
            return Greedy(self.problem, self.problem.belief), "after"
        return self.policy, "policy"

    def choose(self, tallies: Sequence[Tally], segments: Sequence[int | None], seed: int) -> list[Choice]:
        """Return the choices for the next customers, one after the other; `segments` says who they are.

        What is drawn depends on `seed` and on the customer's number alone. The policy of a long batch is not
        asked for each customer: see `_Batch`.
        """
        return _Batch(self, tallies, segments, seed).choices()

    def planned(self, tallies: Sequence[Tally], step: int, rng: np.random.Generator) -> State:
        """Return the state in which the acting policy is asked now."""
        waiting = np.array([t.open for t in tallies], dtype=np.float64)
        return _Planned(self, self.state(tallies)).state(self.acting(step)[0], waiting, lambda: rng)

    def draw(
        self,
        chances: FloatArray,
        reason: str,
        make_rng: Callable[[], np.random.Generator],
        segment: int | None = None,
    ) -> Choice:
        """Return an arm drawn from the policy's probabilities, with floor and holdout."""
        floor, holdout, segments = self.settings.floor, self.settings.holdout, self.problem.segments
        offered = None if not segments.stated or segment is None else segments.groups[segment]
        arms = len(chances) if offered is None else len(offered)
        arm = int(chances.argmax())
        if reason == "paused" or (not floor and not holdout and chances[arm] == 1.0):
            return Choice(arm, reason, chances, offered)
        rng, mixed = make_rng(), chances
        if floor or holdout:
            mixed = (1.0 - holdout) * (floor + (1.0 - arms * floor) * chances)
        if offered is not None:
            mixed = np.where(np.isin(np.arange(len(chances)), offered), mixed, 0.0)
        if holdout:
            control = self.settings.control_arm(segment)
            mixed[control] += holdout
            if rng.random() < holdout:
                return Choice(control, "holdout", mixed, offered)
        if floor and rng.random() < arms * floor:
            place = int(rng.integers(arms))
            return Choice(place if offered is None else offered[place], "floor", mixed, offered)
        if chances[arm] < 1.0:
            below = chances.cumsum()  # as `rng.choice` does, without its checks
            arm = int((below / below[-1]).searchsorted(rng.random(), side="right"))
        return Choice(arm, reason, mixed, offered)


class _Batch:
    """Choices for several customers, each of which counts as open for the next.

    Probabilities change seldom within a batch, and a planner takes a millisecond to be asked. So they are
    supposed to hold for the next 1, 2, 4, … customers (`STRIDE` at most) and looked up behind these; if they
    have changed, the place is found by halving. Only policies that say so (`steady`) are asked like that.
    """

    STRIDE = 32

    def __init__(
        self, chooser: Chooser, tallies: Sequence[Tally], segments: Sequence[int | None], seed: int
    ) -> None:
        self._chooser, self._count, self._seed, self._segments = chooser, len(segments), seed, segments
        self._first = 1 + sum(t.decided for t in tallies)
        self._planned = _Planned(chooser, chooser.state(tallies))
        self._waiting = [np.array([t.open for t in tallies], dtype=np.float64)]  # before each place
        self._choices: list[Choice] = []

    def choices(self) -> list[Choice]:
        """Return them all."""
        if not self._count:
            return []
        chances, length = self._ask(0), 1
        while len(self._choices) < self._count:
            start = len(self._choices)
            length = min(length, self._room(start))
            self._suppose(chances, start + length)
            if start + length >= self._count:
                break
            after = self._ask(start + length)
            if np.array_equal(after, chances):
                length = min(2 * length, self.STRIDE)
                continue
            same, other = start, start + length  # they hold at `same`, and no longer at `other`
            while other - same > 1:
                middle = (same + other) // 2
                found = self._ask(middle)
                if np.array_equal(found, chances):
                    same = middle
                else:
                    other, after = middle, found
            del self._choices[other:], self._waiting[other + 1 :]
            chances, length = after, 1
        return self._choices

    def _room(self, place: int) -> int:
        """Return for how many customers probabilities may be supposed to hold."""
        policy, reason = self._chooser.acting(self._first + place)
        if reason == "policy" and not policy.steady:
            return 1
        last = self._chooser.problem.horizon
        until_end = self._count if last is None or reason != "policy" else last + 1 - self._first
        mine = self._segments[place]
        same = next((k for k in range(place, self._count) if self._segments[k] != mine), self._count)
        return min(same, max(until_end, place + 1)) - place

    def _ask(self, place: int) -> FloatArray:
        number = self._first + place
        policy = self._chooser.acting(number)[0]
        rng = cache(partial(policy_stream, self._seed, number))
        planned = self._planned.state(policy, self._waiting[place], rng)
        belief = getattr(policy, "belief", None) or self._chooser.problem.belief
        draws = not (policy.deterministic and repeats(belief))
        return chances_of(
            policy, planned, number, rng if draws else None, self._chooser.problem, self._segments[place]
        )

    def _suppose(self, chances: FloatArray, until: int) -> None:
        """Draw from the same probabilities up to the place `until`."""
        for place in range(len(self._choices), until):
            number = self._first + place
            reason = self._chooser.acting(number)[1]
            rng = partial(choice_stream, self._seed, number)
            choice = self._chooser.draw(chances, reason, rng, self._segments[place])
            waiting = self._waiting[place].copy()
            waiting[choice.arm] += 1
            self._choices.append(choice)
            self._waiting.append(waiting)


class _Planned:
    """States with the expected outcomes of open decisions; the means are computed once for each policy."""

    def __init__(self, chooser: Chooser, state: State) -> None:
        self._problem, self._state = chooser.problem, state
        self._means: dict[int, FloatArray] = {}

    def state(self, policy: BasePolicy, waiting: FloatArray, rng: Callable[[], np.random.Generator]) -> State:
        """Return the state in which `policy` is asked with `waiting` decisions of each arm open."""
        if policy.pending == IGNORE or not any(waiting.tolist()):
            return self._state
        belief = getattr(policy, "belief", None) or self._problem.belief
        if id(belief) not in self._means:
            drawn = None if repeats(belief) else rng()  # a generator takes as long to make as exact means
            self._means[id(belief)] = mean_of(belief, self._state, drawn)
        return with_expected(self._state, self._means[id(belief)], waiting)
