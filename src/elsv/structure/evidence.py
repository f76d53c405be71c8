r"""Does what is assumed hold? Three questions, each with its own answer, and the Bayes factor.

1. **The structure**: :math:`\lambda = 2[\ell(\text{rates as seen}) - \ell(\text{best rates within it})]`. If
   it holds, :math:`P(\chi^2_{K-1} > \lambda)` bounds the chance of outcomes as far off, with K arms tried.
2. **The prior**: for every arm the chance, before any data, of outcomes at least as far out as those seen: a
   Beta-binomial with the mean and the variance of the arm, two-sided.
3. **Time**: the rates in both halves of an arm's customers, by their likelihood ratio.

The Bayes factor against independent arms with the same prior rows,

.. math:: \frac{W_A(s)/W_A(\text{prior})}{W_{\text{free}}(s)/W_{\text{free}}(\text{prior})},

mixes the structure with the level of the prior. It is given "with this prior", and nobody is warned by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs import Belief, Independent
from elsv.beliefs.abilities import factors, log_weight, moments, quantiles, weighs
from elsv.errors import ElsvError
from elsv.state import Arms, State
from elsv.structure.base import Structure
from elsv.structure.fit import as_seen, closest, likelihood

CONTRADICTED = 0.01  # chance at which a structure is warned of
SURPRISING = 0.001  # chance, shared by all arms, at which a prior or a change with time is noted
_MANY = 100_000  # with more outcomes the predictive is not added up one by one
LOOKS = 4  # halves are compared again and again: this many looks share the chance
LEAST_IN_A_HALF = 20  # halves of an arm's customers are compared if each has at least as many outcomes
Counts = tuple[float, float]  # successes and outcomes
_REMEDY = (
    "check that outcomes are booked on the right arms; if they are, leave the assumption out or soften it "
    "with a mixture"
)


class _Stated(Arms, Protocol):
    """A problem, as far as it is needed here."""

    @property
    def belief(self) -> Belief: ...
    @property
    def structure(self) -> Structure: ...
    @property
    def names(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Evidence:
    """What data say of a structure."""

    log_factor: float | None  # log of the Bayes factor with this prior; None: the belief gives no weights W
    parts: tuple[float, ...] = ()  # of a mixture: the probability of each part given the data, in order
    before: tuple[float, ...] = ()  # the same before any data
    # Whether a part of the mixture assumes nothing. Then the factor is bounded by that part's share and says
    # little: the probabilities of the parts tell what the data say.
    robust: bool = False
    # λ, twice what the best rates within the structure lack in log likelihood; None: they were not found.
    ratio: float | None = None
    chance: float | None = None  # of outcomes as far off if the structure holds, at most; None: no verdict

    @property
    def contradicted(self) -> bool:
        """Whether outcomes as far off have a chance of 1 % at most if the structure holds."""
        return self.chance is not None and self.chance <= CONTRADICTED

    @property
    def factor(self) -> float | None:
        """The Bayes factor with this prior: how many times likelier the structure makes the data."""
        return None if self.log_factor is None else math.exp(max(-700.0, min(700.0, self.log_factor)))

    @property
    def probability(self) -> float | None:
        """P(structure | data) with this prior, from even odds against nothing known."""
        return None if self.factor is None else self.factor / (1 + self.factor)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "likelihood_ratio": self.ratio,
            "chance": self.chance,
            "contradicted": self.contradicted,
            "log_bayes_factor": self.log_factor,
            "bayes_factor": self.factor,
            "probability": self.probability,
            "bayes_factor_is": "with this prior",
            "parts": list(self.parts),
            "before": list(self.before),
            "words": self.describe(),
            "warning": self.warning(),
        }

    def describe(self) -> str:
        """Say in words whether data agree with what is assumed."""
        if self.chance is None or self.ratio is None:
            return "whether the data agree with what is assumed cannot be said: no best rates were found"
        if self.contradicted:
            return f"the data speak against what is assumed, p ≤ {self.chance:.2g}"
        if self.ratio < 1e-3:
            return "the data agree with what is assumed"
        return f"the data do not speak against what is assumed, p ≤ {self.chance:.2g}"

    def figures(self) -> str:
        """Return λ, its chance and the Bayes factor as text; of a mixture, the shares of its parts."""
        said = []
        if self.ratio is not None and self.chance is not None:
            said.append(f"likelihood ratio λ = {self.ratio:.2f}, p ≤ {self.chance:.2g}")
        if self.factor is not None and not self.robust:
            said.append(
                f"with this prior: P(assumed | data) = {self.probability:.3g} from even odds, "
                f"Bayes factor {self.factor:.3g} against nothing known"
            )
        if self.parts:
            before = f", before any data {_shares(self.before)}" if self.before else ""
            said.append(f"its parts now have the probabilities {_shares(self.parts)}{before}")
        return "; ".join(said)

    def warning(self) -> str | None:
        """Return what to do where data contradict the structure, else None."""
        return f"{self.describe()}: {_REMEDY}" if self.contradicted else None


@dataclass(frozen=True)
class Doubt:
    """One thing that speaks against what is assumed, in a sentence."""

    about: str  # structure, prior, time, split or outcomes
    words: str
    chance: float | None = None  # of data as far out, if what is assumed holds

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"about": self.about, "words": self.words, "chance": self.chance}


def _shares(parts: tuple[float, ...]) -> str:
    return ", ".join(f"{share:.3g}" for share in parts)


def in_percent(chance: float) -> str:
    """Return a chance in per cent with two significant digits, from a thousandth of a per cent up."""
    return "less than 0.001 %" if chance < 1e-5 else f"{100 * chance:.2g} %"


def evidence(problem: _Stated, state: State) -> Evidence | None:
    """Return what one state ``[N]`` says of the problem's structure; None if nothing is assumed."""
    belief = problem.belief
    if factors(belief):
        return None
    ratio, chance = _ratio(problem, state)
    if not weighs(belief):
        return Evidence(None, ratio=ratio, chance=chance)
    start = State.initial(problem)
    assumed, nothing = (
        float(log_weight(one, state)) - float(log_weight(one, start)) for one in (belief, Independent())
    )
    if not hasattr(belief, "chances"):
        return Evidence(assumed - nothing, ratio=ratio, chance=chance)
    now, before = (tuple(float(share) for share in belief.chances(one)) for one in (state, start))
    return Evidence(assumed - nothing, now, before, _assumes_nothing(belief), ratio, chance)


