"""What the routes answer, in this process."""

import contextlib
import json
import sqlite3
from urllib.parse import quote

import pytest

from elsv import Campaign, Problem
from shops import SHOP, shop

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def spring(tmp_path_factory):
    with shop(tmp_path_factory.mktemp("service") / "shop.db") as opened:
        opened.begin()
        yield opened


def test_the_same_body_again_changes_nothing_and_another_is_refused(spring):
    assert spring.begin("once").status_code == 201
    again = spring.begin("once")
    assert (again.status_code, again.json()) == (200, {"name": "once", "created": False})
    for other in ({"window": "8 days"}, {"seed": 8}, {"problem": {"rewards": [1, 2], "horizon": 300}}):
        refused = spring.ask("PUT", "/campaigns/once", {**SHOP, **other})
        assert refused.status_code == 409, other
        assert refused.headers["content-type"] == "application/problem+json"
    spring.ask("PATCH", "/campaigns/once", {"floor": 0.01})
    assert spring.begin("once").status_code == 200


def test_a_decision_and_its_outcome(spring):
    (made,) = spring.decide(customer="c-1")
    assert made["customer"] == "c-1"
    assert 1 <= made["arm"] <= 4
    assert made["name"] == SHOP["problem"]["names"][made["arm"] - 1]
    (again,) = spring.decide(customer="c-1")
    assert (again["id"], again["repeated"]) == (made["id"], True)
    path = f"/decisions/{made['id']}/reward"
    assert spring.post(path, {"success": True}).json()["status"] == "recorded"
    assert spring.post(path, {"success": True}).json()["status"] == "duplicate"
    assert spring.post(path, {"success": False}).json()["status"] == "conflict"


def test_outcomes_of_several_campaigns_at_once_all_or_none(spring):
    spring.begin("summer")
    made = [*spring.decide(count=2), *spring.decide("summer", count=2)]
    outcomes = [{"decision": one["id"], "success": k % 2 == 0} for k, one in enumerate(made)]
    unknown = spring.post("/rewards", {"rewards": [*outcomes, {"decision": "nobody", "success": True}]})
    assert unknown.status_code == 404
    assert "nobody" in unknown.json()["detail"]
    found = spring.post("/rewards", {"rewards": outcomes}).json()["receipts"]
    assert [one["status"] for one in found] == ["recorded"] * 4
    assert [one["id"] for one in found] == [one["id"] for one in made]


def test_decisions_of_another_process_are_known_by_their_ids(spring, tmp_path):
    path = tmp_path / "other.db"
    with Campaign.open(path, "old", policy="greedy", problem=_problem()) as campaign:
        decision = campaign.decide()
    with shop(path) as other:
        answer = other.post(f"/decisions/{decision.id}/reward", {"success": True})
        assert answer.json()["status"] == "recorded"


def _problem():
    return Problem(**SHOP["problem"])


def test_many_at_once_are_all_answered_and_the_audit_is_exact(spring):
    spring.begin("busy")
    path = "/campaigns/busy/decisions"
    asked = [("POST", path, {"customer": f"c-{k}"}) for k in range(60)]
    answers = spring.all(
        *asked, ("POST", path, {"count": 40}), ("POST", "/decisions/x/reward", {"success": True})
    )
    assert [answer.status_code for answer in answers] == [200] * 61 + [404]
    made = [one for answer in answers[:-1] for one in answer.json()["decisions"]]
    assert sorted(one["number"] for one in made) == list(range(1, 101))
    rewards = spring.all(*(("POST", f"/decisions/{one['id']}/reward", {"success": True}) for one in made))
    assert {answer.json()["status"] for answer in rewards} == {"recorded"}
    audit = spring.get("/campaigns/busy/audit").json()
    assert (audit["exact"], audit["decisions"], audit["rewards"]) == (True, 100, 100)


def test_settings_are_changed_by_version(spring):
    spring.begin("change")
    seen = spring.get("/campaigns/change")
    assert seen.headers["etag"] == '"1"'
    changed = spring.ask("PATCH", "/campaigns/change", {"floor": 0.02, "paused": True, "horizon": 500})
    assert changed.json()["version"] == 2
    assert (changed.json()["floor"], changed.json()["paused"], changed.json()["horizon"]) == (0.02, True, 500)
    assert spring.decide("change")[0]["reason"] == "paused"
    stale = spring.ask("PATCH", "/campaigns/change", {"floor": 0.03}, headers={"If-Match": '"1"'})
    assert stale.status_code == 412
    fresh = spring.ask("PATCH", "/campaigns/change", {"control": "full price"}, headers={"If-Match": '"2"'})
    assert fresh.json()["control"] == 4
    assert spring.ask("PATCH", "/campaigns/change", {"control": 2}).json()["control"] == 2
    assert spring.ask("PATCH", "/campaigns/change", {"horizon": 20}).status_code == 422
    assert spring.ask("PATCH", "/campaigns/change", {"policy": "planck"}).status_code == 422
    assert spring.ask("PATCH", "/campaigns/nobody", {"floor": 0.1}).status_code == 404


