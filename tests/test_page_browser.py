"""The pages in a real browser: live numbers and pictures, telephone, dark, keyboard, screen reader."""

import pytest

from browsers import PHONE, WIDE, ask, browser, new_context, serving, until, violations
from campaigns import shop
from elsv import Campaign
from elsv.service.tokens import TokenFile

SMALL = """() => [...document.querySelectorAll('body *')].filter((e) =>
    [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())
    && parseFloat(getComputedStyle(e).fontSize) < 12).map((e) => e.outerHTML.slice(0, 100))"""
OTHERS = ("/ui/campaigns/apart", "/ui/new", "/ui/campaigns/nobody")
TOO_WIDE = "() => document.documentElement.scrollWidth - window.innerWidth"
CANVAS = "() => { const c = document.querySelector('#course-plot canvas'); return c ? c.toDataURL() : ''; }"


@pytest.fixture(scope="module")
def chrome():
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def shop_db(tmp_path_factory):
    return tmp_path_factory.mktemp("page") / "shop.db"


@pytest.fixture(scope="module")
def address(chrome, shop_db):
    campaign = Campaign.open(shop_db, "spring", shop(), policy="thompson", unit="EUR", seed=3, control=3)
    for k, decision in enumerate(campaign.decide(count=120)):
        if k % 5:
            campaign.reward(decision, success=k % 3 == 0)
    wrong = Campaign.open(shop_db, "wrong", shop(), policy="random", seed=3)
    for decision in wrong.decide(count=200):
        wrong.reward(decision, success=decision.arm == 3)
    segments = {"new": shop().names[:2], "old": shop().names[2:]}
    apart = Campaign.open(shop_db, "apart", shop(segments=segments), policy="greedy", seed=3)
    for segment in ("new", "old", "old"):
        apart.reward(apart.decide(segment=segment), success=True)
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
    assert [said for said in complaints if "422" not in said and "503" not in said] == []


