"""How often a campaign's answers are right, and how often it warns: tables for docs/campaign.md.

    python -m benchmarks.coverage [--campaigns 300] [--alarms 1000] [--out DIR]

Four discounts under an order, control is the first. A campaign of 300 or 2,000 customers runs for 30 days
and is looked at every evening. All campaigns of a cell run at once: the policy is asked once a day, customers
of a day are drawn from its probabilities with floor and holdout on top, outcomes come at night. The policy
is Thompson sampling, or else the arm that earns most by what is known: no rule follows the outcomes more
closely, so none is harder on an estimate. True rates are drawn from the right prior. The wrong prior expects
twice those rates, just as surely.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np

from elsv.beliefs.abilities import best, marginals, moments
from elsv.campaign.measured import Split, split_doubt
from elsv.policies import make_policy
from elsv.problem import Problem
from elsv.simulation.intervals import anytime, one_look
from elsv.state import State
from elsv.structure.evidence import SURPRISING, doubts, evidence, predictive

DAYS = 30
REWARDS = np.array([20.0, 19.0, 18.0, 17.0])
NAMES = ("none", "5 % off", "10 % off", "15 % off")
RATES = {
    "5 % alike": ((0.05, 0.05, 0.05, 0.05), 400.0),
    "5 % apart": ((0.04, 0.05, 0.06, 0.075), 100.0),
    "30 % apart": ((0.22, 0.28, 0.33, 0.38), 100.0),
}
WAYS = {
    "floor 0.0125": ("greedy", 0.0125, 0.0),
    "floor 0.05": ("greedy", 0.05, 0.0),
    "thompson": ("thompson", 0.0, 0.0),
    "holdout 0.1": ("greedy", 0.0, 0.1),
    "no floor": ("greedy", 0.0, 0.0),
}


def shop(rates: tuple[float, ...], strength: float, customers: int, factor: float = 1.0) -> Problem:
    """Return the problem of a campaign that expects `factor` times these rates."""
    mean = np.minimum(factor * np.array(rates), 0.95)
    rows = np.stack([strength * mean, strength * (1 - mean)], axis=1)
    return Problem(REWARDS, order="increasing", horizon=customers, prior=rows.tolist(), names=NAMES)


@dataclass
class Campaigns:
    """Many campaigns at once: counts ``[B, N]``, evening by evening."""

    problem: Problem  # as believed
    way: str
    truth: np.ndarray  # [B, N]
    rng: np.random.Generator
    later: np.ndarray | None = None  # the rates from half-way on
    won: np.ndarray = field(init=False)
    seen: np.ndarray = field(init=False)
    held: np.ndarray = field(init=False)  # [B, 2], successes and customers of the holdout

    def __post_init__(self) -> None:
        shape = self.truth.shape
        self.won, self.seen, self.held = np.zeros(shape), np.zeros(shape), np.zeros((shape[0], 2))
        self.promised, self.products = np.zeros(shape), np.zeros((*shape, shape[1]))
        self.days: list[tuple[np.ndarray, np.ndarray]] = []
        self.expected = np.zeros(shape[0])  # what today's arm would have earned

    @property
    def state(self) -> State:
        """What is known by now."""
        prior = self.problem.prior
        return State(prior[:, 0] + self.won, prior[:, 1] + self.seen - self.won)

    def run(self):
        """Yield the evening's number after every day."""
        name, floor, holdout = WAYS[self.way]
        policy = make_policy(name, self.problem)
        customers = self.problem.horizon
        ends = np.linspace(0, customers, DAYS + 1).round().astype(int)
        for day in range(DAYS):
            count, arms = int(ends[day + 1] - ends[day]), self.truth.shape[1]
            if name == "thompson":
                chances = best(self.problem.belief, self.state, self.problem.rewards, 1e-3)[0]
            else:
                arm = policy(self.state, int(ends[day]) + 1, self.rng)
                chances = np.eye(arms)[arm]
            chances = floor + (1 - arms * floor) * chances
            chances = chances / chances.sum(axis=1, keepdims=True)
            aside = self.rng.binomial(count, holdout, len(self.truth))
            given = self.rng.multinomial(count - aside, chances)
            mixed = (1 - holdout) * chances + holdout * np.eye(arms)[0]
            self.promised += count * mixed
            self.products += count * mixed[:, :, None] * mixed[:, None, :]
            rates = self.truth if self.later is None or day < DAYS // 2 else self.later
            won, won_aside = self.rng.binomial(given, rates), self.rng.binomial(aside, rates[:, 0])
            self.held += np.stack([won_aside, aside], axis=1)
            won[:, 0] += won_aside
            given[:, 0] += aside
            self.won, self.seen = self.won + won, self.seen + given
            self.days.append((won, given))
            self.expected += count * REWARDS[0] * rates[:, 0]
            yield day

    def halves(self, row: int) -> list[tuple[tuple[float, float], tuple[float, float]]]:
        """Return each arm's outcomes in two halves, cut at the evening nearest to the middle."""
        won = np.array([w[row] for w, _ in self.days]).cumsum(axis=0)
        seen = np.array([n[row] for _, n in self.days]).cumsum(axis=0)
        found = []
        for arm in range(won.shape[1]):
            cut = int(np.abs(seen[:, arm] - seen[-1, arm] / 2).argmin())
            first = float(won[cut, arm]), float(seen[cut, arm])
            found.append((first, (float(won[-1, arm]) - first[0], float(seen[-1, arm]) - first[1])))
        return found

    def split(self, row: int) -> Split | None:
        """Return customers against promises, as `elsv.campaign.measured.split_of` does."""
        from scipy.special import chdtrc

        promised, given = self.promised[row], self.seen[row]
        kept = np.flatnonzero((promised >= 5) & (given.sum() - promised >= 5))
        if not len(kept):
            return None
        spread = (np.diag(promised) - self.products[row])[np.ix_(kept, kept)]
        rank = int(np.linalg.matrix_rank(spread, tol=1e-6))
        if rank == 0:
            return None
        apart = (given - promised)[kept]
        value = float(apart @ np.linalg.pinv(spread, rcond=1e-9, hermitian=True) @ apart)
        return Split(tuple(given), tuple(promised), float(chdtrc(rank, max(0.0, value))))


