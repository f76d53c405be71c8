"""What a problem assumes, put together from what its structure and its belief say of themselves."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from elsv._base.numbers import duration, finite
from elsv.assumptions.pictures import WIDTH, ArmCheck, Canvas, draw, draw_intervals, picture, table
from elsv.beliefs import MethodUsed
from elsv.beliefs.abilities import error
from elsv.beliefs.base import mean_of, method_of
from elsv.errors import InvalidInputError
from elsv.policies import DEFAULT_POLICY, make_policy
from elsv.prior.found import believed, labelled
from elsv.problem import Problem
from elsv.state import State, check_arms
from elsv.structure import Outline
from elsv.structure.evidence import Doubt, Evidence, doubts, evidence
from elsv.structure.facts import outline_of

_labelled = partial(labelled, width=WIDTH)
_INTERVAL = (0.025, 0.975)
_SEED = 0  # for beliefs that draw


@dataclass(frozen=True, repr=False)
class Check:
    """What a problem assumes, what that implies, and what data say of it; prints as text and draws itself."""

    assumed: str  # in words
    outline: Outline
    arms: tuple[ArmCheck, ...]
    method: MethodUsed
    milliseconds: float  # that the means of one state take
    error: float | None  # of the means, as the belief measures it; None where it does not
    state: str | None = None  # alpha,beta pairs; None: no state was given
    evidence: Evidence | None = None  # None without data, or where nothing is assumed
    doubts: tuple[Doubt, ...] = ()  # what in the data speaks against what is assumed
    decision: float | None = None  # milliseconds that one of the default policy takes; None past the horizon
    segments: str = ""  # who comes and what is on offer to them, in words; empty where nobody named any

    @property
    def pulls(self) -> int:
        """How many pulls the state shows."""
        return sum(arm.pulls for arm in self.arms)

    def __str__(self) -> str:
        rows = _labelled("assumed", self.assumed)
        if self.segments:
            rows += _labelled("segments", self.segments)
        for share, words, part in self.outline.parts:
            rows += ["", f"with probability {share:g}", *(picture(part, self.arms) or _labelled("", words))]
        if drawn := picture(self.outline, self.arms):
            rows += ["", *drawn]
        rows += ["", "before any data", *table(self.arms, before=True), ""]
        rows += _labelled("method", self.method.words)
        rows += _labelled("cost", self._cost())
        rows += _labelled("error", _error(self.error))
        if self.state is not None:
            after = f"after {self.pulls} pull{'' if self.pulls == 1 else 's'} ({self.state})"
            rows += ["", after, *table(self.arms, before=False), ""]
            rows += self._data()
        return "\n".join(rows)

    def _data(self) -> list[str]:
        if not self.pulls:
            return _labelled("data", "none yet")
        if self.evidence is None:
            rows = _labelled("data", "nothing is assumed, so that data cannot contradict it")
        else:
            rows = _labelled("data", self.evidence.describe())
            rows += _labelled("", replace(self.evidence, parts=()).figures())
            for (share, words, _), now in zip(self.outline.parts, self.evidence.parts, strict=False):
                rows += _labelled("", f"{share:g} → {now:.3g}  {words}")
        for doubt in self.doubts:
            rows += _labelled("warning", doubt.words)
        return rows

    def _cost(self) -> str:
        said = f"means {duration(self.milliseconds / 1e3)} a state"
        if self.decision is not None:
            said += f", {DEFAULT_POLICY} {duration(self.decision / 1e3)} a decision"
        beliefs = int(self.method.figures.get("beliefs", 1))
        return f"{said}, on this machine" + (f"; each evaluates {beliefs} beliefs" if beliefs > 1 else "")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, for people: arms from 1."""
        values = {
            "assumed": self.assumed,
            "outline": self.outline.to_dict(),
            "arms": [{**asdict(arm), "arm": arm.arm + 1} for arm in self.arms],
            "method": self.method.to_dict(),
            "milliseconds": self.milliseconds,
            "decision_milliseconds": self.decision,
            "error": self.error,
            "state": self.state,
            "pulls": self.pulls,
            "evidence": self.evidence and self.evidence.to_dict(),
            "doubts": [doubt.to_dict() for doubt in self.doubts],
            **({"segments": self.segments} if self.segments else {}),
        }
        return cast(dict[str, Any], finite(values))

    def __repr__(self) -> str:
        return f"Check({self.assumed!r}, arms={len(self.arms)}, method={self.method.name!r})"

    def svg(self) -> str:
        """Return the order, and the means that it implies, as one SVG image that needs nothing else."""
        canvas = Canvas()
        canvas.write("What is assumed", "head")
        canvas.write(self.assumed)
        if self.segments:
            canvas.write(f"Segments: {self.segments}")
        canvas.below += 4.0
        parts = self.outline.parts
        now = self.evidence.parts if self.evidence is not None else ()
        for k, (share, words, part) in enumerate(parts):
            changed = f", now {now[k]:.3g}" if k < len(now) else ""
            named = "" if part.pairs or part.peak else f": {words}"
            canvas.write(f"({k + 1}) with probability {share:g}{changed}{named}", "soft")
            draw(canvas, part, self.arms)
        draw(canvas, self.outline, self.arms)
        draw_intervals(canvas, self.arms)
        canvas.write(f"Method: {self.method.words}", "soft")
        if self.evidence is not None:
            canvas.write(self.evidence.describe(), "bad" if self.evidence.contradicted else "")
        return canvas.svg(f"What is assumed of {len(self.arms)} arms")

    def _repr_svg_(self) -> str:
        return self.svg()


