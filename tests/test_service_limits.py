"""Limits where bytes arrive: sent by raw sockets, since no client would send such requests."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from services import PATIENCE

SECONDS = 1.0  # in which a request must come whole, here
LIMIT = 100_000  # bytes of a body, here
START = (
    "import sys; from elsv.service.run import serve; from elsv.service.settings import ServiceSettings; "
    f"serve(ServiceSettings(db=sys.argv[1], port=0, body_limit={LIMIT}, request_seconds={SECONDS}))"
)


class Served:
    """A server of our own, with limits that a test can reach."""

    def __init__(self, db):
        self.log = db.with_suffix(".log")
        with self.log.open("w") as log:
            self.process = subprocess.Popen([sys.executable, "-c", START, str(db)], stderr=log)
        until = time.monotonic() + PATIENCE
        while not (found := re.search(r":(\d+) \(ready", self.log.read_text())):
            assert time.monotonic() < until, self.log.read_text()
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        self.port = int(found[1])

    def connect(self):
        return contextlib.closing(socket.create_connection(("127.0.0.1", self.port), timeout=30))

    def cpu(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def stop(self):
        """Ask it to end; return the seconds that it took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        finally:
            self.process.kill()
        return time.monotonic() - began


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    found = Served(tmp_path_factory.mktemp("limits") / "shop.db")
    try:
        yield found
    finally:
        found.process.kill()
        found.process.wait()


@pytest.fixture(autouse=True)
def goes_on(server):
    """Whatever a test does, the server answers after it."""
    yield
    assert answer(server, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")[0] == 200


def rest(connection):
    """Return what the server sends until it closes."""
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def whole(connection):
    """Return one answer of a connection that stays."""
    found = b""
    while not found.endswith(b"}"):
        found += connection.recv(65536)
    return found


def answer(server, request, parts=()):
    """Send a request, then its parts for as long as they are taken; return status and body."""
    with server.connect() as connection:
        sent = 0
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            connection.sendall(request)
            for part in parts:
                connection.sendall(part)
                sent += len(part)
        found = whole(connection) if b"healthz" in request else rest(connection)
        status = int(found.split(b" ")[1]) if found else None
        return status, found.partition(b"\r\n\r\n")[2], sent


def head(*lines, path="/rewards"):
    lines = (f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *lines)
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


@pytest.mark.parametrize(
    "length", ["300000000", "0" * 20 + "300000000", "0" * 5000 + "300000000", str(LIMIT + 1)]
)
def test_a_body_that_says_it_is_too_large(server, length):
    status, body, sent = answer(server, head(f"Content-Length: {length}"), [b" " * 65536] * 200)
    assert status == 413
    assert json.loads(body)["rule"] == "a body must have at most 100,000 bytes"
    assert sent < 200 * 65536  # it is not read to its end


def test_a_body_that_does_not_say_how_large_it_is(server):
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    status, _, sent = answer(server, head("Transfer-Encoding: chunked"), [chunk] * 200)
    assert status == 413
    assert sent < 200 * len(chunk)


def test_a_body_of_the_largest_size_is_taken_whole_or_in_small_pieces(server):
    body = b'{"rewards": []}'.ljust(LIMIT)
    assert answer(server, head(f"Content-Length: {LIMIT}", "Connection: close"), [body])[0] == 422
    pieces = b"".join(b"1\r\n%c\r\n" % byte for byte in body[:20_000]) + b"0\r\n\r\n"
    assert answer(server, head("Transfer-Encoding: chunked", "Connection: close"), [pieces])[0] == 422


@pytest.mark.parametrize(
    "start",
    [
        b"GET /healthy HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"GET /",
        b"GET /healthy HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 1000,
        head("Transfer-Encoding: chunked") + b"0\r\nX: ",
        head("Transfer-Encoding: chunked") + b"1;x=",
    ],
)
def test_headers_without_end(server, start):
    """In the head, in the address, one by one, behind the body and between its pieces."""
    before, part = server.cpu(), b"x" * 65536
    if start.endswith(b"X: y\r\n"):
        part = b"X: y\r\n" * 10_000
    status, _, sent = answer(server, start, [part] * 400)
    assert status in (431, 413, 400, None)
    assert sent < 400 * len(part) / 4
    assert server.cpu() - before < 2


def test_headers_that_come_whole_and_are_too_large(server):
    status, body, _ = answer(
        server, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40_000 + b"\r\n\r\n"
    )
    assert status == 431
    assert "32,768" in json.loads(body)["rule"]


HALVES = {
    "nothing": b"",
    "half a line": b"GET /hea",
    "half the headers": b"GET /healthy HTTP/1.1\r\nHost: localhost\r\n",
    "half a body": head("Content-Length: 20") + b'{"rewards"',
    "half a piece": head("Transfer-Encoding: chunked") + b"5\r\nab",
}


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
def test_half_a_request_ends_in_time(server, half):
    with server.connect() as connection:
        connection.sendall(half)
        found = rest(connection)
        assert found.startswith(b"HTTP/1.1 408") == bool(half)


def test_a_request_that_drips_ends_in_time(server):
    with server.connect() as connection:
        began = time.monotonic()
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            while time.monotonic() - began < 20 * SECONDS:
                connection.sendall(b"X: y\r\n")
                time.sleep(0.05)
        assert time.monotonic() - began < 15 * SECONDS


def test_many_half_requests_end_in_time(server):
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(server.connect()) for _ in range(300)]
        for connection in connections:
            connection.sendall(HALVES["half the headers"])
        assert all(rest(connection).startswith(b"HTTP/1.1 408") for connection in connections)


def test_half_a_second_request_ends_too(server):
    """The deadline holds for every request of a connection, and not for the time between two."""
    with server.connect() as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert whole(connection).startswith(b"HTTP/1.1 200")
        time.sleep(1.5 * SECONDS)
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert whole(connection).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert rest(connection).startswith(b"HTTP/1.1 408")


def test_pipelined_requests_are_answered_in_their_order(server):
    one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with server.connect() as connection:
        connection.sendall(
            one * 20 + b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        found = rest(connection)
    assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"200"] * 20 + [b"404"]


def test_half_a_request_does_not_hold_up_the_end(tmp_path):
    served = Served(tmp_path / "shop.db")
    with contextlib.ExitStack() as stack:
        for half in HALVES.values():
            stack.enter_context(served.connect()).sendall(half)
        time.sleep(0.2)
        assert served.stop() < 10
    assert served.process.returncode in (0, -signal.SIGTERM)
