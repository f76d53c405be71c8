"""The planner against plain recursions, the exact optimum and what it promises."""

import itertools
from fractions import Fraction
from functools import cache
from math import comb
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from benchmarks import gaps, late

from elsv import Bandit, Problem, State, make_policy
from elsv.beliefs import Chain
from elsv.beliefs.ladder.belief import Ladder
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.exact import evaluate
from elsv.indices.base import Setting
from elsv.indices.finite_gittins import FiniteGittins
from elsv.indices.gittins import Gittins
from elsv.lattice import small
from elsv.lattice.numbering import layer_size
from elsv.lattice.small import singles, steps_within
from elsv.policies.layers import StateByState
from elsv.policies.plan import Plan
from elsv.policies.plan_rules import (
    EFFORT,
    ENDLESS,
    FAR,
    FARTHEST,
    FIRST,
    PATIENCE,
    Way,
    candidates,
    depth_of,
    prefer,
    searches_free,
    undecided,
    unsettled,
    way_ahead,
)
from elsv.search.points_search import PointsSearch, Roots
from elsv.segments import Segments
from elsv.structure import grid

ORDERED = {"order": "decreasing"}


@cache
def below(counts):
    """Return W of ordered arms below x, with whole alpha and beta: the coefficients of a polynomial in x."""
    message = [Fraction(1)]
    for alpha, beta in reversed(counts):
        density = [Fraction(0)] * (alpha - 1) + [Fraction(comb(beta - 1, k) * (-1) ** k) for k in range(beta)]
        product = [Fraction(0)] * (len(density) + len(message) - 1)
        for (i, x), (j, y) in itertools.product(enumerate(density), enumerate(message)):
            product[i + j] += x * y
        message = [Fraction(0)] + [c / (k + 1) for k, c in enumerate(product)]
    return message


@cache
def weight(counts):
    """Return W: Beta integrals of the arm with most pulls, times the polynomials of those below and above."""
    i = max(range(len(counts)), key=lambda arm: sum(counts[arm]))
    above = below(tuple((beta, alpha) for alpha, beta in reversed(counts[:i])))  # in 1 - x
    total = Fraction(0)
    for (j, lower), (k, upper) in itertools.product(enumerate(below(counts[i + 1 :])), enumerate(above)):
        a, b = counts[i][0] + j, counts[i][1] + k
        total += lower * upper / ((a + b - 1) * comb(a + b - 2, a - 1))
    return total


def after(counts, arm, won, lost):
    return tuple((a + won * (i == arm), b + lost * (i == arm)) for i, (a, b) in enumerate(counts))


def mean(counts, arm):
    return weight(after(counts, arm, 1, 0)) / weight(counts)


def free_mean(counts, arm):
    return Fraction(counts[arm][0], sum(counts[arm]))


def committed(counts, rewards, left, among=None, mean=mean):
    return left * max(r * mean(counts, i) for i, r in enumerate(rewards) if among is None or i in among)


def ahead(counts, rewards, steps, left, gamma=1, among=None, mean=mean):
    """Return the q of every arm for lookahead by `steps` on the commit value: the plain recursion.

    A step is so many pulls of one arm; a number stands for as many steps of one pull.
    """
    steps = singles(steps) if isinstance(steps, int) else steps
    arms = range(len(rewards)) if among is None else among
    return [pulled(counts, rewards, arm, steps[0], steps[1:], left, gamma, among, mean) for arm in arms]


@cache
def pulled(counts, rewards, arm, times, steps, left, gamma, among, mean):
    """Return the worth of so many pulls of an arm, and `steps` after them."""
    then_left = left - 1 if gamma == 1 else left

    def value(then):
        if times > 1:
            return pulled(then, rewards, arm, times - 1, steps, then_left, gamma, among, mean)
        if not steps:
            return committed(then, rewards, then_left, among, mean)
        return max(ahead(then, rewards, steps, then_left, gamma, among, mean))

    p = mean(counts, arm)
    won, lost = after(counts, arm, 1, 0), after(counts, arm, 0, 1)
    return p * (rewards[arm] + gamma * value(won)) + (1 - p) * gamma * value(lost)


