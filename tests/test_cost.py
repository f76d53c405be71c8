"""What exact answers are announced to take: memory to a factor, and time that grows as the work does."""

import subprocess
import sys
from pathlib import Path

import pytest

from elsv import Problem
from elsv._base.machine import slowness
from elsv.exact import estimate, evaluate
from elsv.exact.evaluate import on_layers
from elsv.exact.passes import cost_of, passes_of
from elsv.lattice.numbering import layer_size
from elsv.lattice.work import neighbours, seconds_for_each, some_states
from elsv.policies.registry import policy_names

REWARDS = (0.4, 0.6, 0.7, 1.0)
SMALL = 10**7  # bytes, below which the figure is not said
NAMES = policy_names(Problem(REWARDS, horizon=9))
PEAK = """
import sys
from benchmarks.bench_announce import REWARDS, once
given = {"rewards": REWARDS[-int(sys.argv[2]):], "order": sys.argv[3] or None}
_, found = [once(sys.argv[1], given, horizon) for horizon in (4, int(sys.argv[4]))]
print(*found["bytes"])
"""


def cost(name, problem):
    return cost_of(problem, passes_of(problem, [on_layers(problem, name)], None))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("order", ["decreasing", None])
def test_longer_takes_more_of_everything(name, order):
    few, many = (cost(name, Problem(REWARDS[-2:], order, horizon)) for horizon in (60, 200))
    assert many.states > few.states
    assert many.bytes > few.bytes
    assert many.seconds > few.seconds > 0


@pytest.mark.parametrize("name", ["elsv:depth=2", "commit", "plan", "thompson", "gittins", "fixed"])
def test_what_is_announced_for_an_absurd_horizon_is_absurd(name):
    problem = Problem(REWARDS[-3:], "decreasing", 10**6)
    assert estimate(problem).seconds > 1e9
    if name in ("gittins", "plan"):
        return  # their tables are refused
    assert cost(name, problem).bytes > 1e15


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs the peak of a process")
@pytest.mark.parametrize(
    ("name", "arms", "order", "horizon"),
    [
        ("plan:effort=100", 3, "decreasing", 42),
        ("thompson", 2, "", 124),
        ("thompson", 3, "decreasing", 36),
        ("random", 3, "", 42),
        ("elsv", 4, "decreasing", 20),
        ("solve and keep", 3, "", 42),
        ("ids", 3, "decreasing", 9),
        ("isotonic-kl-ucb", 4, "decreasing", 14),
    ],
)
def test_memory_is_known_beforehand(name, arms, order, horizon):
    root = Path(__file__).parents[1]
    command = [sys.executable, "-c", PEAK, name, str(arms), order, str(horizon)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout.split()
    announced, found = map(int, answer)
    assert max(announced, found) < SMALL or found / 1.5 < announced < 1.5 * found


def test_a_policy_that_says_nothing_of_itself_is_taken_to_sweep_as_far_as_it_reads():
    class Own:
        reach = 3

        def decide(self, sweeps, layer):
            import numpy as np

            return np.zeros(layer.size, np.uint8)

    problem, said = Problem([1, 1], horizon=30), []
    found = evaluate(problem, Own(), announce=said.append)
    assert found[0].value == pytest.approx(15.0)
    assert said[0].seconds > cost("fixed", problem).seconds


def test_a_users_function_is_tried_beforehand():
    asked = []

    def own(state, step, rng):
        asked.append(step)
        return 0

    announced = []
    evaluate(Problem([1, 1], horizon=5), own, announce=lambda cost: announced.append(len(asked)))
    assert announced[0] > 0


def test_what_a_call_takes_is_told_from_what_each_state_takes(monkeypatch):
    class Clock:
        now = 0.0

        def perf_counter(self):
            return self.now

        process_time = perf_counter

    clock = Clock()
    monkeypatch.setattr("elsv.lattice.work.time", clock)

    def ask(state):
        clock.now += 4e-3 + 2e-5 * len(state.alpha)

    problem = Problem([1, 1], horizon=40)
    assert seconds_for_each(ask, problem, 30, 10_000) == pytest.approx(2e-5 + 4e-3 / 10_000)
    assert seconds_for_each(ask, problem, 30, 16) == pytest.approx(2e-5 + 4e-3 / 16)


def test_states_to_try_are_states_of_the_layer():
    problem = Problem([0.5, 1, 1], "decreasing", 40)
    for state in (some_states(problem, 12, 500), neighbours(problem, 12, 500)):
        pulls = state.alpha + state.beta - problem.prior.sum(axis=1)
        assert (pulls.sum(axis=1) == 12).all()
        assert (state.alpha >= 1).all()
        assert len(state.alpha) == 500
    assert len(neighbours(problem, 1, 500).alpha) == layer_size(3, 1)


def test_slowness_is_measured_once():
    assert slowness() == slowness()
    assert 0.25 <= slowness() <= 8.0
