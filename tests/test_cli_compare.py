"""`elsv compare` as people and programs meet it."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import commands
from elsv.errors import InvalidInputError

PROBLEM = 'rewards = [0.8, 0.9, 1.0]\norder = "decreasing"\nhorizon = 12\nnames = ["20 %", "10 %", "none"]\n'
TIMES = ("seconds", "microseconds_per_decision")


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "discounts.toml"
    path.write_text(PROBLEM)
    return path


def command(*arguments):
    return [sys.executable, "-m", "elsv.cli", "compare", *map(str, arguments)]


def elsv(*arguments, code=0):
    return commands.elsv("compare", *arguments, code=code)


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(entry) for key, entry in value.items() if key not in TIMES}
    return [without_times(entry) for entry in value] if isinstance(value, list) else value


def lines_without_times(path):
    """The bytes of a summary, but for the lines that hold times."""
    return [line for line in path.read_bytes().splitlines() if not any(t.encode() in line for t in TIMES)]


def test_table_of_the_default_policies(problem):
    done = elsv(problem, "--instances", 300, "--quiet")
    rows = [line.split() for line in done.stdout.splitlines()]
    expected = {"bayes-ucb", "elsv", "greedy", "plan", "thompson"}
    named = [row[0] for row in rows if row and row[0] in expected]
    assert set(named[:5]) == expected
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert sorted(path.name for path in problem.parent.iterdir()) == [problem.name]


def test_json_is_the_comparison_and_nothing_else(problem):
    from elsv.problem import Problem
    from elsv.simulation.compare import compare

    done = elsv(problem, "-p", "thompson", "-p", "fixed:arm=3", "--instances", 400, "--seed", 5, "--json")
    answer = json.loads(done.stdout, parse_constant=pytest.fail)
    expected = compare(Problem.load(problem), ["thompson", "fixed:arm=3"], 400, 5).to_dict()
    assert without_times(answer) == without_times(json.loads(json.dumps(expected)))
    first = answer["policies"][0]
    assert {"policy", "regret", "ci95", "regret_at", "microseconds_per_decision"} <= set(first)
    assert first["regret_at"]["12"] == first["regret"]
    assert done.stderr == ""
    single = json.loads(elsv(problem, "-p", "random", "--instances", 1, "--json").stdout)
    assert single["policies"][0]["ci95"] is None


def test_the_same_summary_whoever_runs_it(problem, tmp_path):
    shared = (problem, "-p", "elsv", "-p", "thompson", "--instances", 900, "--seed", 3)
    done = elsv(*shared, "--jobs", 1, "--out", tmp_path / "a", "--raw")
    elsv(*shared, "--jobs", 4, "--out", tmp_path / "b")
    assert lines_without_times(tmp_path / "a/summary.json") == lines_without_times(
        tmp_path / "b/summary.json"
    )
    assert "report.html" in done.stderr
    assert (tmp_path / "a/raw.parquet").exists()
    assert not (tmp_path / "b/raw.parquet").exists()
    for name in ("a", "b"):
        assert not (tmp_path / name / "chunks").exists()
        for file in (
            "report.html",
            "results.parquet",
            "problem.toml",
            "figures/regret.svg",
            "figures/regret.png",
        ):
            assert (tmp_path / name / file).stat().st_size > 0
    page = (tmp_path / "a/report.html").read_text()
    assert (
        f"elsv compare {problem} -p elsv -p thompson --instances 900 --seed 3 --out {tmp_path / 'a'}" in page
    )


def test_what_stands_in_the_directory_stays(problem, tmp_path):
    out = tmp_path / "o"
    mine = [out / name for name in ("chunks/notes.txt", "figures/mine.svg", "notes.txt")]
    for path in mine:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    shared = (problem, "-p", "random", "--instances", 300, "--out", out)
    elsv(*shared, "--raw")
    refused = elsv(*shared, "--seed", 1, code=2)
    assert "holds another run" in refused.stderr
    assert "--overwrite" in refused.stderr
    assert (out / "raw.parquet").exists()
    elsv(*shared, "--seed", 1, "--overwrite")
    elsv(*shared, "--seed", 1)
    assert json.loads((out / "summary.json").read_text())["settings"]["seed"] == 1
    assert not (out / "raw.parquet").exists()
    assert [path.name for path in (out / "chunks").iterdir()] == ["notes.txt"]
    assert all(path.read_text() == "mine" for path in mine)


@pytest.mark.parametrize("name", ["report.html", "problem.toml", "figures/regret.png", "elsv-files.json"])
def test_foreign_files_where_ours_would_go_are_refused_before_anything_is_simulated(problem, tmp_path, name):
    path = tmp_path / "o" / name
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    done = elsv(problem, "--instances", 300, "--out", tmp_path / "o", "--overwrite", code=2)
    assert name in done.stderr
    assert "another directory" in done.stderr
    assert done.stdout == ""
    assert path.read_text() == "mine"
    assert len(list((tmp_path / "o").rglob("*"))) == 1 + ("/" in name)


def test_results_of_an_earlier_version_are_not_lost(problem, tmp_path):
    shared = (problem, "-p", "random", "--instances", 300, "--out", tmp_path / "o")
    elsv(*shared)
    (tmp_path / "o" / "elsv-files.json").unlink()
    before = (tmp_path / "o" / "summary.json").read_bytes()
    for more in ((), ("--overwrite",), ("--resume",)):
        assert "move them away" in elsv(*shared, *more, code=2).stderr
    assert (tmp_path / "o" / "summary.json").read_bytes() == before


def test_a_report_that_cannot_be_written_does_not_lose_the_result(problem, tmp_path, monkeypatch):
    def full(*_):
        raise InvalidInputError("cannot write: No space left")

    shared = (problem, "-p", "random", "--instances", 300, "--out", tmp_path / "o", "--json")
    with monkeypatch.context() as patch:
        patch.setattr("elsv.report.comparison.write_columns", full)
        done = elsv(*shared, code=2)
    assert json.loads(done.stdout)["policies"][0]["policy"] == "random"
    assert "No space left" in done.stderr
    assert len(list((tmp_path / "o" / "chunks").glob("*.npz"))) == 2
    assert "wrote" in elsv(*shared, "--resume").stderr


def test_raw_regret_agrees_with_its_mean(problem, tmp_path):
    import polars

    elsv(problem, "-p", "thompson", "-p", "random", "--instances", 300, "--out", tmp_path / "o", "--raw")
    raw = polars.read_parquet(tmp_path / "o/raw.parquet")
    assert raw.columns == ["instance", "step", "thompson", "random"]
    assert len(raw) == 300 * 12
    means = raw.group_by("step", maintain_order=True).agg(polars.col("random").mean())["random"].to_numpy()
    curves = polars.read_parquet(tmp_path / "o/results.parquet").filter(polars.col("policy") == "random")
    np.testing.assert_allclose(means, curves["regret"].to_numpy())


def test_given_means_and_a_grid(problem, tmp_path):
    (tmp_path / "m.csv").write_text("a,b,c\n0.9,0.5,0.1\n0.2,0.2,0.2\n")
    np.save(tmp_path / "m.npy", np.array([[0.9, 0.5, 0.1], [0.2, 0.2, 0.2]]))
    rest = ("-p", "fixed:arm=3", "--instances", 300, "--horizon", 10, "--json")
    from_csv, from_npy = (
        json.loads(elsv(problem, "--means", tmp_path / f, *rest).stdout) for f in ("m.csv", "m.npy")
    )
    assert without_times(from_csv) == without_times(from_npy)
    # Rewards 0.8, 0.9, 1: arm 3 loses 0.72 - 0.1 in the first row and nothing in the second.
    assert from_csv["policies"][0]["regret"] == pytest.approx(10 * 0.62 / 2)
    assert from_csv["settings"]["horizon"] == 10
    done = elsv(problem, "--grid", 3, *rest[:4], "--json")
    assert json.loads(done.stdout)["settings"]["means"].startswith("10 given rows")
    assert done.stderr == ""
    uneven = elsv(problem, "--grid", 3, "-p", "random", "--instances", 299)
    assert "--instances 300" in uneven.stderr


def test_horizon_replaces_the_problems_and_until_ends_a_run(problem):
    def run(*arguments):
        done = elsv(problem, "-p", "finite-gittins", "--instances", 300, "--json", *arguments)
        return json.loads(done.stdout)

    whole, longer, cut, both = (
        run(),
        run("--horizon", 20),
        run("--until", 5),
        run("--horizon", 20, "--until", 5),
    )
    settings = [result["settings"] for result in (whole, longer, cut, both)]
    assert [(s["horizon"], s["steps"]) for s in settings] == [(12, 12), (20, 20), (12, 5), (20, 5)]
    assert both["settings"]["problem"]["horizon"] == 20
    # The policies plan for the whole horizon from the first step on.
    assert both["policies"][0]["regret"] != cut["policies"][0]["regret"]


def test_until_on_the_page_and_a_discount(problem, tmp_path):
    elsv(problem, "-p", "random", "--instances", 300, "--until", 5, "--out", tmp_path / "o")
    assert "--until 5" in (tmp_path / "o" / "report.html").read_text()
    problem.write_text(PROBLEM.replace("horizon = 12", "discount = 0.9"))
    assert "until=" in elsv(problem, code=2).stderr
    done = elsv(problem, "-p", "random", "--instances", 300, "--until", 5, "--json")
    settings = json.loads(done.stdout)["settings"]
    assert (settings["horizon"], settings["steps"]) == (None, 5)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-p", "thomson"], "did you mean 'thompson'"),
        (["-p", "thompson", "-p", "thompson"], "twice"),
        (["--instances", 0], "instances"),
        (["--seed", -1], "seed"),
        (["--until", 13], "12"),
        (["--until", 0], "until"),
        (["--horizon", 0], "horizon"),
        (["--workers", 0], "jobs"),
        (["--jobs", 0], "jobs"),
        (["--resume"], "--resume needs --out"),
        (["--raw"], "--raw needs --out"),
        (["--overwrite"], "--overwrite needs --out"),
        (["--grid", 1], "at least 2"),
        (["--grid", 1000], "fewer points"),
        (["--grid", 3, "--means", "m.csv"], "give one of them"),
        (["--means", "missing.csv"], "missing.csv"),
        (["--means", "means.txt"], ".csv or .npy"),
        (["--dask", "localhost:1", "--jobs", 2], "--dask"),
    ],
)
def test_bad_input(problem, arguments, says):
    done = elsv(problem, *arguments, code=2)
    assert done.stdout == ""
    assert done.stderr.startswith("elsv: ")
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "content",
    [b"", b"0.1,0.2\n", b"0.1,0.2,x\n", b"0.1,0.2,1.3\n", b"0.1,0.2\n0.1\n", b"nan,0,0\n", b"\xff\xfe"],
)
def test_bad_means(problem, tmp_path, content):
    for name in ("m.csv", "m.npy"):
        (tmp_path / name).write_bytes(content)
        assert "means" in elsv(problem, "--means", tmp_path / name, code=2).stderr


def test_bad_places(problem, tmp_path):
    elsv(tmp_path / "missing.toml", code=2)
    elsv(problem, "--out", problem, code=2)
    elsv(problem, "--out", problem / "under", code=2)


@pytest.mark.parametrize(
    ("module", "extra"), [("matplotlib", "plot"), ("jinja2", "plot"), ("polars", "data")]
)
def test_a_missing_extra_is_named_before_anything_is_simulated(problem, tmp_path, module, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr("elsv.simulation.parallel.run_chunk", None)
    done = elsv(problem, "--out", tmp_path / "o", code=2)
    assert f"pip install 'elsv[{extra}]'" in done.stderr
    assert not (tmp_path / "o").exists()


def test_without_extras_the_table_is_still_there(problem, monkeypatch):
    for module in ("matplotlib", "polars", "jinja2"):
        monkeypatch.setitem(sys.modules, module, None)
    assert "random" in elsv(problem, "-p", "random", "--instances", 300).stdout


def interrupt(arguments, wait_for):
    """Start a run, send Ctrl-C to its process group once `wait_for` says so, and return how it ended."""
    process = subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while not wait_for() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() is None, "ended too early"
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    return process.returncode, stdout, stderr


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_interrupt_keeps_finished_chunks_and_resume_goes_on(problem, tmp_path):
    out = tmp_path / "o"
    shared = (problem, "-p", "thompson", "-p", "elsv", "--instances", 20_000, "--seed", 1)
    code, stdout, stderr = interrupt(
        (*shared, "--jobs", 1, "--out", out), lambda: any(out.glob("chunks/*.npz"))
    )
    assert (code, stdout) == (130, "")
    assert "--resume" in stderr
    assert "Traceback" not in stderr
    kept = {path.name: path.stat().st_mtime_ns for path in (out / "chunks").glob("*.npz")}
    assert 0 < len(kept) < 16
    assert not (out / "summary.json").exists()
    other = elsv(*shared[:-1], 2, "--out", out, "--resume", code=2)
    assert "another run" in other.stderr
    elsv(*shared, "--out", out, "--resume")
    elsv(*shared, "--out", tmp_path / "straight")
    assert not (out / "chunks").exists()
    assert lines_without_times(out / "summary.json") == lines_without_times(
        tmp_path / "straight/summary.json"
    )


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
def test_progress_on_a_terminal_goes_to_stderr(problem):
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command(problem, "-p", "random", "--instances", 300, "--json"), stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    seen = b""
    try:
        while part := os.read(ours, 4096):
            seen += part
    except OSError:
        pass  # Linux reports the closed terminal as an error
    stdout, _ = process.communicate(timeout=60)
    os.close(ours)
    assert b"comparing 1 policy" in seen
    json.loads(stdout)