def contradiction(problem: _Stated, state: State) -> str | None:
    """Return the warning of `evidence`, without the time that its Bayes factor takes.

    Where one rate for all arms fits well enough and agrees with the structure, no best fit is looked for.
    """
    if factors(problem.belief) or _one_rate_fits(problem, state):
        return None
    ratio, chance = _ratio(problem, state)
    return Evidence(None, ratio=ratio, chance=chance).warning()


def _one_rate_fits(problem: _Stated, state: State) -> bool:
    """Return whether one rate for all arms agrees with the structure and is far from contradicted."""
    won, lost = _outcomes(problem, state)
    seen = float((won + lost).sum())
    common = np.full(won.shape, float(won.sum()) / seen if seen else 0.5)
    if not bool(problem.structure.holds(common[None]).all()):
        return False
    return _chance(won, lost, common)[1] > 2 * CONTRADICTED


def _assumes_nothing(belief: Belief) -> bool:
    """Return whether a belief, or a part of a mixture, is that of independent arms."""
    parts = getattr(belief, "parts", ()) if hasattr(belief, "chances") else ()
    return factors(belief) or any(map(_assumes_nothing, parts))


def _outcomes(problem: _Stated, state: State) -> tuple[FloatArray, FloatArray]:
    """Return successes and failures since the prior, none below 0."""
    won, lost = state.alpha - problem.prior[:, 0], state.beta - problem.prior[:, 1]
    return np.maximum(won, 0.0), np.maximum(lost, 0.0)


def _ratio(problem: _Stated, state: State) -> tuple[float | None, float | None]:
    """Return λ and the chance that bounds it."""
    won, lost = _outcomes(problem, state)
    try:
        best = closest(problem.structure, problem.belief, state, won, lost)
    except ElsvError:
        best = None
    return (None, None) if best is None else _chance(won, lost, best)


def _chance(won: FloatArray, lost: FloatArray, best: FloatArray) -> tuple[float, float]:
    """Return λ against some rates within the structure, and the chance that bounds it."""
    from scipy.special import chdtrc

    tried = int((won + lost > 0).sum())
    missing = likelihood(as_seen(won, lost), won, lost) - likelihood(best, won, lost)
    ratio = max(0.0, 2 * float(missing))
    return ratio, float(chdtrc(max(1, tried - 1), ratio)) if ratio > 0 else 1.0


