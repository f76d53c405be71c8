"""First use: what a fresh install compiles before its first decision, in seconds of processor time.

What is measured is numba at work, so a busy machine shows ten or twenty per cent more. One helper more costs
as many times as there are kernels, near and far, that it is compiled into.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from benchmarks.shared import row

PROGRAM = """
import json, time, elsv
from elsv._base.notices import compiling
spent, functions = [], []
start = time.process_time()
bandit = elsv.Bandit(elsv.Problem([0.4, 0.7, 1.0], order="decreasing", horizon=50), seed=1)
for work in (bandit.choose, bandit.explain):
    work()
    spent.append(time.process_time() - start)
    functions.append(compiling.functions)
    start = time.process_time()
print(json.dumps([spent, functions]))
"""


def run() -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, check=True, capture_output=True, text=True
        )
    (choose, explain), (first, both) = json.loads(done.stdout)
    return [
        row("first choose, no kernels", choose, "s", "≤ 15"),
        row("first choose and explain", choose + explain, "s", "≤ 22"),
        row("functions compiled for choose", first, ""),
        row("functions compiled for both", both, ""),
    ]
