"""Two processes that do everything a campaign allows, at random, and are killed: the log stays exact."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from campaigns import chosen_again, shop
from elsv import Campaign
from elsv.campaign.settings import Settings

ROUNDS = int(os.environ.get("ELSV_STORMS", "1"))
WORKER = """
import random, sys
from elsv import Campaign, InvalidInputError
place, number, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = random.Random(seed)
campaign = Campaign.open(place, "x", who=number)
mine, known = [], {}
names = list(campaign.problem.names)

def say(*words):
    print(*words, flush=True)

def decide():
    customer = rng.choice([None, None, *(f"c-{k}" for k in range(8))])
    made = campaign.decide(customer, key=f"{number}-{seed}-{len(mine)}-{rng.random()}")
    say("decided", made.id)
    if not made.repeated and customer is None:  # what is of a customer may be anybody's
        mine.append(made.id)

def reward():
    if mine:
        ident, success = rng.choice(mine), rng.random() < 0.4
        receipt = campaign.reward(ident, success)
        if receipt.status in ("recorded", "late"):
            known[ident] = success
        say(receipt.status, ident, int(success))

def void():
    if mine:
        ident = rng.choice(mine)
        say(campaign.void(ident).status, ident)

def correct():
    if known:
        ident = rng.choice(list(known))
        known[ident] = not known[ident]
        say(campaign.correct(ident, known[ident]).status, ident, int(known[ident]))

def forget():
    campaign.forget(f"c-{rng.randrange(8)}")

def change():
    what = rng.choice(["withdraw", "withdraw", "restore", "restore", "pause", "resume", "extend", "end"])
    if what in ("withdraw", "restore"):
        getattr(campaign, what)(rng.choice(campaign.problem.names))
    elif what == "extend":
        campaign.extend(campaign.settings.horizon + rng.randrange(1, 30))
    else:
        getattr(campaign, what)()

def add():
    if campaign.problem.arms < 6:
        campaign.add(f"{number}-{seed}-{rng.random():.3f}", rng.uniform(0.1, 0.5), expect="5 to 40 %")

deeds = [decide] * 12 + [reward] * 6 + [void] * 2 + [correct] * 2 + [forget, change, change]
say("began")
for k in range(100_000):
    try:
        (add if k == 20 else rng.choice(deeds))()
    except InvalidInputError as error:  # such as the last arm, a known outcome, or no customers yet
        say("refused", str(error)[:60])
"""


def start(place, number, path, seed):
    command = [sys.executable, "-c", WORKER, place, str(number), str(seed)]
    with path.open("w") as out:
        return subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True)


def test_everything_at_once_with_kills(place, tmp_path):
    campaign = Campaign.open(
        place, "x", shop(horizon=60), policy="thompson", floor=0.02, seed=5, window="2 seconds"
    )
    campaign.decide()
    rng, told = random.Random(11), []
    for turn in range(ROUNDS):
        paths = [tmp_path / f"told-{turn}-{k}" for k in range(2)]
        running = [start(place, k, path, 10 * turn + k) for k, path in enumerate(paths)]
        told += paths
        for path, process in zip(paths, running, strict=True):
            while path.read_text().count("\n") < 120:
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.05)
        for process in running:
            time.sleep(rng.random() * 0.2)
            os.kill(process.pid, signal.SIGKILL)
            process.communicate()
        audit = campaign.audit()
        assert audit.exact, audit
    words = [
        line.split()
        for path in told
        for line in path.read_text().splitlines(keepends=True)
        if line[-1:] == "\n"
    ]
    done = {word[0] for word in words}
    assert {"decided", "recorded", "voided", "corrected"} <= done
    check_acknowledged(campaign, words)
    check_stickiness(campaign)
    chosen_again(campaign)
    campaign.close()


def check_acknowledged(campaign, words):
    """What a process was told is in the log; what came last of a decision is what counts."""
    with campaign.store.reading() as reading:
        decided = {ident for (ident,) in reading.rows("SELECT id FROM elsv_decision")}
        void = {
            ident
            for (ident,) in reading.rows(
                "SELECT d.id FROM elsv_decision d JOIN elsv_void v "
                "ON v.campaign = d.campaign AND v.number = d.number"
            )
        }
        outcome = dict(
            reading.rows(
                "SELECT d.id, r.success FROM elsv_decision d JOIN elsv_reward r "
                "ON r.campaign = d.campaign AND r.number = d.number"
            )
        )
    last = {}
    for word in words:
        if word[0] == "decided":
            assert word[1] in decided
        elif word[0] == "voided":
            assert word[1] in void
        elif word[0] in ("recorded", "late", "corrected"):
            last.setdefault(word[1], []).append(int(word[2]))
    assert last.keys() <= outcome.keys()
    # The last correction of a process that was killed may have been written without its being told.
    assert sum(outcome[ident] != told[-1] for ident, told in last.items()) <= 2 * ROUNDS


def check_stickiness(campaign):
    """A customer has a second decision only after a void one, or one whose arm was withdrawn."""
    with campaign.store.reading() as reading:
        rows = reading.rows("SELECT event, number, arm, customer FROM elsv_decision ORDER BY event")
        void = dict(reading.rows("SELECT number, event FROM elsv_void"))
        versions = [
            (event, Settings.from_json(content))
            for event, content in reading.rows("SELECT event, content FROM elsv_setting ORDER BY event")
        ]
    kept = {}
    for event, number, arm, customer in rows:
        settings = [one for at, one in versions if at < event][-1]
        assert arm not in settings.withdrawn
        if customer is None:
            continue
        for before, other in kept.get(customer, []):
            assert void.get(before, event) < event or other in settings.withdrawn, (customer, number, before)
        kept.setdefault(customer, []).append((number, arm))


@pytest.mark.parametrize("way", ["campaign", "open"])
def test_two_processes_give_one_customer_one_arm(place, tmp_path, way):
    code = """
import sys
from elsv import Campaign
with Campaign.open(sys.argv[1], "x") as campaign:
    for k in range(40):
        print(campaign.decide(f"c-{k % 10}").id, flush=True)
"""
    Campaign.open(place, "x", shop(horizon=500), policy="random:pending=ignore", sticky=way).close()
    command = [sys.executable, "-c", code, place]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [process.communicate(timeout=200)[0].split() for process in running]
    assert told[0] == told[1]
    with Campaign.open(place, "x") as campaign:
        assert campaign.status().decided == 10
