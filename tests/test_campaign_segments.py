"""Campaigns whose customers are of segments."""

import csv
import json
import re
import sqlite3

import numpy as np
import pytest

from campaigns import shop
from commands import elsv
from elsv import Campaign, InvalidInputError, Problem
from elsv.campaign import KeyReusedError
from elsv.stores.base import migrations, statements
from elsv.stores.postgres import made_in_postgres

NAMES = ["new: 10 %", "new: none", "returning: 10 %", "returning: none"]


def problem(**more):
    given = {
        "rewards": [0.9, 1.0, 0.9, 1.0],
        "horizon": 60,
        "names": NAMES,
        "structure": {"grid": [2, 2]},
        "segments": {"new": [1, 2], "returning": [3, 4]},
        "segment_shares": [0.7, 0.3],
    }
    return Problem(**given | more)


@pytest.fixture
def campaign(place, clock):
    opened = Campaign.open(
        place, "spring", problem(), window="7 days", policy="thompson", clock=clock, seed=3, unit="EUR"
    )
    yield opened
    opened.close()


def test_decisions_are_logged_with_their_segment(campaign):
    decision = campaign.decide(customer="c-1", segment="returning")
    assert decision.segment == "returning"
    assert decision.arm in (2, 3)
    assert 0 < decision.propensity < 1
    assert decision.to_dict()["segment"] == "returning"
    many = campaign.decide(count=100, segment=1)
    assert {one.segment for one in many} == {"new"}
    assert {one.arm for one in many} <= {0, 1}
    for one in many[:40]:
        campaign.reward(one, success=one.number % 3 == 0)
    assert campaign.audit().exact
    status = campaign.status()
    assert [s.decided for s in status.segments] == [100, 1]
    assert [arm.segment for arm in status.arms] == ["new", "new", "returning", "returning"]
    for group in (status.arms[:2], status.arms[2:]):
        assert sum(arm.best for arm in group) == pytest.approx(1, abs=1e-3)


def test_who_has_come_must_be_said(campaign):
    with pytest.raises(InvalidInputError, match="say whose turn it is, segment='new'; known: new, returning"):
        campaign.decide()
    with pytest.raises(InvalidInputError, match="unknown segment 'nwe'"):
        campaign.decide(segment="nwe")
    with pytest.raises(InvalidInputError, match="known: new, returning"):
        campaign.explain()
    assert campaign.status().decided == 0


def test_a_customer_keeps_the_arm_within_a_segment(campaign):
    first = campaign.decide(customer="c-1", segment="new")
    again = campaign.decide(customer="c-1", segment="new")
    assert (again.id, again.repeated, again.segment) == (first.id, True, "new")
    other = campaign.decide(customer="c-1", segment="returning")
    assert not other.repeated
    assert other.arm in (2, 3)
    assert campaign.decide(customer="c-1", segment="new").id == first.id
    assert campaign.decide(["c-1", "c-2"], segment="returning")[0].id == other.id
    keyed = campaign.decide(customer="c-9", segment="new", key="k")
    assert campaign.decide(customer="c-9", segment="new", key="k").id == keyed.id
    with pytest.raises(
        KeyReusedError, match="customer 'c-9' of segment new, got customer 'c-9' of segment returning"
    ):
        campaign.decide(customer="c-9", segment="returning", key="k")


def test_floor_and_holdout_stay_within_the_segment(place, clock):
    opened = Campaign.open(
        place,
        "floor",
        problem(horizon=1000),
        policy="fixed:arm=1+3",
        floor=0.1,
        holdout=0.2,
        control=["returning: none", "new: none"],
        seed=5,
        clock=clock,
    )
    assert opened.settings.control == (1, 3)
    made = opened.decide(count=400, segment="new") + opened.decide(count=400, segment="returning")
    for one in made:
        plain = {0: 0.8 * 0.9, 1: 0.8 * 0.1 + 0.2}[one.arm % 2]
        assert one.propensity == pytest.approx(plain)
        assert (one.arm < 2) == (one.segment == "new")
    assert {one.reason for one in made} == {"policy", "floor", "holdout"}
    share = np.mean([one.arm % 2 for one in made])
    assert share == pytest.approx(0.28, abs=0.06)
    opened.rewards([(one, one.number % 4 == 0) for one in made])
    assert opened.audit().exact
    assert all(arm.decided for arm in opened.status().arms)
    gains = {gain.against: gain for gain in opened.status().gains}
    assert {gain.method for gain in gains.values()} <= {"outcomes", "holdout"}  # the last of each rival
    assert gains["control"].name == "always none"
    opened.close()