def doubts(
    problem: _Stated,
    state: State,
    found: Evidence | None,
    halves: Sequence[tuple[Counts, Counts] | None] = (),
) -> tuple[Doubt, ...]:
    """Return what speaks against what is assumed: against the structure, the prior, rates that do not change.

    `found` is what `evidence` says of the problem and the state. `halves` has for each arm the successes and
    outcomes of the first and of the second half of its customers.
    """
    said: list[Doubt] = []
    if found is not None and found.contradicted:
        words = (
            f"The outcomes speak against what is assumed: {problem.structure.describe()}. If that held, "
            f"outcomes as far off would have a chance of {in_percent(found.chance or 0.0)} at most. "
            f"{_REMEDY[0].upper()}{_REMEDY[1:]}."
        )
        said.append(Doubt("structure", words, found.chance))
    said += _surprises(problem, state)
    said += _changes(problem, halves)
    return tuple(said)


def _surprises(problem: _Stated, state: State) -> Iterator[Doubt]:
    """Yield the arms whose outcomes the prior did not expect."""
    won, lost = _outcomes(problem, state)
    seen = won + lost
    if not seen.any():
        return
    start = State.initial(problem)
    mean, variance = moments(problem.belief, start, np.random.default_rng(0))
    chances = np.array([predictive(*four) for four in zip(mean, variance, won, seen, strict=True)])
    limit = SURPRISING / (seen > 0).sum()
    if (chances > limit).all():
        return
    low, high = quantiles(problem.belief, start, (0.025, 0.975))
    for arm in np.flatnonzero(chances <= limit):
        words = (
            f"Beforehand {problem.names[arm]} was expected at {100 * low[arm]:.2g} to "
            f"{100 * high[arm]:.2g} %; {100 * won[arm] / seen[arm]:.2g} % of {seen[arm]:,.0f} succeeded. "
            "What was expected of it does not fit."
        )
        yield Doubt("prior", words, float(chances[arm]))


def predictive(mean: float, variance: float, won: float, seen: float) -> float:
    """Return the chance of successes at least as far from what was expected, two-sided.

    The rate is Beta distributed with this mean and variance, the successes are Binomial given the rate. With
    many outcomes the share of successes is taken as Beta distributed too, with its own mean and variance.
    """
    from scipy.special import betainc, betaln, gammaln

    total = round(seen)
    if total == 0 or not 0 < mean < 1 or variance <= 0:
        return 1.0
    count = min(total, round(won))
    strength = max(1e-9, mean * (1 - mean) / variance - 1)
    if total > _MANY:
        strength = max(1e-9, total * (strength + 1) / (strength + total) - 1)
    a, b = strength * mean, strength * (1 - mean)
    if total > _MANY:
        below = betainc(a, b, min(1.0, (count + 0.5) / total))
        above = 1 - betainc(a, b, max(0.0, (count - 0.5) / total))
    else:
        k = np.arange(total + 1)
        log = gammaln(total + 1) - gammaln(k + 1) - gammaln(total - k + 1)
        share = np.exp(log + betaln(k + a, total - k + b) - betaln(a, b))
        below, above = share[: count + 1].sum(), share[count:].sum()
    return min(1.0, 2 * min(float(below), float(above)))


def _changes(problem: _Stated, halves: Sequence[tuple[Counts, Counts] | None]) -> Iterator[Doubt]:
    """Yield the arms whose rate changed from the first half of their customers to the second."""
    pairs = zip(problem.names, halves, strict=False)
    compared = [(name, *two) for name, two in pairs if two and min(two[0][1], two[1][1]) >= LEAST_IN_A_HALF]
    for name, first, second in compared:
        chance = changed(first, second)
        if chance <= SURPRISING / (LOOKS * len(compared)):
            words = (
                f"{name} changed with time: {100 * first[0] / first[1]:.2g} % of its first "
                f"{first[1]:,.0f} customers succeeded, {100 * second[0] / second[1]:.2g} % of the "
                f"{second[1]:,.0f} after them. Only a comparison by holdout survives that."
            )
            yield Doubt("time", words, chance)


def changed(first: Counts, second: Counts) -> float:
    """Return the chance that two samples of one rate, (successes, outcomes), are as far apart."""
    from scipy.special import chdtrc

    won, seen = np.array([first, second], dtype=np.float64).T
    one_rate = likelihood(np.full(2, won.sum() / seen.sum()), won, seen - won)
    apart = likelihood(won / seen, won, seen - won) - one_rate
    return float(chdtrc(1, 2 * max(0.0, float(apart))))
