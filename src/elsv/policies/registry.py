"""Names become policies: one grammar, ``NAME[:key=value,…]``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from elsv.beliefs import Belief, Independent
from elsv.errors import InvalidInputError, unknown_name
from elsv.indices import INDEX_NAMES, make_index, parameters_of
from elsv.indices.bayes_ucb import BayesUCB
from elsv.names import Name, convert, parse
from elsv.policies.base import BasePolicy, Policy, own_policy
from elsv.policies.glm_ucb import GlmUCB
from elsv.policies.ids import InformationDirected
from elsv.policies.isotonic import IsotonicKLUCB
from elsv.policies.library import Commit, Elsv, Fixed, Greedy, IndexPolicy, Random, Thompson
from elsv.policies.optimal import OptimalPolicy
from elsv.policies.peak import Osub, Uts
from elsv.policies.pending import with_pending
from elsv.policies.plan import Plan
from elsv.policies.sharing import Pooled, Separate
from elsv.policies.structured_quantile import StructuredBayesUCB
from elsv.policies.top_two import TopTwo
from elsv.problem import Problem
from elsv.values import BlockCommitValue, CommitValue, SeparableValue

DEFAULT_POLICY = "plan"


def make_policy(policy: str | Name | Policy, problem: Problem) -> BasePolicy:
    """Return the policy that a name (or a user's own function) stands for.

    Names read ``NAME[:key=value,…]``: ``plan``, ``elsv``, ``commit``, ``thompson``, ``greedy`` and so on, and
    every index of `elsv.indices`. Arms in names count from 1. See ``docs/policies.md`` for the parameters.
    Every name takes ``pending=ignore``: what is under way does not count (`elsv.policies.pending`).

    Examples
    --------
    >>> import numpy as np
    >>> from elsv.state import State
    >>> problem = Problem(rewards=[0.8, 0.9, 1.0], order="decreasing", horizon=50)
    >>> policy = make_policy("elsv:index=ucb,count_prior=true,weight=0.4", problem)
    >>> int(policy(State.initial(problem), 1, np.random.default_rng(0)))
    0
    """
    if not isinstance(policy, str | Name):
        return own_policy(policy, problem)
    spec = parse(policy) if isinstance(policy, str) else policy
    if "pending" in spec.parameters:
        rest = {key: value for key, value in spec.parameters.items() if key != "pending"}
        return with_pending(make_policy(Name(spec.name, rest), problem), spec.parameters["pending"])
    if spec.name in _BUILDERS:
        return _BUILDERS[spec.name](problem, spec)
    if spec.name in INDEX_NAMES:
        parameters = convert(spec.name, spec.parameters, parameters_of(spec.name))
        return IndexPolicy(problem, make_index(spec.name, **parameters))
    raise unknown_name("policy", spec.name, policy_names())


def policy_names(problem: Problem | None = None) -> tuple[str, ...]:
    """Return every name that `make_policy` knows; with a problem, those that it takes as they are there.

    Some need a structure, such as a single peak, and `optimal` needs its file.
    """
    names = tuple(sorted({*_BUILDERS, *INDEX_NAMES}))
    return names if problem is None else tuple(name for name in names if _makes(name, problem))


def _makes(name: str, problem: Problem) -> bool:
    try:
        make_policy(name, problem)
    except InvalidInputError:
        return False
    return True


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
    if not use_order:
        return Independent()
    if kind == "exact":
        return problem.belief
    rejection = getattr(problem.structure, "rejection", None)
    if rejection is None:
        raise InvalidInputError(
            f"{owner} cannot draw and reject here ({problem.structure.describe()}); leave belief= out"
        )
    sampled: Belief = rejection(**counts)
    return sampled


def _elsv(problem: Problem, spec: Name) -> BasePolicy:
    name = spec.parameters.get("index", "gittins")
    known = {**_ELSV_PARAMETERS, **parameters_of(name)}
    given = convert(spec.name, spec.parameters, known)
    given.pop("index", None)
    belief = _belief(problem, spec.name, given)
    depth, weight = _depth(given), given.pop("weight", 1.0)
    return Elsv(problem, SeparableValue(problem, make_index(name, **given), weight), belief, depth)


def _commit(problem: Problem, spec: Name) -> BasePolicy:
    given = convert(spec.name, spec.parameters, {"depth": int, "order": bool})
    belief = _belief(problem, spec.name, given)
    return Commit(problem, CommitValue(problem, belief), belief, _depth(given))


def _block(problem: Problem, spec: Name) -> BasePolicy:
    given = convert(spec.name, spec.parameters, {"depth": int, "order": bool, "blocks": str})
    text = given.pop("blocks", "1+2+4+8+16")
    try:
        blocks = tuple(int(length) for length in text.split("+"))
    except ValueError as error:
        raise InvalidInputError(
            f"blocks must be lengths joined by +, such as 1+2+4+8, got {text!r}"
        ) from error
    belief = _belief(problem, spec.name, given)
    return Commit(problem, BlockCommitValue(problem, blocks, belief), belief, _depth(given))


def _depth(given: dict[str, Any]) -> int:
    depth: int = given.pop("depth", 1)
    if depth < 1:
        raise InvalidInputError(f"depth must be a whole number, at least 1, got {depth}")
    return depth


def _plan(problem: Problem, spec: Name) -> BasePolicy:
    return Plan(problem, **convert(spec.name, spec.parameters, {"effort": int, "points": int, "far": int}))


def _optimal(problem: Problem, spec: Name) -> BasePolicy:
    given = convert(spec.name, spec.parameters, {"file": str})
    if "file" not in given:
        raise InvalidInputError(
            "optimal needs the file that `elsv solve PROBLEM.toml --save FILE` writes: optimal:file=FILE"
        )
    return OptimalPolicy(problem, given["file"])


def _kg(problem: Problem, spec: Name) -> BasePolicy:
    given = convert(spec.name, spec.parameters, {"order": bool})
    belief = _belief(problem, spec.name, given)
    return Commit(problem, CommitValue(problem, belief), belief)


def _ids(problem: Problem, spec: Name) -> BasePolicy:
    given = convert(spec.name, spec.parameters, {"points": int, "order": bool})
    belief = _belief(problem, spec.name, given)
    return InformationDirected(problem, belief, **given)


def _top_two(problem: Problem, spec: Name) -> BasePolicy:
    given = convert(spec.name, spec.parameters, {"beta": float, **_BELIEF_PARAMETERS})
    belief = _belief(problem, spec.name, given)
    return TopTwo(problem, belief, **given)


def _uts(problem: Problem, spec: Name) -> BasePolicy:
    convert(spec.name, spec.parameters, {})
    return Uts(problem)


def _osub(problem: Problem, spec: Name) -> BasePolicy:
    return Osub(problem, **convert(spec.name, spec.parameters, {"c": float}))


def _isotonic(problem: Problem, spec: Name) -> BasePolicy:
    return IsotonicKLUCB(problem, **convert(spec.name, spec.parameters, {"c": float}))


def _glm_ucb(problem: Problem, spec: Name) -> BasePolicy:
    given = convert(spec.name, spec.parameters, {"prices": str, "scale": float, "ridge": float})
    if "prices" in given:
        try:
            given["prices"] = tuple(float(price) for price in given["prices"].split("+"))
        except ValueError as error:
            raise InvalidInputError(
                f"prices must be numbers joined by +, such as 8+10+12, got {given['prices']!r}"
            ) from error
    return GlmUCB(problem, **given)


def _bayes_ucb(problem: Problem, spec: Name) -> BasePolicy:
    given = convert(spec.name, spec.parameters, {"belief": str, **parameters_of(spec.name)})
    kind = given.pop("belief", "independent")
    if kind not in ("independent", "structured"):
        raise unknown_name(f"belief of {spec.name}", kind, ("independent", "structured"))
    index = BayesUCB(**given)
    if kind == "independent":
        return IndexPolicy(problem, index)
    return StructuredBayesUCB(problem, index, problem.belief)


def _on_belief(policy: type[Thompson] | type[Greedy]) -> Callable[[Problem, Name], BasePolicy]:
    def build(problem: Problem, spec: Name) -> BasePolicy:
        given = convert(spec.name, spec.parameters, _BELIEF_PARAMETERS)
        return policy(problem, _belief(problem, spec.name, given))

    return build


def _fixed(problem: Problem, spec: Name) -> BasePolicy:
    if not problem.segments.stated:  # one number, not a list of them
        return Fixed(problem, convert(spec.name, spec.parameters, {"arm": int}).get("arm", 1) - 1)
    text = convert(spec.name, spec.parameters, {"arm": str}).get("arm")
    if text is None:
        return Fixed(problem, tuple(group[0] for group in problem.segments.groups))
    try:
        return Fixed(problem, tuple(int(arm) - 1 for arm in text.split("+")))
    except ValueError as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(
            f"arm of fixed must be numbers joined by +, one for each segment, such as 1+3, got {text!r}"
        ) from error


def _within(policy: type[Separate] | type[Pooled]) -> Callable[[Problem, Name], BasePolicy]:
    def build(problem: Problem, spec: Name) -> BasePolicy:
        rest = {key: value for key, value in spec.parameters.items() if key != "policy"}
        return policy(problem, Name(spec.parameters.get("policy", DEFAULT_POLICY), rest), make_policy)

    return build


def _random(problem: Problem, spec: Name) -> BasePolicy:
    convert(spec.name, spec.parameters, {})
    return Random(problem)


_BUILDERS: dict[str, Callable[[Problem, Name], BasePolicy]] = {
    "bayes-ucb": _bayes_ucb,
    "block": _block,
    "commit": _commit,
    "elsv": _elsv,
    "fixed": _fixed,
    "glm-ucb": _glm_ucb,
    "greedy": _on_belief(Greedy),
    "ids": _ids,
    "isotonic-kl-ucb": _isotonic,
    "kg": _kg,
    "optimal": _optimal,
    "osub": _osub,
    "plan": _plan,
    "pooled": _within(Pooled),
    "random": _random,
    "separate": _within(Separate),
    "thompson": _on_belief(Thompson),
    "top-two": _top_two,
    "uts": _uts,
}
