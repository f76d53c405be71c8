"""Who may see the pages of the service and send their forms."""

import contextlib
import hashlib
import hmac
import json
import re
import sqlite3
import time

import pytest
from typer.testing import CliRunner

from campaigns import Clock, shop
from elsv import Campaign
from elsv.cli import app
from elsv.errors import InvalidInputError
from elsv.service.page.browser import COOKIE, LIFETIME
from elsv.service.page.routes import inner_address
from elsv.service.tokens import TokenFile, digest_of
from pages import ELSEWHERE, HERE, code_of, send, tags_of, text_of, visit


@pytest.fixture
def db(tmp_path):
    path = tmp_path / "shop.db"
    Campaign.open(path, "spring", shop(), policy="greedy", seed=1).decide()
    return path


@pytest.fixture
def tokens(tmp_path):
    return TokenFile(tmp_path / "tokens.json", must_exist=False)


@pytest.fixture
def keys(tokens):
    return {role: tokens.new(f"the {role}", role) for role in ("read", "write", "admin")}


@pytest.fixture
def client(db, tokens, keys, tmp_path):
    with visit(db, tmp_path / "tokens.json") as found:
        yield found


def log_in(client, token, **fields):
    return send(client, "/ui/login", {"token": token, **fields}, page="/ui/login")


@pytest.mark.parametrize("address", ["/", "/ui/new", "/ui/campaigns/spring", "/ui/campaigns/a%252Fb"])
def test_whoever_has_not_logged_in_is_sent_to_the_login_and_back(client, keys, address):
    answer = client.get(address)
    assert answer.status_code == 303
    assert "spring" not in answer.text
    login = client.get(answer.headers["location"])
    assert login.status_code == 200
    (onward,) = [attrs["value"] for tag, attrs in tags_of(login.text) if attrs.get("name") == "next"]
    assert onward == address
    assert log_in(client, keys["admin"], next=onward).headers["location"] == address


def test_parts_and_forms_are_refused_without_a_login(client):
    assert client.get("/ui/campaigns/spring/live", headers={"HX-Request": "true"}).status_code == 401
    assert client.get("/ui/list", headers={"HX-Request": "true"}).status_code == 401
    for address in ("/ui/campaigns/spring/pause", "/ui/new", "/ui/new/preview", "/ui/new/rehearsal"):
        code = code_of(client.get("/ui/login").text)
        answer = client.post(address, data={"code": code}, headers={"Origin": HERE})
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/ui/login")
    assert client.get("/ui/campaigns/spring/report.html").status_code == 303


def test_the_cookie_is_safe_and_holds_no_token(client, keys):
    answer = log_in(client, keys["admin"])
    assert answer.status_code == 303
    sent = answer.headers["set-cookie"]
    assert "HttpOnly" in sent
    assert "SameSite=lax" in sent
    assert f"Max-Age={LIFETIME}" in sent
    assert keys["admin"] not in sent
    assert client.get("/").status_code == 200
    assert keys["admin"] not in client.get("/").text


def test_https_gets_a_secure_cookie(client, keys):
    login = client.get("https://localhost/ui/login")
    answer = client.post(
        "https://localhost/ui/login",
        data={"token": keys["read"], "code": code_of(login.text)},
        headers={"Origin": "https://localhost"},
    )
    assert "Secure" in answer.headers["set-cookie"]
    client.cookies.clear()
    behind = client.get("/ui/login", headers={"X-Forwarded-Proto": "https"})
    assert "Secure" in behind.headers["set-cookie"]
    client.cookies.clear()
    assert "Secure" not in client.get("/ui/login").headers["set-cookie"]


@pytest.mark.parametrize("token", ["", "elsv_wrong", "x" * 5000, "\0", "é"])
def test_a_wrong_token_is_refused(client, token):
    answer = log_in(client, token)
    assert answer.status_code == 401
    assert "unknown or was revoked" in text_of(answer.text)
    assert token not in answer.text or not token
    assert client.get("/").status_code == 303


def test_a_revoked_token_ends_its_sessions(client, keys, tokens):
    log_in(client, keys["admin"])
    assert client.get("/").status_code == 200
    tokens.revoke("the admin")
    assert client.get("/").status_code == 303
    assert log_in(client, keys["admin"]).status_code == 401


def with_cookie(client, cookie):
    """Look at the list with a cookie that a browser would have dropped."""
    client.cookies.clear()
    return client.get("/", headers={"Cookie": f"{COOKIE}={cookie}"}).status_code