def check(problem: Problem, state: State | None = None) -> Check:
    """Return what a problem assumes, what that implies before any data, and what it costs to compute.

    Parameters
    ----------
    problem
        Whose structure is checked.
    state
        Data, as Beta counts of one instance: what they say for or against the structure, and the means after
        them. Default: none.

    Examples
    --------
    >>> found = check(Problem(rewards=[1, 1], order="decreasing", horizon=5), State([1, 9], [9, 1]))
    >>> found.assumed
    'the means decrease: each arm succeeds at least as often as the next'
    >>> [round(arm.prior.mean, 3) for arm in found.arms]
    [0.667, 0.333]
    >>> found.evidence.contradicted
    True
    """
    belief, start = problem.belief, State.initial(problem)
    now = start if state is None else state
    check_arms(now, problem)
    if now.shape != ():
        raise InvalidInputError(f"state must be of one instance, got a batch of shape {now.shape}")
    before = believed(problem, start, _INTERVAL)
    after = [None] * problem.arms if state is None else believed(problem, now, _INTERVAL)
    pulls = now.pulls(problem).astype(int).tolist()
    pairs = " ".join(f"{a:g},{b:g}" for a, b in zip(now.alpha, now.beta, strict=True))
    each = zip(problem.names, problem.rewards.tolist(), before, pulls, after, strict=True)
    wrong = float(error(belief, now))
    said = evidence(problem, now) if any(pulls) else None
    return Check(
        assumed=problem.structure.describe(),
        outline=outline_of(problem.structure),
        arms=tuple(ArmCheck(i, *one) for i, one in enumerate(each)),
        method=method_of(belief, now),
        milliseconds=_milliseconds(lambda near: mean_of(belief, near, np.random.default_rng(_SEED)), now),
        error=None if math.isnan(wrong) else wrong,
        state=None if state is None else pairs,
        evidence=said,
        doubts=doubts(problem, now, said),
        decision=_decision(problem, now),
        segments=problem.segments.describe(problem.names),
    )


def _decision(problem: Problem, state: State) -> float | None:
    """Return the milliseconds that a decision of the default policy takes; None after the last one."""
    step = int(state.pulls(problem).sum()) + 1
    if problem.horizon is not None and step > problem.horizon:
        return None
    policy, rng = make_policy(DEFAULT_POLICY, problem), np.random.default_rng(_SEED)
    return _milliseconds(lambda near: policy(near, step, rng, problem.segments.turns[0]), state)


def _milliseconds(work: Callable[[State], object], state: State) -> float:
    """Return the milliseconds that `work` takes near a state, the least of two: the first may compile."""
    spent = []
    for arm in range(2):
        more = (np.arange(state.arms) == arm % state.arms) * (1.0 + arm // state.arms)
        near = State(state.alpha + more, state.beta)
        began = time.perf_counter()
        work(near)
        spent.append(time.perf_counter() - began)
    return 1e3 * min(spent)


def _error(error: float | None) -> str:
    if error is None:
        return "not measured by this belief"
    return f"{error:.1g} in a mean" if error else "none, exact to rounding"
