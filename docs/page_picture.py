"""Take the picture of the service's page for the docs; needs chromium, and playwright as the tests do.

``python docs/page_picture.py`` plays a campaign in an imaginary shop, serves it, and looks at it.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

from elsv import Campaign, Problem

FILE = Path(__file__).parent / "figures" / "page.png"
PORT = 18763
SHOP = (0.34, 0.31, 0.29, 0.17)  # how often each arm succeeds in truth
HEIGHT = 905  # pixels of the page, from the top


def play(db: Path) -> None:
    """Decide for 420 customers, six at a time; every twentieth outcome is not known yet."""
    problem = Problem(
        rewards=[21, 24, 27, 30],
        order="decreasing",
        horizon=600,
        names=["30 % off", "20 % off", "10 % off", "full price"],
    )
    rng = np.random.default_rng(11)
    with Campaign.open(
        db, "spring", problem, policy="thompson", unit="EUR", control="full price", holdout=0.1, seed=4
    ) as campaign:
        for _ in range(70):
            made = campaign.decide(count=6)
            known = [one for one in made if rng.random() > 0.05]
            campaign.rewards([(one, bool(rng.random() < SHOP[one.arm])) for one in known])


def take(address: str) -> Image.Image:
    """Return the upper part of the page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": HEIGHT})
        page.goto(f"{address}/ui/campaigns/spring")
        page.locator("#course-plot canvas").wait_for()
        found = page.screenshot()
        browser.close()
    return Image.open(io.BytesIO(found))


def main() -> None:
    """Write the file."""
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "shop.db"
        play(db)
        command = [sys.executable, "-m", "elsv.cli", "serve", "--db", str(db), "--port", str(PORT)]
        server = subprocess.Popen(command)
        address = f"http://127.0.0.1:{PORT}"
        try:
            for _ in range(600):
                try:
                    urllib.request.urlopen(f"{address}/readyz").close()
                    break
                except OSError:
                    time.sleep(0.1)
            picture = take(address)
        finally:
            server.terminate()
            server.wait()
    picture.convert("RGB").quantize(128).save(FILE, optimize=True)


if __name__ == "__main__":
    main()
