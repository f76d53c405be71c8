"""Weighted joint points of a belief: their moments, and searches on them."""

import itertools

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from elsv import Problem, State, evaluate
from elsv.beliefs import Chain, Independent
from elsv.beliefs.chain.grid_kernels import gauss_rule
from elsv.beliefs.independent import beta_rule
from elsv.beliefs.points import arm_points, joint_points, match_means, rule_sizes, uniforms
from elsv.errors import InvalidInputError
from elsv.lattice.small import singles
from elsv.policies import make_policy
from elsv.policies.plan import Plan
from elsv.policies.plan_rules import POINTS, stands
from elsv.search.lookahead import lookahead
from elsv.search.points_search import PointsSearch, Roots
from elsv.segments import Segments
from elsv.structure import decreasing, grid, mixture, samples
from elsv.structure.restricted import restricted
from elsv.values.commit import CommitValue

BELIEFS = [Chain(), Chain("increasing"), Independent()]
STATES = {
    "prior": ([1, 1, 1], [1, 1, 1]),
    "plausible": ([9, 5, 3], [2, 4, 9]),
    "against the order": ([2, 4, 9], [9, 5, 3]),
    "fractions": ([0.5, 0.7, 2.5], [1.5, 0.4, 0.6]),
    "many pulls": ([400, 90, 3], [100, 60, 9]),
}


def moment(belief, state, won, lost):
    """Return E[∏ μ_i^won_i (1 - μ_i)^lost_i] by the exact weights."""
    later = State(state.alpha + won, state.beta + lost)
    return np.exp(belief.log_weight(later) - belief.log_weight(state))


def sums(theta, weight, won, lost):
    return (weight * np.prod(theta**won * (1 - theta) ** lost, axis=-1)).sum(axis=-1)


def test_where_an_arm_has_no_rule_in_doubles_its_points_are_spread_ones():
    """Data so far from the order that an arm's probability is nothing: not the points of the state before."""
    rng = np.random.default_rng([15, 3])
    state = State(rng.uniform(1e3, 1e5, (2, 15)), rng.uniform(1e3, 1e5, (2, 15)))
    belief, arms = Chain("increasing"), np.array([[3, 8], [3, 8]])
    both = joint_points(belief, state, 64, arms)
    mean = np.take_along_axis(belief.mean(state), arms, axis=-1)
    assert (both[1][..., None] * both[0]).sum(axis=-2) == pytest.approx(mean, abs=1e-3)
    for k in range(2):
        alone = joint_points(belief, State(state.alpha[k], state.beta[k]), 64, arms[k])
        for part, one in zip(both, alone, strict=True):
            np.testing.assert_array_equal(part[k], one)


@pytest.mark.parametrize("counts", STATES.values(), ids=STATES)
@pytest.mark.parametrize("arms", [1, 2, 3])
@pytest.mark.parametrize("belief", BELIEFS, ids=str)
def test_points_of_few_arms_have_the_weights_of_the_states_below(belief, arms, counts):
    state = State(counts[0][:arms], counts[1][:arms])
    theta, weight = belief.points(state, POINTS)
    assert theta.shape == (weight.size, arms)
    assert weight.size <= POINTS
    rng = np.random.default_rng(arms)
    for pulls in (0, 1, 2, 3, 5, 8, 16):
        won, lost = rng.multinomial(pulls, np.full(2 * arms, 0.5 / arms)).reshape(2, arms)
        exact = moment(belief, state, won, lost)
        # A state that is not likely to be reached need not be as accurate.
        assert sums(theta, weight, won, lost) == pytest.approx(exact, rel=2e-6, abs=1e-8)


