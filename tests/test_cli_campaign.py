"""`elsv campaign`: a whole campaign by commands alone."""

import json

import pytest

from campaigns import NAMES, shop
from commands import elsv


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shop(horizon=20).save("shop.toml")


def call(*words, code=0):
    return elsv("campaign", *words, code=code).stdout


def answer(*words):
    return json.loads(call(*words, "--json"))


def test_a_campaign_by_commands_alone(tmp_path):
    told = answer(
        "new", "shop.db", "spring", "shop.toml", "--policy", "greedy", "--window", "7 days", "--unit", "EUR",
        "--control", "4", "--holdout", "0.1", "--floor", "0.02", "--seed", "1",
    )  # fmt: skip
    assert (told["phase"], told["customers"]) == ("not begun", 20)
    made = answer("decide", "shop.db", "spring", "--customer", "c-1")
    assert made["name"] == NAMES[made["arm"] - 1]
    assert made["id"] in call("decide", "shop.db", "spring", "--customer", "c-1")
    assert call("reward", "shop.db", "spring", made["id"], "--success") == "recorded\n"
    assert answer("reward", "shop.db", "spring", made["id"], "--failure")["status"] == "conflict"
    (tmp_path / "list.txt").write_text("a\n\nb\nc\n")
    several = answer("decide", "shop.db", "spring", "--customers", "list.txt", "--key", "monday")["decisions"]
    assert [one["customer"] for one in several] == ["a", "b", "c"]
    again = call("decide", "shop.db", "spring", "--customers", "list.txt", "--key", "monday")
    assert [line.split("\t")[0] for line in again.splitlines()] == [one["id"] for one in several]
    assert len(call("decide", "shop.db", "spring", "--count", "2").splitlines()) == 2
    (tmp_path / "bought.csv").write_text(f"decision,success\n{several[0]['id']},1\n{several[1]['id']},0\n")
    assert answer("import", "shop.db", "spring", "bought.csv")["recorded"] == 2
    assert answer("pause", "shop.db", "spring")["paused"] is True
    assert answer("decide", "shop.db", "spring")["reason"] == "paused"
    assert call("resume", "shop.db", "spring") == "spring: running, planned for 20 customers\n"
    assert answer("extend", "shop.db", "spring", 40)["horizon"] == 40
    status = answer("status", "shop.db", "spring")
    assert (status["decided"], status["rested"], status["customers"]) == (6, 1, 40)
    assert "always full price" in call("status", "shop.db", "spring")
    assert answer("explain", "shop.db", "spring")["step"] == 7
    assert "→" in call("explain", "shop.db", "spring")
    assert answer("export", "shop.db", "spring", "log.csv")["rows"] == 7
    assert call("report", "shop.db", "spring") == "wrote spring.html\n"
    assert answer("report", "shop.db", "spring", "--out", "x.html") == {"out": "x.html"}
    assert answer("audit", "shop.db", "spring")["exact"] is True
    answer("new", "shop.db", "spring", "shop.toml", "--no-late", "--no-sticky")
    assert answer("pause", "shop.db", "spring")["accept_late"] is False


def test_an_audit_that_fails_has_its_own_exit_code():
    import sqlite3

    call("new", "shop.db", "x", "shop.toml", "--policy", "greedy")
    call("decide", "shop.db", "x")
    connection = sqlite3.connect("shop.db")
    connection.execute("UPDATE elsv_tally SET open = 5 WHERE arm = 1")
    connection.commit()
    connection.close()
    assert "open of arm 2 is stored as 5" in call("audit", "shop.db", "x", code=1)


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (("status", "none.db", "x"), "no campaign file none.db"),
        (("new", "shop.db", "x", "shop.toml", "--control", "9"), "from 1 to 4, got 9"),
        (("decide", "shop.db", "x", "--customers", "none.txt"), "cannot read customers from none.txt"),
        (("decide", "shop.db", "x", "--count", "2", "--customer", "a"), "give one"),
        (("reward", "shop.db", "x", "nobody", "--success"), "no decision 'nobody'"),
    ],
)
def test_errors(words, match):
    if words[1] == "shop.db" and words[0] != "new":
        call("new", "shop.db", "x", "shop.toml", "--policy", "greedy")
    assert match in elsv("campaign", *words, code=2).stderr


def test_what_is_expected_or_was_seen_makes_the_prior(tmp_path):
    (tmp_path / "seen.csv").write_text(f"arm,successes,trials\n{NAMES[3]},30,800\n{NAMES[2]},40,600\n")
    begin = ("new", "shop.db")
    plain = answer(*begin, "plain", "shop.toml", "--control", "4")
    assert plain["notes"] == [plain["unsaid"]]
    assert plain["unsaid"].startswith("No verdict: with uniform rows this expects 80 % of customers to buy")
    assert plain["precision"] is None
    one = answer(*begin, "one", "shop.toml", "--expect", f"{NAMES[3]}=4%", "--control", "4")
    assert one["unsaid"] is None
    assert [round(row["holdout"], 2) for row in one["precision"]["rows"]] == [0, 0.05, 0.1, 0.2]
    assert one["arms"][3]["conversion"] == pytest.approx(0.04, rel=0.05)
    shop = ("shop.toml", "--history", "seen.csv")
    usual, wide = answer(*begin, "usual", *shop), answer(*begin, "wide", *shop, "--factor", "4")
    assert usual["arms"][3]["conversion"] == pytest.approx(30 / 800, rel=0.1)
    assert 0.08 < usual["arms"][1]["conversion"] < 0.09 < usual["arms"][0]["conversion"] < 0.12
    assert wide["arms"][0]["conversion"] > usual["arms"][0]["conversion"] + 0.03
    said = elsv("campaign", *begin, "again", *shop).stderr
    assert f"nothing is known of {NAMES[0]}, {NAMES[1]}" in said
    assert "--factor" in said
    for words in (("--factor", "0.5", "--history", "seen.csv"), ("--expect", "nono=4%"), ("--expect", "x")):
        call(*begin, "none", "shop.toml", *words, code=2)
    assert "none" in elsv("campaign", "status", "shop.db", "none", code=2).stderr
