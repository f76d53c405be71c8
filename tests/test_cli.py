"""The command line as people and programs meet it: stdout, stderr, exit code."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from commands import elsv, elsv_process
from elsv import __version__

PROBLEM = 'rewards = [0.8, 0.9, 1.0]\norder = "decreasing"\nhorizon = 50\nnames = ["20 %", "10 %", "none"]\n'


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "discounts.toml"
    path.write_text(PROBLEM)
    return path


@pytest.mark.parametrize("module", ["elsv", "elsv.cli"])
def test_the_package_runs_as_a_module(module):
    command = [sys.executable, "-m", module, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{__version__}\n", "")


def test_gittins_of_one_state():
    assert json.loads(elsv("gittins", 1, 1, "--json").stdout)["index"] == pytest.approx(0.8699, abs=5e-5)
    ten = json.loads(elsv("gittins", 1, 1, "--pulls-left", 10, "--json").stdout)
    assert ten["index"] == pytest.approx(0.698074, abs=1.5e-6)
    assert ten["bonus"] == pytest.approx(ten["index"] - 0.5)
    text = elsv("gittins", 1, 1, "--discount", 0.9, "--tolerance", "1e-4").stdout
    assert [line.split()[0] for line in text.splitlines()] == ["index", "mean", "bonus"]
    assert float(text.split()[1]) == pytest.approx(0.7029, abs=2e-4)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_gittins_table(tmp_path, suffix):
    import polars

    out = tmp_path / f"table.{suffix}"
    done = elsv("gittins", "--table", 6, "--discount", 0.9, "--out", out)
    assert done.stdout == ""
    assert "15 rows" in done.stderr
    frame = polars.read_csv(out) if suffix == "csv" else polars.read_parquet(out)
    assert frame.columns == ["alpha", "beta", "index"]
    values = {(a, b): z for a, b, z in frame.iter_rows()}
    assert sorted(values) == [(a, b) for a in range(1, 6) for b in range(1, 7 - a)]
    assert values[3, 3] == pytest.approx(0.6010, abs=5e-4)
    assert values[2, 1] == pytest.approx(0.8001, abs=5e-5)


def test_value(problem, tmp_path):
    rows = json.loads(elsv("value", problem, "--index", "ucb:count_prior=true", "--step", 4, "--json").stdout)
    assert len(rows["states"]) == 10
    assert rows["states"][-1]["value"] == 0
    out = tmp_path / "v.csv"
    elsv("value", problem, "--index", "gittins", "--step", 10, "--out", out)
    assert len(out.read_text().splitlines()) == 56
    shown = elsv("value", problem, "--index", "gittins", "--step", 3, "--offset").stdout
    assert len(shown.splitlines()) == 7


def test_decide(problem):
    answer = json.loads(
        elsv("decide", problem, "-p", "elsv:index=gittins", "--state", "3,1 2,2 1,1", "--json").stdout
    )
    assert answer["arm"] in (1, 2, 3)
    assert answer["step"] == 5
    assert [set(a) >= {"mean", "q", "low", "high", "bonus", "best"} for a in answer["arms"]] == [True] * 3
    text = elsv("decide", problem, "-p", "thompson", "--seed", 3).stdout
    assert "step 1: pull arm" in text
    later = json.loads(elsv("decide", problem, "--state", "3,1 2,2 1,1", "--step", 9, "--json").stdout)
    assert later["step"] == 9


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gittins"], "ALPHA and BETA"),
        (["gittins", 1], "ALPHA and BETA"),
        (["gittins", 0, 1], "positive"),
        (["gittins", "nan", 1], "positive"),
        (["gittins", 1, 1, "--discount", 1.5], "discount"),
        (["gittins", 1, 1, "--tolerance", 0], "tolerance"),
        (["gittins", 1, 1, "--pulls-left", 0], "pulls"),
        (["gittins", 1, 1, "--out", "x.csv"], "--out goes with --table"),
        (["gittins", "--table", 5], "--out FILE"),
        (["gittins", "--table", 5, "--out", "x.txt"], ".csv or .parquet"),
        (["gittins", "--table", 1, "--out", "x.csv"], "at least 2"),
        (["decide", "missing.toml"], "cannot read"),
        (["decide", "PROBLEM", "-p", "gitins"], "did you mean 'gittins'"),
        (["decide", "PROBLEM", "--state", "1,1 1,1"], "3 arms"),
        (["decide", "PROBLEM", "--state", "1,1 1,1 1,0.5"], "prior"),
        (["decide", "PROBLEM", "--state", "3,1 2,2 1,1", "--step", 4], "at least 5"),
        (["decide", "PROBLEM", "--step", 51], "horizon 50"),
        (["decide", "PROBLEM", "--seed", -1], "seed must be"),
        (["value", "PROBLEM", "--index", "nothing"], "unknown index"),
        (["value", "PROBLEM", "--step", 0, "--json"], "at least 1"),
        (["value", "PROBLEM", "--step", 100], "--out FILE"),
        (["value", "PROBLEM", "--arm", 4], "from 1 to 3"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_code_2(arguments, words, problem):
    done = elsv(*(problem if a == "PROBLEM" else a for a in arguments), code=2)
    assert done.stdout == ""
    assert words in done.stderr
    assert done.stderr.startswith("elsv: ")
    assert done.stderr.count("\n") == 1


def test_usage_errors_have_code_2_as_well():
    assert "No such command" in elsv("nonsense", code=2).stderr


def test_help_and_version():
    help_text = elsv("--help").stdout
    for command in ("gittins", "value", "decide"):
        assert command in help_text
    assert elsv("--version").stdout.strip() == elsv_process("--version").stdout.strip() != ""


@pytest.mark.parametrize("name", ["file/t.csv", "file/t.parquet"])
def test_where_no_table_can_be_written_none_is_computed(problem, tmp_path, name, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("elsv.indices.gittins.gittins_table", None)
    monkeypatch.setattr("elsv.values.separable.SeparableValue.table", None)
    for arguments in (["gittins", "--table", "3"], ["value", problem, "--step", "3"]):
        done = elsv(*arguments, "--out", tmp_path / name, code=2)
        assert done.stderr.startswith("elsv: cannot write")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_table_that_cannot_be_written_is_not_lost(problem, tmp_path, name):
    (tmp_path / name).symlink_to("/dev/full")
    for arguments in (["gittins", "--table", 3], ["value", problem, "--step", 3]):
        elsv(*arguments, "--out", tmp_path / "good.csv")
        done = elsv(*arguments, "--out", tmp_path / name, code=2)
        assert done.stdout == (tmp_path / "good.csv").read_text()
        assert "No space left" in done.stderr
        answer = json.loads(elsv(*arguments, "--out", tmp_path / name, "--json", code=2).stdout)
        assert answer["out"] is None
        lines = done.stdout.splitlines()
        assert list(answer["columns"]) == lines[0].split(",")
        assert len(answer["columns"]["alpha"]) == answer["rows"] == len(lines) - 1


def test_a_missing_extra_names_the_pip_line(tmp_path, monkeypatch):
    import numpy as np

    from elsv._base.export import write_columns
    from elsv.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'elsv\[data\]'"):
        write_columns(Path(tmp_path) / "t.parquet", {"a": np.arange(3)})
    assert not list(tmp_path.iterdir())