def answers(group: Campaigns) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return estimate, low and high of the gain over today's arm, by each answer, ``[B]``."""
    earned, total = group.won @ REWARDS, group.seen.sum(axis=1)
    mean, (low, high) = marginals(group.problem.belief, group.state, (0.025, 0.975))
    found = {"belief": (mean[:, 0], low[:, 0], high[:, 0])}
    won, seen = group.won[:, 0], group.seen[:, 0]
    found["outcomes"] = (won / np.maximum(seen, 1), *anytime(won, seen))
    if group.held[:, 1].any():
        won, seen = group.held.T
        found["holdout"] = (won / np.maximum(seen, 1), *one_look(won, np.maximum(seen, won)))
    paid = total * REWARDS[0]
    return {k: (earned - paid * m, earned - paid * b, earned - paid * a) for k, (m, a, b) in found.items()}


def cell(way: str, rates: str, customers: int, factor: float, count: int, seed: int) -> dict[str, object]:
    """Return how often each answer covered the true gain, in one cell."""
    rng = np.random.default_rng(seed)
    means, strength = RATES[rates]
    right = shop(means, strength, customers)
    start = State.initial(right, (count,))
    truth = right.belief.draw(start, rng)
    group = Campaigns(shop(means, strength, customers, factor), way, truth, rng)
    inside: dict[str, list[np.ndarray]] = {}
    wrong: dict[str, list[np.ndarray]] = {}
    warned = np.zeros(count, dtype=bool)
    confident = []
    for _ in group.run():
        true = group.won @ REWARDS - group.expected
        found = answers(group)
        for name, (_, low, high) in found.items():
            inside.setdefault(name, []).append((low <= true + 1e-9) & (true <= high + 1e-9))
            wrong.setdefault(name, []).append(((low > 0) & (true < 0)) | ((high < 0) & (true > 0)))
        seen = group.seen[:, 0] > 0
        gain, (_, low, high) = found["belief"][0], found["outcomes"]
        warned |= seen & ((gain < low) | (gain > high))
        # As `Status.sure`: the headline tells more from less, and the outcomes or the holdout agree.
        sign = {
            name: np.sign(low) * (np.sign(low) == np.sign(high)) for name, (_, low, high) in found.items()
        }
        agree = [sign["belief"] == sign[name] for name in found if name != "belief"]
        confident.append((sign["belief"] * true < 0) & np.any(agree, axis=0))
    out: dict[str, object] = {"way": way, "rates": rates, "customers": customers, "prior": factor}
    for name, each in inside.items():
        looks, signs = np.array(each), np.array(wrong[name])
        out[name] = {
            "mean": float(looks.mean()),
            "worst_look": float(looks.mean(axis=1).min()),
            "always": float(looks.all(axis=0).mean()),
            "wrong_sign_at_a_look": float(signs.mean(axis=1).max()),
            "wrong_sign_at_the_end": float(signs[-1].mean()),
        }
    out["warned"] = float(warned.mean())
    out["headline_wrong"] = float(np.array(confident).mean(axis=1).max())
    belief, start = group.problem.belief, State.initial(group.problem)
    mean, variance = moments(belief, start)
    noted = [
        min(predictive(*four) for four in zip(mean, variance, won, seen, strict=True))
        <= SURPRISING / (seen > 0).sum()
        for won, seen in zip(group.won, group.seen, strict=True)
    ]
    out["noted"] = float(np.mean(noted))
    return out