def test_what_can_be_looked_at(spring):
    spring.begin("look")
    spring.decide("look", count=5)
    listed = spring.get("/campaigns").json()["campaigns"]
    assert {"name": "look", "decided": 5, "arms": 4}.items() <= next(
        one for one in listed if one["name"] == "look"
    ).items()
    status = spring.get("/campaigns/look").json()
    assert (status["decided"], status["settings"]["policy"], len(status["arms"])) == (5, "greedy", 4)
    assert status["problem"]["rewards"] == SHOP["problem"]["rewards"]
    assert spring.get("/campaigns/look/explain").json()["step"] == 6
    table = spring.get("/campaigns/look/export.parquet")
    assert table.content[:4] == b"PAR1"
    report = spring.get("/campaigns/look/report.html")
    assert "<html" in report.text
    assert "script-src" not in report.headers["content-security-policy"]
    for path in ("", "/explain", "/audit", "/export.parquet", "/report.html"):
        assert spring.get(f"/campaigns/nobody{path}").status_code == 404


def test_health_and_metrics(spring):
    assert spring.get("/healthz").json() == {"status": "alive"}
    text = spring.get("/metrics").text
    assert 'elsv_requests_total{method="GET",route="/healthz",status="200"}' in text
    assert "elsv_batch_requests_count" in text


def test_openapi_says_everything(spring):
    document = spring.get("/openapi.json").json()
    of_one = ("", "/decisions", "/explain", "/audit", "/export.parquet", "/report.html")
    others = ("/campaigns", "/rewards", "/healthz", "/readyz", "/metrics")
    reports = {f"/decisions/{{id}}/{what}" for what in ("reward", "void", "correction")}
    assert {*others, *reports, *(f"/campaigns/{{name}}{rest}" for rest in of_one)} <= set(document["paths"])
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            assert route.get("description") or route.get("summary"), (path, method)
            assert {"429", "503"} <= set(route["responses"]), (path, method)
            if method in ("put", "post", "patch") and not path.endswith("/void"):
                content = route["requestBody"]["content"]["application/json"]
                assert content["examples"], (path, method)
                assert {"400", "413", "415", "422"} <= set(route["responses"])
    references = [
        part.split('"')[0] for part in json.dumps(document).split('"$ref": "#/components/schemas/')[1:]
    ]
    assert set(references) <= set(document["components"]["schemas"])


def test_customers_of_segments(spring):
    problem = {**SHOP["problem"], "segments": {"new": [1, 2], "old": [3, 4]}, "segment_shares": [0.5, 0.5]}
    del problem["order"]
    spring.begin("segments", problem=problem, policy="thompson")
    for segment, arms in (("new", {1, 2}), ("old", {3, 4})):
        made = spring.decide("segments", count=5, segment=segment)
        assert {one["segment"] for one in made} == {segment}
        assert {one["arm"] for one in made} <= arms
        assert spring.get(f"/campaigns/segments/explain?segment={segment}").json()["arm"] in arms
    for body in ({}, {"segment": "rich"}, {"segment": 7}):
        assert spring.post("/campaigns/segments/decisions", body).status_code == 422
    changed = spring.ask("PATCH", "/campaigns/segments", {"control": ["40 % off", 4], "holdout": 0.1})
    assert changed.json()["control"] == [1, 4]
    mixed = spring.all(
        ("POST", "/campaigns/segments/decisions", {"segment": "new"}),
        ("POST", "/campaigns/segments/decisions", {"segment": "nobody"}),
        ("POST", "/campaigns/segments/decisions", {"segment": "old"}),
    )
    assert [answer.status_code for answer in mixed] == [200, 422, 200]
    assert spring.get("/campaigns/segments").status_code == 200
    assert spring.get("/campaigns/segments/audit").json()["exact"]


def test_a_number_is_an_arm_from_1_and_a_text_is_a_name(spring):
    """Also where the names of the arms are digits."""
    problem = {"rewards": [0.4, 0.6, 0.8, 1.0], "names": ["4", "6", "8", "10"], "horizon": 300}
    spring.begin("digits", problem=problem, control=3, holdout=0.1, fallback="4")
    found = spring.get("/campaigns/digits").json()["settings"]
    assert (found["control"], found["fallback"]) == (3, 1)
    for given, arm in ((4, 4), ("6", 2), ("10", 4), ("2", 2), (1, 1), ("1", 1)):
        assert spring.ask("PATCH", "/campaigns/digits", {"control": given}).json()["control"] == arm, given
    for given in (0, 5, -1, "5", "11", [1], True, 1.0):
        answer = spring.ask("PATCH", "/campaigns/digits", {"control": given})
        assert answer.status_code == 422, given
    assert "from 1 to 4, got 5" in spring.ask("PATCH", "/campaigns/digits", {"fallback": 5}).json()["detail"]
    listed = spring.ask("PATCH", "/campaigns/digits", {"control": [3]}).json()["detail"]
    assert "without segments one arm must be given, got a list of 1" in listed
    for after in (0, 99):
        body = {"name": "12", "reward": 1.2, "after": after}
        answer = spring.ask("POST", "/campaigns/digits/arms", body)
        assert answer.status_code == 422
        assert f"from 1 to 4, got {after}" in answer.json()["detail"]


