"""What a policy is: something that picks an arm, and the facts that it declares of itself.

Only the call is required. Simulation, campaign and exact evaluation read these facts of `BasePolicy`, never
the type of a policy:

- `deterministic`: equal states get the same arm, whatever the generator;
- `costly`: asking takes long, so that equal states are asked for once;
- `steady`: in a long batch its answer changes seldom while decisions come under way;
- `pending`: what it does about outcomes that are under way.

A class below another policy that chooses otherwise, by its own `scores` or call, declares its facts anew. A
function or an object of a user's own is wrapped: what it does not declare has the default.

Scores and chances are given for all arms, each within its own segment: what a pull is worth does not depend
on who has come. Whoever chooses looks at the arms on offer alone.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.inheritance import still_holds
from elsv._base.typing import AnyArray, FloatArray, IntArray, Rng
from elsv.beliefs.abilities import factors, repeats
from elsv.beliefs.base import Belief
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.indices.base import Index
from elsv.policies.layers import BATCH, LayerPolicy, StateByState, check_answer
from elsv.problem import Problem, same_task
from elsv.segments import Segments
from elsv.state import State, check_width

Segment = ArrayLike | None
"""Who has come, for each instance of a batch: numbers from 0, shape ``[...]``; None if none are stated."""

EXPECT, IGNORE = WAYS = ("expect", "ignore")
_CHOICE = {"scores", "__call__"}
_FOLLOWING = ("deterministic", "costly", "steady", "index_alone", "chances", "on_layers")


class BasePolicy(ABC):
    """Picks an arm for every instance of a batch, and declares what others may rely on."""

    pending: str = EXPECT  # IGNORE: asked as if no outcomes were under way, else in the expected state
    batch_bytes: float = 0.0  # for a state of a batch and arm, where asking takes more memory than most

    def __init_subclass__(cls, chooses_alike: bool = False) -> None:
        """Give a class that chooses in its own way the default facts, except those that it declares."""
        super().__init_subclass__()
        if _CHOICE & vars(cls).keys() and not chooses_alike:
            for fact in _FOLLOWING:
                if fact not in vars(cls):
                    setattr(cls, fact, vars(BasePolicy)[fact])

    @abstractmethod
    def __call__(self, state: State, step: int, rng: Rng, segment: Segment = None) -> IntArray:
        """Return the arm to pull at `step` (from 1), numbered from 0, shape ``[...]``.

        Where customers are of segments, `segment` says who has come: numbers from 0, ``[...]``.
        """

    @property
    def deterministic(self) -> bool:
        """Whether equal states get the same arm, whatever the generator."""
        return False

    @property
    def costly(self) -> bool:
        """Whether asking takes so long that sorting out equal states pays."""
        return False

    @property
    def steady(self) -> bool:
        """Whether a long batch may ask for some of its customers and suppose that answers hold between."""
        return False

    @property
    def index_alone(self) -> Index | None:
        """The index whose largest value, times the reward, is all that choosing takes."""
        return None

    @property
    def merges(self) -> bool:
        """Whether a batch is best asked once for equal states."""
        return self.deterministic and self.costly

    def prepare(self) -> None:  # noqa: B027
        """Make what the first decision needs, so that no customer waits for it; by default nothing."""

    def bonus(self, state: State, step: int) -> FloatArray | None:
        """Return what exploring adds to the expected reward of each arm ``[..., N]``, or None."""
        return None

    def chances(self, state: State, step: int) -> FloatArray | None:
        """Return the probability of each arm ``[..., N]``, of those of its segment; None if not known."""
        return None

    def on_layers(self, problem: Problem) -> LayerPolicy:
        """Return how the policy acts on whole layers of the lattice; by default state by state."""
        return StateByState(self, bytes=self.batch_bytes * BATCH * problem.arms, repeats=self.merges)


class Policy(Protocol):
    """A policy as anybody may write it: a function, or an object that can be called."""

    def __call__(self, state: State, step: int, rng: Rng) -> object:
        """Return the arm to pull at `step` (from 1), numbered from 0, shape ``[...]``."""
        ...


@runtime_checkable
class ScoringPolicy(Policy, Protocol):
    """A policy that pulls the arm with the best score (ties: `elsv.choice.best_arm`)."""

    def scores(self, state: State, step: int, rng: Rng) -> FloatArray:
        """Return what the policy compares, shape ``[..., N]``."""
        ...


class BestScore(BasePolicy):
    """Shared by every policy that compares scores; a subclass gives `problem` and `scores`."""

    problem: Problem

    @abstractmethod
    def scores(self, state: State, step: int, rng: Rng) -> FloatArray:
        """Return what the policy compares, shape ``[..., N]``."""

    def __call__(self, state: State, step: int, rng: Rng, segment: Segment = None) -> IntArray:
        """Return the arm with the best score for every instance."""
        check_width(state, self.problem)
        scores = check_scores(self.scores(state, step, rng), state)
        what = f"scores of {type(self).__name__} at step {step}"
        return best_offered(self.problem, scores, segment, what)


class BeliefScore(BestScore):
    """The same on a belief, by which equal states have the same scores or not."""

    belief: Belief

    @property
    def deterministic(self) -> bool:
        """If the belief is."""
        return repeats(self.belief)

    @property
    def costly(self) -> bool:
        """Unless arms are independent."""
        return not factors(self.belief)


def compares_scores(policy: BasePolicy) -> bool:
    """Return whether the scores alone decide, for whoever comes, and equal states have equal scores."""
    scored = isinstance(policy, BestScore) and still_holds(policy, "scores", "__call__")
    return scored and policy.deterministic


def _declared(fact: str) -> Any:
    """Return a property: what a user's function declares of itself."""
    return property(lambda self: bool(getattr(self.function, fact, False)))


