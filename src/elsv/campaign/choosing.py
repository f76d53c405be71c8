r"""Which arm the next customers get, and with which probability.

With :math:`\pi` the probabilities of the policy in the state that counts open decisions
(`elsv.policies.asking`), a floor f for each of N arms and a share h held out for the control arm c, arm i is
chosen with

.. math:: q_i = h\,[i = c] + (1 - h)\,\bigl(f + (1 - N f)\,\pi_i\bigr).

The N arms are those on offer to who has come: those of the segment, but for withdrawn ones; c is the control
arm among them. While paused the fallback arm is certain. After the last customer, or the end, :math:`\pi` is
the arm that is best by then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs.abilities import repeats
from elsv.beliefs.base import mean_of
from elsv.campaign.records import Tally
from elsv.campaign.settings import Arm, Settings, several
from elsv.errors import InvalidInputError
from elsv.policies import BasePolicy, Fixed, Greedy, Policy, make_policy
from elsv.policies.asking import Awaiting, chances_of
from elsv.policies.base import IGNORE, BestScore, ScoringFunctionPolicy, Segment, ask, best_offered
from elsv.problem import Problem
from elsv.state import State
from elsv.structure.restricted import restricted, with_others


def choice_stream(seed: int, number: int) -> np.random.Generator:
    """Return the generator that draws decision `number` (from 1) from the probabilities q."""
    return np.random.default_rng((seed, number))


def policy_stream(seed: int, number: int) -> np.random.Generator:
    """Return the generator that the policy may draw from for a decision; independent of `choice_stream`."""
    return np.random.default_rng(np.random.SeedSequence((seed, number), spawn_key=(0,)))


@dataclass(frozen=True)
class Choice:
    """An arm, from 0, how it came about, and the probability of every arm ``[N]``."""

    arm: int
    reason: str
    propensities: FloatArray
    offered: tuple[int, ...]  # the arms on offer to who came

    @property
    def propensity(self) -> float:
        """The probability of the arm itself."""
        return float(self.propensities[self.arm])

    def in_text(self) -> str:
        """Return the probabilities as the log keeps them: not rounded, empty for an arm not on offer."""
        chances = enumerate(self.propensities.tolist())
        return ",".join([f"{p:.17g}" if arm in self.offered else "" for arm, p in chances])


@dataclass(frozen=True)
class Chooser:
    """A policy under one version of the settings."""

    problem: Problem  # as it is planned for: the present horizon, history in the prior
    policy: BasePolicy
    settings: Settings
    arms: tuple[int, ...]  # on offer, from 0
    asked: Problem  # what the policy chooses among: the problem of the arms on offer

    @classmethod
    def of(
        cls, problem: Problem, settings: Settings, tallies: Sequence[Tally], own: Policy | None = None
    ) -> Chooser:
        """Return how arms of a problem are chosen now; `own`: a policy that the store cannot hold."""
        policy = settings.policy if own is None else own
        if policy is None:
            raise InvalidInputError(
                "the campaign is run by a policy of your own; pass it: Campaign.open(…, policy=…)"
            )
        arms = tuple(arm for arm in range(problem.arms) if arm not in settings.withdrawn)
        if not settings.withdrawn:
            return cls(problem, make_policy(policy, problem), settings, arms, problem)
        state = state_of(problem, tallies)
        asked = _on_offer(problem, arms, tallies, state)
        return cls(problem, _policy_on_offer(policy, problem, asked, arms, state), settings, arms, asked)

    def state(self, tallies: Sequence[Tally]) -> State:
        """Return what the outcomes that are in amount to, of all arms."""
        return state_of(self.problem, tallies)

    def state_on_offer(self, tallies: Sequence[Tally]) -> State:
        """Return the same of the arms on offer."""
        whole, own = self.state(tallies), list(self.arms)
        return State.trusted(whole.alpha[own], whole.beta[own])

    def offered_to(self, segment: int | None) -> tuple[int, ...]:
        """Return the arms on offer to who has come."""
        group = self.problem.segments.groups[segment or 0]
        return tuple(arm for arm in group if arm not in self.settings.withdrawn)

    def acting(self, step: int) -> tuple[BasePolicy, str]:
        """Return who chooses for customer `step` (from 1), and why, before floor and holdout."""
        if self.settings.paused:
            resting = self.settings.resting_arm(self.problem.segments)
            return Fixed(self.asked, _among(self.arms, resting)), "paused"
        if self.settings.ended or (self.problem.horizon is not None and step > self.problem.horizon):
            return Greedy(self.asked, self.asked.belief), "after"
        return self.policy, "policy"

    def choose(self, tallies: Sequence[Tally], segments: Sequence[int | None], seed: int) -> list[Choice]:
        """Return the choices for the next customers, one after the other; `segments` says who they are.

        What is drawn depends on `seed` and on the decision's number alone.
        """
        return _Batch(self, tallies, segments, seed).choices()

    def planned(self, tallies: Sequence[Tally], step: int, rng: np.random.Generator) -> State:
        """Return the state, of the arms on offer, in which the acting policy is asked now."""
        return _Batch(self, tallies, (), 0).planned(self.acting(step)[0], 0, lambda: rng)


class _Batch:
    """Choices for several customers, each of which counts as open for the next.

    Asking a planner takes a millisecond, and probabilities seldom change within a batch. So a batch assumes
    that they hold for as many more customers as they have held for (`STRIDE` at most), and asks again after
    these. If they have changed, halving finds the place. Only `steady` policies are asked like that.
    """

    STRIDE = 32

    def __init__(
        self, chooser: Chooser, tallies: Sequence[Tally], segments: Sequence[int | None], seed: int
    ) -> None:
        self._chooser, self._count, self._seed, self._segments = chooser, len(segments), seed, segments
        self._number = 1 + sum(t.decided for t in tallies)  # of the first decision
        self._first = 1 + sum(t.used for t in tallies)  # the place of the first customer
        self._state = chooser.state_on_offer(tallies)
        self._means: dict[int, FloatArray] = {}  # of each policy's belief: computed once
        waiting = [tallies[arm].open for arm in chooser.arms]
        self._waiting = [np.array(waiting, dtype=np.float64)]  # before each place: open decisions of each arm
        self._choices: list[Choice] = []

    def choices(self) -> list[Choice]:
        """Return them all."""
        if not self._count:
            return []
        chances, since, length = self._ask(0), 0, 1
        while len(self._choices) < self._count:
            start = len(self._choices)
            length = min(length, self._room(start))
            self._suppose(chances, start + length)
            if start + length >= self._count:
                break
            after = self._ask(start + length)
            if np.array_equal(after, chances):
                length = min(start + length - since, self.STRIDE)
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
            chances, since, length = after, other, 1
        return self._choices

    def _room(self, place: int) -> int:
        """Return for how many customers probabilities may be supposed to hold."""
        policy, reason = self._chooser.acting(self._first + place)
        if reason == "policy" and not policy.steady:
            return 1
        last, mine = self._chooser.problem.horizon, self._segments[place]
        same = next((k for k in range(place, self._count) if self._segments[k] != mine), self._count)
        if reason == "policy" and last is not None:
            same = min(same, max(last + 1 - self._first, place + 1))
        return same - place

    def _ask(self, place: int) -> FloatArray:
        step, asked = self._first + place, self._chooser.asked
        policy = self._chooser.acting(step)[0]
        exact = repeats(getattr(policy, "belief", None) or asked.belief)
        make = partial(policy_stream, self._seed, self._number + place)
        rng = make if exact else cache(make)  # means that are drawn and the policy share one generator
        planned = self.planned(policy, place, rng)
        draws = None if policy.deterministic and exact else rng
        found = np.zeros(self._chooser.problem.arms)
        own = list(self._chooser.arms)
        found[own] = chances_of(policy, planned, step, draws, asked, self._segments[place])
        return found

    def planned(self, policy: BasePolicy, place: int, rng: Callable[[], np.random.Generator]) -> State:
        """Return the state with the expected outcomes of decisions that are open before a place."""
        waiting = self._waiting[place]
        if policy.pending == IGNORE or not any(waiting.tolist()):
            return self._state
        belief = getattr(policy, "belief", None) or self._chooser.asked.belief
        if id(belief) not in self._means:
            drawn = None if repeats(belief) else rng()  # a generator takes as long to make as exact means
            self._means[id(belief)] = mean_of(belief, self._state, drawn)
        return Awaiting(self._state, self._means[id(belief)], waiting)

    def _suppose(self, chances: FloatArray, until: int) -> None:
        """Draw from the same probabilities up to the place `until`."""
        for place in range(len(self._choices), until):
            choice = self._draw(chances, place)
            waiting = self._waiting[place].copy()
            waiting[self._chooser.arms.index(choice.arm)] += 1
            self._choices.append(choice)
            self._waiting.append(waiting)

    def _draw(self, chances: FloatArray, place: int) -> Choice:
        """Return an arm drawn from the policy's probabilities, with floor and holdout."""
        settings, segment = self._chooser.settings, self._segments[place]
        floor, holdout, offered = settings.floor, settings.holdout, self._chooser.offered_to(segment)
        reason = self._chooser.acting(self._first + place)[1]
        arms, arm = len(offered), int(chances.argmax())
        if reason == "paused" or (not floor and not holdout and chances[arm] == 1.0):
            return Choice(arm, reason, chances, offered)
        rng, mixed = choice_stream(self._seed, self._number + place), chances
        if floor or holdout:
            own, mixed = list(offered), np.zeros(len(chances))
            mixed[own] = (1.0 - holdout) * (floor + (1.0 - arms * floor) * chances[own])
        if holdout:
            control = several(settings.control)[segment or 0]
            mixed[control] += holdout
            if rng.random() < holdout:
                return Choice(control, "holdout", mixed, offered)
        if floor and rng.random() < arms * floor:
            return Choice(offered[int(rng.integers(arms))], "floor", mixed, offered)
        if chances[arm] < 1.0:
            below = chances.cumsum()  # as `rng.choice` does, without its checks
            arm = int((below / below[-1]).searchsorted(rng.random(), side="right"))
        return Choice(arm, reason, mixed, offered)


