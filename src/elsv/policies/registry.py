"""Names become policies: one grammar, ``NAME[:key=value,…]``; and what each of them does, in a few words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from elsv._base.numbers import whole
from elsv.beliefs import Belief, Independent
from elsv.errors import InvalidInputError, unknown_name
from elsv.indices import INDEX_NAMES, Setting, make_index, parameters_of
from elsv.names import Name, convert, parse
from elsv.policies.asking import with_pending
from elsv.policies.base import BasePolicy, Policy, own_policy
from elsv.policies.library import Commit, Elsv, Fixed, Greedy, IndexPolicy, Random, Thompson
from elsv.policies.mixing import InformationDirected, TopTwo
from elsv.policies.optimal import OptimalPolicy
from elsv.policies.plan import Plan
from elsv.policies.rivals import GlmUCB, IsotonicKLUCB, Osub, StructuredBayesUCB, Uts
from elsv.policies.sharing import Pooled, Separate
from elsv.problem import Problem
from elsv.values import BlockCommitValue, CommitValue, SeparableValue

DEFAULT_POLICY = "plan"
Builder = Callable[[Problem, Name], BasePolicy]


def make_policy(policy: str | Name | Policy, problem: Problem) -> BasePolicy:
    """Return the policy that a name (or a user's own function) stands for.

    Names read ``NAME[:key=value,…]``: ``plan``, ``elsv``, ``commit``, ``thompson``, ``greedy`` and so on, and
    every index of `elsv.indices`. Arms in names count from 1. See ``docs/policies.md`` for the parameters.
    Every name takes ``pending=ignore``: what is under way does not count (`elsv.policies.asking`).

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
        return IndexPolicy(problem, _index(problem, spec.name, parameters))
    raise unknown_name("policy", spec.name, policy_names())


def policy_names(problem: Problem | None = None) -> tuple[str, ...]:
    """Return every name that `make_policy` knows; with a problem, those that it takes as they are there.

    Some need a structure, such as a single peak, or a horizon, and `optimal` needs its file.
    """
    names = tuple(sorted({*_BUILDERS, *INDEX_NAMES}))
    if problem is None:
        return names
    taken = []
    for name in names:
        with suppress(InvalidInputError):
            make_policy(name, problem)
            taken.append(name)
    return tuple(taken)


_BELIEF_PARAMETERS: dict[str, type] = {"order": bool, "belief": str, "draws": int, "samples": int}


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
    if not hasattr(problem.structure, "rejection"):
        raise InvalidInputError(
            f"{owner} cannot draw and reject here ({problem.structure.describe()}); leave belief= out"
        )
    sampled: Belief = problem.structure.rejection(**counts)
    return sampled


def _index(problem: Problem, name: str, given: dict[str, Any]) -> Any:
    """Return an index that has values in the problem: some need a horizon."""
    index: Any = make_index(name, **given)
    index.check(Setting.of(problem))
    return index


def _elsv(problem: Problem, spec: Name) -> BasePolicy:
    name = spec.parameters.get("index", "gittins")
    known = {"index": str, "depth": int, "weight": float, **_BELIEF_PARAMETERS, **parameters_of(name)}
    given = convert(spec.name, spec.parameters, known)
    given.pop("index", None)
    belief = _belief(problem, spec.name, given)
    depth, weight = whole("depth", given.pop("depth", 1)), given.pop("weight", 1.0)
    return Elsv(problem, SeparableValue(problem, _index(problem, name, given), weight), belief, depth)


def _commit(problem: Problem, belief: Belief, depth: int = 1) -> BasePolicy:
    return Commit(problem, CommitValue(problem, belief), belief, whole("depth", depth))


def _block(problem: Problem, belief: Belief, depth: int = 1, blocks: str = "1+2+4+8+16") -> BasePolicy:
    lengths = _parts(blocks, int, "blocks must be lengths joined by +, such as 1+2+4+8")
    return Commit(problem, BlockCommitValue(problem, lengths, belief), belief, whole("depth", depth))


def _parts(text: str, kind: Callable[[str], Any], rule: str) -> tuple[Any, ...]:
    """Return numbers that are joined by +."""
    try:
        return tuple(kind(part) for part in text.split("+"))
    except ValueError as error:
        raise InvalidInputError(f"{rule}, got {text!r}") from error


def _optimal(problem: Problem, file: str | None = None) -> BasePolicy:
    if file is None:
        raise InvalidInputError(
            "optimal needs the file that `elsv solve PROBLEM.toml --save FILE` writes: optimal:file=FILE"
        )
    return OptimalPolicy(problem, file)


def _glm_ucb(problem: Problem, prices: str | None = None, **given: Any) -> BasePolicy:
    rule = "prices must be numbers joined by +, such as 8+10+12"
    return GlmUCB(problem, None if prices is None else _parts(prices, float, rule), **given)


def _bayes_ucb(problem: Problem, belief: str = "independent", **given: Any) -> BasePolicy:
    if belief not in ("independent", "structured"):
        raise unknown_name("belief of bayes-ucb", belief, ("independent", "structured"))
    index = _index(problem, "bayes-ucb", given)
    if belief == "independent":
        return IndexPolicy(problem, index)
    return StructuredBayesUCB(problem, index, problem.belief)


def _fixed(problem: Problem, spec: Name) -> BasePolicy:
    if not problem.segments.names:  # one number, not a list of them
        return Fixed(problem, convert(spec.name, spec.parameters, {"arm": int}).get("arm", 1) - 1)
    text = convert(spec.name, spec.parameters, {"arm": str}).get("arm")
    if text is None:
        return Fixed(problem, tuple(group[0] for group in problem.segments.groups))
    rule = "arm of fixed must be numbers joined by +, one for each segment, such as 1+3"
    return Fixed(problem, tuple(arm - 1 for arm in _parts(text, int, rule)))


def _within(policy: type[Separate] | type[Pooled]) -> Builder:
    def build(problem: Problem, spec: Name) -> BasePolicy:
        rest = {key: value for key, value in spec.parameters.items() if key != "policy"}
        return policy(problem, Name(spec.parameters.get("policy", DEFAULT_POLICY), rest), make_policy)

    return build


def _plain(policy: Callable[..., BasePolicy], **known: type) -> Builder:
    """Return what builds a policy from parameters of these types."""
    return lambda problem, spec: policy(problem, **convert(spec.name, spec.parameters, known))


def _on_belief(policy: Callable[..., BasePolicy], **known: type) -> Builder:
    """Return the same for a policy that also takes the belief that its parameters describe."""

    def build(problem: Problem, spec: Name) -> BasePolicy:
        given = convert(spec.name, spec.parameters, known)
        return policy(problem, _belief(problem, spec.name, given), **given)

    return build


_BUILDERS: dict[str, Builder] = {
    "bayes-ucb": _plain(_bayes_ucb, belief=str, **parameters_of("bayes-ucb")),
    "block": _on_belief(_block, depth=int, order=bool, blocks=str),
    "commit": _on_belief(_commit, depth=int, order=bool),
    "elsv": _elsv,
    "fixed": _fixed,
    "glm-ucb": _plain(_glm_ucb, prices=str, scale=float, ridge=float),
    "greedy": _on_belief(Greedy, **_BELIEF_PARAMETERS),
    "ids": _on_belief(InformationDirected, points=int, order=bool),
    "isotonic-kl-ucb": _plain(IsotonicKLUCB, c=float),
    "kg": _on_belief(_commit, order=bool),
    "optimal": _plain(_optimal, file=str),
    "osub": _plain(Osub, c=float),
    "plan": _plain(Plan, effort=int, points=int, far=int),
    "pooled": _within(Pooled),
    "random": _plain(Random),
    "separate": _within(Separate),
    "thompson": _on_belief(Thompson, **_BELIEF_PARAMETERS),
    "top-two": _on_belief(TopTwo, beta=float, **_BELIEF_PARAMETERS),
    "uts": _plain(Uts),
}
_MEANINGS = {
    "plan": "searches ahead on what committing to an arm is worth; near the optimum",
    "elsv": "the paper's method, a step ahead on the value that an index gives to a state",
    "commit": "a step ahead on what committing to the best arm is worth",
    "block": "the same as commit, where a block of pulls of one arm may come first",
    "optimal": "the Bayes optimum: no policy earns more in expectation",
    "thompson": "draws the means from what is believed, pulls the arm that is best in the draw",
    "greedy": "pulls the arm with the largest expected reward, never explores on purpose",
    "random": "every arm with equal probability",
    "separate": "a bandit for each segment, which learns from its own customers alone",
    "pooled": "one bandit that does not look at who comes: the segments' arms are levels, counted together",
    "ids": "draws between two arms, so that little is lost for what is learnt of which arm is best",
    "kg": "the knowledge gradient, a step ahead on what committing to the best arm is worth",
    "top-two": "half of the time Thompson sampling, else the best arm of draws in which another one is best",
    "uts": "Thompson sampling among the arm that is ahead and its neighbours; for a single peak",
    "osub": "the largest KL-UCB index of the arm that is ahead and its neighbours; for a single peak",
    "isotonic-kl-ucb": "the largest KL-UCB index, no arm's above that of an arm known to be at least as good",
    "glm-ucb": "fits a logistic curve over the prices, pulls the arm that may be best on it",
    "bayes-ucb:belief=structured": "pulls the arm with the largest quantile of what is believed of it",
}
_TITLES = {
    "ucb": "α-UCB",
    "ucb1": "UCB1",
    "ucb-v": "UCB-V",
    "kl-ucb": "KL-UCB",
    "moss": "MOSS",
    "bayes-ucb": "Bayes-UCB",
    "gittins": "Gittins",
    "finite-gittins": "finite-horizon Gittins",
    "optimistic-gittins": "optimistic Gittins",
}


def meaning(policy: str) -> str | None:
    """Return what a policy does in a few words, or None for one of the user's own and for single arms."""
    try:
        parsed = parse(policy)
    except InvalidInputError:
        return None
    name, belief = parsed.name, f"{parsed.name}:belief={parsed.parameters.get('belief')}"
    index = f"pulls the arm with the largest {_TITLES.get(name, name)} index, each arm by itself"
    return _MEANINGS.get(belief) or _MEANINGS.get(name) or (index if name in INDEX_NAMES else None)


def legend(policies: Mapping[str, object]) -> dict[str, str]:
    """Return what each policy of the package does, by its name without parameters or the user's label.

    `policies` gives what each name stands for: the text that `make_policy` read, or something of the user's.
    """
    known: dict[str, str] = {}
    for name, policy in policies.items():
        said = meaning(policy) if isinstance(policy, str) else None
        if said is not None:
            short = parse(name).name if meaning(name) == said else name
            known[short if known.get(short, said) == said else name] = said
    return known
