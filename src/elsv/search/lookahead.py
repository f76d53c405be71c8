r"""n-step lookahead on any value function with any belief (paper Algorithms 1 and 4).

.. math::

    q_t(s, i) = p_i(s)\,\bigl(r_i + V_{t+1}(s{+}\text{success}_i)\bigr)
        + (1 - p_i(s))\,V_{t+1}(s{+}\text{failure}_i), \qquad V_k(s) = \max_i q_k(s, i)

down to the frontier, where :math:`V_{t+d} = v_{t+d}`, the value function of the frontier's own step. The
probabilities come from the belief at **every** node. With several segments of customers :math:`V_k(s) =
\sum_g q_g(s) \max_{i \in A_g} q_k(s, i)`, an average over who comes. The depth is :math:`d = \min(n, T - t +
1)`: with a value that is 0 at T + 1 the search is exact once it reaches the horizon.

A state d pulls below the root is the root plus (successes, failures) of every arm: 2N whole numbers
that sum to d, of which there are :math:`\binom{d+2N-1}{2N-1}`. Equal ones are merged, 8,008 states for 3 arms
and d = 10. Their numbering depends on N and d alone, so it is made once and shared by every root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsv._base.cache import remembered
from elsv._base.inheritance import still_holds
from elsv._base.numbers import whole
from elsv._base.typing import FloatArray, IntArray
from elsv.beliefs.base import Belief, mean_of
from elsv.errors import InvalidInputError
from elsv.lattice.numbering import shares, states_up_to
from elsv.problem import Problem
from elsv.state import State, check_width
from elsv.values.base import ValueFunction, values_at

# Numbers in one [instances, states, N] array: about 8 MB, so that a batch stays in the cache.
_CHUNK = 1_000_000
# A tree of 20 million states takes a few gigabytes: beyond it, refuse with the numbers.
MOST_STATES = 20_000_000


def check_step(problem: Problem, step: int) -> None:
    """Raise unless 1 <= step <= horizon."""
    if step < 1 or (problem.horizon is not None and step > problem.horizon):
        bound = f" to the horizon {problem.horizon}" if problem.horizon is not None else ""
        raise InvalidInputError(f"step must lie from 1{bound}, got {step}")


def lookahead(
    problem: Problem,
    state: State,
    step: int,
    value: ValueFunction,
    belief: Belief,
    depth: int = 1,
    *,
    discount: float = 1.0,
    rng: np.random.Generator | None = None,
) -> FloatArray:
    """Return q, the worth of pulling each arm now, shape ``[..., N]``.

    Parameters
    ----------
    problem
        Gives the rewards and the horizon.
    state, step
        Where the search starts; `step` counts from 1.
    value
        Called on all frontier states at once with their own step.
    belief
        Asked for the means of every interior state; a belief that samples draws anew for each.
    depth
        Number of pulls to look ahead, cut to what is left of the horizon.
    discount
        Weight of what comes one step later. A separable value is made for 1.
    rng
        Passed to the belief.
    """
    reach = whole("depth", depth)
    check_step(problem, step)
    if problem.horizon is not None:
        reach = min(reach, problem.horizon - step + 1)
    check_width(state, problem)
    one_step = getattr(value, "one_step", None) if still_holds(value, "one_step", "__call__") else None
    if reach == 1 and discount == 1.0 and one_step is not None:
        return np.asarray(one_step(state, step, mean_of(belief, state, rng)))
    from elsv.search._lookahead_kernels import back_up

    arms, of_arm = problem.arms, problem.segments.of_arm
    tree = make_tree(arms, reach)
    interior = len(tree.successors)
    alpha, beta = state.alpha.reshape(-1, 1, arms), state.beta.reshape(-1, 1, arms)
    q = np.empty((len(alpha), arms))
    size = max(1, _CHUNK // tree.successes.size)
    for start in range(0, len(alpha), size):
        here = slice(start, start + size)
        later = State.trusted(alpha[here] + tree.successes, beta[here] + tree.failures)
        inner, outer = later.part(np.s_[:, :interior]), later.part(np.s_[:, interior:])
        mean = np.ascontiguousarray(mean_of(belief, inner, rng))
        frontier = values_at(value, outer, step + reach)
        coming = np.ascontiguousarray(problem.segments.chances_in(inner, problem))
        q[here] = back_up(mean, frontier, tree.successors, problem.rewards, discount, of_arm, coming)
    return q.reshape(state.alpha.shape)


class Tree(NamedTuple):
    """Merged states of the layers 0 … depth; those past the interior are the frontier."""

    successes: FloatArray  # [states, N], gained since the root
    failures: FloatArray  # [states, N]
    successors: IntArray  # [interior, N, 2]: the state after a failure, after a success


@remembered
def make_tree(arms: int, depth: int) -> Tree:
    """Return the numbered, merged states for `arms` arms and `depth` pulls; kept for the next call."""
    total = states_up_to(arms, depth)
    if total * arms > MOST_STATES:
        raise InvalidInputError(
            f"depth {depth} with {arms} arms has {total:,} states, more than {MOST_STATES // arms:,}; "
            "use a smaller depth"
        )
    parts = 2 * arms
    layers = [shares(parts, made)[::-1] for made in range(depth + 1)]
    counts = np.concatenate(layers)
    # A state's key in a number system with room for every count: within a layer keys fall.
    place = (depth + 1) ** np.arange(parts - 1, -1, -1, dtype=object)
    interior = states_up_to(arms, depth - 1)
    successors = np.empty((interior, parts), dtype=np.int64)
    for made in range(depth):
        here, there = states_up_to(arms, made - 1), states_up_to(arms, made)
        keys, later = (-(layers[m] * place).sum(axis=1) for m in (made, made + 1))
        for part in range(parts):
            found = np.searchsorted(later, keys - place[part])
            successors[here : here + len(keys), part] = there + found
    # Part 2i counts the failures of arm i, part 2i + 1 its successes.
    failures, successes = counts[:, 0::2].astype(np.float64), counts[:, 1::2].astype(np.float64)
    return Tree(successes, failures, successors.reshape(interior, arms, 2))
