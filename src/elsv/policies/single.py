"""Always one arm: what that earns, which arm is best beforehand, and what people call it.

A policy is worth how much more it earns than always pulling the same arm. With segments that is one arm for
each of them, a **choice**. Without segments every arm is a choice, and has its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from elsv._base.numbers import shown
from elsv._base.typing import FloatArray
from elsv.beliefs.abilities import precise
from elsv.beliefs.base import mean_of
from elsv.choice import best_arm
from elsv.errors import InvalidInputError, unknown_name
from elsv.names import parse
from elsv.policies.library import Fixed
from elsv.policies.registry import make_policy
from elsv.problem import Problem
from elsv.state import State
from elsv.structure.product import arms_of, shared_option

MOST_CHOICES = 256  # ways to give each segment one arm that are all measured


@dataclass(frozen=True)
class Gain:
    """How much more a policy earns than always pulling one arm, over all steps."""

    arm: int  # from 0
    name: str
    amount: float
    percent: float  # of what always pulling the arm earns
    ci95: float | None = None  # half-width of the paired 95 % interval of `amount`; None where it is exact
    percent_ci95: float | None = None
    arms: tuple[int, ...] = ()  # from 0, one for each segment if there are some

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, for people: the arm from 1, or a list of them."""
        values = {key: value for key, value in asdict(self).items() if key != "arms"}
        return values | {"arm": [arm + 1 for arm in self.arms] if self.arms else self.arm + 1}


def choices(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Return what can always be pulled: every arm, or with segments every way to give each of them one.

    Where these are many, only those that differ from the best one beforehand for one segment at most.
    """
    groups = problem.segments.groups
    if len(groups) == 1 or prod(map(len, groups)) <= MOST_CHOICES:
        return tuple(product(*groups))
    worth = _expected_rewards(problem)
    best = tuple(arms[int(best_arm(worth[list(arms)], problem.scale))] for arms in groups)
    others = [(*best[:g], arm, *best[g + 1 :]) for g, arms in enumerate(groups) for arm in arms]
    return (best, *(other for other in others if other != best))


def choice_name(problem: Problem, choice: int) -> str:
    """Return what people call a choice: see `called`."""
    return called(problem, choices(problem)[choice])


def called(problem: Problem, arms: Sequence[int]) -> str:
    """Return what people call an arm, or one for each segment; an option that they share is said once."""
    names = [problem.names[arm] for arm in arms]
    return shared_option(names, [problem.segments.name_of(arm) for arm in arms]) or " / ".join(names)


def people_read(problem: Problem, choice: int) -> int | list[int]:
    """Return the arm of a choice as people count, from 1; with segments a list of them."""
    return problem.segments.each([arm + 1 for arm in choices(problem)[choice]])


def arms_by_segment(problem: Problem, choice: int) -> tuple[int, ...]:
    """Return the arm of each segment under a choice; none where nobody named segments."""
    return choices(problem)[choice] if problem.segments.names else ()


def fixed_name(problem: Problem, choice: int) -> str:
    """Return the name of the policy that always pulls a choice."""
    return f"fixed:arm={'+'.join(str(arm + 1) for arm in choices(problem)[choice])}"


def expected_rewards(problem: Problem, rates: FloatArray | None = None) -> FloatArray:
    """Return what a customer pays under each choice: before anything was seen, or at known `rates`."""
    worth = _expected_rewards(problem) if rates is None else problem.rewards * rates
    coming = problem.segments.chances(np.zeros(problem.arms))
    return np.array([float(coming @ worth[list(arms)]) for arms in choices(problem)])


def _expected_rewards(problem: Problem) -> FloatArray:
    """Return what one pull of each arm earns in expectation before anything was seen, ``[N]``."""
    belief = precise(problem.belief)
    return problem.rewards * mean_of(belief, State.initial(problem), np.random.default_rng(0))


def best_single_arm(problem: Problem) -> int:
    """Return the choice (from 0) that is best in expectation beforehand, under prior and structure."""
    return int(best_arm(expected_rewards(problem), problem.scale))


def find_choice(problem: Problem, against: str | int | Sequence[str | int]) -> int:
    """Return a choice, from 0: its arm as for `find_arm`, with segments one arm for each of them.

    These are a list, or names or numbers from 1 joined by ``+`` in one text, or an option that all have.
    """
    segments, known = problem.segments, choices(problem)
    if isinstance(against, str):
        names = [called(problem, arms) for arms in known]
        if against in names:
            return names.index(against)
    arms = sorted(find_arms(problem, against), key=lambda arm: segments.of_arm[arm])
    if tuple(arms) in known:
        return known.index(tuple(arms))
    if [int(segments.of_arm[arm]) for arm in arms] != list(range(segments.count)):
        first = "+".join(str(group[0] + 1) for group in segments.groups)
        raise InvalidInputError(
            f"give one arm for each segment ({', '.join(segments.names)}), joined by +, such as "
            f"{first}; got {'+'.join(str(arm + 1) for arm in arms) or 'none'}"
        )
    raise InvalidInputError(
        "with so many ways to give each segment one arm, only those are measured that differ from the best "
        f"one beforehand ({choice_name(problem, 0)}) for one segment; "
        f"got {'+'.join(str(arm + 1) for arm in arms)}"
    )


def find_arms(problem: Problem, given: Any) -> list[int]:
    """Return an arm as for `find_arm`; with segments several: a list, a text with ``+``, or an option."""
    if not problem.segments.names:
        if isinstance(given, list | tuple):
            raise InvalidInputError(
                f"without segments one arm must be given, got a list of {len(given)}; give its name or number"
            )
        return [find_arm(problem, given)]
    if isinstance(given, str) and given not in problem.names:
        given = arms_of(given.strip(), problem.names) or given.replace(" / ", "+").split("+")
    several = given if isinstance(given, list | tuple) else [given]
    return [find_arm(problem, arm.strip() if isinstance(arm, str) else arm) for arm in several]


def find_arm(problem: Problem, arm: str | int) -> int:
    """Return an arm, from 0: by its name, by its number from 1 as text, or by its number from 0."""
    if isinstance(arm, str):
        if arm in problem.names:
            return problem.names.index(arm)
        if not arm.strip().isdecimal():
            raise unknown_name("arm", arm, problem.names)
        number = int(arm) - 1
        if not 0 <= number < problem.arms:
            raise InvalidInputError(f"an arm must be a name or a number from 1 to {problem.arms}, got {arm}")
        return number
    if isinstance(arm, bool) or not isinstance(arm, int | np.integer) or not 0 <= arm < problem.arms:
        raise InvalidInputError(
            f"an arm must be a name or a number from 0 to {problem.arms - 1}, got {shown(arm)}"
        )
    return int(arm)


def rivals(problem: Problem, against: int | None) -> tuple[int, ...]:
    """Return the choices that gains are shown over: the best beforehand, then `against` if it is another."""
    best = best_single_arm(problem)
    return (best,) if against is None or against == best else (best, against)


def labels_of(names: Sequence[str], policies: Sequence[object], problem: Problem) -> tuple[str, ...]:
    """Return what people read instead of each name: ``always full price`` for ``fixed:arm=4``.

    A name that the user gave to a policy stays, and so does one whose label is already taken.
    """
    labels: list[str] = []
    for name, policy in zip(names, policies, strict=True):
        label = name
        if isinstance(policy, str) and str(parse(policy)) == str(parse(name)) and parse(name).name == "fixed":
            made = make_policy(policy, problem)
            label = f"always {called(problem, made.arms)}" if isinstance(made, Fixed) else name
        labels.append(name if label in labels or label in names else label)
    return tuple(labels)
