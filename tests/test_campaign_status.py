"""Status and report: three answers to what it brought, in words, tables and on the page."""

import csv
import html
import json
import math
import re
import time
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import paper_measure as plain
from campaigns import NAMES, Clock, shop
from elsv import Campaign, Problem
from elsv.beliefs.abilities import marginals
from elsv.campaign import history
from elsv.campaign.choosing import Chooser
from elsv.campaign.history import Measured, split_doubt, split_of
from elsv.campaign.records import Tally
from elsv.campaign.settings import Settings
from elsv.campaign.standing import gains_of, status_of
from elsv.cli import app
from elsv.errors import CorruptFileError
from elsv.simulation.precision import one_look
from shops import shop as service

SEGMENTED = Problem(
    [20, 18, 20, 18],
    horizon=4000,
    segments={"new": [1, 2], "old": [3, 4]},
    names=["new: none", "new: 10 %", "old: none", "old: 10 %"],
    prior=[(4, 96), (5, 95), (8, 92), (9, 91)],
)


def chooser_of(problem, **settings):
    chosen = Settings("greedy", problem.horizon).changed(problem, **settings)
    return Chooser.of(problem, chosen, [])


def tallies_of(won, seen, **more):
    return [
        Tally(i, decided=n, successes=k, failures=n - k, **more)
        for i, (k, n) in enumerate(zip(won, seen, strict=True))
    ]


def status(tallies, problem=None, measured=None, **settings):
    problem = shop() if problem is None else problem
    chooser = chooser_of(problem, **{"unit": "EUR", **settings})
    return status_of("spring", chooser, tallies, 0.0, measured)


def gains(chooser, tallies, best, control, *held):
    belief, levels = chooser.problem.belief, (0.025, 0.975)
    known = marginals(belief, chooser.state(tallies), levels, np.random.default_rng(0))
    return gains_of(chooser, tallies, known, best, control, *held)


WON, SEEN = (20, 40, 30, 30), (60, 150, 120, 170)


def test_answers_come_in_order_and_by_their_formulas():
    chooser = chooser_of(shop(), control=3)
    held = ((0, 0), (0, 0), (0, 0), (12, 60))
    found, _ = gains(chooser, tallies_of(WON, SEEN), [0], [3], held)
    assert [(g.against, g.method) for g in found] == [
        ("control", "belief"),
        ("control", "outcomes"),
        ("control", "holdout"),
        ("best", "belief"),
        ("best", "outcomes"),
        ("split", "belief"),
        ("split", "outcomes"),
    ]
    rewards, total = (0.6, 0.7, 0.85, 1.0), sum(SEEN)
    earned = sum(r * k for r, k in zip(rewards, WON, strict=True))
    belief, alone, by_holdout = found[:3]
    mean = chooser.problem.belief.mean(chooser.state(tallies_of(WON, SEEN)))
    assert belief.gain == pytest.approx(earned - total * mean[3])
    assert belief.low < belief.gain < belief.high
    low, high = plain.gain_interval(rewards, WON, SEEN, (0, 0, 0, 1), (total,) * 4)
    assert (alone.low, alone.gain, alone.high) == pytest.approx((low, earned - total * 30 / 170, high))
    rate_low, rate_high = map(float, one_look(12, 60))
    assert (by_holdout.low, by_holdout.high) == pytest.approx(
        (earned - total * rate_high, earned - total * rate_low)
    )
    assert (alone.customers, by_holdout.customers) == (170, 60)
    split = found[-1]
    assert (split.low, split.high) == pytest.approx(
        plain.gain_interval(rewards, WON, SEEN, (0.25,) * 4, (total,) * 4)
    )


def test_the_belief_of_independent_arms_is_that_of_their_betas():
    problem = Problem([1.0, 2.0], horizon=1000, names=["a", "b"])
    chooser, tallies = chooser_of(problem, control=0), tallies_of((30, 20), (100, 90))
    belief = gains(chooser, tallies, [1], [0])[0][0]
    draws = np.random.default_rng(0).beta(31, 71, 400_000)
    low, high = np.quantile(70 - 190 * draws, (0.025, 0.975))
    assert belief.gain == pytest.approx(70 - 190 * 31 / 102)
    assert (belief.low, belief.high) == pytest.approx((low, high), abs=0.2)


