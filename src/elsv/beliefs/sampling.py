r"""Beliefs under an order by draws: Gibbs sampling, and the paper's own rejection.

`Gibbs` is for partial orders whose ladder is too wide. Each arm in turn is drawn from its Beta density
between the arms just below and just above it. Several chains begin far apart; how far they still are is
told by R-hat, and the error of the means by their spread. Long chains of arms mix slowly (100 arms in about
1,650 sweeps) and have an exact belief: this is for wide orders, whose sweeps are nearly independent after 2
to 7.

`Rejection` draws, and keeps what is in order (paper Algorithm 4). The algorithm does not say how many draws
to make, nor what to do when none is kept. Two readings are offered: a fixed number of draws with the
independent means as the answer when nothing passes, counted; or as many draws as it takes, up to a cap. For
N equal arms one draw in N! passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from elsv._base.notices import say_once
from elsv._base.numbers import shown, whole
from elsv._base.typing import AnyArray, FloatArray, IntArray, Rng
from elsv.beliefs.base import CountedBest, MethodUsed, Order, check_order, state_by_state
from elsv.beliefs.ladder.ranking import Pairs, closure, covers
from elsv.beliefs.points import check_count
from elsv.errors import InvalidInputError, SamplingError
from elsv.state import State

CHAINS = 16
KEPT = 256  # draws of a chain
_APART = 1.05  # R-hat above which a notice is given
_SEED = 20_261_115
_BLOCK = 1 << 18  # numbers drawn before it is asked who needs more
_MOST_DRAWS = 10**9  # for one instance: minutes
_SMALL = 0.1  # counts below which numba's Beta draws may take very long and NumPy's do not


@dataclass(frozen=True)
class Gibbs(CountedBest):
    r"""Posterior of means in a partial order, by Gibbs sampling; the same draws for the same state.

    Parameters
    ----------
    arms
        How many there are.
    order
        Pairs ``(a, b)``, arms from 0: arm a is at least as large as arm b.
    bounds
        For each arm the least and the largest mean, or None.
    rewards
        If given, the order is one of :math:`r_i\mu_i`.
    """

    arms: int
    order: Pairs = ()
    bounds: tuple[tuple[float, float], ...] | None = None
    rewards: tuple[float, ...] | None = None
    repeats: ClassVar[bool] = True

    def mean(self, state: State, rng: Rng | None = None) -> FloatArray:
        """Return posterior means, shape ``[..., N]``; `rng` is not used."""
        return self._each(state, lambda chains: chains.mean(axis=(0, 1)))

    def variance(self, state: State) -> FloatArray:
        """Return posterior variances, shape ``[..., N]``."""
        return self._each(state, lambda chains: chains.var(axis=(0, 1)))

    def error(self, state: State) -> FloatArray:
        """Return the standard error of a mean, from the spread of the chains' means, ``[...]``."""
        spread = self._each(state, lambda chains: chains.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(CHAINS))
        return np.asarray(spread.max(axis=-1))

    def r_hat(self, state: State) -> FloatArray:
        """Return by what factor the spread of all draws is above that within chains, ``[...]``; 1 is good."""
        return np.asarray(self._each(state, _r_hat).max(axis=-1))

    def describe_method(self, state: State) -> MethodUsed:
        """Say how the means are computed in one state, and how far apart the chains are."""
        apart = float(self.r_hat(state))
        words = f"Gibbs sampling, {CHAINS} chains of {KEPT} draws: R-hat {apart:.3f} (1 is good)"
        return MethodUsed("Gibbs", words, {"draws": CHAINS * KEPT, "r_hat": apart})

    def draw(self, state: State, rng: Rng) -> FloatArray:
        """Return one joint draw of the means for every instance, shape ``[..., N]``."""

        def find(chains: FloatArray) -> FloatArray:
            drawn = chains.reshape(-1, self.arms)
            return np.asarray(drawn[rng.integers(len(drawn))])

        return self._each(state, find)

    def points(self, state: State, count: int) -> tuple[FloatArray, FloatArray]:
        """Return joint points ``[..., M, N]`` and weights ``[..., M]``: draws at even steps of the chains."""
        size = min(check_count(count), CHAINS * KEPT)
        at = np.arange(size) * (CHAINS * KEPT) // size
        theta = self._each(state, lambda chains: chains.reshape(-1, self.arms)[at], size)
        return theta, np.full((*state.shape, size), 1 / size)

    def _joint(self, one: State) -> tuple[FloatArray, FloatArray]:
        points = self._chains(one.alpha, one.beta).reshape(-1, self.arms)
        return points, np.ones(len(points))

    def _each(self, state: State, read: Callable[[FloatArray], FloatArray], *size: int) -> FloatArray:
        """Return what `read` says of the chains of every state, ``[..., *size, N]``."""
        return state_by_state(state, lambda *one: [read(self._chains(*one))], (*size, self.arms))[0]

    def _chains(self, alpha: FloatArray, beta: FloatArray) -> FloatArray:
        """Return the chains of one state, ``[CHAINS, KEPT, N]``."""
        return _sampled(self, tuple(alpha.tolist()), tuple(beta.tolist()))


