"""Every policy chooses among the arms of the segment that came."""

from fractions import Fraction

import numpy as np
import pytest

import paper
import paper_structure
from elsv import InvalidInputError, Problem, State, make_policy, policy_names
from elsv import lookahead as search
from elsv import structure as known
from elsv.beliefs.abilities import best_in_groups
from elsv.policies.asking import chances_of
from elsv.policies.base import ask
from elsv.values import BlockCommitValue, CommitValue
from paper_segments import Who, commit, lookahead

REWARDS = (Fraction(6, 10), Fraction(1), Fraction(6, 10), Fraction(1))
GROUPS = ((0, 1), (2, 3))
SEEN = ((2, 1), (1, 2), (1, 3), (2, 2))
GRID = paper_structure.exact(4, paper_structure.grid_pairs(2, 2))


def problem(**more):
    given = {
        "rewards": [0.6, 1.0, 0.6, 1.0],
        "horizon": 12,
        "segments": [[1, 2], [3, 4]],
        "segment_shares": [0.7, 0.3],
    }
    return Problem(**given | more)


def state(counts=SEEN):
    return State([a for a, _ in counts], [b for _, b in counts])


def who(shares=(Fraction(7, 10), Fraction(3, 10))):
    return Who(GROUPS, ((1, 1),) * 4, shares)


def grid_mean(s, i):
    return GRID.mean(s, i)


@pytest.mark.parametrize("shares", [[0.7, 0.3], None])
def test_chances_of_segments(shares):
    exact = who(None if shares is None else (Fraction(7, 10), Fraction(3, 10))).chances(SEEN)
    given = problem(segment_shares=shares)
    assert given.segments.chances_in(state(), given) == pytest.approx([float(q) for q in exact], abs=1e-15)


@pytest.mark.parametrize("shares", [[0.7, 0.3], None])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("structure", [None, {"grid": [2, 2]}])
def test_lookahead_averages_over_who_comes(shares, depth, structure):
    given = problem(segment_shares=shares, structure=structure)
    plain = who(None if shares is None else (Fraction(7, 10), Fraction(3, 10)))
    mean = paper.independent_mean if structure is None else grid_mean
    left, step = 12 - 8 - depth, 9
    exact = lookahead(plain, SEEN, depth, REWARDS, mean, lambda s: commit(plain, s, left, REWARDS, mean))
    value = CommitValue(given)
    found = search(given, state(), step, value, given.belief, depth)
    assert found == pytest.approx([float(q) for q in exact], abs=1e-9)
    assert make_policy(f"commit:depth={depth}", given).scores(state(), step, None) == pytest.approx(found)


def test_commit_value():
    exact = commit(who(), SEEN, 4, REWARDS, paper.independent_mean)
    assert CommitValue(problem())(state(), 9) == pytest.approx(float(exact), abs=1e-12)
    assert CommitValue(problem())(state(), 13) == 0


def test_a_block_is_never_worth_less_than_committing():
    given = problem(structure=known.grid(2, 2))
    for step in (2, 9, 12):
        assert BlockCommitValue(given)(state(), step) >= CommitValue(given)(state(), step) - 1e-12
    one = Problem(rewards=[0.6, 1.0], horizon=12)
    alone = Problem(rewards=[0.6, 1.0], horizon=12, segments=[[1, 2]])
    seen = State([2, 1], [1, 2])
    assert BlockCommitValue(alone)(seen, 3) == pytest.approx(BlockCommitValue(one)(seen, 3), abs=1e-12)


NAMES = (
    *("plan", "elsv", "elsv:depth=2", "elsv:index=ucb", "commit", "commit:depth=3", "block", "kg", "ids"),
    *("thompson", "top-two", "greedy", "gittins", "ucb", "bayes-ucb", "random", "fixed:arm=2+3"),
    *("isotonic-kl-ucb",),
)


@pytest.mark.parametrize("name", NAMES)
def test_only_arms_on_offer_are_chosen(name):
    given = problem(structure={"order": "decreasing"}, horizon=30)
    policy = make_policy(name, given)
    rng = np.random.default_rng(3)
    came = rng.integers(2, size=60)
    seen = State.initial(given, (60,))
    for step in range(1, 4):
        arms = ask(policy, given, seen, step, rng, came)
        assert (given.segments.of_arm[arms] == came).all()
        seen = seen.observe(arms, rng.random(60) < 0.4)
    one = State(seen.alpha[0], seen.beta[0])
    for g in range(2):
        chances = chances_of(policy, one, 4, rng, given, g)
        assert chances.sum() == pytest.approx(1)
        assert chances[~given.segments.masks[g]].tolist() == [0, 0]


def test_policies_for_a_peak_look_within_the_segment():
    given = Problem(
        rewards=[1.0] * 6, structure=known.unimodal(), horizon=40, segments=[[1, 2, 3], [4, 5, 6]]
    )
    rng = np.random.default_rng(0)
    for name in ("uts", "osub"):
        policy = make_policy(name, given)
        seen = State([5, 1, 1, 1, 1, 4], [1, 2, 2, 2, 3, 1])
        for g in range(2):
            assert given.segments.of_arm[ask(policy, given, seen, 12, rng, g)] == g
    chances = make_policy("uts", given).chances(seen, 12)
    assert chances[:3].sum() == pytest.approx(1)
    assert chances[3:].sum() == pytest.approx(1)


