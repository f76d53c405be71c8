"""Progress of a simulation: it moves within chunks, on threads and across processes, and changes nothing."""

import threading

import numpy as np
import pytest

from elsv import Problem
from elsv._base.progress import watched
from elsv.simulation.compare import compare
from elsv.simulation.steps import Steps, counter_in

PROBLEM = Problem([0.8, 0.9, 1.0], "decreasing", 30)
INSTANCES = 300  # two chunks
EACH = 2 * 30  # steps of both policies in a chunk


def waiting(here):
    """Return a policy that stands still in the middle of its first chunk until `here` is known."""

    def policy(state, step, rng):
        if step == 15:
            assert here.wait(60)
        return rng.integers(3, size=state.shape)

    return policy


@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_is_told_within_a_chunk(jobs, monkeypatch):
    monkeypatch.setattr("elsv.simulation.steps.SECONDS", 0.0)
    monkeypatch.setattr("elsv.simulation.parallel.SECONDS", 0.01)
    here, seen = threading.Event(), []

    def tell(done, total):
        assert threading.current_thread() is threading.main_thread()
        seen.append(done)
        assert total == 2 * EACH
        if done >= 10:
            here.set()

    if jobs == 1:
        here.set()
    compare(PROBLEM, {"random": "random", "waits": waiting(here)}, INSTANCES, jobs=jobs, progress=tell)
    assert seen[0] == 0
    assert seen[-1] == 2 * EACH
    assert seen == sorted(set(seen))
    assert any(done % EACH for done in seen)


def test_progress_is_told_across_processes(tmp_path, monkeypatch):
    monkeypatch.setattr("elsv.simulation.parallel.SECONDS", 0.01)
    seen, path = [], tmp_path / "go on"

    def stands_still(state, step, rng):
        import time

        deadline = time.monotonic() + 60
        while step == 15 and not path.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return rng.integers(3, size=state.shape)

    def tell(done, total):
        seen.append(done)
        if done % EACH:
            path.touch()

    policies = {"random": "random", "stands still": stands_still}
    found = compare(PROBLEM, policies, INSTANCES, jobs=2, workers="processes", progress=tell)
    assert any(done % EACH for done in seen)
    assert seen[-1] == 2 * EACH
    assert seen == sorted(set(seen))
    silent = compare(PROBLEM, policies, INSTANCES, jobs=1)
    assert np.array_equal(found["random"].mean, silent["random"].mean)


def test_what_was_kept_counts_from_the_start(tmp_path):
    compare(PROBLEM, ["random"], INSTANCES, out=tmp_path)
    seen = []
    compare(PROBLEM, ["random"], INSTANCES, out=tmp_path, resume=True, progress=lambda *now: seen.append(now))
    assert seen == [(60, 60)]


def test_a_chunk_that_starts_over_takes_nothing_back():
    seen = []
    steps = Steps(2, 10, lambda done, total: seen.append(done))
    with steps.across_processes() as path:
        for made in (4, 2, 6):
            counter_in(path, 1)(made)
            steps.show()
    assert seen == [4, 6]
    assert steps.made.tolist() == [0, 6]
    assert counter_in(path, 1) is None
    assert counter_in(None, 1) is None
    with Steps(1, 1).across_processes() as nowhere:
        assert nowhere is None


def test_whoever_waits_long_on_a_terminal_is_told_once(monkeypatch):
    said, now = [], [0.0]
    monkeypatch.setattr("elsv._base.progress.say_once", said.append)
    monkeypatch.setattr("elsv._base.progress._at_terminal", lambda: True)
    monkeypatch.setattr("elsv._base.progress.time.perf_counter", lambda: now[0])
    with watched(None, "comparing") as report:
        report(1, 100)
        assert said == []
        now[0] = 20.0
        report(0, 100)
        report(25, 100)
        report(50, 100)
    assert len(said) == 1
    assert said[0].startswith("comparing: 25 % done, about 1 min to go; progress=True shows a bar")
    with watched(False, "comparing") as report:
        assert report is None


def test_nobody_is_told_where_there_is_no_terminal(monkeypatch):
    monkeypatch.setattr("elsv._base.progress._at_terminal", lambda: False)
    with watched(None, "comparing") as report:
        assert report is None
