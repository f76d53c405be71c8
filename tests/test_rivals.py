"""Policies that can use structure: each against a case worked by hand with plain code."""

import json
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, minimize
from scipy.stats import beta as beta_law

import elsv
from elsv import Bandit, Problem, State, compare, evaluate, make_policy
from elsv import structure as st
from elsv.errors import InvalidInputError
from elsv.paper.theorem import random_states
from elsv.policies.mixing import drawn, least_ratio, losses_and_news, top_two
from elsv.policies.registry import legend, meaning
from elsv.policies.rivals import logistic_fit
from elsv.structure.facts import Facts, ranking_of

ORDERED = Problem([0.8, 0.9, 1.0], order="decreasing", horizon=30)
PEAK = Problem(np.ones(4), structure=st.unimodal(), horizon=30)
CURVE = Problem([8, 10, 12], structure=st.logistic([8, 10, 12], draws=256), horizon=30)
RNG = np.random.default_rng


def seen(problem, *outcomes):
    """Return the state after (successes, failures) of every arm."""
    found = np.array(outcomes, dtype=float)
    return State(problem.prior[:, 0] + found[:, 0], problem.prior[:, 1] + found[:, 1])


def kl_bound(successes, pulls, budget):
    """Return the largest q with pulls times divergence within the budget, by bisection."""
    p = successes / pulls

    def over(q):
        left = p * math.log(p / q) if p > 0 else 0.0
        right = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
        return pulls * (left + right) - budget

    return p if budget <= 0 else brentq(over, max(p, 1e-12), 1 - 1e-15, xtol=1e-14)


def two_arms():
    """Two equally likely vectors of means: in the first arm 1 is best, in the second arm 2."""
    return Problem([1, 1], structure=st.samples([[0.9, 0.5], [0.2, 0.5]]), horizon=10)


def test_ids_by_hand():
    """E[max] = .7 and p = (.55, .5): losses .15 and .2; arm 1 shows ±.35, arm 2 nothing."""
    worth, weight = np.array([[[0.9, 0.5], [0.2, 0.5]]]), np.array([[0.5, 0.5]])
    loss, news = losses_and_news(worth, weight)
    np.testing.assert_allclose(loss, [[0.15, 0.2]], atol=1e-15)
    np.testing.assert_allclose(news, [[0.35**2, 0.0]], atol=1e-15)
    policy = make_policy("ids", two_arms())
    assert policy.chances(State.initial(two_arms()), 1).tolist() == [1.0, 0.0]


def test_ids_mixes_two_arms_where_that_is_better():
    """(1 q + 3 (1 - q))² / (1 - q) is least at q = ½: 8, where arm 2 alone has 9."""
    np.testing.assert_allclose(least_ratio(np.array([[1.0, 3.0]]), np.array([[0.0, 1.0]])), [[0.5, 0.5]])


def test_ids_finds_the_least_ratio():
    rng = RNG(3)
    loss, news = rng.random((40, 4)), rng.random((40, 4)) ** 3
    chances = least_ratio(loss, news)
    ratio = (chances * loss).sum(axis=1) ** 2 / (chances * news).sum(axis=1)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert ((chances > 0).sum(axis=1) <= 2).all()
    for mixture in rng.dirichlet(np.full(4, 0.3), 3000):
        assert (ratio <= (loss @ mixture) ** 2 / (news @ mixture) + 1e-9).all()


def test_ids_at_ties_and_where_nothing_is_to_be_learnt():
    assert least_ratio(np.full((1, 3), 0.2), np.full((1, 3), 0.1)).tolist() == [[1, 0, 0]]
    assert least_ratio(np.array([[0.2, 0.1, 0.1]]), np.zeros((1, 3))).tolist() == [[0, 1, 0]]
    assert least_ratio(np.array([[0.2, 0.0]]), np.array([[5.0, 0.0]])).tolist() == [[0, 1]]
    sure = Problem([1, 1, 1], order="decreasing", horizon=9)
    assert make_policy("ids", sure).chances(State.initial(sure), 1).tolist() == [1, 0, 0]


def test_ids_counts_all_states_of_a_batch_alike():
    policy = make_policy("ids", ORDERED)
    state = random_states(ORDERED, 12, 20, RNG(0))
    alone = [policy.chances(State(a, b), 12) for a, b in zip(state.alpha, state.beta, strict=True)]
    np.testing.assert_allclose(policy.chances(state, 12), alone, atol=1e-12)


