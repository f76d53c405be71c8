r"""What every structure has: words, a table for files, which means are possible, and the belief under it.

A structure says which vectors of means are possible, or how likely; the prior is the product of Betas under
it. Everything above the belief needs nothing else, so that a structure of your own works wherever these do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any, Protocol, Self, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs import Belief, Independent
from elsv.beliefs.base import Order
from elsv.errors import InvalidInputError, unknown_name
from elsv.state import State
from elsv.structure.facts import (
    METHODS,
    Facts,
    Method,
    Offers,
    Outline,
    ability,
    all_hold,
    facts_of,
    outline_of,
    prices_of,
    steps,
)
from elsv.structure.fit import fit_facts


@runtime_checkable
class Structure(Protocol):
    """A statement about the means; frozen, compared by value.

    More is used where a structure has it: ``on(offers)`` returns the statement about the arms of a problem
    (names turned into numbers, rewards and prior taken along), ``rejection(**counts)`` the paper's belief,
    which draws and keeps, ``ranking()`` the order, peak and bounds that certainly hold, as
    `elsv.structure.Facts` or None, and ``prices`` the place of each arm on a curve. Policies that need one of
    the last two ask for it. ``closest(won, lost)`` returns the possible rates that explain outcomes best, for
    `elsv.structure.evidence`. ``given(state)`` returns the statement after data that prior rows cannot hold,
    and ``own_prior`` is true where rows say nothing of the means; `elsv.prior` asks for both.
    """

    def describe(self) -> str:
        """Say in words what is assumed."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return plain values under the key by which `from_dict` knows the statement; {} for none."""
        ...

    def holds(self, means: ArrayLike) -> AnyArray:
        """Return of means ``[..., N]`` whether they are possible, shape ``[...]``."""
        ...

    def belief(self) -> Belief:
        """Return the exact belief under the statement."""
        ...


def on(structure: Structure, offers: Offers) -> Structure:
    """Return the statement about given arms; one without `on` is about any."""
    return ability(structure, "on", offers, otherwise=structure)


def has_own_prior(structure: Structure) -> bool:
    """Return whether a statement brings a prior of its own, so that prior rows say nothing of the means."""
    return bool(getattr(structure, "own_prior", False))


def after_data(structure: Structure, state: State) -> Structure:
    """Return the statement after data that prior rows cannot hold; the same where rows can."""
    return ability(structure, "given", state, otherwise=structure)


class Statement:
    """What statements of this package have in common: they join with ``&``."""

    def __and__(self, other: object) -> Structure:
        return joined(self, other)

    def __rand__(self, other: object) -> Structure:
        return joined(other, self)


@dataclass(frozen=True)
class Free(Statement):
    """Nothing is known: the arms are independent."""

    def describe(self) -> str:
        """Say in words what is assumed."""
        return "nothing is assumed: the arms are independent"

    def to_dict(self) -> dict[str, Any]:
        """Return no statement."""
        return {}

    def holds(self, means: ArrayLike) -> AnyArray:
        """Return true for all means."""
        return np.ones(np.shape(means)[:-1], dtype=bool)

    def belief(self) -> Belief:
        """Return the belief of independent arms."""
        return Independent()

    def rejection(self, **counts: Any) -> Belief:
        """Return the same: there is nothing to reject."""
        return Independent()


def free() -> Free:
    """Return the structure that says nothing."""
    return Free()


@dataclass(frozen=True)
class Bound(Statement):
    """A statement that must know its arms; `on` tells it which."""

    offers: Offers | None = field(default=None, repr=False, compare=False, kw_only=True)

    def on(self, offers: Offers) -> Self:
        """Return the statement about these arms, or say why it cannot be about them."""
        self._check(offers)
        return replace(self, offers=offers)

    def _check(self, offers: Offers) -> None:
        """Raise if the statement cannot be about these arms."""

    def facts(self, offers: Offers) -> Facts:
        """Return what is said of these arms. By default the statement is a prior of its own."""
        return facts_of(offers, drawn=self)

    def _told(self, needs: str, it: str = "it") -> Offers:
        """Return the arms, or say that the belief needs them."""
        if self.offers is None:
            raise InvalidInputError(
                f"the belief {needs}; give {it} to a problem, elsv.Problem(..., structure=...), and take the "
                "problem's belief"
            )
        return self.offers


