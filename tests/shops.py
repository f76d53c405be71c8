"""What tests of the service share: an application that is called in this process."""

import asyncio
import contextlib
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
        self.service = self.app.service
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
