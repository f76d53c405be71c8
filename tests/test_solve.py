"""The Bayes optimum: published values, brute force with fractions, properties, and the file of actions."""

import json
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paper
import paper_beliefs
from elsv import CorruptFileError, InvalidInputError, Problem, State
from elsv._base import machine
from elsv.exact.passes import estimate
from elsv.exact.solve import largest_reward, solve
from elsv.lattice import workers
from elsv.lattice.numbering import Layer
from elsv.policies.optimal import Actions, OptimalPolicy

# Exact to 1e-9 as printed: 3 arms, uniform priors, backward induction by an independent program.
OPTIMAL = [
    ("decreasing", (0.8, 0.9, 1.0), 10, 6.0),
    ("decreasing", (0.8, 0.9, 1.0), 50, 30.0),
    ("decreasing", (0.4, 0.7, 1.0), 10, 3.6032376),
    ("decreasing", (0.4, 0.7, 1.0), 30, 11.0759495),
    ("decreasing", (0.4, 0.7, 1.0), 50, 18.7210138),
    (None, (1.0, 1.0, 1.0), 10, 6.4096429),
    (None, (1.0, 1.0, 1.0), 30, 20.6588552),
]
# Two independent uniform arms, reward 1. T = 60 is printed in the README of the Julia package BinaryBandit.
TWO_ARMS = [(10, 6.021785714), (20, 12.431264906), (60, 38.562343246635564)]


def ordered_mean(order):
    def mean(state, i):
        alpha, beta = [a for a, _ in state], [b for _, b in state]
        if order == "decreasing":
            return paper_beliefs.mean(alpha, beta)[i]
        return paper_beliefs.mean(alpha[::-1], beta[::-1])[::-1][i]

    return paper.independent_mean if order is None else mean


def brute_force(problem, policy=None):
    state = tuple((Fraction(a), Fraction(b)) for a, b in problem.prior.tolist())
    if problem.order is not None:
        state = tuple((int(a), int(b)) for a, b in state)
    rewards = tuple(Fraction(r) for r in problem.rewards.tolist())
    return paper.expected_reward(state, problem.horizon, rewards, ordered_mean(problem.order), policy)


@pytest.mark.parametrize(("order", "rewards", "horizon", "value"), OPTIMAL)
def test_published_values_of_three_arms(order, rewards, horizon, value):
    assert solve(Problem(rewards, order, horizon)).value == pytest.approx(value, abs=6e-8)


@pytest.mark.parametrize(("horizon", "value"), TWO_ARMS)
def test_published_values_of_two_arms(horizon, value):
    found = solve(Problem([1, 1], horizon=horizon))
    assert found.value == pytest.approx(value, abs=6e-10 if horizon < 60 else 1e-13)
    assert found.regret == pytest.approx(2 / 3 * horizon - found.value, abs=1e-11)


@pytest.mark.parametrize(
    ("order", "rewards", "prior", "horizon"),
    [
        (None, [1.0, 0.7], [[1, 1], [2, 1]], 5),
        (None, [1.0, 0.75, 0.5], [[0.5, 1.5], [2, 1], [1, 1]], 4),
        (None, [1.0, 1.0, 0.5, 2.0], None, 3),
        (None, [0.5], [[0.25, 3]], 4),
        ("decreasing", [0.4], None, 4),
        ("decreasing", [0.5, 0.75], [[2, 1], [1, 3]], 5),
        ("decreasing", [0.4, 0.7, 1.0], None, 4),
        ("increasing", [1.0, 0.75, 0.5], [[1, 2], [1, 1], [2, 1]], 4),
        ("decreasing", [0.25, 0.5, 0.75, 1.0], None, 3),
    ],
)
def test_the_optimum_equals_brute_force(order, rewards, prior, horizon):
    problem = Problem(rewards, order, horizon, prior=prior)
    assert solve(problem).value == pytest.approx(float(brute_force(problem)), abs=1e-12)


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.floats(0.1, 8), st.floats(0.1, 8), st.floats(0.1, 2)), min_size=1, max_size=3),
    st.integers(1, 12),
)
def test_increasing_is_decreasing_mirrored(arms, horizon):
    prior, rewards = [row[:2] for row in arms], [row[2] for row in arms]
    falling = solve(Problem(rewards, "decreasing", horizon, prior=prior))
    rising = solve(Problem(rewards[::-1], "increasing", horizon, prior=prior[::-1]))
    assert rising.value == pytest.approx(falling.value, rel=1e-12)
    np.testing.assert_allclose(rising.scores, falling.scores[::-1], rtol=1e-12)
    assert rising.regret == pytest.approx(falling.regret, abs=1e-9)
    assert falling.regret > -1e-9