def test_arms_are_drawn_with_their_chances():
    chances = np.broadcast_to([0.0, 0.25, 0.0, 0.75, 0.0], (40_000, 5))
    share = np.bincount(drawn(chances, RNG(1)), minlength=5) / 40_000
    np.testing.assert_allclose(share, chances[0], atol=0.01)
    assert share[[0, 2, 4]].tolist() == [0, 0, 0]


@pytest.mark.parametrize("problem", [ORDERED, Problem([0.5, 1.0], discount=0.9)])
def test_kg_is_commit_at_depth_1(problem):
    state = random_states(problem, 9, 30, RNG(2))
    kg, commit = (make_policy(name, problem) for name in ("kg", "commit:depth=1"))
    np.testing.assert_array_equal(kg.scores(state, 9, RNG(0)), commit.scores(state, 9, RNG(0)))


def test_kg_by_hand():
    """Arm 1 pays .5 for sure; arm 2, uniform, has a mean of 2/3 after a success and 1/3 after a failure."""
    problem = Problem([0.5, 1.0], horizon=5, prior=[(1e9, 1), (1, 1)])
    q = make_policy("kg", problem).scores(State.initial(problem), 1, RNG(0))
    first = 0.5 + 4 * 0.5
    second = 0.5 + 4 * (0.5 * 2 / 3 + 0.5 * 0.5)
    np.testing.assert_allclose(q, [first, second], atol=1e-8)


def test_top_two_by_hand():
    """P = (.5, .3, .2): the challenger of arm 1 is arm 2 with .6, of arm 2 arm 1 with 5/7, and so on."""
    best = np.array([0.5, 0.3, 0.2])
    expected = [
        best[j] * (0.5 + 0.5 * sum(best[i] / (1 - best[i]) for i in range(3) if i != j)) for j in range(3)
    ]
    np.testing.assert_allclose(top_two(best, 0.5), expected, atol=1e-12)
    np.testing.assert_allclose(top_two(best, 1.0), best)
    assert top_two(np.array([0.0, 1.0]), 0.5).tolist() == [0, 1]
    means = [[0.9, 0.5, 0.1], [0.1, 0.9, 0.5], [0.5, 0.1, 0.9]]
    problem = Problem([1, 1, 1], structure=st.samples(means, best), horizon=9)
    arms = make_policy("top-two", problem)(State.initial(problem, (30_000,)), 1, RNG(4))
    np.testing.assert_allclose(np.bincount(arms) / 30_000, expected, atol=0.012)


def test_top_two_gives_up_where_no_other_arm_can_be_best():
    sure = Problem([1, 1], order="decreasing", horizon=9)
    policy = make_policy("top-two", sure)
    assert (policy(State.initial(sure, (50,)), 1, RNG(0)) == 0).all()
    np.testing.assert_allclose(policy.chances(State.initial(sure), 1), [1, 0], atol=1e-6)


def test_uts_by_hand():
    """Arm 2 leads with 3 of 4; arms 1 to 3 are looked at, and the leader alone after 6 pulls of these."""
    policy = make_policy("uts", PEAK)
    forced = seen(PEAK, (0, 0), (3, 1), (1, 1), (0, 0))
    assert policy.chances(forced, 7).tolist() == [0, 1, 0, 0]
    assert (policy(State(np.tile(forced.alpha, (20, 1)), forced.beta), 7, RNG(0)) == 1).all()
    free = seen(PEAK, (0, 0), (3, 1), (1, 2), (0, 0))
    laws = [beta_law(1, 1), beta_law(4, 2), beta_law(2, 3)]
    expected = [
        quad(lambda x, i=i: laws[i].pdf(x) * math.prod(laws[j].cdf(x) for j in range(3) if j != i), 0, 1)[0]
        for i in range(3)
    ]
    np.testing.assert_allclose(policy.chances(free, 8), [*expected, 0], atol=1e-6)
    arms = policy(State(np.tile(free.alpha, (20_000, 1)), free.beta), 8, RNG(1))
    np.testing.assert_allclose(np.bincount(arms, minlength=4) / 20_000, [*expected, 0], atol=0.015)


