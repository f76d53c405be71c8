"""Who may do what, limits, headers; and the database in trouble."""

import asyncio
import contextlib
import sqlite3
import threading

import pytest

from elsv import Campaign, Problem
from elsv.campaign.batches import DecisionRequest
from elsv.campaign.opening import open_store
from elsv.service.api import Asked
from elsv.service.app import create_app
from elsv.service.batching import MOST_WAITING, Lane
from elsv.service.errors import RefusedError, refusal_of
from elsv.service.settings import ServiceSettings
from elsv.service.tokens import Role, Token, digest_of
from elsv.stores.base import StoreError
from elsv.stores.sharing import Pool
from shops import SHOP, shop


class Known:
    """Tokens that are known by heart."""

    def find(self, digest):
        known = {digest_of(role.word): Token(role.word, role.word, digest_of(role.word), "") for role in Role}
        return known.get(digest)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with shop(tmp_path_factory.mktemp("guarded") / "shop.db", Known(), body_limit=10_000) as opened:
        made = opened.ask("PUT", "/campaigns/spring", SHOP, headers={"Authorization": "Bearer admin"})
        assert made.status_code == 201
        while not opened.service.ready:
            threading.Event().wait(0.05)
        yield opened


def test_what_pages_need_is_loaded_before_the_server_is_ready(tmp_path, monkeypatch):
    with Campaign.open(tmp_path / "shop.db", "spring", Problem([1.0, 0.5], horizon=9), policy="greedy"):
        pass
    order, status = [], Campaign.status
    monkeypatch.setattr(Campaign, "status", lambda *given, **how: order.append(how) or status(*given, **how))
    service = create_app(ServiceSettings(db=str(tmp_path / "shop.db"))).service
    service.when_ready = lambda: order.append("ready")

    async def start():
        await service.start()
        await service.stop()

    asyncio.run(start())
    assert order == [{"patient": False}, "ready"]


def test_a_campaign_that_takes_long_to_look_at_does_not_keep_the_server_from_being_ready(
    tmp_path, monkeypatch
):
    with Campaign.open(tmp_path / "shop.db", "spring", Problem([1.0, 0.5], horizon=9), policy="greedy"):
        pass
    looked = threading.Event()
    monkeypatch.setattr(Campaign, "status", lambda *given, **how: looked.wait(60))
    monkeypatch.setattr("elsv.service.service._FIRST_LOOK", 0.05)
    service = create_app(ServiceSettings(db=str(tmp_path / "shop.db"))).service

    async def start():
        await service.start()
        assert service.ready
        assert not looked.is_set()
        looked.set()
        await service.stop()

    asyncio.run(start())


def test_every_answer_has_the_headers_that_keep_browsers_safe(guarded):
    for path in ("/healthz", "/campaigns", "/nowhere"):
        headers = guarded.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "server" not in headers


def test_a_body_may_come_in_pieces_but_not_in_part():
    async def read(*messages):
        left = iter(messages)

        async def receive():
            return next(left)

        headers = [(b"content-type", b"application/json")]
        return await Asked({"type": "http", "headers": headers}, receive).json_object()

    first = {"type": "http.request", "body": b'{"count":', "more_body": True}
    empty = {"type": "http.request", "more_body": True}
    assert asyncio.run(read(first, empty, {"type": "http.request", "body": b" 3}"})) == {"count": 3}
    with pytest.raises(RefusedError, match="whole"):
        asyncio.run(read(first, {"type": "http.disconnect"}))


def test_an_address_that_sends_too_much_is_slowed_down(tmp_path):
    with shop(tmp_path / "shop.db", rate=5) as opened:
        codes = [opened.get("/healthz").status_code for _ in range(20)]
        assert codes[:10] == [200] * 10
        refused = [code for code in codes if code == 429]
        assert refused
        assert opened.get("/healthz").headers.get("retry-after", "1") == "1"


def test_without_tokens_only_the_names_of_this_machine_are_answered(tmp_path):
    with shop(tmp_path / "shop.db") as opened:
        for host, code in (
            ("localhost:8763", 200),
            ("127.0.0.1", 200),
            ("[::1]:80", 200),
            ("shop.example", 403),
            ("", 403),
            ("127.0.0.1.example", 403),
        ):
            assert opened.get("/healthz", headers={"Host": host}).status_code == code, host


def test_a_pool_lets_wait_and_then_says_so(tmp_path):
    pool = Pool(lambda: open_store(tmp_path / "shop.db"), 2, 0.05)
    with pool.reading(), pool.reading():
        with pytest.raises(StoreError, match="all 2 connections"), pool.reading():
            pass
        assert refusal_of(_raised(pool)).status == 503
    with pool.writing() as writing:
        assert writing.rows("SELECT 1") == [(1,)]
    pool.close()


def _raised(pool):
    try:
        with pool.reading():
            pass
    except StoreError as error:
        return error


