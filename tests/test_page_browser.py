"""The pages in a real browser: live numbers and pictures, telephone, dark, keyboard, screen reader."""

import json
import time

import pytest
from typer.testing import CliRunner

from browsers import PHONE, WIDE, ask, browser, new_context, serving, until, violations
from campaigns import Clock, shop
from elsv import Campaign, Problem
from elsv.cli import app
from elsv.service.tokens import TokenFile

SMALL = """() => [...document.querySelectorAll('body *')].filter((e) =>
    [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())
    && parseFloat(getComputedStyle(e).fontSize) < 12).map((e) => e.outerHTML.slice(0, 100))"""
OTHERS = ("/ui/new", "/ui/campaigns/nobody")
TOO_WIDE = "() => document.documentElement.scrollWidth - window.innerWidth"
COLUMNS = "() => document.querySelector('#part-days svg.columns-picture path').getAttribute('d')"
PICTURES = """() => {
    const wrong = [], shown = (e) => e.getBoundingClientRect().height > 0;
    for (const axis of [...document.querySelectorAll('svg.axis')].filter(shown)) {
        const ends = [...axis.querySelectorAll('text')].map((t) => t.getBoundingClientRect());
        ends.slice(1).forEach((next, k) => { if (next.left < ends[k].right) wrong.push('labels touch'); });
        const table = axis.closest('table');
        if (!table) continue;
        const own = axis.getBoundingClientRect(), cell = axis.closest('th').classList[0];
        for (const picture of [...table.querySelectorAll('td.' + cell + ' svg.picture')].filter(shown)) {
            const place = picture.getBoundingClientRect();
            if (Math.abs(place.left - own.left) > 2 || Math.abs(place.width - own.width) > 2)
                wrong.push(`off its axis: ${place.left} ${place.width}, ${own.left} ${own.width}`);
            if (place.width < 70) wrong.push(`narrow: ${place.width}`);
        }
    }
    return wrong;
}"""
STATES = ("none yet", "spring", "wrong", "paused", "over", "less", "apart")


@pytest.fixture(scope="module")
def chrome():
    with browser() as found:
        yield found


