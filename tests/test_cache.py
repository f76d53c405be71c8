from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from commands import elsv
from elsv._base import cache
from elsv.errors import InvalidInputError

STATES = 100_005  # large
KEY = ("kind-1", 1.0, 0.1, 0.99)


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch):
    monkeypatch.setenv("ELSV_CACHE_DIR", str(tmp_path / "tables"))
    cache.memory.clear()
    return tmp_path / "tables"


class Counter:
    def __init__(self, states=STATES):
        self.states, self.calls = states, 0

    def __call__(self):
        self.calls += 1
        return np.arange(float(self.states))


def files(directory: Path) -> list[Path]:
    return sorted(directory.glob("*")) if directory.exists() else []


def test_a_table_is_computed_once_and_read_only():
    compute = Counter(10)
    first = cache.cached_table(KEY, compute, 10)
    again = cache.cached_table(("kind-1", 1, 0.1, 0.99), compute, 10)
    assert compute.calls == 1
    np.testing.assert_array_equal(first, again)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1.0


def test_the_callers_array_is_not_frozen():
    mine = np.arange(4.0)
    cache.cached_table(KEY, lambda: mine, 4)
    mine[0] = 5.0
    assert cache.cached_table(KEY, lambda: mine, 4)[0] == 0.0


@pytest.mark.parametrize(
    "other", [("kind-2", *KEY[1:]), ("kind-1", np.nextafter(1.0, 2.0), *KEY[2:]), (*KEY, "x")]
)
def test_everything_that_a_table_depends_on_is_in_its_key(other):
    cache.cached_table(KEY, Counter(3), 3)
    assert cache.known_table(KEY, 3) is not None
    assert cache.known_table(other, 3) is None
    assert cache.known_table(KEY, 2) is None


def test_small_tables_stay_off_the_disk_and_large_ones_go_there(directory):
    cache.cached_table(KEY, Counter(100), 100)
    assert files(directory) == []
    cache.cached_table(KEY, Counter(), STATES)
    assert len(files(directory)) == 1
    cache.memory.clear()
    table = cache.cached_table(KEY, lambda: pytest.fail("computed"), STATES)
    np.testing.assert_array_equal(table, np.arange(float(STATES)))
    assert not table.flags.writeable


def ask(number, states=STATES, compute=None):
    return cache.cached_table((*KEY, number), compute or Counter(states), states)


def known(number, states=1000):
    return cache.known_table((*KEY, number), states) is not None


def test_memory_is_bounded_and_the_least_recently_used_goes_first(monkeypatch):
    monkeypatch.setenv("ELSV_CACHE_MEMORY", "30kB")
    for number in range(3):
        ask(number, 1000)
    ask(0, 1000, lambda: pytest.fail("computed"))
    ask(3, 1000)
    assert [known(number) for number in range(4)] == [True, False, True, True]
    table = ask(4, 10_000)  # more than there is room for: the last one stays
    assert [known(number) for number in range(4)] == [False] * 4
    assert known(4, 10_000)
    assert len(table) == 10_000
    assert cache.memory.bytes == 80_000


def test_locks_do_not_pile_up():
    for number in range(20):
        ask(number, 10)
    assert not cache.memory._making


def test_disk_is_bounded_and_the_least_recently_used_goes_first(directory, monkeypatch):
    monkeypatch.setenv("ELSV_CACHE_DISK", f"{3 * 8 * STATES + 10_000}")
    directory.mkdir()
    foreign = [directory / "notes.txt", directory / "mine.table"]
    for path in foreign:
        path.write_text("mine")
    for number in range(3):
        ask(number)
        newest = max(set(files(directory)) - set(foreign), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, (1000 + number, 1000 + number))
    cache.memory.clear()
    ask(0, compute=lambda: pytest.fail("computed"))
    ask(3)
    cache.memory.clear()
    assert len(files(directory)) == 3 + len(foreign)
    for number in (0, 2, 3):
        ask(number, compute=lambda: pytest.fail("computed"))
    compute = Counter()
    ask(1, compute=compute)
    assert compute.calls == 1
    assert all(path.read_text() == "mine" for path in foreign)


