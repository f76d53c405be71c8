"""`plan` where customers come from segments."""

from fractions import Fraction

import numpy as np
import pytest

import paper
from elsv import Problem, State, make_policy
from elsv import structure as known
from elsv.indices.base import Setting
from elsv.indices.finite_gittins import FiniteGittins
from elsv.indices.gittins import Gittins
from elsv.lattice.small import singles
from elsv.policies.plan import Plan
from elsv.search.points_search import PointsSearch, Roots
from paper_segments import commit, lookahead, optimum, stop_when_better
from test_segment_policies import GRID, GROUPS, REWARDS, SEEN, grid_mean, problem, state, who

KNOWN = (Fraction(7, 10), Fraction(3, 10))
SHARES = pytest.mark.parametrize("shares", [[0.7, 0.3], None])
STRUCTURES = pytest.mark.parametrize("structure", [None, {"grid": [2, 2]}])


def rows(counts=SEEN):
    one = state(counts)
    return State(one.alpha[None], one.beta[None])


def roots(given, left):
    return Roots(given, rows(), given.rewards * given.belief.mean(rows()), left)


@SHARES
@STRUCTURES
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_search_averages_over_who_comes(shares, structure, depth):
    given = problem(segment_shares=shares, structure=structure)
    plain = who(None if shares is None else KNOWN)
    mean = paper.independent_mean if structure is None else grid_mean
    left = 6
    exact = lookahead(
        plain, SEEN, depth, REWARDS, mean, lambda s: commit(plain, s, left - depth, REWARDS, mean)
    )
    search = PointsSearch(given.belief, 4096)
    found = search.ahead(roots(given, left), np.arange(4)[None], singles(depth))[0]
    assert found == pytest.approx([float(q) for q in exact], abs=5e-4)


@SHARES
@STRUCTURES
def test_one_arm_for_many_customers_of_its_segment(shares, structure):
    given = problem(segment_shares=shares, structure=structure)
    plain = who(None if shares is None else KNOWN)
    mean = paper.independent_mean if structure is None else grid_mean
    left, most = 12, 3
    exact = [float(stop_when_better(plain, SEEN, i, most, left, REWARDS, mean)) for i in range(4)]
    found = PointsSearch(given.belief, 4096).stops(roots(given, left), most)
    assert found[0] == pytest.approx(exact, abs=2e-3)


def test_no_more_customers_of_a_segment_than_may_come():
    given = problem(structure=known.grid(2, 2))
    search = PointsSearch(given.belief, 512)
    few, many = (search.stops(roots(given, 5.0), most) for most in (2, 30))
    assert np.isfinite(many).all()
    assert many[0, 2:] == pytest.approx(few[0, 2:])  # one more of 4 is expected


def test_a_discount_counts_between_customers():
    given = problem(horizon=None, discount=0.9, structure=known.grid(2, 2))
    search, root = PointsSearch(given.belief, 512), roots(given, 10.0)
    sure = root.all(root.best(root.worth))[:, given.segments.of_arm]
    for q in (search.stops(root, 6), search.ahead(root, np.arange(4)[None], singles(3))):
        best = [q[0, list(arms)].max() - sure[0, arms[0]] for arms in GROUPS]
        assert min(best) > -1e-9
        assert max(best) < 1.0


@SHARES
def test_the_last_customers_are_planned_exactly(shares):
    given = problem(segment_shares=shares, horizon=4, structure=known.grid(2, 2))
    plain = who(None if shares is None else KNOWN)
    q = make_policy("plan:points=6144", given).scores(State.initial(given), 1, None)
    coming = given.segments.chances(np.zeros(4))
    found = sum(coming[g] * q[list(arms)].max() for g, arms in enumerate(GROUPS))
    assert found == pytest.approx(float(optimum(plain, 4, REWARDS, GRID.mean)), abs=5e-4)


def test_plan_knows_how_many_of_a_segment_will_come():
    """A new arm is worth trying for a segment that will come often."""
    rewards, prior = [0.5, 1.0, 0.5, 1.0], [[50, 10], [1, 1.6], [50, 10], [1, 1.6]]
    given = Problem(rewards, horizon=12, prior=prior, segments=[[1, 2], [3, 4]], segment_shares=[0.95, 0.05])
    chosen = [int(make_policy("plan", given)(State.initial(given), 1, None, g)) for g in (0, 1)]
    assert chosen == [1, 2]


