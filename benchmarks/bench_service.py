"""The service under load from a second process on loopback: 8 connections, every write on disk.

Each load runs twice: with commits that requests share, and in the plain form with one commit for each. The
time of one synchronised write stands beside it, since every answer waits for one.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bench_campaign import _long_log, _one_write
from benchmarks.shared import row

CONNECTIONS = 8
WARM, SECONDS = 1.0, 4.0
CAMPAIGNS, CUSTOMERS = 40, 300  # one campaign after the other: what elsv computes grows with its customers
ARMS = {"rewards": [0.7, 0.85, 1.0], "order": "decreasing", "horizon": 1000}
LEAST = {"thompson": 1500, "elsv": 1500, "plan": 400}
START = (
    "import sys; from elsv.service.run import serve; from elsv.service.settings import ServiceSettings; "
    "serve(ServiceSettings(db=sys.argv[1], port=0, rate=0, together=sys.argv[2] == 'together'))"
)


@dataclass
class Served:
    """A server of our own."""

    port: int
    process: subprocess.Popen[str]
    ready: float  # seconds until it said so

    def cpu(self) -> float:
        """Return the seconds that it has computed."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return what one request is answered."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        found = json.loads(answer.read())
        assert answer.status < 300, found
        return found


def run() -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        rows = [row("write of 8 KB on this disk", 1e3 * _one_write(place), "ms")]
        for form in ("together", "plain"):
            with server(place / f"{form}.db", form) as served:
                for policy, least in LEAST.items():
                    rows += _decisions(served, policy, form, least)
                rows += _rewards(served, form)
        with server(place / "together.db", "together") as served:
            rows.append(row("ready, kernels warm", served.ready, "s", "≤ 5"))
        rows += _long_log_served(place)
    return rows


@contextlib.contextmanager
def server(db: Path, form: str) -> Iterator[Served]:
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", START, str(db), form], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            found = re.search(r":(\d+) \(ready", line)
            if found:
                break
        else:
            raise RuntimeError("".join(lines))
        yield Served(int(found[1]), process, time.perf_counter() - began)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _begin(served: Served, policy: str, campaigns: int = CAMPAIGNS) -> list[str]:
    """Begin campaigns in which 30 outcomes are known; return their names."""
    names = [f"{policy}-{k}" for k in range(campaigns)]
    for name in names:
        begun = {"problem": ARMS, "policy": policy, "window": "7 days", "seed": 1}
        served.ask("PUT", f"/campaigns/{name}", begun)
        made = served.ask("POST", f"/campaigns/{name}/decisions", {"count": 30})["decisions"]
        outcomes = [{"decision": one["id"], "success": k % 3 == 0} for k, one in enumerate(made)]
        served.ask("POST", "/rewards", {"rewards": outcomes})
    return names


def _decisions(served: Served, policy: str, form: str, least: int) -> list[dict]:
    names = _begin(served, policy)
    requests = (
        _request(f"/campaigns/{name}/decisions", {"customer": f"c-{k}"})
        for name in names
        for k in range(CUSTOMERS)
    )
    return _told(f"decide, {policy}, {form}", form, least, *_load(served, requests))


def _rewards(served: Served, form: str) -> list[dict]:
    (name,) = _begin(served, "greedy", 1)
    ids: list[str] = []
    for _ in range(20 if form == "together" else 8):
        made = served.ask("POST", f"/campaigns/{name}/decisions", {"count": 1000})
        ids += [one["id"] for one in made["decisions"]]
    requests = (_request(f"/decisions/{one}/reward", {"success": k % 3 == 0}) for k, one in enumerate(ids))
    return _told(f"reward, {form}", form, 1500, *_load(served, requests))


def _told(what: str, form: str, least: int, times: list[float], seconds: float, cpu: float) -> list[dict]:
    times.sort()
    aimed = form == "together"
    return [
        row(what, len(times) / seconds, "requests/s", f"≥ {least:,}" if aimed else None),
        row(f"{what}: p50", 1e3 * times[len(times) // 2], "ms"),
        row(f"{what}: p99", 1e3 * times[int(0.99 * len(times))], "ms", "≤ 15" if aimed else None),
        row(f"{what}: CPU of the server", 1e6 * cpu / len(times), "µs/request"),
    ]


def _request(path: str, body: dict) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n" % len(content) + content


def _load(served: Served, requests: Iterator[bytes]) -> tuple[list[float], float, float]:
    """Keep 8 connections busy; return the latencies, the seconds measured and the server's CPU in them."""
    ready = selectors.DefaultSelector()
    for _ in range(CONNECTIONS):
        connection = socket.create_connection(("127.0.0.1", served.port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ready.register(connection, selectors.EVENT_READ, [0.0, b""])
        connection.sendall(next(requests))
    start = time.perf_counter()
    begun, cpu, times, waiting = start, served.cpu(), [], CONNECTIONS
    while waiting:
        for key, _ in ready.select(30):
            key.data[1] += key.fileobj.recv(65536)
            if not _is_whole(key.data[1]):
                continue
            now, key.data[1] = time.perf_counter(), b""
            if key.data[0] >= begun:
                times.append(now - key.data[0])
            if begun == start and now - start > WARM:
                begun, cpu, times = now, served.cpu(), []
            request = None if now - start > WARM + SECONDS else next(requests, None)
            if request is None:
                waiting -= 1
                ready.unregister(key.fileobj)
                key.fileobj.close()
                continue
            key.data[0] = now
            key.fileobj.sendall(request)
    return times, time.perf_counter() - begun, served.cpu() - cpu


def _is_whole(answer: bytes) -> bool:
    """Return whether an answer has come to its end; one that is an error is raised."""
    head, end, body = answer.partition(b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200"), answer
    length = re.search(rb"content-length: (\d+)", head)
    return bool(end) and length is not None and len(body) >= int(length[1])


def _long_log_served(place: Path) -> list[dict]:
    _long_log(place, 1_000_000, 0)
    rows = []
    with server(place / "1000000.db", "together") as served:
        for name, path in (
            ("page of 1,000,000 decisions, first of all", "/ui/campaigns/long"),
            ("page of 1,000,000 decisions", "/ui/campaigns/long"),
            ("status of 1,000,000 decisions", "/campaigns/long"),
        ):
            began = time.perf_counter()
            with urllib.request.urlopen(f"http://127.0.0.1:{served.port}{path}", timeout=60) as answer:
                assert answer.read()
            rows.append(row(name, time.perf_counter() - began, "s", "≤ 1"))
    return rows
