"""Every kind of structure through everything: solve against brute force, decide, compare, evaluate."""

import json
from fractions import Fraction

import numpy as np
import pytest

import commands
import elsv
import paper_structure
from elsv import Bandit, InvalidInputError, Problem, State
from elsv.beliefs import abilities
from elsv.structure import (
    decreasing,
    free,
    grid,
    mixture,
    order,
    unimodal,
)
from structures import DRAWS, KINDS, SHARES

HALF = Fraction(1, 2)
REWARDS = (HALF, Fraction(3, 4), Fraction(1), Fraction(7, 8))
LIMITS = ((Fraction(1, 4), Fraction(3, 4)), (Fraction(0), Fraction(1)), (Fraction(0), HALF))
UNIFORM = ((1, 1),) * 4
FORK = [(0, 1), (0, 2)]


def known(arms, pairs=(), unimodal=False, limits=None, unit=None):
    return paper_structure.exact(arms, pairs, unimodal, limits, unit)


def eighths(row):
    return tuple(Fraction(k, 8) for k in row)


CHAIN3 = known(3, [(0, 1), (1, 2)])
RISING3 = known(3, [(1, 0), (2, 1)])
# Statements in fractions, and the pulls for which brute force is quick.
SOLVED = {
    "a fork": (known(3, FORK), 5),
    "a fork from below": (known(3, [(0, 2), (1, 2)]), 5),
    "a pair and a free arm": (known(3, [(2, 0)]), 5),
    "a tree": (known(4, [*FORK, (2, 3)]), 3),
    "an N": (known(4, [(0, 2), (1, 2), (1, 3)]), 3),
    "a grid": (known(4, paper_structure.grid_pairs(2, 2)), 4),
    "a peak": (known(3, unimodal=True), 5),
    "a peak of rewards": (known(3, (), True, None, REWARDS[:3]), 5),
    "a peak of four": (known(4, unimodal=True), 3),
    "a peak and an order": (known(3, [(1, 2)], True), 5),
    "bounds": (known(3, limits=LIMITS), 4),
    "a fork within bounds": (known(3, FORK, False, LIMITS), 4),
    "a path within bounds": (known(3, [(0, 1), (1, 2)], False, LIMITS), 4),
    "probably decreasing": (
        paper_structure.ExactMixture(((Fraction(3, 4), CHAIN3), (Fraction(1, 4), known(3))), UNIFORM[:3]),
        5,
    ),
    "one way or the other": (
        paper_structure.ExactMixture(((HALF, CHAIN3), (HALF, RISING3)), UNIFORM[:3]),
        5,
    ),
    "samples": (
        paper_structure.ExactDraws(tuple(map(eighths, DRAWS)), eighths(SHARES), UNIFORM[:3]),
        5,
    ),
}
# What draws are kept for, or curves stand for: solved for these draws exactly.
DRAWN = ("a gap", "a condition", "a condition and an order", "a fork, kept", "a demand curve")
ALL = (*SOLVED, *DRAWN)
POLICIES = ["plan", "elsv", "commit", "thompson", "greedy", "commit:depth=2"]


def problem(name, horizon=5):
    stated, arms = KINDS[name]
    return Problem([float(r) for r in REWARDS[:arms]], horizon=horizon, structure=stated)


@pytest.mark.parametrize("name", SOLVED)
def test_solve_is_the_brute_force(name):
    exact, horizon = SOLVED[name]
    given = problem(name, horizon)
    right = paper_structure.optimum(exact, UNIFORM[: given.arms], REWARDS[: given.arms], horizon)
    assert elsv.solve(given).value == pytest.approx(float(right), abs=1e-9)


def test_solve_from_other_priors_is_the_brute_force():
    prior = ((2, 1), (1, 3), (1, 2))
    for stated, exact in (
        (order([(1, 2), (1, 3)]), known(3, FORK)),
        (unimodal(), known(3, unimodal=True)),
        (
            mixture([(0.75, decreasing()), (0.25, free())]),
            paper_structure.ExactMixture(((Fraction(3, 4), CHAIN3), (Fraction(1, 4), known(3))), prior),
        ),
    ):
        right = paper_structure.optimum(exact, prior, REWARDS[:3], 4)
        given = Problem([0.5, 0.75, 1.0], horizon=4, prior=prior, structure=stated)
        assert elsv.solve(given).value == pytest.approx(float(right), abs=1e-9)


@pytest.mark.parametrize("name", ALL)
def test_evaluate_finds_plan_near_the_optimum(name):
    given = problem(name, 3 if problem(name).arms == 4 else 4)
    rows = elsv.evaluate(given, ["optimal", *POLICIES])
    value = {row.name: row.value for row in rows}
    assert value["optimal"] == pytest.approx(elsv.solve(given).value, abs=1e-9)
    assert max(value.values()) <= value["optimal"] + 1e-9
    assert value["plan"] >= 0.995 * value["optimal"]
    assert all(row.regret >= -1e-9 for row in rows)


