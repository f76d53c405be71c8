"""What a client may send and must not: always refused with a 4xx that says why, and the server goes on."""

import json
import socket

import pytest

from services import PROBLEM, serving

NAN, HUGE, HALF = float("nan"), 1e308, "half \ud800"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = tmp_path_factory.mktemp("service")
    with serving(directory / "shop.db", directory) as running:
        running.begin("spring")
        with running.http() as http:
            http.post("/campaigns/spring/decisions", json={"count": 5})
        yield running


@pytest.fixture
def http(server):
    with server.http() as client:
        yield client
        decided = client.post("/campaigns/spring/decisions", json={})
        assert decided.status_code == 200, decided.text  # it goes on
        assert client.get("/campaigns/spring/audit").json()["exact"]


def refused(answer, *statuses):
    assert 400 <= answer.status_code < 500, f"{answer.status_code}: {answer.text[:500]}"
    if statuses:
        assert answer.status_code in statuses, answer.text[:500]
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["status"] == answer.status_code
    assert told["detail"]
    assert len(answer.content) < 5000  # what was sent is not sent back
    assert "Traceback" not in answer.text


def sent(http, method, path, value, **headers):
    """Send JSON that Python's client would refuse to make."""
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    return http.request(
        method, path, content=content, headers={"content-type": "application/json", **headers}
    )


PROBLEMS = [
    {**PROBLEM, "rewards": [NAN, 1.0, 1.0, 1.0]},
    {**PROBLEM, "rewards": [float("inf"), 1.0, 1.0, 1.0]},
    {**PROBLEM, "rewards": [-1.0, 1.0, 1.0, 1.0]},
    {**PROBLEM, "rewards": [0, 0, 0, 0]},
    {**PROBLEM, "rewards": []},
    {**PROBLEM, "rewards": "many"},
    {**PROBLEM, "rewards": [[1.0]]},
    {**PROBLEM, "rewards": [1.0] * 100_000, "names": None},
    {**PROBLEM, "rewards": [HUGE] * 4, "prior": [[HUGE, HUGE]] * 4},
    {**PROBLEM, "prior": [[0, 0]] * 4},
    {**PROBLEM, "prior": [[NAN, 1]] * 4},
    {**PROBLEM, "horizon": 10**400},
    {**PROBLEM, "horizon": -1},
    {**PROBLEM, "horizon": 1.5},
    {**PROBLEM, "horizon": True},
    {**PROBLEM, "names": ["a", "a", "b", "c"]},
    {**PROBLEM, "names": [HALF, "b", "c", "d"]},
    {**PROBLEM, "names": ["nul \0", "b", "c", "d"]},
    {**PROBLEM, "names": ["x" * 100_000, "b", "c", "d"]},
    {**PROBLEM, "order": "sideways"},
    {**PROBLEM, "structure": {"kind": "samples", "file": "/etc/passwd"}},
    {**PROBLEM, "order": None, "structure": {"kind": "where", "condition": "__import__('os')"}},
    {**PROBLEM, "structure": {"kind": "../../etc/passwd"}},
    {**PROBLEM, "__class__": "x"},
    {},
    None,
    [],
    "problem",
]
SETTINGS = [
    *({"policy": given} for given in ("no such policy", "plan:file=/etc/passwd", "optimal:file=/etc/passwd")),
    *({"policy": given} for given in ("fixed:arm=99", "\0", "x" * 10_000, 5)),
    *({"floor": given} for given in (NAN, HUGE, -0.1, 0.25, "0.1", True)),
    *({"holdout": given} for given in (0.5, 2)),
    *({"control": given} for given in (99, 0, -1, "nobody", HALF)),
    *({"window": given} for given in (-5, NAN, HUGE, "soon", "9" * 400 + " days", [])),
    *({"unit": given} for given in ("x" * 10_000, HALF, "nul \0", 5)),
    *({"horizon": given} for given in (0, 10**30, 2)),
    *({"paused": "yes"}, {"sticky": 1}, {"unknown": 1}),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: json.dumps(p)[:60])
def test_problems(http, problem):
    refused(sent(http, "PUT", "/campaigns/hostile", {"problem": problem, "policy": "greedy"}), 400, 422)
    assert "hostile" not in http.get("/campaigns").text


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: json.dumps(s)[:60])
def test_settings(http, settings):
    before = http.get("/campaigns/spring").json()["settings"]
    refused(sent(http, "PATCH", "/campaigns/spring", settings), 400, 422)
    assert http.get("/campaigns/spring").json()["settings"] == before
    if "horizon" not in settings:
        refused(
            sent(http, "PUT", "/campaigns/hostile", {"problem": PROBLEM, "policy": "greedy", **settings}),
            400,
            422,
        )
        assert "hostile" not in http.get("/campaigns").text


