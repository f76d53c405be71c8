"""A server that is killed under load, and stores that go away: nothing acknowledged is lost or doubled.

The clients count. Each has a key for every decision and sends a request until it is answered, across any
number of kills, so that in the end the log must hold exactly one decision for each key and the outcome that
was sent for it. `ELSV_KILLS` says how often a server is killed (4; the long form is 500).
"""

import asyncio
import os
import random
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from campaigns import postgres_server
from elsv.client import AsyncClient, Retries
from services import serving

KILLS = int(os.environ.get("ELSV_KILLS", "4"))
CLIENTS = 8
PATIENT = Retries(most=400, first=0.02, longest=0.5)


class Load:
    """Clients in a thread of their own, which decide and reward until they are told to stop."""

    def __init__(self, server, campaign="spring", clients=CLIENTS):
        self.server, self.campaign, self.clients = server, campaign, clients
        self.decided, self.rewarded, self.statuses = {}, {}, Counter()
        self.ended, self.error = threading.Event(), None
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            asyncio.run(self.all())
        except BaseException as error:
            self.error = error

    async def all(self):
        await asyncio.gather(*(self.client(number) for number in range(self.clients)))

    async def client(self, number):
        rng = random.Random(number)
        async with AsyncClient(
            self.server.url, self.server.tokens["write"], timeout=30, retries=PATIENT
        ) as client:
            k = 0
            while not self.ended.is_set():
                k += 1
                key = f"{number}-{k}"
                made = await client.decide(self.campaign, f"c-{key}", key=key)
                assert key not in self.decided
                self.decided[key] = made.id, made.arm
                success = rng.random() < 0.4
                if rng.random() < 0.8:
                    receipt = await client.reward(made.id, success=success)
                    assert receipt.success == success, receipt
                else:
                    (receipt,) = await client.rewards([(made.id, success)])
                self.rewarded[made.id] = success
                self.statuses[receipt.status] += 1

    def start(self):
        self.thread.start()
        return self

    def wait_for(self, more):
        """Return when so many more decisions are acknowledged."""
        goal, until = len(self.decided) + more, time.monotonic() + 240
        while len(self.decided) < goal:
            assert self.error is None, self.error
            assert time.monotonic() < until, f"the load stands still: {self.server.log()}"
            time.sleep(0.005)

    def stop(self):
        self.ended.set()
        self.thread.join(timeout=240)
        assert not self.thread.is_alive(), self.server.log()
        assert self.error is None, self.error

    def check(self):
        """The log has what the clients know, each once, and nothing else."""
        with self.server.http() as http:
            audit = http.get(f"/campaigns/{self.campaign}/audit").json()
            status = http.get(f"/campaigns/{self.campaign}").json()
        assert audit["exact"], audit
        ids = {ident for ident, _ in self.decided.values()}
        assert len(ids) == len(self.decided)  # no decision was given to two
        assert audit["decisions"] == status["decided"] == len(ids)
        assert audit["rewards"] == len(self.rewarded) == len(ids)
        arms = dict(self.decided.values())
        for arm in status["arms"]:
            mine = Counter(won for ident, won in self.rewarded.items() if arms[ident] == arm["arm"] - 1)
            assert (arm["successes"], arm["failures"], arm["under_way"]) == (mine[True], mine[False], 0), arm
        assert set(self.statuses) <= {"recorded", "duplicate"}, self.statuses


@contextmanager
def loaded(server, **options):
    load = Load(server, **options).start()
    try:
        yield load
    finally:
        load.ended.set()


def test_killed_under_load(place, tmp_path):
    rng = random.Random(1)
    with serving(place, tmp_path) as server:
        server.begin()
        with loaded(server) as load:
            for _ in range(KILLS):
                load.wait_for(1 + rng.randrange(40))
                time.sleep(0.02 * rng.random())
                server.kill()
                server.start()
            server.wait()
            load.wait_for(10)
            load.stop()
        load.check()
        print(f"{KILLS} kills: {len(load.decided)} decisions, {dict(load.statuses)}")


def test_several_processes_of_which_any_may_be_killed(postgres, tmp_path):
    """The others go on, and the one that is missing is started again."""
    with serving(postgres.new_database(), tmp_path, "--workers", "2") as server:
        server.begin()
        with loaded(server) as load:
            for _ in range(2):
                load.wait_for(20)
                victim = random.choice(children_of(server.process.pid))
                os.kill(victim, 9)
            load.wait_for(20)
            load.stop()
        load.check()


def children_of(parent):
    """The processes of a server that answer requests; resource trackers have no socket of ours."""
    with open(f"/proc/{parent}/task/{parent}/children") as listed:
        children = [int(word) for word in listed.read().split()]
    found = []
    for child in children:
        with open(f"/proc/{child}/cmdline", "rb") as line:
            if b"resource_tracker" not in line.read():
                found.append(child)
    assert found
    return found


def refusals(server, seconds, stop, campaign="spring"):
    """Ask for decisions until told otherwise; return the statuses and how often they came."""
    found, until = Counter(), time.monotonic() + seconds
    with server.http() as http:
        while time.monotonic() < until and not stop(found):
            answer = http.post(f"/campaigns/{campaign}/decisions", json={})
            found[answer.status_code] += 1
            if answer.status_code != 200:
                assert answer.status_code == 503, answer.text
                assert int(answer.headers["retry-after"]) >= 1
                assert answer.headers["content-type"] == "application/problem+json"
                assert answer.json()["remedy"], answer.text
                time.sleep(0.05)
    return found