def test_paused_each_segment_has_its_fallback(campaign):
    campaign.pause()
    assert [campaign.decide(segment=g).arm for g in (1, 2)] == [0, 2]
    assert "paused" in str(campaign.explain(segment="new"))
    assert campaign.audit().exact


def test_after_the_last_customer_the_best_arm_on_offer(place, clock):
    opened = Campaign.open(place, "over", problem(horizon=2), policy="greedy", clock=clock)
    for _ in range(4):
        last = opened.decide(segment="returning")
    assert last.reason == "after"
    assert last.arm in (2, 3)
    opened.close()


def test_status_and_explanations_by_segment(campaign):
    for one in campaign.decide(count=30, segment="new"):
        campaign.reward(one, success=one.arm == 0)
    text = str(campaign.status())
    assert re.search(r"^new +70 % +30 +0 +[0-9.]+ ", text, re.MULTILINE)
    assert re.search(r"Offered now: .* for new \(the best with \d+ %\)", text)
    told = campaign.explain(segment="returning")
    assert told.segment == "returning"
    assert [arm.arm for arm in told.arms] == [2, 3]
    values = campaign.status().to_dict()
    assert [one["name"] for one in values["segments"]] == ["new", "returning"]


def test_shares_are_learnt_from_decisions(place, clock):
    opened = Campaign.open(place, "learnt", problem(segment_shares=None), policy="greedy", clock=clock)
    opened.decide(count=6, segment="new")
    assert [s.share for s in opened.status().segments] == pytest.approx([7 / 8, 1 / 8])
    opened.close()


def test_history_counts_as_arrivals_where_shares_are_learnt(tmp_path, clock):
    opened = Campaign.open(
        str(tmp_path / "a.db"), "a", problem(segment_shares=None), policy="greedy", clock=clock
    )
    text = "segment,arm,successes,failures\nnew,new: none,3,5\nreturning,returning: 10 %,1,1\n"
    (tmp_path / "past.csv").write_text(text)
    assert opened.import_outcomes(tmp_path / "past.csv").counts == {"history": 10}
    assert [s.share for s in opened.status().segments] == pytest.approx([9 / 12, 3 / 12])
    assert opened.audit().exact
    (tmp_path / "wrong.csv").write_text("segment,arm,successes,failures\nnew,returning: none,3,5\n")
    with pytest.raises(InvalidInputError, match=r"line 2 of .* to whom it is not on offer"):
        opened.import_outcomes(tmp_path / "wrong.csv")
    opened.close()


def test_export_has_the_segment(campaign, tmp_path):
    campaign.decide(segment="returning")
    campaign.decide(segment="new")
    campaign.export(tmp_path / "log.csv")
    with open(tmp_path / "log.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["segment"] for row in rows] == ["returning", "new"]
    assert rows[0]["propensities"].startswith(",,")


def test_the_page_has_the_segments(campaign, tmp_path):
    pytest.importorskip("matplotlib")
    campaign.decide(count=5, segment="new")
    page = campaign.report(tmp_path / "page.html").read_text()
    assert "of those to come" in page
    assert ">returning</th>" in page
    assert "returning: none" not in page


def test_an_arm_of_another_segment_is_found_by_the_audit(tmp_path, clock):
    opened = Campaign.open(str(tmp_path / "a.db"), "a", problem(), policy="greedy", clock=clock)
    opened.decide(segment="new")
    opened.close()
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("UPDATE elsv_decision SET segment = 1")
    connection.close()
    assert any("of segment 1 (from 0) and its arm of 0" in said for said in opened.audit().problems)
    opened.close()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"control": "new: none"}, "control needs one arm for each segment"),
        ({"control": ["new: none", "new: 10 %"]}, "control needs one arm for each segment"),
        ({"floor": 0.5}, "below 1/2 with 2 arms on offer"),
        ({"policy": "fixed:arm=1"}, "fixed needs one arm for each segment"),
    ],
)
def test_settings_that_do_not_fit_are_refused(tmp_path, given, message):
    with pytest.raises(InvalidInputError, match=message):
        Campaign.open(str(tmp_path / "a.db"), "a", problem(), **given)


