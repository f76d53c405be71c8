"""Start-up: what a person waits for before anything happens."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.shared import row, seconds


def run() -> list[dict]:
    rows = []
    for name, arguments, target in (
        ("python -c pass (for comparison)", ["-c", "pass"], None),
        ("import elsv", ["-c", "import elsv"], "≤ 0.6"),
        ("elsv --help", ["-m", "elsv.cli", "--help"], "≤ 0.5"),
        ("elsv gittins 1 1, kernels cached", ["-m", "elsv.cli", "gittins", "1", "1"], "≤ 1"),
    ):
        command = [sys.executable, *arguments]
        spent = seconds(lambda: subprocess.run(command, check=True, capture_output=True), repeat=3)  # noqa: B023
        rows.append(row(name, spent, "s", target))
    return rows
