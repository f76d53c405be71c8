"""The command line: no logic of its own.

Read `app` first, which lists the commands and turns errors into exit code 2, then `options` and `console`,
which have what the commands share.
"""

from elsv.cli.app import app, main

__all__ = ["app", "main"]
