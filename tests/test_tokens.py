"""Tokens: shown once, kept as digests, noticed when they change, never half written."""

import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
from typer.testing import CliRunner

from elsv import CorruptFileError, InvalidInputError
from elsv.cli import app
from elsv.service.tokens import PREFIX, ROLES, Role, TokenFile, digest_of


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tokens.json"


def role_of(tokens, token):
    """What the bearer of a token may do; None if it is not valid."""
    found = tokens.find(digest_of(token))
    return None if found is None else found.may


def test_a_token_has_its_role_until_it_is_revoked(path):
    tokens = TokenFile(path, must_exist=False)
    made = {role: tokens.new(f"a {role}er", role) for role in ROLES}
    server = TokenFile(path)
    for role, token in made.items():
        assert role_of(server, token) == Role[role.upper()]
        assert token.startswith(PREFIX)
        assert len(token) == len(PREFIX) + 43  # 256 bits
    tokens.revoke("a writeer")
    assert [role_of(server, token) for token in made.values()] == [Role.READ, None, Role.ADMIN]
    ended = server.tokens()[1]
    assert (ended.name, ended.role) == ("a writeer", "write")
    assert ended.revoked is not None
    anew = tokens.new("a writeer", "read")
    assert role_of(server, anew) == Role.READ
    assert role_of(server, made["write"]) is None


def test_other_tokens_have_no_role(path):
    token = TokenFile(path, must_exist=False).new("x", "admin")
    tokens = TokenFile(path)
    others = ("", " ", token[:-1], token + " ", token.upper(), digest_of(token), "\0", "ü" * 10_000, "\udcff")
    assert {role_of(tokens, other) for other in others} == {None}


def test_the_file_has_no_token_and_is_for_its_owner_alone(path):
    token = TokenFile(path, must_exist=False).new("x", "admin")
    assert token not in path.read_text()
    assert digest_of(token) in path.read_text()
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o640)  # the group of the server may read it: that stays
        TokenFile(path).revoke("x")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", "nul\0", "x" * 101])
def test_names_that_are_none(path, name):
    with pytest.raises(InvalidInputError, match="must be one line of up to 100 characters"):
        TokenFile(path, must_exist=False).new(name, "read")
    assert not path.exists()


def test_what_is_refused(path):
    with pytest.raises(CorruptFileError, match="make a token: elsv token new NAME"):
        TokenFile(path)
    tokens = TokenFile(path, must_exist=False)
    with pytest.raises(InvalidInputError, match="one of read, write, admin, got 'root'"):
        tokens.new("x", "root")
    tokens.new("x", "read")
    with pytest.raises(InvalidInputError, match="there is a token 'x' already"):
        tokens.new("x", "read")
    with pytest.raises(InvalidInputError, match="token 'y' is unknown; valid ones: 'x'"):
        tokens.revoke("y")
    tokens.revoke("x")
    with pytest.raises(InvalidInputError, match="token 'x' is revoked already; valid ones: none"):
        tokens.revoke("x")
    with pytest.raises(InvalidInputError, match="cannot write"):
        TokenFile(path.parent / "missing" / "tokens.json", must_exist=False).new("x", "read")


KNOWN = (
    b'{"format": 1, "tokens": [{"name": "x", "role": "read", "created": "", "digest": "'
    + b"0" * 64
    + b'", %s}]}'
)


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"format": 1}',
        b'{"format": 1, "tokens": [{"name": "x"}]}',
        b'{"format": 1, "tokens": [{"name": "x", "role": "root", "digest": "0", "created": ""}]}',
        b'{"format": 1, "tokens": [{"name": "x", "role": "read", "digest": "", "created": ""}]}',
        b'{"format": 1, "tokens": [{"name": 3, "role": "read", "digest": "", "created": ""}]}',
        KNOWN % b'"expires": 5',
        KNOWN % b'"expires": "tomorrow"',
        KNOWN % b'"link": true',
    ],
)
def test_a_damaged_file_lets_nobody_in(path, content):
    """Also not those whose tokens were known before: one of them may have been revoked."""
    token = TokenFile(path, must_exist=False).new("x", "read")
    server, before = TokenFile(path), path.read_bytes()
    path.write_bytes(content)
    for attempt in (lambda: role_of(server, token), lambda: server.new("y", "read"), lambda: TokenFile(path)):
        with pytest.raises(CorruptFileError, match="is damaged or no file of tokens"):
            attempt()
    assert path.read_bytes() == content
    path.write_bytes(before)
    assert role_of(server, token) == Role.READ
    path.unlink()
    with pytest.raises(CorruptFileError, match="make a token"):
        role_of(server, token)


def test_a_file_of_a_newer_version(path):
    path.write_text('{"format": 2, "tokens": []}')
    with pytest.raises(CorruptFileError, match="newer elsv"):
        TokenFile(path)


def add(path, number):
    return TokenFile(path, must_exist=False).new(f"t{number}", "read")


@pytest.mark.skipif(os.name != "posix", reason="files are locked on POSIX systems only")
def test_processes_that_add_at_once_lose_nothing(path):
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        made = list(pool.map(add, [path] * 12, range(12)))
    tokens = TokenFile(path)
    assert {role_of(tokens, token) for token in made} == {Role.READ}
    assert sorted(token.name for token in tokens.tokens()) == sorted(f"t{k}" for k in range(12))


def test_the_command(path):
    def call(*words):
        return CliRunner().invoke(app, ["token", *words, "--tokens", str(path)])

    made = call("new", "checkout", "--role", "write")
    token = made.stdout.strip()
    assert role_of(TokenFile(path), token) == Role.WRITE
    assert "not shown again" in made.stderr
    assert json.loads(call("new", "office", "--role", "read", "--json").stdout)["role"] == "read"
    lines = call("list").stdout.splitlines()
    assert [line.split("\t")[:2] for line in lines] == [["checkout", "write"], ["office", "read"]]
    assert call("revoke", "checkout").stdout == "revoked checkout, which could write\n"
    assert role_of(TokenFile(path), token) is None
    listed = json.loads(call("list", "--json").stdout)["tokens"]
    assert [one["revoked"] is None for one in listed] == [False, True]
    assert "digest" not in listed[0]
    assert token not in call("list").output


def test_tokens_need_nothing_but_python():
    code = (
        "import sys, elsv.service.tokens; "
        "print([m for m in ('pydantic', 'uvicorn', 'starlette') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
