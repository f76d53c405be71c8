"""Servers of their own: started, stopped, killed and refused."""

import json
import subprocess
import sys
import threading

import httpx
import pytest

from campaigns import postgres_server
from elsv import Campaign
from elsv.cli.serve import serve
from service_server import SHOP, served

KILLS = 4


def command(*words):
    return subprocess.run(
        [sys.executable, "-m", "elsv.cli", "serve", *words], capture_output=True, text=True, timeout=120
    )


def test_it_starts_decides_logs_without_secrets_and_drains(tmp_path):
    path = tmp_path / "shop.db"
    with served(path, "--log-json") as server:
        client = server.client
        assert client.put("/campaigns/spring", json=SHOP).status_code == 201
        made = client.post(
            "/campaigns/spring/decisions", json={}, headers={"Authorization": "Bearer secret-7"}
        ).json()["decisions"]
        assert client.get("/readyz").status_code == 200
        client.get("/campaigns?token=secret-7")
        second = command("--db", str(path), "--port", "0")
        assert second.returncode == 2
        assert f"is served by process {server.process.pid}" in second.stderr
        taken = command("--db", str(tmp_path / "other.db"), "--port", server.url.rsplit(":", 1)[1])
        assert (taken.returncode, "cannot listen" in taken.stderr) == (2, True)
        answers = []

        def ask():
            path = f"{server.url}/campaigns/spring/decisions"
            answers.append(httpx.post(path, json={"count": 1000}, timeout=60))

        thread = threading.Thread(target=ask)
        thread.start()
        threading.Event().wait(0.2)
        server.stop()
        thread.join()
    lines = [json.loads(line) for line in server.lines if line.startswith("{")]
    assert {"at", "client", "method", "path", "status", "ms"} == set(lines[0])
    assert "secret-7" not in "".join(server.lines)
    with Campaign.open(path, "spring") as campaign:
        audit = campaign.audit()
    assert audit.exact
    assert audit.decisions == len(made) + sum(
        len(a.json()["decisions"]) for a in answers if a.status_code == 200
    )
    with served(path) as again:
        assert again.client.get("/campaigns/spring").json()["decided"] == audit.decisions


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--host", "0.0.0.0"), "needs tokens"),
        (("--workers", "3"), "one server"),
        (("--db", "/nowhere/shop.db"), "no directory"),
        (("--db", "postgresql://127.0.0.1:1/nobody"), "no PostgreSQL server answers"),
        (("--port", "99999"), "port"),
    ],
)
def test_what_is_not_started_says_why(tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    done = command(*words)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


class Load:
    """Clients that decide and reward until they are told to stop, and remember what was acknowledged."""

    def __init__(self, clients=4):
        self.decided, self.rewarded, self.unclear = {}, {}, {}
        self._stop, self._url = threading.Event(), None
        self._guard = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(k,)) for k in range(clients)]

    def begin(self, url):
        self._url = url
        for thread in self._threads:
            thread.start()

    def end(self):
        self._stop.set()
        for thread in self._threads:
            thread.join(60)

    def move(self, url):
        self._url = url

    def _run(self, k):
        n = 0
        while not self._stop.is_set():
            customer, n = f"{k}-{n}", n + 1
            made = self._ask("/campaigns/spring/decisions", {"customer": customer}, f"key-{customer}")
            if made is None:
                return
            decision = made["decisions"][0]["id"]
            with self._guard:
                self.decided[customer] = decision
            if self._ask(f"/decisions/{decision}/reward", {"success": n % 3 == 0}, None) is None:
                return
            with self._guard:
                self.rewarded[decision] = n % 3 == 0

    def _ask(self, path, body, key):
        """Ask until there is an answer; the server may be away for a while."""
        headers = {} if key is None else {"Idempotency-Key": key}
        while True:
            try:
                answer = httpx.post(f"{self._url}{path}", json=body, headers=headers, timeout=30)
            except httpx.HTTPError:
                if self._stop.wait(0.02):
                    return None
                continue
            if answer.status_code == 503:
                assert answer.headers["retry-after"]
                if self._stop.wait(0.05):
                    return None
                continue
            assert answer.status_code == 200, answer.text
            return answer.json()

    def check(self, store):
        with Campaign.open(store, "spring") as campaign:
            audit = campaign.audit()
            assert audit.exact, audit
            rows = campaign._store
            with rows.reading() as reading:
                decisions = dict(reading.rows("SELECT id, customer FROM elsv_decision"))
                rewards = dict(
                    reading.rows(
                        "SELECT d.id, r.success FROM elsv_reward r JOIN elsv_decision d "
                        "ON d.campaign = r.campaign AND d.number = r.number"
                    )
                )
        for customer, decision in self.decided.items():
            assert decisions[decision] == customer
        for decision, success in self.rewarded.items():
            assert bool(rewards[decision]) == success
        assert len(decisions) == len(set(decisions.values())), "a decision was made twice"
        assert len(self.decided) > 20