def test_one_step_is_the_best_mean_and_one_arm_is_its_mean():
    problem = Problem([0.8, 0.9, 1.0], "decreasing", 1)
    found = solve(problem)
    np.testing.assert_allclose(found.scores, [0.6, 0.45, 0.25], rtol=1e-13)
    assert found.actions == (0,)
    alone = solve(Problem([2.0], horizon=7, prior=[[0.3, 0.9]]))
    assert alone.value == pytest.approx(7 * 2 * 0.25, rel=1e-13)
    assert alone.regret == pytest.approx(0, abs=1e-11)


def test_ties_of_the_first_step_are_all_named():
    assert solve(Problem([1, 1, 1], horizon=5)).actions == (0, 1, 2)


@pytest.mark.parametrize("order", [None, "decreasing"])
def test_threads_give_the_same_numbers(order):
    problem = Problem([0.4, 0.7, 1.0], order, 24)
    one, many = (solve(problem, keep=24, **k) for k in ({"jobs": 1}, {"workers": 5}))
    np.testing.assert_array_equal(one.scores, many.scores)
    assert one.policy.packed == many.policy.packed


def test_more_time_and_more_reward_are_worth_more():
    values = [solve(Problem([0.4, 0.7, 1.0], "decreasing", t)).value for t in (5, 6, 7)]
    assert values[0] < values[1] < values[2]
    assert solve(Problem([0.4, 0.7, 1.1], "decreasing", 7)).value >= values[2]


@pytest.mark.parametrize("rewards", [(1.0,), (1.0, 1.0), (0.4, 0.7, 1.0), (2.0, 0.5, 0.5)])
def test_what_one_who_knew_the_means_would_earn(rewards):
    expected = 3 * float(paper.expected_best_of_uniform(tuple(Fraction(r) for r in rewards)))
    assert largest_reward(Problem(rewards, horizon=3)) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("order", [None, "decreasing", "increasing"])
def test_the_expected_rewards_of_the_steps_add_up(order):
    found = solve(Problem([0.4, 0.7, 1.0], order, 12, prior=[[1, 1], [2, 1], [0.5, 0.5]]), keep=12)
    assert found.rewards.shape == (12,)
    assert found.rewards.sum() == pytest.approx(found.value, rel=1e-12)
    assert solve(Problem([1, 1], horizon=4), keep=3).rewards is None


def test_progress_counts_every_layer_in_order():
    seen = []
    solve(Problem([1, 1], horizon=6), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(k, 5) for k in range(1, 6)]


def test_a_solution_that_does_not_fit_is_refused_with_the_numbers():
    problem = Problem([1, 1, 1], "decreasing", 400)
    assert estimate(problem).bytes > 1e12
    with pytest.raises(
        InvalidInputError, match=r"states need .* GB; .* GB are available; use a shorter horizon"
    ):
        solve(problem)
    with pytest.raises(InvalidInputError, match="shorter horizon, or simulate"):
        solve(Problem([1, 1], horizon=60), memory=1000)


def test_available_memory_is_read_or_unknown(monkeypatch):
    assert machine.available_memory() > 0
    monkeypatch.setattr(machine.Path, "read_text", lambda *a, **k: "nothing")
    assert machine.available_memory() > 0
    monkeypatch.setattr(machine.os, "sysconf", lambda name: (_ for _ in ()).throw(OSError))
    assert machine.available_memory() is None


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: solve(Problem([1, 1], discount=0.9)), "need a horizon"),
        (lambda: solve(Problem([1, 1], horizon=5), keep=6), "keep must be a step from 1 to the horizon 5"),
        (lambda: solve(Problem([1, 1], horizon=5), workers=0), "jobs must be at least 1"),
    ],
)
def test_bad_input(call, says):
    with pytest.raises(InvalidInputError, match=says):
        call()


