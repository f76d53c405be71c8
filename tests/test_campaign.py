"""Campaigns: decisions, outcomes that come late, settings, and what is refused."""

import json
import sqlite3
import subprocess
import sys
import time
from datetime import datetime, timedelta

import numpy as np
import pytest

import commands
from campaigns import NAMES, Clock, shop
from elsv import Campaign, InvalidInputError, Problem, UnknownDecisionError
from elsv.campaign import KeyReusedError
from elsv.campaign.opening import begin_once, change, open_store
from elsv.campaign.settings import as_kept, in_words, seconds_of
from elsv.structure import where

QUICK = {"policy": "greedy"}


@pytest.fixture
def campaign(place, clock):
    opened = Campaign.open(place, "spring", shop(), window="7 days", unit="EUR", clock=clock, **QUICK)
    yield opened
    opened.close()


def counts(campaign):
    status = campaign.status()
    return {
        key: sum(getattr(arm, key) for arm in status.arms)
        for key in ("decided", "successes", "failures", "expired", "under_way", "late")
    }


def test_a_decision_and_its_outcome(campaign, clock):
    decision = campaign.decide(customer="c-17")
    assert decision.name == NAMES[decision.arm]
    assert decision.propensity == 1.0
    assert decision.reason == "policy"
    assert (decision.expires - decision.at) == timedelta(days=7)
    assert counts(campaign)["under_way"] == 1
    receipt = campaign.reward(decision.id, success=True)
    assert (receipt.status, receipt.counted) == ("recorded", True)
    assert campaign.reward(decision, success=True).status == "duplicate"
    conflict = campaign.reward(decision.id, success=False)
    assert (conflict.status, conflict.success) == ("conflict", True)
    assert counts(campaign) == {
        "decided": 1, "successes": 1, "failures": 0, "expired": 0, "under_way": 0, "late": 0
    }  # fmt: skip
    with pytest.raises(UnknownDecisionError, match="no decision 'nobody'"):
        campaign.reward("nobody", success=True)
    assert campaign.status().earned == pytest.approx(shop().rewards[decision.arm])
    assert campaign.audit().exact


def test_a_customer_keeps_the_arm_while_a_decision_is_open(campaign, clock):
    Campaign.open(campaign.store, "spring", sticky="open", clock=clock)
    first = campaign.decide("c-1")
    again = campaign.decide("c-1")
    assert (again.id, again.repeated) == (first.id, True)
    both = campaign.decide(["c-2", "c-1", "c-2"])
    assert both[1].id == first.id
    assert both[0].id == both[2].id
    assert [d.repeated for d in both] == [False, True, True]
    campaign.reward(first.id, success=False)
    assert campaign.decide("c-1").id != first.id
    clock.pass_(8 * 86400)
    assert campaign.decide("c-2").id != both[0].id
    assert campaign.audit().exact


def test_a_retry_with_the_same_key_gets_the_first_answer(campaign, clock):
    first = campaign.decide("c-1", key="k-1")
    campaign.reward(first.id, success=True)
    retry = campaign.decide("c-1", key="k-1")
    assert (retry.id, retry.repeated) == (first.id, True)
    several = campaign.decide(count=5, key="k-2")
    assert [d.id for d in campaign.decide(count=5, key="k-2")] == [d.id for d in several]
    sticky = campaign.decide("c-2")
    keyed = campaign.decide("c-2", key="k-3")
    campaign.reward(sticky.id, success=True)
    assert campaign.decide("c-2", key="k-3").id == keyed.id == sticky.id
    assert counts(campaign)["decided"] == 7


@pytest.mark.parametrize(
    ("first", "second", "match"),
    [
        (
            {"customer": "c-1"},
            {"customer": "c-2"},
            "'k' was used for customer 'c-1', got customer 'c-2'; give",
        ),
        ({"customer": "c-1"}, {}, "was used for customer 'c-1', got a customer without a name"),
        ({"count": 3}, {"count": 4}, "was used for 3 customers, got 4"),
        ({"customer": ["a", "b"]}, {"customer": ["a", "c"]}, "customer 'b', got customer 'c'"),
        ({"customer": "a"}, {"count": 2}, "1 customers, got 2"),
    ],
)
def test_a_key_answers_for_its_own_request_alone(campaign, clock, first, second, match):
    made = campaign.decide(**first, key="k")
    for _ in range(2):  # while the decision is open, and when it has expired
        with pytest.raises(KeyReusedError, match=match):
            campaign.decide(**second, key="k")
        assert [d.id for d in listed(campaign.decide(**first, key="k"))] == [d.id for d in listed(made)]
        clock.pass_(8 * 86400)
    assert campaign.audit().decisions == len(listed(made))