def state_of(problem: Problem, tallies: Sequence[Tally]) -> State:
    """Return what the outcomes that are in amount to."""
    won = np.array([t.successes for t in tallies], dtype=np.float64)
    lost = np.array([t.lost for t in tallies], dtype=np.float64)
    return State.trusted(problem.prior[:, 0] + won, problem.prior[:, 1] + lost)


def _on_offer(problem: Problem, arms: Sequence[int], tallies: Sequence[Tally], state: State) -> Problem:
    """Return the problem of the arms on offer; outcomes of all others teach, and count as arrivals."""
    own, segments = list(arms), problem.segments
    gone = [sum(tallies[arm].seen for arm in group if arm not in own) for group in segments.groups]
    return Problem(
        rewards=problem.rewards[own],
        structure=restricted(problem.structure, problem.belief, own, state),
        horizon=problem.horizon,
        discount=problem.discount,
        prior=problem.prior[own],
        names=[problem.names[arm] for arm in own],
        segments=segments.among(own, gone),
    )


def _policy_on_offer(
    policy: str | Policy, problem: Problem, asked: Problem, arms: tuple[int, ...], others: State
) -> BasePolicy:
    """Return a policy of the arms on offer: `fixed` keeps its arm; a policy of one's own sees all arms."""
    if not isinstance(policy, str):
        return _OnOffer(make_policy(policy, problem), problem, asked, arms, others)
    if policy.partition(":")[0] == "fixed":
        whole = make_policy(policy, problem)
        assert isinstance(whole, Fixed)
        return Fixed(asked, _among(arms, problem.segments.each(whole.arms)))
    return make_policy(policy, asked)


