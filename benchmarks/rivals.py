"""What the authors of rivals say of them, measured: the tables of docs/policies.md.

``python -m benchmarks.rivals [ten] [points] [peak] [leads] [sure]`` simulates what is named, or all, and
writes docs/figures/rivals.json; half an hour of processor time, nearly all of it `ids` and `kg` in `ten`.
``python -m benchmarks.rivals tables`` prints the tables.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import betainc, betaln, expit

from benchmarks.shared import plus_minus, table
from elsv import Independent, Problem, State, compare
from elsv import structure as st
from elsv._base.files import write_text
from elsv._base.typing import FloatArray, IntArray
from elsv.policies import make_policy
from elsv.policies.mixing import drawn, least_ratio
from elsv.simulation.precision import interval

RESULTS = Path(__file__).parent.parent / "docs" / "figures" / "rivals.json"
SEED = 1

ARMS, HORIZON, INSTANCES = 10, 1000, 512
BATCHES, BATCH = 5, 100
TEN = ("ids", "thompson", "bayes-ucb", "kg", "kl-ucb", "moss", "ucb1")

PEAK = 0.9 - 0.1 * np.abs(np.arange(17) - 8.0)
EARLY, LATE, PEAK_INSTANCES = 5000, 50_000, 200
UNIMODAL, ALONE = ("uts", "osub"), ("thompson:order=false",)
COUNTS = ("led", "pulls")

LEVEL, SURE_INSTANCES, MOST_PULLS = 0.95, 200, 6000
SURE_MEANS = (0.1, 0.2, 0.3, 0.4, 0.5)
SEEKERS = ("top-two", "thompson", "random")

_STEP = 0.04  # a few of them within the spread of a logit after a thousand pulls
_LOGIT = np.arange(-22.0, 22.0, _STEP)
_X = expit(_LOGIT)


def ten() -> dict[str, Any]:
    """Return the regret of `ids` and its own rivals on ten arms of which nothing is known."""
    problem = Problem([1.0] * ARMS, horizon=HORIZON)
    found = compare(problem, TEN, INSTANCES, seed=SEED, progress=False, jobs=1)
    return {
        "instances": INSTANCES,
        "regret": {name: _pair(found[name].mean[-1], found[name].ci95[-1]) for name in TEN},
        "ids_less": {name: _pair(*found.difference("ids", name)) for name in TEN[1:]},
        "bound": round(math.sqrt(0.5 * ARMS * math.log(ARMS) * HORIZON), 1),
    }


def points() -> dict[str, Any]:
    """Return the regret of `ids` on more such arms, and with integrals in place of its points."""
    problem, policies = Problem([1.0] * ARMS, horizon=HORIZON), {"ids": "ids", "integrals": IntegratedIds()}
    last: dict[str, list[np.ndarray]] = {name: [] for name in policies}
    for batch in range(BATCHES):
        found = compare(problem, policies, BATCH, seed=batch, progress=False, jobs=1, keep_raw=True)
        for name, regrets in last.items():
            curves = found[name].curves
            assert curves is not None
            regrets.append(curves[-1])
    return {
        "instances": BATCHES * BATCH,
        "regret": {name: _mean(np.concatenate(regrets)) for name, regrets in last.items()},
    }


class IntegratedIds:
    """`ids` with integrals in place of points, for equal rewards and independent arms.

    With F and f an arm's distribution function and density, and m(x) its mean where it is at most x, arm a is
    best at x with density f_a times the product of the other F, and arm i then has the mean m_i(x). The
    integral is a sum over evenly spread logits, where densities are smooth.
    """

    def __call__(self, state: State, step: int, rng: np.random.Generator) -> IntArray:
        """Return an arm for every instance, drawn with its chances."""
        return drawn(self.chances(state, step), rng)

    def chances(self, state: State, step: int) -> FloatArray:
        """Return the probability of each arm, ``[..., N]``."""
        terms = [losses_and_news(*one) for one in zip(*state.rows(), strict=True)]
        loss, news = (np.array(part) for part in zip(*terms, strict=True))
        return least_ratio(loss, news).reshape(state.alpha.shape)


def losses_and_news(alpha: FloatArray, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what pulls lose and show of the best arm in one state, ``[N]``."""
    known = np.array([_curves(a, b) for a, b in zip(alpha.tolist(), beta.tolist(), strict=True)])
    below, density, mean_below = known[:, 0], known[:, 1], known[:, 2]
    one = np.ones((1, len(_X)))
    before = np.cumprod(np.vstack([one, below[:-1]]), axis=0)
    after = np.cumprod(np.vstack([one, below[:0:-1]]), axis=0)[::-1]
    best_at = before * after * density  # [a*, x]
    chance = best_at.sum(axis=1)
    sums = best_at @ mean_below.T  # [a*, N]
    np.fill_diagonal(sums, best_at @ _X)
    chance, sums = chance / chance.sum(), sums / chance.sum()
    mean = sums.sum(axis=0)
    given = sums / np.where(chance > 0, chance, 1.0)[:, None]
    return np.trace(sums) - mean, (chance[:, None] * (given - mean) ** 2).sum(axis=0)