def test_a_failure_in_one_thread_ends_them_all():
    def stage(made):
        raise RuntimeError(f"layer {made}")

    with pytest.raises(RuntimeError, match="layer"):
        workers.Cascade(3, stage, lambda done, total: None).run(2)


def test_layers_follow_one_another_at_a_distance_of_two_groups():
    """No layer works on a group before the layer after it has finished the next one."""
    from elsv.lattice.numbering import Lattice

    lattice = Lattice(2, 6)
    done: dict[int, int] = {6: inf}

    def stage(made: int) -> tuple[Layer, object]:
        layer = lattice.layer(made)

        def work(begin: int, end: int) -> None:
            last = int(layer.pulls[end - 1, 0])
            assert done[made + 1] >= min(last + 2, made + 2)
            done[made] = last + 1

        return layer, work

    workers.Cascade(5, stage, lambda d, t: None).run(3)
    assert done[1] == 2


class TestFile:
    problem = Problem([0.4, 0.7, 1.0], "decreasing", 6)

    @pytest.fixture
    def saved(self, tmp_path):
        path = tmp_path / "new" / "optimal.bin"
        self.solution = solve(self.problem, save=path)
        return path

    def test_the_policy_earns_the_optimal_value(self, saved):
        policy = OptimalPolicy(self.problem, saved)
        rng = np.random.default_rng(0)

        def choose(state, t):
            a, b = np.array(state, dtype=float).T
            return int(policy(State(a, b), t, rng))

        assert float(brute_force(Problem([0.4, 0.7, 1.0], "decreasing", 6), choose)) == pytest.approx(
            self.solution.value, abs=1e-12
        )

    def test_batches_and_names(self, saved):
        renamed = Problem([0.4, 0.7, 1.0], "decreasing", 6, names=["a", "b", "c"])
        state = State(np.tile([1.0, 2, 1], (2, 3, 1)), np.tile([1.0, 1, 2], (2, 3, 1)))
        assert OptimalPolicy(renamed, saved)(state, 3).shape == (2, 3)

    def test_part_of_the_steps(self, tmp_path):
        path = tmp_path / "part"
        solve(self.problem, save=path, keep=2)
        policy = OptimalPolicy(self.problem, path)
        assert int(policy(State.initial(self.problem), 1)) == 1
        with pytest.raises(InvalidInputError, match="known for steps 1 to 2, got 3"):
            policy(State([2.0, 2, 1], [1.0, 1, 1]), 3)

    def test_a_state_of_another_step(self, saved):
        with pytest.raises(InvalidInputError, match="a state at step 2 must have 1 pulls"):
            OptimalPolicy(self.problem, saved)(State.initial(self.problem), 2)

    @pytest.mark.parametrize(
        "change", [lambda b: b[:-1], lambda b: b + b"x", lambda b: b[:90] + b"?" + b[91:]]
    )
    def test_damaged(self, saved, change):
        saved.write_bytes(change(saved.read_bytes()))
        with pytest.raises(CorruptFileError, match="checksum is wrong; solve the problem again"):
            OptimalPolicy(self.problem, saved)

    def test_foreign(self, saved):
        saved.write_text(json.dumps({"a": 1}))
        with pytest.raises(CorruptFileError, match="does not hold optimal arms"):
            OptimalPolicy(self.problem, saved)

    def test_missing(self, tmp_path):
        with pytest.raises(InvalidInputError, match="cannot read"):
            Actions.load(tmp_path / "none", self.problem)

    @pytest.mark.parametrize(
        ("other", "says"),
        [
            (Problem([0.4, 0.7, 1.0], "decreasing", 7), "its horizon is 6, not 7"),
            (Problem([0.4, 0.7, 1.0], None, 6), "its order is decreasing, not None"),
            (Problem([0.4, 0.8, 1.0], "decreasing", 6), "its rewards is"),
        ],
    )
    def test_of_another_problem(self, saved, other, says):
        with pytest.raises(InvalidInputError, match=says):
            OptimalPolicy(other, saved)
