"""The OpenAPI document against the server: what schemathesis makes of it is answered as documented."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from services import serving

EXAMPLES = os.environ.get("ELSV_SCHEMA_EXAMPLES", "15")  # for each route
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = tmp_path_factory.mktemp("service")
    with serving(directory / "shop.db", directory) as running:
        running.begin("spring")
        yield running


def program():
    beside = Path(sys.executable).parent / "schemathesis"
    found = str(beside) if beside.exists() else shutil.which("schemathesis")
    if found is None:
        assert not os.environ.get("CI"), "schemathesis is not installed"
        pytest.skip("schemathesis is not installed: pip install schemathesis")
    return found


def test_nothing_fails_and_no_status_is_undocumented(server, tmp_path):
    done = subprocess.run(
        [
            *(program(), "run", f"{server.url}/openapi.json"),
            *("--header", f"Authorization: Bearer {server.tokens['admin']}"),
            *("--checks", CHECKS, "--max-examples", EXAMPLES, "--seed", "1"),
            *("--phases", "examples,coverage,fuzzing", "--request-timeout", "60", "--no-color"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    with server.http() as http:
        for one in http.get("/campaigns").json()["campaigns"]:
            audit = http.get(f"/campaigns/{one['name']}/audit").json()
            assert audit["exact"], (one, audit)
