"""Backups of files in use, and campaigns moved between SQLite and PostgreSQL: the whole log, or nothing."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from campaigns import Clock, shop
from elsv import Campaign, CorruptFileError, InvalidInputError, StoreError
from elsv.campaign import copying
from elsv.campaign.backup import backup
from elsv.campaign.copying import ITSELF, campaign_tables, copy_campaigns
from elsv.campaign.opening import open_store
from elsv.cli import app

QUICK = {"policy": "random:pending=ignore"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop.db"


def lived(place, name="spring", clock=None):
    """A campaign that has seen everything that a log can hold."""
    clock = clock or Clock()
    campaign = Campaign.open(
        place, name, shop(), window="1 day", floor=0.05, unit="EUR", clock=clock, seed=4, policy="thompson"
    )
    made = campaign.decide(count=40, key=f"{name}-all")
    for k, decision in enumerate(made[:15]):
        campaign.reward(decision.id, success=k % 3 == 0)
    clock.pass_(90_000)
    campaign.reward(made[20].id, success=True)
    campaign.decide("späte Kundin", key=f"{name}-late")
    campaign.pause()
    campaign.decide("c-2")
    campaign.resume()
    campaign.extend(500)
    campaign.void(made[21])
    campaign.correct(made[0], success=False)
    campaign.forget("c-2")
    return campaign


def everything(place):
    """All rows of all campaigns, by table and by the campaign's name instead of its number."""
    store = open_store(place, create=False)
    with store.reading() as reading:
        tables = campaign_tables()
        found = {
            table.name: sorted(
                reading.rows(
                    f"SELECT c.name, {', '.join(f't.{column}' for column in table.columns)} "
                    f"FROM {table.name} t JOIN elsv_campaign c ON c.id = t.campaign"
                ),
                key=repr,
            )
            for table in tables
        }
        found["elsv_campaign"] = reading.rows(f"SELECT {', '.join(ITSELF)} FROM elsv_campaign ORDER BY 1")
    store.close()
    return found


def test_a_backup_is_the_file_at_one_moment(path, tmp_path):
    with lived(path):
        told = []
        copy = tmp_path / "copy.db"
        made = backup(path, copy, progress=lambda done, total: told.append((done, total)))
        assert (made.campaigns, made.decisions, made.audited) == (1, 42, True)
        assert made.bytes == copy.stat().st_size
        assert "1 campaigns with 42 decisions" in str(made)
        assert told[-1][0] == told[-1][1] > 0
        assert everything(str(copy)) == everything(str(path))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["copy.db", "shop.db"]
    with Campaign.open(copy, "spring") as campaign:
        campaign.decide()
        assert campaign.audit().exact


def test_a_backup_under_load_misses_no_part_of_a_transaction(path, tmp_path):
    campaign = Campaign.open(path, "x", shop(horizon=100_000), **QUICK)
    campaign.decide(count=3000)
    going, ended = threading.Event(), threading.Event()

    def write():
        with Campaign.open(path, "x") as mine:
            while not ended.is_set():
                decision = mine.decide()
                mine.reward(decision.id, success=True)
                going.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert going.wait(60)
        for k in range(3):
            copy = tmp_path / f"copy{k}.db"
            made = backup(path, copy)
            assert made.decisions >= 3001
            with Campaign.open(copy, "x") as copied:
                assert copied.audit().exact
    finally:
        ended.set()
        writer.join()
    campaign.close()


def test_what_a_backup_refuses(path, tmp_path):
    lived(path).close()
    copy = tmp_path / "copy.db"
    copy.write_text("mine")
    with pytest.raises(InvalidInputError, match=r"copy.db is there already; choose another path.*--force"):
        backup(path, copy)
    assert copy.read_text() == "mine"
    with pytest.raises(InvalidInputError, match="must be another file"):
        backup(path, path, overwrite=True)
    with pytest.raises(InvalidInputError, match="use pg_dump"):
        backup("postgresql://localhost/x", copy)
    with pytest.raises(InvalidInputError, match="there is no campaign file"):
        backup(tmp_path / "nothing.db", copy)
    assert backup(path, copy, overwrite=True).decisions == 42
    if os.name == "posix":
        path.chmod(0o600)
        assert backup(path, tmp_path / "own.db")
        assert stat.S_IMODE((tmp_path / "own.db").stat().st_mode) == 0o600