def test_osub_by_hand():
    policy = make_policy("osub:c=3", PEAK)
    state = seen(PEAK, (0, 2), (3, 1), (1, 3), (0, 0))  # ten pulls of arms 1 to 3
    budget = math.log(11) + 3 * math.log(math.log(11))
    bounds = [kl_bound(0, 2, budget), kl_bound(3, 4, budget), kl_bound(1, 4, budget)]
    np.testing.assert_allclose(policy.scores(state, 11, RNG(0)), [*bounds, -np.inf], atol=1e-10)
    forced = seen(PEAK, (0, 1), (3, 1), (1, 3), (0, 0))  # nine
    assert np.isneginf(policy.scores(forced, 10, RNG(0))).tolist() == [True, False, True, True]
    unpulled = seen(PEAK, (0, 0), (3, 1), (0, 0), (0, 0))
    assert policy.scores(unpulled, 5, RNG(0))[[0, 2]].tolist() == [1, 1]


@pytest.mark.parametrize("name", ["uts", "osub"])
def test_the_first_of_equal_leaders_leads(name):
    policy = make_policy(name, PEAK)
    assert policy(State.initial(PEAK), 1, RNG(0)) == 0
    tied = seen(PEAK, (0, 0), (1, 2), (0, 0), (1, 2))
    allowed = np.isfinite(policy.scores(tied, 7, RNG(0)))
    assert allowed.tolist() == [False, True, False, False]  # three pulls near arm 2: the leader alone


def test_a_leader_counts_its_reward():
    problem = Problem([1, 2, 9], structure=st.unimodal("reward"), horizon=9)
    state = seen(problem, (1, 0), (3, 1), (1, 3))  # 1, 1.5, 2.25
    assert np.isfinite(make_policy("osub", problem).scores(state, 10, RNG(0))).tolist() == [False, True, True]


@pytest.mark.parametrize("order", ["decreasing", "increasing"])
def test_isotonic_kl_ucb_by_hand(order):
    problem = Problem([0.8, 0.9, 1.0], order=order, horizon=30)
    state, budget = seen(problem, (3, 2), (0, 0), (1, 1)), math.log(8)
    own = [kl_bound(3, 5, budget), 1.0, kl_bound(1, 2, budget)]
    above = {"decreasing": [[0], [0, 1], [0, 1, 2]], "increasing": [[0, 1, 2], [1, 2], [2]]}[order]
    expected = [r * min(own[j] for j in js) for r, js in zip(problem.rewards, above, strict=True)]
    scores = make_policy("isotonic-kl-ucb", problem).scores(state, 8, RNG(0))
    np.testing.assert_allclose(scores, expected, atol=1e-10)


def test_isotonic_kl_ucb_under_other_orders():
    grid = Problem(np.ones(4), structure=st.grid(2, 2), horizon=9)
    state, budget = seen(grid, (9, 0), (0, 3), (2, 2), (0, 0)), math.log(17)
    own = [1.0, kl_bound(0, 3, budget), kl_bound(2, 4, budget), 1.0]
    found = make_policy("isotonic-kl-ucb", grid).scores(state, 17, RNG(0))
    np.testing.assert_allclose(found, [own[0], own[1], own[2], min(own)], atol=1e-10)
    bounded = Problem([1, 1], structure=st.decreasing() & st.bounds([(0, 0.4), None]), horizon=9)
    assert make_policy("isotonic-kl-ucb", bounded).scores(State.initial(bounded), 1, RNG(0)).tolist() == [
        0.4,
        0.4,
    ]
    assert make_policy("isotonic-kl-ucb", CURVE).scores(State.initial(CURVE), 1, RNG(0)).tolist() == [
        8,
        10,
        12,
    ]


class WorthFalls:
    """A structure of one's own: expected rewards fall."""

    def describe(self):
        return "the expected rewards fall"

    def to_dict(self):
        return {"worth_falls": True}

    def holds(self, means):
        return (np.diff(np.asarray(means) * [1.0, 4.0]) <= 0).all(axis=-1)

    def belief(self):
        return elsv.Independent()

    def ranking(self):
        return Facts(("a", "b"), (1.0, 4.0), order=((0, 1),), scale="reward")


def test_a_structure_of_ones_own_offers_its_ranking():
    problem = Problem([1, 4], structure=WorthFalls(), horizon=9)
    state = seen(problem, (1, 3), (0, 0))
    bound = kl_bound(1, 4, math.log(5))
    found = make_policy("isotonic-kl-ucb", problem).scores(state, 5, RNG(0))
    np.testing.assert_allclose(found, [bound, bound], atol=1e-10)
    assert make_policy("osub", problem)(state, 5, RNG(0)) in (0, 1)


