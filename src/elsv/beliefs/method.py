"""How a belief is computed, in words and figures: an ability that a belief may have.

A belief says it by ``describe_method(state)``; of one that does not, only its name is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from elsv._base.inheritance import still_holds
from elsv.beliefs.base import Belief
from elsv.state import State


@dataclass(frozen=True)
class MethodUsed:
    """A way to compute a belief in a state.

    Parameters
    ----------
    name
        One word, such as ``"ladder"``.
    words
        The same for people, with its figures.
    figures
        What tells its cost or quality: messages, draws, acceptance, effective, r_hat.
    """

    name: str
    words: str
    figures: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"name": self.name, "words": self.words, **self.figures}


def method_of(belief: Belief, state: State) -> MethodUsed:
    """Return how a belief is computed in one state; a parent's answer does not go with a mean of its own."""
    own = getattr(belief, "describe_method", None)
    if own is not None and still_holds(belief, "describe_method", "mean"):
        found: MethodUsed = own(state)
        return found
    name = type(belief).__name__
    return MethodUsed(name, f"{name}, which does not say how it computes")