@lru_cache(maxsize=64)
def _sampled(belief: Gibbs, alpha: tuple[float, ...], beta: tuple[float, ...]) -> FloatArray:
    """Return the chains of one state, ``[CHAINS, KEPT, N]``."""
    from elsv.beliefs._sampling_kernels import gibbs

    arms, rewards = belief.arms, belief.rewards
    scale = np.ones(arms) if rewards is None else np.array(rewards) / max(rewards)
    ends = np.array(belief.bounds or ((0.0, 1.0),) * arms)
    above = closure(arms, belief.order)
    cover = covers(above)
    lower = _neighbours(arms, list(cover))
    upper = _neighbours(arms, [(b, a) for a, b in cover])
    visit = np.argsort(above.sum(axis=1), kind="stable").astype(np.int64)
    out = np.empty((CHAINS, KEPT, arms))
    state = np.array(alpha), np.array(beta)
    for chain, rng in enumerate(np.random.default_rng(_SEED).spawn(CHAINS)):
        place = _begin(scale, ends, above, visit, (chain + 0.5) / CHAINS)
        gibbs(*state, scale, ends, *lower, *upper, visit, rng, place, out[chain])
    if (worst := float(_r_hat(out).max())) > _APART:
        say_once(
            f"the Gibbs sampler has not settled (R-hat {worst:.2f}, 1 is good): answers are rough; "
            "state more of the order, or less"
        )
    out.flags.writeable = False
    return out


def _begin(scale: FloatArray, ends: FloatArray, above: AnyArray, visit: IntArray, share: float) -> FloatArray:
    """Return a possible place of every arm, low for a small `share` and high for a large one."""
    top = ends[:, 1] * scale
    # No arm may be placed above what the arms over it can reach.
    for i in range(len(scale)):
        top[i] = min([top[i], *(ends[above[:, i], 1] * scale[above[:, i]])])
    place = ends[:, 0] * scale
    for i in visit:
        low = max([place[i], *place[above[i]]])
        steps = 1 + above[:, i].sum()
        place[i] = low + (top[i] - low) * share / steps
    return place


def _neighbours(arms: int, pairs: list[tuple[int, int]]) -> tuple[IntArray, IntArray]:
    """Return the second arms of all pairs, sorted by the first, and where those of each arm begin."""
    ordered = sorted(pairs)
    starts = np.searchsorted([a for a, _ in ordered], np.arange(arms + 1)).astype(np.int64)
    return np.array([b for _, b in ordered], dtype=np.int64), starts


def _r_hat(chains: FloatArray) -> FloatArray:
    """Return R-hat of every arm of chains ``[C, K, N]``, each cut in two halves (Gelman et al. 2013)."""
    half = chains.shape[1] // 2
    pieces = np.concatenate([chains[:, :half], chains[:, half : 2 * half]])
    within = pieces.var(axis=1, ddof=1).mean(axis=0)
    between = pieces.mean(axis=1).var(axis=0, ddof=1)
    return np.asarray(np.sqrt((within * (half - 1) / half + between) / np.maximum(within, 1e-300)))