def test_glm_ucb_by_hand():
    policy = make_policy("glm-ucb:scale=2,ridge=0.5", CURVE)
    np.testing.assert_allclose(policy.scores(State.initial(CURVE), 1, RNG(0)), 0.5 * CURVE.rewards)
    state = seen(CURVE, (3, 1), (2, 4), (1, 5))
    x, wins, pulls = np.array([[1, -0.5], [1, 0], [1, 0.5]]), np.array([3, 2, 1]), np.array([4, 6, 6])

    def penalty(theta):
        u = x @ theta
        return -(wins * u - pulls * np.logaddexp(0, u)).sum() + 0.25 * (theta**2).sum()

    theta = minimize(penalty, [0, 0], tol=1e-14).x
    np.testing.assert_allclose(logistic_fit(x, wins, pulls, 0.5), theta, atol=1e-6)
    gram = 0.5 * np.eye(2) + sum(n * np.outer(row, row) for n, row in zip(pulls, x, strict=True))
    spread = [math.sqrt(row @ np.linalg.inv(gram) @ row) for row in x]
    curve = 1 / (1 + np.exp(-x @ theta))
    expected = CURVE.rewards * (curve + math.sqrt(2 * math.log(17)) * np.array(spread))
    np.testing.assert_allclose(policy.scores(state, 17, RNG(0)), expected, atol=1e-5)


def test_glm_ucb_takes_prices_and_any_outcomes():
    free = Problem([8, 10, 12], horizon=30)
    state = random_states(free, 20, 30, RNG(5))
    named, known = (make_policy(n, p) for n, p in (("glm-ucb:prices=8+10+12", free), ("glm-ucb", CURVE)))
    np.testing.assert_array_equal(named.scores(state, 20, RNG(0)), known.scores(state, 20, RNG(0)))
    many = seen(free, (10**6, 0), (0, 10**6), (5 * 10**5, 5 * 10**5))
    assert np.isfinite(named.scores(many, 3 * 10**6, RNG(0))).all()


def test_bayes_ucb_on_the_structured_marginal():
    structured = make_policy("bayes-ucb:belief=structured", ORDERED)
    state = random_states(ORDERED, 11, 5, RNG(6))
    expected = ORDERED.rewards * ORDERED.belief.quantile(state, 1 - 1 / 11)
    np.testing.assert_allclose(structured.scores(state, 11, RNG(0)), expected, atol=1e-10)
    first = State.initial(ORDERED)  # means 3/4, 2/4, 1/4
    np.testing.assert_allclose(structured.scores(first, 1, RNG(0)), [0.6, 0.45, 0.25], atol=1e-8)
    free = Problem([0.8, 0.9, 1.0], horizon=30)
    own, plain = (make_policy(f"bayes-ucb:c=2,belief={b}", free) for b in ("structured", "independent"))
    np.testing.assert_allclose(own.scores(state, 11, RNG(0)), plain.scores(state, 11, RNG(0)), atol=1e-9)
    assert plain.index_alone is not None


@pytest.mark.parametrize(
    ("name", "problem", "words"),
    [
        ("uts", ORDERED, "uts needs a single peak"),
        ("osub", Problem([1, 2, 3], structure=st.unimodal(), horizon=9), 'unimodal = "reward"'),
        ("isotonic-kl-ucb", PEAK, "needs arms in order"),
        ("isotonic-kl-ucb", Problem([1, 1], horizon=9), "nothing is assumed"),
        ("glm-ucb", ORDERED, "structure logistic"),
        ("glm-ucb:prices=1+2", ORDERED, "3 numbers, one for each arm, got 2"),
        ("glm-ucb:prices=a", ORDERED, r"joined by \+"),
        ("glm-ucb:prices=1+1+1", ORDERED, "that differ"),
        ("glm-ucb:scale=-1", CURVE, "at least 0"),
        ("glm-ucb:ridge=0", CURVE, "must be positive"),
        ("top-two:beta=0", ORDERED, "beta of top-two"),
        ("ids:points=0", ORDERED, "points"),
        ("kg:depth=2", ORDERED, "unknown parameter"),
        ("uts:c=1", PEAK, "no parameters"),
        ("osub:c=-1", PEAK, "c"),
        ("bayes-ucb:belief=exact", ORDERED, "unknown belief"),
    ],
)
def test_what_is_not_there_is_refused(name, problem, words):
    with pytest.raises(InvalidInputError, match=words):
        make_policy(name, problem)