def test_from_the_form_to_the_end_of_a_campaign(page, address):
    page.goto("/")
    page.get_by_role("main").get_by_role("link", name="New campaign").click()
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
    page.get_by_label("Policy").select_option("thompson")
    page.locator("#preview table").wait_for()
    assert "at least as often as the next" in page.locator("#preview").inner_text()
    page.get_by_role("button", name="Rehearse it").click()
    page.locator("#rehearsal table").first.wait_for(timeout=180_000)
    assert "No verdict" in page.locator("#rehearsal").inner_text()
    page.get_by_label("What share of your visitors buys today?").fill("4 %")
    page.get_by_role("button", name="Rehearse it").click()
    page.locator("#rehearsal table").nth(1).wait_for(timeout=180_000)
    assert "EUR" in page.locator("#rehearsal").inner_text()
    assert "Holdout" in page.locator("#rehearsal").inner_text()
    page.get_by_role("button", name="Begin the campaign").click()

    page.wait_for_url("**/ui/campaigns/summer?said=begun")
    assert page.locator(".phase").inner_text() == "Not begun"
    page.evaluate("window.untouched = true")
    pictures, canvas = page.locator("#part-arms").inner_html(), page.evaluate(CANVAS)
    made = ask(address, "POST", "/campaigns/summer/decisions", {"count": 20})["decisions"]
    until(page, lambda: "\n20\n" in page.locator("#part-tiles").inner_text())
    page.locator("#course-plot canvas").wait_for()
    drawn = page.evaluate(CANVAS)
    assert drawn != canvas, "who got which arm was not drawn"
    assert page.locator(".phase").inner_text() == "Running"
    ask(
        address,
        "POST",
        "/rewards",
        {"rewards": [{"decision": one["id"], "success": k % 2 == 0} for k, one in enumerate(made)]},
    )
    until(page, lambda: "10 successes" in page.locator("#part-tiles").inner_text())
    assert page.locator("#part-arms").inner_html() != pictures
    assert "EUR" in page.locator("#part-rivals").inner_text()
    ask(address, "POST", "/campaigns/summer/decisions", {"count": 20})
    until(page, lambda: page.evaluate(CANVAS) != drawn)
    assert page.evaluate("window.untouched"), "the page was loaded anew"
    fresh = page.context.new_page()
    fresh.goto("/ui/campaigns/summer")
    fresh.locator("#live-toggle").click()
    for part in fresh.locator("[id^=part-]").all():
        name = part.get_attribute("id")
        assert page.locator(f"#{name}").inner_text() == part.inner_text(), f"{name} is not live"
    fresh.close()

    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_text("The campaign is paused.").first.wait_for()
    assert page.locator(".phase").inner_text() == "Paused"
    page.get_by_role("button", name="Resume", exact=True).click()
    page.get_by_label("Least share of every arm").fill("2")
    page.get_by_role("button", name="Change the floor").click()
    page.get_by_text("2 % of the customers for every arm").wait_for()
    page.get_by_label("Customers in all, more than 60").fill("30")
    page.get_by_role("button", name="Extend").click()
    page.get_by_text("Nothing was changed").wait_for()
    page.get_by_text("End the campaign…").click()
    page.get_by_role("button", name="End it now").click()
    page.get_by_text("The campaign has ended").wait_for()
    assert page.locator(".phase").inner_text() == "Over"
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the report").click()
    assert download.value.suggested_filename == "report.html"
    page.get_by_role("link", name="Campaigns").first.click()
    assert "Over" in page.get_by_role("row", name="summer").inner_text()


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
    page.get_by_text("Customers and outcomes of each arm").first.click()
    page.get_by_label("Least share of every arm").fill("7")
    page.evaluate("document.querySelector('#part-arms table').mark = 1")
    for _ in range(2):
        with page.expect_response("**/live"):
            pass
    page.wait_for_timeout(300)
    assert page.evaluate("document.querySelector('#part-arms table').mark") == 1
    assert page.get_by_label("Least share of every arm").input_value() == "7"
    assert page.locator("#part-outcomes").is_visible()
    assert "The outcomes speak against what is assumed" in page.locator("#part-doubt").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_pages_suit_every_screen_and_reader(chrome, address, viewport, scheme):
    context = new_context(chrome, address, viewport, color_scheme=scheme)
    page = context.new_page()
    for path in ("/", "/ui/campaigns/spring", "/ui/campaigns/wrong", *OTHERS):
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


def test_pictures_follow_the_colours_of_the_screen(page):
    page.goto("/ui/campaigns/spring")
    page.locator("#course-plot canvas").wait_for()
    bright, light = page.evaluate(CANVAS), "() => getComputedStyle(document.querySelector('.dot.c0')).fill"
    assert page.evaluate(light) == "rgb(0, 114, 178)"
    page.emulate_media(color_scheme="dark")
    until(page, lambda: page.evaluate(CANVAS) != bright)
    assert page.evaluate(light) == "rgb(78, 166, 230)"


def test_the_chart_follows_its_container(page, address):
    """At first, when new customers are drawn, and when the window gets narrower or wider."""
    page.goto("/ui/campaigns/wrong")
    fits = """() => {
        const place = document.querySelector('#course-plot'), chart = place.querySelector('.uplot');
        return Boolean(chart) && chart.offsetWidth === place.clientWidth && place.clientWidth > 0; }"""
    until(page, lambda: page.evaluate(fits))
    before = page.locator("#course-data").get_attribute("data-course")
    ask(address, "POST", "/campaigns/wrong/decisions", {"count": 5})
    until(page, lambda: page.locator("#course-data").get_attribute("data-course") != before)
    page.wait_for_timeout(500)
    assert page.evaluate(fits)
    for size in (PHONE, WIDE, {"width": 700, "height": 900}):
        page.set_viewport_size(size)
        page.wait_for_timeout(500)
        assert page.evaluate(fits), size
        assert page.evaluate(TOO_WIDE) <= 0


def test_everything_is_reached_with_the_keyboard_alone(page):
    page.goto("/ui/campaigns/spring")
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
    for name in ("Live", "Pause", "floor", "Change the floor", "customers", "Extend", "Download the report"):
        assert name in seen
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
