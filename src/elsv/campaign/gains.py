r"""What a campaign earned more than it would have earned otherwise: three answers, never more.

The n customers whose outcomes are in earned :math:`E = \sum r_a y`. Always arm c would have earned
:math:`n r_c\mu_c` in expectation. So the gain is :math:`G_c = E - n r_c \mu_c`, where only :math:`\mu_c` is
unknown.

1. ``belief``: its mean and 95 % interval by all that is known: outcomes, structure, prior, history.
2. ``outcomes``: :math:`E - n r_c C_c` with `elsv.simulation.intervals.anytime` of this campaign's outcomes.
   It only assumes that :math:`\mu_c` does not change, and holds for any policy and however often one looks.
3. ``holdout``: the same with the held-out customers alone. It also survives rates that change with time.

With segments an alternative names an arm for each of them, and all is summed over their customers. An equal
split gives each arm on offer its share. By outcomes, several arms share the 5 % that an interval may miss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs.abilities import POINTS, marginals
from elsv.beliefs.points import joint_points
from elsv.campaign.choosing import Chooser
from elsv.campaign.records import Tally, arms_in_words
from elsv.simulation.intervals import MISS, anytime, one_look
from elsv.state import State
from elsv.structure.evidence import Counts

BELIEF, OUTCOMES, HOLDOUT = "belief", "outcomes", "holdout"


@dataclass(frozen=True)
class GainSoFar:
    """What the campaign earned more than an alternative, over the outcomes that are in."""

    against: str  # control, best or split
    name: str  # the alternative in words
    gain: float
    low: float  # 95 % interval
    high: float
    alternative: float  # what the alternative is estimated to have earned
    method: str  # belief, outcomes or holdout
    customers: int = 0  # who had the alternative, as far as the method counts them
    arms: str = ""  # the alternative's arms by themselves, for sentences

    @property
    def percent(self) -> float | None:
        """The gain in per cent of the alternative."""
        return 100 * self.gain / self.alternative if self.alternative > 0 else None

    @property
    def told(self) -> bool:
        """Whether the interval tells more from less."""
        return self.low > 0 or self.high < 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        order = ("against", "name", "gain", "low", "high", "percent", "alternative", "method", "customers")
        return {key: getattr(self, key) for key in (*order, "arms")}


@dataclass(frozen=True)
class Sources:
    """Where the gain over today's arm comes from, by all that is known."""

    name: str  # the arm that looked best beforehand, or that of each segment
    switching: float  # what always giving that arm would have brought
    learning: float  # what the campaign added to it

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class _Rival:
    """An alternative: how many of the customers who came would have got each arm, ``[N]``."""

    against: str
    name: str
    arms: str  # in words
    given: FloatArray