def listed(made):
    return made if isinstance(made, list) else [made]


def test_no_outcome_in_time_is_a_failure_and_a_late_one_corrects_it(campaign, clock):
    bought, refused, _ = campaign.decide(count=3)
    clock.pass_(7 * 86400 - 1)
    assert counts(campaign)["expired"] == 0
    clock.pass_(1)
    assert counts(campaign) == {
        "decided": 3, "successes": 0, "failures": 0, "expired": 3, "under_way": 0, "late": 0
    }  # fmt: skip
    assert campaign.reward(bought.id, success=True).status == "late"
    assert campaign.reward(refused.id, success=False).status == "late"
    assert campaign.reward(bought.id, success=True).status == "duplicate"
    assert counts(campaign) == {
        "decided": 3, "successes": 1, "failures": 1, "expired": 1, "under_way": 0, "late": 2
    }  # fmt: skip
    assert campaign.audit().exact


def test_late_outcomes_may_be_refused(place, clock):
    campaign = Campaign.open(place, "x", shop(), window=60, accept_late=False, clock=clock, **QUICK)
    decision = campaign.decide()
    clock.pass_(60)
    receipt = campaign.reward(decision.id, success=True)
    assert (receipt.status, receipt.counted) == ("too late", False)
    assert campaign.reward(decision.id, success=True).status == "duplicate"
    assert counts(campaign)["expired"] == 1
    assert campaign.audit().exact


def test_a_clock_that_jumps(campaign, clock):
    """Years ahead and back again: what has expired stays so, and every count follows from the log."""
    made = campaign.decide(count=4)
    clock.pass_(10 * 365 * 86400.0)
    assert campaign.decide().number == 5
    assert counts(campaign)["expired"] == 4
    clock.pass_(-20 * 365 * 86400.0)  # before 1970
    early = campaign.decide("c")
    assert early.at.year < 1970
    assert campaign.reward(made[0].id, success=True).status == "late"
    assert campaign.decide("c").id == early.id
    clock.now = 1_000_000.0
    assert campaign.reward(early.id, success=True).status == "late"  # its window has long passed by now
    assert counts(campaign)["under_way"] == 1  # that of ten years ahead
    assert campaign.audit().exact
    clock.now = float("nan")
    with pytest.raises(InvalidInputError, match="clock must return seconds"):
        campaign.decide()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of a process can be set on POSIX only")
