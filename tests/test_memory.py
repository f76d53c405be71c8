"""The memory of exact answers, known beforehand to a factor, and refused where there is too little."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from elsv import InvalidInputError, Problem
from elsv.exact import estimate, evaluate
from elsv.exact.evaluate import on_layers
from elsv.exact.passes import cost_of_all, passes_of
from elsv.policies.registry import policy_names

REWARDS = (0.4, 0.6, 0.7, 1.0)
SMALL = 10**7  # bytes, lost in what the interpreter itself takes
NAMES = policy_names(Problem(REWARDS, horizon=9))
PEAK = """
import ctypes, os, sys
from pathlib import Path
from elsv import Problem
from elsv.exact import estimate, evaluate, solve
os.environ["ELSV_CACHE_DISK"] = "0"
name, arms, order, last = sys.argv[1], int(sys.argv[2]), sys.argv[3] or None, int(sys.argv[4])
def memory(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(key))
began = []
def begin(cost):
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that of now
    began[:] = [cost.bytes, memory("VmRSS")]
for horizon in (4, last):
    problem = Problem((0.4, 0.6, 0.7, 1.0)[-arms:], order, horizon)
    if name == "solve and keep":
        begin(estimate(problem, horizon))
        solve(problem, keep=horizon, jobs=1)
    else:
        evaluate(problem, name, announce=begin, jobs=1)
print(began[0], memory("VmHWM") - began[1])
"""


def cost(name, problem):
    return cost_of_all(passes_of(problem, [on_layers(problem, name)], None))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("order", ["decreasing", None])
def test_longer_takes_more(name, order):
    few, many = (cost(name, Problem(REWARDS[-2:], order, horizon)) for horizon in (60, 200))
    assert many.states > few.states
    assert many.bytes > few.bytes


@pytest.mark.parametrize("name", ["elsv:depth=2", "commit", "thompson", "fixed"])
def test_what_an_absurd_horizon_takes_is_absurd(name):
    problem = Problem(REWARDS[-3:], "decreasing", 10**6)
    assert estimate(problem).bytes > 1e15
    assert cost(name, problem).bytes > 1e15


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs the peak of a process")
@pytest.mark.parametrize(
    ("name", "arms", "order", "horizon"),
    [
        ("plan:effort=100", 3, "decreasing", 42),
        ("thompson", 3, "decreasing", 36),
        ("elsv", 4, "decreasing", 20),
        ("solve and keep", 3, "", 42),
        ("isotonic-kl-ucb", 4, "decreasing", 14),
    ],
)
def test_memory_is_known_beforehand(name, arms, order, horizon):
    command = [sys.executable, "-c", PEAK, name, str(arms), order, str(horizon)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    announced, found = map(int, answer)
    assert max(announced, found) < SMALL or found / 1.5 < announced < 1.5 * found


def test_a_policy_that_says_nothing_of_its_memory_is_taken_for_one_with_some():
    class Own:
        reach = 3

        def decide(self, sweeps, layer):
            return np.zeros(layer.size, np.uint8)

    problem, said = Problem([1, 1], horizon=30), []
    found = evaluate(problem, Own(), announce=said.append)
    assert found[0].value == pytest.approx(15.0)
    assert said[0].bytes > estimate(problem).bytes


def test_an_evaluation_adds_its_memory_up_once(monkeypatch):
    from elsv.exact import passes

    asked, own = [], passes.by_layers_bytes
    monkeypatch.setattr(passes, "by_layers_bytes", lambda *given: asked.append(given) or own(*given))
    evaluate(Problem([1, 1], horizon=5), ["thompson", "commit:depth=2"])
    assert len(asked) == 1


def test_too_little_memory_is_refused_before_the_work():
    with pytest.raises(InvalidInputError, match=r"states need .* GB are available; use a shorter horizon"):
        evaluate(Problem([1, 1], horizon=100), "thompson", memory=10**5)