def test_null_is_no_limit_and_no_arm(spring):
    spring.begin("null", control=2, fallback=1)
    changed = spring.ask("PATCH", "/campaigns/null", {"window": None, "fallback": None, "floor": None}).json()
    assert (changed["window"], changed["fallback"], changed["control"]) == (None, None, 2)
    assert spring.decide("null")[0]["expires"] is None
    assert spring.ask("PATCH", "/campaigns/null", {"window": "2 days"}).json()["window"] == 172_800
    assert spring.ask("PATCH", "/campaigns/null", {"floor": 0.01}).json()["window"] == 172_800


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/campaigns/spring/decisions", b'{"count": 1, "count": 2}'),
        ("POST", "/rewards", b'{"rewards": [{"decision": "a", "success": true, "success": false}]}'),
        ("PUT", "/campaigns/twice", b'{"problem": {"rewards": [1, 2], "horizon": 5, "horizon": 6}}'),
        ("PATCH", "/campaigns/spring", b'{"floor": 0.01, "floor": 0.02}'),
    ],
)
def test_a_key_that_comes_twice_is_refused(spring, method, path, body):
    answer = spring.ask(method, path, content=body, headers=JSON)
    assert answer.status_code == 422
    assert any(
        f"'{key}' 2 times" in answer.json()["detail"] for key in ("count", "success", "horizon", "floor")
    )


@pytest.mark.parametrize(
    "structure",
    [
        {"samples": "FILE"},
        {"samples": {"path": "FILE"}},
        {"samples": {"draws": "FILE", "weights": [1, 1]}},
        {"mixture": [[0.5, {"samples": "FILE"}], [0.5, {"free": True}]]},
        {"samples": ["FILE"]},
    ],
)
def test_nothing_in_a_body_opens_a_file(spring, tmp_path, structure):
    secret = tmp_path / "secret.csv"
    secret.write_text("password,hunter2\n")
    stated = json.loads(json.dumps(structure).replace("FILE", str(secret)))
    answer = spring.ask(
        "PUT", "/campaigns/thief", {"problem": {"rewards": [1, 2], "horizon": 9, "structure": stated}}
    )
    assert answer.status_code == 422
    assert "cannot name a file" in answer.json()["detail"]
    assert "hunter2" not in answer.text


def test_a_client_that_has_draws_sends_them(spring):
    draws = [[0.2, 0.1], [0.3, 0.2], [0.5, 0.1], [0.4, 0.3]]
    for name, stated in (("draws", draws), ("weighted", {"draws": draws, "weights": [1, 2, 1, 1]})):
        problem = {"rewards": [0.8, 1.0], "horizon": 50, "structure": {"samples": stated}}
        spring.begin(name, problem=problem)
        assert spring.decide(name)[0]["arm"] in (1, 2)


def test_a_campaign_of_any_name_can_be_reached(tmp_path):
    """The name is one part of the address, with everything in it quoted; older stores have any names."""
    names = ["a/b", "/", "a//b", "a%2Fb", "20 % off", "ü/…", "x/decisions", "..", "a?b#c"]
    for k in range(len(names)):
        Campaign.open(tmp_path / "shop.db", f"{k}", Problem.from_dict(SHOP["problem"]), policy="greedy")
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.db")) as connection, connection:
        for k, name in enumerate(names):
            connection.execute("UPDATE elsv_campaign SET name = ? WHERE name = ?", (name, f"{k}"))
    with shop(tmp_path / "shop.db") as opened:
        for name in names:
            address = f"/campaigns/{quote(name, safe='').replace('.', '%2E')}"
            assert opened.post(f"{address}/decisions", {}).status_code == 200
            assert opened.get(address).json()["name"] == name
            assert opened.get(f"{address}/explain").json()["step"] == 2
            assert opened.ask("PATCH", address, {"paused": True}).status_code == 200


def test_a_key_answers_for_one_request_alone(spring):
    """The same request again gets the first answer; another one under its key is told what differs."""
    spring.begin("keys")
    key = {"Idempotency-Key": "visit-1"}
    first, again = (
        spring.post("/campaigns/keys/decisions", {"customer": "c-1"}, headers=key).json()["decisions"][0]
        for _ in range(2)
    )
    assert (again["id"], again["repeated"]) == (first["id"], True)
    for body, word in (({"customer": "c-2"}, "customer"), ({"count": 2}, "1 customers, got 2")):
        refused = spring.post("/campaigns/keys/decisions", body, headers=key)
        assert refused.status_code == 422, body
        assert word in refused.json()["detail"], refused.text
    assert spring.get("/campaigns/keys").json()["decided"] == 1