def test_segments_share_what_is_known_across_them():
    """Bad luck with new customers at a high price says something about returning ones under an order."""
    rewards = [0.6, 1.0, 0.6, 1.0]
    seen = State([1, 1, 1, 1], [1, 13, 1, 1])
    apart = Problem(rewards, horizon=60, segments=[[1, 2], [3, 4]])
    across = Problem(
        rewards,
        horizon=60,
        segments=[[1, 2], [3, 4]],
        structure=known.order([(1, 2), (3, 4), (1, 3), (2, 4)]),
    )
    assert make_policy("plan", apart)(seen, 13, None, 1) == 3
    assert make_policy("plan", across)(seen, 13, None, 1) == 2


def test_candidates_of_many_arms():
    given = Problem(
        rewards=[0.5, 0.6, 0.7, 0.8, 1.0] * 2,
        horizon=60,
        structure=known.grid(2, 5),
        segments=[range(1, 6), range(6, 11)],
    )
    rng = np.random.default_rng(1)
    wins, losses = rng.integers(0, 4, size=(2, 3, 10))
    q = Plan(given).scores(State(1 + wins, 1 + losses), 40, None)
    assert np.isfinite(q).all()
    many = Problem(rewards=[1.0, 0.8] * 9, horizon=50, segments=[[k, k + 1] for k in range(1, 18, 2)])
    assert np.isfinite(Plan(many, points=384, belief=many.belief).scores(State.initial(many), 1)).all()


def test_independent_arms_get_their_segments_index():
    given = problem(horizon=200)
    index = FiniteGittins()(
        state().alpha, state().beta, 200 - 71 + 1, Setting.of(given, alone=True)
    )  # 1 + 0.7 · 100
    assert Plan(given).scores(state(), 100, None)[:2] == pytest.approx((given.rewards * index)[:2])
    forever = problem(horizon=None, discount=0.9)
    gamma = 0.7 * 0.9 / (1 - 0.3 * 0.9)
    exact = Gittins(gamma)(state().alpha, state().beta, 1, Setting.of(forever, alone=True))
    assert Plan(forever).scores(state(), 9, None)[:2] == pytest.approx((forever.rewards * exact)[:2])


def test_segments_that_nothing_connects_are_planned_for_apart():
    rewards, groups, pairs = [0.5, 0.7, 0.8, 1.0], [[1, 2, 3, 4], [5, 6, 7, 8]], []
    for first, *_ in groups:
        pairs += [(first + k, first + k + 1) for k in range(3)]
    given = Problem(
        rewards=rewards * 2,
        horizon=40,
        prior=[(2, 3)] * 4 + [(1, 5)] * 4,
        structure=known.order(pairs),
        segments=groups,
        segment_shares=[0.7, 0.3],
    )
    wins, losses = np.random.default_rng(5).integers(0, 5, size=(2, 3, 8))
    seen = State(given.prior[:, 0] + wins, given.prior[:, 1] + losses)
    q = Plan(given, effort=500).scores(seen, 11, None)
    for own, prior, customers in ((slice(0, 4), (2, 3), 21), (slice(4, 8), (1, 5), 10)):  # 1 + 29 shares
        alone = Problem(rewards=rewards, order="decreasing", horizon=40, prior=[prior] * 4)
        part = State(seen.alpha[:, own], seen.beta[:, own])
        assert (q[:, own] == Plan(alone, effort=500).scores(part, 41 - customers, None)).all()
    joined = Problem(**given.to_dict() | {"structure": {"order": [*pairs, (1, 5)]}})
    assert Plan(joined)._alone is None


def test_segments_of_one_arm_leave_nothing_to_choose():
    given = Problem(rewards=[1.0, 0.5], horizon=9, segments=[[1], [2]], structure=known.order([(1, 2)]))
    assert [int(make_policy("plan", given)(State.initial(given), 1, None, g)) for g in (0, 1)] == [0, 1]
