"""Outcomes that come late: the state to plan in, and simulation with delays, batches and losses."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from benchmarks import late
from hypothesis import given
from hypothesis import strategies as st

import paper_pending as paper
from elsv import InvalidInputError, Problem, State, compare, make_policy, solve
from elsv.policies.asking import FEW_OPEN, GROUPS, expected_state, planning_state, possible_outcomes
from elsv.simulation.instances import Delays, delays_of

PROBLEM = Problem(rewards=[0.4, 0.7, 1.0], order="decreasing", horizon=30)
FREE = Problem(rewards=[0.4, 0.7, 1.0], horizon=30)


@given(
    st.lists(
        st.tuples(st.integers(1, 50), st.integers(1, 50), st.integers(0, 100), st.integers(0, 16)),
        min_size=1,
        max_size=5,
    )
)
def test_expected_outcomes_as_fractions(arms):
    alpha, beta, waiting, sixteenths = zip(*arms, strict=True)
    mean = [Fraction(k, 16) for k in sixteenths]
    wins, losses = paper.expected_counts(alpha, beta, mean, waiting)
    found = expected_state(State(alpha, beta), np.array(mean, dtype=float), waiting)
    assert found.alpha.tolist() == [float(x) for x in wins]
    assert found.beta.tolist() == [float(x) for x in losses]


def test_the_means_are_those_of_the_policys_own_belief():
    state, waiting = State.initial(PROBLEM), [3, 0, 5]
    own = planning_state(PROBLEM, make_policy("thompson:order=false", PROBLEM), state, waiting)
    assert own.alpha.tolist() == [2.5, 1.0, 3.5]
    ordered = planning_state(PROBLEM, make_policy("plan", PROBLEM), state, waiting)
    np.testing.assert_allclose(ordered.alpha, [1 + 3 * 0.75, 1, 1 + 5 * 0.25], rtol=1e-9)
    np.testing.assert_allclose(ordered.alpha + ordered.beta, [5, 2, 7])


def test_a_policy_may_ignore_what_is_under_way():
    naive = make_policy("plan:effort=1000,pending=ignore", PROBLEM)
    assert naive.pending == "ignore"
    assert make_policy("plan:pending=expect", PROBLEM).pending == "expect"
    assert naive.effort == 1000
    state = State.initial(PROBLEM)
    assert planning_state(PROBLEM, naive, state, [1, 2, 3]) is state
    with pytest.raises(InvalidInputError, match="did you mean 'ignore'"):
        make_policy("thompson:pending=ignored", PROBLEM)


@pytest.mark.parametrize("waiting", [[1, 2], [1, 2, -1]])
def test_open_decisions_are_counts(waiting):
    with pytest.raises(InvalidInputError, match="open decisions must be 3 counts"):
        expected_state(State.initial(PROBLEM), np.full(3, 0.5), waiting)


@pytest.mark.parametrize(("delay", "batch"), [(0, 1), (1, 1), (7, 1), (0, 10), (3, 10), (25, 4), (50, 1)])
def test_what_is_known_at_each_step(delay, batch):
    seen, naive = {}, {}

    def spy(into):
        def policy(state, step, rng):
            into[step] = state
            return np.full(state.shape, step % 3)

        return policy

    class Naive:
        pending = "ignore"

        def __call__(self, state, step, rng):
            return spy(naive)(state, step, rng)

    compare(FREE, {"spy": spy(seen), "naive": Naive()}, instances=5, delay=delay, batch=batch, jobs=1)
    for step in range(1, 31):
        known = paper.known_before(step, delay, batch)
        pulled = [sum(t % 3 == i for t in known) for i in range(3)]
        made = [sum(t % 3 == i for t in range(1, step)) for i in range(3)]
        state = naive[step]
        np.testing.assert_array_equal(state.alpha + state.beta - 2, np.broadcast_to(pulled, (5, 3)))
        np.testing.assert_array_equal(state.alpha, np.rint(state.alpha))
        planned = seen[step]
        np.testing.assert_allclose(planned.alpha + planned.beta - 2, np.broadcast_to(made, (5, 3)))
        mean = state.alpha / (state.alpha + state.beta)
        np.testing.assert_allclose(planned.alpha, state.alpha + (np.array(made) - pulled) * mean)


@pytest.mark.parametrize("policy", ["plan", "thompson", "elsv", "finite-gittins", "ucb1", "greedy"])
def test_no_delay_is_as_before(policy, tmp_path):
    now = compare(PROBLEM, [policy], instances=40, seed=3, out=tmp_path / "now")
    late = compare(PROBLEM, [policy], instances=40, seed=3, delay=0, batch=1, lost=0, out=tmp_path / "late")
    assert now.totals.policies[0].mean.tolist() == late.totals.policies[0].mean.tolist()
    assert now.fingerprint == late.fingerprint
    later = compare(PROBLEM, [policy], instances=40, seed=3, delay=5, out=tmp_path / "later")
    assert later.fingerprint != now.fingerprint


@pytest.mark.parametrize("policy", ["plan", "elsv", "finite-gittins", "moss", "ucb1", "bayes-ucb", "commit"])
@pytest.mark.parametrize("problem", [PROBLEM, FREE], ids=["ordered", "free"])
def test_every_kind_of_policy_runs_with_delays(policy, problem):
    given_ = {"delay": "geometric:4.5", "batch": 3, "lost": 0.1}
    found = compare(problem, [policy, f"{policy}:pending=ignore"], instances=30, seed=1, **given_)
    again = compare(problem, [f"{policy}:pending=ignore"], instances=30, seed=1, jobs=1, **given_)
    assert np.isfinite(found.totals.policies[0].mean).all()
    assert found.totals.policies[1].mean.tolist() == again.totals.policies[0].mean.tolist()
    assert found.to_dict()["settings"]["outcomes"] == (
        "outcomes are known on average 4.5 customers later; customers come in batches of 3; "
        "10 % of outcomes are lost and count as failures"
    )


def test_geometric_delays_and_losses_have_their_frequencies():
    last = {}

    class Naive:
        pending = "ignore"

        def __call__(self, state, step, rng):
            last[step] = state
            return np.zeros(state.shape, dtype=int)

    problem = Problem(rewards=[1.0], horizon=400)
    compare(
        problem, {"x": Naive()}, instances=256, means=[[1.0]], delay="geometric:20", lost=0.25, seed=5, jobs=1
    )
    state = last[400]
    known, won = (state.alpha + state.beta - 2).sum(), (state.alpha - 1).sum()
    assert 399 - known / 256 == pytest.approx(20, abs=1.5)  # Little's law: open decisions = mean delay
    assert won / known == pytest.approx(0.75, abs=0.01)


def test_planning_on_expected_outcomes_loses_less_than_ignoring_them():
    problem = Problem(rewards=[0.4, 0.7, 1.0], order="decreasing", horizon=120)
    for delay in (20, 40):
        found = compare(
            problem, ["elsv", "elsv:pending=ignore", "thompson:pending=ignore"], instances=300, delay=delay
        )
        careful, naive, thompson = (row.mean[-1] for row in found.totals.policies)
        assert careful < 0.75 * naive
        assert careful < thompson


REWARDS = (Fraction(7, 10), Fraction(1))
TINY = Problem(rewards=[0.7, 1.0], horizon=7)


def asked(policy, problem=TINY):
    """The arm of a policy as a function of counts and open decisions."""

    def choose(counts, waiting, step):
        state = State(*zip(*counts, strict=True))
        open_decisions = [waiting.count(i) for i in range(problem.arms)]
        planned = planning_state(problem, policy, state, open_decisions)
        return int(policy(planned, step, np.random.default_rng(0)))

    return choose


def test_the_optimum_with_late_outcomes_by_plain_recursion():
    """Without a delay it is that of the lattice; it falls with the delay, down to learning nothing."""
    best = [paper.value_with_delay(REWARDS, 7, delay) for delay in range(8)]
    assert float(best[0]) == pytest.approx(solve(TINY).value, rel=1e-12)
    assert all(later < sooner for sooner, later in itertools.pairwise(best[:7]))
    assert best[6] == best[7] == 7 * Fraction(1, 2)
    assert float(best[2]) == pytest.approx(3.6230555555555557, rel=1e-12)


@pytest.mark.parametrize("delay", [0, 1, 2, 3, 5])
@pytest.mark.parametrize(
    ("rewards", "horizon"), [(REWARDS, 7), ((Fraction(6, 10), Fraction(8, 10), Fraction(1)), 6)]
)
def test_plan_is_near_the_optimum_with_late_outcomes(rewards, horizon, delay):
    problem = Problem(rewards=[float(r) for r in rewards], horizon=horizon)
    best, plan, ignores = (
        paper.value_with_delay(rewards, horizon, delay, choose)
        for choose in (
            None,
            asked(make_policy("plan", problem), problem),
            asked(make_policy("plan:pending=ignore", problem), problem),
        )
    )
    assert ignores <= best
    assert Fraction(99, 100) * best < plan <= best


ORDERED = Problem(rewards=[0.6, 0.8, 1.0], order="decreasing", horizon=9)
WAITING = [(), (1,), (0, 0, 0), (0, 1, 2), (2, 2, 0)]


def means_of(problem):
    """The means of the belief by counts of successes and failures."""
    return lambda counts: problem.belief.mean(
        State(problem.prior[:, 0] + [s for s, _ in counts], problem.prior[:, 1] + [f for _, f in counts])
    ).tolist()


@pytest.mark.parametrize("waiting", WAITING[1:])
def test_few_open_decisions_have_every_outcome_with_its_chance(waiting):
    seen, number = State([2.0, 1.0, 1.0], [1.0, 1.0, 3.0]), np.bincount(waiting, minlength=3)
    planned = planning_state(ORDERED, make_policy("plan", ORDERED), seen, number)
    won, chance = possible_outcomes(ORDERED.belief, ORDERED.rewards, planned, 768)
    plain = paper.outcome_chances(means_of(ORDERED), ((1, 0), (0, 0), (0, 2)), waiting)
    found = dict(zip(map(tuple, won.astype(int).tolist()), chance.tolist(), strict=True))
    assert {y: pytest.approx(p, abs=1e-9) for y, p in plain.items()} == found


@pytest.mark.parametrize("waiting", WAITING)
@pytest.mark.parametrize("problem", [ORDERED, Problem(rewards=[0.6, 0.8, 1.0], horizon=9)])
def test_plan_averages_its_scores_over_the_outcomes_under_way(problem, waiting):
    plan, step = make_policy("plan", problem), 4 + len(waiting)
    seen, counts = State([2.0, 1.0, 1.0], [1.0, 1.0, 3.0]), ((1, 0), (0, 0), (0, 2))
    number = np.bincount(waiting, minlength=3)
    found = plan.scores(planning_state(problem, plan, seen, number), step)
    plain = np.zeros(3)
    for y, chance in paper.outcome_chances(means_of(problem), counts, waiting).items():
        plain += chance * plan.scores(State(seen.alpha + y, seen.beta + number - y), step)
    np.testing.assert_allclose(found, plain, rtol=1e-6)


def test_open_decisions_are_parted_into_groups_with_the_same_mean():
    problem = Problem(rewards=[0.4, 0.7, 1.0, 1.2], order="decreasing", horizon=300)
    plan, seen = make_policy("plan", problem), State([9.0, 5.0, 2.0, 1.0], [4.0, 6.0, 3.0, 2.0])
    planned = planning_state(problem, plan, seen, [3, 6, 0, 3])
    won, chance = possible_outcomes(problem.belief, problem.rewards, planned, 192)
    assert len(chance) == GROUPS
    assert chance.sum() == pytest.approx(1)
    assert (won >= 0).all()
    assert (won <= [3, 6, 0, 3]).all()
    np.testing.assert_allclose(chance @ won, planned.alpha - seen.alpha, rtol=1e-4)


def test_many_open_decisions_are_expected():
    """With hundreds open an average over their outcomes would put off exploring (docs/planning.md).

    Looking far does not pay there: such a search has an eighth of the states.
    """
    problem, seen = PROBLEM.with_horizon(300), State([9.0, 5.0, 2.0], [4.0, 6.0, 3.0])
    plan, nearer = make_policy("plan", problem), make_policy("plan:effort=8192", problem)
    for waiting in ([3, FEW_OPEN, 0], [FEW_OPEN + 1, 0, 0]):
        planned = planning_state(problem, plan, seen, waiting)
        expected = State(planned.alpha, planned.beta)
        assert plan.scores(planned, 20).tolist() == nearer.scores(expected, 20).tolist()
        assert plan.scores(planned, 20).tolist() != plan.scores(expected, 20).tolist()


def test_a_batch_of_states_with_open_decisions_is_asked_state_by_state():
    plan, rng = make_policy("plan", PROBLEM), np.random.default_rng(1)
    seen = State(1.0 + rng.integers(0, 4, (6, 3)), 1.0 + rng.integers(0, 4, (6, 3)))
    waiting = rng.integers(0, 3, (6, 3))
    waiting[2] = 0
    planned = planning_state(PROBLEM, plan, seen, waiting)
    together = plan.scores(planned, 20)
    assert together.tolist() == plan.scores(planned, 20).tolist()
    for k in range(6):
        alone = planning_state(PROBLEM, plan, seen.part(k), waiting[k])
        np.testing.assert_allclose(plan.scores(alone, 20), together[k], rtol=1e-12)
    np.testing.assert_allclose(together[2], plan.scores(seen.part(2), 20), rtol=1e-12)


@pytest.mark.parametrize("delay", [1, 2, 4])
def test_plan_is_near_the_optimum_of_ordered_arms_with_late_outcomes(delay):
    """In the expected state it was 6.8 to 18 % above."""
    best, above, ignoring = late.gaps((0.6, 1.0), 12, delay)
    assert best > 0.4
    assert 0 <= above < 0.15 < 6 < ignoring


@pytest.mark.parametrize(("policy", "delay"), [("greedy", 2), ("plan", 3)])
def test_a_simulation_earns_what_the_recursion_says(policy, delay):
    exact = float(paper.value_with_delay(REWARDS, 7, delay, asked(make_policy(policy, TINY))))
    found = compare(TINY, [policy], instances=20_000, delay=delay, seed=2).totals.policies[0]
    assert found.earnings[-1] == pytest.approx(exact, abs=2 * found.earnings_ci95[-1])


@pytest.mark.parametrize(
    ("delay", "batch", "lost", "match"),
    [
        ("sixty", None, None, "whole number of customers, got 'sixty'"),
        ("uniform:5", None, None, "a number or geometric:MEAN"),
        ("geometric:x", None, None, "whole number of customers"),
        (-1, None, None, "from 0 to 10"),
        ("geometric:inf", None, None, "from 0 to 10"),
        (True, None, None, "a number or geometric"),
        (1, 0, None, "batch must be a whole number"),
        (1, None, 1.0, "lost must be a share"),
        (1, None, float("nan"), "lost must be a share"),
    ],
)
def test_delays_that_make_no_sense(delay, batch, lost, match):
    with pytest.raises(InvalidInputError, match=match):
        delays_of(delay, batch, lost)


def test_delays_from_text():
    assert delays_of() is None
    assert delays_of(0, 1, 0.0) is None
    assert delays_of("60") == delays_of(60) == Delays(60)
    assert delays_of("geometric:2.5", 10) == Delays(2.5, True, 10)