def test_segments_cannot_change_once_there_are_decisions(campaign, place):
    campaign.decide(segment="new")
    with pytest.raises(InvalidInputError, match="segment_shares of a campaign with outcomes cannot change"):
        Campaign.open(place, "spring", problem(segment_shares=[0.5, 0.5]))
    with pytest.raises(InvalidInputError, match="segments, segment_shares of a campaign"):
        Campaign.open(place, "spring", problem(segments=None, segment_shares=None))


def before_segments(place):
    """Make a store as the first migration left it, with one campaign and its log."""
    (number, name, sql), made = migrations()[0], str
    if place.startswith("postgresql"):
        import psycopg

        connection, made = psycopg.connect(place, autocommit=True), made_in_postgres
    else:
        connection = sqlite3.connect(place, isolation_level=None)
    settings = json.dumps({"policy": "greedy", "horizon": 300, "control": 3, "holdout": 0.1})
    rows = [
        "CREATE TABLE elsv_migration "
        "(number INTEGER PRIMARY KEY, name TEXT NOT NULL, at DOUBLE PRECISION NOT NULL)",
        f"INSERT INTO elsv_migration VALUES ({number}, '{name}', 0)",
        *map(made, statements(sql)),
        "INSERT INTO elsv_campaign (name, created, problem, seed, version, events, decisions) "
        f"VALUES ('spring', 0, '{json.dumps(shop().to_dict())}', 5, 1, 2, 1)",
        f"INSERT INTO elsv_setting VALUES (1, 1, 1, 0, '{settings}')",
        "INSERT INTO elsv_decision VALUES (1, 1, 2, 'abc', 0, 0.9, '0.9,0,0,0.1', 'policy', 0, NULL, 'c', 1)",
        "INSERT INTO elsv_open VALUES (1, 1, 0, 0.9, NULL, 'c')",
        "INSERT INTO elsv_tally (campaign, arm, decided, open, unsupported) VALUES "
        "(1, 0, 1, 1, 0), (1, 1, 0, 0, 1), (1, 2, 0, 0, 1), (1, 3, 0, 0, 0)",
    ]
    for statement in rows:
        connection.execute(statement)
    connection.close()


def test_a_store_from_before_segments_still_opens(place):
    before_segments(place)
    with Campaign.open(place, "spring") as opened:
        assert opened.audit().exact
        assert opened.reward("abc", success=True).status == "recorded"
        assert opened.decide().segment is None
        assert opened.audit().exact
        assert "segments" not in opened.status().to_dict()


@pytest.fixture
def files(tmp_path):
    problem().save(tmp_path / "shop.toml")
    return str(tmp_path / "shop.db"), str(tmp_path / "shop.toml")


def test_the_command_line(files):
    store, toml = files

    def run(what, *words):
        return elsv("campaign", what, store, "s", *words).stdout

    run("new", toml, "-p", "greedy", "--control", "2+4", "--holdout", "0.1")
    made = json.loads(run("decide", "--count", "3", "--segment", "returning", "--json"))["decisions"]
    assert [one["segment"] for one in made] == ["returning"] * 3
    elsv("campaign", "decide", store, "s", code=2)
    assert run("explain").count("step 4, ") == 2
    assert json.loads(run("explain", "--segment", "new", "--json"))["segment"] == "new"
    assert json.loads(run("pause", "--json"))["control"] == [2, 4]
    assert re.search(r"^returning +[0-9.]+ % +3 ", run("status"), re.MULTILINE)
    run("audit")
