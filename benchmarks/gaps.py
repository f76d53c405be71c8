"""How far ``plan`` is above the Bayes optimum on problems that nobody chose: exact regrets, no simulation.

``python -m benchmarks.gaps`` draws 60 problems from a seed and prints the median, the 90 % quantile and the
largest gap in per cent of the optimum's regret. Fifty of them fit a CPU. Ten, of two and three arms in order
with T = 100 to 150, need ``--gpu``: a card and cupy. ``--table`` measures the problems of docs/planning.md
instead, ``--late`` outcomes that come late (`benchmarks.late`). ``--jobs 16`` uses as many processes.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks import late
from elsv import Problem, evaluate
from elsv import structure as known

SEED = 24
ON_CPU, ON_GPU = 50, 10
FAMILIES = ("chain", "grid", "tree", "peak", "bounds", "mixture", "samples", "segments")
# The longest horizon by arms: all states are searched at once up to three arms, else one after the other.
LONGEST = {2: 120, 3: 48, 4: 10, 5: 7}
LONGEST_ONE_BY_ONE = {2: 60, 3: 22, 4: 9, 5: 6}


class Case(NamedTuple):
    """A problem and what it is called."""

    name: str
    about: dict[str, Any]
    gpu: bool = False


class Gap(NamedTuple):
    """What was measured: regrets of the optimum and of the policy, and seconds."""

    name: str
    optimum: float
    regret: float
    seconds: float

    @property
    def percent(self) -> float:
        """How far the policy is above the optimum."""
        return 100.0 * (self.regret / self.optimum - 1.0) if self.optimum > 0 else 0.0


def drawn(seed: int = SEED) -> list[Case]:
    """Return the 60 problems of a seed, those for a GPU last."""
    cases = [_small(np.random.default_rng([seed, k]), FAMILIES[k % len(FAMILIES)]) for k in range(ON_CPU)]
    return cases + [_long(np.random.default_rng([seed, ON_CPU + k])) for k in range(ON_GPU)]


def _small(rng: np.random.Generator, family: str) -> Case:
    """Return a problem of a family whose optimum a CPU finds."""
    fixed = {"grid": 4, "segments": 4}.get(family)
    arms = fixed or int(rng.integers(3 if family in ("tree", "peak") else 2, 6))
    longest = (LONGEST if family in ("chain", "tree", "bounds", "peak") else LONGEST_ONE_BY_ONE)[arms]
    horizon = int(rng.integers(longest // 2, longest + 1))
    about: dict[str, Any] = {"rewards": _rewards(rng, arms), "horizon": horizon, "prior": _rows(rng, arms)}
    if family == "chain":
        about["order"] = "decreasing"
    elif family == "segments":
        share = round(float(rng.uniform(0.2, 0.8)), 2)
        about |= {"structure": known.grid(2, 2), "segments": [[1, 2], [3, 4]]}
        about["segment_shares"] = [share, round(1 - share, 2)]
    else:
        about["structure"] = _structure(rng, family, arms)
    return Case(f"{family}, {arms} arms, T = {horizon}", about)


def _structure(rng: np.random.Generator, family: str, arms: int) -> known.Structure:
    if family == "grid":
        return known.grid(2, 2)
    if family == "tree":
        return known.order([(int(rng.integers(1, child)), child) for child in range(2, arms + 1)])
    if family == "peak":
        return known.unimodal()
    if family == "bounds":
        low = np.round(rng.uniform(0.0, 0.4, arms), 2)
        return known.bounds([(float(x), float(x + 0.5)) for x in low])
    if family == "mixture":
        return known.mixture([(0.8, known.decreasing()), (0.2, known.free())])
    draws = -np.sort(-rng.beta(*rng.uniform(0.5, 3.0, 2), (20_000, arms)), axis=1)
    return known.samples(draws)


def _long(rng: np.random.Generator) -> Case:
    """Return a problem of two or three arms in order that takes a GPU."""
    arms, horizon = int(rng.integers(2, 4)), int(rng.integers(100, 151))
    about = {"rewards": _rewards(rng, arms), "order": "decreasing", "prior": _rows(rng, arms)}
    return Case(f"chain, {arms} arms, T = {horizon}", about | {"horizon": horizon}, gpu=True)


def _rewards(rng: np.random.Generator, arms: int) -> list[float]:
    """Return rewards that rise, the last being 1: an arm that succeeds less often pays more."""
    return [*np.sort(np.round(rng.uniform(0.2, 0.95, arms - 1), 2)).tolist(), 1.0]


def _rows(rng: np.random.Generator, arms: int) -> list[list[float]]:
    return np.round(rng.uniform(0.5, 3.0, (arms, 2)), 1).tolist()


def table() -> list[Case]:
    """Return the problems of docs/planning.md that showed where the policy is weakest."""
    near = [
        ((0.65, 0.70, 1), (78,)),
        ((0.65, 0.72, 1), (74, 76, 78, 80)),
        ((0.6, 0.7, 1), (110, 120, 130, 200)),
    ]
    found = [
        Case(f"{rewards}, T = {T}", {"rewards": rewards, "order": "decreasing", "horizon": T}, gpu=T > 60)
        for rewards, horizons in near
        for T in horizons
    ]
    four = {"rewards": [0.5, 0.7, 0.8, 1], "structure": known.grid(2, 2), "horizon": 10}
    draws = -np.sort(-np.random.default_rng(0).random((20_000, 4)), axis=1)
    given = {"rewards": [0.5, 0.7, 0.85, 1], "structure": known.samples(draws), "horizon": 6}
    return [*found, Case("2 × 2 grid, T = 10", four), Case("20,000 draws, T = 6", given)]


def measure(case: Case, gpu: bool = False, policy: str = "plan") -> Gap:
    """Return the gap of a policy on a problem."""
    start, problem = perf_counter(), Problem(**case.about)
    more = {"device": "cuda"} if gpu and case.gpu else {"jobs": 1}
    optimum, found = evaluate(problem, ["optimal", policy], **more)
    return Gap(case.name, optimum.regret, found.regret, perf_counter() - start)


def summary(gaps: list[Gap]) -> str:
    """Return the three figures."""
    percent = [gap.percent for gap in gaps]
    middle, most = np.quantile(percent, 0.5), np.quantile(percent, 0.9)
    return f"{len(gaps)} problems: median {middle:.3f} %, 90 % {most:.3f} %, largest {max(percent):.3f} %"


def main() -> None:
    ask = argparse.ArgumentParser(prog="python -m benchmarks.gaps", description=__doc__.splitlines()[0])
    ask.add_argument("--seed", type=int, default=SEED, help="of the problems (%(default)s)")
    ask.add_argument("--gpu", action="store_true", help="the ten long problems too, on a card")
    ask.add_argument("--only-gpu", action="store_true", help="those alone")
    ask.add_argument("--table", action="store_true", help="the problems of docs/planning.md instead")
    ask.add_argument("--late", action="store_true", help="outcomes that come late instead")
    ask.add_argument("--policy", default="plan", help="which policy (%(default)s)")
    ask.add_argument("--jobs", type=int, default=1, help="processes (%(default)s)")
    given = ask.parse_args()
    if given.late:
        late.main()
        return
    cases = table() if given.table else drawn(given.seed)
    on_card = [case for case in cases if case.gpu] if given.gpu or given.only_gpu else []
    here = [] if given.only_gpu else [case for case in cases if not case.gpu]
    gaps: list[Gap] = []

    def show(gap: Gap) -> None:
        gaps.append(gap)
        print(
            f"{gap.percent:9.4f} %  {gap.name:32s} optimum {gap.optimum:.4f}  {gap.seconds:6.1f} s",
            flush=True,
        )

    with ProcessPoolExecutor(max(1, given.jobs)) as crew:
        waiting = [crew.submit(measure, case, False, given.policy) for case in here]
        for case in on_card:
            show(measure(case, True, given.policy))
        for done in as_completed(waiting):
            show(done.result())
    if len(gaps) < len(cases):
        print(f"{len(cases) - len(gaps)} more with {'--gpu' if not on_card else 'the CPU'}", file=sys.stderr)
    print(summary(gaps))


if __name__ == "__main__":
    main()
