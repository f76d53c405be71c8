r"""Policies: names become thin assemblies of beliefs, indices, values and lookahead.

A policy is a function ``policy(state, step, rng) -> arm`` on batches: counts ``[..., N]`` to arms ``[...]``,
numbered from 0. A user's own function of that form is accepted wherever a name is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from elsv._typing import FloatArray, IntArray
from elsv.beliefs import Belief, Chain, Independent, Rejection, belief_of
from elsv.choice import best_arm
from elsv.errors import InvalidInputError, unknown_name
from elsv.indices import INDEX_NAMES, Index, Setting, make_index, parameters_of
from elsv.names import Name, convert, parse
from elsv.planning.lookahead import lookahead
from elsv.problem import Problem
from elsv.state import State
from elsv.values import SeparableValue

DEFAULT_POLICY = "elsv"


class Policy(Protocol):
    """Anything that picks an arm for every instance of a batch."""

    def __call__(self, state: State, step: int, rng: np.random.Generator) -> IntArray:
        """Return the arm to pull at `step` (from 1), numbered from 0, shape ``[...]``."""
        ...


@runtime_checkable
class ScoringPolicy(Policy, Protocol):
    """A policy that pulls the arm with the best score (ties: `elsv.choice.best_arm`)."""

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return what the policy compares, shape ``[..., N]``."""
        ...


class _BestScore:
    """Shared by every policy that compares scores."""

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        raise NotImplementedError

    def __call__(self, state: State, step: int, rng: np.random.Generator) -> IntArray:
        return best_arm(self.scores(state, step, rng))


@dataclass(frozen=True, eq=False)
class IndexPolicy(_BestScore):
    r"""Pull the arm with the largest :math:`r_i z_t(\alpha_i, \beta_i)` (paper Algorithm 2)."""

    problem: Problem
    index: Index

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return the indices of all arms, reward included."""
        return self.problem.rewards * self.index(state.alpha, state.beta, step, Setting.of(self.problem))


@dataclass(frozen=True, eq=False)
class Elsv(_BestScore):
    """Lookahead on the separable value of an index (paper Algorithms 1, 3 and 4).

    With an order in the belief this is the constrained algorithm; without one and at depth 1 it is the
    index policy (Theorem 1). An arm whose bonus is infinite is pulled first, as under its index.
    """

    problem: Problem
    value: SeparableValue
    belief: Belief
    depth: int = 1

    @property
    def index(self) -> Index:
        """The index that the value is made from."""
        return self.value.index

    @property
    def merges_equal_states(self) -> bool:
        """Whether a batch is best asked once for equal states: the answer is exact and takes time."""
        return isinstance(self.belief, Chain) or (self.depth > 1 and isinstance(self.belief, Independent))

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return q of every arm; infinite for an arm that must be pulled first."""
        first = self._unpulled(state, step)
        if first is None:
            return lookahead(self.problem, state, step, self.value, self.belief, self.depth, rng=rng)
        q = np.where(first, np.inf, -np.inf)
        rest = ~first.any(axis=-1)
        if rest.any():
            ready = State.trusted(state.alpha[rest], state.beta[rest])
            q[rest] = lookahead(self.problem, ready, step, self.value, self.belief, self.depth, rng=rng)
        return q

    def _unpulled(self, state: State, step: int) -> FloatArray | None:
        """Return which arms have an infinite bonus, or None where none can have."""
        if all(self.value.table(step + 1, arm)[0] > -np.inf for arm in range(self.problem.arms)):
            return None
        infinite = np.isinf(self.index(state.alpha, state.beta, step, Setting.of(self.problem)))
        return infinite if infinite.any() else None


@dataclass(frozen=True, eq=False)
class Thompson(_BestScore):
    """Draw the means from the belief, pull the arm with the largest reward times mean."""

    problem: Problem
    belief: Belief

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return one joint draw of the means, times the rewards."""
        return self.problem.rewards * self.belief.draw(state, rng)


@dataclass(frozen=True, eq=False)
class Greedy(_BestScore):
    """Pull the arm with the largest expected reward under the belief."""

    problem: Problem
    belief: Belief

    @property
    def merges_equal_states(self) -> bool:
        """Whether a batch is best asked once for equal states: the answer is exact and takes time."""
        return isinstance(self.belief, Chain)

    def scores(self, state: State, step: int, rng: np.random.Generator) -> FloatArray:
        """Return the expected rewards of one pull."""
        return self.problem.rewards * self.belief.mean(state, rng)


@dataclass(frozen=True, eq=False)
class Fixed:
    """Pull one arm, whatever happens."""

    problem: Problem
    arm: int  # from 0

    def __post_init__(self) -> None:
        if not 0 <= self.arm < self.problem.arms:
            raise InvalidInputError(f"arm must lie from 1 to {self.problem.arms}, got {self.arm + 1}")

    def __call__(self, state: State, step: int, rng: np.random.Generator) -> IntArray:
        """Return the arm for every instance."""
        return np.full(state.shape, self.arm, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Random:
    """Pull every arm with equal probability."""

    problem: Problem

    def __call__(self, state: State, step: int, rng: np.random.Generator) -> IntArray:
        """Return a uniform draw for every instance."""
        return rng.integers(self.problem.arms, size=state.shape)


@dataclass(frozen=True, eq=False)
class FunctionPolicy:
    """A user's own function of (state, step, rng), its answers checked."""

    problem: Problem
    function: Callable[[State, int, np.random.Generator], object]

    def __call__(self, state: State, step: int, rng: np.random.Generator) -> IntArray:
        """Return the function's arms, broadcast to the batch."""
        arms = np.asarray(self.function(state, step, rng))
        if arms.dtype.kind not in "iu" or arms.size == 0 or arms.min() < 0 or arms.max() >= self.problem.arms:
            raise InvalidInputError(
                f"a policy must return whole numbers from 0 to {self.problem.arms - 1}, got {arms!r}"
            )
        return np.broadcast_to(arms, state.shape).astype(np.int64)


