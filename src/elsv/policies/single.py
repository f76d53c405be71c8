"""Always one arm: what that earns, which is the best of them beforehand, and what people call it.

The measure of what a policy is worth: how much more it earns than always pulling the same arm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from elsv._numbers import shown
from elsv._typing import FloatArray
from elsv.beliefs.base import mean_of
from elsv.choice import best_arm
from elsv.errors import InvalidInputError, unknown_name
from elsv.names import parse
from elsv.policies.library import Fixed
from elsv.policies.registry import make_policy
from elsv.problem import Problem
from elsv.state import State


@dataclass(frozen=True)
class Gain:
    """How much more a policy earns than always pulling one arm, over all steps."""

    arm: int  # from 0
    name: str
    amount: float
    percent: float  # of what always pulling the arm earns
    ci95: float | None = None  # half-width of the paired 95 % interval of `amount`; None where it is exact
    percent_ci95: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, for people: the arm from 1."""
        return asdict(self) | {"arm": self.arm + 1}


def expected_rewards(problem: Problem) -> FloatArray:
    """Return what one pull of each arm earns in expectation before anything was seen, ``[N]``."""
    belief = getattr(problem.belief, "precise", lambda: problem.belief)()
    return problem.rewards * mean_of(belief, State.initial(problem), np.random.default_rng(0))


def best_single_arm(problem: Problem) -> int:
    """Return the arm (from 0) that is best in expectation beforehand: under the prior and what is known."""
    return int(best_arm(expected_rewards(problem), problem.scale))


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
    """Return the arms that gains are shown over: the best beforehand, then `against` if it is another."""
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
            if isinstance(made, Fixed):
                label = f"always {' / '.join(problem.names[arm] for arm in made.arms)}"
        labels.append(name if label in labels or label in names else label)
    return tuple(labels)
