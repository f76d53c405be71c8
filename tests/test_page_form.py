"""The form of a new campaign: what it accepts, what it says, and what begins."""

import re
import time

import pytest

from elsv import Campaign, Problem, State
from elsv.service.page.forms import MOST_ARMS
from pages import send, tags_of, text_of, visit

ARMS = [("30 % off", "21", "20"), ("20 % off", "24", ""), ("full price", "30", "")]
FORM = {
    "name": "summer",
    "unit": "EUR",
    "order": "decreasing",
    "sureness": "10",
    "horizon": "300",
    "window": "7 days",
    "policy": "thompson",
    "floor": "1",
    "holdout": "10",
    "today": "2",
}


@pytest.fixture
def client(tmp_path):
    with visit(tmp_path / "shop.db") as found:
        yield found


def filled(arms=ARMS, **changes):
    columns = zip(*arms, strict=True) if arms else ((), (), ())
    return {**FORM, **changes, **dict(zip(("arm", "reward", "expected"), map(list, columns), strict=True))}


def test_a_campaign_begins_as_the_form_says(client, tmp_path):
    answer = send(client, "/ui/new", filled())
    assert answer.status_code == 303
    assert answer.headers["location"] == "/ui/campaigns/summer?said=begun"
    campaign = Campaign.open(tmp_path / "shop.db", "summer")
    assert campaign.problem == Problem(
        rewards=[21, 24, 30],
        order="decreasing",
        horizon=300,
        names=["30 % off", "20 % off", "full price"],
        prior=campaign.problem.prior,
    )
    first, second, third = campaign.problem.belief.mean(State.initial(campaign.problem))
    assert first == pytest.approx(0.2, rel=0.2)
    assert 0.05 < third < second < first  # arms of which nothing is said follow
    settings = campaign.settings
    assert (settings.policy, settings.window, settings.unit) == ("thompson", 604800.0, "EUR")
    assert (settings.floor, settings.holdout, settings.control) == (0.01, 0.1, 2)
    page = text_of(client.get(answer.headers["location"]).text)
    assert "The campaign has begun." in page
    assert "Not begun" in page


def test_one_number_is_enough(client, tmp_path):
    nothing = [(name, reward, "") for name, reward, _ in ARMS]
    said = rehearsed(client, filled(nothing, horizon="40"))[0]
    assert "No verdict: with uniform rows this expects 75 % of customers to buy at 30 % off." in said
    assert "Say above what share of your visitors buys today." in said
    said = rehearsed(client, filled(nothing, horizon="40", share="4 %"))[0]
    assert "orth it: with 40 customers it brings" in said
    assert "EUR" in said
    assert send(client, "/ui/new", filled(nothing, share="4")).status_code == 303
    problem = Campaign.open(tmp_path / "shop.db", "summer").problem
    assert problem.belief.mean(State.initial(problem))[2] == pytest.approx(0.04, rel=0.1)


