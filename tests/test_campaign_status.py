"""Status and report: gains with their intervals, in words, and the page."""

import re

import numpy as np
import pytest

from campaigns import NAMES, Clock, shop
from elsv import Campaign, Problem, make_policy
from elsv.campaign.choosing import Chooser
from elsv.campaign.gains import gains_of
from elsv.campaign.records import Tally, weight_of
from elsv.campaign.settings import Settings
from elsv.campaign.status import status_of


def plain_gain(rewards, decisions, mix, mean):
    """The estimate from the log as one loop over decisions (arm, probability, outcome)."""
    worth = sum(g * r * m for g, r, m in zip(mix, rewards, mean, strict=True))
    terms = []
    for arm, chance, won in decisions:
        instead = worth + mix[arm] * rewards[arm] * (won - mean[arm]) / chance
        terms.append(rewards[arm] * won - instead)
    total = sum(terms)
    spread = sum(term * term for term in terms) - total * total / len(terms)
    return total, 1.959963984540054 * spread**0.5


def tallied(decisions, arms):
    found = []
    for arm in range(arms):
        sums = {"won_weight": 0, "won_squares": 0, "lost_weight": 0, "lost_squares": 0}
        for _, chance, won in (d for d in decisions if d[0] == arm):
            kind = "won" if won else "lost"
            for part, unit in zip(("weight", "squares"), weight_of(chance), strict=True):
                sums[f"{kind}_{part}"] += unit
        mine = [won for a, _, won in decisions if a == arm]
        found.append(Tally(arm, len(mine), 0, sum(mine), len(mine) - sum(mine), **sums))
    return found


def decisions_of(rng, count, means):
    made = []
    for _ in range(count):
        chances = rng.dirichlet(np.ones(len(means))) * 0.8 + 0.2 / len(means)
        arm = int(rng.choice(len(means), p=chances / chances.sum()))
        made.append((arm, float(chances[arm] / chances.sum()), bool(rng.random() < means[arm])))
    return made


def free_chooser(rewards, control=0):
    problem = Problem(rewards=rewards, horizon=1000)
    settings = Settings(horizon=1000).changed(problem, control=control)
    return Chooser(problem, make_policy("greedy", problem), settings)


def test_gains_from_the_log_are_those_of_a_plain_loop():
    rng, rewards = np.random.default_rng(1), [0.5, 0.8, 1.0]
    decisions = decisions_of(rng, 150, [0.5, 0.4, 0.2])
    tallies, chooser = tallied(decisions, 3), free_chooser(rewards)
    mean = chooser.state(tallies).mean
    for gain, mix in zip(gains_of(chooser, tallies, 1, 0), ([1, 0, 0], [0, 1, 0], [1 / 3] * 3), strict=True):
        total, spread = plain_gain(rewards, decisions, mix, mean)
        assert gain.method == "log"
        # The points of the belief have the means to 1e-2, and that is all the difference.
        assert gain.gain == pytest.approx(total, abs=0.4)
        assert gain.high - gain.gain == pytest.approx(spread, rel=0.02)


def test_intervals_hold_what_they_promise():
    rng, means, rewards = np.random.default_rng(7), np.array([0.5, 0.4, 0.2]), np.array([0.5, 0.8, 1.0])
    inside = {"log": 0, "belief": 0}
    for _ in range(60):
        decisions = decisions_of(rng, 400, means)
        given = np.bincount([a for a, *_ in decisions], minlength=3)
        truth = given @ (rewards * means) - 400 * rewards[0] * means[0]
        tallies = tallied(decisions, 3)
        for method in inside:
            some = tallies if method == "log" else [Tally(**{**vars(t), "unsupported": 1}) for t in tallies]
            gain = gains_of(free_chooser(rewards.tolist()), some, 1, 0)[0]
            assert gain.method == method
            inside[method] += gain.low <= truth <= gain.high
    assert all(count >= 52 for count in inside.values()), inside


def status(tallies, **settings):
    problem = shop()
    chosen = Settings(horizon=300).changed(problem, unit="EUR", **settings)
    chooser = Chooser(problem, make_policy("greedy", problem), chosen)
    return status_of("spring", chooser, tallies, sum(t.decided for t in tallies), 0.0)


def test_what_contradicts_the_structure_is_said():
    fine = [Tally(i, 100, 0, s, 100 - s) for i, s in enumerate((50, 40, 30, 20))]
    wrong = [Tally(i, 100, 0, s, 100 - s) for i, s in enumerate((20, 30, 40, 50))]
    assert not status(fine).contradicted
    assert status(fine).doubt < 1
    assert status(wrong).contradicted
    assert "speak against" in str(status(wrong))
    free = Problem(rewards=[1, 1], horizon=10)
    chooser = Chooser(free, make_policy("greedy", free), Settings(horizon=10))
    assert status_of("x", chooser, [Tally(0), Tally(1)], 0, 0.0).doubt is None


def test_words_are_plain():
    tallies = [Tally(i, 100, 2, s, 95 - s, expired=3, unsupported=1) for i, s in enumerate((50, 40, 30, 20))]
    text = str(status(tallies, control=3))
    assert not re.search(r"[α-ωΑ-Ω]", text)
    assert "EUR" in text
    for name in NAMES:
        assert name in text
    first, second, third = status(tallies, control=3).sentences()
    assert "400 customers have earned" in first
    assert "8 outcomes are still awaited" in first
    assert re.search(r"more than always full price would have earned", second)
    assert "%" in third


@pytest.mark.parametrize("decided", [0, 3, 40])
def test_the_page(tmp_path, decided):
    pytest.importorskip("matplotlib")
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
    assert "http://" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
    assert text.count('<figure class="figure"') == (3 if decided else 1)
    assert text.index("In short") > text.index("Settings")
    for sentence in campaign.status().sentences():
        assert re.sub(r"\s", " ", sentence)[:20] in re.sub(r"\s", " ", text)
