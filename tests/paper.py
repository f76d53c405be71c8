"""The paper's equations as plain loops over Fractions: slow and obviously right.

One function for one equation. A state is a tuple of (alpha, beta) pairs. Beliefs, indices and Gittins have
their own pages beside this one (`paper_beliefs`, `paper_indices`, `paper_gittins`).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import isfinite
from typing import Any

Arm = tuple[Any, Any]
Counts = tuple[Arm, ...]


def success(state: Counts, i: int) -> Counts:
    """Equation 1: arm i pays."""
    a, b = state[i]
    return (*state[:i], (a + 1, b), *state[i + 1 :])


def failure(state: Counts, i: int) -> Counts:
    """Equation 2: arm i does not pay."""
    a, b = state[i]
    return (*state[:i], (a, b + 1), *state[i + 1 :])


def independent_mean(state: Counts, i: int) -> Fraction:
    """Mean of Beta(alpha, beta)."""
    a, b = state[i]
    return Fraction(a) / (Fraction(a) + Fraction(b))


def separable(bonus: Callable[[Any, Any, int], Any], prior: Arm, step: int) -> Callable[[Any, Any], Any]:
    """Equation 5: υ_step of one arm, from b_{step-1}; 0 at step-1 pulls, down to no pulls."""

    @cache
    def upsilon(a: Any, b: Any) -> Any:
        pulls = a + b - prior[0] - prior[1]
        assert 0 <= pulls <= step - 1
        if pulls == step - 1:
            return Fraction(0)
        m = Fraction(a) / (Fraction(a) + Fraction(b))
        return m * upsilon(a + 1, b) + (1 - m) * upsilon(a, b + 1) - bonus(a, b, step - 1)

    return upsilon


def separable_value(
    bonus: Callable[[Any, Any, int], Any], prior: Counts, rewards: tuple[Any, ...]
) -> Callable[[Counts, int], Any]:
    """Equation 4: v_t(s) = Σ_i r_i υ_t(s_i)."""

    def v(state: Counts, step: int) -> Any:
        return sum(
            r * separable(bonus, start, step)(a, b)
            for r, start, (a, b) in zip(rewards, prior, state, strict=True)
        )

    return v


def lookahead(
    state: Counts,
    step: int,
    rewards: tuple[Any, ...],
    value: Callable[[Counts, int], Any],
    mean: Callable[[Counts, int], Any],
    depth: int,
    horizon: int | None = None,
) -> list[Any]:
    """Algorithm 1 for `depth` steps: q of every arm, by plain recursion without merging."""
    if horizon is not None:
        depth = min(depth, horizon - step + 1)

    def worth(s: Counts, t: int, left: int) -> Any:
        return value(s, t) if left == 0 else max(pull(s, t, left))

    def pull(s: Counts, t: int, left: int) -> list[Any]:
        q = []
        for i in range(len(s)):
            p = mean(s, i)
            q.append(
                p * (rewards[i] + worth(success(s, i), t + 1, left - 1))
                + (1 - p) * worth(failure(s, i), t + 1, left - 1)
            )
        return q

    return pull(state, step, depth)


def plot_offset(bonus: Callable[[Any, Any, int], Any], prior: Arm, step: int, last: int) -> Any:
    """The offset of the plots (below Figure 3): least constants that make υ an upper envelope."""
    total: Any = 0
    for t in range(step, last):
        now, later = separable(bonus, prior, t), separable(bonus, prior, t + 1)
        gaps = []
        for pulls in range(t):
            for s in range(pulls + 1):
                a, b = prior[0] + s, prior[1] + pulls - s
                m = Fraction(a) / (Fraction(a) + Fraction(b))
                pulled = m + m * later(a + 1, b) + (1 - m) * later(a, b + 1)
                gaps.append(max(pulled, later(a, b)) - now(a, b))
        total += max(gaps)
    return total


def best_arm(scores: list[float], scale: float = 1.0) -> int:
    """The tie rule: the first arm within 1e-9 of the best, relative to max(scale, abs(best))."""
    best = max(scores)
    for i, score in enumerate(scores):
        if score == best or (isfinite(best) and score >= best - 1e-9 * max(scale, abs(best))):
            return i
    raise AssertionError


def expected_reward(
    state: Counts,
    horizon: int,
    rewards: tuple[Any, ...],
    mean: Callable[[Counts, int], Any],
    policy: Callable[[Counts, int], int] | None,
) -> Any:
    """Bayes reward over the horizon of a deterministic policy, or of the best one if None."""

    @cache
    def worth(s: Counts, t: int) -> Any:
        if t > horizon:
            return Fraction(0)
        arms = range(len(s)) if policy is None else [policy(s, t)]
        return max(
            mean(s, i) * (rewards[i] + worth(success(s, i), t + 1))
            + (1 - mean(s, i)) * worth(failure(s, i), t + 1)
            for i in arms
        )

    return worth(state, 1)


def expected_best_of_uniform(rewards: tuple[Any, ...]) -> Fraction:
    """E[max_i r_i μ_i] for independent uniform means: ∫ (1 - Π min(v/r_i, 1)) dv, piece by piece."""
    edges = [Fraction(0), *sorted(Fraction(r) for r in rewards)]
    total = edges[-1]
    for low, high in pairwise(edges):
        live = [Fraction(r) for r in rewards if r >= high]
        scale = Fraction(1)
        for r in live:
            scale /= r
        power = len(live) + 1
        total -= scale * (high**power - low**power) / power
    return total
