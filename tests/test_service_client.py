"""Every call of the client against a real server: the answers are what the library itself says."""

import subprocess
import sys
from dataclasses import fields, is_dataclass

import pytest

from elsv import Campaign, Problem
from elsv.client import Client, ConflictError, NotAllowedError, NotFoundError, RefusedError
from services import serving

PROBLEM = Problem(
    rewards=[0.6, 0.8, 1.0], order="decreasing", horizon=60, names=["40 % off", "20 % off", "full price"]
)


def assert_same(found, own, but=()):
    """What the client gives has the library's fields and values, `but` a few."""
    for field in fields(own):
        if field.name not in but:
            theirs, ours = getattr(found, field.name), getattr(own, field.name)
            if isinstance(ours, tuple) and ours and is_dataclass(ours[0]):
                for one, other in zip(theirs, ours, strict=True):
                    assert_same(one, other)
            elif is_dataclass(ours) and not isinstance(theirs, dict):
                assert_same(theirs, ours)
            else:
                assert theirs == ours, field.name


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = tmp_path_factory.mktemp("service")
    with serving(directory / "shop.db", directory) as running:
        yield running


def test_a_campaign_from_its_beginning_to_its_end(server, tmp_path):
    settings = {"policy": "elsv", "window": "7 days", "floor": 0.02, "unit": "EUR", "control": 2, "seed": 7}
    with Client(server.url, server.tokens["admin"]) as client:
        assert client.ready()
        assert client.create("spring", PROBLEM, **settings) is True
        assert client.create("spring", PROBLEM, **settings) is False
        with pytest.raises(ConflictError, match="begun with something else") as caught:
            client.create("spring", PROBLEM, **{**settings, "floor": 0.03})
        assert "another name" in caught.value.remedy
        first = client.decide("spring", "c-17", key="visit-1")
        assert client.decide("spring", "c-17", key="visit-1").id == first.id
        with pytest.raises(RefusedError, match="was used for customer 'c-17', got customer 'c-18'"):
            client.decide("spring", "c-18", key="visit-1")
        assert client.decide("spring", "c-17").repeated
        several = client.decide("spring", count=12)
        assert [decision.number for decision in several] == list(range(2, 14))
        assert client.reward(first, success=True).status == "recorded"
        assert client.reward(first.id, success=True).status == "duplicate"
        assert client.reward(first.id, success=False).status == "conflict"
        receipts = client.rewards((one, k % 3 == 0) for k, one in enumerate(several[:9]))
        assert {receipt.status for receipt in receipts} == {"recorded"}
        changed = client.change("spring", floor=0.05, horizon=80, fallback="full price")
        assert (changed.floor, changed.horizon, changed.fallback, changed.control) == (0.05, 80, 2, 2)
        assert client.change("spring", paused=True).paused
        assert client.decide("spring").reason == "paused"
        assert not client.change("spring", paused=False).paused
        found, explained, audit = client.status("spring"), client.explain("spring"), client.audit("spring")
        assert [one.name for one in client.campaigns()] == ["spring"]
        assert client.export("spring", tmp_path / "spring.parquet").read_bytes()[:4] == b"PAR1"
        assert b"full price" in client.report("spring", tmp_path / "spring.html").read_bytes()
        assert 'elsv_rewards_total{status="recorded"} 10' in client.metrics()
    with Campaign.open(server.db, "spring") as campaign:
        own = campaign.status()
        assert_same(found, own, {"at"})
        assert found.summary == own.sentences()
        assert str(found).splitlines()[0] == str(own).splitlines()[0]
        assert_same(explained, campaign.explain(), {"evidence"})
        assert str(explained).splitlines()[0] == str(campaign.explain()).splitlines()[0]
        assert_same(audit, campaign.audit())
        assert audit.exact


def test_what_is_refused(server):
    with Client(server.url, server.tokens["admin"]) as client:
        with pytest.raises(NotFoundError, match="nothing"):
            client.status("nothing")
        with pytest.raises(NotFoundError, match="no decision"):
            client.reward("nothing", success=True)
        client.create("refused", PROBLEM, policy="greedy")
        with pytest.raises(RefusedError, match="count must be a whole number from 1 to 1,000, got 5000"):
            client.decide("refused", count=5000)
        with pytest.raises(RefusedError, match="floor"):
            client.change("refused", floor=2.0)
        with pytest.raises(RefusedError, match="rewards must be positive") as caught:
            client.create("worse", {"rewards": [-1.0, 1.0], "horizon": 5})
        assert caught.value.rule
    for token, needed in ((None, 401), ("elsv_unknown", 401), (server.tokens["read"], 403)):
        with Client(server.url, token) as client, pytest.raises(NotAllowedError) as refused:
            client.decide("refused")
        assert refused.value.status == needed
        assert refused.value.remedy


def test_customers_of_segments(server):
    problem = Problem(
        rewards=[0.5, 1.0, 0.6, 1.0], horizon=60, names=["a", "b", "c", "d"],
        segments={"new": ["a", "b"], "known": ["c", "d"]},
    )  # fmt: skip
    with Client(server.url, server.tokens["admin"]) as client:
        client.create("segments", problem, policy="greedy", control=["b", "d"])
        made = {who: client.decide("segments", f"c-{who}", segment=who) for who in ("new", "known")}
        assert made["new"].name in "ab"
        assert made["known"].name in "cd"
        assert made["known"].segment == "known"
        client.rewards((decision, True) for decision in made.values())
        assert client.change("segments", fallback=[0, 3], paused=True).fallback == (0, 3)
        assert client.decide("segments", segment="known").name == "d"
        assert client.explain("segments", "new").segment == "new"
        with pytest.raises(RefusedError, match="segment"):
            client.decide("segments")
        found = client.status("segments")
        assert client.audit("segments").exact
    with Campaign.open(server.db, "segments") as campaign:
        assert_same(found, campaign.status(), {"at"})


def test_without_the_client_the_error_names_the_extra():
    code = "import sys; sys.modules['elsv_client'] = None; import elsv.client"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "MissingExtraError: the client needs an extra: pip install 'elsv[client]'" in done.stderr
