"""What a campaign brought and whether what is assumed holds, in the plainest form: loops and whole sets."""

import math
from fractions import Fraction
from itertools import product


def log_mixture(won, seen):
    """ln B(k + 1/2, n − k + 1/2) / B(1/2, 1/2)."""
    lost = seen - won
    top = math.lgamma(won + 0.5) + math.lgamma(lost + 0.5) - math.lgamma(seen + 1)
    return top - 2 * math.lgamma(0.5)


def log_likelihood(means, won, lost):
    total = 0.0
    for mean, good, bad in zip(means, won, lost, strict=True):
        total += (good * math.log(mean) if good else 0.0) + (bad * math.log1p(-mean) if bad else 0.0)
    return total


def inside(mean, won, seen, miss=0.05):
    """Whether a rate belongs to C."""
    if (mean == 0 and won) or (mean == 1 and seen > won):
        return False
    return log_mixture(won, seen) - log_likelihood([mean], [won], [seen - won]) < -math.log(miss)


def confidence_set(won, seen, miss=0.05):
    """Both ends of C, by halving from the rate as seen."""
    ends = []
    for outer in (0.0, 1.0):
        if inside(outer, won, seen, miss):
            ends.append(outer)
            continue
        near, far = (won / seen if seen else 0.5), outer
        for _ in range(80):
            middle = (near + far) / 2
            near, far = (middle, far) if inside(middle, won, seen, miss) else (near, middle)
        ends.append(far)
    return tuple(ends)


def gain_interval(rewards, won, seen, mix, came, miss=0.05):
    """E − Σ came_i mix_i r_i C_i: the gain over a mix of arms by outcomes alone."""
    earned = sum(r * k for r, k in zip(rewards, won, strict=True))
    parts = [i for i, share in enumerate(mix) if share]
    low = high = earned
    for i in parts:
        a, b = confidence_set(won[i], seen[i], miss / len(parts))
        low -= came[i] * mix[i] * rewards[i] * b
        high -= came[i] * mix[i] * rewards[i] * a
    return low, high


def holdout_interval(rewards, won, seen, came, interval):
    """What today's arms would have earned by the held-out customers: segments' errors add as squares."""
    middle = below = above = 0.0
    for reward, good, count, customers in zip(rewards, won, seen, came, strict=True):
        low, high = map(float, interval(good, count))
        middle += customers * reward * good / count
        below += (customers * reward * (good / count - low)) ** 2
        above += (customers * reward * (high - good / count)) ** 2
    return middle - math.sqrt(below), middle + math.sqrt(above)


def isotonic(won, seen, pairs):
    """Best rates with mean a ≥ mean b for every pair, by the max-min formula over upper and lower sets.

    Rates of arms without outcomes are left out of the averages.
    """
    arms = len(won)
    sets = [frozenset(i for i in range(arms) if bits[i]) for bits in product((0, 1), repeat=arms)]
    uppers = [s for s in sets if all(a in s for a, b in pairs if b in s)]
    lowers = [s for s in sets if all(b in s for a, b in pairs if a in s)]

    def average(some):
        total = sum(seen[i] for i in some)
        return Fraction(sum(won[i] for i in some), total) if total else None

    def best(arm):
        found = []
        for upper in uppers:
            if arm in upper:
                each = [average(upper & lower) for lower in lowers if arm in lower]
                if None not in each:
                    found.append(min(each))
        return float(max(found))

    return [best(arm) if seen[arm] else None for arm in range(arms)]


def likelihood_ratio(won, seen, fitted):
    """λ = 2 [ℓ(rates as seen) − ℓ(fitted)]."""
    total = 0.0
    for good, count, mean in zip(won, seen, fitted, strict=True):
        if count:
            total += log_likelihood([good / count], [good], [count - good])
            total -= log_likelihood([mean], [good], [count - good])
    return 2 * total


def best_with_peak(won, seen):
    """The smallest λ over all arms as the peak."""
    arms = len(won)
    every = []
    for peak in range(arms):
        pairs = [(k + 1, k) for k in range(peak)] + [(k, k + 1) for k in range(peak, arms - 1)]
        every.append(likelihood_ratio(won, seen, isotonic(won, seen, pairs)))
    return min(every)


def beta_binomial(k, n, a, b):
    """P(k of n) with a rate that is Beta(a, b), for whole a and b exactly."""

    def beta(x, y):
        return Fraction(math.factorial(x - 1) * math.factorial(y - 1), math.factorial(x + y - 1))

    return math.comb(n, k) * beta(a + k, b + n - k) / beta(a, b)


def predictive(won, seen, a, b):
    """Twice the smaller tail that holds the outcome, at most 1."""
    below = sum(beta_binomial(k, seen, a, b) for k in range(won + 1))
    above = sum(beta_binomial(k, seen, a, b) for k in range(won, seen + 1))
    return min(1.0, float(2 * min(below, above)))


def split_statistic(decisions):
    """(counts − promised)ᵀ V⁻¹ (counts − promised) over all arms but the last, from (arm, probabilities)."""
    arms = len(decisions[0][1])
    apart = [0.0] * arms
    spread = [[0.0] * arms for _ in range(arms)]
    for arm, chances in decisions:
        for i in range(arms):
            apart[i] += (i == arm) - chances[i]
            for j in range(arms):
                spread[i][j] += (chances[i] if i == j else 0.0) - chances[i] * chances[j]
    return _quadratic([row[:-1] for row in spread[:-1]], apart[:-1])


def _quadratic(matrix, vector):
    """xᵀ M⁻¹ x by elimination."""
    rows = [[*row, x] for row, x in zip(matrix, vector, strict=True)]
    for k in range(len(rows)):
        for other in range(len(rows)):
            if other != k:
                factor = rows[other][k] / rows[k][k]
                rows[other] = [x - factor * y for x, y in zip(rows[other], rows[k], strict=True)]
    return sum(x * row[-1] / row[k] for k, (row, x) in enumerate(zip(rows, vector, strict=True)))
