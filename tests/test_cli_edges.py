"""The command line at its edges: extreme numbers, odd files, streams that cannot take everything."""

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from commands import elsv
from elsv.cli import main
from elsv.cli.console import working

ORDERED = 'rewards = [0.8, 1.0]\norder = "decreasing"\n'
FREE = "rewards = [0.8, 1.0]\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problems = {
        "ordered": ORDERED + "horizon = 6\n",
        "endless": ORDERED + "horizon = 1000000000000\n",
        "long": FREE + "horizon = 1000000000000\n",
        "overflow": FREE + "horizon = 9000000000000000000\n",
        "patient": FREE + "discount = 0.99999999\n",
        "many": f"rewards = {[1] * 120}\nhorizon = 100000000000000\n",
        "names": FREE + "names = 3\nhorizon = 6\n",
        "digits": f"rewards = [1, {'1' * 400}]\nhorizon = 6\n",
        "more-digits": f"rewards = [1, {'1' * 5000}]\nhorizon = 6\n",
        "brackets": f"rewards = {'[' * 5000}{']' * 5000}\nhorizon = 6\n",
        "dates": "rewards = [2024-01-01]\nhorizon = 6\n",
        "marked": "\ufeff" + ORDERED + "horizon = 6\n",
    }
    for name, text in problems.items():
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    np.save(tmp_path / "bools.npy", np.array([[True, False]]))
    np.save(tmp_path / "texts.npy", np.array([["0.5", "0.4"]]))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("gittins 1 1 --discount 0.99999999", "looks 964,465,313 pulls ahead, more than 10,000,000; use"),
        ("gittins 1 1 --discount 0.9999999999999999", "looks 10^16 pulls ahead"),
        ("gittins 1 1 --pulls-left 1000000000000", "at most 10,000,000 pulls left, got 1,000,000,000,000"),
        (f"gittins 1 1 --pulls-left {10**30}", "at most 10,000,000 pulls left, got 10^30"),
        ("gittins 1e308 1e308", "alpha must lie between 1e-200 and 1e+200, got 1e+308"),
        ("gittins 1 1e-320", "beta must lie between"),
        ("gittins --table 1000000000 --out t.csv", "tables go up to 20,000 steps, got 999,999,999"),
        ("gittins --table 15000 --discount 0.99999 --out t.csv", "2 days; use fewer levels"),
        ("value ordered.toml --step 1000000 --json", "tables go up to 20,000 steps, got 1,000,000"),
        (f"value ordered.toml --step {10**24} --json", "got 10^24"),
        ("value ordered.toml --index ucb --step 3 --offset", "offset needs finite values, and UCB has"),
        ("value ordered.toml --index kl-ucb --step 3 --offset --json", "offset needs finite values"),
        ("decide long.toml", "use the Gittins index with a discount"),
        ("decide patient.toml", "use a smaller discount"),
        ("decide overflow.toml", "horizon must be at most 1,000,000,000,000,000 pulls"),
        ("decide names.toml", "names must be a list"),
        ("decide digits.toml", "rewards must be numbers up to 1e308, got [1, 111"),
        ("decide more-digits.toml", "not a TOML file"),
        ("decide brackets.toml", "not a TOML file"),
        ("decide dates.toml", "rewards must be numbers"),
        ("decide .", "cannot read problem file"),
        ("decide ordered.toml -p optimistic-gittins:steps=100000", "steps must be at most 1,000, got 100000"),
        (
            "decide ordered.toml -p elsv:belief=rejection,draws=10000000000",
            "draws must be at most 1,000,000,000",
        ),
        (f"decide patient.toml -p elsv --step {10**23}", "tables go up to 20,000 steps, got 10^23"),
        ("compare endless.toml -p thompson", "simulations go up to 10,000,000 steps"),
        (
            f"compare ordered.toml -p thompson --instances {10**30}",
            "10^30 instances of 6 steps are more than",
        ),
        ("compare ordered.toml -p thompson --instances 100000000000 --raw --out o", "GB are available"),
        ("compare ordered.toml -p greedy --grid 1000000000000000000000", "has 10^42 points"),
        ("compare ordered.toml -p greedy --means bools.npy", "not a NumPy file of numbers"),
        ("compare ordered.toml -p greedy --means texts.npy", "not a NumPy file of numbers"),
        ("compare long.toml -p ucb --horizon 30000 --instances 2", "tables go up to 20,000 steps"),
        ("compare ordered.toml -p greedy --dask http://localhost:1", "unknown protocol of a dask scheduler"),
        ("compare ordered.toml -p greedy --dask tcp://localhost:99999", "no dask scheduler answers"),
        ("compare ordered.toml -p greedy --dask tcp://", "no host and port"),
        ("compare ordered.toml -p greedy --dask no-such-host.invalid", "such as tcp://localhost:8786"),
        ("solve ordered.toml --memory inf", "--memory must be a positive number of GB, got inf"),
        ("solve ordered.toml --memory nan", "--memory must be a positive number of GB, got nan"),
        ("solve ordered.toml --memory 1e300", "--memory must be a positive number of GB, got 1e+300"),
        ("evaluate ordered.toml --memory inf", "--memory must be a positive number of GB, got inf"),
        ("solve ordered.toml --horizon 100000000000", "10^42 states need"),
        ("solve many.toml", "10^2891 states need more memory than any machine has;"),
        ("evaluate many.toml -p greedy", "tables go up to 20,000 steps"),
    ],
)
def test_what_cannot_be_done_is_refused_at_once(arguments, words, files):
    done = elsv(*arguments.split(" "), code=2)
    assert done.stdout == ""
    assert words in done.stderr
    assert done.stderr.splitlines()[-1].startswith("elsv: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("index", ["ucb", "kl-ucb"])
def test_infinite_values_are_null_in_json(index, files):
    out = elsv("value", "ordered.toml", "--index", index, "--step", 3, "--json").stdout
    rows = json.loads(out, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))["states"]
    assert rows[0]["value"] is None
    assert rows[-1]["value"] == 0


