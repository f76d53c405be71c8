"""Segments in plain slow forms: who comes is averaged over, exact fractions throughout.

A state is a tuple of (alpha, beta) pairs, as in `paper`; arms and segments count from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import paper
from paper import Counts, failure, success

Mean = Callable[[Counts, int], Any]


@dataclass(frozen=True)
class Who:
    """Groups of arms, and their shares, or the Dirichlet counts of shares that are learnt."""

    groups: tuple[tuple[int, ...], ...]
    start: Counts
    shares: tuple[Any, ...] | None = None
    prior: tuple[Any, ...] | None = None

    def chances(self, state: Counts) -> list[Any]:
        """Return q_g: known, or (a_g + n_g) / Σ (a + n)."""
        if self.shares is not None:
            return list(self.shares)
        came = [
            Fraction(start) + sum(sum(state[i]) - sum(self.start[i]) for i in arms)
            for start, arms in zip(self.prior or [1] * len(self.groups), self.groups, strict=True)
        ]
        return [count / sum(came) for count in came]

    def average(self, state: Counts, best: Callable[[Sequence[int]], Any]) -> Any:
        """Return Σ_g q_g best(A_g)."""
        return sum(q * best(arms) for q, arms in zip(self.chances(state), self.groups, strict=True))


def pull(s: Counts, i: int, rewards: Sequence[Any], mean: Mean, later: Callable[[Counts], Any]) -> Any:
    """Return what a pull of arm i and what comes after it are worth."""
    p = mean(s, i)
    return p * (rewards[i] + later(success(s, i))) + (1 - p) * later(failure(s, i))


def optimum(who: Who, horizon: int, rewards: Sequence[Any], mean: Mean = paper.independent_mean) -> Any:
    """V_1 before the first arrival: V_t(s) = Σ_g q_g(s) max over A_g."""

    @cache
    def worth(s: Counts, t: int) -> Any:
        if t > horizon:
            return Fraction(0)
        return who.average(
            s, lambda arms: max(pull(s, i, rewards, mean, lambda later: worth(later, t + 1)) for i in arms)
        )

    return worth(who.start, 1)


def commit(who: Who, state: Counts, left: Any, rewards: Sequence[Any], mean: Mean) -> Any:
    """(T − t + 1) Σ_g q_g max over A_g of r p."""
    return left * who.average(state, lambda arms: max(rewards[i] * mean(state, i) for i in arms))


def lookahead(
    who: Who,
    state: Counts,
    depth: int,
    rewards: Sequence[Any],
    mean: Mean,
    value: Callable[[Counts], Any],
    discount: Any = 1,
) -> list[Any]:
    """q of every arm given that its segment has come, by plain recursion; `value` is that of the frontier."""

    def worth(s: Counts, left: int) -> Any:
        if left == 0:
            return discount * value(s)
        return discount * who.average(s, lambda arms: max(q(s, i, left) for i in arms))

    def q(s: Counts, i: int, left: int) -> Any:
        return pull(s, i, rewards, mean, lambda later: worth(later, left - 1))

    return [q(state, i, depth) for i in range(len(state))]


def stop_when_better(
    who: Who, state: Counts, arm: int, most: int, left: Any, rewards: Sequence[Any], mean: Mean
) -> Any:
    """Worth of arm `arm` for who has come and up to `most` customers of the segment, to commit when better.

    After the first pull each takes 1/q customers, those of other segments getting their best arm.
    """
    own = next(g for g, arms in enumerate(who.groups) if arm in arms)
    q = who.chances(success(state, arm))

    def best(s: Counts) -> list[Any]:
        return [max(rewards[i] * mean(s, i) for i in arms) for arms in who.groups]

    def commit(s: Counts, customers: Any) -> Any:
        return customers * sum(share * top for share, top in zip(q, best(s), strict=True))

    def others(s: Counts) -> Any:
        return sum(share * top for g, (share, top) in enumerate(zip(q, best(s), strict=True)) if g != own)

    def after(s: Counts, made: int) -> Any:
        customers = left - 1 - (made - 1) / q[own]
        if made == most:
            return commit(s, customers)
        pulled = pull(s, arm, rewards, mean, lambda later: after(later, made + 1))
        return max(commit(s, customers), others(s) / q[own] + pulled)

    return pull(state, arm, rewards, mean, lambda later: after(later, 1))
