from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import paper
from elsv._base import triangle
from elsv.beliefs import Independent
from elsv.choice import best_arm
from elsv.errors import InvalidInputError
from elsv.indices import INDEX_NAMES, FunctionIndex, Setting, make_index
from elsv.problem import Problem
from elsv.search import lookahead
from elsv.state import State
from elsv.values import SeparableValue
from elsv.values._value_kernels import extend


def rational_bonus(a, b, t):
    return Fraction(t + 1) / (2 * Fraction(a) + Fraction(b))


def rational_index(a, b, t):
    return a / (a + b) + (t + 1) / (2 * a + b)


def rational_free_bonus(a, b, t):
    return Fraction(1) / (2 * Fraction(a) + Fraction(b))


def rational_free_index(a, b, t):
    return a / (a + b) + 1 / (2 * a + b)


@pytest.mark.parametrize(
    ("bonus", "index"),
    [
        (rational_bonus, FunctionIndex(rational_index)),
        (rational_free_bonus, FunctionIndex(rational_free_index, uses_step=False)),
    ],
)
@pytest.mark.parametrize("prior", [(1, 1), (Fraction(1, 2), 3)])
def test_tables_are_equation_5_in_fractions(bonus, index, prior):
    problem = Problem(prior=[[float(x) for x in prior]], horizon=12)
    value = SeparableValue(problem, index)
    for step in (1, 2, 3, 4, 9, 10, 3, 12):  # forwards one by one, forwards by leaps, and back
        exact = paper.separable(bonus, prior, step)
        successes, pulls = triangle.states(step)
        expected = [
            float(exact(prior[0] + int(s), prior[1] + int(n - s)))
            for s, n in zip(successes, pulls, strict=True)
        ]
        np.testing.assert_allclose(value.table(step), expected, rtol=0, atol=1e-13)


def test_value_is_the_sum_over_arms_with_rewards_and_weight():
    prior = ((1, 1), (2, Fraction(1, 2)), (1, 1))
    problem = Problem(rewards=[0.5, 2, 1], prior=[[float(x) for x in row] for row in prior], horizon=9)
    value = SeparableValue(problem, FunctionIndex(rational_index), weight=0.4)
    states = [((2, 1), (2, Fraction(3, 2)), (1, 3)), ((1, 1), (5, Fraction(1, 2)), (1, 1))]
    exact = paper.separable_value(rational_bonus, prior, (Fraction(1, 2), 2, 1))
    batch = State([[float(a) for a, _ in s] for s in states], [[float(b) for _, b in s] for s in states])
    np.testing.assert_allclose(value(batch, 6), [0.4 * float(exact(s, 6)) for s in states], atol=1e-13)


def test_the_first_step_that_algorithm_3_leaves_out_is_worth_its_bonus():
    """Misprints 1 and 2: the pair is υ_{t+1}, b_t, and the induction goes down to no pulls."""
    problem = Problem(prior=[[1, 1]], horizon=3)
    value = SeparableValue(problem, FunctionIndex(rational_index))
    assert value.table(2).tolist() == pytest.approx([-float(rational_bonus(1, 1, 1)), 0, 0])


@st.composite
def situations(draw):
    arms = draw(st.integers(1, 5))
    real = st.floats(0.2, 8)
    prior = [[draw(real), draw(real)] for _ in range(arms)]
    rewards = [draw(st.floats(0.1, 3)) for _ in range(arms)]
    gained = [[draw(st.integers(0, 6)), draw(st.integers(0, 6))] for _ in range(arms)]
    step = 1 + sum(map(sum, gained))
    horizon = step + draw(st.integers(0, 5))
    problem = Problem(rewards=rewards, prior=prior, horizon=horizon)
    counts = np.array(prior) + np.array(gained)
    return problem, State(counts[:, 0], counts[:, 1]), step


