"""A real browser and a real server for tests of pages."""

import json
import os
import shutil
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from services import Server

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 120_000  # milliseconds
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


def chromium():
    """The browser's path, or skip: in CI it must be there if it could be installed."""
    found = os.environ.get("ELSV_CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    missing = None if found else "no chromium: install Debian's, or name one in ELSV_CHROMIUM"
    try:
        import playwright  # noqa: F401
    except ImportError:
        missing = "playwright is not installed: make setup"
    if missing:
        could = hasattr(os, "geteuid") and os.geteuid() == 0
        assert not (os.environ.get("CI") and could), missing
        pytest.skip(missing)
    return found


@contextmanager
def browser():
    """Yield a browser without a window."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        try:
            yield found
        finally:
            found.close()


def new_context(chrome, address, viewport=WIDE, **more):
    """Return a fresh profile; a server may have to compile before it answers."""
    context = chrome.new_context(viewport=viewport, base_url=address, **more)
    context.set_default_timeout(PATIENCE)
    return context


@contextmanager
def serving(db, tokens=None, state="/readyz"):
    """Yield the address of ``elsv serve`` in its own process, when it is ready or in another `state`."""
    server = Server(db, Path(db).parent, guarded=tokens is not None).start()
    try:
        yield server.wait(state).url
    finally:
        server.stop()


def ask(address, method, path, body=None):
    """Ask the API, and return its answer."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, method=method)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.loads(answer.read())


def violations(page):
    """What axe finds on a page, in a line each."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("async () => (await axe.run(document)).violations")
    return [
        f"{one['id']}: {one['help']}: {node['html'][:160]} {node['failureSummary'][:300]}"
        for one in found
        for node in one["nodes"]
    ]


def until(page, holds, seconds=120):
    """Wait until something holds; the pages' own policy forbids what Playwright would do for it."""
    for _ in range(10 * seconds):
        if holds():
            return
        page.wait_for_timeout(100)
    pytest.fail("waited in vain")
