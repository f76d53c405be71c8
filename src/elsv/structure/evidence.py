r"""Is the assumption right? What data say of a structure, against nothing known.

The Bayes factor of structure A against independent arms is

.. math:: \frac{W_A(s)/W_A(\text{prior})}{W_{\text{free}}(s)/W_{\text{free}}(\text{prior})},

how many times likelier the data are under it. With even odds beforehand it is the odds afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from elsv._typing import FloatArray
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
    """

    log_factor: float
    parts: tuple[float, ...] = ()

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
            "words": self.describe(),
            "warning": self.warning(),
        }

    def figures(self) -> str:
        """Return the probability and the Bayes factor as text."""
        shares = ", ".join(f"{share:.3g}" for share in self.parts)
        return (
            f"P(assumed | data) = {self.probability:.3g} from even odds, "
            f"Bayes factor {self.factor:.3g} against nothing known"
        ) + (f"; its parts now have the probabilities {shares}" if self.parts else "")

    def describe(self) -> str:
        """Say it in words."""
        odds = odds_in_words(abs(self.log_factor))
        if abs(self.log_factor) < np.log(1.5):
            said = "the data speak neither for nor against what is assumed"
        elif self.log_factor > 0:
            said = f"the data speak for what is assumed, {odds} against nothing known"
        else:
            said = f"the data speak against what is assumed, {odds}"
        if self.parts:
            shares = ", ".join(f"{share:.2g}" for share in self.parts)
            said += f"; the parts of the mixture now have the probabilities {shares}"
        return said

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
        return f"{self.describe()}: {remedy}"


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
    parts = () if chances is None else tuple(float(share) for share in chances(state))
    return Evidence(assumed - nothing, parts)
