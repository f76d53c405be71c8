"""Several statements: all of them hold, ``a & b``, or one of them does, each with a probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.numbers import shown
from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs import Belief, Kept, Mixture
from elsv.beliefs.filtered import Condition
from elsv.errors import InvalidInputError, unknown_name
from elsv.state import State
from elsv.structure.base import (
    Bound,
    Free,
    Offers,
    Structure,
    after_data,
    has_own_prior,
    join_by,
    on,
    register,
    structure_of,
)
from elsv.structure.drawn import Where
from elsv.structure.facts import (
    METHODS,
    All,
    Facts,
    Method,
    Outline,
    belief_of_facts,
    facts_of,
    outline_of,
    outline_of_facts,
    prices_of,
    ranking_of,
)
from elsv.structure.fit import closest, fit_facts, likelihood
from elsv.structure.rankings import Ranking

_DEEPEST = 20  # mixtures within mixtures
_LEAST = 1e-12  # probability that a part keeps, whatever data say: that of a mixture is above 0


@dataclass(frozen=True)
class Both(Bound):
    """Several statements, all of which hold."""

    parts: tuple[Structure, ...]
    method: Method = "auto"

    def by(self, method: Method) -> Both:
        """Return the statements with their belief computed in a given way; see `Ranking.by`."""
        if method not in METHODS:
            raise unknown_name("method", str(method), METHODS)
        return replace(self, method=method)

    def describe(self) -> str:
        """Say in words what is assumed."""
        return "; ".join(part.describe() for part in self.parts)

    def to_dict(self) -> dict[str, Any]:
        """Return all statements in one table; those with the same key are joined."""
        values: dict[str, Any] = {}
        for part in self.parts:
            for key, value in part.to_dict().items():
                values[key] = _joined(key, values[key], value, self.offers) if key in values else value
        if self.method != "auto":
            values["method"] = self.method
        return values

    def on(self, offers: Offers) -> Both:
        """Return the statements about these arms; an error names arms that clash."""
        bound = replace(self, parts=tuple(on(part, offers) for part in self.parts), offers=offers)
        facts, _, _ = bound._sorted(offers)
        facts.checked()
        return bound

    def holds(self, means: ArrayLike) -> AnyArray:
        """Return of means ``[..., N]`` whether they are possible, shape ``[...]``."""
        asked = np.asarray(means, dtype=np.float64)
        return All(tuple(part.holds for part in self.parts))(asked)

    def belief(self) -> Belief:
        """Return the belief under all statements."""
        offers = self._told("under these statements needs their arms", "them")
        facts, conditions, drawn = self._sorted(offers)
        if drawn is not None:
            extra = (*conditions, facts.holds) if facts != facts_of(offers) else conditions
            return Kept(drawn.belief(), All(extra), offers.prior) if extra else drawn.belief()
        return belief_of_facts(facts, offers.prior, self.method, conditions)

    def closest(self, won: FloatArray, lost: FloatArray) -> FloatArray | None:
        """Return the possible rates that explain these outcomes best, where all parts rank or bound."""
        if self.offers is None:
            return None
        facts, conditions, drawn = self._sorted(self.offers)
        return None if conditions or drawn is not None else fit_facts(facts, won, lost)

    @property
    def own_prior(self) -> bool:
        """Whether a part brings a prior of its own, so that prior rows say nothing of the means."""
        return any(map(has_own_prior, self.parts))

    def given(self, state: State) -> Both:
        """Return the statements as they are after data: which means are possible stays the same."""
        return replace(self, parts=tuple(after_data(part, state) for part in self.parts))

    def outline(self) -> Outline:
        """Return what can be drawn of all statements together, once they know their arms."""
        if self.offers is None:
            return Outline()
        facts, _, drawn = self._sorted(self.offers)
        whole = outline_of_facts(facts)
        if drawn is not None and not facts.ranks:
            return outline_of(drawn)
        grids = [part for part in map(outline_of, self.parts) if part.grid is not None]
        # Rows and columns are only drawn as such if nothing else orders the arms.
        return grids[0] if len(grids) == 1 and grids[0].pairs == whole.pairs else whole

    def ranking(self) -> Facts | None:
        """Return what all parts say of the arms, as far as that is on one scale."""
        if self.offers is None:
            return None
        facts, _, drawn = self._sorted(self.offers)
        own = ranking_of(drawn)
        return facts if own is None or (facts.ranks and own.scale != facts.scale) else facts.joined(own)

    @property
    def prices(self) -> tuple[float, ...] | None:
        """The places of the arms on a curve, where a part has them."""
        return next((found for part in self.parts if (found := prices_of(part)) is not None), None)

    def _sorted(self, offers: Offers) -> tuple[Facts, tuple[Condition, ...], Structure | None]:
        """Return facts on one scale, conditions for draws, and a part that brings a belief of its own."""
        facts = facts_of(offers)
        conditions: list[Condition] = []
        drawn: Structure | None = None
        for part in self.parts:
            if isinstance(part, Ranking):
                own = part.facts(offers)
                if facts.ranks and own.ranks and own.scale != facts.scale:
                    conditions.append(own.holds)
                else:
                    facts = facts.joined(own)
            elif isinstance(part, Where):
                conditions.append(part.holds)
            elif drawn is None:
                drawn = part
            else:
                raise InvalidInputError(
                    "only one of several statements can be a prior of its own, got both: "
                    f"{drawn.describe()}; {part.describe()}"
                )
        return facts, tuple(conditions), drawn


def _joined(key: str, first: Any, second: Any, offers: Offers | None) -> Any:
    """Return one value for two statements under the same key."""
    if first == second:
        return first
    lists = isinstance(first, list) and isinstance(second, list)
    if key in ("order", "gaps") and (lists or offers is not None):
        return [*_pairs(first, offers), *_pairs(second, offers)]
    if key == "where":
        return [*([first] if isinstance(first, str) else first), second]
    if key == "bounds":
        return [_narrower(a, b) for a, b in zip(first, second, strict=True)]
    raise InvalidInputError(f"two statements of {key} cannot be written as one: {first} and {second}")


def _pairs(value: Any, offers: Offers | None) -> list[Any]:
    """Return an order as pairs."""
    if isinstance(value, str) and offers is not None:
        steps = [[k + 1, k + 2] for k in range(offers.arms - 1)]
        return steps if value == "decreasing" else [pair[::-1] for pair in steps]
    return list(value)


def _narrower(first: list[float], second: list[float]) -> list[float]:
    if not first or not second:
        return first or second
    return [max(first[0], second[0]), min(first[1], second[1])]


def join(first: object, second: object) -> Structure:
    """Return the statement that both hold; a method that one of them has is the method of both."""
    parts: list[Structure] = []
    methods: list[Method] = []
    for given in (first, second):
        if not isinstance(given, Structure):
            raise InvalidInputError(f"statements join with statements, got {given!r}")
        methods += [given.method] if isinstance(given, Both | Ranking) and given.method != "auto" else []
        parts += given.parts if isinstance(given, Both) else () if isinstance(given, Free) else (given,)
    if not parts:
        return Free()
    if len(parts) == 1:
        return parts[0]
    if len(set(methods)) > 1:
        raise InvalidInputError(f"statements that all hold must have one method, got {' and '.join(methods)}")
    plain = tuple(part.by("auto") if isinstance(part, Ranking) else part for part in parts)
    return Both(plain, methods[0] if methods else "auto")


join_by(join)


@dataclass(frozen=True)
class MixtureOf(Bound):
    """One of several statements holds, each with a probability."""

    parts: tuple[tuple[float, Structure], ...]

    def describe(self) -> str:
        """Say in words what is assumed."""
        said = [f"with probability {share:g}, {part.describe()}" for share, part in self.parts]
        return "; ".join(said)

    def to_dict(self) -> dict[str, Any]:
        """Return probabilities and statements; a single word where one will do."""
        return {"mixture": [[share, _short(part)] for share, part in self.parts]}

    def on(self, offers: Offers) -> MixtureOf:
        """Return the statements about these arms."""
        parts = tuple((share, on(part, offers)) for share, part in self.parts)
        return replace(self, parts=parts, offers=offers)

    def holds(self, means: ArrayLike) -> AnyArray:
        """Return whether means are possible under one of the statements."""
        given = np.asarray(means, dtype=np.float64)
        return np.asarray(np.any([part.holds(given) for _, part in self.parts], axis=0))

    def outline(self) -> Outline:
        """Return what can be drawn of its parts."""
        parts = [(share, part.describe(), outline_of(part)) for share, part in self.parts]
        return parts[0][2] if len(parts) == 1 else Outline(parts=tuple(parts))

    def belief(self) -> Belief:
        """Return the weighted beliefs; each must give weights W."""
        prior = self._told("under a mixture needs the prior").prior
        if len(self.parts) == 1:
            return self.parts[0][1].belief()
        beliefs = tuple(part.belief() for _, part in self.parts)
        return Mixture(beliefs, tuple(share for share, _ in self.parts), prior)

    def closest(self, won: FloatArray, lost: FloatArray) -> FloatArray | None:
        """Return the rates that explain these outcomes best within any part."""
        if self.offers is None:
            return None
        state = State(self.offers.prior[:, 0] + won, self.offers.prior[:, 1] + lost)
        each = (closest(part, part.belief(), state, won, lost) for _, part in self.parts)
        found = [rates for rates in each if rates is not None]
        return max(found, key=lambda rates: float(likelihood(rates, won, lost)), default=None)

    @property
    def own_prior(self) -> bool:
        """Whether every part brings a prior of its own."""
        return all(has_own_prior(part) for _, part in self.parts)

    def given(self, state: State) -> MixtureOf:
        """Return the parts as they are after data, with the probabilities that they have then."""
        chances = getattr(self.belief(), "chances", None)
        now = np.ones(1) if chances is None else np.maximum(chances(state), _LEAST)
        shares = (now / now.sum()).tolist()
        pairs = zip(shares, self.parts, strict=True)
        return replace(self, parts=tuple((share, after_data(part, state)) for share, (_, part) in pairs))


def mixture(parts: Sequence[tuple[float, Structure | str | Mapping[str, Any]]]) -> MixtureOf:
    """Return the statement that one of several holds.

    Parameters
    ----------
    parts
        Pairs of a probability and a statement, such as ``[(0.9, decreasing()), (0.1, free())]``; the
        probabilities sum to 1.
    """
    if isinstance(parts, str | Mapping) or not isinstance(parts, Sequence) or len(parts) == 0:
        raise InvalidInputError(
            f'mixture must be a list such as [[0.9, "decreasing"], [0.1, "free"]], got {shown(parts)}'
        )
    _check_depth(parts)
    found = []
    for pair in parts:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise InvalidInputError(f'mixture must have pairs such as [0.9, "decreasing"], got {shown(pair)}')
        share, given = pair
        if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0 < share <= 1:
            raise InvalidInputError(
                f"probabilities of a mixture must be above 0 and at most 1, got {shown(share)}"
            )
        found.append((float(share), structure_of(given)))  # type: ignore[arg-type]
    total = sum(share for share, _ in found)
    if abs(total - 1) > 1e-9:
        raise InvalidInputError(f"probabilities of a mixture must sum to 1, got {total:g}")
    return MixtureOf(tuple(found))


def _check_depth(parts: Sequence[Any]) -> None:
    """Raise if mixtures are nested too deep to be worked on; found level by level, without recursion."""
    level, depth = [parts], 1
    while level := [inner for one in level for inner in _nested(one)]:
        depth += 1
        if depth > _DEEPEST:
            raise InvalidInputError(
                f"mixtures may be nested {_DEEPEST} deep, got one that is deeper; multiply the probabilities "
                "of nested parts and list the parts side by side"
            )


def _nested(parts: Any) -> list[Sequence[Any]]:
    """Return the parts of the mixtures that are parts of a mixture."""
    pairs = (
        [p for p in parts if isinstance(p, Sequence) and len(p) == 2] if isinstance(parts, Sequence) else []
    )
    tables = [given["mixture"] for _, given in pairs if isinstance(given, Mapping) and "mixture" in given]
    return tables + [given.parts for _, given in pairs if isinstance(given, MixtureOf)]


def _short(part: Structure) -> Any:
    """Return a statement as one word where there is one, else as its table."""
    stated = part.to_dict()
    if not stated:
        return "free"
    if stated == {"unimodal": True}:
        return "unimodal"
    if set(stated) == {"order"} and isinstance(stated["order"], str):
        return stated["order"]
    return stated


register("mixture", mixture)