@dataclass(frozen=True)
class Ruled(Bound):
    """A statement, or several, that comes to facts about arms and conditions; `on` says which arms."""

    method: Method = field(default="auto", kw_only=True)

    def by(self, method: Method) -> Self:
        """Return the statement with its belief computed in a given way.

        Parameters
        ----------
        method
            ``"exact"`` (quadrature, or an error where that is too wide), ``"keep"`` (draws that are kept),
            ``"gibbs"``, or ``"auto"``: the first of these that works.
        """
        if method not in METHODS:
            raise unknown_name("method", str(method), METHODS)
        return replace(self, method=method)

    def _check(self, offers: Offers) -> None:
        self.facts(offers).check()

    def outline(self) -> Outline:
        """Return what a picture shows, once the arms are known."""
        return Outline() if self.offers is None else self.facts(self.offers).outline()

    def ranking(self) -> Facts | None:
        """Return what certainly holds, once the arms are known."""
        return None if self.offers is None else self.facts(self.offers).certain()

    def closest(self, won: FloatArray, lost: FloatArray) -> FloatArray | None:
        """Return the possible rates that explain these outcomes best, where facts are all that is known."""
        facts = None if self.offers is None else self.facts(self.offers)
        if facts is None or facts.conditions or facts.drawn is not None:
            return None
        return fit_facts(facts, won, lost)


@dataclass(frozen=True)
class Both(Ruled):
    """Several statements, all of which hold."""

    parts: tuple[Structure, ...]

    def describe(self) -> str:
        """Say in words what is assumed."""
        return "; ".join(part.describe() for part in self.parts)

    def to_dict(self) -> dict[str, Any]:
        """Return all statements in one table; those with the same key are joined."""
        values: dict[str, Any] = {}
        for part in self.parts:
            for key, value in part.to_dict().items():
                values[key] = _as_one(key, values[key], value, self.offers) if key in values else value
        if self.method != "auto":
            values[METHOD] = self.method
        return values

    def on(self, offers: Offers) -> Both:
        """Return the statements about these arms; an error names arms that clash."""
        return Bound.on(replace(self, parts=tuple(on(part, offers) for part in self.parts)), offers)

    def facts(self, offers: Offers) -> Facts:
        """Return what all parts say of these arms."""
        whole = facts_of(offers)
        for one in self.parts:
            whole = whole.joined(one.facts(offers) if isinstance(one, Bound) else facts_of(offers, drawn=one))
        return whole

    def holds(self, means: ArrayLike) -> AnyArray:
        """Return of means ``[..., N]`` whether they are possible, shape ``[...]``."""
        return all_hold([part.holds for part in self.parts], np.asarray(means, dtype=np.float64))

    def belief(self) -> Belief:
        """Return the belief under all statements."""
        offers = self._told("under these statements needs their arms", "them")
        return self.facts(offers).belief(offers, self.method)

    @property
    def own_prior(self) -> bool:
        """Whether a part brings a prior of its own, so that prior rows say nothing of the means."""
        return any(map(has_own_prior, self.parts))

    def given(self, state: State) -> Both:
        """Return the statements as they are after data: which means are possible stays the same."""
        return replace(self, parts=tuple(after_data(part, state) for part in self.parts))

    def outline(self) -> Outline:
        """Return what a picture shows of all statements together, once the arms are known."""
        whole = super().outline()
        grids = [one for one in map(outline_of, self.parts) if one.grid is not None and self.offers]
        # Rows and columns are only drawn as such if nothing else orders the arms.
        return grids[0] if len(grids) == 1 and grids[0].pairs == whole.pairs else whole

    @property
    def prices(self) -> tuple[float, ...] | None:
        """The places of the arms on a curve, where a part has them."""
        return next((found for part in self.parts if (found := prices_of(part)) is not None), None)


def _as_one(key: str, first: Any, second: Any, offers: Offers | None) -> Any:
    """Return one value for two statements under the same key."""
    if first == second:
        return first
    lists = isinstance(first, list) and isinstance(second, list)
    if key in ("order", "gaps") and (lists or offers is not None):
        return [*_pairs(first, offers), *_pairs(second, offers)]
    if key == "where":
        return [*([first] if isinstance(first, str) else first), second]
    if key == "bounds":
        both = zip(first, second, strict=True)
        return [[max(a[0], b[0]), min(a[1], b[1])] if a and b else a or b for a, b in both]
    raise InvalidInputError(f"two statements of {key} cannot be written as one: {first} and {second}")