def test_segments_are_summed():
    chooser = chooser_of(SEGMENTED, control=(0, 2))
    won, seen = (10, 20, 12, 30), (200, 300, 100, 250)
    found, sources = gains(chooser, tallies_of(won, seen), [1, 3], [0, 2], ((4, 80), (0, 0), (9, 70), (0, 0)))
    by = {(g.against, g.method): g for g in found}
    earned = 20 * (10 + 12) + 18 * (20 + 30)
    belief = by["control", "belief"]
    mean = chooser.state(tallies_of(won, seen)).mean
    assert belief.alternative == pytest.approx(20 * (500 * mean[0] + 350 * mean[2]))
    assert belief.gain == pytest.approx(earned - belief.alternative)
    ends = plain.gain_interval((20, 18, 20, 18), won, seen, (1, 0, 1, 0), (500, 500, 350, 350))
    alone = by["control", "outcomes"]
    assert (alone.low, alone.high) == pytest.approx(ends)
    ends = plain.holdout_interval((20, 20), (4, 9), (80, 70), (500, 350), one_look)
    held = by["control", "holdout"]
    assert (held.low, held.high) == pytest.approx((earned - ends[1], earned - ends[0]))
    assert belief.name == "always none"
    assert sources.switching + sources.learning == pytest.approx(belief.gain)
    told = status(tallies_of(won, seen), SEGMENTED, control=(0, 2))
    assert [s.name for s in told.segments] == ["new", "old"]
    assert "10 % for" in told.sentences()[2]


def test_nothing_contradicts_the_table_of_arms():
    for problem, control in ((shop(), 3), (SEGMENTED, (0, 2))):
        tallies = tallies_of((0, 3, 0, 2), (1, 150, 2, 170))
        found = status(tallies, problem, control=control)
        assert found.earned == pytest.approx(sum(arm.earned for arm in found.arms))
        groups = problem.segments.groups
        came = [sum(tallies[i].seen for i in group) for group in groups]
        chosen = (control,) if isinstance(control, int) else control
        expected = {
            "control": sum(n * found.arms[c].worth for n, c in zip(came, chosen, strict=True)),
            "split": sum(
                n * np.mean([found.arms[i].worth for i in group])
                for n, group in zip(came, groups, strict=True)
            ),
        }
        for gain in found.gains:
            assert gain.gain == pytest.approx(found.earned - gain.alternative)
            if gain.method == "belief" and gain.against in expected:
                assert gain.alternative == pytest.approx(expected[gain.against])


def test_one_control_customer_proves_nothing():
    """A campaign with one customer of the control arm and no sale told a gain of 193 % with confidence."""
    told = status(tallies_of((10, 2, 1, 0), (30, 5, 3, 1)), control=3)
    alone = told.answer("outcomes")
    assert alone.low < 0 < alone.high
    assert "This campaign cannot tell by itself: only 1 customer had full price." in told.notes()
    nobody = status(tallies_of((10, 2, 1, 0), (30, 5, 3, 0)), control=3)
    assert nobody.answer("outcomes") is None
    assert "This campaign cannot tell by itself: nobody had full price." in nobody.notes()


def test_before_the_start_it_says_how_precisely_the_gain_will_be_known():
    said = shop(prior=[(12, 88), (10, 90), (8, 92), (6, 94)])
    assert status([Tally(i) for i in range(4)], control=3).precision is None  # nothing was said of the shop
    assert status([Tally(i, past_successes=3) for i in range(4)], control=3).unsaid is None
    new = status([Tally(i) for i in range(4)], said, control=3)
    assert new.precision.customers == 300
    assert "by holdout alone ±" in str(new)
    assert new.precision.advice in new.notes()
    assert [row["holdout"] for row in new.to_dict()["precision"]["rows"]] == [0, 0.05, 0.1, 0.2]
    assert status(tallies_of(WON, SEEN), control=3).precision is None
    assert status([Tally(i) for i in range(4)]).precision is None
    assert "holdout" in str(new)


def test_a_headline_that_rests_on_the_prior_says_so():
    sure = shop(prior=[(40, 60), (40, 60), (40, 60), (1, 99)], order=None)
    found = status(tallies_of((10, 1, 1, 0), (30, 5, 5, 2)), sure, control=3)
    assert found.answer("belief").told
    assert not found.sure
    assert "EUR. If what was expected beforehand holds, that is" in found.sentences()[1]
    measured = status(tallies_of((100, 20, 1, 0), (300, 50, 5, 60)), sure, control=3)
    assert measured.sure
    assert " EUR. That is" in measured.sentences()[1]