@pytest.mark.parametrize(
    ("structure", "rewards", "peak"),
    [
        (st.unimodal(), [2, 2, 2], True),
        (st.unimodal(), [1, 2, 3], False),
        (st.unimodal("reward"), [1, 2, 3], True),
        (st.decreasing(), [1, 1, 1], True),
        (st.decreasing(), [3, 2, 1], True),
        (st.decreasing(), [1, 2, 3], False),
        (st.order([(2, 1), (2, 3)]), [1, 1, 1], True),
        (st.order([(1, 2), (3, 2)]), [1, 1, 1], False),
        (st.order([(1, 2)]), [1, 1, 1], False),
        (st.decreasing() & st.where(lambda means: means[..., 0] > 0.1), [1, 1, 1], True),
        (st.logistic([3, 2, 1], draws=64) & st.bounds([None, None, (0, 0.9)]), [1, 1, 1], True),
        (st.mixture([(0.9, st.unimodal()), (0.1, st.free())]), [1, 1, 1], False),
        (st.free(), [1, 1, 1], False),
    ],
)
def test_what_is_certain_of_a_peak(structure, rewards, peak):
    facts = ranking_of(Problem(rewards, structure=structure, horizon=5).structure)
    assert (facts is not None and facts.single_peak) == peak


def test_joined_curves_keep_their_prices():
    joined = st.logistic([8, 10, 12], draws=64) & st.bounds([None, None, (0, 0.9)])
    problem = Problem([8, 10, 12], structure=joined, horizon=5)
    assert make_policy("glm-ucb", problem).prices == (8, 10, 12)
    assert "glm-ucb" not in elsv.policy_names(ORDERED)
    assert {"isotonic-kl-ucb", "ids"} <= set(elsv.policy_names(ORDERED))


CASES = [
    (ORDERED, ["ids", "kg", "top-two", "isotonic-kl-ucb", "bayes-ucb:belief=structured"]),
    (PEAK, ["ids", "top-two:beta=0.8", "uts", "osub"]),
    (CURVE, ["glm-ucb", "ids", "top-two", "isotonic-kl-ucb"]),
]


@pytest.mark.parametrize(("problem", "names"), CASES, ids=["ordered", "peak", "curve"])
def test_comparisons_repeat_and_decisions_are_explained(problem, names):
    short = problem.with_horizon(8)
    first, second = (compare(short, names, instances=60, seed=5) for _ in range(2))
    for name in names:
        assert (first[name].mean == second[name].mean).all()
        explained = Bandit(short, name, seed=1).explain()
        assert name in str(explained)
        assert meaning(name) in str(explained)
        json.dumps(explained.to_dict())


@pytest.mark.parametrize("rewards", [[1.0, 1.0], [0.5, 1.0]])
def test_exact_values_are_what_simulation_finds(rewards):
    problem = Problem(rewards, structure=st.unimodal("reward"), horizon=6)
    names = ["ids", "top-two", "uts", "osub", "bayes-ucb:belief=structured", "kg"]
    optimum, *exact = evaluate(problem, ["optimal", *names])
    simulated = compare(problem, names, instances=4000, seed=2)
    for row in exact:
        found = simulated[row.name]
        assert abs(found.mean[-1] - row.regret) < 2.5 * found.ci95[-1] + 1e-9
        assert row.regret >= optimum.regret - 1e-9


def test_each_is_said_in_a_few_words():
    both = {name: name for name in ("bayes-ucb", "bayes-ucb:belief=structured")}
    said = legend(both)
    assert "each arm by itself" in said["bayes-ucb"]
    assert "believed" in said["bayes-ucb:belief=structured"]


@pytest.mark.parametrize(("problem", "names"), CASES, ids=["ordered", "peak", "curve"])
def test_outcomes_under_way_may_be_fractions(problem, names):
    state = State(problem.prior[:, 0] + 1.4, problem.prior[:, 1] + 0.6)
    for name in names:
        assert 0 <= make_policy(name, problem)(state, 2 * problem.arms + 1, RNG(0)) < problem.arms