@pytest.mark.parametrize("name", ALL)
def test_a_bandit_chooses_explains_itself_and_survives_a_restart(name, tmp_path):
    given = problem(name, 30)
    belief = given.belief
    for policy in ("plan", "thompson") if name in DRAWN else ("plan", "elsv", "commit", "thompson"):
        bandit = Bandit(given, policy, seed=3)
        for success in (True, False, True):
            bandit.observe(bandit.choose(), success)
        explanation = bandit.explain()
        mean = belief.mean(bandit.state)
        for i, arm in enumerate(explanation.arms):
            assert arm.mean == pytest.approx(mean[i], abs=1e-9)
            assert 0 <= arm.low <= arm.mean <= arm.high <= 1
        assert sum(arm.best for arm in explanation.arms) == pytest.approx(1, abs=1e-3)
        assert str(explanation)
        bandit.save(tmp_path / "bandit.json")
        again = Bandit.load(tmp_path / "bandit.json")
        assert again.problem == given
        assert again.problem.structure.describe() == given.structure.describe()
        assert [again.choose() for _ in range(2)] == [bandit.choose() for _ in range(2)]


@pytest.mark.parametrize("name", ALL)
def test_compare_runs_and_its_means_hold(name):
    policies = ["plan", "elsv", "thompson", "greedy"]
    # Draws that are kept are drawn anew in every state.
    kept = name in DRAWN and name != "a demand curve"
    given, instances = (problem(name, 2), 3) if kept else (problem(name, 6), 20)
    found = elsv.compare(given, policies, instances=instances, seed=1, jobs=1)
    again = elsv.compare(given, policies, instances=instances, seed=1, jobs=1)
    for policy in policies:
        assert np.isfinite(found[policy].mean).all()
        np.testing.assert_array_equal(found[policy].mean, again[policy].mean)
    drawn = given.belief.draw(State.initial(given, (300,)), np.random.default_rng(0))
    assert given.structure.holds(drawn).all()


@pytest.mark.parametrize("name", ALL)
def test_the_command_line_decides_and_solves(name, tmp_path):
    given = problem(name, 4)
    path = tmp_path / "problem.toml"
    given.save(path)
    state = State(np.arange(given.arms) + 1, np.arange(given.arms, 0, -1))
    words = " ".join(f"{a:g},{b:g}" for a, b in zip(state.alpha, state.beta, strict=True))
    decided = commands.elsv("decide", path, "--horizon", 40, "--state", words, "--json").stdout
    means = [arm["mean"] for arm in json.loads(decided)["arms"]]
    assert means == pytest.approx(given.belief.mean(state).tolist(), abs=1e-9)
    solved = commands.elsv("solve", path, "--json").stdout
    assert json.loads(solved)["value"] == pytest.approx(elsv.solve(given).value, abs=1e-12)


def test_what_is_refused_names_the_arms_and_exits_with_two(tmp_path):
    path = tmp_path / "problem.toml"
    path.write_text("rewards = [1, 1]\nhorizon = 5\n[structure]\norder = [[1, 2], [2, 1]]\n")
    done = commands.elsv("decide", path, code=2)
    assert "arm 1 >= arm 2 >= arm 1" in done.stderr
    assert "Traceback" not in done.stderr


def test_many_arms_plan_in_a_wide_order_without_weights():
    """Where only Gibbs reaches there is no W: decisions and simulations work, solving is refused."""
    given = Problem(np.linspace(0.6, 1, 6), horizon=20, structure=grid(2, 3).by("gibbs"))
    assert not abilities.weighs(given.belief)
    exact = Problem(np.linspace(0.6, 1, 6), horizon=20, structure=grid(2, 3))
    state = State([3, 2, 1, 2, 1, 1], [1, 2, 1, 1, 1, 2])
    drawn, right = Bandit(given, "plan", state=state).explain(), Bandit(exact, "plan", state=state).explain()
    assert [arm.mean for arm in drawn.arms] == pytest.approx([arm.mean for arm in right.arms], abs=0.03)
    assert drawn.arm == right.arm
    with pytest.raises(InvalidInputError, match="add log_weight"):
        elsv.solve(Problem([1.0, 0.9], horizon=3, structure=order([(1, 2)]).by("gibbs")))


def test_a_robust_mixture_gives_up_a_wrong_order():
    """Truth: the last arm is best, the order says that it is the worst."""
    means = [0.2, 0.4, 0.8]
    total = {}
    for name, stated in {
        "order": decreasing(),
        "mixture": mixture([(0.9, decreasing()), (0.1, free())]),
        "free": free(),
    }.items():
        given = Problem([1.0, 1.0, 1.0], horizon=60, structure=stated)
        total[name] = elsv.compare(given, ["greedy"], instances=100, seed=4, means=[means] * 100, jobs=1)
    regret = {name: float(found["greedy"].mean[-1]) for name, found in total.items()}
    assert regret["mixture"] < regret["order"]
