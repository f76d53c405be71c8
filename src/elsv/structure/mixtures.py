"""One of several statements holds, each with a probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.numbers import shown
from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs import Belief, Mixture
from elsv.beliefs.abilities import weighs
from elsv.errors import InvalidInputError
from elsv.state import State
from elsv.structure.base import WORDS, Bound, Structure, after_data, has_own_prior, on, register, structure_of
from elsv.structure.facts import Offers, Outline, outline_of
from elsv.structure.fit import closest, likelihood
from elsv.structure.rankings import is_number

_DEEPEST = 20  # mixtures within mixtures
_LEAST = 1e-12  # probability that a part keeps whatever data say, for those of a mixture are above 0


@dataclass(frozen=True)
class MixtureOf(Bound):
    """One of several statements holds, each with a probability."""

    parts: tuple[tuple[float, Structure], ...]

    def describe(self) -> str:
        """Say in words what is assumed."""
        return "; ".join(f"with probability {share:g}, {part.describe()}" for share, part in self.parts)

    def to_dict(self) -> dict[str, Any]:
        """Return probabilities and statements; a single word where one will do."""

        def short(stated: dict[str, Any]) -> Any:
            return next((word for word, table in WORDS.items() if table == stated), stated)

        return {"mixture": [[share, short(part.to_dict())] for share, part in self.parts]}

    def on(self, offers: Offers) -> MixtureOf:
        """Return the statements about these arms."""
        parts = tuple((share, on(part, offers)) for share, part in self.parts)
        return replace(self, parts=parts, offers=offers)

    def holds(self, means: ArrayLike) -> AnyArray:
        """Return whether means are possible under one of the statements."""
        given = np.asarray(means, dtype=np.float64)
        return np.asarray(np.any([part.holds(given) for _, part in self.parts], axis=0))

    def outline(self) -> Outline:
        """Return what a picture shows of the parts."""
        parts = [(share, part.describe(), outline_of(part)) for share, part in self.parts]
        return parts[0][2] if len(parts) == 1 else Outline(parts=tuple(parts))

    def belief(self) -> Belief:
        """Return the weighted beliefs; each must give weights W."""
        prior = self._told("under a mixture needs the prior").prior
        if len(self.parts) == 1:
            return self.parts[0][1].belief()
        beliefs = tuple(part.belief() for _, part in self.parts)
        for (_, part), belief in zip(self.parts, beliefs, strict=True):
            if not weighs(belief):
                raise InvalidInputError(
                    "every part of a mixture must say how likely data are (log_weight), which Gibbs sampling "
                    f"does not, got: {part.describe()}; leave its method out, or state more of the order"
                )
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
    if _too_deep(parts):
        raise InvalidInputError(
            f"mixtures may be nested {_DEEPEST} deep, got one that is deeper; multiply the probabilities "
            "of nested parts and list the parts side by side"
        )
    found = []
    for pair in parts:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise InvalidInputError(f'mixture must have pairs such as [0.9, "decreasing"], got {shown(pair)}')
        share, given = pair
        if not is_number(share) or not 0 < share <= 1:
            raise InvalidInputError(
                f"probabilities of a mixture must be above 0 and at most 1, got {shown(share)}"
            )
        found.append((float(share), structure_of(given)))  # type: ignore[arg-type]
    total = sum(share for share, _ in found)
    if abs(total - 1) > 1e-9:
        raise InvalidInputError(f"probabilities of a mixture must sum to 1, got {total:g}")
    return MixtureOf(tuple(found))


def _too_deep(parts: Any, room: int = _DEEPEST) -> bool:
    """Return whether parts of a mixture are mixtures, and so on, more than `room` deep."""
    listed = parts if isinstance(parts, Sequence) else ()
    given = [pair[1] for pair in listed if isinstance(pair, Sequence) and len(pair) == 2]
    inner = [one["mixture"] for one in given if isinstance(one, Mapping) and "mixture" in one]
    inner += [one.parts for one in given if isinstance(one, MixtureOf)]
    return room == 0 or any(_too_deep(one, room - 1) for one in inner)


register("mixture", mixture)
