"""Every route of the OpenAPI document against a missing, wrong, revoked and weaker token."""

import pytest

from elsv.service.tokens import TokenFile
from services import serving

PUBLIC = {"/healthz", "/readyz", "/openapi.json"}  # whether it lives is for load balancers too
NEEDED = {"get": "read", "head": "read", "post": "write", "put": "admin", "patch": "admin", "delete": "admin"}
NEEDED_AT = dict.fromkeys(("/campaigns/{name}/arms", "/campaigns/{name}/forget"), "admin")
WEAKER = {"read": [], "write": ["read"], "admin": ["read", "write"]}
ORDER = ("read", "write", "admin")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = tmp_path_factory.mktemp("service")
    with serving(directory / "shop.db", directory) as running:
        running.begin("spring")
        yield running


@pytest.fixture(scope="module")
def operations(server):
    """Return method, path with its parameters filled in, and an example of a body, of every route."""
    with server.http() as http:
        document = http.get("/openapi.json").json()
        decision = http.post("/campaigns/spring/decisions", json={}).json()["decisions"][0]["id"]
    found = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            examples = [one["value"] for one in content.get("examples", {}).values()]
            filled = path.replace("{name}", "spring").replace("{id}", decision)
            assert "{" not in filled, f"{path} has a parameter that this test does not know"
            found.append((method, path, filled, examples[0] if examples else None))
    assert len(found) >= 14
    return found


def send(http, operation):
    method, _, filled, body = operation
    return http.request(method.upper(), filled, json=body)


def is_problem(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["status"] == status
    assert told["rule"]
    assert told["remedy"]


@pytest.mark.parametrize("token", [None, "elsv_wrong", "revoked", "Bearer", "ä"])
def test_without_a_valid_token_nothing_is_answered(server, operations, token):
    headers = (
        {} if token is None else {"authorization": b"Bearer " + server.tokens.get(token, token).encode()}
    )
    with server.http(None) as http:
        for operation in operations:
            if operation[1] in PUBLIC:
                continue
            method, _, filled, body = operation
            answer = http.request(method.upper(), filled, json=body, headers=headers)
            is_problem(answer, 401)
            assert "bearer" in answer.headers["www-authenticate"].lower()
            assert "elsv_wrong" not in answer.text


@pytest.mark.parametrize("scheme", ["Basic", "Token", ""])
def test_other_schemes_are_no_token(server, scheme):
    with server.http(None) as http:
        answer = http.get(
            "/campaigns", headers={"authorization": f"{scheme} {server.tokens['admin']}".strip()}
        )
        is_problem(answer, 401)
        for place in (f"/campaigns?token={server.tokens['admin']}", "/campaigns"):
            is_problem(http.get(place, headers={"cookie": f"token={server.tokens['admin']}"}), 401)


def test_a_role_may_do_its_own_and_no_more(server, operations):
    for operation in operations:
        method, path, *_ = operation
        if path in PUBLIC:
            continue
        needed = NEEDED_AT.get(path, NEEDED[method])
        for role in ORDER:
            with server.http(role) as http:
                answer = send(http, operation)
            if role in WEAKER[needed]:
                is_problem(answer, 403)
                assert needed in answer.json()["remedy"], path
            else:
                assert answer.status_code not in (401, 403), (role, method, path, answer.text)
                assert answer.status_code < 500, (method, path, answer.text)


def test_who_may_not_look_does_not_learn_what_there_is(server):
    with server.http(None) as http:
        known, unknown = (http.get(f"/campaigns/{name}").text for name in ("spring", "nothing"))
        assert known == unknown
    with server.http("read") as http:
        is_problem(http.put("/campaigns/nothing", json={"no": "campaign"}), 403)


def test_what_lives_is_public(server):
    with server.http(None) as http:
        for path in ("/healthz", "/readyz"):
            assert http.get(path).status_code == 200


def test_a_token_that_is_revoked_ends_at_once(server):
    tokens = TokenFile(server.token_file)
    token = tokens.new("short-lived", "read")
    with server.http(token) as http:
        assert http.get("/campaigns").status_code == 200
        tokens.revoke("short-lived")
        is_problem(http.get("/campaigns"), 401)


def test_a_damaged_file_of_tokens_lets_nobody_in_until_it_is_repaired(server):
    before = server.token_file.read_bytes()
    with server.http() as http:
        try:
            server.token_file.write_bytes(b"{")
            answer = http.get("/campaigns")
            is_problem(answer, 503)
            assert answer.headers["retry-after"]
            assert http.get("/healthz").status_code == 200
        finally:
            server.token_file.write_bytes(before)
        assert http.get("/campaigns").status_code == 200
