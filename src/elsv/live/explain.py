"""What a policy sees in a state, arm by arm, for people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from elsv._base.html import block, note, table
from elsv.beliefs.abilities import best_in_groups, factors, marginals
from elsv.policies import Policy, ScoringPolicy
from elsv.policies.base import ask, best_offered
from elsv.policies.registry import meaning
from elsv.problem import Problem
from elsv.segments import number_of
from elsv.state import State, check_arms
from elsv.structure.evidence import Doubt, Evidence, doubts, evidence

INTERVAL = (0.025, 0.975)
_SAME_SCALE = 2.0  # rewards; scores above are no longer about one pull
BEST_TOLERANCE = 1e-4  # of P(best): as many digits as are shown


@dataclass(frozen=True)
class ArmExplanation:
    """One arm: what is believed of it and how the policy scores it."""

    arm: int  # from 0
    name: str
    reward: float
    pulls: int
    mean: float  # under the problem's own belief, order included
    worth: float  # reward times mean: the expected reward of one pull
    low: float  # 2.5 % quantile of the mean under the belief
    high: float  # 97.5 % quantile
    bonus: float | None  # reward times the index's exploration bonus; None without an index
    q: float | None  # the score by which the policy chooses; None if it has none
    best: float  # P(this arm has the largest reward times mean), of its segment


@dataclass(frozen=True, repr=False)
class Explanation:
    """A decision and the reasons for it."""

    arm: int  # from 0, the arm to pull
    step: int
    policy: str
    arms: tuple[ArmExplanation, ...]
    assumed: str | None = None  # in words; None where nothing is
    evidence: Evidence | None = None  # what the data say of it; None without data
    segment: str | None = None  # who has come: `arms` are those on offer; None without segments
    share: float | None = None  # the chance that the next customer is one of them
    doubts: tuple[Doubt, ...] = ()  # what in the data speaks against what is assumed

    @property
    def chosen(self) -> ArmExplanation:
        """The arm to pull."""
        return next(a for a in self.arms if a.arm == self.arm)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, for people: arms from 1, an infinite number as None."""
        values = asdict(self)
        values["arm"] += 1
        values["evidence"] = None if self.evidence is None else self.evidence.to_dict()
        values["doubts"] = [doubt.to_dict() for doubt in self.doubts]
        if self.segment is None:
            del values["segment"], values["share"]
        for arm in values["arms"]:
            arm["arm"] += 1
            for key, x in arm.items():
                if isinstance(x, float) and not np.isfinite(x):
                    arm[key] = None
        return values

    def __repr__(self) -> str:
        who = "" if self.segment is None else f", segment={self.segment!r}"
        name = self.chosen.name
        return f"Explanation(step={self.step}, policy={self.policy!r}, arm={self.arm}, name={name!r}{who})"

    def _repr_html_(self) -> str:
        """Return the arms and what is believed of them, the chosen one marked, for notebooks."""
        shown = [column for column in _COLUMNS if any(column[1](arm) is not None for arm in self.arms)]
        rows = [
            ["" if (value := of(arm)) is None else form.format(value) for _, of, form, _ in shown]
            for arm in self.arms
        ]
        title = f"Step {self.step}{self._who()}: pull {self.chosen.name} (`{self.policy}`)"
        words = "; ".join(f"{head}: {means}" for head, *_, means in shown if means)
        heads = [head for head, *_ in shown]
        notes = map(note, [words, *self._watched()])
        return block(title, table(heads, rows, chosen=[self._place]), *notes)

    def plot(self, ax: Any = None) -> Any:
        """Draw on a matplotlib Axes with the user's own settings and return it (extra ``plot``).

        One row for each arm: what a pull is worth with its 95 % interval, what the policy compares if that is
        on the same scale, as an index is, and the probability that it is the best; the arm to pull is filled.
        """
        from elsv.report.plots import plot_arms

        arms, scores = self.arms, [a.q for a in self.arms if a.q is not None]
        one_pull = all(0 <= q <= _SAME_SCALE * max(a.reward for a in arms) for q in scores)
        compared = len(scores) == len(arms) and one_pull and scores != [a.worth for a in arms]
        return plot_arms(
            [a.name for a in arms],
            [a.worth for a in arms],
            ax,
            x_label="worth of a pull: reward × mean, 95 % interval",
            best=[self._place],
            intervals=([a.reward * a.low for a in arms], [a.reward * a.high for a in arms]),
            marks=(scores, f"what {self.policy} compares at step {self.step}") if compared else None,
            numbers=[f"P(best) {a.best:.2f}" for a in arms],
            title="" if compared else f"step {self.step}{self._who()}, {self.policy}",
        )

    def __str__(self) -> str:
        bonus = any(a.bonus is not None for a in self.arms)
        scored = any(a.q is not None for a in self.arms)
        columns = ("arm", "name", "pulls", "mean", "95 % interval", "worth", "P(best)")
        heads = "{:>4}  {:<16} {:>5} {:>7} {:>17} {:>8} {:>8}".format(*columns)
        lines = [heads + f" {'bonus':>8}" * bonus + f" {'q':>10}" * scored]
        for a in self.arms:
            mark = "→" if a.arm == self.arm else " "
            more = ["" if value is None else f"{value:.4f}" for value in (a.bonus, a.q)]
            lines.append(
                f"{mark}{a.arm + 1:>3}  {a.name:<16.16} {a.pulls:>5} {a.mean:>7.4f}   "
                f"[{a.low:.4f}, {a.high:.4f}] {a.worth:>8.4f} {a.best:>8.4f}"
                + f" {more[0]:>8}" * bonus
                + f" {more[1]:>10}" * scored
            )
        head = f"step {self.step}{self._who()}: pull arm {self.arm + 1}, {self.chosen.name} ({self.policy})"
        words = "worth: reward times mean, what one pull is expected to earn"
        words += "; bonus: what exploring adds to it" * bonus
        words += f"; q: the score by which {self.policy} chooses, only differences count" * scored
        said = meaning(self.policy)
        means = [f"{self.policy}: {said}"] if said else []
        return "\n".join([head, *lines, words, *means, *self._watched()])

    @property
    def _place(self) -> int:
        """Where the arm to pull stands among those on offer."""
        return self.arms.index(self.chosen)

    def _who(self) -> str:
        """Return who has come, in words."""
        share = 100 * (self.share or 0)
        return "" if self.segment is None else f", {self.segment} ({share:.3g} % of customers)"

    def _watched(self) -> list[str]:
        """Return what the data say of what is assumed, and what speaks against it."""
        said = []
        if self.evidence is not None:
            said.append(f"assumed: {self.assumed}; {self.evidence.describe()} ({self.evidence.figures()})")
        return said + [f"warning: {doubt.words}" for doubt in self.doubts]


