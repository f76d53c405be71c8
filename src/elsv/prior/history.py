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
from elsv.structure.rankings import is_number

Method = Literal["match", "power"]
METHODS: tuple[Method, ...] = get_args(Method)
COVERAGE = 0.9
_EXACT = 1e-5  # rows are searched for only if the error of means is smaller
_APART = 0.1  # a mean that is off by this share of its row's spread, or more, is reported

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
    columns = _counts("successes", successes, problem), _counts("failures", failures, problem)
    counts = np.stack(columns, axis=1)
    if not is_number(weight) or not 0 <= weight <= 1:
        raise InvalidInputError(
            f"weight must lie from 0 (old outcomes count for nothing) to 1 (as new ones), got {shown(weight)}"
        )
    check_factor(factor)
    if method not in METHODS:
        raise unknown_name("method", str(method), METHODS)
    share, seen = float(weight), counts.sum(axis=1)
    proof = evidence(problem, State(*(problem.prior + counts).T)) if seen.any() else None
    words = [_weight_in_words(problem, seen, share)]
    new = problem
    notes: tuple[str, ...] = ()
    if share > 0 and seen.any():
        known = known_arms(problem, seen)
        new, how = _with_history(neutral(problem, known), counts, share, method)
        words += how
        new, notes = from_neighbours(new, known, factor)
    warning = None if proof is None else proof.warning()
    given = zip(*counts.T.tolist(), (share * seen).tolist(), strict=True)
    fields = ({"successes": won, "failures": lost, "worth": worth} for won, lost, worth in given)
    arms = arm_priors(problem, new, COVERAGE, fields)
    warned = () if warning is None else (warning.replace("the data speak", "the history speaks"),)
    return Prior(new, arms, COVERAGE, tuple(words), notes, warned, share, proof)


def _with_history(
    problem: Problem, counts: FloatArray, share: float, method: Method
) -> tuple[Problem, list[str]]:
    """Return the problem with its new rows, and what was done in words."""
    full, tempered = problem.prior + counts, problem.prior + share * counts
    new = problem.with_prior(tempered, after_data(problem.structure, State(*tempered.T)))
    power = f"as if only {share:g} of the outcomes had been seen"
    if has_own_prior(problem.structure):
        return new, [f"the draws of the prior are weighted by the outcomes, {power}"]
    if method == "power":
        return new, [power]
    state = State(*full.T)
    if not repeats(problem.belief) or not float(error(problem.belief, state)) < _EXACT:
        return new, [f"{power}: means that are drawn cannot be matched"]
    rows = full / full.sum(axis=1, keepdims=True) * tempered.sum(axis=1, keepdims=True)
    wanted = mean_of(problem.belief, state)
    if not factors(problem.belief):
        seen = np.where(counts.sum(axis=1) > 0, wanted, np.nan)
        rows = rows_for(before_data(new), rows, seen, np.full((problem.arms, 2), np.nan))
    new = new.with_prior(rows)
    found = mean_of(new.belief, State.initial(new))
    spread = np.sqrt(wanted * (1 - wanted) / (1 + new.prior.sum(axis=1)))
    off = np.where(counts.sum(axis=1) > 0, np.abs(found - wanted) / spread, 0.0)
    how, worst = [f"means as after all of the history, as sure as {share:g} of it leaves"], int(off.argmax())
    if off[worst] >= _APART:
        how.append(
            f"what is assumed spreads means that are this close and this unsure: {problem.names[worst]} is "
            f"implied at {percent(found[worst])} where all of the history says {percent(wanted[worst])}"
        )
    return new, how


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


def _counts(name: str, given: Counts, problem: Problem) -> FloatArray:
    """Return one count for each arm ``[N]``."""
    if isinstance(given, Mapping):
        known = {find_arm(problem, arm): count for arm, count in given.items()}
        given = [known.get(i, 0.0) for i in range(problem.arms)]
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