def until_refused(found):
    return found[503] >= 3


def until_answered(found):
    return found[200] >= 3


def test_a_database_that_restarts_under_load(tmp_path):
    with postgres_server() as database, serving(database.new_database(), tmp_path) as server:
        server.begin()
        with loaded(server) as load:
            for how in ("fast", "immediate"):
                load.wait_for(20)
                database.stop(how)
                assert refusals(server, 120, until_refused)[503] >= 3
                with server.http(None) as http:
                    assert http.get("/healthz").status_code == 200
                    assert http.get("/readyz").status_code == 503
                database.start()
                load.wait_for(20)
            load.stop()
        assert refusals(server, 60, until_answered)[200] >= 3
        with server.http() as http:
            assert http.get("/campaigns/spring/audit").json()["exact"]
            others = http.get("/campaigns/spring").json()["decided"] - len(load.decided)
        assert others >= 3  # those of `refusals`, which nobody rewards
        assert len({ident for ident, _ in load.decided.values()}) == len(load.decided)


def asked_at_once(server, count, campaign):
    """Ask for so many decisions at once and return the answers: each is a decision or a clean refusal."""

    def ask(number):
        with server.http(timeout=60) as http:
            return http.post(f"/campaigns/{campaign(number)}/decisions", json={})

    with ThreadPoolExecutor(count) as pool:
        answers = list(pool.map(ask, range(count)))
    for answer in answers:
        assert answer.status_code in (200, 503), answer.text
        if answer.status_code == 503:
            assert int(answer.headers["retry-after"]) >= 1
            assert answer.json()["remedy"], answer.text
    return Counter(answer.status_code for answer in answers)


def test_a_campaign_that_another_process_holds(postgres, tmp_path):
    """Nobody waits for ever, other campaigns go on, and so does this one when it is free."""
    url = postgres.new_database()
    with serving(url, tmp_path) as server:
        server.begin()
        server.begin("autumn")
        assert asked_at_once(server, 4, lambda k: ["spring", "autumn"][k % 2]) == {200: 4}
        with psycopg_connection(url) as other:
            other.execute("SELECT 1 FROM elsv_campaign WHERE name = 'spring' FOR UPDATE")
            found = asked_at_once(server, 8, lambda k: ["spring", "autumn"][k % 2])
            assert found == {200: 4, 503: 4}, server.log()
            other.rollback()
        assert asked_at_once(server, 4, lambda k: "spring") == {200: 4}
        with server.http() as http:
            audit = http.get("/campaigns/spring/audit").json()
        assert (audit["exact"], audit["decisions"]) == (True, 6)


def test_a_database_that_lets_in_too_few(postgres, tmp_path):
    """The server may have fewer connections than it would like, and for a while none that is new."""
    import psycopg

    url = postgres.new_database()
    name = urlsplit(url).path[1:]
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
        admin.execute(f'CREATE ROLE "few_{name}" LOGIN CONNECTION LIMIT 2')
        admin.execute(f'ALTER DATABASE "{name}" OWNER TO "few_{name}"')
    with serving(url.replace("elsv@", f"few_{name}@"), tmp_path) as server:
        campaigns = [f"c{k}" for k in range(8)]
        for campaign in campaigns:
            server.begin(campaign)
        for _ in range(5):
            found = asked_at_once(server, 24, lambda k: campaigns[k % 8])
            assert found[200] > 0, server.log()
        with server.http() as http:
            for campaign in campaigns:
                assert http.get(f"/campaigns/{campaign}/audit").json()["exact"]
        assert refusals(server, 60, until_answered, campaigns[0])[200] >= 3


def psycopg_connection(url):
    import psycopg

    return psycopg.connect(url)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of another process: Linux only")
def test_a_full_disk(tmp_path):
    """The system refuses to let the files grow; when there is room again, everything goes on."""
    import resource

    with serving(tmp_path / "shop.db", tmp_path) as server:
        server.begin()
        with loaded(server) as load:
            load.wait_for(50)
            full = max(file.stat().st_size for file in tmp_path.glob("shop.db*"))
            _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (full, hard))
            refused = refusals(server, 120, until_refused)
            with server.http() as http:
                assert http.get("/campaigns/spring").status_code == 200  # it can still be looked at
                assert http.get("/healthz").status_code == 200
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
            load.wait_for(20)
            load.stop()
        assert refused[503] >= 3
        with server.http() as http:
            audit = http.get("/campaigns/spring/audit").json()
        assert audit["exact"], audit
        # Those whom `refusals` decided for before the disk was full have no key, and no outcome.
        assert audit["decisions"] == len(load.decided) + refused[200]
        assert audit["rewards"] == len(load.rewarded)


def test_a_server_that_is_asked_to_stop_finishes_what_it_has_begun(place, tmp_path):
    with serving(place, tmp_path) as server:
        server.begin()
        with loaded(server) as load:
            load.wait_for(30)
            assert server.stop() in (0, -15), server.log()
            server.start().wait()
            load.wait_for(5)
            load.stop()
        load.check()
