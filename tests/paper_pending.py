"""Outcomes that come late, as plain loops: which outcomes are known at a step, and the state to plan in."""

from fractions import Fraction


def expected_counts(alpha, beta, mean, waiting):
    """alpha_i + k_i p_i and beta_i + k_i (1 - p_i), as fractions."""
    added = [(k * p, k * (1 - p)) for k, p in zip(waiting, mean, strict=True)]
    return (
        [Fraction(a) + won for a, (won, _) in zip(alpha, added, strict=True)],
        [Fraction(b) + lost for b, (_, lost) in zip(beta, added, strict=True)],
    )


def known_before(step, delay, batch):
    """The steps whose outcomes are in when the customer of `step` is decided for."""
    looked_at = (step - 1) // batch * batch + 1  # the first customer of the batch
    return [t for t in range(1, step) if t + delay < looked_at]


def value_with_delay(rewards, horizon, delay, choose=None):
    """Expected earnings of `horizon` customers whose outcomes are in `delay` customers later; uniform priors.

    Of the best policy, or of `choose(counts, waiting, step)`: counts are (successes + 1, failures + 1) of
    every arm by the outcomes that are in, waiting the arms of open decisions, the oldest first.

    A decision earns the reward times the mean by what is known when it is made. Its outcome becomes known
    later, with the mean by what is known then.
    """
    known = {}

    def go(counts, waiting, step):
        if step > horizon:
            return Fraction(0)
        if len(waiting) > delay:  # the oldest outcome comes in before this customer
            i, rest = waiting[0], waiting[1:]
            a, b = counts[i]
            won = (*counts[:i], (a + 1, b), *counts[i + 1 :])
            lost = (*counts[:i], (a, b + 1), *counts[i + 1 :])
            p = Fraction(a, a + b)
            return p * value(won, rest, step) + (1 - p) * value(lost, rest, step)

        def worth(i):
            a, b = counts[i]
            return rewards[i] * Fraction(a, a + b) + value(counts, (*waiting, i), step + 1)

        if choose is not None:
            return worth(choose(counts, waiting, step))
        return max(worth(i) for i in range(len(rewards)))

    def value(*state):
        if state not in known:
            known[state] = go(*state)
        return known[state]

    return value(((1, 1),) * len(rewards), (), 1)


def outcome_chances(mean, counts, waiting):
    """The probability of each number of successes of the open decisions, one decision after the other.

    `mean(counts)` are the means of a belief, counts (successes, failures) of every arm, waiting the arms of
    the open decisions.
    """
    if not waiting:
        return {(0,) * len(counts): 1}
    i, found = waiting[0], {}
    p, (won, lost) = mean(counts)[i], counts[i]
    for success, chance in ((1, p), (0, 1 - p)):
        after = (*counts[:i], (won + success, lost + 1 - success), *counts[i + 1 :])
        for y, later in outcome_chances(mean, after, waiting[1:]).items():
            whole = (*y[:i], y[i] + success, *y[i + 1 :])
            found[whole] = found.get(whole, 0) + chance * later
    return found
