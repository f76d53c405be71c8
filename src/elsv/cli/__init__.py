"""The command line: one file for each command, no logic of its own.

Read `app` first, which lists the commands and turns errors into exit code 2, then `console`, which has what
the commands share.
"""

from elsv.cli.app import app, main

__all__ = ["app", "main"]
