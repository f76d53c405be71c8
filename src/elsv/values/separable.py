r"""The linearly separable value of an index: the paper's ELSV (equations 4 and 5, Algorithm 3).

.. math::

    v_t(s) = \sum_i r_i\,\upsilon_t(\alpha_i, \beta_i), \qquad
    \upsilon_{t+1}(\alpha, \beta) = m\,\upsilon_{t+1}(\alpha{+}1, \beta)
        + (1{-}m)\,\upsilon_{t+1}(\alpha, \beta{+}1) - b_t(\alpha, \beta)

with :math:`m = \alpha/(\alpha+\beta)`, on the states with at most t pulls: :math:`\upsilon_{t+1} = 0` where
there were t, then down to **no** pulls. By construction :math:`E[\upsilon'] - \upsilon = b`, so one step of
lookahead with independent beliefs scores arm i by :math:`v + r_i z_t`: the index's own choice
(Theorem 1). With an order the belief's probabilities are not m, and the two part.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from elsv._base import triangle
from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs import Belief
from elsv.errors import InvalidInputError
from elsv.indices.base import Index, Setting, check_index
from elsv.lattice.numbering import Layer
from elsv.lattice.sweeps import Sweep, Sweeps
from elsv.problem import Problem, distinct_priors
from elsv.state import State, check_width

_THREADS = 64  # whose latest tables are kept
_AT_ONCE = 1 << 23  # states that room is made for at once: it takes memory when it is written to
_FEWEST, _MOST = 8, 32  # levels whose bonuses are evaluated at once when steps follow each other


class _Tables(NamedTuple):
    """Numbers of every distinct prior on some levels, ``[groups, states]``, with room for more levels."""

    levels: int
    rows: FloatArray


def _with_room(array: FloatArray, levels: int, horizon: int | None) -> FloatArray:
    """Return an array ``[groups, …]`` with room for the states of so many levels, and for all to come.

    Where those are too many, there is room for half as many states again as are needed now.
    """
    states, in_all = triangle.size(levels), triangle.size((horizon or triangle.MOST_LEVELS) + 1)
    if array.shape[1] >= states:
        return array
    fits = states <= in_all <= _AT_ONCE // len(array)
    wider = np.empty((len(array), in_all if fits else states + states // 2))
    wider[:, : array.shape[1]] = array
    return wider


@dataclass(frozen=True, eq=False)
class SeparableValue:
    r"""The separable value function of an index, computed step by step on demand.

    Parameters
    ----------
    problem
        Its rewards scale the arms' terms; its prior is where the tables start.
    index
        Any index with bonus :math:`b_t = z_t - m`. Where the bonus is infinite (an arm that must be
        pulled first) the value is minus infinity.
    weight
        Multiplies the value function. With `weight` = w the bonus counts w-fold.

    Notes
    -----
    The last table asked for is kept. For an index that does not depend on t the next one is
    :math:`\upsilon_{t+2}(s) = \upsilon_{t+1}(s) - E[b(S) \mid s]`, S the state that s becomes after t pulls
    in all, so only one new level of bonuses is needed; some levels are evaluated at once. One table takes
    :math:`O(t^2)`, all of them :math:`O(t^3)`, whatever the number of arms (Proposition 1).
    """

    problem: Problem
    index: Index
    weight: float = 1.0
    _setting: Setting = field(init=False, repr=False)
    _group: IntArray = field(init=False, repr=False)  # [N], which table serves arm i
    _members: tuple[int, ...] = field(init=False, repr=False)  # one arm for each table
    _latest: dict[int, _Tables] = field(init=False, repr=False, default_factory=dict)  # υ by thread
    _bonuses: _Tables = field(init=False, repr=False)  # of an index that does not depend on the step

    def __post_init__(self) -> None:
        if not np.isfinite(self.weight):
            raise InvalidInputError(f"weight must be a finite number, got {self.weight}")
        members, group = distinct_priors(self.problem)
        object.__setattr__(self, "_setting", replace(Setting.of(self.problem), whole=True))
        object.__setattr__(self, "_group", group)
        object.__setattr__(self, "_members", tuple(members))
        object.__setattr__(self, "_bonuses", _Tables(0, np.empty((len(members), 0))))

    def table(self, step: int, arm: int = 0) -> FloatArray:
        r"""Return :math:`\upsilon_{step}` of `arm` (from 0) for reward 1 and weight 1.

        A flat array in the numbering of `elsv._base.triangle`: every state with fewer than `step` pulls.
        """
        if not 0 <= arm < self.problem.arms:
            raise InvalidInputError(f"arm must lie between 0 and {self.problem.arms - 1}, got {arm}")
        return self._tables(step)[self._group[arm], : triangle.size(step)].copy()

    def infinite(self, step: int) -> bool:
        """Return whether υ_step of some arm is infinite without pulls: its bonus is, somewhere."""
        return not bool((self._tables(step)[:, 0] > -np.inf).all())

    def __call__(self, state: State, step: int) -> FloatArray:
        """Return the value of every instance at `step`, shape ``[...]``."""
        from elsv.values import _value_kernels as kernels

        check_width(state, self.problem)
        tables = self._tables(step)
        alpha, beta = state.rows()
        out = np.empty(len(alpha))
        outside = kernels.total(
            alpha, beta, self.problem.prior, tables, self._group, self._weights, step, out
        )
        self._check(outside, step - 1)
        return out.reshape(state.shape)

    def one_step(self, state: State, step: int, mean: FloatArray) -> FloatArray:
        r"""Return :math:`q_t(s, i)` of one pull at `step` when arm i succeeds with `mean[..., i]`."""
        from elsv.values import _value_kernels as kernels

        check_width(state, self.problem)
        if np.shape(mean) != state.alpha.shape:
            raise InvalidInputError(
                f"mean must have one number for each arm, shape {state.alpha.shape}, got {np.shape(mean)}"
            )
        tables = self._tables(step + 1)
        alpha, beta = state.rows()
        out = np.empty(alpha.shape)
        rows = np.ascontiguousarray(mean, dtype=np.float64).reshape(alpha.shape)
        rewards, prior = self.problem.rewards, self.problem.prior
        outside = kernels.one_step(
            alpha, beta, rows, rewards, prior, tables, self._group, self._weights, step + 1, out
        )
        self._check(outside, step - 1)
        return out.reshape(state.alpha.shape)

    def on_layer(self, sweeps: Sweeps, layer: Layer, belief: Belief) -> FloatArray:
        """Return the values of all states of a layer, by `elsv.values.base.layer_values`."""
        tables = np.stack([self.table(layer.step, i) for i in range(self.problem.arms)])
        return sweeps.sum_tables(layer, tables, self._weights, belief)

    def search_sweep(self, problem: Problem, step: int, depth: int) -> Sweep | None:
        """Return the sweep that is one step of lookahead; a deeper search has none."""
        return gain_sweep(problem, self, step) if depth == 1 else None

    def bonus(self, step: int, levels: range, arm: int) -> FloatArray:
        """Return b_step of the states of `arm` with pulls in `levels`, in triangle order."""
        setting = self._setting.arm(arm)
        successes, pulls = triangle.states(levels.stop, levels.start)
        alpha = setting.prior_alpha + successes
        beta = setting.prior_beta + (pulls - successes)
        value = check_index(self.index(alpha, beta, step, setting), alpha, beta, step)
        return np.asarray(value - alpha / (alpha + beta))

    def offset(self, step: int, last: int, arm: int = 0) -> float:
        r"""Return the constant that the paper adds to :math:`\upsilon_{step}` for its plots.

        The least :math:`c_t` with :math:`c_{last} = 0` such that
        :math:`\upsilon_t(s) + c_t \ge \max\{m + E[\upsilon_{t+1}(S')], \upsilon_{t+1}(s)\} + c_{t+1}` for
        every state with fewer than t pulls (paper §3, below Figure 3). A constant per step changes no policy.
        Where the index is infinite there is none.
        """
        if not 1 <= step <= last:
            raise InvalidInputError(f"step must lie between 1 and last={last}, got {step}")
        total = 0.0
        successes, pulls = triangle.states(last)
        a0, b0 = self.problem.prior[arm]
        mean = (a0 + successes) / (a0 + b0 + pulls)
        above = triangle.number(successes, pulls + 1)
        now = self.table(step, arm)
        for t in range(step, last):
            size = triangle.size(t)
            later = self.table(t + 1, arm)
            if not np.isfinite(later[0]):  # where any state's is infinite, so is that of the prior
                raise InvalidInputError(
                    f"the offset needs finite values, and {type(self.index).__name__} has infinite ones at "
                    f"step {t + 1}; leave it out, or use an index without infinities, as ucb:count_prior=true"
                )
            m, up = mean[:size], above[:size]
            pulled = m + m * later[up + 1] + (1 - m) * later[up]
            total += float(np.max(np.maximum(pulled, later[:size]) - now))
            now = later
        return total

    @property
    def _weights(self) -> FloatArray:
        return self.weight * self.problem.rewards

    def _check(self, outside: int, most: int) -> None:
        if outside:
            raise InvalidInputError(
                f"an arm may have at most {most} pulls at this step and none below its prior; "
                f"{outside} counts do not; check the step"
            )

    def _tables(self, step: int) -> FloatArray:
        """Return υ_step for every distinct prior, ``[groups, size(step) or more]``, until the next call."""
        from elsv.values import _value_kernels as kernels

        if step < 1:
            raise InvalidInputError(f"step must be at least 1, got {step}")
        triangle.check_levels(step)
        thread = threading.get_ident()  # each thread goes through the steps at its own pace
        nothing = _Tables(0, np.empty((len(self._members), 0)))
        known, tables = self._latest.pop(thread, nothing)
        if known != step:
            self.index.prepare(self._setting, max(step - 2, 0))
            tables = _with_room(tables, step, self.problem.horizon)
            follows = not self.index.uses_step and 1 <= known == step - 1
            bonuses = self._of_level(step - 2) if follows else self._up_to(step - 1)
            work, levels = (kernels.extend, known) if follows else (kernels.build, step)
            for table, bonus, arm in zip(tables, bonuses, self._members, strict=True):
                alpha, beta = self.problem.prior[arm].tolist()
                work(table, bonus, alpha, beta, levels)
        self._latest[thread] = _Tables(step, tables)
        while len(self._latest) > _THREADS:
            self._latest.pop(next(iter(self._latest)))
        return tables

    def _of_level(self, level: int) -> FloatArray:
        """Return copies of the bonuses of one level; those of some levels that come next are prepared."""
        count = min(max(level, _FEWEST), _MOST)
        stop = (level // count + 1) * count
        rows = self._up_to(level + 1, max(min(stop, self.problem.horizon or stop), level + 1))
        return rows[:, triangle.size(level) : triangle.size(level + 1)].copy()

    def _up_to(self, levels: int, in_advance: int = 0) -> FloatArray:
        """Return the bonuses of the first levels, those of step `levels` if they depend on it.

        What is missing is evaluated up to `in_advance` levels. Threads may do the same work; none waits.
        """
        step = max(levels, 1)
        if self.index.uses_step:
            return np.stack([self.bonus(step, range(levels), arm) for arm in self._members])
        known, rows = self._bonuses
        if known < levels:
            fresh = range(known, max(levels, in_advance))
            rows = _with_room(rows, fresh.stop, self.problem.horizon)
            for row, arm in zip(rows, self._members, strict=True):
                row[triangle.size(known) : triangle.size(fresh.stop)] = self.bonus(step, fresh, arm)
            object.__setattr__(self, "_bonuses", _Tables(fresh.stop, rows))
        return rows


def gain_sweep(problem: Problem, value: SeparableValue | None, step: int) -> Sweep:
    """Return the sweep of one step of lookahead on a separable value, or on none, from tables of each arm.

    They hold what a success, a failure and another arm's pull are worth per reward.
    """
    members, group = distinct_priors(problem)
    return Sweep("gain", tables=np.stack([_gains(value, step, i) for i in members], axis=1), group=group)


def _gains(value: SeparableValue | None, step: int, arm: int) -> FloatArray:
    """Return the three tables ``[3, states]`` of an arm."""
    successes, pulls = triangle.states(step)
    if value is None:
        return np.stack([np.ones(len(pulls)), np.zeros(len(pulls)), np.zeros(len(pulls))])
    table, failed = value.table(step + 1, arm), triangle.number(successes, pulls + 1)
    here = table[: len(pulls)]
    first = np.isneginf(here)
    start = np.where(first, 0.0, here)
    won = 1.0 + value.weight * (table[failed + 1] - start)
    lost = value.weight * (table[failed] - start)
    return np.stack([np.where(first, np.inf, won), np.where(first, np.inf, lost), value.weight * start])