# Columns for notebooks: head, value of an arm, format, meaning. One without any value is left out.
_COLUMNS: tuple[tuple[str, Callable[[ArmExplanation], Any], str, str], ...] = (
    ("arm", lambda a: a.name, "{}", ""),
    ("reward", lambda a: a.reward, "{:g}", ""),
    ("pulls", lambda a: a.pulls, "{:,}", ""),
    ("mean", lambda a: a.mean, "{:.4f}", ""),
    ("95 % interval", lambda a: f"{a.low:.4f} – {a.high:.4f}", "{}", ""),
    ("worth", lambda a: a.worth, "{:.4f}", "reward times mean, what one pull is expected to earn"),
    ("P(best)", lambda a: a.best, "{:.4f}", "how likely the arm is the best one"),
    ("bonus", lambda a: a.bonus, "{:.4f}", "what exploring adds to the worth"),
    ("q", lambda a: a.q, "{:.4f}", "what the policy compares"),
)


def explain(
    problem: Problem,
    policy: Policy,
    state: State,
    step: int,
    rng: np.random.Generator,
    name: str,
    planned: State | None = None,
    segment: str | int | None = None,
    about: tuple[Problem, State] | None = None,
) -> Explanation:
    """Return the policy's choice in one state and what it rests on.

    While outcomes are under way the policy is asked in the state `planned` (`elsv.policies.asking`). In a
    problem with segments `segment` says who has come, and the arms are those on offer. Where `problem` has
    only some of the arms, `about` are the problem and the state of all, of which the data speak.
    """
    check_arms(state, problem)
    segments, who, belief = problem.segments, number_of(problem.segments, segment), problem.belief
    asked = state if planned is None else planned
    mean, (low, high) = marginals(belief, state, INTERVAL, rng)
    best, _ = best_in_groups(belief, state, problem.rewards, segments.groups, BEST_TOLERANCE)
    bonus = q = [None] * problem.arms
    if isinstance(policy, ScoringPolicy):
        scores = policy.scores(asked, step, rng)
        what = f"scores of {type(policy).__name__} at step {step}"
        q, arm = scores.tolist(), int(best_offered(problem, scores, who, what))
    else:
        arm = int(ask(policy, problem, asked, step, rng, who))
    if (explored := getattr(policy, "bonus", lambda *_: None)(asked, step)) is not None:
        bonus = explored.tolist()
    pulls, worth = state.pulls(problem), problem.rewards * mean
    known = {"reward": problem.rewards, "mean": mean, "worth": worth, "low": low, "high": high, "best": best}
    arms = tuple(
        ArmExplanation(
            arm=i,
            name=problem.names[i],
            pulls=int(pulls[i]),
            bonus=bonus[i],
            q=q[i],
            **{what: float(values[i]) for what, values in known.items()},
        )
        for i in segments.groups[who or 0]
    )
    assumed = None if factors(belief) else problem.structure.describe()
    whole, seen = (problem, state) if about is None else about
    said = evidence(whole, seen) if seen.pulls(whole).any() else None
    against = doubts(whole, seen, said)
    home = share = None
    if who is not None:
        home, share = segments.names[who], float(segments.chances_in(asked, problem)[who])
    return Explanation(arm, step, name, arms, assumed, said, home, share, against)
