"""How often a campaign's answers are right, and how often it warns: tables for docs/campaign.md.

    python -m benchmarks.coverage [--campaigns 300] [--alarms 1000] [--jobs 2] [--out DIR]

Four discounts under an order, control is the first. A campaign of 300 or 2,000 customers runs for 30 days
and is looked at every evening. All campaigns of a cell run at once: the policy is asked once a day, customers
of a day are drawn from its probabilities with floor and holdout on top, outcomes come at night. The policy
is `plan`, Thompson sampling, or else the arm that earns most by what is known: no rule follows the outcomes
more closely, so none is harder on an estimate. True rates are drawn from the right prior. The wrong prior
expects twice those rates, just as surely.

Campaigns are played in parts, each with a seed of its own, on as many processes as asked for; `--only alarms`
and `--seed` measure false alarms on seeds that no threshold was chosen with.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, field
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from elsv.beliefs.abilities import best, marginals, moments
from elsv.campaign.history import EXPECTED, Split, split_doubt
from elsv.policies import make_policy
from elsv.problem import Problem
from elsv.simulation.precision import anytime, one_look
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
    "plan, no floor": ("plan", 0.0, 0.0),
}
PART = 100  # campaigns that are played together


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
        """Return customers against promises, as `elsv.campaign.history.split_of` does."""
        from scipy.special import chdtrc

        promised, given = self.promised[row], self.seen[row]
        kept = np.flatnonzero((promised >= EXPECTED) & (given.sum() - promised >= EXPECTED))
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


def cell(way: str, rates: str, customers: int, factor: float, count: int, seed: object) -> dict[str, object]:
    """Return in how many campaigns of one part of a cell each answer covered the true gain, look by look."""
    rng = np.random.default_rng(seed)
    means, strength = RATES[rates]
    right = shop(means, strength, customers)
    truth = right.belief.draw(State.initial(right, (count,)), rng)
    group = Campaigns(shop(means, strength, customers, factor), way, truth, rng)
    inside: dict[str, list[np.ndarray]] = {}
    wrong: dict[str, list[np.ndarray]] = {"headline": []}
    warned = np.zeros(count, dtype=bool)
    for _ in group.run():
        true = group.won @ REWARDS - group.expected
        found = answers(group)
        sign = {
            name: np.sign(low) * (np.sign(low) == np.sign(high)) for name, (_, low, high) in found.items()
        }
        for name, (_, low, high) in found.items():
            inside.setdefault(name, []).append((low <= true + 1e-9) & (true <= high + 1e-9))
            wrong.setdefault(name, []).append(sign[name] * true < 0)
        gain, (_, low, high) = found["belief"][0], found["outcomes"]
        outside = (group.seen[:, 0] > 0) & ((gain < low) | (gain > high))
        warned |= outside
        # As `Status.sure`: the headline tells more from less, and the outcomes or the holdout agree.
        agree = np.any([sign["belief"] == sign[name] for name in found if name != "belief"], axis=0)
        stated = np.where(outside, sign["outcomes"], np.where(agree, sign["belief"], 0))
        wrong["headline"].append(stated * true < 0)
    mean, variance = moments(group.problem.belief, State.initial(group.problem))
    noted = [
        min(predictive(*four) for four in zip(mean, variance, won, seen, strict=True))
        <= SURPRISING / (seen > 0).sum()
        for won, seen in zip(group.won, group.seen, strict=True)
    ]
    return {
        "cell": (way, rates, customers, factor),
        "campaigns": count,
        "inside": {name: np.array(each) for name, each in inside.items()},  # [looks, campaigns]
        "wrong": {name: np.array(each) for name, each in wrong.items()},
        "warned": warned,
        "noted": np.array(noted),
    }


def summary(parts: list[dict[str, object]]) -> dict[str, object]:
    """Return the shares of all parts of a cell together."""
    way, rates, customers, factor = parts[0]["cell"]
    out: dict[str, object] = {"way": way, "rates": rates, "customers": customers, "prior": factor}
    out["campaigns"] = sum(part["campaigns"] for part in parts)
    for name in parts[0]["inside"]:
        looks = np.concatenate([part["inside"][name] for part in parts], axis=1)
        out[name] = {
            "mean": float(looks.mean()),
            "worst_look": float(looks.mean(axis=1).min()),
            "always": float(looks.all(axis=0).mean()),
        }
    for name in parts[0]["wrong"]:
        looks = np.concatenate([part["wrong"][name] for part in parts], axis=1)
        signs = {"wrong_sign": float(looks.mean(axis=1).max()), "ever_wrong": float(looks.any(axis=0).mean())}
        out[name] = {**out.get(name, {}), **signs}
    for name in ("warned", "noted"):
        out[name] = float(np.concatenate([part[name] for part in parts]).mean())
    return out


def cells_table(cells: list[dict[str, object]]) -> str:
    """Return the rows of docs/campaign.md."""
    heads = ("campaign", "conversions", "customers", "1: known", "2: outcomes", "3: holdout")
    heads += ("wrong prior: 2", "3", "sure and wrong", "headline outside 2", "prior noted")
    lines = [f"| {' | '.join(heads)} |", "|---|---|" + "---:|" * 9]
    by_key = {(c["way"], c["rates"], c["customers"], c["prior"]): c for c in cells}
    for (way, rates, customers, factor), right in by_key.items():
        wrong = by_key.get((way, rates, customers, 2.0))
        if factor != 1.0 or wrong is None:
            continue
        shares = [right["belief"]["mean"], right["outcomes"]["always"]]
        shares += [one["holdout"]["worst_look"] if "holdout" in one else None for one in (right, wrong)]
        shares.insert(3, wrong["outcomes"]["always"])
        worst = max(right["headline"]["wrong_sign"], wrong["headline"]["wrong_sign"])
        shares += [worst, wrong["warned"], wrong["noted"]]
        text = " | ".join("–" if share is None else f"{100 * share:.1f}" for share in shares)
        lines.append(f"| {way} | {rates} | {customers:,} | {text} |")
    for name in ("belief", "outcomes", "holdout", "headline"):
        for factor, words in ((1.0, "right"), (2.0, "wrong")):
            each = [c for c in cells if name in c and c["prior"] == factor]
            if each:
                most = [100 * max(c[name][share] for c in each) for share in ("wrong_sign", "ever_wrong")]
                said = [f"wrong sign at most {most[0]:.1f}, ever {most[1]:.1f}"]
                if "mean" in each[0][name]:
                    for share in ("mean", "worst_look", "always"):
                        found = [100 * c[name][share] for c in each]
                        said.append(f"{share} {min(found):.1f} to {max(found):.1f}, {np.mean(found):.1f}")
                lines.append(f"{name}, {words} prior: {'; '.join(said)}")
    return "\n".join(lines)


def alarms(kind: str, way: str, rates: str, customers: int, count: int, seed: object, every: int = 5):
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


def alarms_table(watched: list[dict[str, object]]) -> str:
    """Return the rows of docs/campaign.md, parts of the same campaigns together."""
    together: dict[tuple[str, str, str], list[dict[str, object]]] = {}
    for one in watched:
        together.setdefault((one["kind"], one["way"], one["rates"]), []).append(one)
    lines = ["| what is wrong | campaign | conversions | campaigns | structure | prior | time | split |"]
    lines.append("|---|---|---|---:|---:|---:|---:|---:|")
    for names, parts in together.items():
        sizes = [part["campaigns"] for part in parts]
        shares = [
            np.average([part[about] for part in parts], weights=sizes)
            for about in ("structure", "prior", "time", "split")
        ]
        text = " | ".join(f"{100 * share:.1f}" for share in shares)
        lines.append(f"| {' | '.join(names)} | {sum(sizes):,} | {text} |")
    return "\n".join(lines)


def _work(task: tuple[str, tuple[object, ...]]) -> tuple[str, dict[str, object]]:
    kind, given = task
    return kind, (cell if kind == "cell" else alarms)(*given)


def tasks_of(given: argparse.Namespace) -> list[tuple[str, tuple[object, ...]]]:
    """Return what is played, in parts, those that take longest first."""
    found: list[tuple[str, tuple[object, ...]]] = []
    ways = sorted(WAYS, key=lambda way: ("plan" not in way, way != "thompson"))
    each = product(ways, RATES, (2000, 300), (1.0, 2.0)) if given.only != "alarms" else ()
    for k, (way, rates, customers, factor) in enumerate(each):
        total = given.plans if "plan" in way else given.campaigns
        for part, start in enumerate(range(0, total, PART)):
            count, seed = min(PART, total - start), (given.seed, k, part)
            found.append(("cell", (way, rates, customers, factor, count, seed)))
    calm = ("no floor", "5 % apart"), ("floor 0.05", "30 % apart"), ("thompson", "5 % apart")
    calm += (("holdout 0.1", "5 % alike"),)
    runs = [("nothing wrong", way, rates, given.alarms) for way, rates in calm]
    wrongs = ("order reversed", "rates doubled half-way", "prior ten times too high")
    runs += [
        (kind, way, rates, max(1, given.alarms // 5))
        for kind, way, rates in product(wrongs, ("floor 0.05", "thompson"), ("5 % apart", "30 % apart"))
        if not (kind.startswith("prior ten") and rates.startswith("30"))
    ]
    for k, (kind, way, rates, total) in enumerate(() if given.only == "cells" else runs):
        for part, start in enumerate(range(0, total, PART)):
            count, seed = min(PART, total - start), (given.seed, 1000 + k, part)
            found.append(("alarms", (kind, way, rates, 1500, count, seed)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--campaigns", type=int, default=300, help="of a cell")
    parser.add_argument("--plans", type=int, default=300, help="of a cell in which plan decides")
    parser.add_argument("--alarms", type=int, default=1000, help="campaigns in which nothing is wrong, each")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--at-most", type=float, default=1e9, help="seconds, after which the rest is left out"
    )
    parser.add_argument("--out", type=Path, default=Path("coverage"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("cells", "alarms"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    began, tasks = time.perf_counter(), tasks_of(given)
    for way in WAYS:  # compiles before processes are made of this one
        cell(way, "5 % apart", 300, 1.0, 2, 0)
    alarms("nothing wrong", "floor 0.05", "5 % apart", 300, 2, 0)
    print(f"{time.perf_counter() - began:6.0f} s: compiled; {len(tasks)} parts to play", flush=True)
    parts: dict[object, list[dict[str, object]]] = {}
    watched: list[dict[str, object]] = []
    with get_context("fork").Pool(given.jobs) as pool:
        for done, (kind, found) in enumerate(pool.imap(_work, tasks), 1):
            if kind == "cell":
                parts.setdefault(found["cell"], []).append(found)
            else:
                watched.append(found)
            spent = time.perf_counter() - began
            if done % 50 == 0:
                print(f"{spent:6.0f} s: {done} of {len(tasks)} parts", flush=True)
            if spent > given.at_most:
                print(f"stopped after {done} of {len(tasks)} parts", flush=True)
                pool.terminate()
                break
    cells = [summary(each) for each in parts.values()]
    (given.out / "cells.json").write_text(json.dumps(cells, indent=1))
    (given.out / "alarms.json").write_text(json.dumps(watched, indent=1))
    if cells:
        print(cells_table(cells))
    if watched:
        print(alarms_table(watched))
    print(f"{time.perf_counter() - began:6.0f} s")


if __name__ == "__main__":
    main()
