"""Stores that cannot do what they are asked: clear errors, nothing lost, and going on afterwards."""

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from campaigns import Clock, postgres_server, shop
from elsv import Campaign, CorruptFileError, InvalidInputError, StoreError
from elsv.campaign.backup import backup
from elsv.campaign.opening import campaigns_of, open_store
from elsv.stores.base import migrations, statements
from elsv.stores.postgres import made_in_postgres
from elsv.stores.sqlite import SqliteStore

DATA = Path(__file__).parent / "data"
QUICK = {"policy": "random:pending=ignore"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop.db"


def test_a_full_disk_loses_nothing(path):
    campaign = Campaign.open(path, "x", shop(horizon=100_000), **QUICK)
    first = campaign.decide()
    connection = campaign.store._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    campaign.decide(count=2)
    with pytest.raises(StoreError, match=r"full; nothing was recorded by this call: free some space"):
        campaign.decide(count=2000)
    decided = campaign.status().decided
    assert campaign.audit().exact
    connection.execute("PRAGMA max_page_count = 1000000")
    campaign.decide(count=20)
    assert campaign.status().decided == decided + 20
    assert campaign.reward(first.id, success=True).status == "recorded"
    assert campaign.audit().exact


def test_a_file_that_may_only_be_read(path):
    with Campaign.open(path, "x", shop(), **QUICK) as campaign:
        decision = campaign.decide()
    path.chmod(0o444)
    path.parent.chmod(0o555)
    closed = {directory: directory.stat().st_mode for directory in path.parent.parents[:3]}
    for directory, mode in closed.items():
        directory.chmod(mode | 0o055)  # so that another user comes as far
    code = f"""
from elsv import Campaign, StoreError
campaign = Campaign.open({str(path)!r}, "x")
print(campaign.status().decided, campaign.audit().exact)
for call in (campaign.decide, lambda: campaign.reward({decision.id!r}, success=True), campaign.pause):
    try:
        call()
    except StoreError as error:
        print(error)
"""
    user = "nobody" if os.geteuid() == 0 else None
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    try:
        if user and not readable_by(user, sys.executable):
            pytest.skip("another user cannot run this Python")
        done = subprocess.run(
            [sys.executable, "-c", code], user=user, env=environment, capture_output=True, text=True, cwd="/"
        )
    finally:
        path.parent.chmod(0o755)
        for directory, mode in closed.items():
            directory.chmod(mode)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "1 True"
    assert len(lines) == 4
    assert all("readonly" in line and "give yourself the right to write" in line for line in lines[1:])


def test_a_store_that_may_only_be_read(path, monkeypatch):
    """The same within one process, whoever runs it."""
    clock = Clock()
    with Campaign.open(path, "x", shop(), window=0.001, clock=clock, **QUICK) as campaign:
        decision = campaign.decide()
        clock.pass_(10)  # it is due, and cannot be expired
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", lambda *_: False)
        assert campaign.status().decided == 1
        campaign.explain()
        assert campaign.audit().exact
        for call in (campaign.decide, campaign.pause, lambda: campaign.reward(decision.id, success=True)):
            with pytest.raises(StoreError, match="give yourself the right to write"):
                call()
        campaign.close()
    assert campaign.reward(decision.id, success=True).status == "late"


def readable_by(user, program):
    try:
        command = [program, "-c", "import elsv, numpy"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        return (
            subprocess.run(command, user=user, env=environment, cwd="/", capture_output=True).returncode == 0
        )
    except OSError:
        return False


def test_a_damaged_file(path):
    with Campaign.open(path, "x", shop(), **QUICK) as campaign:
        campaign.decide(count=500)
    whole = path.read_bytes()
    path.write_bytes(b"no database at all" * 1000)
    with pytest.raises(CorruptFileError, match="damaged or no campaign file"):
        Campaign.open(path, "x")
    for other in path.parent.glob("shop.db-*"):
        other.unlink()
    path.write_bytes(whole[:8192] + b"\x5a" * (len(whole) - 8192))
    with pytest.raises((CorruptFileError, StoreError)):
        Campaign.open(path, "x").audit()
    path.write_bytes(whole)
    assert Campaign.open(path, "x").audit().exact


def test_places_where_no_file_can_be(tmp_path):
    with pytest.raises(InvalidInputError, match="is a directory"):
        Campaign.open(tmp_path, "x", shop())
    with pytest.raises(StoreError, match="in a directory that exists"):
        Campaign.open(tmp_path / "none" / "x.db", "x", shop())


def test_another_database_is_not_touched(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine (a)")
        connection.execute("INSERT INTO mine VALUES (1)")
    connection.close()
    with Campaign.open(path, "x", shop(), **QUICK) as campaign:
        campaign.decide()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT a FROM mine").fetchall() == [(1,)]
    connection.close()


def test_a_file_of_a_newer_elsv_is_refused(path):
    Campaign.open(path, "x", shop()).close()
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO elsv_migration VALUES (99, 'later', 0)")
    connection.commit()
    connection.close()
    with pytest.raises(CorruptFileError, match="written by a newer elsv"):
        Campaign.open(path, "x")


def test_migrations_are_numbered_and_of_types_that_both_stores_know():
    numbers = [number for number, _, _ in migrations()]
    assert numbers == list(range(1, len(numbers) + 1))
    for _, _, sql in migrations():
        for statement in statements(sql):
            made = made_in_postgres(statement)
            assert not re.search(r"\b(INTEGER|REAL|ROWID|BLOB|AUTOINCREMENT|PRAGMA)\b", made)


def test_every_write_is_on_disk_when_it_returns(path):
    campaign = Campaign.open(path, "x", shop(), **QUICK)
    connection = campaign.store._connection
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    copy = path.parent / "copy"
    copy.mkdir()
    campaign.decide(count=3)
    for file in path.parent.glob("shop.db*"):
        shutil.copy(file, copy)  # as a crash would leave it
    assert Campaign.open(copy / "shop.db", "x").status().decided == 3


def test_a_database_that_goes_and_comes_back():
    with postgres_server() as server:
        place = server.new_database()
        campaign = Campaign.open(place, "x", shop(), **QUICK)
        decision = campaign.decide("a", key="k")
        server.stop("immediate")
        with pytest.raises(StoreError, match=r"no PostgreSQL server answers|was lost"):
            campaign.decide("b")
        with pytest.raises(StoreError, match="nothing was recorded by this call"):
            campaign.decide("b")
        with pytest.raises(StoreError):
            campaign.reward(decision.id, success=True)
        server.start()
        assert campaign.reward(decision.id, success=True).status == "recorded"
        assert campaign.decide("a", key="k").id == decision.id
        assert campaign.status().decided == 1
        # The server restarts between two calls: the next one finds a new connection by itself.
        server.stop("fast")
        server.start()
        campaign.decide("c")
        assert campaign.audit().exact
        with pytest.raises(StoreError, match="does not exist"):
            Campaign.open(server.url("nothing"), "x", shop())
        campaign.close()


def test_a_url_that_leads_nowhere():
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError, match="no PostgreSQL server answers at postgresql://localhost/x: "):
        Campaign.open("postgresql://someone:secret@localhost:1/x", "x", shop())


def test_without_psycopg_the_error_names_the_extra(tmp_path):
    code = """
import sys
sys.modules["psycopg"] = None
from elsv import Campaign, MissingExtraError
try:
    Campaign.open("postgresql://localhost/x", "x")
except MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'elsv[postgres]'" in done.stdout


def test_migrations_travel_with_the_package():
    import elsv

    root = Path(elsv.__file__).parent / "stores" / "migrations"
    assert {p.name for p in root.glob("*.sql")} == {name for _, name, _ in migrations()}


def test_a_store_that_may_only_be_read_shows_what_others_write(path, monkeypatch):
    def count(store):
        with store.reading() as reading:
            return reading.rows("SELECT COUNT(*) FROM elsv_decision")[0][0]

    with Campaign.open(path, "x", shop(), **QUICK) as campaign:
        campaign.decide()
        campaign.close()
        with monkeypatch.context() as others:
            others.setattr(os, "access", lambda place, mode: mode != os.W_OK)
            store = SqliteStore(path, create=False)
            assert count(store) == 1
        campaign.decide()
        campaign.close()
        assert count(store) == 2
        campaign.decide()  # the store may write by now, and so keeps its connection
        assert count(store) == 3
        store.close()


EARLIER = [number for number, _, _ in migrations()[:-1]]


@pytest.mark.parametrize("number", EARLIER)
def test_a_store_of_every_earlier_elsv_goes_on(path, tmp_path, number):
    """Files that were written by the elsv of each migration; the next migration needs one of today's."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript((DATA / f"store_{number}.sql").read_text(encoding="utf-8"))
        before = connection.execute("SELECT id, arm, propensities FROM elsv_decision ORDER BY id").fetchall()
    clock = Clock(1_090_001.0)
    with Campaign.open(path, "spring/summer", clock=clock) as campaign:
        assert campaign.audit().exact
        assert (campaign.audit().decisions, campaign.audit().rewards, campaign.audit().expirations) == (
            11,
            5,
            5,
        )
        assert (campaign.settings.horizon, campaign.settings.window, campaign.version) == (80, 86400.0, 4)
        first = campaign.decide(count=8, key="first")
        assert [decision.id[-1] for decision in first] == list("12345678")
        assert campaign.decide("Zoë", key="visit-1").repeated
        assert campaign.decide("late").repeated
        assert campaign.reward(first[6].id, success=True).status == "late"
        assert campaign.reward(first[0].id, success=True).status == "duplicate"
        assert [arm.history for arm in campaign.status().arms] == [7, 0, 0]
        assert campaign.decide(count=5)[-1].number == 16
        assert campaign.audit().exact
    if number >= 2:
        with Campaign.open(path, "segments", clock=clock) as campaign:
            assert campaign.decide("k", key="k1", segment="known").repeated
            assert campaign.decide(segment="new").segment == "new"
            assert campaign.audit().exact
    with contextlib.closing(sqlite3.connect(path)) as connection:
        after = connection.execute("SELECT id, arm, propensities FROM elsv_decision ORDER BY id").fetchall()
    assert set(before) <= set(after)
    assert backup(path, tmp_path / "copy.db").audited


def test_a_backup_of_an_earlier_store_can_be_restored(path, tmp_path):
    """What was copied before an upgrade is upgraded when it is opened."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript((DATA / "store_1.sql").read_text(encoding="utf-8"))
    assert not backup(path, tmp_path / "copy.db").audited
    with Campaign.open(path, "spring/summer", clock=Clock(1_090_001.0)) as campaign:
        campaign.decide(count=3)
    assert not backup(tmp_path / "copy.db", path, overwrite=True).audited
    with Campaign.open(path, "spring/summer", clock=Clock(1_090_001.0)) as campaign:
        assert campaign.audit().decisions == 11
        assert campaign.audit().exact


def test_one_problem_that_was_spoiled_does_not_hide_the_other_campaigns(tmp_path):
    """Whatever stands in its place in the database: no JSON, or JSON of another kind."""
    spoiled = ["{", "[]", "5", "[" * 5000 + "]" * 5000, '{"rewards": 3}']
    path = tmp_path / "shop.db"
    for k in range(len(spoiled) + 1):
        with Campaign.open(path, f"c{k}", shop(), policy="greedy") as campaign:
            campaign.decide()
    with sqlite3.connect(path) as connection:
        for k, text in enumerate(spoiled):
            connection.execute("UPDATE elsv_campaign SET problem = ? WHERE name = ?", (text, f"c{k}"))
    connection.close()
    found = campaigns_of(open_store(path))
    assert [one.unreadable is None for one in found] == [False] * len(spoiled) + [True]
    assert all("cannot be read" in one.unreadable for one in found[:-1])
    assert {(one.arms, one.decided) for one in found} == {(4, 1)}
