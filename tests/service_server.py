"""What tests of the service share: an application called in this process, and servers of their own."""

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import threading

import httpx

from elsv.service.app import create_app
from elsv.service.settings import ServiceSettings

SHOP = {
    "problem": {
        "rewards": [0.6, 0.7, 0.85, 1.0],
        "names": ["40 % off", "30 % off", "15 % off", "full price"],
        "order": "decreasing",
        "horizon": 300,
    },
    "policy": "greedy",
    "window": "7 days",
    "seed": 7,
}


class Shop:
    """An application with its event loop in a thread, asked like a server."""

    def __init__(self, db, tokens=None, **settings):
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.app = self._made(db, tokens, settings)
        self.service = self.app.state.service
        self._lifespan = self.app.router.lifespan_context(self.app)
        self.run(self._lifespan.__aenter__())
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")

    def _made(self, db, tokens, settings):
        async def make():
            return create_app(ServiceSettings(db=str(db), **settings), tokens)

        return self.run(make())

    def run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(120)

    def ask(self, method, path, body=None, **options):
        if body is not None:
            options["json"] = body
        return self.run(self.client.request(method, path, **options))

    def all(self, *requests):
        """Ask several things at once; each is (method, path, body)."""

        async def together():
            asked = [self.client.request(method, path, json=body) for method, path, body in requests]
            return await asyncio.gather(*asked)

        return self.run(together())

    def get(self, path, **options):
        return self.ask("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.ask("POST", path, body, **options)

    def begin(self, name="spring", **changes):
        answer = self.ask("PUT", f"/campaigns/{name}", {**SHOP, **changes})
        assert answer.status_code in (200, 201), answer.text
        return answer

    def decide(self, name="spring", **body):
        answer = self.post(f"/campaigns/{name}/decisions", body)
        assert answer.status_code == 200, answer.text
        return answer.json()["decisions"]

    def close(self):
        self.run(self.client.aclose())
        self.run(self._lifespan.__aexit__(None, None, None))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@contextlib.contextmanager
def shop(db, tokens=None, **settings):
    opened = Shop(db, tokens, **settings)
    try:
        yield opened
    finally:
        opened.close()


class Served:
    """A server of its own, started by the command line."""

    def __init__(self, db, *options):
        command = [sys.executable, "-m", "elsv.cli", "serve", "--db", str(db), "--port", "0", *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
        self.lines, self._ready = [], threading.Event()
        self.url = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._ready.wait(120), "".join(self.lines)
        assert self.url, "".join(self.lines)
        self.client = httpx.Client(base_url=self.url, timeout=60)

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            found = re.search(r"served at (http://\S+) \(ready", line)
            if found:
                self.url = found[1]
                self._ready.set()
        self._ready.set()

    def kill(self):
        self.process.kill()
        self._end()

    def stop(self):
        """Ask it to stop and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self._end()

    def _end(self):
        code = self.process.wait(60)
        self._reader.join(10)
        self.process.stderr.close()
        self.client.close()
        return code


@contextlib.contextmanager
def served(db, *options):
    server = Served(db, *options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.kill()