@pytest.mark.parametrize("night", ["2026-03-29T00:59:00+00:00", "2026-10-25T00:59:00+00:00"])
def test_the_night_in_which_clocks_are_changed(tmp_path, monkeypatch, night):
    """A window is a length of time, whatever wall clocks say; times are those of UTC."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        clock = Clock(datetime.fromisoformat(night).timestamp())
        with Campaign.open(
            tmp_path / "x.db", "x", shop(), window="2 hours", sticky="open", clock=clock, **QUICK
        ) as campaign:
            decision = campaign.decide("a")
            assert decision.at.isoformat() == night
            assert decision.expires - decision.at == timedelta(hours=2)
            assert decision.expires.utcoffset() == timedelta(0)
            clock.pass_(2 * 3600 - 1)
            assert campaign.decide("a").id == decision.id
            clock.pass_(1)
            assert campaign.decide("a").id != decision.id
            assert campaign.status().at.endswith("+00:00")
            campaign.export(tmp_path / "log.csv")
            assert night in (tmp_path / "log.csv").read_text()
            assert campaign.audit().exact
    finally:
        monkeypatch.undo()
        time.tzset()


def test_two_clocks(place):
    """Two hosts whose clocks differ: what one has expired is late for the other, and nothing is lost."""
    slow, fast = Clock(1000.0), Clock(1000.0 + 3600)
    here = Campaign.open(place, "x", shop(), window="30 min", clock=slow, **QUICK)
    there = Campaign.open(place, "x", clock=fast)
    decision = here.decide()
    assert there.expire() == 1
    assert here.reward(decision.id, success=True).status == "late"
    other = there.decide()
    assert here.reward(other.id, success=True).status == "recorded"
    assert here.status().arms == there.status().arms
    assert here.audit().exact


def test_decisions_under_way_count(place, clock):
    """Six customers who wait at once do not all get the same arm, as they would if nothing were under way."""
    problem = Problem(rewards=[0.5, 0.5, 0.5], horizon=60)
    careful = Campaign.open(place, "careful", problem, policy="ucb1", clock=clock)
    naive = Campaign.open(place, "naive", problem, policy="ucb1:pending=ignore", clock=clock)
    assert len({d.arm for d in careful.decide(count=6)}) == 3
    assert len({careful.decide().arm for _ in range(6)}) == 3
    assert {d.arm for d in naive.decide(count=6)} == {0}


def test_a_batch_is_decided_as_one_by_one(place, clock):
    """Strides of a batch find the places where the arm changes."""
    together = Campaign.open(place, "together", shop(), clock=clock, policy="elsv", seed=3)
    alone = Campaign.open(place, "alone", shop(), clock=clock, policy="elsv", seed=3)
    batch = [d.arm for d in together.decide(count=40)]
    single = [alone.decide().arm for _ in range(40)]
    assert sum(a != b for a, b in zip(batch, single, strict=True)) <= 2


def test_the_same_seed_gives_the_same_decisions(tmp_path, clock):
    def arms(name):
        options = {"policy": "thompson", "floor": 0.05, "holdout": 0.1, "control": 3, "seed": 5}
        campaign = Campaign.open(tmp_path / "x.db", name, shop(), clock=clock, **options)
        found = []
        for k in range(30):
            decision = campaign.decide()
            found.append((decision.arm, decision.propensity, decision.reason))
            campaign.reward(decision.id, success=k % 3 == 0)
        return found

    assert arms("a") == arms("b")


def test_opening_again_goes_on(campaign, place, clock):
    decision = campaign.decide("c-1")
    again = Campaign.open(place, "spring", shop(), window="7 days", unit="EUR", clock=clock, **QUICK)
    assert again.decide("c-1").id == decision.id
    assert Campaign.open(place, "spring", clock=clock).decide("c-1").id == decision.id
    assert again.settings == campaign.settings
    changed = Campaign.open(place, "spring", clock=clock, policy="thompson", floor=0.01, window="2 hours")
    assert campaign.settings == changed.settings
    assert campaign.settings.window == 7200
    assert campaign.decide().propensity < 1  # the first process goes on by the new settings
    assert campaign.audit().exact


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"rewards": [0.6, 0.7, 0.8, 1.0]}, "rewards of a campaign with outcomes cannot change"),
        ({"prior": [[1, 2]] * 4}, "prior of a campaign"),
        ({"order": None}, "structure of a campaign"),
        ({"names": list("abcd")}, "names of arms of a campaign"),
        ({"rewards": [1, 2], "names": ["a", "b"]}, "rewards, prior, names of arms"),
        ({"horizon": 200}, "can only grow, from 300 to 200"),
    ],
)
def test_other_problems_are_refused_once_there_are_decisions(campaign, place, clock, changes, match):
    campaign.decide()
    with pytest.raises(InvalidInputError, match=match):
        Campaign.open(place, "spring", shop(**{"horizon": 300, **changes}), clock=clock)
    assert campaign.problem == shop()


def test_before_the_first_decision_everything_may_change(campaign, place, clock):
    other = shop(rewards=[1, 2, 3], names=["a", "b", "c"], horizon=20)
    again = Campaign.open(place, "spring", other, clock=clock, **QUICK)
    assert again.decide().name in "abc"
    assert again.audit().exact


def test_extend_pause_and_resume(place, clock):
    campaign = Campaign.open(
        place, "x", shop(horizon=5), clock=clock, fallback="full price", control="15 % off", **QUICK
    )
    campaign.decide(count=2)
    campaign.pause()
    resting = campaign.decide()
    assert (resting.name, resting.reason, resting.propensity) == ("full price", "paused", 1.0)
    assert campaign.status().phase == "paused"
    assert "paused" in str(campaign.explain())
    campaign.reward(resting.id, success=True)
    campaign.resume()
    assert [d.reason for d in campaign.decide(count=4)] == ["policy", "policy", "policy", "after"]
    assert campaign.status().phase == "over"
    assert campaign.status().left == 0
    assert "after the last customer" in str(campaign.explain())
    assert "The planned customers have come" in campaign.status().sentences()[2]
    campaign.extend(10)
    assert campaign.decide().reason == "policy"
    assert campaign.status().left == 3
    with pytest.raises(InvalidInputError, match="more than the 10 that are planned"):
        campaign.extend(10)
    # The problem's file still says 5 customers; opening with it goes on with the longer horizon.
    again = Campaign.open(place, "x", shop(horizon=5), clock=clock)
    assert again.settings.horizon == 10
    Campaign.open(place, "x", shop(horizon=30), clock=clock)
    assert again.settings.horizon == 30
    assert campaign.audit().exact


def test_status_explain_and_audit_work_before_the_first_decision(campaign):
    status = campaign.status()
    assert (status.phase, status.decided, status.left, status.gains) == ("not begun", 0, 300, ())
    assert "Not begun: no customer has come yet; 300 are planned." in str(status)
    assert campaign.explain().step == 1
    assert campaign.audit().exact
    json.dumps(status.to_dict())


def test_a_discounted_campaign_has_no_end(place, clock):
    problem = Problem(rewards=[1, 2], discount=0.99)
    campaign = Campaign.open(place, "x", problem, clock=clock, **QUICK)
    campaign.decide(count=3)
    status = campaign.status()
    assert (status.left, status.ahead, status.phase) == (None, None, "running")
    str(status)
    with pytest.raises(InvalidInputError, match="no last customer"):
        campaign.extend(10)


def test_a_policy_of_your_own(place, clock):
    def second(state, step, rng):
        return np.full(state.shape, 1)

    campaign = Campaign.open(place, "x", shop(), policy=second, clock=clock)
    decision = campaign.decide()
    assert (decision.arm, decision.propensity) == (1, 1.0)
    assert "policy of your own" in campaign.status().policy
    with pytest.raises(InvalidInputError, match="pass it"):
        Campaign.open(place, "x", clock=clock).decide()
    assert Campaign.open(place, "x", policy=second, clock=clock).decide().arm == 1


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"floor": 0.25}, "below 1/4 with 4 arms, got 0.25"),
        ({"floor": -0.1}, "floor must be a share"),
        ({"holdout": 0.1}, "give control="),
        ({"holdout": 1.0, "control": 0}, "holdout must be a share"),
        ({"control": "half price"}, "unknown arm 'half price'"),
        ({"fallback": 4}, "from 0 to 3, got 4"),
        ({"window": "a week or so"}, "a length of time such as '7 days'"),
        ({"window": 0}, "a length of time"),
        ({"policy": "plann"}, "did you mean 'plan'"),
    ],
)
def test_settings_that_make_no_sense(tmp_path, settings, match):
    with pytest.raises(InvalidInputError, match=match):
        Campaign.open(tmp_path / "x.db", "x", shop(), **settings)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda c: c.decide(""), "customer must be text"),
        (lambda c: c.decide(5), "customer must be text, or a list"),
        (lambda c: c.decide([]), "at least one"),
        (lambda c: c.decide(count=0), "count must be a whole number"),
        (lambda c: c.decide(count=10**6), "at most 100,000 customers at once"),
        (lambda c: c.decide("a", count=2), "not both"),
        (lambda c: c.decide(key="x" * 501), "key must be text"),
        (lambda c: c.decide("half \ud800"), "customer must be text"),
        (lambda c: c.decide(key="nul \0"), "key must be text"),
        (lambda c: c.reward("", success=True), "id of a decision must be text"),
        (lambda c: c.reward("x", success=2), "success must be true or false"),
        (lambda c: c.reward("x", success="yes"), "success must be true or false"),
    ],
)
def test_arguments_that_make_no_sense(tmp_path, call, match):
    campaign = Campaign.open(tmp_path / "x.db", "x", shop(), **QUICK)
    with pytest.raises(InvalidInputError, match=match):
        call(campaign)


def test_names_of_campaigns(tmp_path):
    for name in ("", 5, "x" * 501, "\udfff"):
        with pytest.raises(InvalidInputError, match="name of a campaign must be text"):
            Campaign.open(tmp_path / "x.db", name, shop())
    with pytest.raises(InvalidInputError, match="there is no campaign file"):
        Campaign.open(tmp_path / "none.db", "x")
    Campaign.open(tmp_path / "x.db", "x", shop())
    with pytest.raises(InvalidInputError, match="there is no campaign 'y'"):
        Campaign.open(tmp_path / "x.db", "y")


@pytest.mark.parametrize("name", ["a/b", "/", ".", ".."])
def test_names_that_no_address_can_hold(tmp_path, name):
    path = tmp_path / "x.db"
    match = rf"name of a campaign must not contain '/', nor be '.' or '..', got '{name}'; take another"
    with pytest.raises(InvalidInputError, match=match):
        Campaign.open(path, name, shop(), **QUICK)
    with pytest.raises(InvalidInputError, match=match):
        begin_once(open_store(path), name, shop(), None, {}, 0.0)
    Campaign.open(path, "x", shop(), **QUICK).close()
    with sqlite3.connect(path) as connection:  # an elsv of before took such names: they go on
        connection.execute("UPDATE elsv_campaign SET name = ?", (name,))
    connection.close()
    with Campaign.open(path, name, shop(horizon=900), **QUICK) as campaign:
        campaign.decide()
        assert campaign.settings.horizon == 900


def test_a_window_fits_into_a_date(tmp_path):
    campaign = Campaign.open(tmp_path / "x.db", "x", shop(), window=100 * 365 * 86400, **QUICK)
    assert campaign.decide().expires.year > 2069
    for window in (1e10, "99999999 days", timedelta(days=40_000), 0, -1, float("inf"), float("nan"), "nan s"):
        with pytest.raises(
            InvalidInputError, match=r"window must be a length of time.*100 years at most, got"
        ):
            Campaign.open(tmp_path / "x.db", "x", window=window)
    assert Campaign.open(tmp_path / "x.db", "x", window="none").settings.window is None


def test_none_is_a_value_for_some_settings_only(tmp_path):
    store = open_store(tmp_path / "x.db")
    with Campaign.open(store, "x", shop(), window="1 day", control=1, fallback=2, **QUICK):
        changed, version = change(
            store, "x", as_kept({"window": None, "control": None, "fallback": None}), 0.0
        )
        assert (changed.window, changed.control, changed.fallback, version) == (None, None, None, 2)
        for key in ("policy", "unit", "sticky", "accept_late", "floor", "holdout", "horizon", "paused"):
            with pytest.raises(InvalidInputError, match=f"{key} must have a value, got none; leave it out"):
                as_kept({key: None})


def test_a_structure_that_only_python_knows_is_audited(tmp_path):
    """Replaying the log needs no belief."""
    path = tmp_path / "x.db"
    structure = where(lambda means: means[..., 0] < means[..., 1], "the second arm is better")
    with Campaign.open(path, "x", shop(order=None, structure=structure), **QUICK) as campaign:
        campaign.decide(count=5)
    command = [sys.executable, "-c", "from elsv.cli import main; main()", "campaign"]
    found = subprocess.run([*command, "decide", str(path), "x"], capture_output=True, text=True, check=False)
    assert found.returncode != 0
    assert "must be registered first" in found.stderr
    assert "5 decisions" in commands.elsv("campaign", "audit", path, "x").stdout


def test_lengths_of_time():
    for text in ("7 days", "1 week", "168h", timedelta(days=7), 604800):
        assert seconds_of(text) == 604800
    assert seconds_of("90 min") == 5400
    assert seconds_of(None) is None
    assert in_words(None) == "no limit"
    assert in_words(604800.0) == "7 days"
    assert in_words(1.0) == "1 second"
    assert in_words(0.5) == "0.5 seconds"


def test_export_and_import(campaign, clock, tmp_path):
    import polars

    decisions = campaign.decide(["a, b", 'c"d', "e", "f"])
    campaign.reward(decisions[0].id, success=True)
    clock.pass_(7 * 86400)
    campaign.reward(decisions[1].id, success=False)
    assert campaign.export(tmp_path / "log.csv") == 4
    assert campaign.export(tmp_path / "log.parquet") == 4
    csv, parquet = polars.read_csv(tmp_path / "log.csv"), polars.read_parquet(tmp_path / "log.parquet")
    for table in (csv, parquet):
        assert table["decision"].to_list() == [d.id for d in decisions]
        assert table["customer"].to_list() == ["a, b", 'c"d', "e", "f"]
        assert table["outcome"].to_list() == ["success", "failure", "expired", "expired"]
        assert table["propensity"].to_list() == [1.0] * 4
        assert table["arm"].to_list() == [d.arm + 1 for d in decisions]
    lines = [f"{d.id},{value}" for d, value in zip(decisions, ("yes", "1", "true", "0"), strict=True)]
    (tmp_path / "bought.csv").write_text("\n".join(["decision,success", *lines, "nobody,1"]) + "\n")
    found = campaign.import_outcomes(tmp_path / "bought.csv")
    assert found.to_dict() == {
        "rows": 5, "duplicate": 1, "conflict": 1, "late": 2, "unknown": 1, "unknown_ids": ["nobody"]
    }  # fmt: skip
    assert "1 unknown" in str(found)
    assert campaign.audit().exact


def test_history_is_part_of_the_prior_and_earns_nothing(campaign, tmp_path):
    (tmp_path / "past.csv").write_text(f"arm,successes,failures\n1,30,20\n{NAMES[3]},5,45\n")
    assert campaign.import_outcomes(tmp_path / "past.csv").counts == {"history": 100}
    assert campaign.import_outcomes(tmp_path / "past.csv").counts == {"duplicate": 100}
    status = campaign.status()
    assert (status.earned, status.decided) == (0, 0)
    assert [a.history for a in status.arms] == [50, 0, 0, 50]
    assert status.arms[0].conversion == pytest.approx(0.6, abs=0.07)
    campaign.decide()
    assert campaign.explain().arms[0].pulls == 0
    (tmp_path / "rows.csv").write_text("arm,success\n2,1\n2,0\n2,0\n")
    assert campaign.import_outcomes(tmp_path / "rows.csv").counts == {"history": 3}
    assert campaign.audit().exact


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("arm,success\n9,1\n", "from 1 to 4, got 9"),
        ("arm,success\n1,maybe\n", "success must be 1 or 0, got 'maybe' in line 2"),
        ("arm,successes,failures\n1,2,x\n", "whole numbers, got 'x' in line 2"),
        ("arm,success\n1\n", "line 2 of .* has more or fewer fields"),
        ("a,b\n1,2\n", "must have the columns decision, success"),
        ("", "got none"),
    ],
)
def test_files_of_outcomes_that_make_no_sense(tmp_path, text, match):
    campaign = Campaign.open(tmp_path / "x.db", "x", shop(), **QUICK)
    (tmp_path / "file.csv").write_text(text)
    with pytest.raises(InvalidInputError, match=match):
        campaign.import_outcomes(tmp_path / "file.csv")
    with pytest.raises(InvalidInputError, match=r"\.csv or \.parquet"):
        campaign.import_outcomes(tmp_path / "file.txt")


def test_the_log_is_audited(campaign, place):
    for k in range(6):
        decision = campaign.decide()
        if k % 2:
            campaign.reward(decision.id, success=True)
    assert campaign.audit().exact
    for damage, found in (
        ("UPDATE elsv_tally SET successes = successes + 1 WHERE arm = 0", "successes of arm 1"),
        ("DELETE FROM elsv_reward WHERE number = 2", "event numbers are missing"),
        ("DELETE FROM elsv_open WHERE number = 1", "decisions are stored as open"),
        ("UPDATE elsv_decision SET propensity = 0.5 WHERE number = 3", "decision 3 has probabilities"),
        ("UPDATE elsv_reward SET late = 1 WHERE number = 4", "marked wrongly as late"),
    ):
        with campaign.store.writing() as writing:
            writing.run(damage)
        audit = campaign.audit()
        assert not audit.exact
        assert any(found in problem for problem in audit.problems), (damage, audit)
    assert "do not agree" in str(audit)
    json.dumps(audit.to_dict())