def test_tiny_counts_tell_all_after_one_pull():
    assert json.loads(elsv("gittins", 1e-20, 1e-20, "--json").stdout)["index"] == pytest.approx(
        1 / 1.01, abs=1e-6
    )


def test_a_mark_at_the_start_of_a_file_is_passed_over(files):
    assert "pull arm" in elsv("decide", "marked.toml", "-p", "greedy").stdout


def test_lack_of_memory_and_of_files_is_one_line(files, monkeypatch):
    def fail(error):
        def raising(*_):
            raise error

        return raising

    for error, words in (
        (MemoryError(), "elsv: not enough memory (none is left); ask for less"),
        (OSError(5, "Input/output error", "some/file"), "elsv: cannot use some/file: Input/output error"),
        (OSError(28, "No space left on device"), "elsv: cannot write the output: No space left on device"),
    ):
        monkeypatch.setattr("elsv.problem.Problem.load", fail(error))
        done = elsv("decide", "ordered.toml", code=2)
        assert done.stdout == ""
        assert done.stderr.startswith(words)
        assert done.stderr.count("\n") == 1


def in_a_process(*arguments, stdout):
    command = [sys.executable, "-m", "elsv.cli", *map(str, arguments)]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE)


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "ascii"])
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("--help", b"decide"),
        ("decide ordered.toml -p greedy", b"?  1  arm 1"),
        ("compare ordered.toml -p greedy --instances 20", b"greedy"),
    ],
)
def test_streams_that_lack_characters(command, words, encoding, files, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "argv", ["elsv", *command.split()])
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    sys.stdout.flush()
    assert code == 0
    assert words in written.getvalue()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(
    "command", ["--version", "gittins 1 1 --quiet", "value ordered.toml --step 100 --json"]
)
def test_a_full_disk_under_stdout(command, files):
    with open("/dev/full", "wb") as full:
        done = in_a_process(*command.split(), stdout=full)
    assert done.returncode == 2
    assert done.stderr.decode() == "elsv: cannot write the output: No space left on device\n"


@pytest.mark.parametrize(
    "command", ["--version", "gittins 1 1 --quiet", "value ordered.toml --step 100 --json"]
)
def test_a_reader_that_has_gone_away(command, files):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = in_a_process(*command.split(), stdout=writing)
    finally:
        os.close(writing)
    assert done.stderr == b""


def test_names_that_look_like_markup_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with working("deciding with optimal:file=x[/b].bin"):
        pass
    assert "x[/b].bin" in terminal.getvalue()