@cache
def stops(counts, rewards, arm, most, left, gamma=1):
    """Return the worth of pulling `arm` at least once and up to `most` times, committing when better."""
    then_left = left - 1 if gamma == 1 else left

    def value(then):
        worth = committed(then, rewards, then_left)
        return worth if most == 1 else max(worth, stops(then, rewards, arm, most - 1, then_left, gamma))

    p = mean(counts, arm)
    won, lost = after(counts, arm, 1, 0), after(counts, arm, 0, 1)
    return p * (rewards[arm] + gamma * value(won)) + (1 - p) * gamma * value(lost)


def state_of(counts):
    return State([a for a, _ in counts], [b for _, b in counts])


def searched(counts, rewards, depth, left):
    """Return the compiled search's scores of all arms."""
    problem, state = Problem([float(r) for r in rewards], horizon=left, **ORDERED), state_of(counts)
    root = State(state.alpha[None], state.beta[None])
    roots = Roots(problem, root, problem.rewards * Chain().mean(root), float(left))
    return PointsSearch(Chain(), 768).ahead(roots, np.arange(len(counts))[None], singles(depth))[0]


@pytest.mark.parametrize(
    "counts", [((1, 1), (1, 1), (1, 1)), ((3, 2), (2, 2), (1, 4)), ((1, 3), (2, 1), (4, 1))]
)
def test_search_equals_the_plain_recursion(counts):
    rewards = (Fraction(2, 5), Fraction(7, 10), Fraction(1))
    assert searched(counts, rewards, 2, 10) == pytest.approx(
        [float(x) for x in ahead(counts, rewards, 2, 10)], rel=1e-8
    )


def test_search_of_a_deep_tree_equals_the_plain_recursion():
    counts, rewards = ((3, 2), (2, 4)), (Fraction(3, 5), Fraction(1))
    assert searched(counts, rewards, 8, 20) == pytest.approx(
        [float(x) for x in ahead(counts, rewards, 8, 20)], rel=1e-8
    )


@pytest.mark.parametrize("chosen", [(0, 1, 2), (0, 2, 4), (1, 3, 4), (2, 3), (0, 1, 3, 4)])
def test_arms_that_are_not_searched_still_count_in_the_belief(chosen):
    counts = ((2, 1), (1, 1), (2, 2), (1, 3), (1, 2))
    rewards = tuple(Fraction(k, 10) for k in (4, 5, 7, 8, 10))
    expected = [float(x) for x in ahead(counts, rewards, 3, 20, 1, chosen)]
    state = state_of(counts)
    problem = Problem([float(r) for r in rewards], horizon=20, **ORDERED)
    root = State(state.alpha[None], state.beta[None])
    roots = Roots(problem, root, problem.rewards * Chain().mean(root), 20.0)
    q = PointsSearch(Chain(), 768).ahead(roots, np.array([chosen]), singles(3))
    assert q[0] == pytest.approx(expected, rel=1e-8 if len(chosen) <= 3 else 2e-3)


@pytest.mark.parametrize("scale", [1, 100, 10_000])
@pytest.mark.parametrize("arms", [2, 3, 20])
def test_scores_hardly_depend_on_the_number_of_points(arms, scale):
    rng = np.random.default_rng(arms)
    # The data may contradict the order.
    state = State(*(scale * rng.uniform(0.3, 3.0, (2, 3, arms))))
    problem = Problem(np.linspace(0.4, 1, arms), "decreasing", 1000)
    found, finer = (Plan(problem, 3000, points).scores(state, 400) for points in (768, 15 * 10**2))
    assert found == pytest.approx(finer, rel=3e-6)


@pytest.mark.parametrize("gamma", [1, Fraction(19, 20)])
@pytest.mark.parametrize("steps", [(1, 2), (1, 1, 3), (1, 2, 1, 2)])
@pytest.mark.parametrize("arms", [2, 3])
def test_a_search_by_steps_equals_the_plain_recursion(arms, steps, gamma):
    counts = ((3, 2), (2, 2), (1, 4))[:arms]
    rewards = (Fraction(2, 5), Fraction(7, 10), Fraction(1))[3 - arms :]
    expected = ahead(counts, rewards, steps, Fraction(20), gamma)
    state = state_of(counts)
    root = State(state.alpha[None], state.beta[None])
    goal = {"horizon": 20} if gamma == 1 else {"discount": float(gamma)}
    problem = Problem([float(r) for r in rewards], **goal, **ORDERED)
    roots = Roots(problem, root, problem.rewards * Chain().mean(root), 20.0)
    q = PointsSearch(Chain(), 768).ahead(roots, np.arange(arms)[None], steps)
    assert q[0] == pytest.approx([float(x) for x in expected], rel=1e-6)


