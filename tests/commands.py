"""The command line for tests: in this process, or in one of its own where that is the point."""

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from types import SimpleNamespace
from unittest import mock

from elsv.cli import main


def elsv(*arguments, code=0):
    """Run a command in this process and return its stdout and stderr; it must end with this code."""
    out, err, ended = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", ["elsv", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            ended = end.code or 0
    done = SimpleNamespace(returncode=ended, stdout=out.getvalue(), stderr=err.getvalue())
    assert done.returncode == code, done.stderr
    return done


def elsv_process(*arguments, code=0):
    """Run a command in a new process."""
    command = [sys.executable, "-m", "elsv.cli", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done
