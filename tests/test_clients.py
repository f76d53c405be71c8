"""The clients that a page trusts, in every language: a fallback, an outbox, a rest for a dead service."""

import contextlib
import http.server
import json
import os
import shutil
import signal
import ssl
import subprocess
import threading
from pathlib import Path

import pytest
from benchmarks.bench_clients import BAD, CLIENTS, taken

from elsv_client import Client, InvalidInputError, UnavailableError
from services import serving

ARMS = {"30 % off", "15 % off", "full price"}
PROBLEM = {"rewards": [1.0, 2.0, 3.0], "horizon": 300, "names": sorted(ARMS)}
VISIT = ["decide", "spring", "c-17", "own"]


@pytest.fixture(params=CLIENTS)
def kind(request):
    program = CLIENTS[request.param][0][0]
    if shutil.which(program) is None:
        assert not os.environ.get("CI"), f"{program} is not installed"
        pytest.skip(f"{program} is not installed")
    return request.param


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = tmp_path_factory.mktemp("service")
    with serving(directory / "shop.db", directory) as running:
        running.begin("spring", problem=PROBLEM)
        yield running


def found(told):
    return [one["found"] for one in told]


def entries(folder):
    return [json.loads(path.read_text()) for path in sorted(Path(folder).glob("*.json"))]


@pytest.mark.parametrize("how", BAD)
def test_a_page_shows_the_fallback_while_the_service_is_away(kind, how, tmp_path):
    """The bad servers never come to an end by themselves: whoever waits for them would be stopped."""
    budget = 5.0 if how == "stopped" else 0.1  # it refuses at once, or a little later
    with BAD[how]() as url:
        told, log = taken(kind, url, tmp_path, [VISIT] * 5, budget=budget)
    shown = found(told)
    assert [one["name"] for one in shown] == ["own"] * 5
    assert all(one["id"] is None for one in shown)
    assert all(one["why"] for one in shown)
    assert all("left alone" in one["why"] for one in shown[3:])
    assert log.count("decide: ") == 3  # three times in a row; then the service is left alone, silently
    voids = entries(tmp_path)
    if how in ("never answers", "byte by byte"):
        assert len({one["void"] for one in voids}) == 3  # the service may have decided
        assert {one["campaign"] for one in voids} == {"spring"}
    elif how == "stopped":
        assert voids == []  # nothing was sent


def test_a_visit_from_the_decision_to_the_outcome(kind, server, tmp_path):
    visit = ["decide", "spring", f"c-{kind}", "own"]
    ((first,), _) = taken(kind, server.url, tmp_path, [visit], server.tokens["write"], budget=20)
    mine = first["found"]
    assert mine["name"] in ARMS
    assert mine["why"] is None
    steps = [
        visit, ["reward", mine["id"], True], ["reward", mine["id"], True], ["reward", mine["id"], False],
        ["reward", None, True], ["void", None], ["flush"],
    ]  # fmt: skip
    told, log = taken(kind, server.url, tmp_path, steps, server.tokens["write"], budget=20)
    assert found(told)[0] == mine
    assert found(told)[1:6] == ["recorded", "duplicate", "conflict", "nothing", "nothing"]
    assert found(told)[6] == {"sent": 0, "left": 0, "refused": 0}
    assert log == ""
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_a_service_that_rests_is_asked_again(kind, server, tmp_path):
    """One page tries after the rest; when it succeeds, the service is asked as before."""
    for path in (tmp_path / "a", tmp_path / "b"):
        path.mkdir()
    steps = [VISIT] * 3 + [["sleep", 1.2], VISIT]
    with BAD["stopped"]() as url:
        told, _ = taken(kind, url, tmp_path / "a", [*steps, VISIT], budget=0.2, rest=0.1)
    assert "left alone" not in found(told)[4]["why"]
    if kind == "php":  # every page is a process of its own: the folder tells them
        (tmp_path / "b" / ".failures").write_text("...")
        os.utime(tmp_path / "b" / ".failures", (1, 1))
        told, _ = taken(kind, server.url, tmp_path / "b", [VISIT] * 2, server.tokens["write"], budget=20)
        assert all(one["why"] is None for one in found(told))
        assert not (tmp_path / "b" / ".failures").exists()


def standing(server, campaign):
    """The status of a campaign, whose log must be exact."""
    with server.http() as http:
        assert http.get(f"/campaigns/{campaign}/audit").json()["exact"]
        return http.get(f"/campaigns/{campaign}").json()


def test_outcomes_wait_for_a_service_that_was_killed(kind, server, tmp_path):
    mine, write = f"killed {kind}", server.tokens["write"]
    server.begin(mine, problem=PROBLEM)
    steps = [["decide", mine, f"c-{k}", "own"] for k in range(6)]
    made, _ = taken(kind, server.url, tmp_path, steps, write, budget=20)
    server.kill()
    try:
        steps = [["reward", one["id"], k % 2 == 0] for k, one in enumerate(found(made))]
        told, _ = taken(kind, server.url, tmp_path, [*steps, ["flush"]], write, budget=0.2)
    finally:
        server.start().wait()
    assert found(told) == ["later"] * 6 + [{"sent": 0, "left": 6, "refused": 0}]
    other = {"php": "python", "js": "php", "python": "js", "python async": "python async"}[kind]
    if shutil.which(CLIENTS[other][0][0]) is None:
        other = kind
    told, _ = taken(other, server.url, tmp_path, [["flush"], ["flush"]], write)
    assert found(told) == [{"sent": 6, "left": 0, "refused": 0}, {"sent": 0, "left": 0, "refused": 0}]
    status = standing(server, mine)
    assert sum(arm["successes"] for arm in status["arms"]) == 3
    assert sum(arm["failures"] for arm in status["arms"]) == 3
    assert status["under_way"] == 0


