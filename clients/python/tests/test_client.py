"""The client against a server that answers as it is told: what is tried again, how answers are read."""

import asyncio
import json
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

import elsv_client
from elsv_client import (
    AsyncClient,
    Client,
    ConflictError,
    InvalidInputError,
    NotAllowedError,
    NotFoundError,
    RefusedError,
    Retries,
    ServiceError,
    UnavailableError,
)

QUICK = Retries(most=4, first=0.001, longest=0.002)
DECISION = {
    "id": "d1", "number": 1, "arm": 2, "name": "full price", "propensity": 0.5, "reason": "policy",
    "at": "2026-01-02T03:04:05+00:00", "expires": None, "customer": "c-17", "repeated": False,
    "of_tomorrow": [1],
}  # fmt: skip
PROBLEM = {"status": 422, "detail": "floor must be a share, got 7", "rule": "floor must be a share"}
DROP = object()  # the connection is closed without an answer


class Scripted:
    """A real HTTP server on loopback that gives the answers of a list, and keeps what it was asked."""

    def __init__(self, answers):
        self.answers, self.asked = list(answers), []
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def respond(self):
                size = int(self.headers.get("content-length") or 0)
                script.asked.append((self.command, self.path, dict(self.headers), self.rfile.read(size)))
                answer = script.answers.pop(0) if script.answers else (500, {}, b"the script is over")
                if answer is DROP:
                    self.close_connection = True
                    return
                status, headers, body = answer
                content = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                for key, value in {"content-length": str(len(content)), **headers}.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_POST = do_PATCH = respond  # noqa: N815

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def scripted(*answers):
    script = Scripted(answers)
    thread = threading.Thread(target=script.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield script
    finally:
        script.server.shutdown()
        thread.join()
        script.server.server_close()


class Waiting:
    """The async client, called as the other is; so that each test is of both."""

    def __init__(self, *arguments, **options):
        self.runner = asyncio.Runner()
        self.client = AsyncClient(*arguments, **options)

    def __getattr__(self, name):
        return lambda *a, **k: self.runner.run(getattr(self.client, name)(*a, **k))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.runner.run(self.client.close())
        self.runner.close()


@pytest.fixture(params=[Client, Waiting], ids=["sync", "async"])
def kind(request):
    return request.param


def ok(body, status=200):
    return status, {"content-type": "application/json"}, body


def test_a_retry_has_the_same_key_and_body(kind):
    busy = (503, {"retry-after": "0"}, b"")
    with scripted(DROP, busy, (502, {}, b"<html>"), ok({"decisions": [DECISION]})) as script:
        with kind(script.url, "elsv_x", retries=QUICK) as client:
            decision = client.decide("spring sale/1", "c-17")
        assert (decision.id, decision.arm, decision.name) == ("d1", 1, "full price")
        assert decision.at.year == 2026
        assert decision.expires is None
        assert len(script.asked) == 4
        assert len({body for *_, body in script.asked}) == 1
        assert len({headers["idempotency-key"] for _, _, headers, _ in script.asked}) == 1
        method, path, headers, body = script.asked[0]
        assert (method, path) == ("POST", "/campaigns/spring%20sale%2F1/decisions")
        assert headers["authorization"] == "Bearer elsv_x"
        assert json.loads(body) == {"customer": "c-17"}


def test_two_calls_have_two_keys_and_a_key_of_ones_own_is_kept(kind):
    with scripted(*[ok({"decisions": [DECISION, DECISION]})] * 3) as script:
        with kind(script.url, retries=QUICK) as client:
            client.decide("x")
            client.decide("x", key="order-5")
            assert len(client.decide("x", count=2)) == 2
        keys = [headers["idempotency-key"] for _, _, headers, _ in script.asked]
        assert len(set(keys)) == 3
        assert keys[1] == "order-5"
        assert "authorization" not in script.asked[0][2]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, NotAllowedError),
        (403, NotAllowedError),
        (404, NotFoundError),
        (409, ConflictError),
        (422, RefusedError),
        (500, ServiceError),
        (503, UnavailableError),
        (429, UnavailableError),
    ],
)
def test_errors_have_rule_value_and_remedy(kind, status, error):
    answer = (status, {}, {**PROBLEM, "status": status, "value": "7", "remedy": "give 0.01"})
    again = status in (503, 429)
    with scripted(*[answer] * 6) as script, kind(script.url, retries=QUICK) as client:
        with pytest.raises(error, match="floor must be a share, got 7") as caught:
            client.status("x")
        assert len(script.asked) == (1 + QUICK.most if again else 1)
    told = caught.value
    assert (told.status, told.rule, told.value, told.remedy) == (
        status, "floor must be a share", "7", "give 0.01"
    )  # fmt: skip
    assert isinstance(told, InvalidInputError) == (status == 422)


def test_answers_of_something_else(kind):
    with (
        scripted(
            (404, {}, b"<h1>nginx</h1>"), ok(b"<p>"), ok([]), ok({}), (301, {"location": "/elsewhere"}, b"")
        ) as script,
        kind(script.url, retries=QUICK) as client,
    ):
        with pytest.raises(NotFoundError, match="is there an elsv service"):
            client.audit("x")
        with pytest.raises(ServiceError, match="no JSON"):
            client.audit("x")
        with pytest.raises(ServiceError, match="is no Audit"):
            client.audit("x")
        with pytest.raises(ServiceError, match="has no campaigns"):
            client.campaigns()
        with pytest.raises(ServiceError, match="status 301"):
            client.campaigns()
        assert len(script.asked) == 5