def test_where_the_gain_comes_from():
    found = status(tallies_of(WON, SEEN), control=3)
    gain = found.answer("belief")
    assert found.sources.name == "40 % off"  # uniform rows in order: 0.6 · 0.8 is the largest
    assert found.sources.switching + found.sources.learning == pytest.approx(gain.gain)
    assert any(
        note.startswith("Switching to 40 % off, which looked best beforehand") for note in found.notes()
    )
    same = status(tallies_of(WON, SEEN), control=0)
    assert same.sources.switching == pytest.approx(0)
    assert "came from learning" in " ".join(same.notes())


def test_one_held_out_customer_is_one():
    held = ((0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 1.0))
    found = status(tallies_of(WON, SEEN), measured=Measured(held), control=3)
    assert "By the 1 held-out customer the gain is" in " ".join(found.notes())


def test_answers_that_disagree_are_said():
    sure = shop(prior=[(400, 600), (300, 700), (200, 800), (900, 100)], order=None)
    found = status(tallies_of((10, 10, 10, 20), (40, 40, 40, 400)), sure, control=3)
    (told,) = (doubt for doubt in found.doubts if doubt.about == "outcomes")
    assert "does not fit the outcomes" in told.words
    assert "holdout" in told.words
    assert any(doubt.about == "prior" for doubt in found.doubts)
    assert found.answer("belief").told
    assert not found.sure
    assert "What was expected beforehand does not fit the outcomes: by these" in found.sentences()[1]
    assert found.between(found.answer("outcomes")) in found.sentences()[1]
    fine = status(tallies_of(WON, SEEN), control=3)
    assert all(doubt.about != "outcomes" for doubt in fine.doubts)


def test_what_contradicts_the_structure_is_said():
    fine = tallies_of((50, 40, 30, 20), (100,) * 4)
    wrong = tallies_of((20, 30, 40, 50), (100,) * 4)
    assert not status(fine).contradicted
    assert status(fine).doubts == ()
    assert status(wrong).contradicted
    assert "The outcomes speak against what is assumed" in str(status(wrong))
    free = Problem(rewards=[1, 1], horizon=10)
    assert status([Tally(0), Tally(1)], free).doubt is None


def test_halves_and_the_split_are_said():
    halves = (None, ((30, 80), (5, 80)), None, None)
    told = status(tallies_of(WON, SEEN), measured=Measured(halves=halves))
    assert [doubt.about for doubt in told.doubts] == ["time"]
    assert told.to_dict()["doubts"][0]["about"] == "time"


def test_the_split_is_compared_with_the_logged_probabilities():
    rng = np.random.default_rng(5)
    decisions = []
    for _ in range(300):
        chances = rng.dirichlet(np.ones(3))
        decisions.append((int(rng.choice(3, p=chances)), chances))
    rows = [(arm, ",".join(map(repr, map(float, chances))), 1) for arm, chances in decisions]
    found = split_of(rows, 3)
    statistic = plain.split_statistic(decisions)
    assert found.chance == pytest.approx(np.exp(-statistic / 2), rel=1e-6)  # of two degrees of freedom
    assert split_doubt(found, "abc") == ()
    twice = split_of([*rows, *(row for row in rows if row[0] == 1), *(row for row in rows if row[0] == 1)], 3)
    (told,) = split_doubt(twice, ("a", "b", "c"))
    assert told.about == "split"
    assert "b got" in told.words
    assert split_of(rows[:4], 3) is None
    empty = split_of(
        [(0, "0.5,0.5,,", 200), (1, "0.5,0.5,,", 180), (2, ",,0.5,0.5", 30), (3, ",,0.5,0.5", 30)], 4
    )
    assert empty.chance > 0.3


@pytest.mark.parametrize(("share", "most"), [(0.02, 0.0015), (0.05, 0.0013), (0.3, 0.0012)])
def test_a_fair_split_hardly_ever_warns(share, most):
    """Sums of binomial probabilities: 1,000 customers, 20 of them or more promised to the arm."""
    text, warned = f"{share},{1 - share}", 0.0
    for given in range(1001):
        found = split_of([(0, text, given), (1, text, 1000 - given)], 2)
        if split_doubt(found, "ab"):
            warned += math.comb(1000, given) * share**given * (1 - share) ** (1000 - given)
    assert 0.0005 < warned < most
    assert split_of([(0, "0.01,0.99", 40), (1, "0.01,0.99", 960)], 2) is None  # too few were promised


