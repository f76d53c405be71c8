"""Same seed, same numbers: threads, processes, a cluster, and after a worker is killed."""

import json
import os
import signal
import threading
import time

import numpy as np
import pytest

from elsv._base.files import Outputs
from elsv.errors import InvalidInputError, MissingExtraError
from elsv.problem import Problem
from elsv.simulation.aggregate import totals_of
from elsv.simulation.compare import compare
from elsv.simulation.engine import Run, StoppedError, run_chunk
from elsv.simulation.instances import FromPrior
from elsv.simulation.parallel import run_chunks
from elsv.simulation.store import ChunkStore, fingerprint, is_chunk

PROBLEM = Problem(rewards=[0.8, 0.9, 1.0], order="decreasing", horizon=25)
POLICIES = ["elsv", "thompson", "bayes-ucb", "random"]
INSTANCES = 1500


def killed_once(marker):
    """Return a policy whose first worker dies in the middle; a closure, so that it travels by value."""
    here = os.getpid()

    def policy(state, step, rng):
        if step == 20 and os.getpid() != here and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return rng.integers(3, size=state.shape)

    return policy


def regrets(tallies):
    return {t.chunk: t.regret[0].tolist() for t in tallies}


def summary(**options):
    result = compare(PROBLEM, POLICIES, INSTANCES, seed=11, **options).to_dict()
    del result["seconds"]
    for policy in result["policies"]:
        del policy["microseconds_per_decision"]
    return json.dumps(result, sort_keys=True)


@pytest.fixture(scope="module")
def one_thread():
    return summary(jobs=1)


def test_four_threads(one_thread):
    assert summary(jobs=4) == one_thread


def test_two_processes(one_thread):
    assert summary(jobs=2, workers="processes") == one_thread


def test_chunks_in_any_order():
    run = make_run()
    tallies = [run_chunk(run, k) for k in range(run.chunks)]
    forwards, backwards = totals_of(run, tallies), totals_of(run, tallies[::-1])
    for a, b in zip(forwards.policies, backwards.policies, strict=True):
        assert (a.mean == b.mean).all()
        assert (a.ci95 == b.ci95).all()


def make_run(policies=("random", "greedy"), instances=INSTANCES):
    return Run(PROBLEM, tuple(policies), instances, 25, 3, FromPrior(PROBLEM), np.array([25]))


def test_a_killed_process_has_its_chunks_run_again(tmp_path):
    run = make_run((killed_once(tmp_path / "killed"),))
    expected = regrets(run_chunk(run, k) for k in range(run.chunks))
    found = regrets(run_chunks(run, range(run.chunks), 2, "processes"))
    assert (tmp_path / "killed").exists()
    assert found == expected


def test_a_dask_cluster_and_one_that_loses_a_worker(one_thread, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        assert summary(dask=cluster.scheduler_address) == one_thread
        run = make_run((killed_once(tmp_path / "killed"),))
        expected = regrets(run_chunk(run, k) for k in range(run.chunks))
        assert regrets(run_chunks(run, range(run.chunks), dask=cluster.scheduler_address)) == expected
        assert (tmp_path / "killed").exists()


def test_no_cluster_there():
    pytest.importorskip("distributed")
    with pytest.raises(InvalidInputError, match="no dask scheduler"):
        list(run_chunks(make_run(), [0], dask="tcp://127.0.0.1:9"))


def test_a_cluster_without_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"elsv\[dask\]"):
        list(run_chunks(make_run(), [0], dask="tcp://127.0.0.1:9"))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_comparison_gives_up_when_it_is_told_to(jobs):
    stop = threading.Event()

    def stop_at_step_three(state, step, rng):
        if step == 3:
            stop.set()
        assert step <= 3
        return np.zeros(state.shape, dtype=np.int64)

    with pytest.raises(StoppedError):
        compare(PROBLEM, [stop_at_step_three], 100, jobs=jobs, stop=stop)