@dataclass(frozen=True)
class Estimate:
    """What rejection sampling found for every instance."""

    mean: FloatArray  # [..., N]
    accepted: IntArray  # [...], draws that were in order and were used
    drawn: IntArray  # [...], draws that were made
    fallback: AnyArray  # [...], true where nothing passed and the independent means stand in


@dataclass(frozen=True)
class Rejection:
    """Posterior of the means given that they are in order, by rejection sampling (paper Algorithm 4).

    Parameters
    ----------
    order
        ``"decreasing"`` or ``"increasing"``.
    draws
        Make this many draws and keep what passes, as printed in the paper (whose authors used 100). None:
        draw until `samples` have passed.
    samples
        How many accepted draws a mean is taken over, when `draws` is None.
    cap
        Draws for one instance after which to give up.
    """

    order: Order = "decreasing"
    draws: int | None = None
    samples: int = 1000
    cap: int = 10_000_000
    repeats: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_order(self.order)
        for name in ("draws", "samples", "cap"):
            value = getattr(self, name)
            if value is not None and whole(name, value) > _MOST_DRAWS:
                raise InvalidInputError(
                    f"{name} must be at most {_MOST_DRAWS:,}, got {shown(value)}; the exact belief needs none"
                )

    def mean(self, state: State, rng: Rng | None = None) -> FloatArray:
        """Return means over accepted draws, shape ``[..., N]``; drawn afresh for every state."""
        if rng is None:
            raise InvalidInputError(
                "rejection sampling needs a generator; pass rng=np.random.default_rng(seed)"
            )
        return self.estimate(state, rng).mean

    def estimate(self, state: State, rng: Rng) -> Estimate:
        """Return the means with how many draws were accepted and where none was."""
        wanted = self.samples if self.draws is None else self.draws
        limit = self.cap if self.draws is None else self.draws
        total, accepted, drawn = self._collect(state, rng, wanted, limit)
        if self.draws is None:
            _give_up_unless(bool((accepted == wanted).all()), wanted, limit, self.order)
        fallback = accepted == 0
        mean = np.where(
            fallback[:, None], state.mean.reshape(total.shape), total / np.maximum(accepted, 1)[:, None]
        )
        counted = (count.reshape(state.shape) for count in (accepted, drawn, fallback))
        return Estimate(mean.reshape(state.alpha.shape), *counted)

    def draw(self, state: State, rng: Rng) -> FloatArray:
        """Return the first joint draw that is in order for every instance, shape ``[..., N]``."""
        total, accepted, _ = self._collect(state, rng, 1, self.cap)
        _give_up_unless(bool(accepted.all()), 1, self.cap, self.order)
        return total.reshape(state.alpha.shape)

    def _collect(
        self, state: State, rng: Rng, wanted: int, limit: int
    ) -> tuple[FloatArray, IntArray, IntArray]:
        """Sum up to `wanted` accepted draws of at most `limit` for every instance, flattened to ``[B]``."""
        from elsv.beliefs._sampling_kernels import add_draws, collect

        sign = 1.0 if self.order == "decreasing" else -1.0
        alpha, beta = state.rows()
        smallest = min(alpha.min(initial=1.0), beta.min(initial=1.0))
        total = np.zeros(alpha.shape)
        accepted, drawn = np.zeros(len(alpha), np.int64), np.zeros(len(alpha), np.int64)
        active = np.arange(len(alpha))
        while active.size:
            most = min(limit - int(drawn[active[0]]), max(1, _BLOCK // (active.size * state.arms)))
            if smallest < _SMALL:
                theta = rng.beta(alpha[active, None], beta[active, None], (active.size, most, state.arms))
                add_draws(theta, active, sign, wanted, total, accepted)
            else:
                collect(rng, active, alpha, beta, sign, most, wanted, total, accepted)
            drawn[active] += most
            active = active[(accepted[active] < wanted) & (drawn[active] < limit)]
        return total, accepted, drawn


def _give_up_unless(enough: bool, wanted: int, limit: int, order: Order) -> None:
    if not enough:
        raise SamplingError(
            f"fewer than {wanted} of {limit} draws were in {order} order; raise cap, or use the exact belief "
            f"Chain({order!r}), which does not depend on how likely the order is"
        )