def test_words_are_plain():
    tallies = [Tally(i, 100, 2, s, 95 - s, expired=3) for i, s in enumerate((50, 40, 30, 5))]
    text = str(status(tallies, control=3))
    assert not re.search(r"[α-ωΑ-Ω]", text)
    assert "EUR" in text
    for name in NAMES:
        assert name in text
    told = status(tallies, control=3, horizon=500)
    first, second, third, fourth = told.sentences()
    assert first == "Running: 400 of 500 customers have come."
    assert "8 outcomes awaited" in second
    assert re.search(r"more than always full price would have earned, 95 % interval \+", second)
    rests = "98 outcomes in this campaign; what was expected beforehand, which counts as 2 customers."
    assert f"What is known of full price: {rests}" in told.notes()
    assert any(note.startswith("By this campaign's outcomes alone the gain is +") for note in told.notes())
    assert "earns most (it is the best with a probability of" in third
    assert fourth == "Nothing is wrong."


def test_a_finished_campaign_brought_something():
    over = status(tallies_of(WON, SEEN), control=3, horizon=500)
    text = str(over)
    assert over.phase == "over"
    assert over.sentences()[0] == "Over: all 500 planned customers came."
    assert over.sentences()[1].startswith("It brought 95.50 EUR. ")
    assert " yet" not in text
    assert "so far" not in text


def test_two_meanings_of_best_are_named_apart():
    """A few customers who would pay much: likely not the best, and worth more on average."""
    problem = Problem([1.0, 10.0], horizon=100, prior=[(30, 70), (0.2, 5)], names=["safe", "bold"])
    told = status([Tally(0), Tally(1)], problem).sentences()[2]
    assert "bold earns most" in told
    assert "though safe is more often the best" in told


@pytest.mark.parametrize(
    ("unit", "amount", "shown"),
    [
        ("EUR", -0.001, "0.00 EUR"),
        ("EUR", -12.345, "−12.35 EUR"),
        ("EUR", 12345.6, "12,346 EUR"),
        ("JPY", 1234.5, "1,234 JPY"),
        ("", -0.0, "0.00"),
    ],
)
def test_money_is_rounded_as_people_do(unit, amount, shown):
    told = status([Tally(i) for i in range(4)], unit=unit)
    assert told.money(amount) == shown
    assert "-0.00" not in told.money(amount, sign=True)


def test_small_rewards_keep_their_digits():
    told = status([Tally(0), Tally(1)], Problem([0.004, 0.002], horizon=10))
    assert told.money(0.0123) == "0.0123 EUR"


