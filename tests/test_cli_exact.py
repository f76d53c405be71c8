import importlib
import json
import os

import pytest

from commands import elsv
from elsv.errors import InvalidInputError, UnsavedError

ORDERED = 'rewards = [0.4, 0.7, 1.0]\norder = "decreasing"\nhorizon = 10\n'


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text(ORDERED)
    return path


def test_solve(problem):
    done = elsv("solve", problem, "--json")
    answer = json.loads(done.stdout)
    assert answer["value"] == pytest.approx(3.6032376, abs=5e-8)
    assert answer["regret"] > 0
    assert len(answer["reward_by_step"]) == 10
    assert sum(answer["reward_by_step"]) == pytest.approx(answer["value"])
    assert "states" in done.stderr
    text = elsv("solve", problem, "--horizon", 5).stdout
    assert [line.split()[0] for line in text.splitlines()] == ["value", "regret", "first", "reward", "states"]


def test_evaluate(problem):
    names = ["greedy", "commit:depth=10", "block:depth=2,blocks=1+2", "thompson", "fixed:arm=2"]
    arguments = [part for name in names for part in ("-p", name)]
    done = elsv("evaluate", problem, *arguments, "--json")
    answer = json.loads(done.stdout)
    assert "states, under 10 MB of memory" in done.stderr
    assert answer["optimal"]["value"] == pytest.approx(3.6032376, abs=5e-8)
    rows = {row["policy"]: row for row in answer["policies"]}
    assert list(rows) == names
    assert rows["commit:depth=10"]["gap_percent"] == pytest.approx(0, abs=1e-8)
    assert rows["fixed:arm=2"]["value"] == pytest.approx(3.5)
    assert all(row["gap_percent"] > -1e-8 for row in rows.values())
    assert "above optimum" in elsv("evaluate", problem, "--horizon", 4).stdout


def test_a_saved_solution_is_a_policy(problem, tmp_path):
    saved = tmp_path / "best.elsv"
    elsv("solve", problem, "--save", saved)
    answer = json.loads(elsv("evaluate", problem, "-p", f"optimal:file={saved}", "--json").stdout)
    assert answer["policies"][0]["gap_percent"] == pytest.approx(0, abs=1e-9)
    arm = json.loads(elsv("decide", problem, "-p", f"optimal:file={saved}", "--json").stdout)["arm"]
    assert arm in json.loads(elsv("solve", problem, "--json").stdout)["first_arms"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["solve", "PROBLEM", "--keep", 3], "--save"),
        (["solve", "PROBLEM", "--memory", -1], "--memory"),
        (["solve", "PROBLEM", "--horizon", 100, "--memory", 0.001], "shorter horizon"),
        (["evaluate", "PROBLEM", "-p", "optimal:file=missing"], "cannot read"),
        (["evaluate", "PROBLEM", "-p", "block:blocks=1+x"], "joined by +"),
        (["evaluate", "PROBLEM", "-p", "block:blocks=0"], "at least 1"),
        (["evaluate", "PROBLEM", "-p", "commit:depth=0"], "depth"),
        (["decide", "PROBLEM", "-p", "optimal"], "optimal:file=FILE"),
    ],
)
def test_bad_input(arguments, words, problem):
    done = elsv(*(problem if a == "PROBLEM" else a for a in arguments), code=2)
    assert done.stdout == ""
    assert words in done.stderr


@pytest.mark.parametrize("path", ["file/best.elsv", "directory"])
def test_where_nothing_can_be_saved_nothing_is_solved(problem, tmp_path, path, monkeypatch):
    from elsv.problem import Problem

    module = importlib.import_module("elsv.exact.solve")

    (tmp_path / "file").write_text("")
    (tmp_path / "directory").mkdir()
    monkeypatch.setattr(module, "_backward", lambda *_: pytest.fail("solved"))
    with pytest.raises(InvalidInputError, match="cannot write"):
        module.solve(Problem.load(problem), save=tmp_path / path)
    assert "cannot write" in elsv("solve", problem, "--save", tmp_path / path, code=2).stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_solution_that_cannot_be_saved_is_not_lost(problem):
    from elsv.exact.solve import solve
    from elsv.problem import Problem

    known = solve(Problem.load(problem))
    with pytest.raises(UnsavedError, match="No space left") as raised:
        solve(Problem.load(problem), save="/dev/full")
    assert raised.value.result.value == known.value
    assert raised.value.result.policy.steps == 10
    done = elsv("solve", problem, "--save", "/dev/full", code=2)
    assert done.stdout.startswith(f"value   {known.value:.9f}\n")
    assert "elsv: cannot write /dev/full" in done.stderr
    assert "wrote" not in done.stderr
    answer = json.loads(elsv("solve", problem, "--save", "/dev/full", "--json", code=2).stdout)
    assert answer["value"] == known.value
    assert answer["saved"] is None
