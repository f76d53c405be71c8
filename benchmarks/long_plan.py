"""What `plan` loses at long horizons, exactly or on simulated paths: three ordered arms.

``python -m benchmarks.long_plan paths FILE.npz REWARDS HORIZON [POLICY] [--paths K] [--jobs N]`` plays K
instances drawn from the prior and keeps every state and choice, without a GPU. ``… lost FILE.npz …`` then
tells what they lose against the optimum (all files of one problem in one pass over its states), and ``… exact
REWARDS HORIZON POLICY …`` evaluates policies in all states; both need a GPU. REWARDS are written .8/.9/1.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from elsv import Problem, State, evaluate
from elsv.errors import InvalidInputError
from elsv.exact.cuda.run import root_scores, scores_of
from elsv.exact.cuda.sweeps import ARMS, Device, LayerSweeps, find_device
from elsv.exact.solve import largest_reward
from elsv.policies import make_policy

EACH = 64  # paths that one call plays


def problem_of(rewards: str, horizon: int) -> Problem:
    return Problem([float(r) for r in rewards.split("/")], "decreasing", horizon)


def play(given: tuple[str, int, str, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return wins and pulls before each step [T, K, N] and arms [T, K] of `EACH` instances."""
    rewards, horizon, name, number = given
    problem, rng = problem_of(rewards, horizon), np.random.default_rng((20261116, number))
    chooser = make_policy(name, problem)
    theta = -np.sort(-rng.random((EACH, problem.arms)), axis=1)  # uniform and in order
    coins, rows = rng.random((horizon, EACH)), np.arange(EACH)
    wins, pulls = np.zeros((2, horizon + 1, EACH, problem.arms), np.int16)
    arms = np.zeros((horizon, EACH), np.int8)
    for step in range(horizon):
        counts = np.concatenate([wins[step], pulls[step] - wins[step]], axis=1)
        states, inverse = np.unique(counts, axis=0, return_inverse=True)
        alpha, beta = np.split(1.0 + states, 2, axis=1)
        arms[step] = chooser(State(alpha, beta), step + 1)[inverse.ravel()]
        wins[step + 1], pulls[step + 1] = wins[step], pulls[step]
        pulls[step + 1, rows, arms[step]] += 1
        wins[step + 1, rows, arms[step]] += coins[step] < theta[rows, arms[step]]
    return wins[:-1], pulls[:-1], arms


def losses(
    problem: Problem,
    device: Device,
    wins: np.ndarray,
    pulls: np.ndarray,
    arms: np.ndarray,
    progress: Callable[[int, int], None],
) -> tuple[np.ndarray, float]:
    r"""Return what each simulated path loses against the optimum ``[K]``, and what the optimum earns.

    A policy that pulls a(s) earns less than the optimum by

    .. math:: V_1 - V^a_1 = E\Bigl[\sum_t V_t(s_t) - Q_t(s_t, a(s_t))\Bigr]

    over its own paths. The terms are at least 0 and mostly 0, so that a few thousand simulated paths give the
    difference far better than simulated regrets would. V and Q are read while the optimum is computed.
    `wins` and `pulls` ``[T, K, N]`` are the counts before each step, `arms` ``[T, K]`` what was pulled then.
    """
    horizon, paths = problem.steps, wins.shape[1]
    if wins.shape != (horizon, paths, problem.arms) or arms.shape != (horizon, paths):
        raise InvalidInputError(
            f"paths of {horizon} steps have counts [{horizon}, K, {problem.arms}] and arms [{horizon}, K], "
            f"got {wins.shape} and {arms.shape}"
        )
    lost = np.zeros(paths)
    first = ARMS - problem.arms

    def watch(sweeps: LayerSweeps, layer: int, later: object) -> None:
        counts = np.zeros((paths, 2 * ARMS), np.int64)
        counts[:, first:ARMS], counts[:, ARMS + first :] = wins[layer], pulls[layer]
        states, inverse = np.unique(counts, axis=0, return_inverse=True)
        scores = scores_of(sweeps, layer, states, later)[:, first:]
        chosen = scores[inverse.ravel(), arms[layer]]
        lost[:] += scores.max(axis=1)[inverse.ravel()] - chosen

    best = root_scores(problem, device, progress, watch=watch)
    return lost, float(best.max())