def _own(name: str, holds: Callable[[FunctionPolicy], bool] = lambda policy: True) -> Any:
    """Return a method: that of a user's function if it has one that holds, else that of every policy."""

    def asked(self: FunctionPolicy, *given: Any) -> Any:
        own = hasattr(self.function, name) and holds(self)
        return getattr(self.function if own else super(FunctionPolicy, self), name)(*given)

    return asked


@dataclass(frozen=True, eq=False)
class FunctionPolicy(BasePolicy):
    """A user's own function or object, its answers checked; it may declare the facts of `BasePolicy`."""

    problem: Problem
    function: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "pending", str(getattr(self.function, "pending", EXPECT)))

    def __call__(self, state: State, step: int, rng: Rng, segment: Segment = None) -> IntArray:
        """Return the function's arms, broadcast to the batch; it learns who has come if it has `segment`."""
        check_width(state, self.problem)
        who = {"segment": segment} if segment is not None and takes_segment(self.function) else {}
        arms = check_answer(self.function(state, step, rng, **who), state)
        mask = offered(self.problem, segment, arms.shape)
        if mask is None or (fine := np.take_along_axis(mask, arms[..., None], axis=-1)[..., 0]).all():
            return arms
        raise InvalidInputError(
            "a policy must choose among the arms on offer to the segment that has come, got arm "
            f"{arms[~fine].flat[0] + 1}; give the policy `scores`, or a fourth argument `segment`: "
            "numbers from 0"
        )

    deterministic, costly, steady = _declared("deterministic"), _declared("costly"), _declared("steady")

    @property
    def belief(self) -> Any:
        """The function's own belief, if it has one: open decisions are expected to turn out by it."""
        return getattr(self.function, "belief", None)

    prepare, bonus = _own("prepare"), _own("bonus")
    chances = _own("chances", lambda self: still_holds(self.function, "chances", "scores", "__call__"))
    on_layers = _own("on_layers", lambda self: fits_segments(self.function, self.problem))


class ScoringFunctionPolicy(FunctionPolicy, chooses_alike=True):
    """A user's own policy object that also has `scores`."""

    def __call__(self, state: State, step: int, rng: Rng, segment: Segment = None) -> IntArray:
        """Return the object's arms, or the best score on offer where it cannot be told who has come."""
        if segment is None or takes_segment(self.function):
            return super().__call__(state, step, rng, segment)
        what = f"scores of {type(self.function).__name__} at step {step}"
        return best_offered(self.problem, self.scores(state, step, rng), segment, what)

    def scores(self, state: State, step: int, rng: Rng) -> FloatArray:
        """Return the object's scores, their shape checked."""
        check_width(state, self.problem)
        return check_scores(self.function.scores(state, step, rng), state)