def test_the_server_itself_ends_a_session_that_is_too_old(db, keys, tmp_path):
    """The browser drops the cookie too; here it is sent as if it had not."""
    now = 1_700_000_000.0
    with visit(db, tmp_path / "tokens.json", clock=lambda: now) as client:
        log_in(client, keys["read"])
        cookie = client.cookies[COOKIE]
        now += LIFETIME - 60
        assert with_cookie(client, cookie) == 200
        now += 120
        assert with_cookie(client, cookie) == 303
        now = 1_600_000_000.0  # a session from the future
        assert with_cookie(client, cookie) == 303


def test_a_changed_cookie_is_nobody_s(client, keys):
    log_in(client, keys["read"])
    cookie = client.cookies[COOKIE]
    changed = ("B" if cookie[0] == "A" else "A") + cookie[1:]
    for wrong in (changed, cookie[:-1], cookie + "A", "..", ".", "", "x" * 5000, "x" * 43):
        assert with_cookie(client, wrong) == 303, wrong
    assert with_cookie(client, cookie) == 200


def test_a_leaked_file_of_tokens_opens_nothing(client, keys, tmp_path, db):
    """Nor does a copy of the database: neither has anything that a cookie can be made from."""
    log_in(client, keys["admin"])
    digests = [one["digest"] for one in json.loads((tmp_path / "tokens.json").read_text())["tokens"]]
    with contextlib.closing(sqlite3.connect(db)) as connection:
        kept = [str(value) for row in connection.execute("SELECT * FROM elsv_session") for value in row]
    assert len(kept) == 3
    body = f"{int(time.time())}.{'x' * 32}"
    for digest in digests:  # cookies were once signed with what follows from the digest of a token
        key = hmac.new(digest.encode(), b"elsv page session", hashlib.sha256).digest()
        forged = f"{body}.{hmac.new(key, body.encode(), hashlib.sha256).hexdigest()}"
        for cookie in (forged, digest, digest[:43], *kept, *(one[:43] for one in kept)):
            assert with_cookie(client, cookie) == 303


def test_a_session_is_known_to_the_next_server_of_the_store(db, keys, tmp_path):
    with visit(db, tmp_path / "tokens.json") as client:
        log_in(client, keys["read"])
        cookie = client.cookies[COOKIE]
    with visit(tmp_path / "other.db", tmp_path / "tokens.json") as client:
        assert with_cookie(client, cookie) == 303
    with visit(db, tmp_path / "tokens.json") as client:
        assert with_cookie(client, cookie) == 200


@pytest.mark.parametrize("role", ["read", "write"])
def test_only_an_admin_sees_and_sends_forms_that_change(client, keys, role, db):
    log_in(client, keys[role])
    pages = [client.get("/"), client.get("/ui/campaigns/spring"), client.get("/ui/campaigns/spring/live")]
    for page in pages:
        assert page.status_code == 200
        forms = [attrs["action"] for tag, attrs in tags_of(page.text) if tag == "form"]
        assert set(forms) <= {"/ui/logout"}
        assert "/ui/new" not in page.text
    assert client.get("/ui/new").status_code == 403
    for what in ("pause", "floor", "extend", "end"):
        answer = send(client, f"/ui/campaigns/spring/{what}", {"floor": "1"}, page="/")
        assert answer.status_code == 403
        assert f"the role {role}" in text_of(answer.text)
    for address in ("/ui/new", "/ui/new/preview", "/ui/new/rehearsal"):
        assert send(client, address, page="/").status_code == 403
    assert not Campaign.open(db, "spring").settings.paused


def test_logging_out_ends_the_session_and_takes_the_cookie_back(client, keys):
    log_in(client, keys["admin"])
    cookie = client.cookies[COOKIE]
    assert client.get("/ui/login").headers["location"] == "/"
    assert send(client, "/ui/logout").status_code == 303
    assert COOKIE not in client.cookies
    assert client.get("/").status_code == 303
    assert with_cookie(client, cookie) == 303  # as one who has copied it would


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": ELSEWHERE},
        {"Origin": "null"},
        {"Origin": HERE, "Sec-Fetch-Site": "cross-site"},
        {"Origin": HERE, "Sec-Fetch-Site": "same-site"},
        {"Origin": "http://localhost:81"},
    ],
)
def test_a_form_from_elsewhere_is_refused(db, headers):
    with visit(db) as client:
        answer = send(client, "/ui/campaigns/spring/pause", **headers)
        assert answer.status_code == 403
        assert not Campaign.open(db, "spring").settings.paused
        fine = {"Sec-Fetch-Site": "same-origin"}
        assert send(client, "/ui/campaigns/spring/pause", **fine).status_code == 303