BODIES = [
    *({"customer": given} for given in ("", " ", "nul \0", HALF, "x" * 501, 5, ["a"], {"a": 1})),
    *({"count": given} for given in (0, -1, 1001, 10**30, 1.0, "5", True, NAN)),
    *({"customer": "a", "count": 2}, {"segment": "nobody"}, {"segment": 7}, {"arm": 1}),
    *([], [{}], None, "x", 5, NAN),
]


@pytest.mark.parametrize("body", BODIES, ids=lambda b: json.dumps(b)[:60])
def test_decisions(http, body):
    decided = http.get("/campaigns/spring").json()["decided"]
    refused(sent(http, "POST", "/campaigns/spring/decisions", body), 400, 422)
    assert http.get("/campaigns/spring").json()["decided"] == decided


@pytest.mark.parametrize("key", [b"", b"x" * 501])
def test_keys(http, key):
    refused(sent(http, "POST", "/campaigns/spring/decisions", {}, **{"idempotency-key": key}), 422)


WRONG = [*({"success": given} for given in (None, 1, "true", NAN, [True])), {"success": True, "at": 0}]


@pytest.mark.parametrize("body", [{}, *WRONG, [True], True], ids=lambda b: json.dumps(b)[:60])
def test_outcomes(http, body):
    made = http.post("/campaigns/spring/decisions", json={}).json()["decisions"][0]["id"]
    refused(sent(http, "POST", f"/decisions/{made}/reward", body), 400, 422)
    refused(sent(http, "POST", "/rewards", {"rewards": body}), 400, 422)
    refused(
        sent(http, "POST", "/rewards", {"rewards": [{"decision": made, "success": True}, body]}), 400, 422
    )
    unknown = [{"decision": made, "success": True}, {"decision": "nobody", "success": True}]
    refused(sent(http, "POST", "/rewards", {"rewards": unknown}), 404)
    assert http.post(f"/decisions/{made}/reward", json={"success": True}).json()["status"] == "recorded"


@pytest.mark.parametrize(
    "ident",
    [
        "nobody", "%00", "%ff", "%2e%2e", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "x" * 5000,
        "'%20OR%201=1--", "%F0%9F%92%A9", "a%0d%0aSet-Cookie:%20x=1", "{id}", "%25s", "$(id)",
    ],
)  # fmt: skip
def test_ids_and_names(http, ident):
    for method, path, body in (
        ("POST", f"/decisions/{ident}/reward", {"success": True}),
        ("POST", f"/campaigns/{ident}/decisions", {}),
        ("PATCH", f"/campaigns/{ident}", {"paused": True}),
        ("GET", f"/campaigns/{ident}", None),
        ("GET", f"/campaigns/{ident}/audit", None),
        ("GET", f"/campaigns/{ident}/explain", None),
        ("GET", f"/campaigns/{ident}/export.parquet", None),
        ("GET", f"/campaigns/{ident}/report.html", None),
    ):
        answer = http.request(method, path) if body is None else sent(http, method, path, body)
        assert 400 <= answer.status_code < 500, (method, path, answer.status_code, answer.text[:300])
        assert "set-cookie" not in answer.headers
        assert "root:" not in answer.text


@pytest.mark.parametrize("name", ["%00", "x" * 501, "%20", "%ED%A0%80"])
def test_names_of_new_campaigns(http, name):
    answer = sent(http, "PUT", f"/campaigns/{name}", {"problem": PROBLEM, "policy": "greedy"})
    if name != "%ED%A0%80":  # no UTF-8: a name with replacement characters, or refused
        refused(answer, 400, 404, 422)
    assert answer.status_code < 500


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"\xff\xfe{}", b"\0", b'{"customer": "a"', b'{"customer": "\xed\xa0\x80"}'),
        *(b'{"customer": NaN}', b'{"customer": 1e400}', b'{"customer": -Infinity}'),
        *(b"[" * 100_000, b'{"a":' * 100_000, b'{"customer":' + b"[" * 900 + b"]" * 900 + b"}"),
        *(b"9" * 10_000, b'{"count": ' + b"9" * 10_000 + b"}"),
        *('{"customer": "a"}'.encode("utf-16"), b'\xef\xbb\xbf{"customer": "a"}'),
    ],
    ids=lambda c: repr(c[:30]),
)
def test_bodies_that_are_no_json(http, content):
    for method, path in (
        ("POST", "/campaigns/spring/decisions"),
        ("POST", "/rewards"),
        ("PUT", "/campaigns/hostile"),
        ("PATCH", "/campaigns/spring"),
    ):
        refused(sent(http, method, path, content), 400, 422)