def test_nobody_answers(kind):
    with scripted() as script:
        url = script.url
    with kind(url, retries=Retries(most=2, first=0.001)) as client:
        assert client.ready() is False
        with pytest.raises(
            UnavailableError, match=r"no answer from the service in 3 tries: .*repeat the call"
        ):
            client.decide("x")


def test_a_service_that_is_not_ready_is_not_waited_for(kind):
    answers = (503, {"retry-after": "60"}, b""), ok({"status": "ready"})
    with scripted(*answers) as script, kind(script.url) as client:
        assert client.ready() is False
        assert client.ready() is True


def test_waits_grow_and_heed_the_service():
    retries = Retries(most=9, first=0.1, longest=5.0, patience=60.0)
    waits = [retries.pause(tried, None, 1.0) for tried in range(1, 9)]
    assert waits == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0])
    assert retries.pause(1, None, 0.0) == pytest.approx(0.05)
    assert retries.pause(1, 7.0, 0.0) == 7.0
    assert retries.pause(8, 1.0, 0.0) == 2.5
    assert retries.pause(1, 1e9, 0.0) == 60.0
    for wrong in ({"most": -1}, {"first": -1.0}, {"longest": float("nan")}):
        with pytest.raises(InvalidInputError, match=next(iter(wrong))):
            Retries(**wrong)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda c: c.decide("x", "c", count=3), "either a customer or a count"),
        (lambda c: c.decide("x", key="ä"), "key must be printable ASCII"),
        (lambda c: c.decide("x", key="a\nb"), "key must be printable ASCII"),
        (lambda c: c.status(""), "names and ids must be text"),
        (lambda c: c.reward(5, success=True), "names and ids must be text"),
        (lambda c: c.change("x", floor=float("nan")), "what is sent must be numbers"),
        (lambda c: c.create("x", {"rewards": [object()]}), "what is sent must be numbers"),
    ],
)
def test_what_is_not_even_sent(kind, call, match):
    with scripted() as script, kind(script.url) as client:
        with pytest.raises(InvalidInputError, match=match):
            call(client)
        assert script.asked == []


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("localhost:8763",), "url must be the address of a service"),
        ((None,), "url must be"),
        (("http://",), "url must be"),
        (("http://localhost", "two\nlines"), "token must be the text"),
        (("http://localhost", ""), "token must be the text"),
    ],
)
def test_what_a_client_is_made_with(arguments, match):
    for made in (Client, AsyncClient):
        with pytest.raises(InvalidInputError, match=match):
            made(*arguments)
        with pytest.raises(InvalidInputError, match="timeout must be seconds"):
            made("http://localhost", timeout=0)
    assert "secret" not in repr(Client("http://localhost", "secret"))


def test_what_is_sent_for_settings(kind):
    plain = {"rewards": [0.8, 1.0], "horizon": 30}
    problem = SimpleNamespace(to_dict=lambda: plain)
    settings = {"policy": "plan", "horizon": 40, "paused": True, "control": 1}
    with scripted((201, {}, b"{}"), (200, {}, b"{}"), ok(settings)) as script:
        with kind(script.url) as client:
            assert client.create("x", problem, window=timedelta(hours=1), control=0, floor=0.01) is True
            assert client.create("x", plain, control="full price") is False
            found = client.change("x", paused=True, horizon=40, window=None)
        assert (found.horizon, found.paused, found.control) == (40, True, 0)
        sent = [json.loads(body) for *_, body in script.asked]
        assert sent[0]["problem"] == plain
        assert (sent[0]["window"], sent[0]["control"], sent[0]["floor"]) == (3600.0, 1, 0.01)
        assert sent[1] == {"problem": plain, "control": "full price"}
        assert sent[2] == {"paused": True, "horizon": 40, "window": None}  # None: for ever
        assert [method for method, *_ in script.asked] == ["PUT", "PUT", "PATCH"]


def test_files_are_written_whole(kind, tmp_path):
    answers = (200, {}, b"PAR1"), DROP, (200, {}, b"<html>")
    with scripted(*answers) as script, kind(script.url, retries=QUICK) as client:
        assert client.export("x", tmp_path / "x.parquet").read_bytes() == b"PAR1"
        assert client.report("x", tmp_path / "x.html").read_bytes() == b"<html>"


def test_both_clients_document_their_calls():
    asked = [name for name in dir(Client) if not name.startswith("_")]
    assert asked == [name for name in dir(AsyncClient) if not name.startswith("_")]
    assert all(getattr(made, name).__doc__ for made in (Client, AsyncClient) for name in asked)


def test_nothing_of_the_library_is_loaded():
    code = "import sys, elsv_client; print({'elsv', 'numba', 'numpy', 'scipy'} & sys.modules.keys())"
    places = {**os.environ, "PYTHONPATH": str(Path(elsv_client.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=places
    )
    assert done.stdout.strip() == "set()"
