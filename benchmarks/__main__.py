"""Run every benchmark, print one table, write one JSON file."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

import benchmarks
import elsv


def main() -> None:
    """Run the benchmarks whose names contain the words given (default: all)."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("words", nargs="*", help="only benchmarks whose name contains one of these")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    options = parser.parse_args()
    names = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name.startswith("bench_")]
    if options.words:
        names = [name for name in names if any(word in name for word in options.words)]
    console = Console(stderr=True)
    rows = []
    for name in names:
        with console.status(name):
            rows += _alone(name) if len(names) > 1 else importlib.import_module(f"benchmarks.{name}").run()
    table = Table("benchmark", "measured", "unit", "target")
    for row in rows:
        table.add_row(row["name"], f"{row['value']:.4g}", row["unit"], str(row["target"] or ""))
    Console().print(table)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        about = {
            "elsv": elsv.__version__,
            "python": platform.python_version(),
            "machine": platform.processor(),
        }
        options.out.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")


def _alone(name: str) -> list[dict]:
    """Run a benchmark in a process of its own, so that its peaks of memory are its own too."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "rows.json"
        command = [sys.executable, "-m", "benchmarks", name, "--out", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return json.loads(out.read_text())["rows"]


if __name__ == "__main__":
    main()
