"""Structures in plain slow forms: sums over the rankings that a statement allows, exact fractions throughout.

A ranking names all arms, the smallest first. What a statement allows is a list of rankings, limits of every
arm, and a unit r of every arm (the ranking is one of r x). Nothing here knows ladders, trees or messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations

import numpy as np

import paper
from paper_beliefs import beta_polynomial, multiply
from paper_best import exactly, integral, value

Counts = tuple[tuple[int, int], ...]
Ranking = tuple[int, ...]
Limits = tuple[tuple[Fraction, Fraction], ...]


def linear_extensions(arms: int, pairs: Iterable[tuple[int, int]] = ()) -> list[Ranking]:
    """Return the rankings in which arm a is above arm b for every pair (a, b), arms from 0."""
    known = list(pairs)
    return [
        ranking
        for ranking in permutations(range(arms))
        if all(ranking.index(a) > ranking.index(b) for a, b in known)
    ]


def without_valley(rankings: list[Ranking]) -> list[Ranking]:
    """Return the rankings in which no arm is below one on its left and one on its right."""

    def peaks(ranking: Ranking) -> bool:
        place = [ranking.index(arm) for arm in range(len(ranking))]
        return not any(
            place[j] < min(max(place[:j]), max(place[j + 1 :])) for j in range(1, len(ranking) - 1)
        )

    return [ranking for ranking in rankings if peaks(ranking)]


def grid_pairs(rows: int, columns: int) -> list[tuple[int, int]]:
    """Return neighbours in a grid, row by row, the larger first."""
    at = {(r, c): r * columns + c for r in range(rows) for c in range(columns)}
    return [(at[p], at[q]) for p in at for q in ((p[0] + 1, p[1]), (p[0], p[1] + 1)) if q in at]


def ranking_weight(ranking: Ranking, counts: Counts, limits: Limits, unit: tuple[Fraction, ...]) -> Fraction:
    """Integrate the product of x^(alpha-1) (1-x)^(beta-1) over r x in this ranking, x within its limits."""
    ends = [(low * r, high * r) for (low, high), r in zip(limits, unit, strict=True)]
    edges = sorted({Fraction(0), *(edge for pair in ends for edge in pair)})
    below = [[Fraction(1)] for _ in edges[1:]]
    for arm in ranking:
        scale = unit[arm]
        density = [c / scale ** (k + 1) for k, c in enumerate(beta_polynomial(*counts[arm]))]
        total, after = Fraction(0), []
        for (low, high), message in zip(pairwise(edges), below, strict=True):
            inside = ends[arm][0] <= low and high <= ends[arm][1]
            piece = integral(multiply(density, message), low) if inside else [Fraction(0)]
            piece[0] += total
            after.append(piece)
            total = value(piece, high)
        below = after
    return value(below[-1], edges[-1])


@dataclass(frozen=True)
class Exact:
    """What a statement about rankings and limits allows; every answer is a fraction."""

    rankings: tuple[Ranking, ...]
    limits: Limits
    unit: tuple[Fraction, ...]

    def weight(self, counts: Counts) -> Fraction:
        """W(s), the sum over the rankings allowed."""
        return _weight(self, counts)

    def mean(self, counts: Counts, i: int) -> Fraction:
        """p_i = W(s + success_i) / W(s)."""
        return self.weight(paper.success(counts, i)) / self.weight(counts)

    def variance(self, counts: Counts, i: int) -> Fraction:
        """Second moment from two successes, less the mean squared."""
        twice = self.weight(paper.success(paper.success(counts, i), i)) / self.weight(counts)
        return twice - self.mean(counts, i) ** 2

    def below(self, counts: Counts, rewards: tuple[Fraction, ...], v: Fraction) -> Fraction:
        """P(max r_i mu_i <= v): the limits cut off where an arm would pay v."""
        cut = tuple(
            (low, max(low, min(high, v / r))) for (low, high), r in zip(self.limits, rewards, strict=True)
        )
        if any(low == high for low, high in cut):
            return Fraction(0)
        return Exact(self.rankings, cut, self.unit).weight(counts) / self.weight(counts)

    def expected_largest(self, counts: Counts, rewards: tuple[Fraction, ...]) -> Fraction:
        """E[max r_i mu_i] = top - integral of P(max <= v), a polynomial between places where limits meet."""
        places = {end * r for pair, r in zip(self.limits, rewards, strict=True) for end in pair}
        # Limits cut off at v / r_i may also change sides with limits of other arms, on the ranking's axis.
        for r, own in zip(rewards, self.unit, strict=True):
            for pair, other in zip(self.limits, self.unit, strict=True):
                places |= {end * other / own * r for end in pair}
        top = max(high * r for (_, high), r in zip(self.limits, rewards, strict=True))
        edges = sorted(p for p in {Fraction(0), top, *places} if p <= top)
        degree = sum(a + b - 1 for a, b in counts)
        return top - sum(
            exactly(lambda v: self.below(counts, rewards, v), low, high, degree)
            for low, high in pairwise(edges)
        )


@cache
def _weight(exact: Exact, counts: Counts) -> Fraction:
    return sum(
        (ranking_weight(ranking, counts, exact.limits, exact.unit) for ranking in exact.rankings), Fraction(0)
    )


def exact(
    arms: int,
    pairs: Iterable[tuple[int, int]] = (),
    unimodal: bool = False,
    limits: Sequence[tuple[Fraction, Fraction]] | None = None,
    unit: Sequence[Fraction] | None = None,
) -> Exact:
    """Return a statement: pairs, a single peak, limits, and the unit in which arms are ranked."""
    rankings = linear_extensions(arms, pairs)
    return Exact(
        tuple(without_valley(rankings) if unimodal else rankings),
        tuple(limits or [(Fraction(0), Fraction(1))] * arms),
        tuple(unit or [Fraction(1)] * arms),
    )


@dataclass(frozen=True)
class ExactMixture:
    """Several statements, each with a probability."""

    parts: tuple[tuple[Fraction, Exact], ...]
    prior: Counts

    def weight(self, counts: Counts) -> Fraction:
        """W(s), the parts normalised by their prior."""
        return sum((p * part.weight(counts) / part.weight(self.prior) for p, part in self.parts), Fraction(0))

    def mean(self, counts: Counts, i: int) -> Fraction:
        """p_i = W(s + success_i) / W(s)."""
        return self.weight(paper.success(counts, i)) / self.weight(counts)


@dataclass(frozen=True)
class ExactDraws:
    """A prior of finitely many vectors of means."""

    draws: tuple[tuple[Fraction, ...], ...]
    weights: tuple[Fraction, ...]
    prior: Counts

    def weight(self, counts: Counts) -> Fraction:
        """W(s), the sum of the draws' likelihoods."""
        total = Fraction(0)
        for draw, share in zip(self.draws, self.weights, strict=True):
            for mu, (a, b), (a0, b0) in zip(draw, counts, self.prior, strict=True):
                share *= mu ** (a - a0) * (1 - mu) ** (b - b0)
            total += share
        return total

    def mean(self, counts: Counts, i: int) -> Fraction:
        """p_i = W(s + success_i) / W(s)."""
        return self.weight(paper.success(counts, i)) / self.weight(counts)


