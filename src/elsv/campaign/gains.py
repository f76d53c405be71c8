r"""What a campaign has earned against what it could have done instead.

With :math:`n` outcomes in, the alternative "always arm j" is estimated in one of two ways.

From the log, if arm j could have been chosen in every decision: with :math:`q` the logged probability of the
chosen arm a, :math:`y` the outcome and :math:`m` the mean of the belief, the alternative is worth
:math:`\sum r_j (m_j + [a = j]\,(y - m_j)/q)`. The probabilities keep it free of bias whatever the policy did;
m only makes it less noisy. The 95 % interval comes from the squares of the terms. A mix of arms, such as an
equal split, is the average of its arms.

From the belief otherwise: :math:`\sum_a n_a r_a \mu_a - n\, r_j \mu_j` under joint points of the belief,
which carry what the structure says of one arm given another.

With segments an alternative names an arm, or a mix of arms, for each of them, and is worth that to its own
customers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs.abilities import POINTS, points
from elsv.campaign.choosing import Chooser
from elsv.campaign.records import SQUARE_UNIT, WEIGHT_UNIT, Tally
from elsv.campaign.settings import Arm
from elsv.problem import Problem
from elsv.simulation.intervals import Z95


@dataclass(frozen=True)
class GainSoFar:
    """What the campaign earned more than an alternative, over the outcomes that are in."""

    against: str  # best, control or split
    name: str  # the alternative in words
    gain: float
    low: float  # 95 % interval
    high: float
    alternative: float  # what the alternative is estimated to have earned
    method: str  # log or belief

    @property
    def percent(self) -> float | None:
        """The gain in per cent of the alternative."""
        return 100 * self.gain / self.alternative if self.alternative > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        interval = {"gain": self.gain, "low": self.low, "high": self.high, "percent": self.percent}
        names = {"against": self.against, "name": self.name}
        return {**names, **interval, "alternative": self.alternative, "method": self.method}


def gains_of(
    chooser: Chooser, tallies: Sequence[Tally], best: Arm, control: Arm | None
) -> tuple[GainSoFar, ...]:
    """Return the gains over always the best arm, the control arm if there is one, and an equal split.

    `best` and `control` name an arm, or one for each segment.
    """
    if not any(t.seen for t in tallies):
        return ()
    rewards, names, arms = chooser.problem.rewards, chooser.problem.names, chooser.problem.arms
    groups = groups_of(chooser.problem)
    wanted: list[tuple[str, str, FloatArray]] = []

    def always(chosen: Arm) -> tuple[str, FloatArray]:
        each = [chosen] if isinstance(chosen, int) else list(chosen)
        return " / ".join(names[arm] for arm in each), np.eye(arms)[each].sum(axis=0)

    if control is not None:
        name, mix = always(control)
        wanted.append(("control", f"always {name}", mix))
    if best != control:
        name, mix = always(best)
        wanted.append(("best", f"always {name}, the best by now", mix))
    equal = np.zeros(arms)
    for group in groups:
        equal[list(group)] = 1 / len(group)
    wanted.append(("split", "an equal split", equal))
    theta, weight = (part[0] for part in _points(chooser, tallies))
    found = []
    for against, name, mix in wanted:
        supported = all(t.unsupported == 0 for t, share in zip(tallies, mix, strict=True) if share > 0)
        if supported:
            gain, low, high = _from_log(rewards, tallies, mix, weight @ theta / weight.sum(), groups)
        else:
            gain, low, high = _from_belief(rewards * theta, weight, tallies, mix, groups)
        earned = float(sum(r * t.successes for r, t in zip(rewards, tallies, strict=True)))
        method = "log" if supported else "belief"
        found.append(GainSoFar(against, name, gain, low, high, max(0.0, earned - gain), method))
    return tuple(found)


def groups_of(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Return the arms of each segment, or all arms."""
    return (tuple(range(problem.arms)),) if not problem.segments.stated else problem.segments.groups


def _points(chooser: Chooser, tallies: Sequence[Tally]) -> tuple[FloatArray, FloatArray]:
    state = chooser.state(tallies)
    one = type(state).trusted(state.alpha[None], state.beta[None])
    return points(chooser.problem.belief, one, POINTS)


def _from_log(
    rewards: FloatArray,
    tallies: Sequence[Tally],
    mix: FloatArray,
    mean: FloatArray,
    groups: Sequence[Sequence[int]],
) -> tuple[float, float, float]:
    """Return the gain over a mix of arms and its interval, by the probabilities in the log.

    With v the worth of the mix by the means, a success of arm a adds r - v - g r (1 - m)/q and a failure
    -v + g r m/q, with g the share of a in the mix: sums of 1, 1/q and 1/q² are all that is needed.
    """
    seen = sum(t.seen for t in tallies)
    worths = np.empty(len(mix))  # of the mix, for customers of the arm's segment
    for group in groups:
        own = list(group)
        worths[own] = float(mix[own] @ (rewards * mean)[own])
    total = squares = 0.0
    for r, g, m, worth, tally in zip(rewards, mix, mean, worths, tallies, strict=True):
        for count, weight, square, fixed, weighted in (
            (tally.successes, tally.won_weight, tally.won_squares, r - worth, -g * r * (1 - m)),
            (tally.lost, tally.lost_weight, tally.lost_squares, -worth, g * r * m),
        ):
            first, second = weight * WEIGHT_UNIT, square * SQUARE_UNIT
            total += fixed * count + weighted * first
            squares += fixed * fixed * count + 2 * fixed * weighted * first + weighted * weighted * second
    spread = Z95 * math.sqrt(max(0.0, squares - total * total / seen))
    return float(total), float(total - spread), float(total + spread)


def _from_belief(
    worth: FloatArray,
    weight: FloatArray,
    tallies: Sequence[Tally],
    mix: FloatArray,
    groups: Sequence[Sequence[int]],
) -> tuple[float, float, float]:
    """Return the gain over a mix of arms and its interval, by joint points ``[M, N]`` of the belief."""
    seen = np.array([t.seen for t in tallies], dtype=np.float64)
    came = np.empty(len(mix))
    for group in groups:
        came[list(group)] = seen[list(group)].sum()
    apart = worth @ (seen - came * mix)
    order = np.argsort(apart)
    below = np.cumsum(weight[order]) - 0.5 * weight[order]
    low, high = np.interp((0.025, 0.975), below / weight.sum(), apart[order])
    return float(apart @ weight / weight.sum()), float(low), float(high)