def fill(db):
    """Campaigns in every state, begun three midnights before this one, so that four days have customers."""
    clock = Clock(86400 * (time.time() // 86400 - 3))
    given = {"unit": "EUR", "seed": 3, "control": 3, "timezone": "UTC", "clock": clock}
    Campaign.open(db, "none yet", shop(), policy="greedy", **given)
    opened = {
        name: Campaign.open(db, name, shop(horizon), policy=policy, **given)
        for name, horizon, policy in (
            ("spring", 300, "thompson"),
            ("wrong", 300, "random"),
            ("paused", 300, "greedy"),
            ("over", 120, "thompson"),
            ("less", 300, "thompson"),
        )
    }
    names = [f"{who}: {option}" for who in ("new", "old") for option in ("none", "15 % off")]
    problem = Problem(
        [20, 17, 20, 17], horizon=300, names=names, segments={"new": names[:2], "old": names[2:]}
    )
    apart = Campaign.open(db, "apart", problem, policy="thompson", **{**given, "control": [0, 2]})
    for day in range(4):
        for name, campaign in opened.items():
            for k, decision in enumerate(campaign.decide(count=40)):
                if k % 5:
                    won = decision.arm == 3 if name == "wrong" else k % 3 == 0
                    campaign.reward(decision, success=won)
        for segment in ("new", "old"):
            campaign = apart
            campaign.rewards(
                (one, k % 4 == 0) for k, one in enumerate(campaign.decide(count=8, segment=segment))
            )
        if day == 2:
            opened["paused"].pause()
            opened["spring"].extend(400)
            opened["less"].withdraw("40 % off")
        clock.pass_(86400)
    for campaign in (*opened.values(), apart):
        campaign.close()


@pytest.fixture(scope="module")
def shop_db(tmp_path_factory):
    return tmp_path_factory.mktemp("page") / "shop.db"


@pytest.fixture(scope="module")
def address(chrome, shop_db):
    fill(shop_db)
    with serving(shop_db) as found:
        yield found


@pytest.fixture
def page(chrome, address):
    """A page that must neither fail nor be refused anything by its own policy."""
    context = new_context(chrome, address)
    found = context.new_page()
    complaints = []
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    yield found
    context.close()
    # A request that a click on a link cut off is no failure.
    known = ("422", "503", "htmx:afterRequest", "htmx:sendError", "htmx:sendAbort")
    assert [said for said in complaints if not any(word in said for word in known)] == []


def test_from_the_form_to_the_end_of_a_campaign(page, address):
    page.goto("/")
    page.get_by_role("link", name="New campaign").click()
    page.get_by_label("Name", exact=True).first.fill("summer")
    arms = page.locator("#arms .arm-row")
    page.get_by_role("button", name="Add an arm").click()
    assert arms.count() == 4
    page.get_by_role("button", name="Remove the arm").last.click()
    for row, (name, reward) in enumerate((("20 % off", "24"), ("10 % off", "27"), ("full price", "30"))):
        arms.nth(row).get_by_label("Name").fill(name)
        arms.nth(row).get_by_label("A success earns").fill(reward)
    arms.nth(2).get_by_label("Given today").check()
    page.get_by_label("Unit").fill("EUR")
    page.get_by_label("Customers in all").fill("60")
    page.get_by_text("Policy, floor, holdout, time zone").click()
    page.get_by_label("Policy").select_option("thompson")
    page.locator("#preview table").wait_for()
    assert "at least as often as the next" in page.locator("#preview").inner_text()
    page.get_by_role("button", name="Rehearse it").click()
    page.locator("#rehearsal table").first.wait_for(state="attached", timeout=180_000)
    assert "No verdict" in page.locator("#rehearsal").inner_text()
    page.get_by_label("What share of your visitors buys today?").fill("4 %")
    page.get_by_role("button", name="Rehearse it").click()
    page.locator("#rehearsal table").nth(1).wait_for(state="attached", timeout=180_000)
    page.locator("#rehearsal summary").click()
    assert "EUR" in page.locator("#rehearsal").inner_text()
    assert "Holdout" in page.locator("#rehearsal").inner_text()
    page.get_by_role("button", name="Begin the campaign").click()

    page.wait_for_url("**/ui/campaigns/summer?said=begun")
    assert page.locator(".phase").inner_text() == "Not begun"
    page.evaluate("window.untouched = true")
    pictures = page.locator("#part-arms").inner_html()
    made = ask(address, "POST", "/campaigns/summer/decisions", {"count": 20})["decisions"]
    until(page, lambda: "20 of 60 customers have come" in page.locator("#part-first").inner_text())
    drawn = page.evaluate(COLUMNS)
    assert page.locator(".phase").inner_text() == "Running"
    ask(
        address,
        "POST",
        "/rewards",
        {"rewards": [{"decision": one["id"], "success": k % 2 == 0} for k, one in enumerate(made)]},
    )
    until(page, lambda: "Today so far: 20 customers, 10 sales" in page.locator("#part-first").inner_text())
    assert page.locator("#part-arms").inner_html() != pictures
    assert "EUR" in page.locator("#part-gains").inner_text()
    assert page.evaluate(COLUMNS) == drawn, "one day, one bar"
    assert page.evaluate("window.untouched"), "the page was loaded anew"
    fresh = page.context.new_page()
    fresh.goto("/ui/campaigns/summer")
    fresh.locator("#live-toggle").click()
    for part in fresh.locator("[id^=part-]").all():
        name = part.get_attribute("id")
        until(page, lambda: page.locator(f"#{name}").inner_html() == part.inner_html())  # noqa: B023
    fresh.close()

    page.get_by_text("Pause, extend, change or end it").click()
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_text("The campaign is paused.").first.wait_for()
    assert page.locator(".phase").inner_text() == "Paused"
    page.get_by_text("Pause, extend, change or end it").click()
    page.get_by_role("button", name="Resume", exact=True).click()
    page.get_by_text("Pause, extend, change or end it").click()
    page.get_by_label("Least share of every arm").fill("2")
    page.get_by_role("button", name="Change the floor").click()
    page.get_by_text("Settings", exact=True).click()
    page.get_by_text("2 % of the customers for every arm").wait_for()
    page.get_by_text("Pause, extend, change or end it").click()
    page.get_by_label("Customers in all, more than 60").fill("30")
    page.get_by_role("button", name="Extend").click()
    page.get_by_text("Nothing was changed").wait_for()
    page.get_by_text("End the campaign…").click()
    page.get_by_role("button", name="End it now").click()
    page.get_by_text("The campaign has ended").wait_for()
    assert page.locator(".phase").inner_text() == "Over"
    page.get_by_role("link", name="Report to send or print").click()
    page.get_by_role("heading", name="What to do now").wait_for()
    page.goto("/")
    assert "Over" in page.get_by_role("row", name="summer").inner_text()


def test_the_preview_says_that_it_is_computing(page):
    held = []
    page.route("**/ui/new/preview", lambda route: held.append(route))
    page.goto("/ui/new")
    word = page.get_by_text("Computing…")
    word.wait_for(state="visible")
    held.pop().continue_()
    word.wait_for(state="hidden")
    assert "Give at least two arms" in page.locator("#preview").inner_text()


def test_live_updates_stop_when_asked_and_say_when_there_is_no_answer(page, address):
    page.goto("/ui/campaigns/spring")
    toggle = page.locator("#live-toggle")
    toggle.click()
    assert toggle.get_attribute("aria-pressed") == "false"
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    ask(address, "POST", "/campaigns/spring/decisions", {"count": 1})
    page.wait_for_timeout(4000)
    assert asked == []
    toggle.click()
    with page.expect_response("**/live"):
        pass
    page.route("**/live", lambda route: route.fulfill(status=503))
    page.get_by_text("No answer from the server").wait_for(timeout=15_000)
    page.unroute("**/live")
    until(page, lambda: page.locator("#connection").inner_text() == "")


def test_what_has_not_changed_is_left_alone(page):
    page.goto("/ui/campaigns/wrong")
    page.get_by_text("Failures, expired and awaited outcomes").first.click()
    page.get_by_text("Pause, extend, change or end it").click()
    page.get_by_label("Least share of every arm").fill("7")
    page.evaluate("document.querySelector('#part-arms table').mark = 1")
    for _ in range(2):
        with page.expect_response("**/live"):
            pass
    page.wait_for_timeout(300)
    assert page.evaluate("document.querySelector('#part-arms table').mark") == 1
    assert page.get_by_label("Least share of every arm").input_value() == "7"
    assert page.locator("#part-outcomes").is_visible()
    assert "The outcomes speak against what is assumed" in page.locator("#part-trouble").inner_text()


@pytest.mark.parametrize(("viewport", "scheme"), [(WIDE, "light"), (PHONE, "dark")], ids=["wide", "phone"])
def test_pages_suit_every_screen_and_reader(chrome, address, viewport, scheme):
    context = new_context(chrome, address, viewport, color_scheme=scheme)
    page = context.new_page()
    campaigns = [f"/ui/campaigns/{name.replace(' ', '%20')}" for name in STATES]
    reports = [f"{campaigns[k]}/report.html" for k in (1, 2, 4, 5, 6)]
    for path in ("/", *campaigns, *reports, *OTHERS):
        page.goto(path)
        page.wait_for_load_state("networkidle")
        for closed in page.locator("summary").all():
            closed.click()
        if path == "/ui/new":
            page.get_by_role("button", name="Begin the campaign").click()
            page.get_by_text("The campaign was not begun").wait_for()
        assert violations(page) == [], path
        assert page.evaluate(TOO_WIDE) <= 0, path
        assert page.evaluate(SMALL) == [], path
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(253, 253, 251)" if scheme == "light" else "rgb(21, 24, 28)")
    context.close()


@pytest.mark.parametrize("screen", ["wide", "phone", "paper"])
def test_pictures_stand_below_their_axis_and_labels_do_not_touch(chrome, address, screen):
    """On common axes, wide enough to be read: arms, segments, gains and days, on paper too."""
    size = {"wide": WIDE, "phone": PHONE, "paper": {"width": 688, "height": 1002}}[screen]
    context = new_context(chrome, address, size)
    page = context.new_page()
    page.emulate_media(media="print" if screen == "paper" else "screen")
    for path in ("spring", "wrong", "apart", "spring/report.html", "apart/report.html"):
        page.goto(f"/ui/campaigns/{path}")
        assert page.evaluate(PICTURES) == [], path
        assert page.locator("svg.columns-picture").first.is_visible()
        assert page.evaluate(TOO_WIDE) <= 0, path
    context.close()


@pytest.mark.parametrize("state", STATES)
def test_the_first_screen_of_a_phone_says_it_all(chrome, address, state):
    context = new_context(chrome, address, PHONE)
    page = context.new_page()
    page.goto(f"/ui/campaigns/{state}")
    box = page.locator("#part-first").bounding_box()
    assert box["y"] + box["height"] <= PHONE["height"], state
    said = page.locator("#part-first").inner_text()
    words = {"none yet": "Not begun", "paused": "Paused since", "over": "Over: all 120"}
    assert words.get(state, "Running since") in said
    assert ("Needs you\nYes." if state == "wrong" else "Nothing is wrong.") in said
    assert "On offer" in said
    top = page.locator("#part-first strong").last.inner_text()
    offered = page.locator("#part-first dd").nth(1).inner_text()
    assert state == "paused" or offered.count(top) == 1, "what is offered is said once"
    assert state == "none yet" or ("Yesterday: " in said and "EUR" in said)
    context.close()


def test_a_page_that_is_asked_for_before_the_server_is_ready_comes_whole_by_itself(chrome, tmp_path):
    db = tmp_path / "shop.db"
    with Campaign.open(db, "spring", shop(300), policy="plan", seed=1, unit="EUR") as campaign:
        campaign.rewards((one, k % 3 == 0) for k, one in enumerate(campaign.decide(count=60)))
    with serving(db, state="/healthz") as starting:
        context = new_context(chrome, starting, PHONE)
        page = context.new_page()
        page.goto("/ui/campaigns/spring")
        assert "60 of 300 customers have come" in page.locator("main").inner_text()
        page.get_by_text("Needs you").wait_for()
        context.close()


def test_the_form_is_short_on_a_phone(chrome, address):
    """Three screens, or four with all that can be said of single arms; what is optional is folded."""
    context = new_context(chrome, address, PHONE)
    page = context.new_page()
    page.goto("/ui/new")
    tall = "() => document.documentElement.scrollHeight"
    assert page.evaluate(tall) <= 3.2 * PHONE["height"]
    assert page.locator("[name=expected]:visible, #sureness:visible, #policy:visible").count() == 0
    page.get_by_label("I know more of single arms").check()
    assert page.locator("[name=expected]:visible").count() == 3
    assert page.evaluate(tall) <= 4 * PHONE["height"]
    context.close()


def test_pictures_follow_the_colours_of_the_screen(page):
    page.goto("/ui/campaigns/spring")
    light = "() => getComputedStyle(document.querySelector('.dot.c0')).fill"
    assert page.evaluate(light) == "rgb(0, 114, 178)"
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(light) == "rgb(78, 166, 230)"


def test_charts_follow_their_container_at_once(page):
    page.goto("/ui/campaigns/apart")
    fits = """() => [...document.querySelectorAll('svg.columns-picture')].every((chart) =>
        Math.abs(chart.getBoundingClientRect().width - chart.parentElement.clientWidth) < 1)"""
    assert page.locator("svg.columns-picture").count() == 4, "customers, money, and one for each segment"
    for size in (WIDE, PHONE, {"width": 700, "height": 900}):
        page.set_viewport_size(size)
        assert page.evaluate(fits), size
        assert page.evaluate(TOO_WIDE) <= 0


def test_changes_stand_on_the_time_axis_with_what_they_were(page):
    page.goto("/ui/campaigns/spring")
    changes = page.locator("#part-days .changes li")
    assert changes.count() == page.locator("#part-days .marks text").count() == 1
    headings = [heading.bounding_box() for heading in page.locator("#part-days h3").all()]
    marks = [mark.bounding_box() for mark in page.locator("#part-days .marks").all()]
    assert len(marks) == 3, "one in each picture"
    for mark, heading in ((mark, heading) for mark in marks for heading in headings):
        top, bottom = heading["y"], heading["y"] + heading["height"]
        assert mark["y"] + mark["height"] <= top or mark["y"] >= bottom, "a mark crosses a heading"
    assert "extended from 300 to 400 customers" in changes.first.inner_text()
    page.get_by_text("Every day as a table").click()
    rows = page.locator("#part-table tbody tr")
    assert rows.count() == 4
    assert "40" in rows.last.inner_text()


def test_segments_are_columns_and_on_a_phone_one_after_the_other(page):
    page.goto("/ui/campaigns/apart")
    heads, cells = page.locator(".matrix thead th"), page.locator(".matrix tbody tr").first.locator("th, td")
    for k in range(1, 4):
        assert abs(heads.nth(k).bounding_box()["x"] - cells.nth(k).bounding_box()["x"]) < 2
    page.set_viewport_size(PHONE)
    places = [
        page.locator(f".matrix {kind}.s{k}").first.bounding_box()["y"]
        for k in (0, 1, 9)
        for kind in ("th", "td")
    ]
    assert places == sorted(places)
    assert page.locator(".matrix .phone.name").first.is_visible()


def test_nothing_is_asked_elsewhere_and_pages_are_light(page, address):
    loaded = []
    page.on("response", lambda answer: loaded.append((answer.url, len(answer.body()))))
    for path in (
        "/",
        *(f"/ui/campaigns/{name}" for name in STATES),
        "/ui/new",
        "/ui/campaigns/apart/report.html",
    ):
        loaded.clear()
        page.goto(path)
        page.wait_for_load_state("networkidle")
        page.locator("#live-toggle").click() if page.locator("#live-toggle").count() else None
        assert {url.split("/ui/")[0].rstrip("/") for url, _ in loaded} <= {address}, path
        assert sum(size for _, size in loaded) <= 250_000, (path, loaded)


def test_pages_print_well(page):
    """On paper: dark on white, nothing to press, tables and pictures not cut, a report of a few pages."""
    for path in (
        "/ui/campaigns/apart",
        "/ui/campaigns/spring/report.html",
        "/ui/campaigns/apart/report.html",
    ):
        page.emulate_media(media="print", color_scheme="dark")
        page.goto(path)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.locator("button:visible").count() == 0
        page.set_viewport_size({"width": 688, "height": 1002})  # A4 within its margins
        assert page.locator(".gains thead").first.is_visible(), "a table stays a table on paper"
        assert page.evaluate(TOO_WIDE) <= 0, path
        pages = page.pdf(format="A4").count(b"/Type /Page\n") or page.pdf(format="A4").count(b"/Type /Page ")
        assert pages <= 3, path


def test_everything_is_reached_with_the_keyboard_alone(page):
    page.goto("/ui/campaigns/spring")
    page.locator("#live-toggle").wait_for()
    for closed in page.locator("summary").all():
        closed.click()
    page.evaluate("document.activeElement.blur(); window.getSelection().removeAllRanges()")
    page.goto("/ui/campaigns/spring#")
    page.keyboard.press("Tab")
    focused = "(() => { const e = document.activeElement; return e.innerText || e.name || e.tagName; })()"
    assert page.evaluate(focused) == "Skip to the content"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        seen.append(page.evaluate(focused))
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style != "none", f"the focus is not to be seen on {seen[-1]}"
    else:
        pytest.fail(f"the focus never leaves the page: {seen}")
    reached = {"Live", "Pause", "floor", "Change the floor", "customers", "Extend", "Report to send or print"}
    assert reached <= set(seen)
    assert seen.index("Live") < seen.index("Pause")


def test_a_reader_logs_in_sees_no_buttons_and_logs_out(chrome, tmp_path):
    tokens, db = TokenFile(tmp_path / "tokens.json", must_exist=False), tmp_path / "shop.db"
    token = tokens.new("the reader", "read")
    Campaign.open(db, "spring", shop(), policy="greedy", seed=1).decide()
    with serving(db, tmp_path / "tokens.json") as address:
        context = new_context(chrome, address, PHONE)
        page = context.new_page()
        page.goto("/ui/campaigns/spring")
        assert violations(page) == []
        page.get_by_label("Token").fill("elsv_wrong")
        page.keyboard.press("Enter")
        page.get_by_text("unknown or was revoked").wait_for()
        assert violations(page) == []
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Log in").click()
        page.wait_for_url("**/ui/campaigns/spring")
        assert page.get_by_role("button", name="Pause", exact=True).count() == 0
        assert violations(page) == []
        assert page.evaluate("document.cookie") == "", "scripts must not see the cookie"
        tokens.revoke("the reader")
        page.get_by_label("Token").wait_for()  # several parts of the page may ask for the login at once
        assert "/ui/login?next=" in page.url
        token = tokens.new("another", "read")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("button", name="Log out").click()
        page.wait_for_url("**/ui/login")
        page.goto("/")
        assert "/ui/login" in page.url
        context.close()


def test_links_log_in_and_the_digest_suits_every_screen(chrome, tmp_path):
    """A link leads a colleague to the campaign, whose first screen is theirs; an e-mail has the news."""
    db, file = tmp_path / "shop.db", str(tmp_path / "tokens.json")
    with Campaign.open(db, "spring", shop(300), policy="greedy", seed=1, unit="EUR") as campaign:
        campaign.rewards((one, k % 3 == 0) for k, one in enumerate(campaign.decide(count=60)))
    made = CliRunner().invoke(
        app, ["token", "link", "ann", "--tokens", file, "--campaign", "spring", "--json"]
    )
    assert made.exit_code == 0, made.output
    link = json.loads(made.output)["link"]
    mail = CliRunner().invoke(app, ["campaign", "digest", str(db), "--since", "yesterday", "--html"])
    assert mail.exit_code == 0, mail.output
    with serving(db, tmp_path / "tokens.json") as guarded:
        for viewport, scheme in ((WIDE, "light"), (PHONE, "dark")):
            context = new_context(chrome, guarded, viewport, color_scheme=scheme)
            page = context.new_page()
            page.goto("/ui/campaigns/spring")
            assert "/ui/login" in page.url
            page.goto(link[link.index("/", len("http://")) :])
            page.wait_for_url("**/ui/campaigns/spring")
            assert page.get_by_text("Needs you").is_visible()
            assert page.get_by_role("button", name="Pause", exact=True).count() == 0
            for _ in range(2):  # the page, then the e-mail
                assert violations(page) == []
                assert page.evaluate(TOO_WIDE) <= 0
                assert page.evaluate(SMALL) == []
                page.set_content(mail.output)
            assert page.get_by_text("spring", exact=True).first.is_visible()
            context.close()