def paths(file: Path, rewards: str, horizon: int, name: str, count: int, jobs: int) -> None:
    """Play instances and keep them."""
    given = [(rewards, horizon, name, number) for number in range(-(-count // EACH))]
    began = time.process_time()
    with ProcessPoolExecutor(jobs) as pool:
        parts = list(pool.map(play, given)) if jobs > 1 else [play(one) for one in given]
    wins, pulls, arms = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    told = {"rewards": rewards, "horizon": horizon, "policy": name}
    np.savez_compressed(file, wins=wins, pulls=pulls, arms=arms, told=json.dumps(told))
    print(json.dumps({**told, "paths": arms.shape[1], "seconds": round(time.process_time() - began, 1)}))


def lost(files: list[Path]) -> None:
    """Print what the paths of each file lose."""
    groups: dict[tuple[str, int], list[tuple[str, dict]]] = {}
    for file in files:
        kept = dict(np.load(file))
        told = json.loads(str(kept["told"]))
        groups.setdefault((told["rewards"], told["horizon"]), []).append((told["policy"], kept))
    for (rewards, horizon), played in groups.items():
        problem = problem_of(rewards, horizon)
        parts = [np.concatenate([k[part] for _, k in played], axis=1) for part in ("wins", "pulls", "arms")]
        found, best = losses(problem, find_device(), *parts, lambda done, total: None)
        regret, first = largest_reward(problem) - best, 0
        for name, kept in played:
            count = kept["arms"].shape[1]
            one = found[first : first + count]
            first += count
            error = one.std(ddof=1) / np.sqrt(count)
            tell(rewards, horizon, name, regret, float(one.mean()), float(error), count)


def exact(rewards: str, horizon: int, names: list[str]) -> None:
    """Print what policies lose, by all states."""
    problem = problem_of(rewards, horizon)
    for name in names:
        began = time.perf_counter()
        optimum, row = evaluate(problem, ["optimal", name], device="cuda", progress=False)
        print(f"{time.perf_counter() - began:.1f} s", file=sys.stderr)
        tell(rewards, horizon, name, optimum.regret, row.regret - optimum.regret, 0.0, None)


def tell(
    rewards: str, horizon: int, name: str, regret: float, loss: float, error: float, count: int | None
) -> None:
    row = {"rewards": rewards, "horizon": horizon, "policy": name, "paths": count, "optimum": regret}
    percent = f"{100 * loss / regret:.3f} ± {196 * error / regret:.3f}"
    print(json.dumps({**row, "loss": loss, "error": error, "percent": percent}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    forms = parser.add_subparsers(dest="form", required=True)
    one = forms.add_parser("paths")
    one.add_argument("file", type=Path)
    one.add_argument("rewards")
    one.add_argument("horizon", type=int)
    one.add_argument("policy", nargs="?", default="plan")
    one.add_argument("--paths", type=int, default=4096)
    one.add_argument("--jobs", type=int, default=1)
    forms.add_parser("lost").add_argument("files", type=Path, nargs="+")
    one = forms.add_parser("exact")
    one.add_argument("rewards")
    one.add_argument("horizon", type=int)
    one.add_argument("policies", nargs="+")
    given = parser.parse_args()
    if given.form == "paths":
        paths(given.file, given.rewards, given.horizon, given.policy, given.paths, given.jobs)
    elif given.form == "lost":
        lost(given.files)
    else:
        exact(given.rewards, given.horizon, given.policies)


if __name__ == "__main__":
    main()
