"""What tests of the service share: a real server in a process of its own, its tokens, and load on it."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from elsv.service.tokens import TokenFile

PATIENCE = 180  # seconds for a server to be ready: kernels may have to be compiled
PROBLEM = {
    "rewards": [0.6, 0.7, 0.85, 1.0],
    "order": "decreasing",
    "horizon": 100_000,
    "names": ["40 % off", "30 % off", "15 % off", "full price"],
}
QUICK = "random:pending=ignore"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """`elsv serve` as a process; started again on the same port and store after it was killed.

    Parameters
    ----------
    db
        Path or URL.
    directory
        Where its tokens and its log are.
    options
        Further words of the command line.
    guarded
        Whether it asks for tokens.
    """

    def __init__(self, db, directory, *options, guarded=True):
        self.db, self.directory, self.options = str(db), Path(directory), options
        self.port, self.process = free_port(), None
        self.url = f"http://127.0.0.1:{self.port}"
        self.token_file = self.directory / "tokens.json"
        if guarded:
            self.options = ("--tokens", str(self.token_file), *options)
        if guarded and not self.token_file.exists():
            tokens = TokenFile(self.token_file, must_exist=False)
            self.tokens = {role: tokens.new(f"a {role}er", role) for role in ("read", "write", "admin")}
            self.tokens["revoked"] = tokens.new("gone", "admin")
            tokens.revoke("gone")

    def start(self):
        command = [sys.executable, "-m", "elsv.cli", "serve", "--db", self.db, "--port", str(self.port)]
        command += self.options
        with (self.directory / "server.log").open("a") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        return self

    def wait(self, state="/readyz"):
        """Return when it is ready, or in another state."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            assert self.process.poll() is None, f"the server ended: {self.log()}"
            try:
                if httpx.get(f"{self.url}{state}", timeout=5).status_code == 200:
                    return self
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"the server is not ready: {self.log()}")

    def log(self):
        return (self.directory / "server.log").read_text()[-4000:]

    def kill(self):
        """End it at once, with all its processes, as a power failure would."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """Ask it to end, and return its exit code."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                return self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError(f"the server does not stop: {self.log()}") from None
        return None

    def http(self, role="admin", **options):
        """Return an HTTP client with the token of a role; None: without a token."""
        headers = {} if role is None else {"authorization": f"Bearer {self.tokens.get(role, role)}"}
        return httpx.Client(**{"base_url": self.url, "headers": headers, "timeout": 20, **options})

    def begin(self, name="spring", **settings):
        with self.http() as http:
            body = {"problem": PROBLEM, "policy": QUICK, "window": "7 days", **settings}
            answer = http.put(f"/campaigns/{name}", json=body)
            assert answer.status_code == 201, answer.text


@contextmanager
def serving(db, directory, *options):
    """Yield a server that is ready; it is stopped at the end."""
    if not os.environ.get("CI"):
        pytest.importorskip("starlette", reason="pip install 'elsv[service]'")
    server = Server(db, directory, *options).start()
    try:
        yield server.wait()
        assert server.stop() in (0, -signal.SIGTERM, None), server.log()
    finally:
        if server.process.poll() is None:
            server.kill()