def test_rows_left_empty_are_no_arms_and_today_stays_with_its_arm(client, tmp_path):
    arms = [ARMS[0], ("", "", ""), ARMS[1], ("", "", ""), ARMS[2]]
    assert send(client, "/ui/new", filled(arms, today="4")).status_code == 303
    campaign = Campaign.open(tmp_path / "shop.db", "summer")
    assert campaign.problem.names == ("30 % off", "20 % off", "full price")
    assert campaign.settings.control == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"order": "increasing"}, "the means increase"),
        ({"order": "free"}, "nothing is assumed"),
        ({"order": "unimodal"}, "rise"),
        ({"softened": "yes"}, "probability 0.9"),
    ],
)
def test_what_is_known_in_advance(client, tmp_path, changes, words):
    assert send(client, "/ui/new", filled(**changes)).status_code == 303
    assert words in Campaign.open(tmp_path / "shop.db", "summer").status().assumed


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (filled(name=""), "name of a campaign must be text"),
        (filled(name="a\nb"), "name must be one line"),
        (filled(name="x" * 501), "up to 500 characters"),
        (filled([]), "at least two arms"),
        (filled([ARMS[0]]), "at least two arms"),
        (filled([("a", "1", "")] * 2), "names must differ"),
        (filled([(f"a{k}", "1", "") for k in range(MOST_ARMS + 1)]), "at most 50 arms"),
        (filled([("a" * 101, "1", ""), ARMS[0]]), "at most 100 characters"),
        (filled([("a", "-1", ""), ARMS[0]]), "earns must be a number from 0"),
        (filled([("a", "0", ""), ARMS[0]]), "rewards must be positive"),
        (filled([("a", "nan", ""), ARMS[0]]), "earns must be a number"),
        (filled([("a", "1e308", ""), ARMS[0]]), "earns must be a number"),
        (filled([("a", "1", "100"), ARMS[0]]), "between 0 and 100"),
        (filled([("a", "1", "lots"), ARMS[0]]), "expected conversion of arm 1"),
        (filled(sureness="0"), "how sure you are must be a number"),
        (filled(share="many"), "the share that buys today must be a number"),
        (filled(share="0"), "must lie strictly between 0 and 1"),
        (filled(order="samples"), "what you know must be one of the list"),
        (filled(horizon="many"), "number of customers must be a whole number"),
        (filled(horizon="2.5"), "number of customers must be a whole number"),
        (filled(window="soon"), "window must be a length of time"),
        (filled(policy="optimal:file=/etc/passwd"), "policy must be one of the list"),
        (filled(floor="40"), "floor must leave room"),
        (filled(holdout="10", today=""), "holdout needs the arm"),
        (filled(holdout="100"), "holdout must be a share"),
    ],
)
def test_what_does_not_work_is_said_and_kept(client, form, said):
    answer = send(client, "/ui/new", form)
    assert answer.status_code == 422
    assert "The campaign was not begun." in text_of(answer.text)
    assert said in text_of(answer.text)
    assert "There are no campaigns yet." in text_of(client.get("/").text)


def test_what_was_typed_is_there_again(client):
    html = send(client, "/ui/new", filled(window="soon", name='<i>"x"</i>', softened="yes")).text
    assert 'value="&lt;i&gt;&#34;x&#34;&lt;/i&gt;"' in html
    assert "<i>" not in html
    assert 'value="soon"' in html
    assert 'value="30 % off"' in html
    assert html.count(" checked") == 4  # also that more is said of single arms


def test_a_name_is_taken_once(client):
    assert send(client, "/ui/new", filled()).status_code == 303
    answer = send(client, "/ui/new", filled())
    assert answer.status_code == 422
    assert "already" in text_of(answer.text)


def test_the_preview_shows_what_the_prior_implies(client):
    said = text_of(send(client, "/ui/new/preview", filled(arms=[(a, r, "") for a, r, _ in ARMS])).text)
    assert "each arm succeeds at least as often as the next" in said
    assert "30 % off75.0" in said  # of three uniform ones the largest has the mean 3/4
    assert "full price25.0" in said
    assert "30 % off is expected to earn most" in said


def test_the_preview_says_what_is_missing(client):
    answer = send(client, "/ui/new/preview", filled([]))
    assert answer.status_code == 200
    assert "Give at least two arms" in text_of(answer.text)


def rehearsed(client, form):
    """Begin a rehearsal and look until it is done; return what it says, and what its bar said."""
    answer, bars = send(client, "/ui/new/rehearsal", form).text, []
    for _ in range(1200):
        again = re.search(r'hx-get="(/ui/new/rehearsal/[0-9a-f]{32})"', answer)
        if again is None:
            return text_of(answer), bars
        bars.append(int(re.search(r'role="progressbar"[^>]*aria-valuenow="(\d+)"', answer)[1]))
        time.sleep(0.1)
        answer = client.get(again[1]).text
    pytest.fail("the rehearsal does not end")


def test_the_rehearsal_answers_whether_it_is_worth_it(client):
    said, bars = rehearsed(client, filled(horizon="60", order="free", unit="EUR"))
    assert "Worth it: with 60 customers it brings" in said
    assert "EUR" in said
    assert all(f"{size} customers" in said for size in (20, 30, 60, 120))  # around what was asked for
    assert "Against always full price, in 60 imaginary shops." in said
    assert bars == sorted(bars)
    assert "must be a whole number" in text_of(send(client, "/ui/new/rehearsal", filled(horizon="x")).text)


def test_a_rehearsal_of_somebody_else_is_gone(client):
    assert "This rehearsal is gone" in text_of(client.get(f"/ui/new/rehearsal/{'0' * 32}").text)