def test_a_form_needs_the_code_of_its_visitor(db):
    with visit(db) as client:
        code = code_of(client.get("/ui/new").text)
        for given in ({}, {"code": ""}, {"code": "0" * 64}, {"code": "é"}):
            answer = client.post("/ui/campaigns/spring/pause", data=given, headers={"Origin": HERE})
            assert answer.status_code == 403, given
        client.cookies.clear()
        answer = client.post("/ui/campaigns/spring/pause", data={"code": code}, headers={"Origin": HERE})
        assert answer.status_code == 403, "a code without its cookie"
        assert not Campaign.open(db, "spring").settings.paused


def test_a_login_needs_the_code_too(client, keys):
    answer = client.post("/ui/login", data={"token": keys["admin"]}, headers={"Origin": HERE})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers or keys["admin"] not in answer.headers["set-cookie"]
    assert client.get("/").status_code == 303


@pytest.mark.parametrize(
    ("given", "onward"),
    [
        ("/ui/new", "/ui/new"),
        ("/ui/campaigns/a%252Fb", "/ui/campaigns/a%252Fb"),
        ("https://elsewhere.example/ui/new", "/"),
        ("//elsewhere.example/ui/new", "/"),
        ("/\\elsewhere.example", "/"),
        ("/ui/\r\nSet-Cookie: a=b", "/"),
        ("javascript:alert(1)", "/"),
        ("", "/"),
    ],
)
def test_a_login_leads_to_pages_of_ours_only(given, onward):
    assert inner_address(given) == onward


def test_no_page_shows_a_secret(client, keys, tokens):
    log_in(client, keys["admin"])
    digests = [one.digest for one in tokens.tokens()]
    for address in ("/", "/ui/new", "/ui/campaigns/spring", "/ui/campaigns/nobody"):
        html = client.get(address).text
        assert not any(secret in html for secret in (*keys.values(), *digests, client.cookies[COOKIE]))


def test_a_file_of_tokens_that_cannot_be_read_shuts_the_pages(client, keys, tmp_path):
    log_in(client, keys["admin"])
    (tmp_path / "tokens.json").write_text("{broken")
    answer = client.get("/")
    assert answer.status_code >= 400
    assert "spring" not in re.sub(r"/[^ ]*", "", text_of(answer.text))


def test_a_link_logs_a_colleague_in_until_it_ends(db, keys, tmp_path):
    """By the command that makes it: as reader or editor, for its days, until it is revoked."""
    file = str(tmp_path / "tokens.json")

    def make(name, *more):
        done = CliRunner().invoke(app, ["token", "link", name, "--tokens", file, "--json", *more])
        assert done.exit_code == 0, done.output
        return json.loads(done.output)["link"].removeprefix("http://127.0.0.1:8763")

    reader = make("ann", "--campaign", "spring")
    editor = make("ben", "--role", "editor", "--days", "2")
    now = time.time()
    clock = Clock(now)
    with visit(db, tmp_path / "tokens.json", clock) as client:
        answer = client.get(reader)
        assert answer.status_code == 303
        assert answer.headers["location"] == "/ui/campaigns/spring"
        assert re.search(r"Max-Age=(25919\d\d|2592000)", answer.headers["set-cookie"])
        assert "elsv_" not in answer.headers["set-cookie"].replace("elsv_session", "")
        page = client.get("/ui/campaigns/spring").text
        assert "Pause, extend" not in page
        assert "read" in text_of(page)
        clock.pass_(20 * 86400)
        assert client.get("/ui/campaigns/spring").status_code == 200, "it lasts as long as the link"
        clock.now = now
        assert client.get(editor).status_code == 303
        assert "Pause, extend" in client.get("/ui/campaigns/spring").text
        assert "set-cookie" not in client.get(reader).headers, "an editor stays one"
        listed = CliRunner().invoke(app, ["token", "list", "--tokens", file]).output
        assert "ann\tread\t" in listed
        assert "link until" in listed
        TokenFile(file).revoke("ben")
        assert client.get("/ui/campaigns/spring").headers["location"].startswith("/ui/login")
        answer = client.get(editor)
        assert answer.status_code == 401
        assert "ask for a new one" in answer.text
        assert client.get(f"/ui/link/{keys['read']}").status_code == 401, "other tokens are not for addresses"


def test_a_link_ends_with_its_days(db, keys, tmp_path):
    token = TokenFile(tmp_path / "tokens.json").new("soon over", "read", days=1e-9)
    assert TokenFile(tmp_path / "tokens.json").find(digest_of(token)) is None
    with visit(db, tmp_path / "tokens.json") as client:
        assert client.get(f"/ui/link/{token}").status_code == 401


@pytest.mark.parametrize(
    "more", [("--role", "write"), ("--days", "0"), ("--days", "400"), ("--address", "shop")]
)
def test_what_a_link_cannot_be(tmp_path, more):
    done = CliRunner().invoke(app, ["token", "link", "x", "--tokens", str(tmp_path / "t.json"), *more])
    assert isinstance(done.exception, InvalidInputError)
