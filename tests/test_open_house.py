"""A structure, a belief, a value and a policy that the package does not have, used everywhere."""

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import elsv
from commands import elsv as command
from elsv.beliefs import abilities
from elsv.beliefs.points import joint_points
from elsv.policies import BestScore, Elsv
from elsv.values import CommitValue

NODES, WEIGHTS = np.polynomial.legendre.leggauss(60)


@dataclass(frozen=True)
class BoxBelief:
    """Independent arms, each on an interval of its own, by plain numerical integration."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def _density(self, state):
        """Return the nodes ``[N, K]`` and the mass of every arm at them ``[..., N, K]``."""
        low, high = np.array(self.low)[:, None], np.array(self.high)[:, None]
        x = low + (high - low) * (NODES + 1) / 2
        alpha, beta = state.alpha[..., None], state.beta[..., None]
        return x, (high - low) / 2 * WEIGHTS * x ** (alpha - 1) * (1 - x) ** (beta - 1)

    def mean(self, state, rng=None):
        x, mass = self._density(state)
        return (x * mass).sum(axis=-1) / mass.sum(axis=-1)

    def draw(self, state, rng):
        x, mass = self._density(state)
        below = np.cumsum(mass, axis=-1)
        at = (below < rng.random((*state.alpha.shape, 1)) * below[..., -1:]).sum(axis=-1)
        return np.take_along_axis(np.broadcast_to(x, mass.shape), at[..., None], axis=-1)[..., 0]

    def log_weight(self, state):
        return np.log(self._density(state)[1].sum(axis=-1)).sum(axis=-1)


@dataclass(frozen=True)
class Box:
    """Each mean lies between two numbers."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def describe(self):
        return f"the means lie between {self.low} and {self.high}"

    def to_dict(self):
        return {"box": {"low": list(self.low), "high": list(self.high)}}

    def holds(self, means):
        return ((np.asarray(means) >= self.low) & (np.asarray(means) <= self.high)).all(axis=-1)

    def belief(self):
        return BoxBelief(self.low, self.high)


elsv.structure.register("box", lambda given: Box(tuple(given["low"]), tuple(given["high"])))


@dataclass(frozen=True)
class Doubled:
    """A value of one's own: twice what committing is worth."""

    problem: elsv.Problem

    def __call__(self, state, step):
        return 2 * CommitValue(self.problem)(state, step)


@dataclass(frozen=True, eq=False)
class Shy(BestScore):
    """A policy of one's own: lookahead on that value, less a hundredth for each pull made."""

    problem: elsv.Problem

    def scores(self, state, step, rng):
        q = elsv.lookahead(self.problem, state, step, Doubled(self.problem), self.problem.belief)
        return q - 0.01 * state.pulls(self.problem)


KNOWN = Box((0.3, 0.0), (1.0, 0.6))
PROBLEM = elsv.Problem(rewards=[0.6, 1.0], horizon=6, structure=KNOWN)
POLICIES = ["plan", "elsv", "thompson", "greedy", "commit:depth=2", "gittins", "fixed:arm=2"]


def fraction_weight(counts):
    """Return W by integrating polynomials."""

    def antiderivative(a, b, x):
        # of x^(a-1) (1-x)^(b-1), by the binomial theorem
        terms = range(b)
        from math import comb

        return sum(Fraction((-1) ** k * comb(b - 1, k), a + k) * x ** (a + k) for k in terms)

    total = Fraction(1)
    for (a, b), low, high in zip(counts, KNOWN.low, KNOWN.high, strict=True):
        total *= antiderivative(a, b, Fraction(str(high))) - antiderivative(a, b, Fraction(str(low)))
    return total


def optimum(problem):
    """Return the Bayes-optimal value by brute force over fractions."""
    rewards = [Fraction(str(r)) for r in problem.rewards]

    @cache
    def value(counts, left):
        if left == 0:
            return Fraction(0)
        here, found = fraction_weight(counts), []
        for i, reward in enumerate(rewards):
            a, b = counts[i]
            won, lost = ((*counts[:i], pair, *counts[i + 1 :]) for pair in ((a + 1, b), (a, b + 1)))
            p = fraction_weight(won) / here
            found.append(p * (reward + value(won, left - 1)) + (1 - p) * value(lost, left - 1))
        return max(found)

    return value(((1, 1), (1, 1)), problem.horizon)


def test_the_structure_is_the_problems():
    assert PROBLEM.structure.holds([[0.5, 0.5], [0.2, 0.5], [0.5, 0.7]]).tolist() == [True, False, False]
    assert elsv.belief_of(PROBLEM).mean(elsv.State.initial(PROBLEM)) == pytest.approx([0.65, 0.3])


def test_solve_is_the_brute_force():
    assert elsv.solve(PROBLEM).value == pytest.approx(float(optimum(PROBLEM)), abs=1e-12)


def test_solve_and_evaluate():
    rows = elsv.evaluate(PROBLEM, ["optimal", *POLICIES, Shy(PROBLEM)])
    values = {row.name: row.value for row in rows}
    assert values["optimal"] == pytest.approx(elsv.solve(PROBLEM).value, abs=1e-12)
    assert max(values.values()) == values["optimal"]
    assert values["plan"] == pytest.approx(values["optimal"], rel=1e-3)
    assert values["fixed:arm=2"] == pytest.approx(6 * 0.3)
    assert all(row.regret >= 0 for row in rows)