@pytest.mark.parametrize("order", ["decreasing", "increasing"])
@pytest.mark.parametrize("chosen", [(0, 1, 2), (0, 2, 5), (1, 4), (3, 4, 5), (2,)])
def test_points_of_some_arms_leave_the_others_in_the_belief(order, chosen):
    belief = Chain(order)
    state = State([3, 1, 4, 2, 5, 2], [1, 2, 2, 3, 2, 6])
    theta, weight = belief.some_points(state, POINTS, np.array(chosen))
    assert theta.shape[-1] == len(chosen)
    for pulls in itertools.product((0, 2), repeat=len(chosen)):
        won, lost = np.zeros((2, 6))
        won[list(chosen)], lost[list(chosen)] = pulls, pulls[::-1]
        expected = moment(belief, state, won, lost)
        assert sums(theta, weight, np.array(pulls), np.array(pulls[::-1])) == pytest.approx(
            expected, rel=1e-7
        )


@pytest.mark.parametrize("belief", BELIEFS, ids=str)
def test_points_of_many_arms_come_near_the_moments(belief):
    state = State([5, 3, 4, 2, 2, 1, 3], [1, 2, 2, 3, 2, 6, 5])
    theta, weight = belief.points(state, 2000)
    assert theta.shape == (2048, 7)
    assert weight.sum() == pytest.approx(1)
    assert weight @ theta == pytest.approx(belief.mean(state), abs=1e-3)
    assert weight @ (theta - belief.mean(state)) ** 2 == pytest.approx(belief.variance(state), rel=0.03)
    if isinstance(belief, Chain):
        steps = np.diff(theta, axis=-1)
        assert ((steps <= 0) if belief.order == "decreasing" else (steps >= 0)).all()


@pytest.mark.parametrize("arms", [2, 3, 5])
@pytest.mark.parametrize("belief", BELIEFS, ids=str)
def test_points_are_the_same_for_the_same_state_alone_or_in_a_batch(belief, arms):
    rng = np.random.default_rng(arms)
    alpha, beta = rng.uniform(0.5, 20, (2, 2, 3, arms))
    chosen = np.sort(np.argsort(rng.random((2, 3, arms)), axis=-1)[..., :2], axis=-1)
    for wanted in (None, chosen):
        theta, weight = belief.some_points(State(alpha, beta), 100, wanted)
        for where in np.ndindex(2, 3):
            one = belief.some_points(
                State(alpha[where], beta[where]), 100, None if wanted is None else wanted[where]
            )
            assert np.array_equal(one[0], theta[where])
            assert np.array_equal(one[1], weight[where])


@pytest.mark.parametrize(("scale", "error"), [(1e-3, 0.5), (0.1, 2e-3), (1, 1e-5), (100, 1e-6), (1e5, 1e-3)])
@pytest.mark.parametrize("arms", [2, 3, 9])
def test_points_are_probabilities_whatever_the_counts(arms, scale, error):
    rng = np.random.default_rng(arms)
    state = State(*(scale * rng.uniform(0.3, 3.0, (2, 4, arms))))
    for theta, weight in (Chain().points(state, 300), Chain().arm_points(state, 16)):
        assert (theta >= 0).all()
        assert (theta <= 1).all()
        assert (weight >= 0).all()
        assert weight.sum(axis=-1) == pytest.approx(1)
    theta, weight = Chain().arm_points(state, 16)
    means = np.einsum("bik,bikl->bil", weight, theta)
    assert means == pytest.approx(np.repeat(Chain().mean(state)[:, None], arms, axis=1), abs=error)


@pytest.mark.parametrize(
    ("wins", "pulls"),
    [
        ([42, 0, 0], [78, 0, 0]),
        ([2, 10, 7], [5, 128, 51]),
        ([2, 65, 1, 0, 0], [2, 114, 1, 0, 0]),
        ([179, 0], [278, 0]),
    ],
)
def test_the_others_means_are_right_where_much_is_known_of_one_arm_alone(wins, pulls):
    # Where one arm is known the others' messages fall to nothing within a panel.
    won, lost = np.array(wins), np.array(pulls) - wins
    state = State(1.0 + won, 1.0 + lost)
    theta, weight = Chain().arm_points(state, 16)
    means = np.einsum("ik,ikl->il", weight, theta)
    assert means == pytest.approx(np.repeat(Chain().mean(state)[None], len(wins), axis=0), abs=1e-5)
    for arm, points in enumerate(theta):
        assert (points[:, :arm] >= points[:, [arm]]).all()
        assert (points[:, arm:] <= points[:, [arm]]).all()