def killed_under_load(store, kills, *options):
    load, begun = Load(), False
    try:
        for _ in range(kills):
            with served(store, *options) as server:
                if not begun:
                    problem = {**SHOP["problem"], "horizon": 100_000}
                    made = server.client.put("/campaigns/spring", json={**SHOP, "problem": problem})
                    assert made.status_code == 201
                    load.begin(server.url)
                    begun = True
                load.move(server.url)
                before = len(load.rewarded)
                while len(load.rewarded) < before + 15:
                    threading.Event().wait(0.02)
                server.kill()
        with served(store, *options) as server:
            load.move(server.url)
            before = len(load.rewarded)
            while len(load.rewarded) < before + 15:
                threading.Event().wait(0.02)
            load.end()
            server.stop()
    finally:
        load.end()
    load.check(store)


def test_nothing_acknowledged_is_lost_or_doubled_when_it_is_killed(tmp_path):
    killed_under_load(tmp_path / "shop.db", KILLS)


@pytest.fixture(scope="module")
def postgres():
    with postgres_server() as server:
        yield server


def test_the_same_on_postgresql(postgres):
    killed_under_load(postgres.new_database(), KILLS)


def test_postgresql_restarted_under_load_is_told_and_overcome(postgres):
    url, load = postgres.new_database(), Load()
    with served(url) as server:
        problem = {**SHOP["problem"], "horizon": 100_000}
        assert server.client.put("/campaigns/spring", json={**SHOP, "problem": problem}).status_code == 201
        load.begin(server.url)
        for how in ("immediate", "fast"):
            while len(load.rewarded) < 15:
                threading.Event().wait(0.02)
            postgres.stop(how)
            down = server.client.post("/campaigns/spring/decisions", json={})
            assert down.status_code == 503
            assert down.headers["retry-after"]
            assert server.client.get("/readyz").status_code == 503
            postgres.start()
            before = len(load.rewarded)
            while len(load.rewarded) < before + 15:
                threading.Event().wait(0.02)
            assert server.client.get("/readyz").status_code == 200
        load.end()
        server.stop()
    assert load.decided
    with Campaign.open(url, "spring") as campaign:
        assert campaign.audit().exact


def test_several_processes_and_several_servers_share_a_campaign(postgres):
    url, loads = postgres.new_database(), [Load(3), Load(3)]
    with served(url, "--workers", "2") as first, served(url) as second:
        problem = {**SHOP["problem"], "horizon": 100_000}
        assert first.client.put("/campaigns/spring", json={**SHOP, "problem": problem}).status_code == 201
        loads[0].begin(first.url)
        while len(loads[0].rewarded) < 40:
            threading.Event().wait(0.02)
        loads[0].end()
        made = [second.client.post("/campaigns/spring/decisions", json={"count": 5}) for _ in range(3)]
        assert [answer.status_code for answer in made] == [200] * 3
        assert second.client.get("/campaigns/spring/audit").json()["exact"]
        second.stop()
        first.stop()


def test_the_command_names_its_extra_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "elsv.service.run", None)
    with pytest.raises(ImportError, match=r"elsv\[service\]"):
        serve()