def _among(arms: tuple[int, ...], arm: Arm) -> Arm:
    """Return arms by their numbers among those on offer."""
    if any(one not in arms for one in several(arm)):
        raise InvalidInputError("the arm that the policy fixed gives is withdrawn; change the policy first")
    found = tuple(arms.index(one) for one in several(arm))
    return found[0] if isinstance(arm, int) else found


class _OnOffer(BasePolicy):
    """A policy of one's own, asked with all arms: its best score on offer, or its arm if that is on offer."""

    def __init__(
        self, own: BasePolicy, problem: Problem, asked: Problem, arms: tuple[int, ...], others: State
    ) -> None:
        self._own, self._problem, self.problem, self._arms = own, problem, asked, np.array(arms)
        self._others, self.pending = others, own.pending

    def __call__(
        self, state: State, step: int, rng: np.random.Generator, segment: Segment = None
    ) -> IntArray:
        """Return arms by their numbers among those on offer."""
        everything = with_others(state, self._arms, self._others)
        if isinstance(self._own, BestScore | ScoringFunctionPolicy):
            scores = self._own.scores(everything, step, rng)[..., self._arms]
            return best_offered(self.problem, scores, segment, f"scores of your policy at step {step}")
        chosen = ask(self._own, self._problem, everything, step, rng, segment)
        if not (fine := np.isin(chosen, self._arms)).all():
            wrong = self._problem.names[int(np.asarray(chosen)[~fine].flat[0])]
            raise InvalidInputError(
                f"a policy must choose among the arms on offer, got {wrong}, which is withdrawn; give the "
                "policy `scores`, or restore the arm"
            )
        return np.searchsorted(self._arms, chosen)
