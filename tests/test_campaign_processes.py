"""Several processes on one campaign, some of them killed: nothing acknowledged is lost or doubled."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from campaigns import shop
from elsv import Campaign

SETTINGS = {"policy": "random:pending=ignore", "window": "7 days"}
KILLS = int(os.environ.get("ELSV_KILLS", "4"))
EVENTS = int(os.environ.get("ELSV_EVENTS", "400"))  # of four processes together
WORKER = """
import random, sys
from elsv import Campaign
place, name, number, pairs, seed = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
rng = random.Random(seed)
campaign = Campaign.open(place, name)
waiting = []
for k in range(pairs):
    decision = campaign.decide(f"{number}-{k}", key=f"{number}-{seed}-{k}")
    print("decided", decision.id, decision.arm, flush=True)
    waiting.append(decision)
    if len(waiting) > 3:
        decision = waiting.pop(0)
        success = rng.random() < 0.4
        print("rewarding", decision.id, int(success), flush=True)
        receipt = campaign.reward(decision.id, success=success)
        print("rewarded", decision.id, int(success), flush=True)
        assert receipt.status == "recorded", receipt
for decision in waiting:
    print("rewarding", decision.id, 0, flush=True)
    campaign.reward(decision.id, success=False)
    print("rewarded", decision.id, 0, flush=True)
print("done", flush=True)
"""


def start(place, number, pairs, path, seed=0):
    """Start a client that writes down what it was told."""
    command = [sys.executable, "-c", WORKER, place, "x", str(number), str(pairs), str(seed)]
    with path.open("w") as out:
        return subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True)


def acknowledged(lines):
    """Return arms of decisions and outcomes that a client knows of, and outcomes it was not told of."""
    decided, rewarded, asked = {}, {}, {}
    for line in lines:
        words = line.split()
        if words[:1] == ["decided"] and len(words) == 3:
            decided[words[1]] = int(words[2])
        elif words[:1] == ["rewarding"] and len(words) == 3:
            asked[words[1]] = int(words[2])
        elif words[:1] == ["rewarded"] and len(words) == 3:
            rewarded[words[1]] = int(words[2])
    return decided, rewarded, {ident: won for ident, won in asked.items() if ident not in rewarded}


def test_four_processes_count_exactly(place, tmp_path):
    pairs = EVENTS // 8
    campaign = Campaign.open(place, "x", shop(horizon=100_000), **SETTINGS)
    told = [tmp_path / f"told-{number}" for number in range(4)]
    running = [start(place, number, pairs, path) for number, path in enumerate(told)]
    decided, rewarded = {}, {}
    for process, path in zip(running, told, strict=True):
        _, err = process.communicate(timeout=500)
        assert process.returncode == 0, err
        mine, outcomes, unsure = acknowledged(path.read_text().splitlines())
        assert len(mine) == len(outcomes) == pairs
        assert not unsure
        assert not mine.keys() & decided.keys()
        decided |= mine
        rewarded |= outcomes
    status, audit = campaign.status(), campaign.audit()
    assert audit.exact, audit
    assert status.decided == len(decided) == 4 * pairs
    for arm in status.arms:
        mine = Counter(rewarded[ident] for ident, i in decided.items() if i == arm.arm)
        assert (arm.successes, arm.failures, arm.under_way) == (mine[1], mine[0], 0)
    campaign.close()


def test_several_may_begin_at_once(place):
    code = """
import sys
from elsv import Campaign, Problem
problem = Problem(rewards=[0.5, 1.0], horizon=1000)
sys.stdin.readline()
with Campaign.open(sys.argv[1], "x", problem, policy="random:pending=ignore") as campaign:
    campaign.decide(count=3)
"""
    command, pipes = (
        [sys.executable, "-c", code, place],
        {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE},
    )
    started = [subprocess.Popen(command, text=True, **pipes) for _ in range(4)]
    for process in started:
        process.stdin.write("now\n")
        process.stdin.flush()
    for process in started:
        _, err = process.communicate(timeout=200)
        assert process.returncode == 0, err
    with Campaign.open(place, "x") as campaign:
        assert campaign.status().decided == 12
        assert campaign.audit().exact


def test_processes_that_are_killed_lose_nothing(place, tmp_path):
    campaign = Campaign.open(place, "x", shop(horizon=100_000), **SETTINGS, seed=3)
    decided, rewarded, unsure = {}, {}, {}
    done = 0
    while done < KILLS:
        told = [tmp_path / f"told-{done + k}" for k in range(4)]
        victims = [start(place, path.name, 10_000, path, done) for path in told]
        for path, victim in zip(told, victims, strict=True):
            while not path.read_text().startswith("decided"):
                assert victim.poll() is None, victim.stderr.read()
                time.sleep(0.02)
        for path, victim in zip(told, victims, strict=True):
            time.sleep(0.007 * (done % 7))
            os.kill(victim.pid, signal.SIGKILL)
            victim.communicate(timeout=60)
            mine = acknowledged(path.read_text().splitlines())
            decided |= mine[0]
            rewarded |= mine[1]
            unsure |= mine[2]
            done += 1
    audit, status = campaign.audit(), campaign.status()
    assert audit.exact, audit
    with campaign.store.reading() as reading:
        log = dict(reading.rows("SELECT id, arm FROM elsv_decision"))
        query = "SELECT d.id, r.success FROM elsv_reward r JOIN elsv_decision d ON d.number = r.number"
        outcomes = dict(reading.rows(query))
    assert decided.items() <= log.items()
    assert rewarded.items() <= outcomes.items()
    assert {i: won for i, won in outcomes.items() if i not in rewarded}.items() <= unsure.items()
    assert sum(a.successes for a in status.arms) == sum(outcomes.values())
    # Each of the killed clients may have made one decision that it was not told of, and no more.
    assert len(log) - len(decided) <= done
    # Whoever was killed in between asks again, and gets the first answer.
    for ident, won in unsure.items():
        receipt = campaign.reward(ident, success=bool(won))
        assert receipt.status == ("duplicate" if ident in outcomes else "recorded")
    assert campaign.audit().exact
    campaign.close()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forking beside threads, which do nothing here
def test_a_child_opens_its_own_connection(place):
    """A campaign that a process was forked with goes on in both."""
    campaign = Campaign.open(place, "x", shop(), policy="fixed:arm=2")
    campaign.decide()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            campaign.decide(count=5)
            status = 0
        finally:
            os._exit(status)
    campaign.decide(count=5)
    assert os.waitpid(child, 0)[1] == 0
    assert campaign.status().decided == 11
    assert campaign.audit().exact
    campaign.close()


def test_threads_share_a_campaign(place):
    campaign = Campaign.open(place, "x", shop(horizon=1000), policy="fixed:arm=2")

    def work(k):
        decision = campaign.decide(f"c{k}")
        return campaign.reward(decision.id, success=k % 3 == 0).status

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(80))) == {"recorded"}
    assert campaign.status().arms[1].successes == 27
    assert campaign.audit().exact
    campaign.close()