def chain_weight(alpha, beta, arms, low, high):
    """Return W of arms in order, the largest first, between two places, by polynomials; counts are whole."""
    lower, width = Polynomial([1.0]), high - low
    for i in reversed(arms):
        won, lost = Polynomial([low, width]) ** int(alpha[i] - 1), Polynomial([1 - low, -width])
        lower = (won * lost ** int(beta[i] - 1) * lower).integ()
    return lower(1.0)


def given_mean(belief, state, arm, x):
    """Return E[μ_l | μ_arm = x]: under an order the arms above and below it are chains of their own."""
    out = np.where(np.arange(4) == arm, x, state.mean)
    ranked = {"decreasing": [0, 1, 2, 3], "increasing": [3, 2, 1, 0]}.get(getattr(belief, "order", ""), [arm])
    at = ranked.index(arm)
    for others, *ends in ((ranked[:at], x, 1.0), (ranked[at + 1 :], 0.0, x)):
        for i in others:
            won = state.alpha + (np.arange(4) == i)
            out[i] = chain_weight(won, state.beta, others, *ends) / chain_weight(
                state.alpha, state.beta, others, *ends
            )
    return out


@pytest.mark.parametrize("belief", BELIEFS, ids=str)
def test_points_of_one_arm_know_the_means_of_the_others(belief):
    state = State([3, 1, 4, 2], [1, 2, 2, 3])
    theta, weight = belief.arm_points(state, 10)
    assert theta.shape == (4, 10, 4)
    assert weight.shape == (4, 10)
    for arm in range(4):
        expected = np.array([given_mean(belief, state, arm, x) for x in theta[arm, :, arm].tolist()])
        assert weight[arm, :, None] * theta[arm] == pytest.approx(weight[arm, :, None] * expected, abs=1e-8)


def test_the_gauss_rule_of_a_measure_is_that_of_its_density():
    x, mass = np.polynomial.legendre.leggauss(60)
    nodes, weights = np.empty(9), np.empty(9)
    assert gauss_rule(x, mass, nodes, weights) == pytest.approx(2)
    expected, shares = np.polynomial.legendre.leggauss(9)
    order = np.argsort(nodes)
    assert nodes[order] == pytest.approx(expected, abs=1e-13)
    assert weights[order] == pytest.approx(shares / 2, abs=1e-13)


def test_a_gauss_rule_of_few_nodes_is_these_nodes():
    nodes, weights = np.empty(5), np.empty(5)
    gauss_rule(np.array([0.2, 0.3, 0.7]), np.array([1.0, 0.0, 3.0]), nodes, weights)
    assert sorted(zip(nodes[weights > 1e-12], weights[weights > 1e-12], strict=True)) == [
        pytest.approx((0.2, 0.25)),
        pytest.approx((0.7, 0.75)),
    ]
    assert gauss_rule(np.array([0.2]), np.array([0.0]), nodes, weights) == 0
    assert gauss_rule(np.array([0.4]), np.array([2.0]), nodes, weights) == 2
    assert nodes @ weights == pytest.approx(0.4)


def test_the_rule_of_a_beta_density_has_its_moments():
    alpha, beta = np.array([1.0, 0.5, 0.3, 7.0]), np.array([1.0, 0.5, 0.7, 2.5])
    nodes, weights = beta_rule(alpha, beta, 6)
    exact = np.ones(4)
    for k in range(12):
        assert (weights * nodes**k).sum(axis=-1) == pytest.approx(exact, rel=1e-12)
        exact = exact * (alpha + k) / (alpha + beta + k)


def test_the_number_of_points_is_kept():
    for arms, count in itertools.product((1, 2, 3), (1, 2, 7, 100, 768, 10**6)):
        outer, inner = rule_sizes(count, arms)
        assert 1 <= outer * inner ** (arms - 1) <= max(count, 1)
    assert rule_sizes(POINTS, 3) == (12, 8)
    assert uniforms(100, 5).shape == (128, 5)


