"""docs/day.md, a whole day of a shop, as one shell session against a real server; sums are the shop's own."""

import csv
import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from elsv import Campaign
from services import free_port

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^(?:# |<\?php // )(\w+\.(?:toml|php))")
MARK = "--- next ---"


def told(page):
    """Return the files of a page by name, and its commands with the output that is shown."""
    files, commands = {}, []
    for kind, text in BLOCK.findall(page):
        if kind in ("toml", "php"):
            files[FILE.match(text)[1]] = text
        else:
            for line in text.splitlines():
                if line.startswith("$ "):
                    commands.append((line[2:], []))
                else:
                    commands[-1][1].append(line)
    return files, [(command, "\n".join(shown)) for command, shown in commands]


def test_a_whole_day(tmp_path):
    for program, package in (("php", "php-cli"), ("curl", "curl"), ("bash", "bash")):
        if shutil.which(program) is None:
            missing = f"{program} is not installed: apt-get install {package}"
            assert not os.environ.get("CI"), missing
            pytest.skip(missing)
    page = (ROOT / "docs" / "day.md").read_text().replace("8763", str(free_port()))
    files, commands = told(page.replace("log: fn", "budget: 10.0, log: fn"))  # CI's machines are slow
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    shutil.copy(ROOT / "clients" / "php" / "Elsv.php", tmp_path)
    program = tmp_path / "bin" / "elsv"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -W error -m elsv.cli "$@"\n')
    program.chmod(0o755)
    script = "\n".join(f"{command}\necho; echo '{MARK}'" for command, _ in commands)
    environment = os.environ | {
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(part for part in sys.path if part),
    }
    done = subprocess.run(
        ["bash", "-euc", f"trap 'kill -9 $! 2> /dev/null' EXIT\n{script}"], cwd=tmp_path, env=environment,
        capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    outputs = done.stdout.split(f"\n{MARK}\n")
    assert done.returncode == 0, outputs[-1] + done.stderr
    checker = doctest.OutputChecker()
    for (command, shown), output in zip(commands, outputs, strict=False):
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        assert checker.check_output(f"{shown}\n", f"{output}\n", flags), f"$ {command}\n{output}"
    with (tmp_path / "book.csv").open() as file:
        book = [row for row in csv.reader(file) if row[1]]
    with Campaign.open(tmp_path / "shop.db", "coupons") as campaign:
        status = campaign.status()
        assert status.earned == sum(float(paid) for *_, paid in book)
        assert sum(arm.successes for arm in status.arms) == sum(float(paid) > 0 for *_, paid in book)
        assert status.under_way == 0
        assert campaign.audit().exact
    assert len(book) > 100
    assert "coupons" in (tmp_path / "report.html").read_text()
