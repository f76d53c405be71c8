r"""What every structure has: words, a table for files, which means are possible, and the belief under it.

A structure says which vectors of means are possible, or how likely; the prior is the product of Betas under
it. Everything above the belief needs nothing else, so that a structure of your own works wherever these do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.numbers import shown
from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs import Belief, Independent
from elsv.beliefs.base import Order
from elsv.errors import InvalidInputError, unknown_name
from elsv.state import State


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


def number_of_arm(who: str, arm: object, names: Sequence[str]) -> int:
    """Return the number from 0 of an arm that `who` gives by its name or its number from 1."""
    if isinstance(arm, str) and arm in names:
        return names.index(arm)
    if isinstance(arm, int | np.integer) and not isinstance(arm, bool) and 1 <= arm <= len(names):
        return int(arm) - 1
    raise InvalidInputError(
        f"{who} must name arms of the problem, by name ({', '.join(map(repr, names))}) or "
        f"number from 1 to {len(names)}, got {shown(arm)}"
    )


@dataclass(frozen=True, eq=False)
class Offers:
    """The arms that a statement is about."""

    names: tuple[str, ...]
    rewards: FloatArray  # [N]
    prior: FloatArray  # [N, 2]

    @property
    def arms(self) -> int:
        """N, the number of arms."""
        return len(self.names)

    def number(self, arm: object) -> int:
        """Return the number from 0 of an arm that is given by its name or its number from 1."""
        return number_of_arm("a statement", arm, self.names)


class Statement:
    """What statements of this package have in common: they join with ``&``."""

    def __and__(self, other: object) -> Structure:
        return joined(self, other)

    def __rand__(self, other: object) -> Structure:
        return joined(other, self)


@dataclass(frozen=True)
class Bound(Statement):
    """A statement about arms, which `on` tells it."""

    offers: Offers | None = field(default=None, repr=False, compare=False, kw_only=True)

    def on(self, offers: Offers) -> Self:
        """Return the statement about these arms."""
        return replace(self, offers=offers)

    def _told(self, needs: str, it: str = "it") -> Offers:
        """Return the arms, or say that the belief needs them."""
        if self.offers is None:
            raise InvalidInputError(
                f"the belief {needs}; give {it} to a problem, elsv.Problem(..., structure=...), and take the "
                "problem's belief"
            )
        return self.offers


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


_JOIN: list[Callable[[object, object], Structure]] = []


def join_by(join: Callable[[object, object], Structure]) -> None:
    """Say how two statements become one; `elsv.structure.compound` does, which builds on this module."""
    _JOIN[:] = [join]


def joined(first: object, second: object) -> Structure:
    """Return the statement that both hold."""
    return _JOIN[0](first, second)


Builder = Callable[[Any], Structure]
_BUILDERS: dict[str, Builder] = {"free": lambda _: Free()}
METHOD = "method"  # the key of a table that says how the belief is computed
_SHORT = {"decreasing": "order", "increasing": "order", "unimodal": "unimodal", "free": "free"}


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
        if values not in _SHORT:
            raise unknown_name("structure", values, _SHORT)
        return _BUILDERS[_SHORT[values]](True if values in ("unimodal", "free") else values)
    if not isinstance(values, Mapping):
        raise InvalidInputError(f'structure must be a table such as {{order = "decreasing"}}, got {values!r}')
    for key in values:
        if key not in _BUILDERS and key != METHOD:
            raise unknown_name("statement", str(key), _BUILDERS)
    parts = [_BUILDERS[key](_in_folder(key, value, folder)) for key, value in values.items() if key != METHOD]
    whole: Structure = reduce(joined, parts) if parts else Free()
    if (method := values.get(METHOD, "auto")) == "auto":
        return whole
    if (by := getattr(whole, "by", None)) is None:
        raise InvalidInputError(
            f"method can be chosen for statements that rank the arms, not where {whole.describe()}"
        )
    chosen: Structure = by(method)
    return chosen


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


def ability(structure: object, name: str, *given: Any, otherwise: Any = None) -> Any:
    """Return what a structure answers to `name` where it has that, else `otherwise`."""
    own = getattr(structure, name, None)
    return otherwise if own is None else own(*given)


def on(structure: Structure, offers: Offers) -> Structure:
    """Return the statement about given arms; one without `on` is about any."""
    bound: Structure = ability(structure, "on", offers, otherwise=structure)
    return bound


def has_own_prior(structure: Structure) -> bool:
    """Return whether a statement brings a prior of its own, so that prior rows say nothing of the means."""
    return bool(getattr(structure, "own_prior", False))


def after_data(structure: Structure, state: State) -> Structure:
    """Return the statement as it is after data, as far as prior rows cannot hold them; else the same."""
    found: Structure = ability(structure, "given", state, otherwise=structure)
    return found