@lru_cache(maxsize=20_000)
def _curves(a: float, b: float) -> FloatArray:
    """Return distribution function, density by the logit, and mean up to there of Beta(a, b), ``[3, x]``."""
    below = betainc(a, b, _X)
    density = np.exp(-a * np.logaddexp(0, -_LOGIT) - b * np.logaddexp(0, _LOGIT) - betaln(a, b))
    mean_below = np.where(below > 0, a / (a + b) * betainc(a + 1, b, _X) / np.where(below > 0, below, 1), _X)
    return np.stack([below, density, mean_below])


def peak() -> dict[str, Any]:
    """Return the regret on a tent of 17 arms, how it grows with log T, and the least that it can."""
    problem = Problem(np.ones(len(PEAK)), structure=st.unimodal(), horizon=LATE)
    names = (*UNIMODAL, *ALONE)
    found = compare(
        problem, names, PEAK_INSTANCES, seed=SEED, means=PEAK[None], progress=False, jobs=1, keep_raw=True
    )
    growth = {}
    for name in names:
        curves = found[name].curves
        assert curves is not None
        growth[name] = _mean((curves[LATE - 1] - curves[EARLY - 1]) / math.log(LATE / EARLY))
    return {
        "instances": PEAK_INSTANCES,
        "regret": {name: _pair(found[name].mean[-1], found[name].ci95[-1]) for name in names},
        "growth": growth,
        "least": {name: round(least_growth(PEAK, name in UNIMODAL), 2) for name in names},
    }


def least_growth(means: np.ndarray, unimodal: bool) -> float:
    """Return the least that regret can grow by, over log T: the gap over the divergence, summed.

    Over all arms where nothing is known; with a single peak, over those next to the best one.
    """
    best = int(means.argmax())
    others = {best - 1, best + 1} if unimodal else set(range(len(means))) - {best}
    return sum(
        float(means[best] - means[i]) / _divergence(float(means[i]), float(means[best])) for i in others
    )


def _divergence(p: float, q: float) -> float:
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def leads() -> dict[str, Any]:
    """Return the regret of `uts` at an early T, written out with either count of how long an arm has led."""
    regret = {count: _mean(np.array([_uts(count, k) for k in range(PEAK_INSTANCES)])) for count in COUNTS}
    return {"instances": PEAK_INSTANCES, "regret": regret}


def _uts(count: str, seed: int) -> float:
    """Play `uts` on the tent; `led` is the count of its paper, `pulls` the one that a state holds."""
    rng, arms = np.random.default_rng([SEED, seed]), len(PEAK)
    made, pulls, led, regret = np.zeros(arms), np.zeros(arms), np.zeros(arms, np.int64), 0.0
    for _ in range(EARLY):
        leader = int((made / np.maximum(pulls, 1)).argmax())
        near = np.arange(max(0, leader - 1), min(arms, leader + 2))
        counted = led[leader] if count == "led" else pulls[near].sum()
        draw = near[rng.beta(1 + made[near], 1 + (pulls - made)[near]).argmax()]
        arm = leader if counted % len(near) == 0 else draw
        led[leader] += 1
        pulls[arm] += 1
        made[arm] += rng.random() < PEAK[arm]
        regret += float(PEAK.max() - PEAK[arm])
    return regret