@pytest.mark.parametrize("policy", [*POLICIES, "shy"])
def test_a_bandit_chooses_explains_itself_and_survives_a_restart(policy, tmp_path):
    chosen = Shy(PROBLEM) if policy == "shy" else policy
    bandit = elsv.Bandit(PROBLEM, chosen, seed=3)
    for success in (True, False, True):
        bandit.observe(bandit.choose(), success)
    explanation = bandit.explain()
    belief = PROBLEM.belief
    for i, arm in enumerate(explanation.arms):
        assert arm.mean == pytest.approx(belief.mean(bandit.state)[i])
        assert KNOWN.low[i] <= arm.low < arm.mean < arm.high <= KNOWN.high[i]
    assert sum(arm.best for arm in explanation.arms) == pytest.approx(1)
    path = tmp_path / "bandit.json"
    bandit.save(path)
    again = elsv.Bandit.load(path, policy=chosen if policy == "shy" else None)
    assert again.problem == PROBLEM
    assert again.problem.structure == KNOWN
    assert [again.choose() for _ in range(3)] == [bandit.choose() for _ in range(3)]


def test_compare_agrees_with_evaluate():
    policies = {"plan": "plan", "elsv": "elsv", "thompson": "thompson", "shy": Shy(PROBLEM)}
    simulated = elsv.compare(PROBLEM, policies, instances=4000, seed=2)
    for name, row in zip(policies, elsv.evaluate(PROBLEM, list(policies.values())[:2]), strict=False):
        assert simulated[name].mean[-1] == pytest.approx(row.regret, abs=4 * simulated[name].ci95[-1])
    means = PROBLEM.belief.draw(elsv.State.initial(PROBLEM, (500,)), np.random.default_rng(0))
    assert PROBLEM.structure.holds(means).all()


def test_the_command_line_decides_solves_and_evaluates(tmp_path):
    path = tmp_path / "box.toml"
    PROBLEM.save(path)
    assert elsv.Problem.load(path) == PROBLEM
    decided = json.loads(command("decide", path, "--state", "2,1 1,2", "--json").stdout)
    state = elsv.State([2, 1], [1, 2])
    assert [arm["mean"] for arm in decided["arms"]] == pytest.approx(PROBLEM.belief.mean(state).tolist())
    solved = json.loads(command("solve", path, "--json").stdout)
    assert solved["value"] == pytest.approx(float(optimum(PROBLEM)), abs=1e-12)


def test_what_the_belief_does_not_say_comes_from_points():
    state = elsv.State([3, 2], [2, 5])
    belief = PROBLEM.belief
    theta, weight = joint_points(belief, state, 2048)
    assert theta.shape == (2048, 2)
    assert weight.sum() == pytest.approx(1)
    np.testing.assert_array_equal(theta, joint_points(belief, state, 2048)[0])
    np.testing.assert_allclose(weight @ theta, belief.mean(state), atol=0.02)
    low, middle, high = abilities.quantiles(belief, state, (0.05, 0.5, 0.95))
    assert (low < middle).all()
    assert (middle < high).all()
    assert np.isnan(abilities.error(belief, state))
    assert (abilities.variance(belief, state) > 0).all()


def test_a_belief_without_weights_can_plan_but_not_solve():
    @dataclass(frozen=True)
    class Drawn:
        inner: BoxBelief

        def mean(self, state, rng=None):
            return self.inner.mean(state)

        def draw(self, state, rng):
            return self.inner.draw(state, rng)

    @dataclass(frozen=True)
    class Vague(Box):
        def belief(self):
            return Drawn(super().belief())

    problem = elsv.Problem(rewards=[0.6, 1.0], horizon=6, structure=Vague(KNOWN.low, KNOWN.high))
    assert elsv.Bandit(problem).choose() in (0, 1)
    with pytest.raises(elsv.InvalidInputError, match="add log_weight"):
        elsv.solve(problem)


def test_a_structure_must_be_one():
    with pytest.raises(elsv.InvalidInputError, match="must be a statement"):
        elsv.Problem([1, 1], horizon=5, structure=3)
    with pytest.raises(elsv.InvalidInputError, match=r"unknown statement 'bix'.*did you mean 'box'"):
        elsv.Problem([1, 1], horizon=5, structure={"bix": 1})
    with pytest.raises(elsv.InvalidInputError, match="either order or structure"):
        elsv.Problem([1, 1], order="decreasing", horizon=5, structure=KNOWN)


def test_a_subclass_with_its_own_scores_is_evaluated_as_itself():
    class Stubborn(Elsv):
        def scores(self, state, step, rng):
            return np.where(np.arange(2) == 1, 1.0, 0.0) + np.zeros(state.alpha.shape)

    made = elsv.make_policy("elsv", PROBLEM)
    stubborn, fixed = elsv.evaluate(PROBLEM, [Stubborn(made.problem, made.value, made.belief), "fixed:arm=2"])
    assert stubborn.value == pytest.approx(fixed.value, abs=1e-12)


def test_a_statement_in_numpy_numbers_is_written_as_plain_ones(tmp_path):
    class Numbered(Box):
        def to_dict(self):
            return {"box": {"low": np.array(self.low), "high": tuple(map(np.float64, self.high))}}

    problem = elsv.Problem([1.0, 0.5], horizon=5, structure=Numbered((0.0, 0.1), (0.5, 1.0)))
    problem.save(tmp_path / "box.toml")
    assert elsv.Problem.load(tmp_path / "box.toml").structure == Box((0.0, 0.1), (0.5, 1.0))
