"""Progress of a simulation: it moves within chunks, on threads and across processes, and changes nothing."""

import sys
import threading

import numpy as np
import pytest

import elsv._base.notices as told
from commands import elsv as call
from elsv import Problem, evaluate, solve
from elsv._base.progress import Forecast, left_in_words, watched
from elsv.errors import InvalidInputError, TooLongError
from elsv.exact.passes import layers_share, passes_of, share_of
from elsv.policies.layers import Optimum, StateByState
from elsv.simulation.compare import compare
from elsv.simulation.parallel import Steps, counter_in
from elsv.simulation.rehearse import rehearse

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
    monkeypatch.setattr("elsv.simulation.parallel.SECONDS", 0.0 if jobs == 1 else 0.01)
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
        report(26, 100)
        report(50, 100)
    assert len(said) == 1
    assert said[0].startswith("comparing: 26 % done, about 59 s left; progress=True shows a bar")
    with watched(False, "comparing") as report:
        assert report is None


@pytest.mark.parametrize("progress", [None, True])
def test_a_file_gets_a_line_a_minute(progress, monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr("elsv._base.progress._at_terminal", lambda: False)
    monkeypatch.setattr("elsv._base.progress.time.perf_counter", lambda: now[0])
    with watched(progress, "comparing") as report:
        for second in range(0, 201, 10):
            now[0] = float(second)
            report(second, 200)
    assert capsys.readouterr().err.splitlines() == [
        "comparing: 30 % done, about 2 min left",
        "comparing: 60 % done, about 1 min 20 s left",
        "comparing: 90 % done, about 20 s left",
    ]
    with watched(False, "comparing") as report:
        assert report is None


class Clock:
    """A clock that moves when it is told."""

    now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr("elsv._base.progress.time", found)
    return found


def test_the_time_left_is_told_from_what_has_run_since_the_first_report(clock):
    forecast = Forecast()
    clock.now = 50.0  # compiling, say
    assert forecast.left(0.1) is None
    clock.now = 60.0
    assert forecast.left(0.3) == pytest.approx(35.0)
    assert forecast.left(1.0) == 0.0
    assert forecast.left(0.3, evidence=11.0) is None
    assert left_in_words(0.2) == "about 1.0 s left"
    assert left_in_words(47.3) == "about 47 s left"
    assert left_in_words(250.0) == "about 4 min left"


def test_work_that_is_seen_to_take_longer_than_allowed_is_stopped(clock):
    with watched(False, "solving", at_most="10min", remedy="use a shorter horizon") as report:
        report(1, 100)
        clock.now = 11.0
        report(2, 100)  # 18 min by now, but too little has run to tell
        clock.now = 30.0
        with pytest.raises(TooLongError) as error:
            report(3, 100)
    assert str(error.value) == (
        "solving takes about 24 min 45 s, more than the 10 min allowed by --at-most; use a shorter horizon"
    )
    with watched(False, "solving", at_most=100) as report:
        report(1, 100)
        clock.now += 101.0
        with pytest.raises(TooLongError, match="more than the 1 min 40 s"):
            report(1, 100)
        report(100, 100)  # done is done


@pytest.mark.parametrize("wrong", [0, -1, "10", "soon", "1.2.3 min", True, float("inf")])
def test_a_limit_is_a_length_of_time(wrong):
    with pytest.raises(InvalidInputError, match="at_most must be a length of time such as '10min'"):
        solve(Problem([1, 1], horizon=3), at_most=wrong)


def test_every_long_work_takes_a_limit(tmp_path):
    problem, tiny = Problem([0.5, 1.0], "decreasing", 30), 1e-9
    with pytest.raises(TooLongError, match=r"solving takes about .* shorter horizon"):
        solve(problem, at_most=tiny)
    for policy in ("thompson", "optimal"):  # by layers, and in place
        with pytest.raises(TooLongError, match=r"evaluating takes about .* shorter horizon"):
            evaluate(problem, policy, at_most=tiny)
    with pytest.raises(TooLongError, match=r"comparing takes about .* fewer instances"):
        compare(problem, ["greedy"], 600, at_most=tiny)
    with pytest.raises(TooLongError, match="--resume goes on"):
        compare(problem, ["greedy"], 600, at_most=tiny, out=tmp_path / "kept")
    with pytest.raises(TooLongError, match=r"rehearsing takes about .* fewer customers"):
        rehearse(problem, [20], policies="greedy", instances=600, at_most=tiny)
    assert solve(problem, at_most="1 hour").value == solve(problem).value


def test_layers_count_by_their_states():
    assert layers_share(2, 0, 9) == 0.0
    assert layers_share(2, 9, 9) == 1.0
    assert layers_share(2, 1, 3) == pytest.approx(10 / 15)
    problem = Problem([1, 1], horizon=3)
    policies = [StateByState(lambda state, step, rng: 0), Optimum(problem.belief)]
    share = share_of(problem, passes_of(problem, policies, None))
    found = [share(done, 6) for done in range(7)]
    assert found == pytest.approx([0, 1 / 3, 14 / 30, 1 / 2, 5 / 6, 29 / 30, 1])


@pytest.fixture
def notices(monkeypatch):
    monkeypatch.setattr(told, "_said", {*told._said, told._PIPED})  # as a library
    monkeypatch.setattr(told, "_NOTICED", 0.0)
    return told


def compiled():
    watch = told.Stopwatch()
    for _ in range(3):
        watch.start()
        watch.stop()


@pytest.mark.parametrize(
    ("words", "count"), [([], 1), (["--quiet"], 0), (["--json"], 0)], ids=["plain", "quiet", "json"]
)
def test_a_command_in_a_pipe_says_once_that_it_compiles(notices, monkeypatch, words, count):
    monkeypatch.setattr(sys.modules["elsv.cli.app"], "_run", compiled)
    assert call("check", "shop.toml", *words).stderr.count("compiling for the first time, about") == count


def test_a_library_says_nothing_in_a_pipe(notices, capsys):
    compiled()
    assert capsys.readouterr().err == ""


def test_a_terminal_has_a_spinner_instead(notices, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    notices.hush()
    notices.tell_compiling(True)
    compiled()
    assert capsys.readouterr().err == ""


def test_quiet_may_stand_anywhere():
    for words in (("--quiet", "gittins", 1, 1), ("gittins", 1, 1, "--quiet")):
        assert call(*words).stdout.startswith("index  0.869860")
