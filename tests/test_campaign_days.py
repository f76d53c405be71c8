"""A campaign in time: days of its own zone, what was changed when, and what is said of it."""

import json
import time
from collections import Counter
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from typer.testing import CliRunner

from campaigns import Clock, shop
from elsv import Campaign
from elsv.campaign.digest import digest_of
from elsv.campaign.history import offsets
from elsv.campaign.opening import open_store
from elsv.campaign.settings import zone_of
from elsv.campaign.views import timeline
from elsv.cli import app
from elsv.errors import InvalidInputError

HOUR, DAY = 3600.0, 86400.0
AUTUMN = datetime(2026, 10, 23, 9, 30, tzinfo=UTC).timestamp()  # summer time ends in Berlin two days later
SPRING = datetime(2026, 3, 27, 20, 0, tzinfo=UTC).timestamp()


def played(store, zone, start, days=6, **settings):
    """A campaign with customers at odd moments, the last second of a day among them."""
    clock = Clock(start)
    campaign = Campaign.open(
        store,
        "spring",
        shop(900),
        policy="thompson",
        unit="EUR",
        seed=1,
        timezone=zone,
        clock=clock,
        **settings,
    )
    rng, log = np.random.default_rng(2), []
    midnight = datetime.fromtimestamp(start, ZoneInfo(zone)).replace(hour=23, minute=59, second=59)
    moments = [start, midnight.timestamp() + 0.7, midnight.timestamp() + 1.0]
    for moment in sorted([*moments, *(start + days * DAY * rng.random(60))]):
        clock.now = moment
        log.extend((moment, made) for made in campaign.decide(count=3))
        if len(log) > 30:
            told = log[len(log) // 2][1]
            campaign.reward(told, success=bool(rng.random() < 0.5))
    return campaign, clock, log


def plainly(campaign, zone, log):
    """The same days, one event after the other."""
    came, won = Counter(), Counter()
    with campaign.store.reading() as reading:
        rows = reading.rows("SELECT number, at, success FROM elsv_reward")
    arms = {made.number: made.arm for _, made in log}
    for moment, made in log:
        came[datetime.fromtimestamp(moment, ZoneInfo(zone)).date().isoformat(), made.arm] += 1
    for number, at, success in rows:
        won[datetime.fromtimestamp(at, ZoneInfo(zone)).date().isoformat(), arms[number]] += success
    return came, won


def check(store, zone, start):
    campaign, _, log = played(store, zone, start)
    days = campaign.status().days
    came, won = plainly(campaign, zone, log)
    dates = [day.date for day in days]
    assert dates == sorted(dates)
    assert len({*dates}) == len(dates)
    assert {(d.date, i): n for d in days for i, n in enumerate(d.customers) if n} == dict(came)
    assert {(d.date, i): n for d in days for i, n in enumerate(d.successes) if n} == {
        key: n for key, n in won.items() if n
    }
    assert sum(day.outcomes for day in days) == sum(a.successes + a.failures for a in campaign.status().arms)
    campaign.close()


@pytest.mark.parametrize("start", [AUTUMN, SPRING], ids=["autumn", "spring"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns", "Asia/Kolkata", "UTC"])
def test_days_are_those_of_the_zone(tmp_path, zone, start):
    check(tmp_path / "shop.db", zone, start)


def test_days_on_postgres(postgres):
    for zone in ("Europe/Berlin", "America/St_Johns"):
        check(postgres.new_database(), zone, AUTUMN)


def test_a_day_without_customers_is_there(tmp_path):
    clock = Clock(AUTUMN)
    campaign = Campaign.open(tmp_path / "x.db", "x", shop(), policy="greedy", clock=clock, timezone="UTC")
    campaign.decide()
    clock.pass_(3 * DAY)
    campaign.decide(count=2)
    assert [day.came for day in campaign.status().days] == [1, 0, 0, 2]


def test_offsets_of_a_zone_with_two_changes():
    found = list(offsets(ZoneInfo("Europe/Berlin"), SPRING, AUTUMN + 9 * DAY))
    assert [ahead for _, ahead in found] == [3600, 7200, 3600]
    assert datetime.fromtimestamp(found[1][0], UTC).isoformat() == "2026-03-29T01:00:00+00:00"


def test_today_yesterday_and_the_pace_in_words(tmp_path):
    clock = Clock(datetime(2026, 11, 10, 22, 0, tzinfo=UTC).timestamp())  # 23 o'clock in Berlin
    campaign = Campaign.open(
        tmp_path / "x.db",
        "x",
        shop(100),
        policy="fixed:arm=4",
        unit="EUR",
        control=3,
        timezone="Europe/Berlin",
        clock=clock,
    )
    assert campaign.status().lately() == ()
    assert campaign.status().sentences()[0] == "Not begun: no customer has come yet; 100 are planned."
    campaign.reward(campaign.decide(count=10)[0], success=True)
    clock.pass_(2 * HOUR)
    campaign.rewards((one, True) for one in campaign.decide(count=20)[:3])
    found = campaign.status()
    assert found.lately() == (
        "Yesterday: 10 customers, 1 sale, 1.00 EUR.",
        "Today so far: 20 customers, 3 sales, 3.00 EUR.",
    )
    assert found.in_words(1, 1, 2.0) == "1 customer, 1 sale, 2.00 EUR"
    assert found.sentences()[0] == (
        "Running since 10 November, day 2: 30 of 100 customers have come; about 5 hours left at this pace."
    )
    assert "Offered now: full price, to 30 of the last 30 customers" in found.sentences()[2]
    clock.pass_(3 * DAY)
    assert "No customer has come since 11 November, 01:00." in campaign.status().troubles()


def test_a_pace_is_said_when_it_means_something(tmp_path):
    clock = Clock(datetime(2026, 11, 10, 8, 0, tzinfo=UTC).timestamp())
    campaign = Campaign.open(tmp_path / "x.db", "x", shop(100), policy="fixed:arm=4", clock=clock)

    def said():
        return campaign.status().sentences()[0], campaign.status().advice()

    campaign.decide(count=30)  # in one second
    assert not any("pace" in words for words in said())
    clock.pass_(HOUR)
    assert all("about 2 hours left at this pace" in words for words in said())
    slow = Campaign.open(tmp_path / "x.db", "slow", shop(100), policy="fixed:arm=4", clock=clock)
    slow.decide(count=19)
    clock.pass_(5 * HOUR)
    assert slow.status().pace is None
    clock.pass_(19 * HOUR)
    assert slow.status().pace == pytest.approx(19)


def test_what_was_changed_is_said_with_its_time(tmp_path):
    clock = Clock(datetime(2026, 11, 10, 9, 0, tzinfo=UTC).timestamp())
    campaign = Campaign.open(
        tmp_path / "x.db", "x", shop(100), policy="greedy", control="full price", clock=clock, timezone="UTC"
    )
    campaign.decide()
    clock.pass_(HOUR)
    campaign.pause()
    paused = campaign.status().sentences()
    assert paused[0] == "Paused since 10 November, 10:00: 1 of 100 customers have come."
    assert paused[2].startswith("Everybody gets full price while it is paused")
    clock.pass_(HOUR)
    campaign.resume()
    campaign.extend(200)
    Campaign.open(tmp_path / "x.db", "x", holdout=0.1, clock=clock).close()
    found = [(change.at[11:16], change.what) for change in campaign.status().changes]
    assert found == [
        ("09:00", "begun"),
        ("10:00", "paused"),
        ("11:00", "resumed"),
        ("11:00", "extended from 100 to 200 customers"),
        ("11:00", "holdout: 0.0 → 0.1"),
    ]
    marks = timeline(campaign.status()).marks
    assert [number for _, number, _ in marks] == [1, 2, 3, 4], "the beginning is no change"
    assert [round(place) for place, _, _ in marks] == [42, 46, 46, 46]


def test_silence_is_trouble(tmp_path):
    campaign = Campaign.open(tmp_path / "x.db", "x", shop(), policy="greedy", seed=1)
    campaign.decide(count=60)
    (wrong,) = campaign.status().troubles()
    assert wrong == "No outcome of 60 customers was reported: does the shop send them?"
    assert campaign.status().sentences()[3] == wrong


def test_a_void_decision_is_no_customer_of_its_day(tmp_path):
    campaign = Campaign.open(tmp_path / "x.db", "x", shop(), policy="greedy", seed=1)
    made = campaign.decide(count=5)
    campaign.void(made[0].id)
    assert [day.came for day in campaign.status().days] == [4]
    assert "Today so far: 4 customers" in campaign.status().lately()[0]


def test_a_zone_has_a_name(tmp_path):
    with pytest.raises(InvalidInputError, match="timezone must be a name such as Europe/Berlin"):
        Campaign.open(tmp_path / "x.db", "x", shop(), timezone="Middle/Earth")
    with pytest.raises(InvalidInputError, match="timezone must be"):
        Campaign.open(tmp_path / "x.db", "x", shop(), timezone="../etc/passwd")
    assert zone_of("").key
    (tmp_path / "shop.toml").write_text("rewards = [1, 2]\nhorizon = 9\n")
    begin = ["campaign", "new", str(tmp_path / "y.db"), "y", str(tmp_path / "shop.toml"), "--timezone"]
    assert CliRunner().invoke(app, [*begin, "Asia/Tokyo"]).exit_code == 0
    assert Campaign.open(tmp_path / "y.db", "y").settings.timezone == "Asia/Tokyo"
    assert isinstance(CliRunner().invoke(app, [*begin, "Nowhere"]).exception, InvalidInputError)


def test_the_digest_has_the_news_of_all_campaigns(tmp_path):
    db, clock = tmp_path / "shop.db", Clock(time.time() - 1.5 * DAY)
    given = {"policy": "greedy", "unit": "EUR", "seed": 1, "clock": clock, "timezone": "UTC"}
    with Campaign.open(db, "spring <b>", shop(100), **given) as spring:
        spring.rewards((one, True) for one in spring.decide(count=5))
    Campaign.open(db, "autumn", shop(), **given).close()
    with Campaign.open(db, "wrong", shop(), **{**given, "policy": "random"}) as wrong:
        wrong.rewards((one, one.arm == 3) for one in wrong.decide(count=200))
    Campaign.open(db, "own", shop(), policy=lambda state, step, rng: 0).close()
    clock.now = time.time()
    spring.pause()
    done = CliRunner().invoke(app, ["campaign", "digest", str(db), "--since", "7 days"])
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0] == "4 campaigns since 7 days: 2 with trouble"
    assert lines[2] == "wrong", "trouble first"
    assert any("5 customers, 5 sales, " in line for line in lines)
    assert any(line.endswith(": paused.") for line in lines)
    assert any(line.endswith(": begun.") for line in lines)
    assert "autumn" in digest_of(open_store(db), "today").quiet
    found = digest_of(open_store(db), "7 days")
    html = CliRunner().invoke(app, ["campaign", "digest", str(db), "--since", "7 days", "--html"]).output
    assert "spring &lt;b&gt;" in html
    assert "<script" not in html
    assert found.title in html
    told = json.loads(CliRunner().invoke(app, ["campaign", "digest", str(db), "--json"]).output)
    assert told["campaigns"][0]["name"] == "wrong"
    assert told["unreadable"][0]["name"] == "own"
    assert "5 customers" not in str(digest_of(open_store(db), "today"))
    with pytest.raises(InvalidInputError, match="since must be yesterday, today, '7 days' or a day"):
        digest_of(open_store(db), "soon")
