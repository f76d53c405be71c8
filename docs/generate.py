"""Write docs/cli.md from the command line's own help; ``--check`` only says whether it is up to date."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "cli.md"
COMMANDS = ("decide", "check", "prior", "gittins", "value", "compare", "rehearse", "solve", "evaluate")
COMMANDS += ("reproduce", "serve", "backup", "copy", "cache", "warm")
CAMPAIGN = ("new", "decide", "reward", "status", "explain", "report")
CAMPAIGN += ("export", "import", "pause", "resume", "extend", "end", "audit")
GROUPS = {"token": ("new", "list", "revoke"), "campaign": CAMPAIGN}


def help_of(*command: str) -> str:
    """Return the help text of one command, 100 columns wide and without colour."""
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run(
        [sys.executable, "-m", "elsv.cli", *command, "--help"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = (line.rstrip() for line in done.stdout.strip().splitlines())
    return "\n".join(lines).replace("python -m elsv.cli", "elsv").replace("cli.py", "elsv")


def page() -> str:
    """Return the whole page."""
    parts = [
        "# Command line\n",
        "This page is made by `make docs` from the commands' own help.\n",
        "Results go to stdout (`--json`: one JSON object and nothing else), everything else to stderr. "
        "Bad input ends with one line that names the rule, the value and the remedy, and exit code 2.\n",
        f"```text\n{help_of()}\n```\n",
    ]
    parts += [f"## elsv {name}\n\n```text\n{help_of(name)}\n```\n" for name in COMMANDS]
    for group, names in GROUPS.items():
        parts += [f"## elsv {group}\n\n```text\n{help_of(group)}\n```\n"]
        parts += [f"### elsv {group} {name}\n\n```text\n{help_of(group, name)}\n```\n" for name in names]
    return "\n".join(parts)


if __name__ == "__main__":
    fresh = page()
    if "--check" in sys.argv[1:]:
        sys.exit(
            0 if PAGE.exists() and PAGE.read_text() == fresh else "docs/cli.md is out of date: make docs"
        )
    PAGE.write_text(fresh)