def test_no_files_at_all(directory, monkeypatch):
    monkeypatch.setenv("ELSV_CACHE_DISK", "0")
    ask(1)
    assert files(directory) == []


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("1500", 1500), ("2 GB", 2 * 10**9), ("1.5mb", 1_500_000), ("7b", 7)]
)
def test_sizes(monkeypatch, text, size):
    monkeypatch.setenv("ELSV_CACHE_DISK", text)
    assert cache.disk_limit() == size


@pytest.mark.parametrize("text", ["much", "-1", "nan", "1PB", "1e9999", "9" * 400])
def test_what_is_no_size_is_refused(monkeypatch, text):
    monkeypatch.setenv("ELSV_CACHE_MEMORY", text)
    with pytest.raises(InvalidInputError, match="ELSV_CACHE_MEMORY must be a size such as"):
        ask(1, 10)


def test_an_index_does_not_depend_on_what_was_dropped(monkeypatch):
    from elsv.indices import Setting, make_index
    from elsv.problem import Problem

    setting = Setting.of(Problem([1.0, 1.0], discount=0.9))
    index = make_index("gittins", tolerance=1e-3)
    index.prepare(setting, 1100)
    alpha, beta = np.full(2, 700.0), np.full(2, 502.0)  # past what is always taken from a table
    before = index(alpha, beta, 1, setting)
    monkeypatch.setenv("ELSV_CACHE_MEMORY", "0")
    monkeypatch.setenv("ELSV_CACHE_DISK", "0")
    ask(1, 10)
    assert (index(alpha, beta, 1, setting) == before).all()


def test_trees_in_memory_are_bounded(monkeypatch):
    tree = importlib.import_module("elsv.search.lookahead")  # the package has a function of that name
    monkeypatch.setenv("ELSV_CACHE_MEMORY", "100kB")
    for depth in range(2, 8):
        assert tree.make_tree(2, depth) is tree.make_tree(2, depth)
    assert 0 < cache.memory.bytes <= 100_000


def test_tables_of_indices_share_the_one_bound(monkeypatch):
    from elsv.indices import make_index
    from elsv.indices.tables import IndexTables
    from elsv.problem import Problem

    problem = Problem([1.0, 1.0], horizon=60)
    made = [IndexTables(problem, make_index("bayes-ucb"), 60) for _ in range(2)]
    assert made[0]._sources == made[1]._sources
    assert cache.memory.bytes == 8 * 60 * 1830 // 3
    monkeypatch.setenv("ELSV_CACHE_MEMORY", "1kB")
    ask(1, 10)
    assert cache.memory.bytes == 80


def test_the_command(directory):
    for number in range(2):
        ask(number)
    (directory / "notes.txt").write_text("mine")
    kernels = directory / "kernels" / "beliefs_0123"
    kernels.mkdir(parents=True)
    (kernels / "f.nbi").write_text("index")
    (kernels / "notes.txt").write_text("mine")
    assert "tables     2 files, 1.6 MB of at most 1,000 MB" in elsv("cache").stdout
    found = json.loads(elsv("cache", "--json").stdout)
    assert found["directory"] == str(directory)
    assert found["tables"]["count"] == 2
    assert found["kernels"] == {"count": 1, "bytes": 5}
    cleared = json.loads(elsv("cache", "--clear", "--json").stdout)
    assert cleared["removed"] == {"count": 3, "bytes": found["tables"]["bytes"] + 5}
    assert cleared["tables"] == cleared["kernels"] == {"count": 0, "bytes": 0}
    assert sorted(path.name for path in directory.rglob("*")) == ["beliefs_0123", "kernels"] + 2 * [
        "notes.txt"
    ]
    assert "removed    0 files" in elsv("cache", "--clear").stdout


def test_the_command_where_there_is_nothing(directory):
    assert "0 files" in elsv("cache", "--clear").stdout
    assert not directory.exists()


