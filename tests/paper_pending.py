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