def make_policy(policy: str | Name | Policy, problem: Problem) -> Policy:
    """Return the policy that a name (or a user's own function) stands for.

    Names read ``NAME[:key=value,…]``: ``greedy``, ``thompson``, ``elsv``, ``fixed``, ``random`` and every
    index of `elsv.indices`. Arms in names count from 1. See ``docs/policies.md`` for the parameters.

    Examples
    --------
    >>> problem = Problem(rewards=[0.8, 0.9, 1.0], order="decreasing", horizon=50)
    >>> policy = make_policy("elsv:index=ucb,count_prior=true,weight=0.4", problem)
    >>> int(policy(State.initial(problem), 1, np.random.default_rng(0)))
    0
    """
    if not isinstance(policy, str | Name):
        if isinstance(policy, _BestScore | Fixed | Random | FunctionPolicy):
            return policy
        if not callable(policy):
            raise InvalidInputError(
                f"a policy must be a name or a function (state, step, rng), got {policy!r}"
            )
        return FunctionPolicy(problem, policy)
    spec = parse(policy) if isinstance(policy, str) else policy
    if spec.name in _BUILDERS:
        return _BUILDERS[spec.name](problem, spec)
    if spec.name in INDEX_NAMES:
        parameters = convert(spec.name, spec.parameters, parameters_of(spec.name))
        return IndexPolicy(problem, make_index(spec.name, **parameters))
    raise unknown_name("policy", spec.name, policy_names())


def policy_names() -> tuple[str, ...]:
    """Return every name that `make_policy` knows."""
    return tuple(sorted({*_BUILDERS, *INDEX_NAMES}))


_BELIEF_PARAMETERS: dict[str, type] = {"order": bool, "belief": str, "draws": int, "samples": int}
_ELSV_PARAMETERS: dict[str, type] = {"index": str, "depth": int, "weight": float, **_BELIEF_PARAMETERS}


def _belief(problem: Problem, owner: str, given: dict[str, Any]) -> Belief:
    """Return the belief that order=, belief=, draws= and samples= describe; they leave `given`."""
    use_order = given.pop("order", True)
    kind = given.pop("belief", "exact")
    counts: dict[str, Any] = {key: given.pop(key) for key in ("draws", "samples") if key in given}
    if kind not in ("exact", "rejection"):
        raise unknown_name(f"belief of {owner}", str(kind), ("exact", "rejection"))
    if counts and kind != "rejection":
        raise InvalidInputError(f"{'/'.join(counts)} of {owner} goes with belief=rejection")
    if problem.order is None or not use_order:
        return Independent()
    return Rejection(problem.order, **counts) if kind == "rejection" else belief_of(problem)


def _elsv(problem: Problem, spec: Name) -> Policy:
    name = spec.parameters.get("index", "gittins")
    known = {**_ELSV_PARAMETERS, **parameters_of(name)}
    given = convert(spec.name, spec.parameters, known)
    given.pop("index", None)
    belief = _belief(problem, spec.name, given)
    depth, weight = given.pop("depth", 1), given.pop("weight", 1.0)
    if depth < 1:
        raise InvalidInputError(f"depth must be a whole number, at least 1, got {depth}")
    return Elsv(problem, SeparableValue(problem, make_index(name, **given), weight), belief, depth)


def _on_belief(policy: type[Thompson] | type[Greedy]) -> Callable[[Problem, Name], Policy]:
    def build(problem: Problem, spec: Name) -> Policy:
        given = convert(spec.name, spec.parameters, _BELIEF_PARAMETERS)
        return policy(problem, _belief(problem, spec.name, given))

    return build


def _fixed(problem: Problem, spec: Name) -> Policy:
    return Fixed(problem, convert(spec.name, spec.parameters, {"arm": int}).get("arm", 1) - 1)


def _random(problem: Problem, spec: Name) -> Policy:
    convert(spec.name, spec.parameters, {})
    return Random(problem)


_BUILDERS: dict[str, Callable[[Problem, Name], Policy]] = {
    "elsv": _elsv,
    "fixed": _fixed,
    "greedy": _on_belief(Greedy),
    "random": _random,
    "thompson": _on_belief(Thompson),
}
