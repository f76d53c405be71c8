"""The pages of the service: what they show, and what their forms do."""

import contextlib
import hashlib
import json
import re
import sqlite3
import time
from importlib import resources
from pathlib import Path

import pytest

from campaigns import NAMES, shop
from elsv import Campaign, Problem
from elsv.campaign.views import COLOURS, Scale, figure, method_of, percent, reasons_of, scale_of, style_sheet
from elsv.report.style import DARK, styles
from elsv.service.page.browser import Visit, static_files
from elsv.service.tokens import page_of
from pages import send, tags_of, text_of, visit

PAGE = resources.files("elsv.service.page")


@pytest.fixture
def db(tmp_path):
    return tmp_path / "shop.db"


def begun(db, name="spring", decisions=40, **settings):
    settings = {"policy": "thompson", "unit": "EUR", "seed": 3, "control": "full price", **settings}
    campaign = Campaign.open(db, name, shop(), **settings)
    for k, decision in enumerate(campaign.decide(count=decisions) if decisions else []):
        if k % 4:
            campaign.reward(decision, success=k % 3 == 0)
    return campaign


def test_the_list_says_how_every_campaign_stands(db):
    begun(db)
    begun(db, "autumn", decisions=0)
    begun(db, "winter", decisions=3).pause()
    with visit(db) as client:
        said = text_of(client.get("/").text)
        found = {name: Campaign.open(db, name).status() for name in ("spring", "autumn", "winter")}
    for name, word in (("spring", "Running"), ("autumn", "Not begun"), ("winter", "Paused")):
        status = found[name]
        wrong = status.troubles()[0] if status.troubles() else "Nothing is wrong."
        assert status.sentences()[0].startswith(word)
        assert f"{name} {status.sentences()[0]} {status.money_line()} {wrong}" in said


def test_a_campaign_that_this_server_cannot_compute_is_listed(db):
    begun(db)
    Campaign.open(db, "own", shop(), policy=lambda state, step, rng: 0).decide()
    with visit(db) as client:
        said = text_of(client.get("/").text)
        assert "own Running: 1 of 300 customers have come. – It cannot be computed here." in said
        assert "spring Running since" in said
        answer = client.get("/ui/campaigns/own")
        assert answer.status_code == 422
        assert "a policy of your own" in text_of(answer.text)