def optimum(
    known: Exact | ExactMixture | ExactDraws, prior: Counts, rewards: Sequence[Fraction], horizon: int
) -> Fraction:
    """The Bayes-optimal value by brute force."""
    mean: Callable[[Counts, int], Fraction] = cache(known.mean)
    return paper.expected_reward(prior, horizon, tuple(rewards), mean, None)


def rejected_draws(
    holds: Callable[[np.ndarray], np.ndarray],
    alpha: Sequence[float],
    beta: Sequence[float],
    count: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return about `count` independent Beta draws, less those that do not hold."""
    drawn = rng.beta(np.array(alpha, float), np.array(beta, float), size=(count, len(alpha)))
    return drawn[holds(drawn)]


def dense_tree_means(
    alpha: Sequence[float],
    beta: Sequence[float],
    children: dict[int, list[int]],
    low: float,
    high: float,
    points: int,
) -> np.ndarray:
    """Means of a tree whose root is the largest, every parent at least its children: dense sums in logits."""
    coarse, fine = (_tree_means(alpha, beta, children, low, high, k * points + 1) for k in (1, 2))
    return (4 * fine - coarse) / 3


def _tree_means(alpha, beta, children, low, high, points):
    y = np.linspace(low, high, points)
    log_x, log_rest = -np.logaddexp(0, -y), -np.logaddexp(0, y)
    density = [a * log_x + b * log_rest for a, b in zip(alpha, beta, strict=True)]

    def cumulative(values):
        cells = np.logaddexp(values[1:], values[:-1])
        return np.concatenate(([-np.inf], np.logaddexp.accumulate(cells)))

    def under(arm):
        """Log of what arm and all below it weigh, if arm is at y."""
        return density[arm] + sum(
            (cumulative(under(child)) for child in children.get(arm, [])), np.zeros(points)
        )

    means = np.empty(len(density))

    def visit(arm, above):
        log_marginal = under(arm) + above
        marginal = np.exp(log_marginal - log_marginal.max())
        means[arm] = (marginal * np.exp(log_x)).sum() / marginal.sum()
        for child in children.get(arm, []):
            others = [other for other in children[arm] if other != child]
            at_parent = density[arm] + above + sum((cumulative(under(o)) for o in others), np.zeros(points))
            visit(child, cumulative(at_parent[::-1])[::-1])

    roots = set(range(len(density))) - {child for every in children.values() for child in every}
    for root in roots:
        visit(root, np.zeros(points))
    return means
