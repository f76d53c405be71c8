"""What tests of the service's pages share: an application that is not started, and a browser's manners."""

import asyncio
import re
import time
from contextlib import contextmanager
from html.parser import HTMLParser

import httpx

from elsv.service.app import create_app
from elsv.service.settings import ServiceSettings

HERE = "http://localhost"
ELSEWHERE = "https://elsewhere.example"


class Client:
    """Keeps cookies, as a browser does, and asks one thing after the other."""

    def __init__(self, app, runner):
        transport = httpx.ASGITransport(app)
        self.service = app.service
        self._client = httpx.AsyncClient(transport=transport, base_url=HERE)
        self._runner, self.cookies = runner, self._client.cookies

    def get(self, address, **more):
        return self._runner.run(self._client.get(address, **more))

    def post(self, address, **more):
        return self._runner.run(self._client.post(address, **more))


@contextmanager
def visit(db, tokens=None, clock=time.time):
    """Yield a client of a server that was not started, and so has compiled nothing."""
    app = create_app(ServiceSettings(db=str(db), tokens=tokens), clock=clock)
    with asyncio.Runner() as runner:
        try:
            yield Client(app, runner)
        finally:
            runner.run(app.service.stop())


def code_of(html):
    """The code that the forms of a page carry."""
    return re.search(r'name="code" value="([0-9a-f]{64})"', html)[1]


def send(client, address, fields=None, page="/ui/new", **headers):
    """Send a form as its page would."""
    code = code_of(client.get(page).text)
    return client.post(address, data={"code": code, **(fields or {})}, headers={"Origin": HERE, **headers})


class _Text(HTMLParser):
    def __init__(self):
        super().__init__()
        self.parts, self.tags = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.parts.append(data)


def parsed(html):
    found = _Text()
    found.feed(html)
    return found


def text_of(html):
    """What a page says, without its tags."""
    return " ".join("".join(parsed(html).parts).replace("\xa0", " ").split())


def tags_of(html):
    """All tags with their attributes."""
    return parsed(html).tags