def _pairs(value: Any, offers: Offers | None) -> list[Any]:
    """Return an order as pairs, arms from 1."""
    if isinstance(value, str) and offers is not None:
        return [[a + 1, b + 1] for a, b in steps(cast(Order, value), offers.arms)]
    return list(value)


def joined(first: object, second: object) -> Structure:
    """Return the statement that both hold; a method that one of them has is the method of both."""
    parts: list[Structure] = []
    methods: list[Method] = []
    for given in (first, second):
        if not isinstance(given, Structure):
            raise InvalidInputError(f"statements join with statements, got {given!r}")
        methods += [given.method] if isinstance(given, Ruled) and given.method != "auto" else []
        parts += given.parts if isinstance(given, Both) else () if isinstance(given, Free) else (given,)
    if len(set(methods)) > 1:
        raise InvalidInputError(f"statements that all hold must have one method, got {' and '.join(methods)}")
    if len(parts) < 2:
        return parts[0] if parts else Free()
    plain = tuple(part.by("auto") if isinstance(part, Ruled) else part for part in parts)
    return Both(plain, method=methods[0] if methods else "auto")


Builder = Callable[[Any], Structure]
_BUILDERS: dict[str, Builder] = {"free": lambda _: Free()}
METHOD = "method"  # the key of a table that says how the belief is computed
WORDS: dict[str, dict[str, Any]] = {word: {"order": word} for word in ("decreasing", "increasing")}
WORDS |= {"unimodal": {"unimodal": True}, "free": {}}  # tables for which one word will do


def register(key: str, build: Builder) -> None:
    """Make `from_dict` (and so files and saved bandits) know a statement of your own.

    Parameters
    ----------
    key
        The key under which the structure's `to_dict` puts its value.
    build
        Called with that value; returns the structure, or raises `InvalidInputError`.
    """
    _BUILDERS[key] = build


def from_dict(values: Mapping[str, Any] | str, folder: Path | None = None) -> Structure:
    """Return the structure that `values` states, the inverse of `to_dict`.

    Parameters
    ----------
    values
        A table of statements, which all hold, or one word such as ``"decreasing"``.
    folder
        Where files that a statement names are looked for; default: the present folder.

    Examples
    --------
    >>> from_dict({"order": "decreasing"}).describe()
    'the means decrease: each arm succeeds at least as often as the next'
    """
    if isinstance(values, str):
        if values not in WORDS:
            raise unknown_name("structure", values, WORDS)
        values = WORDS[values]
    if not isinstance(values, Mapping):
        raise InvalidInputError(f'structure must be a table such as {{order = "decreasing"}}, got {values!r}')
    for key in values:
        if key not in _BUILDERS and key != METHOD:
            raise unknown_name("statement", str(key), _BUILDERS)
    parts = [_BUILDERS[key](_in_folder(key, value, folder)) for key, value in values.items() if key != METHOD]
    whole: Structure = reduce(joined, parts) if parts else Free()
    if (method := values.get(METHOD, "auto")) == "auto":
        return whole
    if not hasattr(whole, "by"):
        raise InvalidInputError(
            f"method can be chosen for statements that rank the arms, not where {whole.describe()}"
        )
    return cast(Structure, whole.by(method))


def _in_folder(key: str, value: Any, folder: Path | None) -> Any:
    """Return the value with the path of a file of samples made one from `folder`."""
    if folder is None:
        return value
    if key == "samples" and isinstance(value, str):
        return str(folder / value)
    if key == "samples" and isinstance(value, Mapping) and isinstance(value.get("path"), str):
        return {**value, "path": str(folder / value["path"])}
    if key == "mixture" and isinstance(value, list):
        return [
            [part[0], from_dict(part[1], folder)]
            if isinstance(part, list) and len(part) == 2 and isinstance(part[1], Mapping)
            else part
            for part in value
        ]
    return value


def structure_of(given: Structure | Mapping[str, Any] | Order | None) -> Structure:
    """Return the structure that a user's argument stands for: a structure, its table, a word or None."""
    if given is None:
        return Free()
    if isinstance(given, Mapping | str):
        return from_dict(given)
    if not isinstance(given, Structure) or isinstance(given, type):
        raise InvalidInputError(
            "structure must be a statement such as elsv.structure.decreasing() "
            f"(with describe, to_dict, holds and belief), got {given!r}"
        )
    return given