def test_damaged_files_are_not_copied(path, tmp_path):
    lived(path).close()
    copy = tmp_path / "copy.db"
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM elsv_reward WHERE number = 3")
    connection.close()
    with pytest.raises(CorruptFileError, match=r"campaign 'spring' of .* is damaged; nothing was copied"):
        backup(path, copy)
    with pytest.raises(CorruptFileError, match=r"campaign 'spring' of .* is damaged; nothing was copied"):
        copy_campaigns(path, copy)
    broken = tmp_path / "broken.db"
    content = bytearray(path.read_bytes())
    content[8192:20000] = os.urandom(20000 - 8192)
    broken.write_bytes(content)
    with pytest.raises(CorruptFileError, match="is damaged"):
        backup(broken, tmp_path / "other.db")
    broken.write_text("no database at all, but long enough to be taken for one" * 100)
    with pytest.raises(CorruptFileError, match="damaged or no campaign file"):
        backup(broken, tmp_path / "other.db")
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(CorruptFileError, match="is no campaign file"):
        backup(foreign, tmp_path / "other.db")
    assert not (tmp_path / "other.db").exists()
    assert not list(tmp_path.glob(".elsv*"))


def test_damage_that_no_count_shows_is_found(path, tmp_path):
    """An index that lacks rows: every count of the log is right, and only SQLite's own check tells."""
    lived(path).close()
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = sql || ' AND arm > 1' WHERE name = 'elsv_decision_customer'"
        )
        connection.execute("PRAGMA writable_schema = OFF")
    connection.close()
    with Campaign.open(path, "spring") as campaign:
        assert campaign.audit().exact
    with pytest.raises(CorruptFileError, match=r"is damaged \(.*elsv_decision_customer.*nothing was copied"):
        backup(path, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def killed_while_writing(path):
    """Let a process decide in a file and be killed, so that its write-ahead log stays."""
    program = (
        "import os, signal, sys; from elsv import Campaign; c = Campaign.open(sys.argv[1], 'spring')\n"
        "for k in range(5): c.decide(count=100)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, path], check=False)
    assert Path(f"{path}-wal").stat().st_size > 0


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_backup_over_a_file_with_a_write_ahead_log_is_what_was_copied(path, tmp_path):
    copy = tmp_path / "monday.db"
    with Campaign.open(path, "spring", shop(horizon=2000), seed=1, **QUICK) as campaign:
        campaign.decide(count=50)
        backup(path, copy)
        killed_while_writing(copy)
        campaign.decide(count=7)
        assert backup(path, copy, overwrite=True).decisions == 57
        assert not [one.name for one in tmp_path.iterdir() if one.name.startswith("monday.db-")]
        assert everything(str(copy)) == everything(str(path))
        # The same where the old copy itself is gone and its log is not.
        killed_while_writing(copy)
        copy.unlink()
        assert backup(path, copy).decisions == 57
        assert everything(str(copy)) == everything(str(path))


def test_a_copy_that_is_in_use_is_not_replaced(path, tmp_path):
    copy = tmp_path / "copy.db"
    lived(path).close()
    lived(copy, "autumn").close()
    with Campaign.open(copy, "autumn") as used:
        before = used.audit()
        with pytest.raises(StoreError, match=r"copy.db is in use by another process.*nothing was changed"):
            backup(path, copy, overwrite=True)
        used.decide()
        assert used.audit().decisions == before.decisions + 1
    assert backup(path, copy, overwrite=True).campaigns == 1


def test_a_file_that_is_replaced_while_it_is_open_is_noticed(path, tmp_path):
    other = tmp_path / "other.db"
    lived(other, "spring", Clock()).close()
    campaign = Campaign.open(path, "spring", shop(horizon=2000), **QUICK)
    campaign.decide(count=300)
    os.replace(other, path)
    for call in (campaign.audit, campaign.decide, campaign.status):
        with pytest.raises(StoreError, match=r"was replaced while it was in use, and shop.db-wal is still"):
            call()
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").rename(tmp_path / f"old{end}")
    assert campaign.audit().decisions == 42
    # Without a log of the first file one call fails, so that somebody hears of it, and the next goes on.
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    lived(other, "spring", Clock()).close()
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").unlink()
    os.replace(other, path)
    with pytest.raises(StoreError, match="was replaced by another file while it was in use; nothing was rec"):
        campaign.audit()
    assert campaign.audit().decisions == 42
    campaign.close()


def test_no_other_connection_opens_a_file_that_took_the_place_of_one_in_use(path, tmp_path):
    """A new connection mixed the log of the first file with the second file, and damaged it."""
    other = tmp_path / "other.db"
    lived(other, "autumn", Clock()).close()
    campaign = Campaign.open(path, "spring", shop(horizon=2000), **QUICK)
    campaign.decide(count=300)
    os.replace(other, path)
    for opens in (campaign.store.another, lambda: Campaign.open(path, "autumn")) * 2:
        with pytest.raises(StoreError, match=r"was replaced while it was in use, and shop.db-wal is still"):
            opens()
    with pytest.raises(StoreError, match="was replaced while it was in use"):
        campaign.decide()
    campaign.close()
    with pytest.raises(StoreError, match="was replaced while it was in use"):
        Campaign.open(path, "autumn")
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").rename(tmp_path / f"old{end}")
    with Campaign.open(path, "autumn") as autumn:
        assert autumn.audit().exact
        assert autumn.audit().decisions == 42


def test_a_file_that_is_gone_is_no_mistake_of_who_asks(path):
    """One more connection to a file that somebody removed: the database cannot be used now."""
    with Campaign.open(path, "spring", shop(), **QUICK) as campaign:
        campaign.decide()
        path.unlink()
        with pytest.raises(
            StoreError, match=r"shop.db is gone; nothing was recorded by this call: put it back"
        ):
            campaign.store.another()


def test_a_backup_makes_no_directories(path, tmp_path):
    lived(path).close()
    with pytest.raises(InvalidInputError, match=r"there is no directory .*nowhere for .*make it, or choose"):
        backup(path, tmp_path / "nowhere" / "copy.db")
    assert not (tmp_path / "nowhere").exists()


def test_a_backup_before_an_upgrade_upgrades_nothing(path, tmp_path):
    """A file of another elsv is copied as it is."""
    lived(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO elsv_migration VALUES (9999, 'of tomorrow', 0)")
    connection.close()
    made = backup(path, tmp_path / "copy.db")
    assert not made.audited
    assert "not audited" in str(made)
    with sqlite3.connect(tmp_path / "copy.db") as connection:
        assert connection.execute("SELECT MAX(number) FROM elsv_migration").fetchone() == (9999,)
    connection.close()


def test_to_postgres_and_back(path, tmp_path, postgres, monkeypatch):
    monkeypatch.setattr(copying, "_AT_ONCE", 7)  # several parts of every table
    lived(path).close()
    lived(path, "autumn").close()
    database, told = postgres.new_database(), []
    made = copy_campaigns(path, database, progress=lambda done, total: told.append((done, total)))
    assert [one.name for one in made.campaigns] == ["spring", "autumn"]
    assert (made.campaigns[0].decisions, made.campaigns[0].went_on) == (42, 0)
    assert told[-1][0] == told[-1][1]
    assert everything(database) == everything(str(path))
    back = tmp_path / "back.db"
    copy_campaigns(database, back)
    assert everything(str(back)) == everything(str(path))
    # The copy goes on as the first would have: the same keys, customers and draws.
    clock = Clock(1_000_000.0 + 90_001)
    with (
        Campaign.open(path, "spring", clock=clock) as first,
        Campaign.open(database, "spring", clock=clock) as second,
    ):
        assert second.decide("späte Kundin").id == first.decide("späte Kundin").id
        assert [d.id for d in second.decide(count=40, key="spring-all")][3] == first.decide(
            count=40, key="spring-all"
        )[3].id
        assert [d.arm for d in first.decide(count=20)] == [d.arm for d in second.decide(count=20)]
        assert first.audit() == second.audit()
        assert second.audit().exact


def test_customers_of_segments_are_copied_too(path, tmp_path, postgres):
    problem = shop(order=None, segments={"new": [1, 2], "known": [3, 4]})
    with Campaign.open(path, "x", problem, control=[0, 2], **QUICK) as campaign:
        for segment in ("new", "known", "new"):
            campaign.decide(segment=segment)
        assert campaign.audit().exact
    assert backup(path, tmp_path / "copy.db").audited
    database = postgres.new_database()
    copy_campaigns(path, database)
    assert everything(database) == everything(str(path))
    assert {row[-2] for row in everything(database)["elsv_decision"]} == {0, 1}


def test_what_a_copy_refuses(path, tmp_path):
    lived(path).close()
    lived(path, "autumn").close()
    other = tmp_path / "other.db"
    lived(other, "autumn").close()
    before = everything(str(other))
    with pytest.raises(InvalidInputError, match=r"has a campaign 'autumn' already"):
        copy_campaigns(path, other)
    assert everything(str(other)) == before
    with pytest.raises(InvalidInputError, match=r"unknown campaign of .* 'sprin': did you mean 'spring'"):
        copy_campaigns(path, other, ["sprin"])
    assert [one.name for one in copy_campaigns(path, other, ["spring", "spring"]).campaigns] == ["spring"]
    assert everything(str(other))["elsv_campaign"] == everything(str(path))["elsv_campaign"]
    with pytest.raises(InvalidInputError, match="there is no campaign file"):
        copy_campaigns(tmp_path / "nothing.db", other)
    with pytest.raises(InvalidInputError, match="has a campaign 'spring' already"):
        copy_campaigns(path, path)
    open_store(tmp_path / "empty.db").close()
    with pytest.raises(InvalidInputError, match="has no campaigns"):
        copy_campaigns(tmp_path / "empty.db", other)


def test_a_copy_that_fails_leaves_nothing(path, tmp_path, monkeypatch):
    lived(path).close()
    count = copying._count
    monkeypatch.setattr(copying, "_count", lambda log, table: count(log, table) + id(log))
    with pytest.raises(StoreError, match="nothing was copied"):
        copy_campaigns(path, tmp_path / "copy.db")
    assert everything(str(tmp_path / "copy.db"))["elsv_campaign"] == []
    monkeypatch.undo()
    copy_campaigns(path, tmp_path / "copy.db")


def test_a_copy_says_when_the_source_went_on(path, tmp_path):
    campaign = lived(path)
    seen = []

    def meanwhile(done, total):
        if not seen:
            seen.append(done)
            with Campaign.open(path, "spring", clock=Clock(1_000_000.0 + 90_001)) as other:
                other.decide(count=2)

    made = copy_campaigns(path, tmp_path / "copy.db", progress=meanwhile)
    assert (made.campaigns[0].decisions, made.campaigns[0].went_on) == (42, 2)
    campaign.close()


def test_every_table_of_a_campaign_is_copied(postgres):
    """A table or column that a migration adds is not forgotten."""
    store, tables = open_store(postgres.new_database()), campaign_tables()
    query = (
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_name LIKE 'elsv%' "
        "ORDER BY ordinal_position"
    )
    columns = {}
    with store.reading() as reading:
        for table, column in reading.rows(query):
            columns.setdefault(table, []).append(column)
    assert columns.pop("elsv_campaign") == ["id", *ITSELF]
    assert columns.pop("elsv_migration")
    assert columns.pop("elsv_session")
    assert columns == {table.name: ["campaign", *table.columns] for table in tables}
    assert all(table.key for table in tables)
    store.close()


def test_the_commands(path, tmp_path):
    lived(path).close()
    copy, moved = str(tmp_path / "copy.db"), str(tmp_path / "moved.db")
    run = CliRunner().invoke
    assert "checked and audited" in run(app, ["backup", str(path), copy]).stdout
    again = run(app, ["backup", str(path), copy])
    assert isinstance(again.exception, InvalidInputError)
    made = json.loads(run(app, ["backup", str(path), copy, "--force", "--json"]).stdout)
    assert (made["decisions"], made["audited"]) == (42, True)
    assert "spring: 42 decisions, 16 outcomes" in run(app, ["copy", copy, moved]).stdout
    made = json.loads(
        run(app, ["copy", copy, str(tmp_path / "third.db"), "--campaign", "spring", "--json"]).stdout
    )
    assert made["campaigns"][0]["went_on"] == 0