@pytest.mark.parametrize("name", INDEX_NAMES)
@given(situation=situations())
def test_theorem_1_one_step_of_lookahead_is_the_index(name, situation):
    problem, state, step = situation
    index = make_index(name)
    z = problem.rewards * index(state.alpha, state.beta, step, Setting.of(problem))
    value = SeparableValue(problem, index)
    if not np.isfinite(z).all():
        return  # an arm that must be pulled first: tests/test_policies.py
    q = lookahead(problem, state, step, value, Independent(), depth=1)
    if value.table(step + 1).min() > -np.inf:
        np.testing.assert_allclose(q - value(state, step + 1), z, rtol=0, atol=1e-10)
    assert best_arm(q) == best_arm(z)


def test_offset_of_the_plots():
    problem = Problem(prior=[[1, 1], [2, 3]], horizon=8)
    value = SeparableValue(problem, FunctionIndex(rational_index))
    for arm, prior in ((0, (1, 1)), (1, (2, 3))):
        exact = float(paper.plot_offset(rational_bonus, prior, 3, 8))
        assert value.offset(3, 8, arm) == pytest.approx(exact, abs=1e-12)
    assert value.offset(8, 8) == 0
    with pytest.raises(InvalidInputError, match="between 1 and last"):
        value.offset(9, 8)


def test_states_outside_the_step_are_refused():
    problem = Problem(rewards=[1, 1], horizon=9)
    value = SeparableValue(problem, FunctionIndex(rational_index))
    with pytest.raises(InvalidInputError, match="at most 2 pulls"):
        value(State([4, 1], [1, 1]), 3)
    with pytest.raises(InvalidInputError, match="at least 1"):
        value.table(0)
    with pytest.raises(InvalidInputError, match="arm must lie"):
        value.table(3, arm=2)
    with pytest.raises(InvalidInputError, match="weight"):
        SeparableValue(problem, FunctionIndex(rational_index), weight=float("nan"))


def test_an_index_that_is_not_a_number_is_refused():
    value = SeparableValue(Problem(rewards=[1], horizon=9), FunctionIndex(lambda a, b, t: a * np.nan))
    with pytest.raises(InvalidInputError, match="NaN at alpha=1"):
        value.table(3)


def test_steps_in_a_row_do_not_depend_on_what_is_evaluated_in_advance():
    """The index is asked for several levels at once, but not past the horizon; tables are the same bits."""
    asked = []

    def index(a, b, t):
        if a.size:
            asked.append(round(float(np.max(a + b - 2.0))))
        return rational_free_index(a, b, t)

    problem = Problem(rewards=[1.0, 0.5], prior=[[1, 1], [1, 1]], horizon=75)
    followed = SeparableValue(problem, FunctionIndex(index, uses_step=False))
    tables = [followed.table(step) for step in range(1, 77)]
    assert asked == [7, 15, 31, 63, 74]
    table = np.zeros(triangle.size(76))
    for level, found in enumerate(tables[1:]):
        bonus = followed.bonus(level + 1, range(level, level + 1), 0)
        extend(table, bonus, 1.0, 1.0, level + 1)
        assert found.tobytes() == table[: len(found)].tobytes()


def test_a_leap_asks_the_index_for_new_levels_alone():
    """A campaign looks ahead and comes back: tables are built again, bonuses are not."""
    asked = []

    def index(a, b, t):
        asked.append(a.size)
        return rational_free_index(a, b, t)

    problem = Problem(rewards=[1.0], horizon=75)
    leaping = SeparableValue(problem, FunctionIndex(index, uses_step=False))
    kept = leaping.table(41)
    copy = kept.copy()
    for step in (20, 41, 61, 3, 61):
        plain = SeparableValue(problem, FunctionIndex(rational_free_index, uses_step=False))
        assert leaping.table(step).tobytes() == plain.table(step).tobytes()
    assert asked == [triangle.size(40), triangle.size(60) - triangle.size(40)]
    assert kept.tobytes() == copy.tobytes()  # a table that was given away stays as it is
