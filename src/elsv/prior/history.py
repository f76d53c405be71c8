r"""Last season's outcomes as prior rows.

With rows :math:`(a_i, b_i)` before, :math:`s_i` successes and :math:`f_i` failures of :math:`n_i` outcomes,
and a weight w from 0 (they count for nothing) to 1 (as if they were of this season):

**power** puts them in as they are, :math:`\alpha_i = a_i + w s_i`, :math:`\beta_i = b_i + w f_i`. Under the
same structure this is the posterior with the likelihood to the power w, as if only a share w of the outcomes
had been seen. Fewer outcomes leave means wider, and an order spreads wide means apart: three discounts that
all sold to 5 % of 400 customers come out at 11, 7 and 4 % with a weight of 0.1. That is right where old
outcomes are fewer than they look: counted twice, or of customers most of whom do not come any more.

**match**, the default, keeps what was learnt and is less sure of it. The means under the structure are those
after all of the history,

.. math:: E[\mu_i \mid \text{rows}, \text{structure}] = E[\mu_i \mid a + s, b + f, \text{structure}],
    \qquad \alpha_i + \beta_i = a_i + b_i + w n_i,

so that rows carry w times the outcomes and imply what was seen. That is right where the world has moved a
little since. With w = 1 both are :math:`(a_i + s_i, b_i + f_i)`; without a structure they differ only in how
much the old rows still pull.

A mixture's probabilities are brought up to date with a share w of the outcomes; draws of a prior (a demand
curve, samples) are weighted by the likelihood to the power w, for rows say nothing there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from elsv._base.numbers import numbers, shown
from elsv._base.typing import AnyArray, FloatArray
from elsv.beliefs.abilities import error, factors, repeats
from elsv.beliefs.base import mean_of
from elsv.errors import InvalidInputError, unknown_name
from elsv.policies.single import find_arm
from elsv.prior.found import Prior, arm_priors, percent
from elsv.prior.solving import before_data, rows_for
from elsv.prior.untried import check_factor, from_neighbours, known_arms, neutral
from elsv.problem import Problem
from elsv.state import State
from elsv.structure.base import after_data, has_own_prior
from elsv.structure.evidence import evidence

Method = Literal["match", "power"]
METHODS: tuple[Method, ...] = get_args(Method)
COVERAGE = 0.9
_EXACT = 1e-5  # error of means from which on rows are not searched for
_APART = 0.1  # of a row's own spread, from which on a mean that was not reached is told
_MATCHED = "means as after all of the history"

Counts = ArrayLike | Mapping[str, float]


def from_history(
    problem: Problem,
    successes: Counts,
    failures: Counts,
    weight: float = 0.3,
    method: Method = "match",
    factor: float | None = None,
) -> Prior:
    """Return prior rows that hold last season's outcomes, and what they imply under the structure.

    Parameters
    ----------
    problem
        Its rows are what was believed before that season; its structure holds in both.
    successes, failures
        Of every arm, in order or by name; an arm that is not named has none.
    weight
        What an old outcome is worth beside a new one, from 0 to 1.
    method
        ``"match"``: means as after all of the history, as sure as a share `weight` of it leaves;
        ``"power"``: as if only that share had been seen.
    factor
        An arm without outcomes and with a uniform row has odds within this factor of its neighbour's, for
        each step between them; default: 2, or 3 where nothing is known of an order. See `elsv.prior.untried`.
    """
    won, lost = _counts("successes", successes, problem), _counts("failures", failures, problem)
    share = _weight(weight)
    check_factor(factor)
    if method not in METHODS:
        raise unknown_name("method", str(method), METHODS)
    seen = won + lost
    full = State(problem.prior[:, 0] + won, problem.prior[:, 1] + lost)
    proof = evidence(problem, full) if seen.any() else None
    words = [_weight_in_words(problem, seen, share)]
    new = problem
    notes: tuple[str, ...] = ()
    if share > 0 and seen.any():
        known = known_arms(problem, seen)
        base = neutral(problem, known)
        new, how = _with_history(base, won, lost, share, method)
        words.append(how)
        if how.startswith(_MATCHED):
            words += _not_reached(base, new, won, lost)
        new, notes = from_neighbours(new, known, factor)
    warning = None if proof is None else proof.warning()
    given = np.stack([won, lost, share * seen], axis=1).tolist()
    fields = ({"successes": s, "failures": k, "worth": w} for s, k, w in given)
    arms = arm_priors(problem, new, COVERAGE, fields)
    warned = () if warning is None else (warning.replace("the data speak", "the history speaks"),)
    return Prior(new, arms, COVERAGE, tuple(words), notes, warned, share, proof)


def _with_history(
    problem: Problem, won: FloatArray, lost: FloatArray, share: float, method: Method
) -> tuple[Problem, str]:
    """Return the problem with its new rows, and what was done in words."""
    counts = np.stack([won, lost], axis=1)
    tempered = problem.prior + share * counts
    known = after_data(problem.structure, State(tempered[:, 0], tempered[:, 1]))
    new = problem.with_prior(tempered, known)
    all_of_it = problem.prior + counts
    full = State(all_of_it[:, 0], all_of_it[:, 1])
    power = f"as if only {share:g} of the outcomes had been seen"
    if has_own_prior(problem.structure):
        return new, f"the draws of the prior are weighted by the outcomes, {power}"
    if method == "power":
        return new, power
    wrong = float(error(problem.belief, full))
    if not repeats(problem.belief) or not wrong < _EXACT:
        return new, f"{power}: means that are drawn cannot be matched"
    start = all_of_it / all_of_it.sum(axis=1, keepdims=True) * tempered.sum(axis=1, keepdims=True)
    if factors(problem.belief):
        rows = start
    else:
        wanted = mean_of(problem.belief, full)
        wanted[won + lost == 0] = np.nan
        rows = rows_for(before_data(new), start, wanted, np.full((problem.arms, 2), np.nan))
    return new.with_prior(rows), f"{_MATCHED}, as sure as {share:g} of it leaves"


def _weight_in_words(problem: Problem, seen: FloatArray, share: float) -> str:
    total = float(seen.sum())
    if total == 0:
        return "there are no outcomes: the prior stays as it was"
    if share == 0:
        return f"weight 0: none of {total:,.0f} outcomes counts, the prior stays as it was"
    worth = share * seen
    counted = f"weight {share:g}: {share * total:,.0f} of {total:,.0f} outcomes count"
    least, most = int(worth.argmin()), int(worth.argmax())
    if worth[most] - worth[least] < 0.5:
        return f"{counted}; the history is worth {worth[most]:,.0f} customers on every arm"
    return (
        f"{counted}; the history is worth {worth[least]:,.0f} customers on {problem.names[least]} "
        f"to {worth[most]:,.0f} on {problem.names[most]}"
    )


def _not_reached(problem: Problem, new: Problem, won: FloatArray, lost: FloatArray) -> list[str]:
    """Say which mean is furthest from what all of the history says, if it is far."""
    full = State(problem.prior[:, 0] + won, problem.prior[:, 1] + lost)
    wanted, found = mean_of(problem.belief, full), mean_of(new.belief, State.initial(new))
    spread = np.sqrt(wanted * (1 - wanted) / (1 + new.prior.sum(axis=1)))
    off = np.where(won + lost > 0, np.abs(found - wanted) / spread, 0.0)
    worst = int(off.argmax())
    if off[worst] < _APART:
        return []
    return [
        f"what is assumed spreads means that are this close and this unsure: {problem.names[worst]} is "
        f"implied at {percent(found[worst])} where all of the history says {percent(wanted[worst])}"
    ]


def _counts(name: str, given: Counts, problem: Problem) -> FloatArray:
    """Return one count for each arm ``[N]``."""
    if isinstance(given, Mapping):
        counts = np.zeros(problem.arms)
        for arm, count in given.items():
            counts[find_arm(problem, arm)] = numbers(name, count)
    else:
        counts = numbers(name, given)
    if counts.shape != (problem.arms,):
        raise InvalidInputError(
            f"{name} must be {problem.arms} numbers, one for each arm, got shape {counts.shape}"
        )
    bad: AnyArray = ~((counts >= 0) & (counts < np.inf))
    if bad.any():
        i = int(np.argmax(bad))
        raise InvalidInputError(f"{name} must not be negative, got {counts[i]:g} for {problem.names[i]}")
    return counts


def _weight(weight: object) -> float:
    if isinstance(weight, bool) or not isinstance(weight, int | float | np.number) or not 0 <= weight <= 1:
        raise InvalidInputError(
            f"weight must lie from 0 (old outcomes count for nothing) to 1 (as new ones), got {shown(weight)}"
        )
    return float(weight)