def test_a_lane_that_plans_for_long_holds_up_no_other():
    begun, go_on = threading.Event(), threading.Event()

    def slow(asked, outcomes):
        begun.set()
        assert go_on.wait(60)
        return [[f"slow {k}"] for k in range(len(asked))], []

    async def both():
        quick = Lane("quick", lambda asked, outcomes: ([["quick"]], []), lambda *_: None)
        lanes = Lane("slow", slow, lambda *_: None), quick
        waiting = [asyncio.ensure_future(lanes[0].ask(DecisionRequest([None]))) for _ in range(3)]
        await asyncio.to_thread(begun.wait, 60)
        assert await lanes[1].ask(DecisionRequest([None])) == ["quick"]
        assert not any(one.done() for one in waiting)
        go_on.set()
        answers = await asyncio.gather(*waiting)
        for lane in lanes:
            lane.close()
        return answers

    assert asyncio.run(both()) == [["slow 0"], ["slow 0"], ["slow 1"]]


def test_one_request_that_fails_does_not_take_its_companions_along():
    def serve(asked, outcomes):
        if any(one.key == "bad" for one in asked):
            raise ValueError("bad")
        return [[one.key] for one in asked], []

    async def several():
        lane = Lane("x", serve, lambda *_: None)
        keys = ("first", "a", "bad", "b")
        asked = [lane.ask(DecisionRequest([None], key)) for key in keys]
        found = await asyncio.gather(*asked, return_exceptions=True)
        lane.close()
        return found

    found = asyncio.run(several())
    assert found[:2] == [["first"], ["a"]]
    assert isinstance(found[2], ValueError)
    assert found[3] == ["b"]


def test_a_lane_lets_only_so_many_wait():
    go_on = threading.Event()

    def serve(asked, outcomes):
        go_on.wait(60)
        return [[None] for _ in asked], []

    async def crowd():
        lane = Lane("x", serve, lambda *_: None)
        asked = [asyncio.ensure_future(lane.ask(DecisionRequest([None]))) for _ in range(MOST_WAITING + 3)]
        await asyncio.sleep(0)
        go_on.set()
        found = await asyncio.gather(*asked, return_exceptions=True)
        lane.close()
        return found

    refused = [one for one in asyncio.run(crowd()) if isinstance(one, RefusedError)]
    assert refused
    assert refused[0].status == 503


def test_a_lane_that_is_closed_answers_those_who_wait():
    begun, go_on = threading.Event(), threading.Event()

    def serve(asked, outcomes):
        begun.set()
        assert go_on.wait(60)
        return [[one.key] for one in asked], []

    async def closed_meanwhile():
        lane = Lane("x", serve, lambda *_: None)
        asked = [asyncio.ensure_future(lane.ask(DecisionRequest([None], key))) for key in ("a", "b", "c")]
        await asyncio.to_thread(begun.wait, 60)
        lane.close()
        go_on.set()
        return await asyncio.wait_for(asyncio.gather(*asked), 60)

    assert asyncio.run(closed_meanwhile()) == [["a"], ["b"], ["c"]]


def test_a_server_whose_database_is_away_at_first_is_ready_all_the_same(tmp_path):
    service = create_app(ServiceSettings(db=str(tmp_path / "shop.db"))).service

    async def away():
        raise StoreError("the database is away")

    async def start():
        service.listed = away
        await service.start()
        assert (service.starting, service.ready) == (False, True)
        await service.stop()

    asyncio.run(start())


def test_settings_that_must_not_be_started():
    ServiceSettings().check()
    ServiceSettings(host="::1").check()
    ServiceSettings(host="localhost").check()
    for settings, word in (
        (ServiceSettings(host="0.0.0.0"), "tokens"),
        (ServiceSettings(host="shop.example"), "tokens"),
        (ServiceSettings(workers=2), "one server"),
        (ServiceSettings(workers=0), "at least 1"),
        (ServiceSettings(port=70_000), "port"),
    ):
        with pytest.raises(ValueError, match=word):
            settings.check()


def test_an_error_that_nobody_thought_of_is_answered_without_its_text(tmp_path):
    with shop(tmp_path / "shop.db") as opened:
        opened.begin()

        def broken(*_, **__):
            raise RuntimeError("password=secret")

        opened.service.listed = broken
        answer = opened.get("/campaigns")
        assert answer.status_code == 500
        assert "secret" not in answer.text
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_file_that_is_gone_is_told_and_overcome(tmp_path):
    path, away = tmp_path / "shop.db", tmp_path / "away.db"
    with shop(path) as opened:
        opened.begin()
        opened.decide(count=3)
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        path.rename(away)
        for answer in (opened.post("/campaigns/spring/decisions", {}), opened.get("/campaigns")):
            assert answer.status_code == 503
            assert "is gone" in answer.json()["detail"]
        assert opened.get("/readyz").status_code == 503
        away.rename(path)
        assert [one["number"] for one in opened.decide(count=2)] == [4, 5]
        assert opened.get("/campaigns/spring/audit").json()["exact"]
