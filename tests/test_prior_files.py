"""`elsv prior`: files of history, a campaign's export, what is expected in a problem's file."""

import json

import numpy as np
import pytest

from campaigns import NAMES, Clock, shop
from commands import elsv
from elsv import Campaign, InvalidInputError, Problem
from elsv.prior import from_history, read_history


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shop().save("shop.toml")


def write(name, *lines):
    with open(name, "w") as file:
        file.write("\n".join(lines) + "\n")
    return name


def call(*words):
    return elsv("prior", *words).stdout


ARMS = ("arm,successes,failures", "40 % off,50,150", "3,20,180", "full price,10,190")
TRIALS = ("Arm, Successes ,trials", "40 % off,50,200", "3,20,200", "full price,10,200")
ONE_BY_ONE = ("arm,success", *["1,1"] * 50, *["1,no"] * 150, *["15 % off,true"] * 20, *["3,0"] * 180)


@pytest.mark.parametrize("lines", [ARMS, TRIALS, (*ONE_BY_ONE, *["4,1"] * 10, *["4,0"] * 190)])
def test_three_kinds_of_tables_say_the_same(lines):
    seen = read_history(write("h.csv", *lines), shop())
    assert seen.names == tuple(NAMES)
    assert seen.successes.tolist() == [50, 0, 20, 10]
    assert seen.failures.tolist() == [150, 0, 180, 190]


def test_numbers_that_are_names_are_not_taken_for_places():
    four = shop(names=["4", "6", "8", "10"])
    assert read_history(write("h.csv", "arm,success", "4,1"), four).successes.tolist() == [1, 0, 0, 0]
    with pytest.raises(
        InvalidInputError, match="unknown arm '3'; the file has 3; the problem has 4, 6, 8, 10"
    ):
        read_history(write("h.csv", "arm,success", "3,1"), four)


def test_the_help_names_the_table_expect():
    assert "[expect]" in call("--help")


def test_parquet_and_a_file_without_a_problem():
    import polars

    polars.DataFrame({"arm": ["b", "a"], "successes": [3, 4], "trials": [10, 20]}).write_parquet("h.parquet")
    seen = read_history("h.parquet")
    assert (seen.names, seen.successes.tolist(), seen.failures.tolist()) == (("b", "a"), [3, 4], [7, 16])


def test_the_export_of_a_campaign_is_history():
    clock = Clock()
    with Campaign.open(
        "shop.db", "spring", shop(), policy="thompson", window="7 days", seed=1, clock=clock
    ) as spring:
        made = spring.decide(count=60)
        for k, decision in enumerate(made[:40]):
            spring.reward(decision.id, success=k % 3 == 0)
        clock.pass_(8 * 86_400)  # the last twenty expire
        spring.decide(count=5)  # and five are open
        status = spring.status()
        spring.export("spring.csv")
    seen = read_history("spring.csv", shop())
    assert seen.open == 5
    assert seen.successes.tolist() == [arm.successes for arm in status.arms]
    assert seen.failures.tolist() == [arm.failures + arm.expired for arm in status.arms]
    assert seen.successes.sum() == 14
    assert seen.failures.sum() == 46
    # Names decide, not numbers: a name that the problem lacks is an error that lists both.
    renamed = shop(names=["a", "b", "c", "d"])
    with pytest.raises(InvalidInputError, match=r"unknown arm .*the file has .*; the problem has a, b, c, d"):
        read_history("spring.csv", renamed)
    assert read_history("spring.csv").names[0] in NAMES


def test_the_command_writes_a_problem_that_goes_on():
    write("h.csv", *ARMS)
    told = json.loads(call("h.csv", "--problem", "shop.toml", "--weight", 0.5, "--out", "new.toml", "--json"))
    new = Problem.load("new.toml")
    expected = from_history(shop(), [50, 0, 20, 10], [150, 0, 180, 190], weight=0.5)
    np.testing.assert_allclose(new.prior, expected.rows)
    assert told["prior"] == new.prior.tolist()
    assert (new.rewards.tolist(), new.order, new.horizon) == ([0.6, 0.7, 0.85, 1.0], "decreasing", 300)
    shown = call("h.csv", "--problem", "shop.toml", "--method", "power")
    assert "as if only 0.3 of the outcomes had been seen" in shown
    assert "40 % off" in call("h.csv")  # without a problem: the arms of the file


def test_what_is_expected_comes_from_the_command_or_the_file():
    with open("shop.toml", "a") as file:
        file.write('[expect]\n"full price" = "1-4%"\n"15 % off" = [0.02, 0.07]\n')
    told = json.loads(
        call("--problem", "shop.toml", "--expect", "40 % off=6-15%", "--out", "n.toml", "--json")
    )
    said = [arm["said"] for arm in told["arms"]]
    np.testing.assert_allclose([said[0], said[2], said[3]], [[0.06, 0.15], [0.02, 0.07], [0.01, 0.04]])
    assert said[1] is None
    assert told["warnings"] == []
    assert Problem.load("n.toml").prior.tolist() == told["prior"]
    with pytest.raises(InvalidInputError, match=r"\[expect\] is not yet a prior.*elsv prior"):
        Problem.load("shop.toml")
    write("h.csv", *ARMS)
    both = json.loads(call("h.csv", "--problem", "shop.toml", "--json"))
    assert len(both["steps"]) == 2  # history on top of what is expected


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("arm,success", "5,1"), "line 2 of h.csv: an arm must be a name or a number from 1 to 4, got 5"),
        (("arm,success", "1,1", "full prise,1"), "line 3 of h.csv: unknown arm 'full prise'.*full price"),
        (
            ("arm,success,successes,failures", "1,1,10,90"),
            "a row for each outcome.*or counts.*got success and",
        ),
        (("arm,outcome,successes", "1,success,10"), "got outcome and successes"),
        (("arm,successes,failures,Successes", "1,10,90,20"), "every column once, got 'successes' twice"),
        (("arm,successes,failures,trials", "1,10,90,200"), "10 and 90 of 200 in line 2"),
        (("arm,name,success", "1,half price,1"), "the file has half price; the problem has 40 % off, 30 %"),
        (("arm,success", "1,maybe"), "success must be 1 or 0, got 'maybe' in line 2"),
        (("arm,successes,failures", "1,-3,4"), "counts must be whole numbers, got '-3' in line 2"),
        (("arm,successes,trials", "1,5,4"), "at most the trials, got 5 of 4 in line 2"),
        (("arm,outcome", "1,lost"), "outcome must be one of success"),
        (("name,sold", "1,1"), "must have the columns arm, success; or"),
    ],
)
def test_bad_tables_are_refused(lines, message):
    with pytest.raises(InvalidInputError, match=message):
        read_history(write("h.csv", *lines), shop())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--problem", "shop.toml"), "give a file of outcomes, or what you expect"),
        (("--expect", "1=3-8%"), "--problem"),
        (("h.csv", "--out", "new.toml"), "--problem"),
        (("h.csv", "--problem", "shop.toml", "--weight", "3"), "weight must lie from 0"),
        (("empty.csv",), "at least one row"),
        (("none.csv",), "cannot read history from none.csv"),
    ],
)
def test_bad_commands_are_refused(words, message):
    write("h.csv", *ARMS)
    write("empty.csv", "arm,success")
    assert message in elsv("prior", *words, code=2).stderr