def test_one_segment_of_all_arms_changes_nothing():
    seen = state()
    for order in (None, "decreasing"):
        whole = Problem(rewards=[0.5, 0.7, 0.8, 1.0], order=order, horizon=30)
        alone = Problem(rewards=[0.5, 0.7, 0.8, 1.0], order=order, horizon=30, segments=[[1, 2, 3, 4]])
        for name in policy_names(whole):
            first, second = make_policy(name, whole), make_policy(name, alone)
            if hasattr(first, "scores"):
                one, other = (p.scores(seen, 7, np.random.default_rng(1)) for p in (first, second))
                assert other == pytest.approx(one, abs=1e-9), name
            one = chances_of(first, seen, 7, np.random.default_rng(1), whole)
            other = chances_of(second, seen, 7, np.random.default_rng(1), alone, 0)
            assert other == pytest.approx(one, abs=1e-6), name


@pytest.mark.parametrize(
    "structure",
    [None, {"order": "decreasing"}, {"grid": [2, 2]}, {"unimodal": "reward"}],
)
def test_best_in_groups_a_segment_by_draws(structure):
    given = problem(structure=structure)
    chance, largest = best_in_groups(given.belief, state(), given.rewards, GROUPS)
    many = State(*(np.tile(x, (60_000, 1)) for x in (state().alpha, state().beta)))
    worth = given.rewards * given.belief.draw(many, np.random.default_rng(5))
    for g, arms in enumerate(GROUPS):
        own = worth[:, list(arms)]
        share = np.bincount(own.argmax(axis=1), minlength=2) / len(own)
        assert chance[list(arms)] == pytest.approx(share, abs=0.008)
        assert largest[g] == pytest.approx(own.max(axis=1).mean(), abs=0.005)


def test_best_of_some_arms_alone_counts_the_others_for_what_is_known_of_them():
    given = Problem([1.0, 0.75, 1.0], order="decreasing", horizon=30)
    seen = State([3, 2, 1], [2, 2, 3])
    chance, largest = best_in_groups(given.belief, seen, given.rewards, [[1, 2]])
    both, most = best_in_groups(given.belief, seen, given.rewards, [[1, 2], [0]])
    assert np.array_equal(chance[1:], both[1:])
    assert chance[1:].sum() == pytest.approx(1)
    assert np.array_equal(largest, most[:1])


def test_a_segment_of_one_arm():
    given = problem(segments=[[1, 2, 3], [4]])
    chance, largest = best_in_groups(given.belief, state(), given.rewards, given.segments.groups)
    assert chance[3] == 1
    assert largest[1] == pytest.approx(0.5)
    assert make_policy("top-two", given)(state(), 9, np.random.default_rng(0), 1) == 3


def test_ucb_pulls_arms_never_pulled_when_their_segment_comes():
    given = problem()
    seen = state(((2, 1), (1, 2), (1, 1), (1, 1)))
    for name in ("ucb", "elsv:index=ucb", "elsv:index=ucb,depth=2"):
        policy = make_policy(name, given)
        assert policy(seen, 3, None, 1) == 2
        assert policy(seen, 3, None, 0) in (0, 1)


class Lowest:
    """Scores only: the fewest pulls first, and nonsense for an arm that is not on offer."""

    def scores(self, state, step, rng):
        return -(state.alpha + state.beta)

    def __call__(self, state, step, rng):
        return self.scores(state, step, rng).argmax(axis=-1)


def test_a_policy_with_scores_needs_nothing_else():
    given = problem()
    policy = make_policy(Lowest(), given)
    seen = state(((1, 1), (1, 2), (3, 3), (2, 3)))
    assert [int(ask(policy, given, seen, 7, None, g)) for g in (0, 1)] == [0, 3]


def test_a_function_may_ask_who_came():
    given = problem()
    policy = make_policy(lambda state, step, rng, segment: np.where(segment == 0, 1, 2), given)
    seen = State.initial(given, (3,))
    assert ask(policy, given, seen, 1, None, np.array([0, 1, 0])).tolist() == [1, 2, 1]
    stubborn = make_policy(lambda state, step, rng: 0, given)
    assert ask(stubborn, given, state(), 9, None, 0) == 0
    with pytest.raises(InvalidInputError, match="arms on offer to the segment that has come, got arm 1"):
        ask(stubborn, given, state(), 9, None, 1)


def test_who_came_must_be_said_and_only_then():
    rng = np.random.default_rng(0)
    for name in ("plan", "thompson", "ids", "random", "fixed"):
        with pytest.raises(InvalidInputError, match="say whose turn it is"):
            make_policy(name, problem())(state(), 9, rng)
        plain = Problem(rewards=[1, 1, 1, 1], horizon=12)
        with pytest.raises(InvalidInputError, match="has no segments"):
            make_policy(name, plain)(state(), 9, rng, 0)
    with pytest.raises(InvalidInputError, match="numbers from 0 to 1, got 2"):
        make_policy("greedy", problem())(state(), 9, rng, 2)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fixed:arm=1", "one arm for each segment .* such as fixed:arm=1\\+3, got 1"),
        ("fixed:arm=1+2", "one arm for each segment"),
        ("fixed:arm=1+9", "arm must lie from 1 to 4, got 9"),
        ("fixed:arm=a", "numbers joined by"),
    ],
)
def test_fixed_needs_an_arm_for_each_segment(name, message):
    with pytest.raises(InvalidInputError, match=message):
        make_policy(name, problem())


def test_fixed_takes_its_arms_in_any_order():
    policy = make_policy("fixed:arm=4+1", problem())
    assert [int(policy(state(), 9, None, g)) for g in (0, 1)] == [0, 3]
    assert [int(make_policy("fixed", problem())(state(), 9, None, g)) for g in (0, 1)] == [0, 2]