def growing(arms, states, most, part):
    """Return how far steps of at most one part of the way behind them come, and whether that is `most`."""
    way = [0, 1]
    while way[-1] < most:
        way.append(min(way[-1] + max(1, way[-1] // part), most))
        if sum(layer_size(arms, made) for made in way) > states:
            return way[:-1], False
    return way, True


@pytest.mark.parametrize("arms", [2, 3])
@pytest.mark.parametrize("states", [1, 100, 5000, 3 * EFFORT])
@pytest.mark.parametrize("most", [1, 5, 20, 51, 70])
def test_steps_are_the_finest_that_arrive(arms, states, most):
    ways = (growing(arms, states, most, part) for part in range(99, 3, -1))
    expected = next((way for way, arrives in ways if arrives), growing(arms, states, most, 4)[0])
    assert [0, *itertools.accumulate(steps_within(arms, states, most))] == expected


def written_down(rewards, far_states):
    """Return the `plan` of docs/planning.md, in exact numbers."""
    page = (Path(__file__).parents[1] / "docs" / "planning.md").read_text(encoding="utf-8")
    text = page.split("```python\ndef plan(")[1].split("```")[0]
    assert sum(map(bool, text.splitlines())) <= 25
    known = {
        "r": rewards,
        "arms": range(len(rewards)),
        "mean": mean,
        "won": lambda counts, arm: after(counts, arm, 1, 0),
        "lost": lambda counts, arm: after(counts, arm, 0, 1),
        "finest": lambda most: steps_within(len(rewards), far_states, most),
    }
    exec("def plan(" + text, known)
    for name in ("pull", "stops", "commit"):
        known[name] = cache(known[name])
    return known["plan"]


@pytest.mark.parametrize("horizon", [4, 12, 25])
@pytest.mark.parametrize("far_states", [7, 28, 84])
@pytest.mark.parametrize("rewards", [(6, 7, 10), (4, 7, 10), (8, 10)], ids=str)
def test_the_page_has_the_policy(rewards, far_states, horizon):
    exact = tuple(Fraction(r, 10) for r in rewards)
    problem = Problem([r / 10 for r in rewards], horizon=horizon, **ORDERED)
    plan, page = Plan(problem, effort=far_states, far=1), written_down(exact, far_states)
    start = ((1, 1),) * len(rewards)
    assert int(plan(state_of(start), 1)) == written_down(exact, FIRST * far_states)(start, horizon)
    rng = np.random.default_rng(horizon)
    for step in range(2, horizon + 1, 3):
        pulls = rng.multinomial(step - 1, np.ones(len(rewards)) / len(rewards))
        counts = tuple(
            (1 + int(w), 1 + int(n - w)) for n, w in zip(pulls, rng.binomial(pulls, 0.6), strict=True)
        )
        assert int(plan(state_of(counts), step)) == page(counts, horizon - step + 1), (step, counts)


@pytest.mark.parametrize("gamma", [1, Fraction(19, 20)])
def test_where_a_few_pulls_change_nothing_many_pulls_of_one_arm_decide(gamma):
    counts = ((1, 3), (2, 1), (4, 1))
    rewards = (Fraction(2, 5), Fraction(7, 10), Fraction(1))
    goal = {"horizon": 26} if gamma == 1 else {"discount": float(gamma)}
    problem = Problem([0.4, 0.7, 1.0], **goal, **ORDERED)
    effort = 28
    assert way_ahead(3, effort, 20, far=1) == Way((1, 1), 20)
    few = ahead(counts, rewards, 2, Fraction(20), gamma)
    found = Plan(problem, effort, far=1).scores(state_of(counts), 7)
    arms = range(3) if gamma == 1 else [int(found.argmax())]  # ninety pulls in fractions take their time
    many = [stops(counts, rewards, arm, 20 if gamma == 1 else PATIENCE, Fraction(20), gamma) for arm in arms]
    at_once = float(committed(counts, rewards, 20))
    assert float(max(few)) == pytest.approx(at_once, rel=1e-9)
    assert float(max(many)) > 1.001 * at_once
    assert found[list(arms)] == pytest.approx([float(x) for x in many], rel=1e-7)


def test_many_pulls_are_preferred_only_where_they_gain_four_times_as_much():
    few, many = np.array([[10.0, 9.0], [10.0, 10.1]]), np.array([[9.5, 10.3], [10.39, 9.0]])
    everyone, sure = Segments.everyone(2), np.array([[10.0], [10.0]])
    assert prefer(everyone, few, many, sure).tolist() == [[9.5, 10.3], [10.0, 10.1]]
    assert prefer(everyone, few, many - 0.3, sure).tolist() == few.tolist()


def test_a_discount_takes_the_place_of_the_horizon():
    counts, rewards, gamma = (
        ((2, 1), (1, 1), (1, 2)),
        (Fraction(2, 5), Fraction(7, 10), Fraction(1)),
        Fraction(9, 10),
    )
    problem = Problem([0.4, 0.7, 1.0], discount=0.9, **ORDERED)
    expected = ahead(counts, rewards, 6, 1 / (1 - gamma), gamma)
    found = Plan(problem, effort=924, far=1).scores(state_of(counts), 3)
    assert found == pytest.approx([float(x) for x in expected], rel=1e-8)


def test_nothing_is_searched_where_no_arm_wins_back_half_of_what_a_pull_costs():
    worth, sure = np.array([[0.5, 0.4], [0.5, 0.4], [0.5, 0.5]]), np.full((3, 1), 10.0)
    many = np.array([[10.0, 9.96], [10.0, 9.94], [10.0, 10.0]])
    assert unsettled(Segments.everyone(2), many, sure, worth).tolist() == [True, False, False]
    problem = Problem([0.4, 0.7, 1.0], horizon=400, **ORDERED)
    state = State([[95.0, 40, 20], [6, 5, 4]], [[5.0, 60, 80], [5, 5, 5]])
    plan, left = Plan(problem), 300
    worth = problem.rewards * problem.belief.mean(state)
    alone = worth + (left - 1) * worth.max(axis=1, keepdims=True)
    found = plan.scores(state, 101)
    assert found[0] == pytest.approx(alone[0], rel=1e-12)
    assert found[1].max() > 1.0001 * alone[1].max()


def test_a_search_looks_as_far_as_its_states_allow_by_the_finest_steps():
    assert way_ahead(3, EFFORT, 1) == Way((1,))
    assert way_ahead(3, EFFORT, 20) == Way(singles(19))  # exact
    assert way_ahead(3, EFFORT, 21) == Way((*singles(18), 2), 21)
    far = (*singles(8), 2, 2, 3, 3, 4)
    assert way_ahead(3, EFFORT, 75) == Way(far, 75)
    assert way_ahead(3, EFFORT, 76) == Way(far, 76)
    assert way_ahead(3, EFFORT, ENDLESS) == way_ahead(3, EFFORT, 10_000) == Way(far, PATIENCE)
    assert way_ahead(3, EFFORT, 76, far=6).depth == 27
    assert way_ahead(2, EFFORT, 60).depth == FARTHEST
    problem = Problem([0.8, 1.0], horizon=100, **ORDERED)
    optimum, *plans = evaluate(problem, ["optimal", "plan:effort=330,far=1", "plan:effort=330"])
    regrets = [plan.regret / optimum.regret for plan in plans]
    assert 1.0 <= regrets[1] < 1.003 < regrets[0] < 1.02


def test_the_first_decision_is_searched_farther_and_once(monkeypatch):
    """At T = 110 the third arm should be pulled first; a search as far as later ones go takes the second."""
    problem, searches = Problem([0.6, 0.7, 1.0], horizon=110, **ORDERED), []
    plan, start, real = Plan(problem), State.initial(problem), Plan._search
    monkeypatch.setattr(Plan, "_search", lambda self, *given: searches.append(self.far) or real(self, *given))
    plan.prepare()
    assert searches == [FIRST * FAR]
    assert int(plan(start, 1)) == plan.on_layers(problem).first() == 2
    assert plan(State.initial(problem, (3,)), 1).tolist() == [2, 2, 2]
    assert Bandit(problem, plan).choose() == 2
    assert len(searches) == 1
    plan(State([1.0, 1.0, 2.0], [1.0, 1.0, 1.0]), 2)
    assert searches[1:] == [FAR]


@pytest.mark.parametrize("name", ["commit", "gittins"])
def test_most_policies_prepare_nothing(name):
    make_policy(name, Problem([0.6, 0.7, 1.0], horizon=10, **ORDERED)).prepare()


@pytest.mark.parametrize("horizon", [40, 41, 42, 43])
def test_the_way_is_never_longer_than_what_is_left(horizon):
    for left in range(1, horizon):
        way = way_ahead(3, EFFORT, left)
        assert way.depth <= max(1, left - 1)
        assert way.stops <= left


def test_whole_layers_read_as_far_as_the_longest_way_whatever_the_horizon():
    problem = Problem([0.6, 1.0], horizon=18, **ORDERED)
    plan = Plan(problem, effort=10)
    layers, states = evaluate(problem, [plan, StateByState(plan)])
    assert layers.value == pytest.approx(states.value, abs=1e-7)


@pytest.mark.parametrize("rewards", [[0.8, 1.0], [0.6, 0.7, 1.0]])
def test_whole_layers_are_searched_by_the_same_steps(rewards):
    problem = Problem(rewards, horizon=11, **ORDERED)
    effort = {2: 1000, 3: 8000}[problem.arms]
    plan = Plan(problem, effort, far=1)
    assert max(way_ahead(problem.arms, effort, 11, far=1).steps) == 2
    layers, states = evaluate(problem, [plan, StateByState(plan)])
    assert layers.value == pytest.approx(states.value, abs=1e-7)


def test_increasing_order_mirrors_decreasing_order():
    rng = np.random.default_rng(4)
    alpha, beta = rng.integers(1, 9, (2, 6, 5)).astype(float)
    rewards = np.array([0.3, 0.5, 0.6, 0.8, 1.0])
    falling = Plan(Problem(rewards, "decreasing", 60)).scores(State(alpha, beta), 20)
    rising = Plan(Problem(rewards[::-1], "increasing", 60)).scores(State(alpha[:, ::-1], beta[:, ::-1]), 20)
    assert falling == pytest.approx(rising[:, ::-1], rel=1e-6)  # seven digits


def test_a_batch_equals_its_instances_one_by_one():
    rng = np.random.default_rng(5)
    alpha, beta = rng.integers(1, 30, (2, 2, 4, 6)).astype(float)
    plan = Plan(Problem(np.linspace(0.4, 1, 6), "decreasing", 500), effort=60)
    together = plan.scores(State(alpha, beta), 300)
    assert together.shape == (2, 4, 6)
    for where in np.ndindex(2, 4):
        assert np.array_equal(plan.scores(State(alpha[where], beta[where]), 300), together[where])
    assert np.array_equal(plan(State(alpha, beta), 300), best_arm(together))


@pytest.mark.parametrize("arms", [1, 2, 3, 5])
def test_search_of_independent_arms_equals_the_plain_recursion(arms):
    counts = ((1, 1), (3, 2), (2, 2), (1, 4), (5, 1))[:arms]
    rewards = tuple(Fraction(k, 10) for k in (9, 7, 10, 8, 4))[:arms]
    problem = Problem([float(r) for r in rewards], horizon=30)
    plan = Plan(problem, effort=comb(3 + 2 * arms, 3))  # three pulls
    expected = ahead(counts, rewards, 3, 9, mean=free_mean)
    assert plan.scores(state_of(counts), 22) == pytest.approx([float(x) for x in expected], rel=1e-12)


@pytest.mark.parametrize(
    ("goal", "index", "effort"),
    [({"horizon": 20}, FiniteGittins(), 84), ({"discount": 0.9}, Gittins(), EFFORT)],
)
def test_without_an_order_the_gittins_index_decides_where_the_search_is_too_short(goal, index, effort):
    problem = Problem([0.4, 0.7, 1.0], **goal)
    state = State([[1, 2, 1], [3, 1, 4]], [[1, 1, 3], [2, 5, 1]])
    expected = problem.rewards * index(state.alpha, state.beta, 5, Setting.of(problem))
    assert np.array_equal(Plan(problem, effort).scores(state, 5), expected)


def test_independent_arms_are_searched_where_that_is_known_to_be_nearer_the_optimum():
    longest = {arms: max(t for t in range(1, 500) if searches_free(arms, EFFORT, t)) for arms in (2, 3, 10)}
    assert longest == {2: 320, 3: 150, 10: 25}
    assert not searches_free(11, EFFORT, 1)
    assert searches_free(3, 84, 9)  # three pulls ahead
    assert not searches_free(3, 84, 10)


@pytest.mark.parametrize("rewards", [[1, 1], [0.9, 1], [1, 1, 1], [0.4, 0.7, 1], [0.4, 0.6, 0.8, 1]])
@pytest.mark.parametrize("effort", [84, 1000, EFFORT])
def test_without_an_order_searching_is_not_farther_from_the_optimum_than_the_index(rewards, effort):
    problem = Problem(rewards, horizon=22)
    optimum, plan, index = evaluate(problem, ["optimal", f"plan:effort={effort}", "finite-gittins"])
    assert optimum.regret * (1 - 1e-9) <= plan.regret <= index.regret * (1 + 1e-9)


def test_no_score_is_below_a_pull_without_learning_nor_above_knowing_everything():
    rng = np.random.default_rng(6)
    problem = Problem(np.linspace(0.4, 1, 7), "decreasing", 100)
    state = State(*rng.integers(1, 20, (2, 10, 7)).astype(float))
    q = Plan(problem, effort=100).scores(state, 40)
    means = problem.rewards * Chain().mean(state)
    largest = Chain().best(state, problem.rewards)[1][:, None]
    assert (q >= (means + 60 * means.max(axis=-1, keepdims=True)) * (1 - 1e-5)).all()
    assert (q <= (means + 60 * largest) * (1 + 1e-5)).all()


def test_candidates_are_the_best_arm_and_those_most_worth_many_pulls():
    worth = np.array([[0.5, 0.4, 0.3, 0.2], [0.2, 0.9, 0.1, 0.1]])
    stops = np.array([[5.0, 5.1, 4.0, 5.2], [7.0, 5.0, 6.0, 6.5]])
    assert candidates(Segments.everyone(4), worth, stops, 3).tolist() == [[0, 1, 3], [0, 1, 3]]
    assert candidates(Segments.everyone(4), worth, stops, 2).tolist() == [[0, 3], [0, 1]]


def test_nothing_is_searched_where_one_arm_is_clearly_the_best():
    worth = np.array([[0.5, 0.4, 0.3, 0.2], [0.2, 0.9, 0.1, 0.1]])
    assert undecided(Segments.everyone(4), worth, np.full((2, 4), 0.1)).tolist() == [True, False]


@pytest.mark.parametrize("effort", [1, 7, 100, 512, EFFORT])
@pytest.mark.parametrize("left", [1, 2, 9, 200, ENDLESS])
def test_the_effort_bounds_the_states(effort, left):
    for arms in (2, 3):
        depth = depth_of(arms, effort, left)
        assert depth == 1 or comb(depth + 2 * arms, 2 * arms) <= effort
        assert depth <= left


@pytest.mark.parametrize("effort", [0, -3, 1.5, True])
def test_a_wrong_effort_is_refused(effort):
    with pytest.raises(InvalidInputError, match="effort must be a whole number"):
        Plan(Problem([1, 1], horizon=5), effort)


def test_a_step_outside_the_horizon_is_refused():
    problem = Problem([0.5, 1.0], horizon=5, **ORDERED)
    with pytest.raises(InvalidInputError, match="step"):
        Plan(problem).scores(State.initial(problem), 6)


NEAR = 1.004  # what README and docs promise of every problem that was solved

SUITE = [
    *({"rewards": r, "order": "decreasing"} for r in ([0.8, 0.9, 1], [0.5, 0.75, 1], [0.4, 0.7, 1])),
    *({"rewards": r, "order": "decreasing"} for r in ([1 / 3, 1 / 2, 1], [0.25, 0.5, 1], [0.3, 1])),
    {"rewards": [1, 0.5, 0.3], "order": "increasing"},
    {"rewards": [0.4, 0.7, 1], "order": "decreasing", "prior": [[2, 1], [1, 1], [1, 3]]},
    {"rewards": [0.4, 0.7, 1], "order": "decreasing", "prior": [[0.5, 0.5]] * 3},
    {"rewards": [1, 1, 1]},
    {"rewards": [0.4, 0.7, 1]},
]


@pytest.mark.parametrize("horizon", [10, 30])
@pytest.mark.parametrize("about", SUITE, ids=lambda about: str(about["rewards"]))
def test_as_near_the_optimum_as_the_pages_say(about, horizon):
    problem = Problem(horizon=horizon, **about)
    optimum, plan = evaluate(problem, ["optimal", Plan(problem)])
    assert optimum.regret * (1 - 1e-6) <= plan.regret <= NEAR * optimum.regret


def test_as_near_the_optimum_where_it_takes_many_pulls_to_change_the_best_arm():
    problem = Problem([0.6, 0.7, 1], "decreasing", 50)
    optimum, five, plan = evaluate(problem, ["optimal", "commit:depth=5", "plan"])
    assert five.regret > 1.04 * optimum.regret
    assert plan.regret <= NEAR * optimum.regret


@pytest.mark.parametrize("effort", [7, 28, 84, 3000])
@pytest.mark.parametrize("order", ["decreasing", None])
def test_whole_layers_choose_as_single_states(effort, order):
    problem = Problem([0.4, 0.7, 1.0], order, 9)
    plan = Plan(problem, effort)
    layers, states = evaluate(problem, [plan, StateByState(plan)])
    assert layers.value == pytest.approx(states.value, abs=1e-7)


def test_more_ordered_arms_are_evaluated_state_by_state_or_refused():
    problem = Problem([0.4, 0.6, 0.8, 1.0], "decreasing", 5)
    optimum, plan = evaluate(problem, ["optimal", "plan"])
    assert plan.regret == pytest.approx(optimum.regret, rel=0.01)
    with pytest.raises(InvalidInputError, match="simulate"):
        evaluate(Problem([1, 1, 1, 1], "decreasing", 30), "plan")


class Counting(Ladder):
    """Counts how many states it is asked for points of."""

    asked: ClassVar[list[int]] = []

    def points(self, state, count):
        self.asked.append(len(state.alpha))
        return super().points(state, count)


def test_more_arms_of_a_structure_are_asked_for_points_once_and_on_any_number_of_threads():
    belief = Counting(4, order=((0, 1), (0, 2), (1, 3), (2, 3)))
    problem = Problem([0.6, 1.0, 0.5, 0.9], structure=grid(2, 2), horizon=5)
    alone, shared = (evaluate(problem, "plan", jobs=jobs)[0].value for jobs in (1, 2))
    assert alone == shared
    state = State([[2, 1, 3, 1], [1, 4, 1, 1], [1, 1, 1, 1]], [[1, 1, 2, 1], [1, 1, 5, 1], [1, 1, 1, 1]])
    Counting.asked.clear()
    scores = Plan(problem, belief=belief).scores(state, 1)
    assert Counting.asked == [3]
    assert np.array_equal(scores, Plan(problem).scores(state, 1))
    each = [Plan(problem).scores(State(a, b), 1) for a, b in zip(state.alpha, state.beta, strict=True)]
    assert np.array_equal(scores, each)


def test_the_drawn_problems_are_always_the_same_and_of_every_kind():
    cases = gaps.drawn()
    assert len(cases) == 60
    assert sum(case.gpu for case in cases) == 10
    assert {case.name.split(",")[0] for case in cases} == set(gaps.FAMILIES)
    again = [str(case.about | {"structure": None}) for case in gaps.drawn()]
    assert [str(case.about | {"structure": None}) for case in cases] == again


@pytest.mark.parametrize("delay", [1, 2])
def test_the_optimum_with_late_outcomes_lies_between_knowing_and_never_knowing(delay):
    problem = Problem([0.6, 1.0], horizon=6, **ORDERED)
    task = late.Late(problem, delay)
    found, known = task.optimum(task.start, ()), evaluate(problem, "optimal")[0].value
    blind = late.Late(problem, 6)
    never = blind.optimum(blind.start, ())
    assert never == pytest.approx(6 * max(problem.rewards * Chain().mean(State.initial(problem))))
    assert never * (1 - 1e-8) <= found <= known * (1 + 1e-8)
    assert late.Late(problem, 0).optimum(task.start, ()) == pytest.approx(known, rel=1e-8)
    assert task.worth("plan") <= found * (1 + 1e-8)


def test_a_decision_does_not_work_out_its_way_anew(monkeypatch):
    """The way depends on the pulls that are left up to the farthest frontier, and no further."""
    found, real = [], small._steps
    monkeypatch.setattr(small, "_steps", lambda *given: found.append(given) or real(*given))
    way_ahead(3, 54_321, 1_000)
    first = len(found)
    assert first > 0
    for left in range(100, 1_000):
        way_ahead(3, 54_321, left)
    assert len(found) == first


def test_spread_points_have_the_means_of_the_belief():
    """Second customer of a 2 × 2 grid: 1,024 points that miss the means by 1e-4 chose the third arm."""
    problem = Problem([0.5, 0.7, 0.8, 1.0], structure=grid(2, 2), horizon=10)
    assert int(Plan(problem)(State([1.0, 1, 1, 1], [1.0, 1, 2, 1]), 2)) == 1