class Gains:
    """The outcomes that are in, compared with alternatives."""

    def __init__(self, chooser: Chooser, tallies: Sequence[Tally], held: Sequence[Counts] = ()) -> None:
        problem = chooser.problem
        self._problem, self._state, self._held = problem, chooser.state(tallies), held
        self._won = np.array([t.successes for t in tallies], dtype=np.float64)
        self._seen = np.array([t.seen for t in tallies], dtype=np.float64)
        came = np.array([self._seen[list(group)].sum() for group in problem.segments.groups])
        self._came = came[problem.segments.of_arm]  # customers of each arm's segment
        self.earned = float(problem.rewards @ self._won)
        self._mean, self._ends = marginals(
            problem.belief, self._state, (MISS / 2, 1 - MISS / 2), np.random.default_rng(0)
        )

    def always(self, against: str, arms: Sequence[int], words: str = "") -> _Rival:
        """Return the alternative of one arm, or one for each segment."""
        name, given = arms_in_words(self._problem, arms), np.isin(np.arange(len(self._won)), arms)
        return _Rival(against, f"always {name}{words}", name, self._came * given)

    def split(self) -> _Rival:
        """Return the alternative of giving every arm on offer as often."""
        sizes = np.array([len(group) for group in self._problem.segments.groups])
        name, given = "an equal split", self._came / sizes[self._problem.segments.of_arm]
        return _Rival("split", name, name, given)

    def over(self, rival: _Rival, measured: bool = False) -> list[GainSoFar]:
        """Return the answers; `measured`: whether held-out customers get this alternative."""
        found = [self._by_belief(rival)]
        asked = rival.given > 0
        paid = (rival.given * self._problem.rewards)[asked]
        won, seen = self._won[asked], self._seen[asked]
        if (seen > 0).all():
            arms = len(self._won) if rival.against == "split" else self._problem.segments.count
            low, high = anytime(won, seen, MISS / arms)  # whether or not customers came for them
            ends = float(paid @ low), float(paid @ high)
            found.append(self._gain(rival, OUTCOMES, float(paid @ (won / seen)), *ends, int(seen.sum())))
        if measured and len(self._held):
            won, seen = np.array(self._held, dtype=np.float64)[asked].T
            if (seen > 0).all():
                rate, (low, high) = won / seen, one_look(won, seen)
                middle = float(paid @ rate)
                # Errors of several segments are independent: their squares add up.
                below, above = np.linalg.norm(paid * (rate - low)), np.linalg.norm(paid * (high - rate))
                ends = middle - float(below), middle + float(above)
                found.append(self._gain(rival, HOLDOUT, middle, *ends, int(seen.sum())))
        return found

    def sources(self, today: Sequence[int]) -> Sources:
        """Return how much of the gain over today's arms is switching, and how much learning."""
        problem = self._problem
        before = State(problem.prior[:, 0], problem.prior[:, 1])
        worth = problem.rewards * np.asarray(marginals(problem.belief, before, (0.5,))[0])
        first = [group[int(worth[list(group)].argmax())] for group in problem.segments.groups]
        now, then = (self._worth(self.always("", arms).given) for arms in (today, first))
        return Sources(arms_in_words(problem, first), then - now, self.earned - then)

    def _worth(self, given: FloatArray) -> float:
        """Return what customers would have earned, by the means of the belief."""
        return float(given @ (self._problem.rewards * self._mean))

    def _by_belief(self, rival: _Rival) -> GainSoFar:
        paid, asked = rival.given * self._problem.rewards, np.flatnonzero(rival.given)
        if len(asked) == 1:
            low, high = paid[asked[0]] * self._ends[:, asked[0]]
        else:
            one = State.trusted(self._state.alpha[None], self._state.beta[None])
            theta, weight = (part[0] for part in joint_points(self._problem.belief, one, POINTS))
            sums = theta @ paid
            order = np.argsort(sums)
            below = (np.cumsum(weight[order]) - 0.5 * weight[order]) / weight.sum()
            low, high = np.interp((MISS / 2, 1 - MISS / 2), below, sums[order])
        had = int(self._seen[asked].sum())
        return self._gain(rival, BELIEF, self._worth(rival.given), float(low), float(high), had)

    def _gain(
        self, rival: _Rival, method: str, alternative: float, low: float, high: float, had: int
    ) -> GainSoFar:
        """Return the gain over what an alternative is estimated to have earned, with both ends of that."""
        ends = self.earned - high, self.earned - low
        gain = self.earned - alternative
        return GainSoFar(rival.against, rival.name, gain, *ends, alternative, method, had, rival.arms)


def gains_of(
    chooser: Chooser,
    tallies: Sequence[Tally],
    best: Sequence[int],
    control: Sequence[int] | None,
    held: Sequence[Counts] = (),
) -> tuple[tuple[GainSoFar, ...], Sources | None]:
    """Return the gains over the control arm, the arm that earns most by now and an equal split.

    `best` and `control` are an arm for each segment; `held` are successes and outcomes of the customers who
    were held out, arm by arm.
    """
    if not any(t.seen for t in tallies):
        return (), None
    gains = Gains(chooser, tallies, held)
    found: list[GainSoFar] = []
    if control is not None:
        found += gains.over(gains.always("control", control), measured=True)
    if control is None or list(best) != list(control):
        found += gains.over(gains.always("best", best, ", which earns most by now"))
    found += gains.over(gains.split())
    return tuple(found), None if control is None else gains.sources(control)
