"""Files are written whole or not at all, where they are meant to be, and leave nothing else behind."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from elsv._base import files
from elsv._base.files import check_writable, write_atomically, write_bytes, write_text
from elsv.errors import InvalidInputError
from elsv.live import Bandit
from elsv.problem import Problem

POSIX = pytest.mark.skipif(os.name == "nt", reason="links, modes and signals of POSIX")
FULL = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
DIES = (
    "import os, signal, sys\n"
    "from elsv._base.files import write_atomically\n"
    "write_atomically(sys.argv[1], lambda stream: (stream.write(b'half'), stream.flush(), {}))\n"
)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def die_while_writing(path):
    program = DIES.format("os.kill(os.getpid(), signal.SIGKILL)")
    done = subprocess.run([sys.executable, "-c", program, str(path)])
    assert done.returncode == -signal.SIGKILL


@POSIX
@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_its_target_is_written(tmp_path, there):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to("real/bandit.json")
    if there:
        (tmp_path / "real" / "bandit.json").write_text("old")
    bandit = Bandit(Problem([1.0, 1.0], horizon=3), seed=1)
    bandit.save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert names(tmp_path / "real") == ["bandit.json"]
    assert Bandit.load(tmp_path / "real" / "bandit.json").step == 1


@POSIX
def test_a_link_to_itself_is_refused(tmp_path):
    (tmp_path / "a").symlink_to("a")
    with pytest.raises(InvalidInputError, match="cannot write"):
        write_text(tmp_path / "a", "x")
    assert (tmp_path / "a").is_symlink()


@POSIX
@pytest.mark.parametrize("wanted", [0o600, 0o640, 0o644, 0o755])
def test_an_existing_file_keeps_its_mode(tmp_path, wanted):
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(wanted)
    write_text(path, "new")
    assert path.read_text() == "new"
    assert mode(path) == wanted


@POSIX
def test_a_new_file_follows_the_mask_of_the_process(tmp_path):
    program = (
        "import os, sys; os.umask(0o027)\nfrom elsv._base.files import write_text\n"
        "write_text(sys.argv[1], 'x')"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "f")], check=True)
    assert mode(tmp_path / "f") == 0o640


@POSIX
def test_the_mask_of_the_process_is_never_changed(tmp_path, monkeypatch):
    monkeypatch.setattr("os.umask", lambda mask: pytest.fail("other threads see another mask for a moment"))
    write_text(tmp_path / "f", "x")


@POSIX
def test_what_a_killed_writer_left_goes_with_the_next_write(tmp_path):
    path = tmp_path / "f"
    path.write_text("old")
    die_while_writing(path)
    assert path.read_text() == "old"
    assert len(names(tmp_path)) == 2
    write_text(tmp_path / "other", "x")
    assert len(names(tmp_path)) == 3  # it belongs to another target
    write_text(path, "new")
    assert names(tmp_path) == ["f", "other"]


@POSIX
def test_a_temporary_that_is_being_written_is_left_alone(tmp_path):
    path = tmp_path / "f"
    program = DIES.format("print('half', flush=True), sys.stdin.read()")
    other = subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    other.stdout.readline()
    write_text(path, "mine")
    assert path.read_text() == "mine"
    other.communicate()
    assert other.returncode == 0
    assert path.read_text() == "half"
    assert names(tmp_path) == ["f"]


def test_foreign_files_with_similar_names_stay(tmp_path):
    for name in (".f.tmp", ".elsv-notes.tmp", ".elsv-0123456789ab-x.tmp"):
        (tmp_path / name).write_text("mine")
    write_text(tmp_path / "f", "x")
    files.remove_abandoned(tmp_path)
    assert len(names(tmp_path)) == 4


def test_without_locks_only_old_temporaries_go(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "fcntl", None)
    left = [tmp_path / f".elsv-{files._mark(tmp_path / 'f')}-{k:016x}.tmp" for k in range(2)]
    for path in left:
        path.write_text("half")
    long_ago = time.time() - 2 * files.LONG
    os.utime(left[0], (long_ago, long_ago))
    write_text(tmp_path / "f", "x")
    assert names(tmp_path) == sorted([left[1].name, "f"])


def test_threads_that_write_the_same_file_at_once(tmp_path):
    path, failed = tmp_path / "f", []

    def write(k):
        try:
            for _ in range(30):
                write_bytes(path, bytes([k]) * 5000)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(set(path.read_bytes())) == 1
    assert len(path.read_bytes()) == 5000
    assert names(tmp_path) == ["f"]


@pytest.mark.parametrize("error", [RuntimeError("mine"), KeyboardInterrupt()])
def test_an_error_of_the_writer_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "f"
    path.write_text("old")

    def write(stream):
        stream.write(b"half")
        raise error

    with pytest.raises(type(error)):
        write_atomically(path, write)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["f"]


def test_a_long_name_is_no_trouble(tmp_path):
    path = tmp_path / ("ä" * 120)
    write_text(path, "x")
    assert path.read_text() == "x"


@FULL
def test_a_device_is_written_to_and_not_replaced():
    with pytest.raises(InvalidInputError, match=r"cannot write /dev/full: No space left.*free some space"):
        write_text("/dev/full", "x")
    write_text("/dev/null", "x")
    files.make_atomically("/dev/null", lambda path: path.write_text("x"))
    for name in ("/dev/full", "/dev/null"):
        assert stat.S_ISCHR(os.stat(name).st_mode)


@FULL
def test_a_full_disk_while_writing_parquet(tmp_path):
    import numpy as np

    from elsv._base.export import write_columns

    pytest.importorskip("polars")
    (tmp_path / "t.parquet").symlink_to("/dev/full")
    with pytest.raises(InvalidInputError, match=r"cannot write .*No space left"):
        write_columns(tmp_path / "t.parquet", {"a": np.arange(100_000)})


def test_where_a_file_can_be_written(tmp_path):
    (tmp_path / "file").write_text("kept")
    for path in (tmp_path / "new", tmp_path / "a" / "b" / "new", tmp_path / "file"):
        check_writable(path)
    assert names(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize("name", ["file/new", "file/a/new", "", "x" * 300, "nul\0byte", "directory"])
def test_where_a_file_cannot_be_written(tmp_path, name):
    (tmp_path / "file").write_text("kept")
    (tmp_path / "directory").mkdir()
    path = f"{tmp_path}/{name}"
    for attempt in (check_writable, lambda where: write_text(where, "x")):
        with pytest.raises(InvalidInputError, match="cannot write"):
            attempt(path)
    assert names(tmp_path) == ["directory", "file"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become nobody")
def test_without_permission():
    with tempfile.TemporaryDirectory() as name:
        without_permission(Path(name))


def without_permission(tmp_path):
    tmp_path.chmod(0o755)
    for name, bits in (("closed", 0o555), ("open", 0o777)):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(bits)
    (tmp_path / "open" / "kept").write_text("old")
    (tmp_path / "open" / "kept").chmod(0o444)
    program = (
        "import os, sys\nfrom elsv._base.files import *\nfrom elsv.errors import InvalidInputError\n"
        "os.setuid(65534)\n"
        "for path in sys.argv[1:]:\n"
        "    for attempt in (check_writable, lambda path: write_text(path, 'x')):\n"
        "        try:\n            attempt(path)\n"
        "        except InvalidInputError as error:\n            print(error)\n"
    )
    paths = [str(tmp_path / "closed" / "new"), str(tmp_path / "open" / "kept")]
    done = subprocess.run([sys.executable, "-c", program, *paths], capture_output=True, text=True, check=True)
    assert done.stdout.count("Permission denied") == 4


@POSIX
@pytest.mark.parametrize("there", [True, False])
def test_a_file_is_on_the_disk_before_it_gets_its_name_and_the_name_after(tmp_path, monkeypatch, there):
    """Without both a power failure leaves an empty file, or the old one after a new one was seen."""
    target, done = tmp_path / "f", []
    if there:
        target.write_text("old")
    sync, rename = os.fsync, os.replace

    def synced(handle):
        about = os.fstat(handle)
        done.append("directory" if stat.S_ISDIR(about.st_mode) else f"file of {about.st_size}")
        sync(handle)

    def renamed(source, place):
        done.append("rename")
        rename(source, place)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    write_text(target, "whole")
    assert done == ["file of 5", "rename", "directory"]
    done.clear()
    files.make_atomically(target, lambda path: path.write_text("made"))
    assert done == ["file of 4", "rename", "directory"]


@POSIX
@pytest.mark.parametrize("end", ["", "-wal", "-shm", "-journal"])
def test_no_input_is_written_by_whatever_name(tmp_path, monkeypatch, end):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    read = tmp_path / "shop.db"
    read.write_text("mine")
    beside = tmp_path / f"shop.db{end}"
    beside.write_text("mine")
    (tmp_path / "link").symlink_to(beside)
    os.link(beside, tmp_path / "hard")
    (tmp_path / "to").symlink_to(read)
    for given in (read, "shop.db", "in/../shop.db", tmp_path / "to"):
        with files.inputs([given]):
            for name in (beside, beside.name, f"./in/../{beside.name}", "link", "hard"):
                for write in (check_writable, lambda path: write_text(path, "new")):
                    with pytest.raises(InvalidInputError, match=r"cannot write .* an input of this command"):
                        write(name)
            write_text(tmp_path / "other", "new")
    assert beside.read_text() == "mine"
    write_text(read, "new")  # afterwards it may
    assert names(tmp_path) == sorted({"hard", "in", "link", "other", "shop.db", beside.name, "to"})