def test_what_came_too_late_is_void(kind, server, tmp_path):
    """The service decides after the page has given up: the customer saw the fallback, and counts not."""
    mine, write = f"late {kind}", server.tokens["write"]
    server.begin(mine, problem=PROBLEM)
    visit = ["decide", mine, "c-17", "own"]
    os.kill(server.process.pid, signal.SIGSTOP)
    try:
        told, _ = taken(kind, server.url, tmp_path, [visit, visit], write, budget=0.5)
    finally:
        os.kill(server.process.pid, signal.SIGCONT)
    assert [one["name"] for one in found(told)] == ["own", "own"]
    assert len(entries(tmp_path)) == 2
    told, _ = taken(kind, server.url, tmp_path, [["sleep", 2], ["flush"]], write)
    assert found(told)[1] == {"sent": 2, "left": 0, "refused": 0}
    status = standing(server, mine)
    assert (status["decided"], status["voided"], status["under_way"]) == (0, 1, 0)
    steps = [visit, ["decide", mine, "c-18", "own"]]
    ids = [one["id"] for one in found(taken(kind, server.url, tmp_path, steps, write, budget=20)[0])]
    steps = [["void", ids[0]], ["reward", ids[1], True]]
    assert found(taken(kind, server.url, tmp_path, steps, write, budget=20)[0]) == ["voided", "recorded"]
    status = standing(server, mine)
    assert (status["decided"], status["voided"], status["under_way"]) == (1, 2, 0)


def test_what_is_refused_is_put_aside_and_the_rest_is_sent(kind, server, tmp_path):
    steps = [["decide", "spring", f"c-{kind}-{k}", "own"] for k in range(3)]
    made, _ = taken(kind, server.url, tmp_path, steps, server.tokens["write"], budget=20)
    ids = [one["id"] for one in found(made)]
    for number, mine in enumerate([ids[0], "nobody knows it", ids[1]]):
        (tmp_path / f"{number}.json").write_text(json.dumps({"reward": mine, "success": True}))
    (tmp_path / "3.json").write_text("{half of it")
    steps = [["reward", ids[2], True], ["flush"]]
    told, log = taken(kind, server.url, tmp_path, steps, server.tokens["read"], budget=20)
    assert found(told) == ["later", {"sent": 0, "left": 4, "refused": 1}]  # another token may do it
    told, log = taken(kind, server.url, tmp_path, [["flush"]], server.tokens["write"])
    assert found(told) == [{"sent": 3, "left": 0, "refused": 1}]
    assert "no decision" in log
    assert {path.name for path in (tmp_path / "refused").iterdir()} == {"1.json", "3.json"}


def test_what_can_never_be_decided_shows_the_fallback(kind, server, tmp_path):
    steps = [["decide", "no such campaign", "c-1", "own"], ["decide", "spring", " ", "own"]]
    told, log = taken(kind, server.url, tmp_path, steps * 3, server.tokens["write"], budget=20)
    assert [one["name"] for one in found(told)] == ["own"] * 6
    assert "left alone" not in log  # the service is there
    assert entries(tmp_path) == []
    told, _ = taken(kind, "nowhere", tmp_path, [VISIT], budget=0.2) if kind in ("php", "js") else ([], "")
    assert all(one["name"] == "own" for one in found(told))
    told, _ = taken(kind, server.url, "/proc/no/outbox", [VISIT], "elsv_wrong", budget=20)
    assert found(told)[0]["name"] == "own"


@contextlib.contextmanager
def secure(folder):
    """Yield a service behind TLS with a certificate of its own, and the certificate's file."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            made = {"id": "d1", "number": 1, "arm": 2, "name": "full price", "propensity": 1.0,
                    "reason": "policy", "at": "2026-01-02T03:04:05+00:00", "expires": None}  # fmt: skip
            content = json.dumps({"decisions": [made]}).encode()
            self.send_response(200)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for part in (content[:7], content[7:], b""):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))

        def log_message(self, *_):
            pass

    key, certificate = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # clients that do not trust it hang up
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"https://localhost:{server.server_port}", certificate
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_certificate_of_ones_own(kind, tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    with secure(tmp_path) as (url, certificate):
        told, _ = taken(kind, url, tmp_path / "a", [VISIT], budget=20)
        assert found(told)[0]["name"] == "own"
        assert entries(tmp_path / "a") == []
        trusted = (
            {"environment": {"NODE_EXTRA_CA_CERTS": str(certificate)}}
            if kind == "js"
            else {"ca": str(certificate)}
        )
        told, log = taken(kind, url, tmp_path / "b", [VISIT], budget=20, **trusted)
        assert found(told) == [{"name": "full price", "id": "d1", "why": None}]
        assert log == ""


def test_what_cannot_be_mended_is_tried_once(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    again = pytest.raises(UnavailableError, match=r"in 1 try: .*certificate")
    with secure(tmp_path) as (url, _), Client(url) as client, again:
        client.decide("spring")
    with pytest.raises(InvalidInputError, match="ca must be a file of certificates"):
        Client("https://localhost", ca=tmp_path / "nothing.pem")
    with pytest.raises(InvalidInputError, match="rest must be seconds"):
        Client("https://localhost", rest=-1)