def own_policy(policy: object, problem: Problem) -> BasePolicy:
    """Return a user's function or object as a policy of `problem`, or raise if it cannot be one."""
    if not callable(policy) or isinstance(policy, type):
        raise InvalidInputError(f"a policy must be a name or a function (state, step, rng), got {policy!r}")
    check_bound(policy, problem)
    if isinstance(policy, BasePolicy) and fits_segments(policy, problem):
        return policy
    return (ScoringFunctionPolicy if hasattr(policy, "scores") else FunctionPolicy)(problem, policy)


def check_bound(thing: object, problem: Problem) -> None:
    """Raise if a policy or value was made for another problem; names of arms may differ."""
    bound = getattr(thing, "problem", problem)
    if isinstance(bound, Problem) and bound is not problem and not same_task(bound, problem):
        raise InvalidInputError(
            f"{type(thing).__name__} is bound to another problem ({bound!r}, not {problem!r}); "
            "make it for this one"
        )


def check_scores(scores: object, state: State) -> FloatArray:
    """Return scores ``[..., N]`` if there is one number for each arm of each state."""
    found = np.asarray(scores, dtype=np.float64)
    if found.shape != state.alpha.shape:
        raise InvalidInputError(
            f"scores must have one number for each arm, shape {state.alpha.shape}, got shape {found.shape}"
        )
    return found


def offered(problem: Problem, segment: Segment, shape: tuple[int, ...]) -> AnyArray | None:
    """Return which arms are on offer, ``[..., N]`` for a batch of this shape; None if all of them are."""
    segments = problem.segments
    numbers = segments.numbers(segment)
    return None if segments.count == 1 else np.broadcast_to(segments.masks[numbers], (*shape, problem.arms))


def ask(
    policy: Any, problem: Problem, state: State, step: int, rng: Rng, segment: Segment = None
) -> IntArray:
    """Return a policy's arms ``[...]``, telling it who has come where that is said."""
    problem.segments.numbers(segment)
    arms: IntArray = policy(state, step, rng) if segment is None else policy(state, step, rng, segment)
    return arms


def best_offered(problem: Problem, scores: FloatArray, segment: Segment, what: str) -> IntArray:
    """Return the arm on offer with the best score by the one tie rule; ``[..., N]`` to ``[...]``."""
    mask = offered(problem, segment, scores.shape[:-1])
    if mask is None:
        return best_arm(scores, problem.scale, what)
    seen = np.where(mask, scores, -np.inf)
    # An arm that is not on offer must not win where all that are have the score minus infinity.
    hopeless = np.isneginf(seen).all(axis=-1, keepdims=True) & mask
    return best_arm(np.where(hopeless, 0.0, seen), problem.scale, what)


def fits_segments(policy: object, problem: Problem) -> bool:
    """Return whether a policy can be told all that it must be told of who has come."""
    return not problem.segments.names or takes_segment(policy)


def takes_segment(function: object) -> bool:
    """Return whether a policy can be told who has come."""
    try:
        parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return "segment" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def discount_within(problem: Problem, segment: int) -> float | None:
    """Return the discount from one customer of a segment to the next: E[γ^K] with K geometric."""
    if problem.discount is None:
        return None
    share, gamma = float(problem.segments.chances(np.zeros(problem.arms))[segment]), problem.discount
    return share * gamma / (1.0 - (1.0 - share) * gamma)


def distinct_states(state: State) -> tuple[State, IntArray]:
    """Return the distinct states of a batch, one row for each, and which of them every instance is in."""
    rows, place = np.unique(np.hstack(state.rows()), axis=0, return_inverse=True)
    return State.trusted(rows[:, : state.arms].copy(), rows[:, state.arms :].copy()), place.reshape(-1)


def within_segments(segments: Segments, answer: Callable[[list[int]], FloatArray]) -> FloatArray:
    """Return ``[..., N]`` from answers ``[..., n]`` for the arms of one segment after another."""
    parts = [answer(list(arms)) for arms in segments.groups]
    out = np.empty((*parts[0].shape[:-1], len(segments.of_arm)), dtype=parts[0].dtype)
    for arms, part in zip(segments.groups, parts, strict=True):
        out[..., list(arms)] = part
    return out
