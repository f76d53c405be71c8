r"""How a policy is asked: while outcomes are under way, and for the probability of each arm.

Between a decision and its outcome other customers come (past the paper). With :math:`k_i` decisions of arm i
open, a policy is asked in the state

.. math:: \alpha_i + k_i p_i(s), \qquad \beta_i + k_i (1 - p_i(s)),

with p the means of the belief in the state s of the outcomes that are in. Its step counts the open decisions,
as its pulls do. A planner, whose scores are what an arm is worth, averages them over what the open decisions
may bring,

.. math:: q(i) = \sum_y P(y \mid s)\, q(i \mid \alpha + y,\; \beta + k - y),

for up to twelve open decisions, with alike outcomes y in one group where they are many
(`possible_outcomes`). ``pending=ignore`` in the name
of a policy asks it in the state s itself, as if nothing were under way.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from itertools import product
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import FloatArray, IntArray, Rng
from elsv.beliefs import Belief
from elsv.beliefs.base import mean_of
from elsv.beliefs.points import joint_points
from elsv.errors import InvalidInputError, unknown_name
from elsv.policies.base import IGNORE, WAYS, BasePolicy, ask, offered
from elsv.policies.layers import check_answer
from elsv.problem import Problem
from elsv.state import State

COPIES = 1024  # times that a policy is asked which may draw and does not say with which probabilities
FEW_OPEN = 12  # open decisions whose outcomes a planner tells apart; with hundreds it would put off exploring
APART = 8  # outcomes for each of which it searches
GROUPS = 4  # into which more of them are parted: 2, 4 and 8 lose the same (docs/planning.md)
PARTED = 3  # arms whose outcomes under way are told apart


class Awaiting(State):
    """A state with the expected outcomes of open decisions added, which remembers what is under way.

    `seen` has the outcomes that are in, `expected` the means of a belief there, and `waiting` how many
    decisions of each arm have no outcome, both ``[..., N]``.
    """

    seen: State
    expected: FloatArray
    waiting: FloatArray

    def __init__(self, seen: State, expected: FloatArray, waiting: FloatArray) -> None:
        alpha, beta = seen.alpha + waiting * expected, seen.beta + waiting * (1.0 - expected)
        waiting = np.broadcast_to(waiting, alpha.shape)
        vars(self).update(alpha=alpha, beta=beta, seen=seen, expected=expected, waiting=waiting)

    def part(self, here: Any) -> Awaiting:
        """Return some instances, with what they wait for."""
        return Awaiting(self.seen.part(here), self.expected[here], self.waiting[here])


def expected_state(state: State, mean: FloatArray, open_decisions: ArrayLike) -> Awaiting:
    """Return the state of the outcomes that are in, with those of open decisions added as expected.

    `mean` has the means of the belief, `open_decisions` how many decisions of each arm have no outcome.

    Examples
    --------
    >>> planned = expected_state(State([2.0, 1.0], [1.0, 1.0]), np.array([0.75, 0.5]), [4, 0])
    >>> planned.alpha.tolist(), planned.beta.tolist()
    ([5.0, 1.0], [2.0, 1.0])
    """
    waiting = np.asarray(open_decisions, dtype=np.float64)
    if waiting.shape[-1:] != (state.arms,) or not (waiting >= 0).all():
        raise InvalidInputError(
            f"open decisions must be {state.arms} counts, one for each arm, got {open_decisions!r}"
        )
    return Awaiting(state, mean, waiting)


def possible_outcomes(
    belief: Belief, rewards: FloatArray, state: Awaiting, points: int
) -> tuple[FloatArray, FloatArray]:
    r"""Return groups of outcomes of the open decisions in one state: successes ``[K, N]``, chances ``[K]``.

    .. math:: P(y) = \sum_m w_m \prod_i \binom{k_i}{y_i} \theta_{mi}^{y_i} (1 - \theta_{mi})^{k_i - y_i}

    on joint points of the belief. Up to `APART` outcomes are groups by themselves. More of them make `GROUPS`
    groups: the one in which an arm's expected reward differs most is parted at its mean, again and again. A
    group stands for the mean of its outcomes. Only outcomes of the `PARTED` arms whose open decisions may
    change most are told apart. With more than `FEW_OPEN` open decisions there is one group.
    """
    seen, waiting, expected = state.seen, state.waiting, state.alpha - state.seen.alpha
    if not 0 < waiting.sum() <= FEW_OPEN:
        return expected[None], np.ones(1)
    pulls = seen.alpha + seen.beta
    moves = rewards * np.sqrt(waiting * seen.mean * (1.0 - seen.mean) / ((pulls + waiting) * (pulls + 1.0)))
    arms = np.sort(np.argsort(-moves, kind="stable")[: min(PARTED, np.count_nonzero(waiting))])
    number, size = np.rint(waiting[arms]).astype(np.int64), (rewards / (pulls + waiting))[arms]
    theta, weight = joint_points(belief, seen.part(np.newaxis), points, arms[None])
    won = np.array(list(product(*(range(k + 1) for k in number.tolist()))))
    likely = np.ones((theta.shape[1], len(won)))
    for i, k in enumerate(number.tolist()):
        x, y = theta[0, :, i, None], np.arange(k + 1)
        ways = np.array([comb(k, j) for j in y.tolist()], dtype=np.float64)
        likely *= (ways * x**y * (1.0 - x) ** (k - y))[:, won[:, i]]
    chance = weight[0] @ likely / weight[0].sum()
    groups = _parted(won, chance, size, APART if len(won) <= APART else GROUPS)
    out, share = np.repeat(expected[None], len(groups), axis=0), np.array([chance[g].sum() for g in groups])
    out[:, arms] = [chance[rows] @ won[rows] / chance[rows].sum() for rows in groups]
    return out, share / share.sum()


def _parted(won: IntArray, chance: FloatArray, size: FloatArray, most: int) -> list[IntArray]:
    """Return the rows of each group; `size` is what a success of each arm changes of its expected reward."""

    def spread(rows: IntArray) -> tuple[float, int, IntArray]:
        share = chance[rows]
        away = won[rows] - share @ won[rows] / share.sum()
        variance = share @ away**2 * size**2
        widest = int(variance.argmax())
        return float(variance[widest]), widest, rows

    groups = [spread(np.flatnonzero(chance > 0.0))]
    while len(groups) < most:
        at = max(range(len(groups)), key=lambda g: groups[g][0])
        _, arm, rows = groups[at]
        above = won[rows, arm] * chance[rows].sum() > chance[rows] @ won[rows, arm]
        if not 0 < np.count_nonzero(above) < len(rows):
            break
        groups[at : at + 1] = [spread(rows[~above]), spread(rows[above])]
    return [rows for _, _, rows in groups]


def averaged(
    state: Awaiting,
    belief: Belief,
    rewards: FloatArray,
    points: int,
    scores: Callable[[State, int], FloatArray],
) -> FloatArray:
    """Return scores ``[..., N]`` averaged over what the open decisions may bring.

    `scores` is asked for states ``[B, N]``, and told into how many groups the outcomes of each were parted; 0
    where more than `FEW_OPEN` are open.
    """
    alpha, beta = state.seen.rows()
    waiting, q = state.waiting.reshape(alpha.shape), np.empty(alpha.shape)
    states = map(state.part, np.ndindex(state.shape))
    each = [possible_outcomes(belief, rewards, one, points) for one in states]
    groups = np.array([len(chance) for _, chance in each])
    groups[waiting.sum(axis=-1) > FEW_OPEN] = 0
    for count in dict.fromkeys(groups.tolist()):
        rows = np.flatnonzero(groups == count)
        won, chance = (np.stack(parts) for parts in zip(*(each[row] for row in rows), strict=True))
        a, b = alpha[rows, None] + won, beta[rows, None] + (waiting[rows, None] - won)
        if count <= 1:  # the expected state to the last digit
            a, b = (counts[rows, None] for counts in state.rows())
        found = scores(State.trusted(a.reshape(-1, state.arms), b.reshape(-1, state.arms)), count)
        q[rows] = np.einsum("bk,bkn->bn", chance, found.reshape(a.shape))
    return q.reshape(state.alpha.shape)


def planning_state(
    problem: Problem, policy: BasePolicy, state: State, open_decisions: ArrayLike, rng: Rng | None = None
) -> State:
    """Return the state in which a policy is asked while decisions are open, by its own way with them.

    The expected outcomes are those of the policy's own belief where it has one, else of the problem's.
    """
    if policy.pending == IGNORE or not np.any(open_decisions):
        return state
    belief = getattr(policy, "belief", None) or problem.belief
    return expected_state(state, mean_of(belief, state, rng), open_decisions)


def with_pending(policy: BasePolicy, way: str) -> BasePolicy:
    """Return the policy with the way that ``pending=`` names."""
    if way not in WAYS:
        raise unknown_name("way with open decisions (pending=)", way, WAYS)
    same = copy(policy)
    object.__setattr__(same, "pending", way)  # policies are frozen
    return same


def chances_of(
    policy: BasePolicy,
    state: State,
    step: int,
    rng: Rng | Callable[[], Rng] | None,
    problem: Problem,
    segment: int | None = None,
) -> FloatArray:
    """Return the probability of each arm in one state, ``[N]``; 0 for arms not on offer to the `segment`.

    A policy may give its `chances`. A deterministic one has a single arm. Any other is asked `COPIES` times,
    and its frequencies are the probabilities that are then drawn from: so they are exact whatever it is.
    `rng` may be what makes the generator, or None for a policy that draws nothing.
    """
    if (own := policy.chances(state, step)) is not None:
        chances = np.asarray(own, dtype=np.float64)
        whole, mask = chances.shape == (state.arms,), offered(problem, segment, ())
        if whole and mask is not None:
            chances = np.where(mask, chances, 0.0)
        if not (whole and chances.min() >= -1e-6 and 0.99 < chances.sum() < 1.01):
            raise InvalidInputError(
                f"chances of a policy must be {state.arms} probabilities that add up to 1, got {chances}"
            )
        chances = np.maximum(chances, 0.0)
        return np.asarray(chances / chances.sum())
    copies, batch = 1, state  # one instance is asked as such: an index then needs no table
    if not policy.deterministic:
        copies, batch = COPIES, state.part(np.newaxis).part(np.zeros(COPIES, dtype=np.int64))
    made: Any = rng() if callable(rng) else rng
    arms = check_answer(ask(policy, problem, batch, step, made, segment), batch)
    return np.bincount(arms.reshape(-1), minlength=state.arms) / copies