def alarms(kind: str, way: str, rates: str, customers: int, count: int, seed: int, every: int = 5):
    """Return in how many campaigns each doubt was ever raised, looked at every fifth evening."""
    rng = np.random.default_rng(seed)
    means, strength = RATES[rates]
    right = shop(means, strength, customers)
    truth = right.belief.draw(State.initial(right, (count,)), rng)
    believed, later = right, None
    if kind == "order reversed":
        truth = truth[:, ::-1].copy()
    elif kind == "rates doubled half-way":
        later = np.minimum(2 * truth, 0.95)
    elif kind == "prior ten times too high":
        believed = shop(means, strength, customers, 10.0)
    group = Campaigns(believed, way, truth, rng, later)
    raised = {about: np.zeros(count, dtype=bool) for about in ("structure", "prior", "time", "split")}
    for day in group.run():
        if day % every != every - 1:
            continue
        for row in range(count):
            state = State(group.state.alpha[row], group.state.beta[row])
            said = doubts(believed, state, evidence(believed, state), group.halves(row))
            for doubt in (*said, *split_doubt(group.split(row), NAMES)):
                raised[doubt.about][row] = True
    shares = {about: float(hit.mean()) for about, hit in raised.items()}
    return {"kind": kind, "way": way, "rates": rates, "customers": customers, "campaigns": count, **shares}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--campaigns", type=int, default=300)
    parser.add_argument("--alarms", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path("coverage"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("cells", "alarms"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    began, cells = time.perf_counter(), []
    each = () if given.only == "alarms" else product(WAYS, RATES, (300, 2000), (1.0, 2.0))
    for k, (way, rates, customers, factor) in enumerate(each):
        cells.append(cell(way, rates, customers, factor, given.campaigns, given.seed + k))
        (given.out / "cells.json").write_text(json.dumps(cells, indent=1))
        print(f"{time.perf_counter() - began:6.0f} s", cells[-1], flush=True)
    watched = []
    part = max(1, given.alarms // 4)
    calm = ("no floor", "5 % apart"), ("floor 0.05", "30 % apart"), ("thompson", "5 % apart")
    calm += (("holdout 0.1", "5 % alike"),)
    runs = [("nothing wrong", way, rates, 1500, part) for way, rates in calm]
    wrongs = ("order reversed", "rates doubled half-way", "prior ten times too high")
    runs += [
        (kind, way, rates, 1500, max(1, given.alarms // 5))
        for kind, way, rates in product(wrongs, ("floor 0.05", "thompson"), ("5 % apart", "30 % apart"))
        if not (kind.startswith("prior ten") and rates.startswith("30"))
    ]
    for k, (kind, way, rates, customers, count) in enumerate(() if given.only == "cells" else runs):
        watched.append(alarms(kind, way, rates, customers, count, 1000 + given.seed + k))
        (given.out / "alarms.json").write_text(json.dumps(watched, indent=1))
        print(f"{time.perf_counter() - began:6.0f} s", watched[-1], flush=True)


if __name__ == "__main__":
    main()