@pytest.mark.parametrize("count", [0, -1, 2.5, True])
def test_a_wrong_number_of_points_is_refused(count):
    state = State([1, 1], [1, 1])
    for belief in (Chain(), Independent()):
        with pytest.raises(InvalidInputError, match="points must be a whole number"):
            belief.points(state, count)
    with pytest.raises(InvalidInputError, match="points must be a whole number"):
        Plan(Problem([1, 1], horizon=5), points=count)


def test_too_many_points_are_refused():
    with pytest.raises(InvalidInputError, match="at most 1,048,576"):
        Plan(Problem([1, 1], horizon=5), points=10**9)


def test_plan_takes_a_number_of_points():
    problem = Problem([0.5, 1.0], "decreasing", 5)
    assert make_policy("plan:points=50", problem).points == 50


@pytest.mark.parametrize("belief", BELIEFS, ids=str)
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("arms", [2, 3])
def test_a_search_on_points_equals_lookahead_on_commit(belief, depth, arms):
    rng = np.random.default_rng(depth)
    problem = Problem(np.linspace(0.4, 1, arms), getattr(belief, "order", None), 40)
    state = State(*rng.integers(1, 12, (2, 4, arms)).astype(float))
    expected = lookahead(problem, state, 11, CommitValue(problem, belief), belief, depth)
    roots = Roots(problem, state, problem.rewards * belief.mean(state), 30.0)
    chosen = np.broadcast_to(np.arange(arms), (4, arms))
    found = PointsSearch(belief, POINTS).ahead(roots, chosen, singles(depth))
    assert found == pytest.approx(expected, rel=1e-7)


class Drawn:
    """A belief that can be drawn from and has means, and nothing else: a chain in disguise."""

    def __init__(self, order="decreasing"):
        self._exact = Chain(order)

    def mean(self, state, rng=None):
        return self._exact.mean(state)

    def draw(self, state, rng):
        return self._exact.draw(state, rng)


def test_draws_stand_in_where_a_belief_has_no_points():
    state = State([[3, 1, 4, 2], [1, 1, 1, 1]], [[1, 2, 2, 3], [1, 1, 1, 1]])
    theta, weight = joint_points(Drawn(), state, 500)
    assert np.array_equal(theta, joint_points(Drawn(), state, 500)[0])
    assert np.einsum("bm,bmi->bi", weight, theta) == pytest.approx(Chain().mean(state), abs=1e-12)
    assert (weight >= 0).all()
    some, same = joint_points(Drawn(), state, 500, np.array([[0, 2], [1, 3]]))
    assert np.array_equal(some[1], theta[1][:, [1, 3]])
    assert np.array_equal(same, weight)
    alone, shares = arm_points(Drawn(), state, 16, 500)
    assert alone.shape == (2, 1, 500, 4)
    assert np.array_equal(shares[:, 0], weight)


def test_a_belief_that_repeats_itself_has_the_same_draws_in_any_batch():
    class Repeating(Drawn):
        repeats = True

    state = State([[3, 1, 4, 2], [1, 1, 1, 1]], [[1, 2, 2, 3], [1, 1, 1, 1]])
    theta, weight = joint_points(Repeating(), state, 200)
    for k in range(2):
        alone = joint_points(Repeating(), State(state.alpha[k], state.beta[k]), 200)
        assert np.array_equal(theta[k], alone[0])
        assert np.array_equal(weight[k], alone[1])


def test_weights_that_no_points_can_meet_stay_weights():
    theta = np.array([[0.2], [0.4], [0.3]])
    assert match_means(theta, np.array([0.3])) == pytest.approx([1 / 3] * 3)
    weight = match_means(theta, np.array([0.9]))
    assert (weight >= 0).all()
    assert weight.sum() == pytest.approx(1)


