"""Simulation: microseconds per pull, one thread, beside river and mabwiser on the same job.

The job: 3 arms, uniform means, T = 200. Ours runs 100,000 instances after compilation, the others as many
as a few seconds allow. The whole loop is timed (choose, outcome, update, regret), not the choice alone.
"""

from __future__ import annotations

import resource
import time
import warnings

import numpy as np

from benchmarks.shared import row
from elsv import Problem
from elsv.simulation.compare import compare
from elsv.simulation.engine import Run, run_chunk
from elsv.simulation.instances import FromPrior

T = 200
FREE = Problem(rewards=[1.0, 1.0, 1.0], horizon=T)
ORDERED = Problem(rewards=[0.8, 0.9, 1.0], order="decreasing", horizon=T)
CASES = (
    ("thompson", FREE, 100_000, 0.25),
    ("ucb1", FREE, 100_000, 0.08),
    ("ucb", FREE, 100_000, 0.08),
    ("bayes-ucb", FREE, 100_000, 0.12),
    ("gittins", FREE, 100_000, 0.12),
    ("elsv:index=gittins", FREE, 100_000, 0.12),
    ("elsv:index=gittins", ORDERED, 100_000, 12.0),
    ("thompson", ORDERED, 100_000, None),
)


def _per_pull(problem: Problem, policy: str, instances: int, **options: object) -> float:
    began = time.perf_counter()
    compare(problem, [policy], instances, seed=1, **options)
    return 1e6 * (time.perf_counter() - began) / (instances * problem.horizon)


def _per_pull_of_a_chunk(problem: Problem, policy: str, instances: int) -> float:
    """Time one of the sixteen chunks of a run; all are alike, and equal states are merged within a chunk."""
    job = Run(
        problem, (policy,), instances, problem.horizon, 1, FromPrior(problem), np.array([problem.horizon])
    )
    began = time.perf_counter()
    run_chunk(job, 0)
    return 1e6 * (time.perf_counter() - began) / (job.chunk_size * problem.horizon)


def run() -> list[dict]:
    rows = []
    for policy, problem, instances, target in CASES:
        compare(problem, [policy], 600, seed=0, jobs=1)
        if problem.order:
            spent = _per_pull_of_a_chunk(problem, policy, instances)
        else:
            spent = min(_per_pull(problem, policy, instances, jobs=1) for _ in range(2))
        order = "ordered, exact" if problem.order else "free"
        rows.append(_per(f"simulate {policy}, 3 arms, {order}", spent, target))
    rows += _scaling() + _others()
    return rows


def _scaling() -> list[dict]:
    """Threads, arms, and the memory of a million instances."""
    rows = []
    for policy, problem, instances in (("thompson", FREE, 200_000), ("elsv", ORDERED, 8_000)):
        one, two = (_per_pull(problem, policy, instances, jobs=jobs) for jobs in (1, 2))
        name = f"two threads against one, {policy}, {'ordered' if problem.order else 'free'}"
        rows.append(row(name, one / two, "times", "≥ 1.7"))
    for arms in (3, 12, 48):
        problem = Problem(rewards=[1.0] * arms, horizon=T)
        _per_pull(problem, "gittins", 600, jobs=1)
        each = _per_pull(problem, "gittins", 20_000, jobs=1) / arms
        rows.append(row(f"gittins, {arms} arms", each, "µs per pull and arm"))
    spent = _per_pull(FREE, "thompson", 1_000_000)
    rows.append(_per("simulate thompson, 1,000,000 instances, all threads", spent, None))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    rows.append(row("peak memory after 1,000,000 instances", peak, "GB", "≤ 2"))
    return rows


def _per(name: str, value: float, target: float | None) -> dict:
    return row(name, value, "µs per pull", target and f"≤ {target:g}")


def _others() -> list[dict]:
    rows = []
    for name, play in (
        ("river thompson", lambda rng: _river("ThompsonSampling", rng)),
        ("river ucb", lambda rng: _river("UCB", rng)),
        ("river bayes-ucb", lambda rng: _river("BayesUCB", rng)),
        ("mabwiser thompson", lambda rng: _mabwiser("thompson", rng)),
        ("mabwiser ucb1", lambda rng: _mabwiser("ucb1", rng)),
    ):
        rng = np.random.default_rng(0)
        try:
            began, pulls = time.perf_counter(), 0
            while time.perf_counter() - began < 2.0:
                play(rng)
                pulls += T
            spent = 1e6 * (time.perf_counter() - began) / pulls
        except ImportError:
            continue
        rows.append(row(name, spent, "µs per pull", "for comparison"))
    return rows


def _river(kind: str, rng: np.random.Generator) -> None:
    from river import bandit, proba

    means = rng.random(3)
    seed = int(rng.integers(2**31))
    if kind == "ThompsonSampling":
        policy = bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=seed)
    elif kind == "UCB":
        policy = bandit.UCB(delta=1, seed=seed)
    else:
        policy = bandit.BayesUCB(reward_obj=None, seed=seed)
    for _ in range(T):
        arm = policy.pull(range(3))
        policy.update(arm, float(rng.random() < means[arm]))


def _mabwiser(kind: str, rng: np.random.Generator) -> None:
    from mabwiser.mab import MAB, LearningPolicy

    means = rng.random(3)
    learning = LearningPolicy.ThompsonSampling() if kind == "thompson" else LearningPolicy.UCB1(alpha=2**0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mab = MAB(arms=[0, 1, 2], learning_policy=learning, seed=int(rng.integers(2**31)))
        mab.fit(decisions=[0, 1, 2], rewards=[int(rng.random() < m) for m in means])
        for _ in range(T):
            arm = mab.predict()
            mab.partial_fit([arm], [int(rng.random() < means[arm])])
