"""Run by `try_package` in an environment that has elsv and no extras.

A decision is made, and everything that needs an extra must say which one. Prints the extras that are missed.
``--quick`` decides by an index and without an order, which compiles for seconds instead of a minute.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import elsv
from elsv._base.export import write_columns
from elsv.cli.serving import serve

ARMS = "rewards = [0.8, 0.9, 1.0]\nhorizon = 8\n"
ORDER = 'order = "decreasing"\n'
PROGRAM = Path(sys.executable).parent / "elsv"


def command(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the installed program."""
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True)


def names_its_extra(extra: str, attempt: Callable[[], object]) -> str:
    """Return `extra` if the attempt fails with an error that gives the pip line for it."""
    try:
        attempt()
    except elsv.MissingExtraError as error:
        said = str(error)
    else:
        said = "nothing: is this environment bare?"
    assert f"pip install 'elsv[{extra}]'" in said, f"for {extra} it says {said}"
    return extra


def refused_command(extras: str, *words: str) -> None:
    """Check that a command ends with exit code 2 and the pip line for what it needs."""
    done = command(*words)
    assert done.returncode == 2, done
    assert f"pip install 'elsv[{extras}]'" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr, done.stderr


def main() -> None:
    """Try everything."""
    quick = "--quick" in sys.argv[1:]
    Path("problem.toml").write_text(ARMS if quick else ARMS + ORDER)
    policy = "gittins" if quick else "plan"
    assert command("--version").stdout.split()[-1] == elsv.__version__
    done = command("decide", "problem.toml", "--policy", policy, "--json")
    assert done.returncode == 0, done.stderr
    bandit = elsv.Bandit(elsv.Problem.load("problem.toml"), policy)
    assert json.loads(done.stdout)["arm"] == bandit.choose() + 1

    problem = elsv.Problem(rewards=[0.5, 1.0], horizon=3)
    policies = ["fixed:arm=1"]
    result = elsv.compare(problem, policies, instances=10, jobs=1)
    columns = {"reward": problem.rewards}
    attempts: list[tuple[str, Callable[[], object]]] = [
        ("plot", result.plot),
        ("data", result.to_polars),
        ("data", lambda: write_columns("table.parquet", columns)),
        ("pandas", result.to_pandas),
        ("dask", lambda: elsv.compare(problem, policies, instances=10, dask="tcp://localhost:8786")),
        ("gpu", lambda: elsv.solve(problem, device="cuda")),
        ("client", lambda: import_module("elsv.client")),
        ("postgres", lambda: elsv.Campaign.open("postgresql://localhost/shop", "spring", problem)),
        ("service", serve),
    ]
    campaign = elsv.Campaign.open("shop.db", "spring", problem, policy="greedy")
    assert campaign.reward(campaign.decide().id, success=True)
    tried = {names_its_extra(extra, attempt) for extra, attempt in attempts}
    refused_command("plot,data", "compare", "problem.toml", "--instances", "10", "--out", "run")
    refused_command("plot,data", "reproduce", "--quick", "--out", "paper")
    refused_command("data", "gittins", "--table", "5", "--out", "table.parquet")
    print(*sorted(tried))


if __name__ == "__main__":
    main()
