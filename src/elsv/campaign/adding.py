"""One more arm: the next version of a campaign's problem.

Arms keep their numbers, and the new one gets the next. Its place in an order is said by the structure, which
then lists pairs of arms. Its row is what is expected of it, or follows its neighbours
(`elsv.prior.untried`), given all outcomes so far; the rows of the others stay as they are.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from elsv._base.numbers import shown
from elsv._base.typing import FloatArray
from elsv.beliefs.ladder.ranking import closure
from elsv.campaign.records import text_of
from elsv.errors import InvalidInputError
from elsv.policies.single import find_arm
from elsv.prior.expectations import Interval, from_expectations
from elsv.prior.untried import from_neighbours, known_arms, neutral
from elsv.problem import Problem
from elsv.structure.base import Structure, has_own_prior

Stated = Structure | Mapping[str, Any]


def with_arm(
    problem: Problem,
    outcomes: FloatArray,
    name: str,
    reward: float,
    expect: Interval | None = None,
    after: str | int | None = None,
    segment: str | int | None = None,
    structure: Stated | None = None,
) -> Problem:
    """Return the problem with one more arm, the last.

    `outcomes` are successes and failures of the arms so far, history included, ``[N, 2]``; all else is as in
    `Campaign.add`.
    """
    text_of("name of an arm", name)
    if name in problem.names:
        raise InvalidInputError(f"names of arms must differ, got {name!r} again; restore it, or take another")
    if isinstance(reward, bool) or not isinstance(reward, int | float) or not 0 < reward < np.inf:
        raise InvalidInputError(f"reward must be a positive number, got {shown(reward)}")
    values = problem.to_dict()
    for key in ("order", "structure"):
        values.pop(key, None)
    values["rewards"] = [*values["rewards"], float(reward)]
    values["names"] = [*values["names"], name]
    values["prior"] = [*values["prior"], [1.0, 1.0]]
    values["segments"] = problem.segments.with_arm(segment)
    known = _restated(problem, problem.structure.to_dict(), reward, after) if structure is None else structure
    made = Problem(**values, structure=known or None)
    rows = made.prior.copy()
    rows[-1] = _row(made, outcomes, expect)
    return made.with_prior(rows)


def _row(made: Problem, outcomes: FloatArray, expect: Interval | None) -> FloatArray:
    """Return the row of the last arm, given what is known of all others by now."""
    if has_own_prior(made.structure):
        return np.ones(2)
    counts = made.prior.copy()
    counts[:-1] += outcomes
    now = made.with_prior(counts)
    if expect is not None:
        return np.asarray(from_expectations(now, {made.names[-1]: expect}, fill=False).problem.prior[-1])
    known = known_arms(now)
    known[-1] = False
    if not known.any():
        return np.ones(2)
    return np.asarray(from_neighbours(neutral(now, known), known)[0].prior[-1])


def _restated(problem: Problem, known: Any, reward: float, after: str | int | None) -> Any:
    """Return what is known of all arms with the new one, as in a problem file; it has its place in orders."""
    if not known or "free" in known:  # a word, or a table
        return known
    if isinstance(known, str):
        restated = _restated(problem, {"order": known}, reward, after)
        return known if restated == {"order": known} else restated
    if set(known) == {"mixture"}:
        return {
            "mixture": [[share, _restated(problem, part, reward, after)] for share, part in known["mixture"]]
        }
    if set(known) == {"order"} and (chain := _chain(known["order"], problem.arms)) is not None:
        place = _place(problem, chain, reward, after)
        if (known["order"], place) in (("decreasing", len(chain)), ("increasing", 0)):
            return known
        longer = [arm + 1 for arm in chain]
        longer.insert(place, problem.arms + 1)
        return {"order": [[a, b] for a, b in itertools.pairwise(longer)]}
    if set(known) == {"unimodal"} and _place(problem, range(problem.arms), reward, after) == problem.arms:
        return known
    new = problem.arms + 1
    raise InvalidInputError(
        "an arm is added by itself where arms are independent, in one order, or last on a curve with one "
        f"peak, got: {problem.structure.describe()}; say what is known of all arms then: structure= "
        f"(--structure), now {json.dumps(known)}; the new arm is number {new}, and [1, {new}] in an order "
        f"says that arm 1 succeeds at least as often as arm {new}"
    )


def _chain(order: Any, arms: int) -> list[int] | None:
    """Return the arms from the one that succeeds most often on; None for a partial order."""
    if isinstance(order, str):
        return list(range(arms)) if order == "decreasing" else list(range(arms))[::-1]
    below = closure(arms, tuple((a - 1, b - 1) for a, b in order)).sum(axis=1)
    if sorted(below.tolist()) != list(range(arms)):
        return None
    return [int(arm) for arm in np.argsort(-below)]


def _place(problem: Problem, chain: Sequence[int], reward: float, after: str | int | None) -> int:
    """Return where the new arm stands in an order."""
    if after is not None:
        rises = len(chain) > 1 and chain.index(0) > chain.index(1)  # people go through it from its other end
        return chain.index(find_arm(problem, after)) + (not rises)
    rewards = np.array([float(problem.rewards[arm]) for arm in chain])
    steps = np.unique(np.sign(np.diff(rewards)))
    if reward in rewards or len(steps) != 1 or steps[0] == 0:
        raise InvalidInputError(
            "the order must have a place for the new arm, and rewards do not tell which; say which arm it "
            f"follows: after={problem.names[-1]!r}"
        )
    return int(np.searchsorted(steps[0] * rewards, steps[0] * reward))
