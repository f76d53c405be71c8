"""What sharing between segments is worth, beside a bandit for each of them and one that is pooled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from elsv.names import parse
from elsv.policies.sharing import segments_of
from elsv.problem import Problem
from elsv.simulation.compare import Comparison, compare

SHARED, SEPARATE, POOLED = "shared", "separate", "pooled"
_OTHERS = {SEPARATE: "a bandit for each segment", POOLED: "one bandit that does not look at who comes"}


@dataclass(frozen=True)
class Lead:
    """How much more sharing earns than something else, over all steps."""

    over: str  # separate or pooled
    amount: float
    ci95: float  # half-width of the paired 95 % interval
    percent: float  # of what the other earns

    @property
    def told_apart(self) -> bool:
        """Whether the interval excludes zero."""
        return abs(self.amount) > self.ci95

    def __str__(self) -> str:
        other = _OTHERS[self.over]
        if not self.told_apart:
            return f"Sharing cannot be told apart from {other}: {self.amount:+,.3f} ± {self.ci95:,.3f}."
        size = f"{abs(self.amount):,.3f} ± {self.ci95:,.3f} ({abs(self.percent):.2f} %)"
        return f"Sharing earns {size} {'more' if self.amount > 0 else 'less'} than {other}."


@dataclass(frozen=True)
class Sharing:
    """What `compare_sharing` measured."""

    comparison: Comparison
    policy: str  # what plays, in all of them

    def leads(self) -> tuple[Lead, ...]:
        """Return how much more sharing earns than a bandit for each segment and than one pooled bandit.

        All meet the same customers and outcomes, so that intervals are those of paired differences.
        """
        found = []
        for other in self.comparison.names[1:]:
            less, half = self.comparison.difference(SHARED, other)
            earned = self.comparison.earnings()[other][0]
            found.append(Lead(other, -less, half, -100 * less / earned))
        return tuple(found)

    def verdict(self) -> str:
        """Say in words whether sharing pays."""
        return " ".join(map(str, self.leads()))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: what `compare` gives, and the leads."""
        leads = [asdict(lead) for lead in self.leads()]
        sharing = {"policy": self.policy, "leads": leads, "verdict": self.verdict()}
        return {**self.comparison.to_dict(), "sharing": sharing}

    def __str__(self) -> str:
        rows = [f"{'':<9} {'earns':>12} {'shared earns more by':>32}"]
        leads = {lead.over: lead for lead in self.leads()}
        for name, (earned, _) in self.comparison.earnings().items():
            lead = leads.get(name)
            more = "" if lead is None else f"{lead.amount:+,.3f} ± {lead.ci95:,.3f} ({lead.percent:+.2f} %)"
            rows.append(f"{name:<9} {earned:>12,.3f} {more:>32}".rstrip())
        return "\n".join([*rows, "", self.verdict()])

    def _repr_html_(self) -> str:
        """Return the comparison and what it says of sharing, for notebooks."""
        from elsv._base.html import block

        return self.comparison._repr_html_() + block(self.verdict())


def sharing_policies(problem: Problem, policy: str = "plan") -> Mapping[str, str]:
    """Return the policies that are compared by their labels; none is pooled where segments differ in size."""
    segments, spec = segments_of(problem, "comparing what is shared"), parse(policy)
    rest = "".join(f",{key}={value}" for key, value in spec.parameters.items())
    inside = f"policy={spec.name}{rest}"
    found = {SHARED: policy, SEPARATE: f"{SEPARATE}:{inside}"}
    if len({len(arms) for arms in segments.groups}) == 1:
        found[POOLED] = f"{POOLED}:{inside}"
    return found


def compare_sharing(
    problem: Problem, policy: str = "plan", instances: int = 1000, seed: int = 0, **options: Any
) -> Sharing:
    """Simulate what sharing between segments is worth, in money, on the same customers.

    Three ways to play the same policy: *shared*, on all that is known, so that segments teach about each
    other; *separate*, a bandit for each segment; *pooled*, one bandit that does not look at who comes.

    Parameters
    ----------
    problem
        Must have segments.
    policy
        What plays, as for `elsv.make_policy`.
    instances, seed, options
        As for `elsv.compare`; ``horizon=`` says with how many customers.

    Examples
    --------
    >>> shop = Problem([0.6, 1, 0.6, 1], structure={"grid": [2, 2]}, horizon=20, segments=[[1, 2], [3, 4]])
    >>> found = compare_sharing(shop, "greedy", instances=100)
    >>> [lead.over for lead in found.leads()]
    ['separate', 'pooled']
    """
    return Sharing(compare(problem, sharing_policies(problem, policy), instances, seed, **options), policy)