def test_a_server_that_gets_ready_shows_the_counts_first_and_the_rest_when_it_is_known(db, monkeypatch):
    begun(db)
    monkeypatch.setattr("elsv.service.page.routes.SOON", 0.0)
    with visit(db) as client:
        client.service.starting = True
        answer = client.get("/ui/campaigns/spring")
        said = text_of(answer.text)
        assert answer.status_code == 200
        assert "Running: 40 of 300 customers have come." in said
        assert "follow in a moment" in said
        (again,) = (attrs["hx-get"] for _, attrs in tags_of(answer.text) if attrs.get("hx-trigger") == "load")
        assert again == "/ui/campaigns/spring"
        assert "follows in a moment" in text_of(client.get("/").text)
        assert client.get(again, headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"
        assert "Needs you" in text_of(client.get("/ui/campaigns/spring").text)
        assert client.get("/ui/campaigns/nobody").status_code == 404
        client.service.starting = False
        assert "Nothing is wrong." in text_of(client.get("/").text)


def test_a_list_without_computing_does_not_count_more_customers_than_are_planned(db):
    small = Problem(rewards=[0.8, 0.9], horizon=5)
    own = Campaign.open(db, "own", small, policy=lambda state, step, rng: 0)
    own.decide(count=8)
    with visit(db) as client:
        said = text_of(client.get("/").text)
    assert "own Over: 8 customers have come." in said


def test_a_policy_at_its_end_leaves_the_rest_of_the_page(db, monkeypatch):
    begun(db, policy="elsv")
    monkeypatch.setattr("elsv._base.triangle.MOST_LEVELS", 20)
    with visit(db) as client:
        answer = client.get("/ui/campaigns/spring")
    said = text_of(answer.text)
    assert answer.status_code == 200
    assert "What the next customer gets cannot be computed: tables go up to 20 steps" in said
    assert "40 of 300 customers have come" in said


def test_the_list_of_an_empty_store_says_what_to_do(db):
    with visit(db) as client:
        assert "There are no campaigns yet." in text_of(client.get("/").text)


def test_a_campaign_s_page_shows_what_its_status_says(db):
    campaign = begun(db)
    with visit(db) as client:
        answer = client.get("/ui/campaigns/spring")
    said, status = text_of(answer.text), campaign.status()
    assert answer.status_code == 200
    first = (status.sentences()[0], *status.brought(), *status.on_offer(), status.needs())
    for sentence in (*first, *status.lately(), *status.notes()):
        assert " ".join(sentence.split()) in said
    for arm in status.arms:
        assert arm.name in said
        assert f"{100 * arm.conversion:.1f} %" in said
    for gain in status.gains:
        assert status.money(gain.gain, True, near=True) in said
    assert f"Customer 41 gets {NAMES[campaign.explain().arm]}." in said
    assert f"{status.left:,} customers are left" in said
    assert status.came_in_words(status.days[-1:]) in said


def test_the_parts_that_are_polled_are_those_of_the_page(db):
    begun(db)
    with visit(db) as client:
        whole, live = client.get("/ui/campaigns/spring").text, client.get("/ui/campaigns/spring/live").text
    parts = [attrs["id"] for tag, attrs in tags_of(live) if "hx-swap-oob" in attrs]
    assert len(parts) == len(set(parts)) == 12
    ids = [attrs["id"] for _, attrs in tags_of(whole) if "id" in attrs]
    assert len(ids) == len(set(ids)), "an id occurs twice"
    assert set(parts) <= set(ids)
    assert [part for part in ids if part.startswith("part-") and part not in parts] == []


def test_a_name_of_any_characters_has_all_its_pages(db):
    begun(db, "20 % off.new", decisions=3)
    with visit(db) as client:
        for rest in ("", "/live", "/report.html", "/export.csv"):
            assert client.get(page_of("20 % off.new") + rest).status_code == 200, rest


def test_pages_have_neither_inline_scripts_nor_styles(db):
    begun(db)
    with visit(db) as client:
        for address in (
            "/",
            "/ui/campaigns/spring",
            "/ui/campaigns/spring/live",
            "/ui/new",
            "/ui/campaigns/no",
        ):
            answer = client.get(address)
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            for tag, attrs in tags_of(answer.text):
                assert tag != "style", address
                assert tag != "script" or attrs["src"].startswith("/ui/static/"), address
                assert not [name for name in attrs if name == "style" or name.startswith(("on", "hx-on"))]
                assert "://" not in str(attrs.get("href") or "") + str(attrs.get("src") or "")


@pytest.mark.parametrize(
    "name", ["a/b", "..", ".", "20 % off", "%2F", "ä ö?#&", "<script>alert(1)</script>", "x" * 500]
)
def test_any_name_has_a_page(db, name):
    begun(db, "plain", decisions=2)
    with contextlib.closing(sqlite3.connect(db)) as connection, connection:  # older stores have any names
        connection.execute("UPDATE elsv_campaign SET name = ?", (name,))
    with visit(db) as client:
        listed = client.get("/").text
        links = [
            attrs["href"] for tag, attrs in tags_of(listed) if tag == "a" and "/campaigns/" in attrs["href"]
        ]
        assert links == [page_of(name)]
        page = client.get(links[0])
        assert page.status_code == 200
        assert f"<h1>{name}</h1>" not in page.text or "<" not in name
        assert name in text_of(page.text) or name.isspace()
        assert "<script>alert" not in page.text + listed
        assert send(client, f"{links[0]}/pause").status_code == 303
        assert Campaign.open(db, name).settings.paused


@pytest.mark.parametrize("name", ["spring", "a/b", "%", "%25", "%2F", "%252F", "...", "é"])
def test_names_come_back_from_addresses(name):
    part = page_of(name).removeprefix("/ui/campaigns/")
    assert "/" not in part
    assert Visit({"type": "http", "path_params": {"name": part}}).part("name") == name


def test_forms_change_the_settings(db):
    campaign = begun(db)
    with visit(db) as client:
        for what, fields, expected in (
            ("pause", {}, {"paused": True}),
            ("resume", {}, {"paused": False}),
            ("floor", {"floor": "1.5 %"}, {"floor": 0.015}),
            ("extend", {"customers": "1,000"}, {"horizon": 1000}),
            ("end", {}, {"horizon": 40}),
        ):
            answer = send(client, f"/ui/campaigns/spring/{what}", fields)
            assert (answer.status_code, answer.headers["location"]) == (
                303,
                f"/ui/campaigns/spring?said={what}",
            )
            settings = vars(campaign.settings)
            assert {key: settings[key] for key in expected} == expected
            assert 'role="status"' in client.get(answer.headers["location"]).text
    assert campaign.status().phase == "over"
    assert campaign.audit().exact
    campaign.extend(41)
    assert campaign.status().phase == "running"


@pytest.mark.parametrize(
    ("what", "fields", "said"),
    [
        ("floor", {"floor": "much"}, "floor must be a number from 0 to 100"),
        ("floor", {"floor": "30"}, "floor must leave room for the policy"),
        ("floor", {}, "floor must be a number"),
        ("extend", {"customers": "200"}, "customers must be more than the 300"),
        ("extend", {"customers": "1e308"}, "customers must be a whole number"),
        ("extend", {"customers": "nan"}, "customers must be a whole number"),
    ],
)
def test_what_does_not_work_is_said_beside_its_field(db, what, fields, said):
    begun(db, decisions=2)
    with visit(db) as client:
        answer = send(client, f"/ui/campaigns/spring/{what}", fields)
    assert answer.status_code == 422
    assert f"Nothing was changed: {said}" in text_of(answer.text)
    assert 'aria-invalid="true"' in answer.text


def test_a_campaign_without_customers_or_without_an_end_does_not_end(db):
    begun(db, decisions=0)
    Campaign.open(db, "always", Problem(rewards=[1, 2], discount=0.9), policy="greedy").decide()
    with visit(db) as client:
        assert "cannot end" in text_of(send(client, "/ui/campaigns/spring/end").text)
        assert "no last customer" in text_of(send(client, "/ui/campaigns/always/end").text)
        page = client.get("/ui/campaigns/always")
        assert page.status_code == 200
        assert "/extend" not in page.text
        assert send(client, "/ui/campaigns/always/dance").status_code == 404
        assert send(client, "/ui/campaigns/nobody/pause").status_code == 404


def test_what_is_not_there_is_a_page_too(db):
    with visit(db) as client:
        answer = client.get("/ui/campaigns/nobody")
        assert answer.status_code == 404
        assert "Not found" in text_of(answer.text)
        assert client.get("/ui/static/x/settings.py").status_code == 404
        assert client.get("/ui/static/x/..%2f__init__.py").status_code == 404


def test_the_report_is_a_page_that_can_be_sent(db):
    begun(db)
    with visit(db) as client:
        answer = client.get("/ui/campaigns/spring/report.html")
    assert answer.status_code == 200
    assert "attachment" not in answer.headers.get("content-disposition", "")
    assert "script" not in answer.headers["content-security-policy"]
    said = text_of(answer.text)
    order = ("In short", "What was asked", "What was known beforehand", "What was done when")
    places = [
        said.index(title) for title in (*order, "What it brought", "What to do now", "What it rests on")
    ]
    assert places == sorted(places)


def test_words_for_why_this_arm_now(db):
    campaign = begun(db, decisions=0, policy="greedy", control=None)

    def said():
        return " ".join(reasons_of(campaign.status(), campaign.explain()))

    assert "By what is known it earns most" in said()
    campaign.pause()
    assert "paused" in said()
    campaign.resume()
    campaign.decide(count=300)
    assert "planned customers have come" in said()
    explored = Campaign.open(db, "explored", shop(), policy="fixed:arm=4", floor=0.05)
    for decision in explored.decide(count=3):
        explored.reward(decision, success=False)
    explored.decide()
    words = " ".join(reasons_of(explored.status(), explored.explain()))
    assert "earns most by what is known" in words
    method = " ".join(method_of(explored.status()))
    assert "1 outcome is still awaited" in method
    assert "5 % of the customers" in method


def test_customers_of_several_segments(db):
    problem = Problem(
        rewards=[1, 2, 1, 2],
        horizon=100,
        names=["few to men", "many to men", "few to women", "many to women"],
        segments={"men": ["few to men", "many to men"], "women": ["few to women", "many to women"]},
    )
    campaign = Campaign.open(db, "by segment", problem, policy="greedy", seed=1)
    for k in range(30):
        decision = campaign.decide(segment=("men", "women")[k % 2])
        campaign.reward(decision, success=decision.arm in (0, 3))
    with visit(db) as client:
        said = text_of(client.get("/ui/campaigns/by%20segment").text)
        listed = text_of(client.get("/").text)
    for segment in campaign.status().segments:
        assert f"{segment.leader} for {segment.name}" in said
        assert f"{100 * segment.best:.0f} % for {segment.name}" in said
        given = campaign.explain(segment.name).chosen.name
        assert f"Customer 31, if of {segment.name}, gets {given}." in said
    assert "Options by segment" in said
    assert "by segment" in listed


def test_names_of_segments_and_options_are_said_once(db):
    names = [f"{who}: {option}" for who in ("new", "old") for option in ("none", "5 % off")]
    problem = Problem(
        [20, 19, 20, 19], horizon=90, names=names, segments={"new": names[:2], "old": names[2:]}
    )
    campaign = Campaign.open(db, "both", problem, policy="greedy", seed=1, control=[0, 2], unit="EUR")
    for who in ("new", "old") * 5:
        campaign.reward(campaign.decide(segment=who), success=True)
    with visit(db) as client:
        page = client.get("/ui/campaigns/both").text
    said = text_of(page)
    assert "against always none" in said
    assert "always none × " not in said
    matrix = page[page.index('<table class="matrix"') :]
    matrix = text_of(matrix[: matrix.index("</table>")])
    assert not re.search(r"(new|old): ", matrix)
    assert matrix.count("all segments") == 1
    assert "10 customers" in matrix


def test_a_long_log_is_read_beside_and_nobody_waits(db, monkeypatch):
    campaign = begun(db)
    monkeypatch.setattr("elsv.campaign.campaign._LONG", 10)
    with visit(db) as client:
        assert "40 decisions are being counted" in text_of(client.get("/ui/campaigns/spring").text)
        for _ in range(200):
            said = text_of(client.get("/ui/campaigns/spring").text)
            if "being counted" not in said:
                break
            time.sleep(0.05)
    assert campaign.status().came_in_words(campaign.status().days[-1:]) in said


def test_many_arms_share_a_colour(db):
    names = [f"arm number {k}" for k in range(14)]
    campaign = Campaign.open(
        db, "wide", Problem(rewards=[1.0] * 14, horizon=90, names=names), policy="random", seed=1
    )
    campaign.decide(count=80)
    with visit(db) as client:
        assert client.get("/ui/campaigns/wide").status_code == 200


def test_scales_have_round_numbers():
    assert Scale(0, 1).ticks() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert scale_of([]) == Scale(0.0, 1.0)
    assert scale_of([float("nan"), -3, 12]) == Scale(-3, 12)
    assert Scale(-3, 12).ticks() == pytest.approx([0, 5, 10])
    assert Scale(-5908, 1291).ticks() == [-5000, -2500, 0]  # −4,000 and −2,000 would touch
    assert Scale(0, 0.119).ticks() == pytest.approx([0, 0.05, 0.1])
    assert all(0 <= Scale(0, 1).place(x) <= 100 for x in (-5, 0, 0.5, 1, 7))
    assert [figure(x) for x in (0, 0.0123456, 3, 45.67, 1e20)] == ["0", "0.0123", "3.00", "45.7", "1e+20"]
    assert percent(0.99999).endswith("99\xa0%")


def test_colours_are_those_of_the_reports():
    sheet = style_sheet()
    light, dark = (
        [re.search(rf"--c{k}: (#[0-9a-f]{{6}})", part)[1] for k in range(COLOURS)]
        for part in sheet.split("prefers-color-scheme: dark", 1)
    )
    house = [style.colour.lower() for style in styles(f"arm {k}" for k in range(COLOURS)).values()]
    assert light == house
    assert dark == [DARK[colour] for colour in house]


@pytest.mark.parametrize("folder", [PAGE / "static" / "vendor", Path(__file__).parent / "vendor"], ids=str)
def test_foreign_files_are_those_that_were_noted(folder):
    noted = json.loads((folder / "versions.json").read_text())
    assert noted
    for name, about in noted.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == about["sha256"], name
        assert (folder / about["licence_file"]).read_text().strip()
    scripts = {f.name for f in folder.iterdir() if f.name.endswith((".js", ".css"))}
    assert scripts == set(noted)


def test_files_of_pages_can_be_kept_for_good(db):
    with visit(db) as client:
        page = client.get("/").text
        loaded = [
            attrs.get("src") or attrs.get("href") for tag, attrs in tags_of(page) if tag in ("script", "link")
        ]
        assert len(loaded) == len(static_files())
        for address in loaded:
            answer = client.get(address)
            assert answer.status_code == 200
            assert "immutable" in answer.headers["cache-control"]
            assert answer.content == static_files()[address.rpartition("/")[2]][0]
