"""Campaigns on SQLite, every write on disk: decisions and outcomes a second, long logs, and a rehearsal.

A pair of decision and outcome waits for the disk twice, so the time of one write is measured beside it.
"""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from pathlib import Path

from benchmarks.shared import row
from elsv import Campaign, Problem, rehearse
from elsv.campaign import log
from elsv.campaign.records import Outcome, Row

SHOP = {"rewards": [0.7, 0.8, 0.9, 1.0], "order": "decreasing"}
PAIRS, BATCHES = 150, 6


def run() -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        rows = [row("write of 8 KB on this disk", 1e3 * _one_write(place), "ms")]
        for policy in ("elsv", "plan"):
            rows += _decisions(place, policy)
        rows += _long_log(place, 100_000, 33_000)
        rows += _long_log(place, 1_000_000, 0)
    rows += _rehearsal()
    return rows


def _one_write(place: Path, times: int = 50) -> float:
    """Return seconds for one synchronised write, which each transaction waits for."""
    handle = os.open(place / "disk", os.O_RDWR | os.O_CREAT)
    os.write(handle, b"x" * 1_000_000)
    os.fsync(handle)
    began = time.perf_counter()
    for k in range(times):
        os.pwrite(handle, b"y" * 8192, 8192 * k)
        os.fdatasync(handle)
    os.close(handle)
    return (time.perf_counter() - began) / times


def _decisions(place: Path, policy: str) -> list[dict]:
    campaign = Campaign.open(
        place / "speed.db", policy, Problem(**SHOP, horizon=300), policy=policy, window="7 days", seed=1
    )
    for _ in range(2):  # tables and kernels
        campaign.rewards([(decision, False) for decision in campaign.decide(count=5)])
    began = time.perf_counter()
    for k in range(PAIRS):
        decision = campaign.decide(f"c-{k}")
        campaign.reward(decision.id, success=k % 3 == 0)
    pairs = PAIRS / (time.perf_counter() - began)
    long = Campaign.open(
        place / "speed.db", f"{policy} long", Problem(**SHOP, horizon=2000), policy=policy, seed=1
    )
    seconds = 0.0
    for _ in range(BATCHES):
        began = time.perf_counter()
        made = long.decide(count=100)
        seconds += time.perf_counter() - began
        long.rewards([(decision, k % 3 == 0) for k, decision in enumerate(made)])
    campaign.close()
    long.close()
    return [
        row(f"decide + reward, {policy}", pairs, "pairs/s", "≥ 120"),
        row(f"decide(count=100), {policy}", 100 * BATCHES / seconds, "decisions/s", "≥ 2000"),
    ]


def _long_log(place: Path, decisions: int, rewarded: int) -> list[dict]:
    path = place / f"{decisions}.db"
    decided = decisions - rewarded
    campaign = Campaign.open(path, "long", Problem(**SHOP, horizon=2 * decisions), policy="elsv:index=greedy")
    with campaign.store.writing() as writing:
        held = log.read(campaign.store, writing, "long", hold=True)
        for start in range(0, decided, 10_000):
            some = [
                Row(
                    k + 1, held.events + 1 + k - start, uuid.uuid4().hex, k % 4, 0.25, ".25,.25,.25,.25",
                    "policy", 0.0, 1e12, f"c-{k}", 1,
                )
                for k in range(start, min(decided, start + 10_000))
            ]  # fmt: skip
            held.append_decisions(some)
            if rewarded:
                for one in some[: rewarded * len(some) // decided]:
                    held.append_outcome(one, Outcome(one.id, one.number % 3 == 0), 1.0, True)
        held.release()
    campaign.close()
    began = time.perf_counter()
    with Campaign.open(path, "long") as again:
        opened = time.perf_counter() - began
        began = time.perf_counter()
        again.status()
        status = time.perf_counter() - began
        began = time.perf_counter()
        exact = again.audit().exact
        audited = time.perf_counter() - began
    assert exact
    size = f"{decisions:,} {'events' if rewarded else 'decisions'}"
    return [
        row(f"open again, {size}", opened, "s", "≤ 2" if rewarded else None),
        row(f"status, {size}", status, "s", None if rewarded else "≤ 1"),
        row(f"audit, {size}", audited, "s"),
    ]


def _rehearsal() -> list[dict]:
    began = time.perf_counter()
    rehearse(Problem(**SHOP, horizon=100), against=3)
    return [row("rehearse, four sizes", time.perf_counter() - began, "s", "≤ 60")]