def test_after_an_error_in_one_chunk_the_others_end_early():
    latest, first = {}, threading.Lock()

    def fail_in_one(state, step, rng):
        latest[threading.get_ident()] = step
        if step == 2 and first.acquire(blocking=False):
            raise ZeroDivisionError
        time.sleep(0.02)
        return np.zeros(state.shape, dtype=np.int64)

    problem = Problem([1.0, 1.0], horizon=500)
    with pytest.raises(ZeroDivisionError):
        compare(problem, [fail_in_one], 600, jobs=2)
    assert max(latest.values()) < 400


def test_resume_goes_on_from_what_is_finished(tmp_path, one_thread, monkeypatch):
    calls = []

    def stop_after_two(run, chunk, *rest):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(chunk)
        return run_chunk(run, chunk)

    monkeypatch.setattr("elsv.simulation.parallel.run_chunk", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        summary(jobs=1, out=tmp_path)
    assert len(list((tmp_path / "chunks").glob("*.npz"))) == 2
    (tmp_path / "chunks" / "000001.npz").write_bytes(b"damaged")
    later = []

    def count(run, chunk, *rest):
        later.append(chunk)
        return run_chunk(run, chunk)

    monkeypatch.setattr("elsv.simulation.parallel.run_chunk", count)
    assert summary(jobs=1, out=tmp_path, resume=True) == one_thread
    assert later == list(range(1, make_run().chunks))
    for more in ({"resume": True}, {}):
        with pytest.raises(InvalidInputError, match="another run"):
            compare(PROBLEM, ["random"], INSTANCES, seed=11, out=tmp_path, **more)
    assert len(list((tmp_path / "chunks").glob("*.npz"))) == make_run().chunks
    for more in ({"resume": True}, {}):
        compare(PROBLEM, ["random"], 300, seed=11, out=tmp_path, overwrite=True, **more)
        assert len(list((tmp_path / "chunks").glob("*.npz"))) == 2


def test_the_same_run_can_be_started_again(tmp_path, one_thread):
    assert summary(jobs=1, out=tmp_path) == one_thread
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "chunks").glob("*.npz")}
    assert summary(jobs=1, out=tmp_path) == one_thread
    assert all(path.stat().st_mtime_ns > time for path, time in before.items())


def always(arm):
    return lambda state, step, rng: np.full(state.shape, arm)


def test_another_function_of_the_same_name_is_another_run(tmp_path):
    compare(PROBLEM, {"mine": always(0)}, 300, out=tmp_path)
    again = compare(PROBLEM, {"mine": always(0)}, 300, out=tmp_path, resume=True)
    with pytest.raises(InvalidInputError, match="another run"):
        compare(PROBLEM, {"mine": always(2)}, 300, out=tmp_path, resume=True)
    straight = compare(PROBLEM, {"mine": always(0)}, 300)
    assert (again["mine"].mean == straight["mine"].mean).all()


def test_a_policy_that_cannot_be_told_from_others_runs_but_is_not_resumed(tmp_path):
    own = np.random.default_rng(1)

    def draws(state, step, rng):
        return own.integers(3, size=state.shape)

    for _ in range(2):
        compare(PROBLEM, [draws], 300, out=tmp_path)
    with pytest.raises(InvalidInputError, match=r"resume must know .* a Generator; leave resume out"):
        compare(PROBLEM, [draws], 300, out=tmp_path, resume=True)
    compare(PROBLEM, [draws], 300, resume=True)  # nothing to go on with


def test_a_store_gives_back_what_it_took(tmp_path):
    run = make_run()
    outputs = Outputs.read(tmp_path)
    store = ChunkStore(outputs, run.chunks)
    assert store.begin(run, "1", resume=False, overwrite=False) == fingerprint(run, "1")
    # All chunks are the run's before one is written: a killed run leaves nothing that nobody owns.
    listed = json.loads((tmp_path / "elsv-files.json").read_text())["files"]
    assert sorted(listed) == [f"chunks/{k:06d}.npz" for k in range(run.chunks)]
    tally = run_chunk(run, 2)
    store.save(tally)
    (back,) = store.load()
    assert back.chunk == 2
    for name, value in vars(tally).items():
        assert np.array_equal(getattr(back, name), value), name
    assert back.curves is None
    outputs.remove(is_chunk)
    assert list(store.load()) == []
    assert not (tmp_path / "chunks").exists()