def played(store, floor=0.05, holdout=0.1, count=240):
    """A campaign with drawn outcomes, in any store."""
    campaign = Campaign.open(
        store,
        "spring",
        SEGMENTED,
        policy="thompson",
        floor=floor,
        holdout=holdout,
        control=["new: none", "old: none"],
        unit="EUR",
        window="7 days",
        seed=3,
        clock=(clock := Clock()),
    )
    rng = np.random.default_rng(8)
    for k in range(count // 20):
        for segment in ("new", "old"):
            made = campaign.decide(count=10, segment=segment)
            outcomes = [(one.id, bool(rng.random() < 0.05 + 0.05 * one.arm)) for one in made]
            campaign.rewards(outcomes[: 9 if k % 2 else 10])
    clock.pass_(8 * 86_400)
    return campaign


def held_out(campaign, path):
    """How many customers were held out, by the exported log."""
    campaign.export(path)
    with path.open() as file:
        return sum(row["reason"] == "holdout" for row in csv.DictReader(file))


def test_a_log_says_who_was_held_out(tmp_path):
    campaign = played(tmp_path / "shop.db")
    found = campaign.status()
    held = found.answer("holdout")
    assert held.customers == held_out(campaign, tmp_path / "log.csv") > 10
    assert campaign._said.measured.split.chance > 1e-3
    halves = campaign._said.measured.halves
    for arm, (first, second) in zip(found.arms, halves, strict=True):
        assert first[0] + second[0] == arm.successes
        assert first[1] + second[1] == arm.successes + arm.failures + arm.expired
        assert abs(first[1] - second[1]) <= 4  # cut at the end of four customers, of 240 in 64 parts
    again = campaign.status()
    assert again == found
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("decided", [0, 3, 40])
def test_the_page(tmp_path, decided):
    campaign = Campaign.open(
        tmp_path / "x.db",
        "spring <b>",
        shop(horizon=30),
        policy="greedy",
        floor=0.05,
        unit="EUR",
        clock=Clock(),
    )
    if decided:
        for k, made in enumerate(campaign.decide(count=decided)):
            campaign.reward(made.id, success=k % 3 == 0)
    text = campaign.report(tmp_path / "page.html").read_text()
    assert "spring &lt;b&gt;" in text
    assert "<script" not in text
    assert "http://" not in text
    assert text.index("In short") < text.index("What it rests on")
    assert "Reports of earlier versions" in text
    words = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", text)))
    found = campaign.status()
    first = (found.sentences()[0], *found.brought(), *found.on_offer())
    for sentence in (*first, *found.notes(), found.advice()):
        assert re.sub(r"\s+", " ", sentence) in words


def test_of_a_long_log_the_last_customers_are_split_and_halved(tmp_path, monkeypatch):
    campaign = played(tmp_path / "shop.db")
    whole = campaign.status()
    monkeypatch.setattr(history, "_LAST", 100)
    campaign._said = None
    found = campaign.status()
    assert found.gains == whole.gains  # all who were held out still count
    assert sum(seen for arm in campaign._said.measured.halves for _, seen in arm) == 100
    assert sum(campaign._said.measured.split.given) <= 100


def test_a_long_log_that_could_not_be_read_beside_is_read_again(tmp_path, monkeypatch):
    campaign = played(tmp_path / "shop.db", count=40)
    monkeypatch.setattr("elsv.campaign.campaign._LONG", 10)

    def damaged(*_):
        raise CorruptFileError("the settings of a campaign are damaged")

    def beside():
        found, until = campaign.status(patient=False), time.monotonic() + 30
        while campaign._reading and time.monotonic() < until:
            time.sleep(0.01)
        return found

    with monkeypatch.context() as broken:
        broken.setattr("elsv.campaign.campaign.measure", damaged)
        assert beside().counting
    assert beside().counting
    assert not beside().counting


def test_an_arm_that_is_added_to_a_long_log_is_shown_at_once(tmp_path, monkeypatch):
    campaign = played(tmp_path / "shop.db", count=40)
    monkeypatch.setattr("elsv.campaign.campaign._LONG", 10)
    campaign.status()
    campaign.add("new: 20 %", reward=0.8, expect=0.06, segment="new")
    found = campaign.status(patient=False)
    assert found.counting
    assert [arm.name for arm in found.arms][-1] == "new: 20 %"


def test_who_held_customers_out_is_told_to_hold_out_more(tmp_path):
    over = replace(played(tmp_path / "shop.db").status(), phase="over", gains=())
    assert over.advice().endswith("with a larger holdout.")
    assert replace(over, holdout=0.0).advice().endswith("with a holdout.")


def told_everywhere(store):
    """What Python, command line, HTTP and page say of a campaign of segments with a holdout: all the same."""
    played(store, count=120).close()
    with Campaign.open(store, "spring") as campaign:
        found = campaign.status()
    own = json.loads(json.dumps({**found.to_dict(), "at": ""}))
    done = CliRunner().invoke(app, ["campaign", "status", str(store), "spring", "--json"])
    with service(store) as opened:
        http = opened.ask("GET", "/campaigns/spring").json()
        page = opened.ask("GET", "/ui/campaigns/spring").text
    for told in (json.loads(done.stdout), http):
        assert {**{key: told[key] for key in own}, "at": ""} == own
    shown = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))
    assert {gain.method for gain in found.gains} == {"belief", "outcomes", "holdout"}
    for gain in found.gains:
        assert found.money(gain.gain, True, near=True).removesuffix(" EUR") in shown
    for sentence in (found.sentences()[0], *found.brought(), *found.on_offer(), found.needs()):
        assert re.sub(r"\s+", " ", sentence) in shown
    return own


def test_python_command_line_http_and_page_give_the_same_numbers_on_every_store(tmp_path, postgres):
    pytest.importorskip("starlette")
    assert told_everywhere(tmp_path / "shop.db") == told_everywhere(postgres.new_database())
