"""Kernels compiled in advance, and what is said while they are compiled on first use."""

import json
import logging
import os
import subprocess
import sys

from commands import elsv_process as elsv
from elsv._base import notices as _notices


def test_warm_says_what_it_compiled_and_has_little_left_to_do(tmp_path):
    elsv("warm")
    again = json.loads(elsv("warm", "--json").stdout)
    assert again["functions"] == 0
    assert again["seconds"] >= again["compiling_seconds"] == 0


def test_what_takes_long_is_said_once(monkeypatch, caplog, capsys):
    monkeypatch.setattr(_notices, "_said", set())
    with caplog.at_level(logging.INFO, logger="elsv"):
        for _ in range(3):
            _notices.say_once("compiling")
    assert [record.message for record in caplog.records] == ["compiling"]
    assert capsys.readouterr() == ("", "")  # no terminal


def test_a_call_that_compiles_for_long_says_so(tmp_path):
    program = (
        "import logging; logging.basicConfig(level=logging.INFO); import elsv\n"
        "from elsv._base import notices; notices._NOTICED = 0.2\n"
        "elsv.Chain().mean(elsv.State([2, 3], [1, 1])); assert notices.compiling.functions > 5"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count("compiles its kernels on their first use") == 1
