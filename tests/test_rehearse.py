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
from elsv.simulation.rehearsal import Outcome, shops
from elsv.simulation.rehearse import Rehearsal


def rehearsal(*rows):
    return Rehearsal(shop(), 1, 200, 0, "", rows)


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
    assert "With 400 customers the gain over always 30 % off is under 1 %: not worth it." in str(found)


def test_the_best_arm_and_when_it_is_found():
    problem = Problem(rewards=[1.0, 1.0], prior=[[900, 100], [100, 900]], horizon=10)
    found = rehearse(problem, [200], policies=["fixed:arm=1", "random"], against=1, instances=100, lost=0.001)
    first, drawn = found.outcomes
    assert (first.found, first.until, first.losing) == (1.0, 0.0, 0.0)
    assert 0.3 < drawn.found < 0.7
    assert "worth it" in found.recommendation()
    assert found.recommendation().startswith("With 200 customers it is worth it: the gain over always")


def test_the_verdict_agrees_with_itself():
    row = Outcome(100, "plan", 103, 100, 3, 2.5, -7.3, 60, 0.56, 0.8, 12, False)
    later = replace(row, customers=300, earnings=330, present=300, gain=30, error=2.5)
    unsure = rehearsal(row).recommendation()
    assert unsure == (
        "With 100 customers the gain over always 30 % off is 3.0 % ± 2.5 %, which may be under 1 %: "
        "more shops (instances) would tell."
    )
    both = rehearsal(row, later).recommendation()
    assert both.startswith(unsure)
    assert "From 300 customers on it is worth it: the gain over always 30 % off is 10.0 % on average" in both
    assert "56 of 100 would earn more by always 30 % off" in both
    assert "in the worst 5 of 100 shops by 7.30 or more; the gains of the other 44 outweigh that." in both
    assert "Shops differ" not in rehearsal(replace(later, losing=0.0)).recommendation()
    assert "not worth it" in rehearsal(replace(row, gain=-1.0)).recommendation()


def test_what_the_shops_are_like_is_said():
    found = shops(Problem([0.7, 0.8, 0.9, 1.0], "decreasing", 100, names=["30 %", "20 %", "10 %", "full"]))
    assert "30 % succeeds with 80 of 100 customers, 20 % with 60, 10 % with 40, full with 20" in found
    many = shops(Problem([1.0] * 9, "decreasing", 100))
    assert "arm 1 succeeds with 90 of 100 customers, arm 9 with 10" in many
    row = Outcome(100, "plan", 103, 100, 3, 2.5, -7.3, 60, 0.56, 0.8, None, False)
    assert rehearsal(row).shops() in str(rehearsal(row))
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
    assert row.gain == pytest.approx(found.gain("elsv", 3).amount, rel=1e-9)


def test_progress_moves():
    steps = []
    rehearse(
        shop(),
        [20, 40],
        policies="greedy",
        instances=600,
        progress=lambda done, total: steps.append((done, total)),
    )
    assert steps[-1][0] == steps[-1][1]
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert len({total for _, total in steps}) == 1


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
    result = CliRunner().invoke(app, ["rehearse", "shop.toml", "--customers", "many"])
    assert isinstance(result.exception, elsv.InvalidInputError)
