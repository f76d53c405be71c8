"""The pages of the service: what they show, and what their forms do."""

import contextlib
import hashlib
import json
import re
import sqlite3
from importlib import resources
from pathlib import Path

import pytest
from starlette.requests import Request

from campaigns import NAMES, postgres_server, shop
from elsv import Campaign, Problem
from elsv.report.style import DARK, styles
from elsv.service.page.course import PARTS, Courses, course_view
from elsv.service.page.rendering import name_in, page_of, static_files
from elsv.service.page.views import COLOURS, Scale, figure, method_of, percent, reasons_of, scale_of
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
        status = Campaign.open(db, "spring").status()
    assert "spring Running 40 of 300" in said
    assert "autumn Not begun 0 of 300" in said
    assert "winter Paused 3 of 300" in said
    assert f"{status.earned:,.2f} EUR {status.leader.name}" in said


def test_a_campaign_that_this_server_cannot_compute_is_listed(db):
    begun(db)
    Campaign.open(db, "own", shop(), policy=lambda state, step, rng: 0).decide()
    with visit(db) as client:
        said = text_of(client.get("/").text)
        assert "own Running 1 of 300" in said
        assert "spring Running 40 of 300" in said
        answer = client.get("/ui/campaigns/own")
        assert answer.status_code == 422
        assert "a policy of your own" in text_of(answer.text)


def test_a_policy_at_its_end_leaves_the_rest_of_the_page(db, monkeypatch):
    begun(db, policy="elsv")
    monkeypatch.setattr("elsv._base.triangle.MOST_LEVELS", 20)
    with visit(db) as client:
        answer = client.get("/ui/campaigns/spring")
    said = text_of(answer.text)
    assert answer.status_code == 200
    assert "What the next customer gets cannot be computed: tables go up to 20 steps" in said
    assert "40 of 300 customers have earned" in said


def test_the_list_of_an_empty_store_says_what_to_do(db):
    with visit(db) as client:
        assert "There are no campaigns yet." in text_of(client.get("/").text)


def test_a_campaign_s_page_shows_what_its_status_says(db):
    campaign = begun(db)
    with visit(db) as client:
        answer = client.get("/ui/campaigns/spring")
    said, status = text_of(answer.text), campaign.status()
    assert answer.status_code == 200
    for sentence in status.sentences():
        assert " ".join(sentence.replace(" -", " −").replace("(-", "(−").split()) in said
    for arm in status.arms:
        assert arm.name in said
        assert f"{100 * arm.conversion:.1f} %" in said
    for gain in status.gains:
        assert f"{gain.gain:+,.2f} EUR".replace("-", "−") in said
    assert f"Customer 41 gets {NAMES[campaign.explain().arm]}." in said
    assert f"{status.left:,} customers are left" in said
    assert re.search(r"Outcomes under way ?10 ", said)


def test_the_parts_that_are_polled_are_those_of_the_page(db):
    begun(db)
    with visit(db) as client:
        whole, live = client.get("/ui/campaigns/spring").text, client.get("/ui/campaigns/spring/live").text
    parts = [attrs["id"] for tag, attrs in tags_of(live) if "hx-swap-oob" in attrs]
    assert len(parts) == len(set(parts)) == 14
    ids = [attrs["id"] for _, attrs in tags_of(whole) if "id" in attrs]
    assert len(ids) == len(set(ids)), "an id occurs twice"
    assert set(parts) <= set(ids)
    assert [part for part in ids if part.startswith("part-") and part not in parts] == []


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
    assert name_in(Request({"type": "http", "path_params": {"name": part}})) == name


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


def test_the_report_can_be_downloaded(db):
    pytest.importorskip("matplotlib")
    begun(db)
    with visit(db) as client:
        answer = client.get("/ui/campaigns/spring/report.html")
    assert answer.status_code == 200
    assert "attachment" in answer.headers["content-disposition"]
    assert "Campaign spring" in answer.text


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
        given = campaign.explain(segment.name).chosen.name
        assert f"Customer 31, if of {segment.name}, gets {given}." in said
    assert "Segments" in said
    assert "by segment" in listed


def counted(campaign, arms):
    course = Courses().of(campaign, arms, seconds=60)
    return course.counted, [sum(column) for column in zip(*course.parts, strict=True)]


def check_course(campaign):
    courses = Courses()
    for more in (3, 5, 90, 700):
        campaign.decide(count=more)
        course = courses.of(campaign, 4, seconds=60)
        tallies = [arm.decided for arm in campaign.status().arms]
        assert (course.counted, [sum(c) for c in zip(*course.parts, strict=True)]) == (sum(tallies), tallies)
        assert counted(campaign, 4) == (sum(tallies), tallies), "counted at once"
        assert len(course.parts) <= PARTS
        assert [sum(part) for part in course.parts[:-1]] == [course.size] * (len(course.parts) - 1)
        assert course.ends()[-1] == course.counted
    view = course_view(course, NAMES)
    data = json.loads(view.data)
    assert data["ends"][-1] == 798
    assert [sum(counts) for counts in data["counts"]] == tallies
    assert view.rows[0][0].startswith("1 – ")


def test_the_course_counts_every_decision_once(db):
    check_course(Campaign.open(db, "spring", shop(2000), policy="thompson", seed=1))


def test_the_course_on_postgres():
    with postgres_server() as server:
        campaign = Campaign.open(server.new_database(), "spring", shop(2000), policy="thompson", seed=1)
        check_course(campaign)
        campaign.close()


def test_a_long_log_is_counted_bit_by_bit(db, monkeypatch):
    monkeypatch.setattr("elsv.service.page.course._AT_ONCE", 100)
    campaign = Campaign.open(db, "spring", shop(2000), policy="greedy", seed=1)
    campaign.decide(count=250)
    courses = Courses()
    seen = [courses.of(campaign, 4, seconds=-1).counted for _ in range(4)]
    assert seen == [100, 200, 250, 250]
    assert "being counted" in course_view(Courses().of(campaign, 4, seconds=-1), NAMES).note


def test_many_arms_share_a_colour(db):
    names = [f"arm number {k}" for k in range(14)]
    campaign = Campaign.open(
        db, "wide", Problem(rewards=[1.0] * 14, horizon=90, names=names), policy="random", seed=1
    )
    campaign.decide(count=80)
    view = course_view(Courses().of(campaign, 14), names)
    assert view.head[-1] == "other arms"
    assert sum(map(sum, json.loads(view.data)["counts"])) == 80
    with visit(db) as client:
        assert client.get("/ui/campaigns/wide").status_code == 200


def test_scales_have_round_numbers():
    assert Scale(0, 1).ticks() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert scale_of([]) == Scale(0.0, 1.0)
    assert scale_of([float("nan"), -3, 12]) == Scale(-3, 12)
    assert Scale(-3, 12).ticks() == pytest.approx([0, 5, 10])
    assert all(0 <= Scale(0, 1).place(x) <= 100 for x in (-5, 0, 0.5, 1, 7))
    assert [figure(x) for x in (0, 0.0123456, 3, 45.67, 1e20)] == ["0", "0.0123", "3.00", "45.7", "1e+20"]
    assert percent(0.99999).endswith("99\xa0%")


def test_colours_are_those_of_the_reports():
    sheet = (PAGE / "static" / "page.css").read_text()
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
