"""Servers of their own: what is not started says why, what is logged, and several on one database."""

import contextlib
import json
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from commands import elsv_process
from elsv import Campaign, Problem
from elsv.cli.serving import serve
from elsv.structure import samples, where
from pages import code_of, text_of
from services import serving


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--host", "0.0.0.0"), "needs tokens"),
        (("--db", "/nowhere/shop.db"), "no directory"),
        (("--db", "postgresql://127.0.0.1:1/nobody"), "no PostgreSQL server answers"),
        (("--tokens", "nowhere.json"), "nowhere.json"),
    ],
)
def test_what_is_not_started_says_why(tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    assert said in elsv_process("serve", *words, code=2).stderr


def test_the_command_names_its_extra_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "elsv.service.run", None)
    with pytest.raises(ImportError, match=r"elsv\[service\]"):
        serve()


def test_one_line_for_each_request_and_no_secret_in_it(tmp_path):
    with serving(tmp_path / "shop.db", tmp_path, "--log-json") as server:
        server.begin()
        with server.http() as http:
            http.get("/campaigns?token=secret-7")
            http.post("/campaigns/spring/decisions", json={"customer": "secret-8"})
        taken = subprocess.run(
            [sys.executable, "-m", "elsv.cli", "serve", "--db", "other.db", "--port", str(server.port)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=120,
        )
        assert (taken.returncode, "cannot listen" in taken.stderr) == (2, True)
    text = (tmp_path / "server.log").read_text()
    assert "ready after" in text
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert {"at", "client", "method", "path", "status", "ms"} == set(lines[0])
    assert ("POST", "/campaigns/spring/decisions", 200) in {
        (line["method"], line["path"], line["status"]) for line in lines
    }
    for secret in ("secret-7", "secret-8", *server.tokens.values()):
        assert secret not in text


def test_several_processes_and_several_servers_share_a_campaign(tmp_path, postgres):
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    url = postgres.new_database()
    with serving(url, folders[0], "--workers", "2") as first, serving(url, folders[1]) as second:
        first.begin()
        ids = []
        for k in range(30):
            with (first, second)[k % 2].http("write") as http:  # a new connection each time
                answer = http.post("/campaigns/spring/decisions", json={"count": 3})
                assert answer.status_code == 200, answer.text
                ids += [one["id"] for one in answer.json()["decisions"]]
        with first.http() as http:
            outcomes = [{"decision": one, "success": True} for one in ids]
            assert http.post("/rewards", json={"rewards": outcomes}).status_code == 200
            audit = http.get("/campaigns/spring/audit").json()
        assert (audit["exact"], audit["decisions"], audit["rewards"]) == (True, 90, 90)


DEEP = 250  # mixtures within mixtures


def test_a_campaign_that_cannot_be_read_leaves_the_others_alone(tmp_path):
    """Each is listed with its reason, the log has it once, and the server gets ready."""
    db, draws = tmp_path / "shop.db", tmp_path / "draws.npy"
    np.save(draws, np.random.default_rng(1).random((50, 2)))
    nested = {"order": "decreasing"}
    for _ in range(DEEP):
        nested = {"mixture": [[0.5, nested], [0.5, {"free": True}]]}
    arms = {"rewards": [0.8, 1.0], "horizon": 50}
    Campaign.open(db, "a file", Problem(**arms, structure=samples(str(draws))), policy="greedy")
    Campaign.open(
        db, "a function", Problem(**arms, structure=where(lambda m: m[..., 0] > 0)), policy="greedy"
    )
    Campaign.open(db, "fine", Problem(**arms), policy="greedy")
    Campaign.open(db, "nested", Problem(**arms), policy="greedy")
    with contextlib.closing(sqlite3.connect(db)) as connection, connection:
        text = json.dumps(Problem(**arms).to_dict() | {"structure": nested})
        connection.execute("UPDATE elsv_campaign SET problem = ? WHERE name = 'nested'", (text,))
    draws.unlink()
    with serving(db, tmp_path) as server, server.http() as http:
        for _ in range(2):
            listed = {one["name"]: one["unreadable"] for one in http.get("/campaigns").json()["campaigns"]}
        assert listed.pop("fine") is None
        assert set(listed) == {"a file", "a function", "nested"}
        assert "draws.npy" in listed["a file"]
        assert "where" in listed["a function"]
        assert "nested" in listed["nested"] or "recursion" in listed["nested"]
        assert http.post("/campaigns/fine/decisions", json={"count": 2}).status_code == 200
        for name in listed:
            for answer in (
                http.get(f"/campaigns/{name}"),
                http.post(f"/campaigns/{name}/decisions", json={}),
            ):
                assert answer.status_code in (422, 503), answer.text
        assert http.get("/readyz").status_code == 200
        log = server.log()
        assert [log.count(f"campaign {name!r} cannot be served") for name in listed] == [1, 1, 1]
        assert "Traceback" not in log
        http.cookies.clear()
        code = code_of(http.get("/ui/login").text)
        http.post("/ui/login", data={"token": server.tokens["read"], "code": code})
        html = text_of(http.get("/").text)
        assert html.count("It cannot be read: ") == 3
        assert "draws.npy" in html


def test_a_file_has_one_server_under_whatever_name(tmp_path):
    link = tmp_path / "link.db"
    with serving(tmp_path / "shop.db", tmp_path):
        link.symlink_to(tmp_path / "shop.db")
        for path in (link, tmp_path / "shop.db"):
            command = [sys.executable, "-m", "elsv.cli", "serve", "--db", str(path), "--port", "0"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            assert (done.returncode, "has one server" in done.stderr) == (2, True), done.stderr
