r"""What policies earn beside always pulling one arm, on the same instances.

Earnings are expected rewards, :math:`\sum_t r_{a_t}\mu_{a_t}`: the luck of single outcomes does not count,
and always pulling arm i earns :math:`T r_i\mu_i`, for which nothing has to be simulated. A gain is the
difference, instance by instance, so that its interval is that of paired differences. With segments an arm is
one for each of them (`elsv.policies.single.choices`), and earns as many times as its customers come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from elsv._base.typing import FloatArray, IntArray
from elsv.simulation.intervals import interval


@dataclass(frozen=True)
class ArmTally:
    """Policies beside single arms on one chunk; sums over its instances, in units of `Run.unit`."""

    arms: FloatArray  # [N], of what always pulling arm i earns
    arm_squares: FloatArray  # [N]
    gains: FloatArray  # [P, N], of the earnings of policy p minus those of always pulling arm i
    gain_squares: FloatArray  # [P, N]
    products: FloatArray  # [P, N], of the gain times what the arm earns

    def __add__(self, other: ArmTally) -> ArmTally:
        """Return the sums over the instances of both."""
        return ArmTally(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True)
class ArmTotals:
    """Means over all instances, in the currency of the rewards."""

    arms: FloatArray  # [N], what always pulling arm i earns
    gains: FloatArray  # [P, N]
    ci95: FloatArray  # [P, N], half-widths of their paired 95 % intervals
    percent: FloatArray  # [P, N], of what the arm earns
    percent_ci95: FloatArray  # [P, N]


def tally_arms(worth: FloatArray, regret: FloatArray, steps: int) -> ArmTally:
    """Return the sums of one chunk from rewards times means ``[B, N]`` and final regrets ``[P, B]``."""
    return _tally(steps * worth, steps * (worth.max(axis=1, keepdims=True) - worth), regret)


def tally_choices(
    worth: FloatArray,
    regret: FloatArray,
    largest: FloatArray,
    customers: IntArray,
    choices: Sequence[Sequence[int]],
) -> ArmTally:
    """Return the same with segments: `largest` is what their best arms earn, `customers` who came [B, G]."""
    alone = np.stack([(customers * worth[:, list(arms)]).sum(axis=1) for arms in choices], axis=1)
    return _tally(alone, (customers * largest).sum(axis=1, keepdims=True) - alone, regret)


def _tally(alone: FloatArray, lost: FloatArray, regret: FloatArray) -> ArmTally:
    """Return the sums from what always each arm earns and loses ``[B, K]``, and regrets ``[P, B]``."""
    gains, squares, products = (np.empty((len(regret), alone.shape[1])) for _ in range(3))
    for p, of_policy in enumerate(regret):
        gain = lost - of_policy[:, None]
        gains[p], squares[p] = gain.sum(axis=0), (gain * gain).sum(axis=0)
        products[p] = (gain * alone).sum(axis=0)
    return ArmTally(alone.sum(axis=0), (alone * alone).sum(axis=0), gains, squares, products)


def totals_of(tally: ArmTally, instances: int, unit: float) -> ArmTotals:
    """Return means and intervals; those in per cent take into account that both parts are measured."""
    gains, half = interval(tally.gains, tally.gain_squares, instances)
    arms = tally.arms / instances
    with np.errstate(divide="ignore", invalid="ignore"):  # an arm that earns nothing has no per cent
        ratio = gains / arms
        squares = tally.gain_squares - 2 * ratio * tally.products + ratio * ratio * tally.arm_squares
        _, apart = interval(np.zeros_like(gains), squares, instances)
        percent, percent_half = 100 * ratio, 100 * apart / arms
    return ArmTotals(unit * arms, unit * gains, unit * half, percent, percent_half)
