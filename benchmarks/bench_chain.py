"""The exact belief under an order: time per state, error reached, and what rejection sampling would need.

``python -m benchmarks chain``; every number is for one thread and warm kernels.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.shared import row, seconds
from elsv.beliefs import Chain, Independent, Rejection
from elsv.state import State

PULLS = 300
# arms, states in a batch, µs per state that a mean may take
SIZES = ((3, 2000, 25.0), (10, 300, 150.0), (100, 10, 4000.0), (1000, 1, 60_000.0))
FINEST = Chain(tolerance=1e-12)


def seen_states(arms: int, size: int) -> State:
    """Return states after up to PULLS pulls of arms whose means are in order."""
    rng = np.random.default_rng(arms)
    means = np.sort(rng.random((size, arms)))[:, ::-1]
    pulls = rng.multinomial(rng.integers(0, PULLS + 1, size), rng.dirichlet(np.ones(arms), size))
    wins = rng.binomial(pulls, means)
    return State(1.0 + wins, 1.0 + pulls - wins)


def rows_for(arms: int, size: int, target: float) -> list[dict[str, Any]]:
    state, chain, rng = seen_states(arms, size), Chain(), np.random.default_rng(0)
    error = np.abs(chain.mean(state) - FINEST.mean(state)).max()
    micro = 1e6 / size
    return [
        row(f"chain mean, {arms} arms", micro * seconds(lambda: chain.mean(state)), "µs/state", target),
        row(f"chain mean, {arms} arms: largest error", float(error), "", chain.tolerance),
        row(f"chain draw, {arms} arms", micro * seconds(lambda: chain.draw(state, rng)), "µs/state"),
    ]


def coarse_rows() -> list[dict[str, Any]]:
    state, chain = seen_states(3, 2000), Chain(tolerance=1e-6)
    error = np.abs(chain.mean(state) - FINEST.mean(state)).max()
    return [
        row("chain mean, 3 arms, 1e-6", 1e6 / 2000 * seconds(lambda: chain.mean(state)), "µs/state", 10.0),
        row("chain mean, 3 arms, 1e-6: largest error", float(error), "", chain.tolerance),
    ]


def rejection_rows() -> list[dict[str, Any]]:
    """Draws for a standard error of 1e-8 (variance / tolerance² / acceptance), and their time."""
    state, chain = State([3.0, 2.0, 1.0], [1.0, 2.0, 3.0]), Chain()
    sampler, rng = Rejection(samples=20_000), np.random.default_rng(0)
    estimate = sampler.estimate(state, rng)
    acceptance = float(estimate.accepted / estimate.drawn)
    draws = float(chain.variance(state).max()) / chain.tolerance**2 / acceptance
    each = seconds(lambda: sampler.estimate(state, rng)) / float(estimate.drawn)
    exact = seconds(lambda: chain.mean(state))
    return [
        row("rejection, 3 arms: draws for 1e-8", draws, "draws"),
        row("rejection, 3 arms: time for 1e-8 over that of the chain", draws * each / exact, "×"),
    ]


def best_rows() -> list[dict[str, Any]]:
    """P(best) at 1e-4: in states that were seen, in the prior, and with a million pulls against the order."""
    rows = []
    for belief, targets in ((Chain(), (0.4, 5.0, 200.0)), (Independent(), (0.4, 5.0, None))):
        kind = "chain" if isinstance(belief, Chain) else "independent"
        for arms, target in zip((3, 20, 100), targets, strict=True):
            rewards, prior = np.linspace(0.5, 1.0, arms), State(np.ones(arms), np.ones(arms))
            for name, state in (("seen", seen_states(arms, 4)), ("prior", prior)):
                ask = partial(belief.best_with_error, state, rewards, 1e-4)
                finest, _ = belief.best(state, rewards, 1e-9)
                error = float(np.abs(ask()[0] - finest).max())
                each = 1e3 / (state.alpha.size / arms)
                rows.append(row(f"{kind} best, {arms} arms, {name}", each * seconds(ask), "ms/state", target))
                rows.append(row(f"{kind} best, {arms} arms, {name}: largest error", error, "", 1e-4))
    against = partial(Chain().best, State([3e5, 7e5], [7e5, 3e5]), np.array([1.0, 1.00001]), 1e-4)
    rows.append(row("chain best, a million pulls against the order", 1e3 * seconds(against), "ms", 200.0))
    return rows


def run() -> list[dict[str, Any]]:
    """Return all rows: name, value, unit, target (None where there is none)."""
    rows = [entry for arms, size, target in SIZES for entry in rows_for(arms, size, target)]
    return rows + best_rows() + coarse_rows() + rejection_rows()