def test_a_problem_that_is_very_deep(http):
    deep = '{"problem": {"rewards": [1.0], "structure": ' + '{"a":' * 800 + "1" + "}" * 800 + "}}"
    refused(sent(http, "PUT", "/campaigns/hostile", deep.encode()), 400, 422)


@pytest.mark.parametrize("size", [2_000_000, 10_000_000])
def test_bodies_that_are_too_large(http, size):
    body = b'{"customer": "' + b"a" * size + b'"}'
    for method, path in (
        ("POST", "/campaigns/spring/decisions"),
        ("PUT", "/campaigns/hostile"),
        ("POST", "/rewards"),
    ):
        refused(sent(http, method, path, body), 413)

    def chunks():
        for _ in range(size // 50_000):
            yield b"a" * 50_000

    # Without a length that could be looked at first.
    answer = http.post(
        "/campaigns/spring/decisions", content=chunks(), headers={"content-type": "application/json"}
    )
    refused(answer, 413)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "x"]
)
def test_other_kinds_of_content(http, kind):
    refused(http.post("/campaigns/spring/decisions", content=b"{}", headers={"content-type": kind}), 415)


@pytest.mark.parametrize("method", ["DELETE", "TRACE", "OPTIONS", "CONNECT", "BREW", "HEAD"])
def test_other_methods(http, method):
    answer = http.request(method, "/campaigns/spring/decisions")
    assert 400 <= answer.status_code < 500


def raw(server, request):
    """Send bytes that no client would, and return the first line of the answer."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(request)
        connection.settimeout(20)
        try:
            return connection.recv(65536).split(b"\r\n")[0]
        except ConnectionResetError:
            return b""


@pytest.mark.parametrize(
    "request_",
    [
        b"GET /campaigns HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: -1\r\n\r\n",
        b"GET /campaigns HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        b"POST /rewards HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: 4\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /rewards HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        b"GET /campaigns HTTP/1.1\r\nHost: x\r\n%s\r\nX: a\0b\r\n\r\n",
        b"GET /campaigns\0 HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n",
        b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n",
        b"GET /campaigns HTTP/1.1\r\nHost: x\r\n%s\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
        b"GET /campaigns HTTP/9.9\r\nHost: x\r\n%s\r\n\r\n",
        b"GET /campaigns/../../../../etc/passwd HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n",
        b"GET //etc/passwd HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n",
        b"GET /static/..%%2f..%%2f..%%2fetc/passwd HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=lambda r: repr(r[:40]),
)
def test_raw_requests(server, http, request_):
    token = f"Authorization: Bearer {server.tokens['admin']}".encode()
    first = raw(server, request_.replace(b"%s", token).replace(b"%%", b"%"))
    status = first.split(b" ")[1] if first.startswith(b"HTTP/") else b"4"
    assert status.startswith(b"4"), first


def test_header_tricks(server, http):
    with server.http("read") as reader:
        for headers in (
            {"x-http-method-override": "PATCH"},
            {"x-forwarded-for": "127.0.0.1"},
            {"x-original-url": "/campaigns/spring"},
            {"authorization": f"Bearer {server.tokens['read']}, Bearer {server.tokens['admin']}"},
        ):
            answer = reader.patch("/campaigns/spring", json={"paused": True}, headers=headers)
            assert answer.status_code in (401, 403), answer.text
    for version in ('"99"', "x", '"-1"', "9" * 5000, '"1", "2"'):
        answer = http.patch("/campaigns/spring", json={"paused": True}, headers={"if-match": version})
        assert answer.status_code in (400, 412, 422, 431), answer.text
    assert http.get("/campaigns/spring").json()["settings"]["paused"] is False


@pytest.mark.parametrize("path", ["/campaigns/spring/decisions", "/rewards"])
def test_clients_that_go_away(server, http, path):
    """In the middle of a body, or before the answer; nobody is harmed, and the log stays readable."""
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.tokens['admin']}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}"
    for length, body in ((100, '{"customer"'), (2, "{}")):
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
                connection.sendall(head.format(length, body).encode())
    http.get("/campaigns")
    assert "Traceback" not in server.log()
