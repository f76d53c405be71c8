"""What a page pays when the service is not there: the clients against servers that behave badly.

Each client runs as a program of its own and takes steps such as ``["decide", "spring", "c-17", "own"]``.
It prints what came back, and the seconds that each step took by its own clock.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.shared import row

ROOT = Path(__file__).parent.parent / "clients"
PHP = """<?php
require getenv('ELSV_CLIENT');
set_error_handler(function ($level, $what) { throw new ErrorException($what); });
[$url, $outbox, $options, $steps] = json_decode(stream_get_contents(STDIN), true);
$elsv = new Elsv($url, getenv('ELSV_TOKEN'), $outbox, ...$options);
$told = [];
foreach ($steps as $step) {
    $began = hrtime(true);
    if ($step[0] === 'sleep') { usleep((int) (1e6 * $step[1])); $found = null; }
    else { $found = $elsv->{$step[0]}(...array_slice($step, 1)); }
    $told[] = ['found' => $found, 'seconds' => (hrtime(true) - $began) / 1e9];
}
echo json_encode($told);
"""
JS = """
import { readFileSync } from "node:fs";
const { Elsv } = await import(process.env.ELSV_CLIENT);
const [url, outbox, options, steps] = JSON.parse(readFileSync(0, "utf8"));
const elsv = new Elsv(url, process.env.ELSV_TOKEN, outbox, options);
const told = [];
for (const [what, ...given] of steps) {
  const began = performance.now();
  const found = what === "sleep"
    ? await new Promise((done) => setTimeout(() => done(null), 1000 * given[0]))
    : await elsv[what](...given);
  told.push({ found, seconds: (performance.now() - began) / 1000 });
}
console.log(JSON.stringify(told));
process.exit(0);
"""
PYTHON = """
import asyncio, json, logging, os, sys, time
from dataclasses import asdict, is_dataclass
from elsv_client import AsyncClient, Client
url, outbox, options, steps = json.load(sys.stdin)
options["timeout"] = options.pop("budget", 2.0)
told = []
def taken(found, began):
    if is_dataclass(found):
        known = ("name", "id", "why", "status", "sent", "left", "refused")
        found = {k: v for k, v in asdict(found).items() if k in known}
    if isinstance(found, dict) and "status" in found:
        found = found["status"]
    elif isinstance(found, dict) and found.get("id") == "":
        found["id"] = None
    told.append({"found": found, "seconds": time.perf_counter() - began})
logging.basicConfig()
if sys.argv[1] == "sync":
    with Client(url, os.environ.get("ELSV_TOKEN"), outbox=outbox, **options) as client:
        for what, *given in steps:
            began = time.perf_counter()
            given = [("" if g is None and what != "decide" else g) for g in given]
            taken(time.sleep(*given) if what == "sleep" else getattr(client, what)(*given), began)
else:
    async def main():
        async with AsyncClient(url, os.environ.get("ELSV_TOKEN"), outbox=outbox, **options) as client:
            for what, *given in steps:
                began = time.perf_counter()
                given = [("" if g is None and what != "decide" else g) for g in given]
                work = asyncio.sleep(*given) if what == "sleep" else getattr(client, what)(*given)
                taken(await work, began)
    asyncio.run(main())
print(json.dumps(told))
"""
CLIENTS = {  # what runs it, the file of the client, its program
    "php": (["php"], ROOT / "php" / "Elsv.php", PHP),
    "js": (["node"], ROOT / "js" / "elsv.mjs", JS),
    "python": ([sys.executable], ROOT / "python" / "src", PYTHON),
    "python async": ([sys.executable], ROOT / "python" / "src", PYTHON),
}


def taken(
    kind: str,
    url: str,
    outbox: Path | str,
    steps: Sequence[Sequence[Any]],
    token: str | None = None,
    environment: dict[str, str] | None = None,
    **options: Any,
) -> tuple[list[dict[str, Any]], str]:
    """Return what each step of a client brought and how long it took, and what the client logged."""
    program, client, code = CLIENTS[kind]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("program.mjs" if kind == "js" else "program")
        path.write_text(code)
        command = [
            *program,
            str(path),
            *(["async" if "async" in kind else "sync"] if "python" in kind else []),
        ]
        given = (
            {"ELSV_CLIENT": str(client), "PYTHONPATH": str(client)}
            if "python" in kind
            else {"ELSV_CLIENT": str(client)}
        )
        given |= ({} if token is None else {"ELSV_TOKEN": token}) | (environment or {})
        done = subprocess.run(
            command, input=json.dumps([url, str(outbox), options, steps]), capture_output=True, text=True,
            env=os.environ | given, timeout=60,
        )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return json.loads(done.stdout), done.stderr


@contextlib.contextmanager
def stopped() -> Iterator[str]:
    """Let nobody listen."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{probe.getsockname()[1]}"


@contextlib.contextmanager
def _listening(serve: Callable[[socket.socket, threading.Event], None]) -> Iterator[str]:
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        taken: list[threading.Thread] = []

        def listen() -> None:
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    connection, _ = server.accept()
                    taken.append(threading.Thread(target=answer, args=(connection,)))
                    taken[-1].start()

        def answer(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                serve(connection, over)

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            over.set()
            for one in [thread, *taken]:
                one.join()


def silent() -> contextlib.AbstractContextManager[str]:
    """Take the request and never answer."""

    def serve(connection: socket.socket, over: threading.Event) -> None:
        over.wait()

    return _listening(serve)


def dribbling() -> contextlib.AbstractContextManager[str]:
    """Answer byte by byte, without end."""

    def serve(connection: socket.socket, over: threading.Event) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while not over.wait(0.02):
            connection.sendall(b"x")

    return _listening(serve)


@contextlib.contextmanager
def black_hole() -> Iterator[str]:
    """Let packets get lost: the queue of connections is full, so that new ones are dropped."""
    with contextlib.ExitStack() as held:
        server = held.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(8):
            one = held.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(server.getsockname())
        time.sleep(0.1)
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


BAD = {"stopped": stopped, "black hole": black_hole, "never answers": silent, "byte by byte": dribbling}


def run() -> list[dict]:
    rows = []
    for kind, (program, *_) in CLIENTS.items():
        if shutil.which(program[0]) is None:
            continue
        for name, bad in BAD.items():
            with tempfile.TemporaryDirectory() as folder, bad() as url:
                steps = [["decide", "spring", f"c-{k}", "full price"] for k in range(8)]
                told, _ = taken(kind, url, folder, steps, budget=0.3)
                asked, resting = (
                    1000 * max(one["seconds"] for one in told[a:b]) for a, b in ((0, 3), (3, 8))
                )
                rows.append(row(f"{kind}: {name}", asked, "ms at most", "≤ 300"))
                rows.append(row(f"{kind}: {name}, left alone", resting, "ms at most"))
    return rows
