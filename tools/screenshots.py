"""``python -m tools.screenshots``: pictures of the service's pages in every state, into out/screenshots.

Campaigns of a small shop are played on a clock of their own: none yet, running, contradicted, paused, over,
with a withdrawn arm, and with two segments. Each page is taken on a telephone and on a desk, light and dark,
and printed.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from elsv import Campaign, Problem

OPTIONS = {"none": 20.0, "5 % off": 19.0, "10 % off": 18.0, "15 % off": 17.0}
TRUE = {"none": 0.04, "5 % off": 0.05, "10 % off": 0.075, "15 % off": 0.08}
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
PAPER = {"width": 688, "height": 1002}  # A4 within the margins of the style sheet
_DAY = 86400.0


def shop(segments: list[str] | None = None) -> Problem:
    """Return the problem: four levels, of which more never sells less, and 4 % buy today."""
    from elsv.prior.expectations import from_expectations

    rewards, names = list(OPTIONS.values()), list(OPTIONS)
    problem = Problem(rewards, order="increasing", horizon=1500, names=names, segments=segments)
    return from_expectations(problem, {"none": 0.04}).problem


class Played:
    """A campaign that customers come to, day by day."""

    def __init__(
        self, db: Path, name: str, problem: Problem, days: float, now: float, **settings: object
    ) -> None:
        self.time = now - days * _DAY
        self._rng = np.random.default_rng(5)
        given = {"policy": "thompson", "unit": "EUR", "window": "3 days", "seed": 3, **settings}
        self.campaign = Campaign.open(db, name, problem, clock=lambda: self.time, **given)  # type: ignore[arg-type]

    def days(self, count: float, customers: int = 100, rates: Mapping[str, float] = TRUE) -> Played:
        """Let customers come; most outcomes are known within hours."""
        segments = self.campaign.problem.segments
        steps = max(1, round(count * 24))
        for _ in range(steps):
            self.time += count * _DAY / steps
            for who in segments.names or (None,):
                came = int(self._rng.poisson(customers / 24 / segments.count))
                made = self.campaign.decide(count=came, segment=who) if came else []
                more = 1.4 if who == "desktop" else 1.0
                known = [one for one in made if self._rng.random() < 0.97]
                bought = [self._rng.random() < more * rates[one.name.partition(" × ")[0]] for one in known]
                self.campaign.rewards((one, bool(won)) for one, won in zip(known, bought, strict=True))
        return self


def demo(db: Path, now: float | None = None) -> None:
    """Fill a store with campaigns in every state."""
    now = time.time() if now is None else now
    Played(db, "none yet", shop(), 0, now, control="none")
    Played(db, "running", shop(), 12.4, now, control="none", holdout=0.1).days(12.3)
    wrong = dict(zip(OPTIONS, (0.3, 0.2, 0.1, 0.02), strict=True))
    Played(db, "contradicted", shop(), 5, now, control="none", policy="random").days(5, 120, wrong)
    paused = Played(db, "paused", shop(), 9, now, control="none").days(6)
    paused.campaign.pause()
    paused.days(2.9, 60)
    over = Played(db, "over", shop(), 20, now, control="none", holdout=0.1).days(8)
    over.campaign.extend(1700)
    over.days(12)
    gone = Played(db, "withdrawn arm", shop(), 8, now, control="none").days(5)
    gone.campaign.withdraw("15 % off")
    gone.days(3)
    segments = Played(db, "two segments", shop(["mobile", "desktop"]), 10, now, control=[0, 4])
    segments.days(10)


@contextmanager
def serving(db: Path) -> Iterator[str]:
    """Yield the address of ``elsv serve``."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "elsv.cli", "serve", "--db", str(db), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(3000):
            if process.poll() is not None:
                raise SystemExit("the server has ended")
            try:
                urllib.request.urlopen(f"{address}/readyz", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise SystemExit("the server is not ready after five minutes")
        yield address
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def browsing() -> Iterator[Any]:
    """Yield a browser: ``ELSV_CHROMIUM``, one that is installed, or Playwright's own."""
    from playwright.sync_api import sync_playwright

    known = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    path = os.environ.get("ELSV_CHROMIUM") or next(filter(None, known), None)
    with sync_playwright() as playwright:
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        chrome = playwright.chromium.launch(executable_path=path, args=options)
        yield chrome
        chrome.close()


def take(address: str, out: Path, pages: Mapping[str, str]) -> list[Path]:
    """Take every page: telephone and desk, light and dark, whole and first screen, and as printed."""
    out.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    screens = (("phone", PHONE), ("wide", WIDE))
    with browsing() as chrome:
        for (screen, viewport), scheme in product(screens, ("light", "dark")):
            context = chrome.new_context(viewport=viewport, base_url=address, color_scheme=scheme)
            context.set_default_timeout(120_000)
            page = context.new_page()
            for name, where in pages.items():
                page.goto(where)
                page.wait_for_timeout(400)
                made.append(out / f"{name}-{screen}-{scheme}.png")
                page.screenshot(path=made[-1], full_page=True)
                if screen == "phone" and scheme == "light":
                    page.screenshot(path=out / f"{name}-first.png")
                if screen == "wide" and scheme == "light":
                    page.emulate_media(media="print")
                    page.pdf(path=out / f"{name}.pdf", format="A4")
                    page.set_viewport_size(PAPER)
                    page.screenshot(path=out / f"{name}-printed.png", full_page=True)
                    page.emulate_media(media="screen")
                    page.set_viewport_size(viewport)
            context.close()
    return made


def for_docs(address: str, path: Path) -> None:
    """Take the page of a campaign for the documentation."""
    from PIL import Image

    with browsing() as chrome:
        page = chrome.new_page(viewport={"width": 1100, "height": 1000})
        page.goto(f"{address}/ui/campaigns/running")
        taken = page.screenshot()
    Image.open(io.BytesIO(taken)).convert("RGB").quantize(128).save(path, optimize=True)


def main() -> None:
    """Make the campaigns, serve them and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/screenshots"))
    parser.add_argument("--only", help="names of pages, with commas between them")
    parser.add_argument("--db", type=Path, help="campaigns that are there already")
    parser.add_argument("--docs", action="store_true", help="take the picture of the documentation alone")
    chosen = parser.parse_args()
    pages = {"overview": "/", "form": "/ui/new"}
    states = ("none yet", "running", "contradicted", "paused", "over", "withdrawn arm", "two segments")
    pages |= {
        f"report-{state.replace(' ', '-')}": f"/ui/campaigns/{state.replace(' ', '%20')}/report.html"
        for state in ("over", "two segments")
    }
    pages |= {state.replace(" ", "-"): f"/ui/campaigns/{state.replace(' ', '%20')}" for state in states}
    if chosen.only:
        pages = {name: where for name, where in pages.items() if name in chosen.only.split(",")}
    with tempfile.TemporaryDirectory() as folder:
        db = chosen.db or Path(folder) / "shop.db"
        if chosen.db is None:
            demo(db)
        with serving(db) as address:
            if chosen.docs:
                for_docs(address, Path("docs/figures/page.png"))
                return
            for path in take(address, chosen.out, pages):
                print(path)


if __name__ == "__main__":
    main()
