r"""Is the assumption right? What data say of a structure, against nothing known.

The Bayes factor of structure A against independent arms is

.. math:: \frac{W_A(s)/W_A(\text{prior})}{W_{\text{free}}(s)/W_{\text{free}}(\text{prior})},

how many times likelier the data are under it. With even odds beforehand it is the odds afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs import Belief, Independent
from elsv.beliefs.abilities import factors, log_weight, weighs
from elsv.state import State

DOUBTFUL = 20.0  # to one, from which on a person is warned


class Stated(Protocol):
    """A problem, as far as it is needed here."""

    @property
    def prior(self) -> FloatArray:
        """Counts before any data, ``[N, 2]``."""
        ...

    @property
    def belief(self) -> Belief:
        """The belief under the structure."""
        ...


@dataclass(frozen=True)
class Evidence:
    """What data say of a structure.

    Parameters
    ----------
    log_factor
        Logarithm of the Bayes factor against nothing known: negative where data speak against it.
    parts
        Of a mixture: the probability of each part given the data, in order.
    before
        The same before any data.
    robust
        Whether a part of the mixture assumes nothing. Then the factor is bounded by that part's share and
        says little: the probabilities of the parts tell what the data say.
    """

    log_factor: float
    parts: tuple[float, ...] = ()
    before: tuple[float, ...] = ()
    robust: bool = False

    @property
    def probability(self) -> float:
        """P(structure | data) if it was as likely as nothing known beforehand."""
        return float(1 / (1 + np.exp(-np.clip(self.log_factor, -700, 700))))

    @property
    def contradicted(self) -> bool:
        """Whether data speak against it by more than twenty to one."""
        return self.log_factor < -float(np.log(DOUBTFUL))

    @property
    def factor(self) -> float:
        """The Bayes factor against nothing known: how many times likelier it makes the data."""
        return float(np.exp(np.clip(self.log_factor, -700, 700)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "log_bayes_factor": self.log_factor,
            "bayes_factor": self.factor,
            "probability": self.probability,
            "contradicted": self.contradicted,
            "parts": list(self.parts),
            "before": list(self.before),
            "words": self.describe(),
            "warning": self.warning(),
        }

    def figures(self) -> str:
        """Return the probability and the Bayes factor as text; of a mixture, those of its parts."""
        against = (
            f"P(assumed | data) = {self.probability:.3g} from even odds, "
            f"Bayes factor {self.factor:.3g} against nothing known"
        )
        return self._with_parts(against, "its parts")

    def describe(self) -> str:
        """Say it in words; of a mixture, what has become of its parts."""
        return self._with_parts(self._weighed(), "the parts of the mixture")

    def _weighed(self) -> str:
        """Say how it fares against nothing known."""
        odds = odds_in_words(abs(self.log_factor))
        if abs(self.log_factor) < np.log(1.5):
            return "the data speak neither for nor against what is assumed"
        if self.log_factor > 0:
            return f"the data speak for what is assumed, {odds} against nothing known"
        return f"the data speak against what is assumed, {odds}"

    def _with_parts(self, against: str, parts: str) -> str:
        """Return `against`, which compares with nothing known, and what has become of the parts."""
        if not self.parts:
            return against
        now = f"{parts} now have the probabilities {_shares(self.parts)}"
        if self.before:
            now += f", before any data {_shares(self.before)}"
        return now if self.robust else f"{against}; {now}"

    def warning(self) -> str | None:
        """Return what to do where data contradict the structure, else None."""
        if not self.contradicted:
            return None
        remedy = (
            "give the robust part of the mixture more weight, or find out why"
            if self.parts
            else "check that outcomes are booked on the right arms; if they are, leave the assumption out or "
            "soften it with elsv.structure.mixture([(0.9, ...), (0.1, free())])"
        )
        return f"{self._weighed()}: {remedy}"


def _shares(parts: tuple[float, ...]) -> str:
    return ", ".join(f"{share:.3g}" for share in parts)


def odds_in_words(log_odds: float) -> str:
    """Return odds such as ``20 : 1``, rounded."""
    if log_odds > 13.8:
        return "more than a million to one"
    odds = float(np.exp(log_odds))
    return f"{odds:,.0f} : 1" if odds >= 10 else f"{odds:.1f} : 1"


def evidence(problem: Stated, state: State) -> Evidence | None:
    """Return what one state says of the problem's structure; None if nothing is assumed or W is not known.

    Parameters
    ----------
    problem
        Gives the structure's belief and the prior.
    state
        Counts ``[N]``.
    """
    belief = problem.belief
    if factors(belief) or not weighs(belief):
        return None
    start = State(problem.prior[:, 0], problem.prior[:, 1])
    free = Independent()
    assumed = float(log_weight(belief, state)) - float(log_weight(belief, start))
    nothing = float(free.log_weight(state)) - float(free.log_weight(start))
    chances = getattr(belief, "chances", None)
    if chances is None:
        return Evidence(assumed - nothing)
    parts = tuple(float(share) for share in chances(state))
    before = tuple(float(share) for share in chances(start))
    return Evidence(assumed - nothing, parts, before, _assumes_nothing(belief))


def _assumes_nothing(belief: Belief) -> bool:
    """Return whether a belief, or a part of it, is that of independent arms."""
    return factors(belief) or any(map(_assumes_nothing, getattr(belief, "parts", ())))