def sure() -> dict[str, Any]:
    """Return after how many pulls some arm is the best one with a probability of 0.95, on average."""
    problem = Problem(np.ones(len(SURE_MEANS)), horizon=MOST_PULLS)
    pulls = {name: pulls_until_sure(make_policy(name, problem), problem) for name in SEEKERS}
    return {"instances": SURE_INSTANCES, "pulls": {name: _mean(found) for name, found in pulls.items()}}


def pulls_until_sure(policy: Any, problem: Problem, each: int = 5) -> np.ndarray:
    """Return the pulls of every instance until it is sure of an arm, looked at after every few pulls."""
    means, rng = np.array(SURE_MEANS), np.random.default_rng(SEED)
    alpha, beta = (np.ones((SURE_INSTANCES, problem.arms)) for _ in range(2))
    left, taken = np.arange(SURE_INSTANCES), np.full(SURE_INSTANCES, MOST_PULLS)
    for step in range(1, MOST_PULLS):
        arm = np.asarray(policy(State.trusted(alpha[left], beta[left]), step, rng))
        made = rng.random(len(left)) < means[arm]
        alpha[left, arm] += made
        beta[left, arm] += ~made
        if step % each == 0:
            chance = Independent().best(State.trusted(alpha[left], beta[left]), problem.rewards, 1e-4)[0]
            done = chance.max(axis=1) >= LEVEL
            taken[left[done]] = step
            left = left[~done]
            if len(left) == 0:
                break
    return taken


def _mean(values: np.ndarray) -> list[float]:
    return _pair(*interval(np.asarray(values.sum()), np.asarray((values**2.0).sum()), len(values)))


def _pair(value: Any, half: Any) -> list[float]:
    return [round(float(value), 3), round(float(half), 3)]


def tables(known: dict[str, Any]) -> str:
    """Return the tables of the page."""
    return "\n\n".join([_ten(known["ten"]), _peak(known["peak"]), _sure(known["sure"])])


def _ten(found: dict[str, Any]) -> str:
    less = {"ids": "", **{name: plus_minus(pair, 1) for name, pair in found["ids_less"].items()}}
    rows = [[f"`{name}`", plus_minus(pair, 1), less[name]] for name, pair in found["regret"].items()]
    return table(["policy", "regret", "`ids` less it"], rows)


def _peak(found: dict[str, Any]) -> str:
    rows = [
        [f"`{name}`", *(plus_minus(found[key][name], 1) for key in ("regret", "growth")), f"{least:.1f}"]
        for name, least in found["least"].items()
    ]
    return table(["policy", "regret", "grows by, for each ln T", "least in the long run"], rows)


def _sure(found: dict[str, Any]) -> str:
    rows = [[f"`{name}`", plus_minus(pair, 0)] for name, pair in found["pulls"].items()]
    return table(["policy", "pulls"], rows)


TASKS: dict[str, Callable[[], dict[str, Any]]] = {
    "ten": ten,
    "points": points,
    "peak": peak,
    "leads": leads,
    "sure": sure,
}


def kept() -> dict[str, Any]:
    """Return what was measured."""
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return found


def keep(name: str, found: dict[str, Any]) -> None:
    """Write down what was measured, in the order of the tasks."""
    known = kept() | {name: found}
    ordered = {task: known[task] for task in TASKS if task in known}
    write_text(RESULTS, json.dumps(ordered, indent=1) + "\n")


def main() -> None:
    """Measure what is named, or all, and print the tables."""
    words = sys.argv[1:] or list(TASKS)
    for name in words:
        if name != "tables":
            keep(name, TASKS[name]())
            print(name, kept()[name], flush=True)
    if set(kept()) == set(TASKS):
        print(tables(kept()))


if __name__ == "__main__":
    main()
