"""What the authors of rivals say of them, as far as it can be repeated; the page says what was measured."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from benchmarks.rivals import PEAK, TASKS, TEN, IntegratedIds, least_growth, losses_and_news, tables
from scipy.integrate import quad
from scipy.stats import beta as beta_law

from elsv import Problem, State, compare, evaluate, make_policy
from elsv.policies.mixing import losses_and_news as news_of_points

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "policies.md").read_text()
KNOWN = json.loads((ROOT / "docs" / "figures" / "rivals.json").read_text())
# How the page writes down single figures.
FIGURES = {
    "ids by integrals": "{:.1f} ± {:.1f}".format(*KNOWN["points"]["regret"]["integrals"]),
    "ids by points": "{:.1f} ± {:.1f}".format(*KNOWN["points"]["regret"]["ids"]),
    "bound of ids": f"{KNOWN['ten']['bound']:.0f}",
    "instances": f"{KNOWN['ten']['instances']} instances",
    "uts by leads": "{:.0f} ± {:.0f}".format(*KNOWN["leads"]["regret"]["led"]),
    "uts by pulls": "{:.0f} ± {:.0f}".format(*KNOWN["leads"]["regret"]["pulls"]),
}


def test_tables_are_those_of_what_was_measured():
    assert set(KNOWN) == set(TASKS)
    for table in tables(KNOWN).split("\n\n"):
        assert table in PAGE


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_those_of_what_was_measured(name):
    assert FIGURES[name] in PAGE


@pytest.mark.parametrize("name", TEN[1:])
def test_ids_loses_less_than_what_its_paper_names(name):
    less, half = KNOWN["ten"]["ids_less"][name]
    assert less + half < 0


def test_ids_keeps_within_its_bound():
    assert KNOWN["ten"]["bound"] == pytest.approx(math.sqrt(0.5 * 10 * math.log(10) * 1000), abs=0.05)
    assert sum(KNOWN["ten"]["regret"]["ids"]) < KNOWN["ten"]["bound"]


def test_points_cost_ids_nothing_that_can_be_seen():
    (by_points, half), (integrated, other) = KNOWN["points"]["regret"].values()
    assert abs(by_points - integrated) < math.hypot(half, other)


def test_with_a_peak_regret_grows_more_slowly():
    growth = KNOWN["peak"]["growth"]
    for name in ("uts", "osub"):
        assert sum(growth[name]) < growth["thompson:order=false"][0] - growth["thompson:order=false"][1]
    assert sum(growth["uts"]) < growth["osub"][0] - growth["osub"][1]


def test_pulls_stand_in_for_leads():
    (led, half), (pulls, other) = KNOWN["leads"]["regret"]["led"], KNOWN["leads"]["regret"]["pulls"]
    assert abs(led - pulls) < math.hypot(half, other)


def test_least_growth_by_hand():
    """Next to 0.9 lie two arms of 0.8, at the divergence 0.8 log(8/9) + 0.2 log 2."""
    near = 0.8 * math.log(8 / 9) + 0.2 * math.log(2)
    assert least_growth(PEAK, unimodal=True) == pytest.approx(2 * 0.1 / near)
    assert least_growth(np.array([0.9, 0.8]), unimodal=False) == pytest.approx(0.1 / near)
    assert least_growth(PEAK, unimodal=False) > least_growth(PEAK, unimodal=True)


def test_top_two_is_the_first_to_be_sure():
    pulls = KNOWN["sure"]["pulls"]
    for name in ("thompson", "random"):
        assert sum(pulls["top-two"]) < pulls[name][0] - pulls[name][1]


@pytest.mark.parametrize("rewards", [[1.0, 1.0, 1.0], [0.5, 0.8, 1.0]])
def test_kg_is_optimal_where_one_pull_is_left_to_learn_for(rewards):
    problem = Problem(rewards, horizon=2, prior=[(3, 1), (1, 1), (1, 2)])
    optimum, kg = evaluate(problem, ["optimal", "kg"])
    assert kg.regret == pytest.approx(optimum.regret, abs=1e-12)


def test_integrals_by_hand():
    """Two arms, Beta(2, 1) and Beta(1, 1): the first is best with density 2x·x, the second with x²."""
    first, second = beta_law(2, 1), beta_law(1, 1)
    chance = quad(lambda x: first.pdf(x) * second.cdf(x), 0, 1)[0]  # 2/3
    won = quad(lambda x: first.pdf(x) * second.cdf(x) * x, 0, 1)[0]  # of arm 1 where it is best
    lost = 2 / 3 - won
    largest = won + quad(lambda x: second.pdf(x) * first.cdf(x) * x, 0, 1)[0]
    loss, news = losses_and_news(np.array([2.0, 1.0]), np.array([1.0, 1.0]))
    np.testing.assert_allclose(loss, [largest - 2 / 3, largest - 0.5], atol=1e-8)
    expected = chance * (won / chance - 2 / 3) ** 2 + (1 - chance) * (lost / (1 - chance) - 2 / 3) ** 2
    assert news[0] == pytest.approx(expected, abs=1e-8)


def test_points_come_near_the_integrals():
    problem = Problem([1.0] * 4, horizon=50)
    state = State([6, 3, 1, 2], [3, 2, 1, 4])
    policy = make_policy("ids:points=65536", problem)
    theta, weight = problem.belief.points(State(state.alpha[None], state.beta[None]), policy.points)
    loss, news = news_of_points(theta, weight)
    exact_loss, exact_news = losses_and_news(state.alpha, state.beta)
    np.testing.assert_allclose(loss[0], exact_loss, atol=1e-4)
    np.testing.assert_allclose(news[0], exact_news, atol=1e-4)


def test_integrated_ids_plays():
    problem = Problem([1.0] * 3, horizon=20)
    found = compare(problem, {"by integrals": IntegratedIds(), "by points": "ids"}, 40, progress=False)
    assert found["by integrals"].mean[-1] == pytest.approx(found["by points"].mean[-1], abs=1.0)
