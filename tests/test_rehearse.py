"""Rehearsals: what campaigns would earn, against plain simulation and exact evaluation."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

import elsv
from campaigns import NAMES, shop
from elsv import InvalidInputError, Problem, evaluate, rehearse
from elsv.cli.app import app
from elsv.simulation.rehearsal import Outcome, Rehearsal


def known_shop(**changes):
    return shop(prior=[(3, 27), (3, 37), (3, 57), (3, 97)], **changes)


def rehearsal(*rows, **changes):
    return Rehearsal(known_shop(), 1, 200, 0, "", rows, **changes)


def test_small_campaigns_are_exact():
    problem = Problem(rewards=[0.5, 1.0], order="decreasing", horizon=99)
    found = rehearse(problem, [10, 20], policies=["greedy", "thompson"], instances=300)
    assert found.sizes == (10, 20)
    assert found.policies == ("greedy", "thompson")
    for row in found.outcomes:
        sized = Problem(rewards=[0.5, 1.0], order="decreasing", horizon=row.customers)
        (exact,) = evaluate(sized, [row.policy])
        (present,) = evaluate(sized, [f"fixed:arm={found.against + 1}"])
        assert row.exact
        assert row.error == 0
        assert row.earnings == pytest.approx(exact.value, rel=1e-9)
        assert row.gain == pytest.approx(exact.value - present.value, abs=1e-6)


def test_simulated_gains_agree_with_exact_ones():
    problem = Problem(rewards=[0.5, 0.7, 1.0], order="decreasing", horizon=20)
    late = rehearse(problem, [20], policies="elsv", instances=3000, lost=1e-12)
    exact = rehearse(problem, [20], policies="elsv", instances=10)
    assert not late.outcomes[0].exact
    assert exact.outcomes[0].exact
    assert late.outcomes[0].gain == pytest.approx(exact.outcomes[0].gain, abs=2 * late.outcomes[0].error)


def test_the_present_arm_gains_nothing_over_itself():
    found = rehearse(shop(), [30, 400], policies="fixed:arm=2", against="30 % off", instances=50)
    for row in found.outcomes:
        assert row.gain == pytest.approx(0, abs=1e-9)
        assert (row.low, row.high, row.losing) == (0, 0, 0)
        assert row.present == pytest.approx(row.customers * 0.7 * 0.6)
    assert (
        "No verdict: with uniform rows this expects 80 % of customers to buy at 40 % off."
        in found.answers()[0]
    )
    assert found.answers()[0].endswith('Say what you expect: --expect "full price=4%".')


def test_the_best_arm_and_when_it_is_found():
    problem = Problem(rewards=[1.0, 1.0], prior=[[900, 100], [100, 900]], horizon=10)
    found = rehearse(problem, [200], policies=["fixed:arm=1", "random"], against=1, instances=100, lost=0.001)
    first, drawn = found.outcomes
    assert (first.found, first.until, first.losing) == (1.0, 0.0, 0.0)
    assert 0.3 < drawn.found < 0.7
    assert found.recommendation().startswith("Worth it: with 200 customers it brings")
    assert "times what always arm 2 earns" in found.recommendation()


def test_three_answers_and_the_risk_in_money():
    row = Outcome(100, "plan", 130, 100, 30, 2.5, -7.3, 160, 0.06, 0.8, 12, False, switching=21)
    said = rehearsal(row, unit="EUR").answers()
    assert said[0] == (
        "Worth it: with 100 customers it brings 30.00 EUR ± 2.50 more than always 30 % off on average over "
        "such shops (+30.0 %)."
    )
    assert said[1] == "Merely switching to 40 % off beforehand brings 21.00 EUR of that."
    assert said[2] == "Learning adds 9.00 EUR ± 2.50."
    assert said[3] == (
        "Risk: in 6 of 100 such shops always 30 % off would have earned more; in the worst 5 the loss is "
        "7.30 EUR or more. In the middle 90 the gain is −7.30 to +160 EUR."
    )
    assert "holdout" in said[4]
    unsure = replace(row, gain=3, earnings=103)
    assert (
        rehearsal(unsure)
        .answers()[0]
        .startswith("Perhaps worth it: with 100 customers it brings 3.00 ± 2.50")
    )
    assert rehearsal(replace(row, gain=-1.0)).answers()[0].startswith("Not worth it")
    assert "brings 1.00 ± 2.50 less" in rehearsal(replace(row, gain=-1.0)).answers()[0]
    assert "none lose" not in rehearsal(replace(row, low=1.0)).answers()[3]
    assert "fewer than 5 lose anything" in rehearsal(replace(row, low=1.0)).answers()[3]
    large = rehearsal(replace(row, gain=216, earnings=316))
    assert "(3.2 times what always 30 % off earns)" in large.answers()[0]
    assert "3.2 times" in str(large)
    assert "216.0 %" not in str(large)


def test_answers_are_about_the_size_that_was_asked_for():
    found = rehearse(known_shop(horizon=24), policies="greedy", against=3, instances=20)
    assert found.sizes == (8, 12, 24, 48)
    assert "with 24 customers" in found.recommendation()
    assert [one.times for one in found.elsewhere] == [0.5, 2.0]
    assert "If the prior is wrong: with half the expected rates it earns" in found.recommendation()
    assert rehearse(known_shop(), [10, 20], policies="greedy", instances=20).asked == 20
    assert rehearse(shop(horizon=24), [24], policies="greedy", instances=20).elsewhere == ()


def test_gain_is_switching_and_learning():
    found = rehearse(known_shop(), [60], policies=["fixed:arm=1", "elsv"], against=3, instances=50, lost=1e-9)
    first, learner = found.outcomes
    worth = known_shop().rewards * known_shop().belief.mean(elsv.State.initial(known_shop()))
    assert first.switching == pytest.approx(60 * (worth[0] - worth[3]))
    assert first.learning == pytest.approx(0, abs=1e-9)
    assert first.error == pytest.approx(0, abs=1e-9)
    assert learner.gain == pytest.approx(learner.switching + learner.learning)
    assert found.to_dict()["rows"][1]["learning"] == learner.learning


def test_one_given_shop():
    truth = "40 % off=12%, 30 % off = 10 %, 15 % off=0,08, full price=6%"
    found = rehearse(known_shop(), [40], policies="elsv", against=3, truth=truth, instances=30)
    assert found.truth == (0.12, 0.1, 0.08, 0.06)
    (row,) = found.outcomes
    assert row.present == pytest.approx(40 * 0.06)
    assert row.switching == pytest.approx(40 * (0.6 * 0.12 - 0.06))
    assert not row.exact
    assert "in this shop" in found.recommendation()
    assert "such shops" not in str(found)
    by_name = dict(zip(NAMES, found.truth, strict=True))
    assert rehearse(known_shop(), [40], policies="elsv", against=3, truth=by_name, instances=30) == found
    for bad, message in (
        ("full price=6%", "the rate of every arm, got none for 40 % off, 30 % off, 15 % off"),
        ("1=6%, 2=7%, 3=8%, 4=9%", "truth must be possible"),
        ("1=6-8%, 2=5%, 3=4%, 4=3%", "must be one number"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            rehearse(known_shop(), [40], policies="elsv", truth=bad)


def test_what_the_shops_are_like_is_said():
    def shops(problem):
        return Rehearsal(problem, 0, 1, 0, "", ()).shops()

    found = shops(Problem([0.7, 0.8, 0.9, 1.0], "decreasing", 100, names=["30 %", "20 %", "10 %", "full"]))
    assert "30 % succeeds with 80 of 100 customers, 20 % with 60, 10 % with 40, full with 20" in found
    many = shops(Problem([1.0] * 9, "decreasing", 100))
    assert "arm 1 succeeds with 90 of 100 customers, arm 9 with 10" in many
    row = Outcome(100, "plan", 103, 100, 3, 2.5, -7.3, 60, 0.56, 0.8, None, False)
    assert rehearsal(row).shops() in " ".join(str(rehearsal(row)).split())
    assert "−7.30 to +60.00" in str(rehearsal(row))


def test_the_columns_are_explained():
    row = Outcome(100, "plan", 103, 100, 3, 2.5, -7.3, 60, 0.56, 0.8, None, False)
    text = " ".join(str(rehearsal(row)).split())
    for column, meaning in rehearsal(row).legend().items():
        assert f"{column}: {meaning}" in text
    assert list(rehearsal(row).legend()) == ["earns", "gain", "5–95 % of shops", "loses", "finds", "after"]


def test_shops_are_those_of_compare(monkeypatch):
    monkeypatch.setattr("elsv.simulation.rehearse._exact_earnings", lambda problem, policy: None)
    (row,) = rehearse(shop(), [25], policies="elsv", instances=40, seed=5, against=3).outcomes
    found = elsv.compare(shop(), ["elsv"], 40, 5, horizon=25)
    beforehand = elsv.policies.single.best_single_arm(shop())
    assert row.learning == pytest.approx(found.gain("elsv", beforehand).amount, rel=1e-9)


def test_the_same_seed_gives_the_same_numbers():
    one = rehearse(
        shop(), [50], policies=["greedy", "thompson"], instances=40, seed=3, delay="geometric:5", jobs=1
    )
    two = rehearse(shop(), [50], policies=["greedy", "thompson"], instances=40, seed=3, delay="geometric:5")
    assert one.to_dict() == two.to_dict()
    assert one.to_dict()["outcomes_known"] == "outcomes are known on average 5 customers later"
    json.dumps(one.to_dict())


def test_policies_are_asked_less_often_later():
    asked = []

    def spy(state, step, rng):
        asked.append(step)
        return np.zeros(state.shape, dtype=int)

    rehearse(shop(), [1000], policies=spy, instances=10, jobs=1, lost=0.001)
    assert asked[:25] == list(range(1, 26))
    assert len(asked) < 160
    assert max(b / a for a, b in pairwise(asked[30:])) < 1.06


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"customers": []}, "at least one number"),
        ({"customers": [0]}, "customers must be a whole number"),
        ({"against": "half price"}, "unknown arm 'half price'"),
        ({"against": 7}, "from 0 to 3, got 7"),
        ({"delay": "soon"}, "delay must be"),
        ({"policies": "plann"}, "did you mean 'plan'"),
    ],
)
def test_what_makes_no_sense(options, match):
    with pytest.raises(InvalidInputError, match=match):
        rehearse(shop(), **{"customers": [10], "policies": "greedy", **options})


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shop().save("shop.toml")
    words = ["rehearse", "shop.toml", "--customers", "20,60", "-p", "greedy", "-p", "thompson"]
    words += ["--against", "4", "--instances", "30"]
    result = CliRunner().invoke(app, [*words, "--out", "page.html"])
    assert result.exit_code == 0, result.output
    assert "against always full price" in result.output
    text = (tmp_path / "page.html").read_text()
    assert "Is a campaign worth it?" in text
    assert text.count('<figure class="figure"') == 1
    assert "elsv rehearse shop.toml -p greedy -p thompson --customers 20,60 --against 4" in text
    assert "<em>loses</em>: shops in which the policy earns less" in text
    told = json.loads(CliRunner().invoke(app, [*words, "--delay", "10", "--json"]).stdout)
    assert told["name"] == NAMES[3]
    assert len(told["rows"]) == 4
    result = CliRunner().invoke(
        app, [*words, "--expect", "full price=4%", "--customers", "20", "--out", "p.html"]
    )
    text = (tmp_path / "p.html").read_text()
    assert "orth it: with 20 customers it brings" in " ".join(result.output.split())
    assert "nothing is known of 40 % off" in result.output
    assert "--expect &#39;full price=4%&#39;" in text
    assert text.count('<figure class="figure"') == 0
    assert "by holdout alone" in text
    result = CliRunner().invoke(app, ["rehearse", "shop.toml", "--customers", "many"])
    assert isinstance(result.exception, elsv.InvalidInputError)
