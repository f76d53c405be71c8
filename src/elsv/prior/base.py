"""What is found out about a prior: rows, and what they imply beside what was given."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from elsv._base.numbers import finite
from elsv._base.typing import FloatArray
from elsv.beliefs.abilities import marginals
from elsv.prior.solving import tails
from elsv.problem import Problem
from elsv.state import State
from elsv.structure.evidence import Evidence

_SEED = 0  # for beliefs that draw


@dataclass(frozen=True)
class Implied:
    """What is believed of one arm before any data."""

    mean: float
    low: float  # ends of the central interval
    high: float


@dataclass(frozen=True)
class ArmPrior:
    """One arm: what was given of it, its row, and what the rows imply of it under the structure."""

    arm: int  # from 0
    name: str
    alpha: float
    beta: float
    before: Implied  # with the old rows
    after: Implied  # with the new rows
    successes: float | None = None  # of history
    failures: float | None = None
    worth: float | None = None  # outcomes that history counts for
    said: tuple[float, float] | None = None  # the interval that is expected


@dataclass(frozen=True)
class Findings:
    """Prior rows and what they imply.

    Parameters
    ----------
    problem
        With the new rows.
    arms
        One by one, before and after.
    coverage
        Probability of the intervals of `before` and `after`.
    words
        What was done, in sentences.
    warnings
        What is not as it was given, or speaks against the structure.
    weight
        Of history; None without.
    evidence
        What all of the history says of the structure; None where nothing is assumed or W is not known.
    """

    problem: Problem
    arms: tuple[ArmPrior, ...]
    coverage: float
    words: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    weight: float | None = None
    evidence: Evidence | None = None

    @property
    def rows(self) -> FloatArray:
        r"""Rows :math:`(\alpha_i, \beta_i)` of the new prior, ``[N, 2]``."""
        return self.problem.prior

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, for people: arms from 1."""
        values = {
            "prior": self.rows.tolist(),
            "names": list(self.problem.names),
            "arms": [{**asdict(arm), "arm": arm.arm + 1} for arm in self.arms],
            "coverage": self.coverage,
            "weight": self.weight,
            "evidence": None if self.evidence is None else self.evidence.to_dict(),
            "words": list(self.words),
            "warnings": list(self.warnings),
        }
        plain: dict[str, Any] = finite(values)
        return plain


def implied(problem: Problem, coverage: float) -> list[Implied]:
    """Return the mean and the central interval of every arm before any data."""
    start, rng = State.initial(problem), np.random.default_rng(_SEED)
    mean, (low, high) = marginals(problem.belief, start, tails(coverage), rng)
    return [Implied(*map(float, row)) for row in zip(mean, low, high, strict=True)]


def percent(share: float) -> str:
    """Return a probability as people read it: ``4.25 %``."""
    return f"{100 * share:.2f} %"