SHOP = [("none", "20", ""), ("5 % off", "19", ""), ("10 % off", "18", ""), ("15 % off", "17", "")]
BOSS = "arm,successes,trials\nnone,30,800\n5 % off,40,600\n"


def history(**more):
    """The figures that a boss gives: two levels were tried, two never."""
    return filled(SHOP, order="increasing", today="0", horizon="1,500", **more)


def test_history_is_two_numbers_for_an_option_or_a_file(client, tmp_path):
    by_hand = history(won=["30", "40", "", ""], seen=["800", "600", "", ""])
    said = text_of(send(client, "/ui/new/preview", by_hand).text)
    assert re.search(r"10 % off8\.\d", said), said  # spec: 8 to 9 and 11 to 12 per cent
    assert re.search(r"15 % off11\.\d", said), said
    assert text_of(send(client, "/ui/new/preview", history(history=BOSS)).text) == said
    assert send(client, "/ui/new", {**by_hand, "name": "season"}).status_code == 303
    problem = Campaign.open(tmp_path / "shop.db", "season").problem
    assert problem.horizon == 1500
    assert problem.prior[0].sum() > 50


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"won": ["9", "", "", ""], "seen": ["8", "", "", ""]}, "must be a whole number from 0 to 8"),
        ({"history": "arm,what\nnone,3"}, "The file must have the columns"),
        ({"history": "arm,successes,trials\nnothing,3,9"}, "unknown arm 'nothing'"),
        ({"segments": "mobile 60 %, desktop"}, "a share for every segment"),
        ({"segments": "mobile", "order": "unimodal"}, "with segments an order"),
        ({"segments": "a, b", "won": ["1", "", "", ""], "seen": ["2", "", "", ""]}, "comes from a file"),
    ],
)
def test_what_segments_and_history_cannot_be(client, more, words):
    said = text_of(send(client, "/ui/new/preview", {**history(), **more}).text)
    assert words.lower() in said.lower()


def test_segments_have_all_options_and_an_order_within_each(client, tmp_path):
    form = {
        **history(share="4"),
        "name": "both",
        "segments": "mobile 60 %, desktop 40 %",
        "timezone": "Asia/Tokyo",
    }
    assert "Within each segment" in text_of(send(client, "/ui/new/preview", form).text)
    assert send(client, "/ui/new", form).status_code == 303
    campaign = Campaign.open(tmp_path / "shop.db", "both")
    assert campaign.problem.segments.names == ("mobile", "desktop")
    assert campaign.problem.arms == 8
    assert campaign.settings.control == (0, 4)
    assert campaign.settings.timezone == "Asia/Tokyo"
    assert "Days of Asia/Tokyo" in text_of(client.get("/ui/campaigns/both").text)
    wrong = {**form, "name": "other", "timezone": "Nowhere"}
    answer = send(client, "/ui/new", wrong)
    assert answer.status_code == 422
    assert "timezone must be a name such as" in text_of(answer.text)


def opened(html):
    """Which folded parts of the form are open, and whether the rows have all their columns."""
    tags = tags_of(html)
    return [
        *("open" in attrs for tag, attrs in tags if tag == "details"),
        any(attrs.get("id") == "each" and "checked" in attrs for _, attrs in tags),
    ]


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        ({}, [False, False, False]),
        ({"segments": "mobile, desktop"}, [True, False, False]),
        ({"history": "arm"}, [True, False, False]),
        ({"floor": "x"}, [False, True, False]),
        ({"timezone": "UTC"}, [False, True, False]),
        ({"expected": ["4", "", "", ""]}, [False, False, True]),
        ({"sureness": "x"}, [False, False, True]),
    ],
)
def test_what_is_optional_is_folded_unless_it_is_used_or_wrong(client, more, parts):
    assert opened(client.get("/ui/new").text) == [False] * 3
    form = {**filled(SHOP), "policy": "plan", "floor": "0", "holdout": "0", "name": "", **more}
    answer = send(client, "/ui/new", form)
    assert answer.status_code == 422
    assert opened(answer.text) == parts


def test_a_form_of_thousands_of_fields_is_refused(client):
    assert send(client, "/ui/new", {f"field{k}": "x" for k in range(2000)}).status_code == 422
