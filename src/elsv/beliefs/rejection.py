r"""The paper's own belief under an order: draw, and keep what is in order (Algorithm 4).

Algorithm 4 does not say how many draws to make, nor what to do when none is kept. Two readings are offered:
a fixed number of draws with the independent means as the answer when nothing passes, counted; or as many
draws as it takes, up to a cap. For N equal arms one draw in N! passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from elsv._base.numbers import shown, whole
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.beliefs.base import Order, check_order
from elsv.errors import InvalidInputError, SamplingError
from elsv.state import State

_BLOCK = 1 << 18  # numbers drawn before it is asked who needs more
_MOST_DRAWS = 10**9  # for one instance: minutes
_SMALL = 0.1  # counts below which numba's Beta draws may take very long and NumPy's do not


@dataclass(frozen=True)
class Estimate:
    """What rejection sampling found for every instance."""

    mean: FloatArray  # [..., N]
    accepted: IntArray  # [...], draws that were in order and were used
    drawn: IntArray  # [...], draws that were made
    fallback: AnyArray  # [...], true where nothing passed and the independent means stand in

    @property
    def fallbacks(self) -> int:
        """For how many instances nothing passed."""
        return int(self.fallback.sum())


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
            if value is not None:
                whole(name, value)
            if value is not None and value > _MOST_DRAWS:
                raise InvalidInputError(
                    f"{name} must be at most {_MOST_DRAWS:,}, got {shown(value)}; the exact belief needs none"
                )

    def mean(self, state: State, rng: np.random.Generator | None = None) -> FloatArray:
        """Return means over accepted draws, shape ``[..., N]``; drawn afresh for every state."""
        if rng is None:
            raise InvalidInputError(
                "rejection sampling needs a generator; pass rng=np.random.default_rng(seed)"
            )
        return self.estimate(state, rng).mean

    def estimate(self, state: State, rng: np.random.Generator) -> Estimate:
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
        shape = state.shape
        return Estimate(
            mean.reshape(state.alpha.shape),
            accepted.reshape(shape),
            drawn.reshape(shape),
            fallback.reshape(shape),
        )

    def draw(self, state: State, rng: np.random.Generator) -> FloatArray:
        """Return the first joint draw that is in order for every instance, shape ``[..., N]``."""
        total, accepted, _ = self._collect(state, rng, 1, self.cap)
        _give_up_unless(bool(accepted.all()), 1, self.cap, self.order)
        return total.reshape(state.alpha.shape)

    def _collect(
        self, state: State, rng: np.random.Generator, wanted: int, limit: int
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