def _flip_a_byte(content: bytes) -> bytes:
    return content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]


@pytest.mark.parametrize(
    "damage",
    [
        _flip_a_byte,
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2],
        lambda content: content + b"\0",
        lambda content: b"",
        lambda content: b"not a table",
        lambda content: content.replace(b"kind-1", b"kind-3"),
    ],
)
def test_a_damaged_or_foreign_file_is_computed_again_and_overwritten(directory, damage):
    cache.cached_table(KEY, Counter(), STATES)
    (path,) = files(directory)
    good = path.read_bytes()
    path.write_bytes(damage(good))
    cache.memory.clear()
    compute = Counter()
    table = cache.cached_table(KEY, compute, STATES)
    assert compute.calls == 1
    np.testing.assert_array_equal(table, np.arange(float(STATES)))
    assert path.read_bytes() == good


def test_a_directory_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    blocked = tmp_path / "a file"
    blocked.write_text("in the way")
    monkeypatch.setenv("ELSV_CACHE_DIR", str(blocked / "below"))
    assert len(cache.cached_table(KEY, Counter(), STATES)) == STATES
    assert blocked.read_text() == "in the way"


def test_no_home_directory_is_no_error(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    for name in ("ELSV_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert cache.cache_directory() is None
    assert len(cache.cached_table(KEY, Counter(), STATES)) == STATES


def test_threads_do_not_compute_the_same_table_twice():
    compute, together, found = Counter(50), threading.Barrier(8), []

    def ask():
        together.wait()
        found.append(cache.cached_table(KEY, compute, 50))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compute.calls == 1
    assert len(found) == 8


def test_processes_that_write_at_once_leave_one_good_file(directory):
    program = (
        "import numpy as np; from elsv._base.cache import cached_table, memory, write_table\n"
        "for _ in range(20):\n"
        f"    table = cached_table({KEY!r}, lambda: np.arange({STATES}.0), {STATES})\n"
        f"    assert (table == np.arange({STATES})).all(); memory.clear()\n"
        f"    write_table({KEY!r}, table)\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program], env=os.environ.copy()) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert len(files(directory)) == 1
    cache.cached_table(KEY, lambda: pytest.fail("computed"), STATES)


def test_a_table_of_the_wrong_size_is_an_error():
    with pytest.raises(InvalidInputError, match="must be a flat array"):
        cache.cached_table(KEY, Counter(3), 4)
    assert cache.known_table(KEY, 4) is None


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "{home}/.cache/elsv"),
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/elsv"),
        ("darwin", {"XDG_CACHE_HOME": "/xdg"}, "{home}/Library/Caches/elsv"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/elsv/Cache"),
        ("win32", {}, "{home}/AppData/Local/elsv/Cache"),
        ("linux", {"ELSV_CACHE_DIR": "/mine"}, "/mine"),
    ],
)
def test_where_files_are_kept(monkeypatch, tmp_path, platform, variables, expected):
    for name in ("ELSV_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(cache.sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert cache.cache_directory() == Path(expected.format(home=tmp_path))


@pytest.mark.parametrize("more", [0, 1])
def test_tables_above_the_limit_are_kept_on_disk(directory, monkeypatch, more):
    monkeypatch.setattr(cache, "LARGE", 10)
    states = 10 + more
    cache.cached_table(KEY, Counter(states), states)
    assert len(files(directory)) == more


def test_one_at_a_time_makes_a_value_and_no_lock_stays():
    """Three work on one value, and the locks of others are other locks."""
    made, inside, most, together = cache.Memory(), [], [], threading.Barrier(3)

    def ask(k):
        together.wait()
        for _ in range(50):
            with made.making(KEY):
                inside.append(k)
                most.append(len(inside))
                inside.remove(k)

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert most == [1] * 150
    with made.making(KEY):
        assert made.making((*KEY, 2)).acquire(blocking=False)
        assert not made.making(KEY).acquire(blocking=False)
    assert not made._making
