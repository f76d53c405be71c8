"""What statements that rank or bound the arms have in common: they come to facts about given arms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs import Belief
from elsv.errors import InvalidInputError, unknown_name
from elsv.structure.base import Offers, Statement
from elsv.structure.beliefs_of import METHODS, Method, belief_of_facts
from elsv.structure.facts import Facts
from elsv.structure.fit import fit_facts
from elsv.structure.outline import Outline, outline_of_facts

Arm = str | int
_MOST_LISTED = 8  # names; of more the first and their number are told


@dataclass(frozen=True)
class Ranking(Statement):
    """A statement that comes to facts about arms; `on` says which arms."""

    method: Method = field(default="auto", kw_only=True)
    offers: Offers | None = field(default=None, repr=False, compare=False, kw_only=True)
    key: ClassVar[str] = ""

    @abstractmethod
    def facts(self, offers: Offers) -> Facts:
        """Return what is said of these arms."""

    @abstractmethod
    def value(self) -> Any:
        """Return the plain value under `key`."""

    @abstractmethod
    def describe(self) -> str:
        """Say in words what is assumed."""

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

    def to_dict(self) -> dict[str, Any]:
        """Return the statement under its key."""
        chosen = {} if self.method == "auto" else {"method": self.method}
        return {self.key: self.value(), **chosen}

    def on(self, offers: Offers) -> Self:
        """Return the statement about these arms."""
        bound = replace(self, offers=offers)
        bound.facts(offers).checked()
        return bound

    def holds(self, means: ArrayLike) -> AnyArray:
        """Return of means ``[..., N]`` whether they are possible, shape ``[...]``."""
        given = np.asarray(means, dtype=np.float64)
        return self.facts(self.offers or _unnamed(given.shape[-1])).holds(given)

    def belief(self) -> Belief:
        """Return the belief under the statement."""
        if self.offers is None:
            raise InvalidInputError(
                f"the belief under this statement needs its arms ({self.describe()}); "
                "give it to a problem, elsv.Problem(..., structure=...), and take the problem's belief"
            )
        return belief_of_facts(self.facts(self.offers), self.offers.prior, self.method)

    def outline(self) -> Outline:
        """Return what can be drawn of it, once it knows its arms."""
        return Outline() if self.offers is None else outline_of_facts(self.facts(self.offers))

    def ranking(self) -> Facts | None:
        """Return what is said of the arms, once it is known which they are."""
        return None if self.offers is None else self.facts(self.offers)

    def closest(self, won: FloatArray, lost: FloatArray) -> FloatArray | None:
        """Return the possible rates that explain these outcomes best."""
        return None if self.offers is None else fit_facts(self.facts(self.offers), won, lost)

    def _name(self, arm: Arm) -> str:
        if self.offers is not None:
            return self.offers.names[self.offers.number(arm)]
        return f"arm {arm}" if isinstance(arm, int) else arm


def _unnamed(arms: int) -> Offers:
    return Offers(tuple(f"arm {k + 1}" for k in range(arms)), np.ones(arms), np.ones((arms, 2)))


def facts_of(offers: Offers, **known: Any) -> Facts:
    """Return what is `known` of these arms, as facts."""
    return Facts(offers.names, tuple(offers.rewards.tolist()), **known)


def listed(names: Sequence[str]) -> str:
    """Return names parted by commas and a final *and*; of many the first few and how many others."""
    *first, last = names if len(names) <= _MOST_LISTED else (*names[: _MOST_LISTED - 2], _others(names))
    return f"{', '.join(first)} and {last}" if first else last


def _others(names: Sequence[str]) -> str:
    return f"{len(names) - _MOST_LISTED + 2} others"
