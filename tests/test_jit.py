"""Kernels run wherever elsv is installed: what cannot be kept on disk is compiled."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import elsv


@pytest.fixture
def locked(tmp_path):
    """A copy of the package that cannot be written beside, and a home that cannot be written in.

    Files stand where directories would have to be made: that stops root as well.
    """
    package = tmp_path / "site" / "elsv"
    shutil.copytree(Path(elsv.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for directory in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (directory / "__pycache__").write_text("in the way")
    (tmp_path / "home").write_text("in the way")
    dropped = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "ELSV_CACHE_DIR", "LOCALAPPDATA")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return kept | {"PYTHONPATH": str(package.parent), "HOME": str(tmp_path / "home")}


def choose(environment):
    program = (
        "import elsv, numpy as np\n"
        "print(elsv.__file__, elsv.best_arm(np.array([[1.0, 3.0, 2.0]])), elsv.best_arm(np.ones(4)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [f"{environment['PYTHONPATH']}/elsv/__init__.py", "[1]", "0"]
    return done.stderr


def test_nowhere_to_keep_kernels(locked):
    assert choose(locked).count("compiled kernels cannot be kept") == 1


def test_our_own_cache_directory_where_numba_has_none(locked, tmp_path):
    environment = locked | {"ELSV_CACHE_DIR": str(tmp_path / "cache")}
    assert choose(environment) == ""
    kept = sorted((tmp_path / "cache").rglob("*.nbc"))
    assert kept
    times = [path.stat().st_mtime_ns for path in kept]
    assert choose(environment) == ""
    assert [path.stat().st_mtime_ns for path in kept] == times  # they were read and not made again


def short(path):
    path.write_bytes(path.read_bytes()[:20])


def of_a_module_that_has_moved(path):
    with path.open("rb") as stream:
        pickle.load(stream)  # the version of numba
        version = stream.tell()
    path.write_bytes(path.read_bytes()[:version] + b"celsv.gone_kernels\nKind\n.")


def test_damaged_kernels_are_compiled_and_kept_again(locked, tmp_path):
    environment = locked | {"ELSV_CACHE_DIR": str(tmp_path / "cache")}
    choose(environment)
    for suffix, damage in ((".nbi", short), (".nbc", short), (".nbi", of_a_module_that_has_moved)):
        kept = list((tmp_path / "cache").rglob(f"*{suffix}"))
        for path in kept:
            damage(path)
        assert choose(environment) == ""
        assert all(path.stat().st_size > 100 for path in kept)
    for path in (tmp_path / "cache").rglob("*.nbi"):  # which cannot be mended
        path.unlink()
        path.mkdir()
    assert choose(environment).count("compiled kernels cannot be kept") == 1


def test_a_full_disk(locked, tmp_path):
    environment = locked | {"ELSV_CACHE_DIR": str(tmp_path / "cache")}
    program = (
        "import numba.core.caching as caching, elsv\n"
        "def full(*arguments): raise OSError(28, 'No space left on device')\n"
        "caching.IndexDataCacheFile.save = full\n"
        "print(elsv.best_arm([1.0, 3.0]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"
    assert done.stderr.count("No space left on device") == 1


def test_kernels_are_compiled_again_when_what_they_call_changes(locked, tmp_path):
    """The tie tolerance is a constant of another module, compiled into what imports it."""
    environment = locked | {"ELSV_CACHE_DIR": str(tmp_path / "cache")}
    program = "import elsv, numpy as np; print(elsv.best_arm(np.array([1.0, 1.05])))"

    def first():
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert first() == "1"
    numbers = Path(environment["PYTHONPATH"]) / "elsv" / "_base" / "numbers.py"
    numbers.write_text(numbers.read_text().replace("TIE = 1e-9", "TIE = 0.1"))
    assert first() == "0"