@pytest.mark.parametrize(("arms", "step"), [(2, 30), (3, 90), (5, 20), (5, 180)])
def test_plan_needs_nothing_but_means_and_draws(arms, step):
    rng = np.random.default_rng(arms)
    problem = Problem(np.linspace(0.4, 1, arms), "decreasing", 200)
    state = State(*rng.integers(1, 30, (2, 3, arms)).astype(float))
    exact = Plan(problem, effort=3000).scores(state, step)
    drawn = Plan(problem, effort=3000, points=4000, belief=Drawn()).scores(state, step)
    assert drawn == pytest.approx(exact, rel=3e-3)
    assert np.array_equal(Plan(problem, 3000, 4000, Drawn()).scores(state, step), drawn)


def test_points_add_up_to_the_same_in_any_order():
    rng = np.random.default_rng(1)
    state = State([[9, 5, 3]], [[2, 4, 9]])
    theta, weight = Chain().points(state, 200)
    mixed = rng.permutation(weight.size)
    problem = Problem([0.4, 0.7, 1.0], "decreasing", 26)
    worth, chosen = problem.rewards * Chain().mean(state), np.arange(3)[None]
    in_order, shuffled = (
        PointsSearch(Chain(), 200).ahead(Roots(problem, state, worth, 26.0, points), chosen, singles(6))
        for points in ((theta, weight), (theta[:, mixed], weight[:, mixed]))
    )
    assert in_order == pytest.approx(shuffled, rel=1e-12)


class Mine:
    """A belief with means, draws and weights alone, which counts how often it is drawn from."""

    repeats = True

    def __init__(self):
        self.drawn = 0

    def mean(self, state, rng=None):
        return Chain().mean(state)

    def draw(self, state, rng):
        self.drawn += 1
        return Chain().draw(state, rng)

    def log_weight(self, state):
        return Chain().log_weight(state)


def test_a_belief_of_ones_own_is_drawn_from_once():
    problem, mine = Problem([0.4, 0.7, 1.0], "decreasing", 12), Mine()
    plan, exact = Plan(problem, belief=mine), Plan(problem)
    for counts in (([1, 1, 1], [1, 1, 1]), ([3, 2, 1], [1, 1, 2]), ([4, 2, 2], [1, 2, 3])):
        state, step = State(*counts), sum(map(sum, counts)) - 5
        assert plan.scores(state, step) == pytest.approx(exact.scores(state, step), rel=0.01)
    assert mine.drawn == 1
    together = State([[1, 1, 1], [3, 2, 1]], [[1, 1, 1], [1, 1, 2]])
    apart = [plan.scores(State(a, b), 4) for a, b in zip(together.alpha, together.beta, strict=True)]
    assert np.array_equal(plan.scores(together, 4), apart)


def test_a_lead_stands_where_it_is_clear_of_what_more_draws_changed():
    few = np.array([[10.0, 9.0], [10.0, 9.9], [10.0, 10.0]])
    finer = np.array([[10.1, 9.0], [10.0, 9.8], [10.0, 10.0]])
    assert stands(Segments.everyone(2), few, finer, np.full((3, 1), 10.0)).tolist() == [True, False, True]


def test_on_draws_a_search_adds_up_as_many_points_as_it_takes():
    draws = -np.sort(-np.random.default_rng(3).random((5000, 4)), axis=1)
    problem = Problem([0.5, 0.7, 0.85, 1.0], structure=samples(draws), horizon=4)
    optimum, plan = evaluate(problem, ["optimal", "plan"])
    assert plan.regret == pytest.approx(optimum.regret, rel=2e-3)


@pytest.mark.parametrize(
    ("structure", "each"),
    [(decreasing(), 4), (mixture([(0.5, decreasing()), (0.5, grid(2, 2))]), 1)],
    ids=["points of each arm", "joint points alone"],
)
def test_arms_on_offer_have_the_kind_of_points_that_all_arms_have(structure, each):
    problem = Problem([1.0] * 4, structure=structure, horizon=9)
    start = State.initial(problem)
    part = restricted(problem.structure, problem.belief, [0, 2, 3], start).belief()
    theta, weight = arm_points(part, State(start.alpha[:3], start.beta[:3]), 4, 16)
    assert theta.shape[-1] == 3
    assert theta.shape[:-1] == weight.shape
    assert (weight.shape[0] == 3) == (each > 1)
