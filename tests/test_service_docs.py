"""The snippets of docs/clients.md, run as they stand against a real server."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from services import serving

PAGE = Path(__file__).parent.parent / "docs" / "clients.md"
CLIENTS = PAGE.parent.parent / "clients"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS = {  # by language: what runs it, the suffix of its files, what Debian calls its package
    "sh": (["bash", "-eu"], "sh", "curl"),
    "python": ([sys.executable, "-W", "error"], "py", "python3"),
    "php": (["php"], "php", "php-cli"),
    "javascript": (["node"], "mjs", "nodejs"),
}
SAID = {
    "sh": r'"status": ?"recorded"',
    "python": r"(30 % off|15 % off|full price)\nrecorded\nFlushed\(sent=0, left=0, refused=0\)\n"
    r"[\s\S]*take another name[\s\S]* recorded\n[\s\S]*arm 1",
    "php": r"^(30 % off|15 % off|full price)\nrecorded\n0 sent, 0 left, 0 refused\n$",
    "javascript": r"^(30 % off|15 % off|full price)\nrecorded\n0 sent, 0 left, 0 refused\n$",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = tmp_path_factory.mktemp("service")
    with serving(directory / "shop.db", directory) as running:
        running.begin("spring", problem={"rewards": [1.0, 2.0, 3.0], "horizon": 300,
                                         "names": ["30 % off", "15 % off", "full price"]})  # fmt: skip
        yield running


def snippets(language):
    found = [code for kind, code in BLOCK.findall(PAGE.read_text()) if kind == language]
    return [code for code in found if "127.0.0.1:8763" in code]


def test_every_language_of_the_page_is_run():
    told = {kind for kind, code in BLOCK.findall(PAGE.read_text()) if "127.0.0.1:8763" in code}
    assert told == set(PROGRAMS)


@pytest.mark.parametrize("language", PROGRAMS)
def test_snippets(language, server, tmp_path):
    program, suffix, package = PROGRAMS[language]
    for needed in {program[0], "curl" if language == "sh" else program[0]}:
        if shutil.which(needed) is None:
            missing = f"{needed} is not installed: apt-get install {package}"
            assert not os.environ.get("CI"), missing
            pytest.skip(missing)
    code = "\n".join(snippets(language)).replace("127.0.0.1:8763", f"127.0.0.1:{server.port}")
    code = code.replace("/campaigns/spring ", "/campaigns/spring-of-curl ").replace(
        "/campaigns/spring/decisions)", "/campaigns/spring-of-curl/decisions)"
    )
    for client in (CLIENTS / "php" / "Elsv.php", CLIENTS / "js" / "elsv.mjs"):
        shutil.copy(client, tmp_path)
    path = tmp_path / f"snippet.{suffix}"
    path.write_text(code)
    environment = os.environ | {
        "ELSV_TOKEN": server.tokens["write"],
        "ELSV_ADMIN_TOKEN": server.tokens["admin"],
        "PYTHONPATH": os.pathsep.join(part for part in sys.path if part),
    }
    # The same snippet again has the same key, and gets the same decision.
    for expected in [SAID[language], '"status": ?"duplicate"'][: 2 if language == "sh" else 1]:
        done = subprocess.run(
            [*program, str(path)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stderr == ""
        assert re.search(expected, done.stdout), done.stdout
    with server.http() as http:
        assert all(
            http.get(f"/campaigns/{one['name']}/audit").json()["exact"]
            for one in http.get("/campaigns").json()["campaigns"]
        )
