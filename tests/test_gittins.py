from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elsv import Problem, State
from elsv._base import cache, triangle
from elsv.errors import InvalidInputError
from elsv.indices import _gittins_solver, _gittins_tables, finite_gittins
from elsv.indices.base import Setting
from elsv.indices.finite_gittins import FiniteGittins, finite_gittins_index
from elsv.indices.gittins import Gittins, gittins_index, gittins_table
from elsv.policies.library import IndexPolicy
from paper_gittins import exact_index, index_by_bisection, infinite_index


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ELSV_CACHE_DIR", str(tmp_path))
    cache.memory.clear()
    _gittins_solver.one_state.cache_clear()


def setting(prior=((1.0, 1.0),), horizon=None, discount=None):
    table = np.array(prior, dtype=float)
    return Setting(table[:, 0], table[:, 1], len(table), horizon, discount)


# alpha, beta, discount, value, half a unit of the last digit printed or the source's own tolerance
PUBLISHED = [
    # test values of GittinsIndices.jl
    (1, 1, 0.9, 0.7029, 5e-5),
    (2, 1, 0.9, 0.8001, 5e-5),
    (3, 1, 0.9, 0.8452, 5e-5),
    (1, 2, 0.9, 0.5001, 5e-5),
    (2, 2, 0.9, 0.6346, 5e-5),
    (1, 3, 0.9, 0.3796, 5e-5),
    # Christian & Griffiths, Algorithms to Live By
    (3, 3, 0.9, 0.6010, 5e-4),
    (10, 2, 0.9, 0.8695, 5e-5),
    (1, 1, 0.99, 0.8699, 5e-5),
    # readers' notes on the same book
    (10, 3, 0.9, 0.8103, 5e-5),
    (10, 4, 0.9, 0.7573, 5e-5),
    (10, 5, 0.9, 0.7101, 5e-5),
    (10, 6, 0.9, 0.6677, 5e-5),
    # often quoted
    (1, 1, 0.95, 0.7614, 5e-5),
    # R package gittins: its tests (tolerance 1e-4) and snapshots (tolerance 5e-4)
    (3, 2, 0.8, 0.67143994, 1e-4),
    (2, 1, 0.5, 0.70600586, 5e-4),
    (2, 2, 0.5, 0.53586272, 5e-4),
    (3, 1, 0.5, 0.77735112, 5e-4),
]


@pytest.mark.parametrize(("alpha", "beta", "discount", "value", "error"), PUBLISHED)
def test_published_values(alpha, beta, discount, value, error):
    assert abs(float(gittins_index(alpha, beta, discount, 1e-8)) - value) <= error


# the last one is from the table of the paper's authors, grid step 1e-5
@pytest.mark.parametrize(
    ("pulls", "value", "error"),
    [(2, 5 / 9, 1e-9), (3, 13 / 22, 1e-9), (10, 0.698074, 5e-7), (100, 0.86846, 1e-5)],
)
def test_published_finite_values(pulls, value, error):
    assert abs(float(finite_gittins_index(1, 1, pulls, tolerance=1e-10)) - value) <= error


@pytest.mark.parametrize("prior", [(1, 1), (2, 1), (Fraction(1, 2), Fraction(3, 2))])
@pytest.mark.parametrize("discount", [Fraction(1), Fraction(9, 10)])
def test_finite_index_against_exact_fractions(prior, discount):
    for pulls in range(1, 8):
        exact = exact_index(Fraction(prior[0]), Fraction(prior[1]), pulls, discount)
        found = finite_gittins_index(float(prior[0]), float(prior[1]), pulls, float(discount), 1e-12)
        assert abs(float(found) - float(exact)) <= 2e-12
    assert exact_index(Fraction(1), Fraction(1), 2) == Fraction(5, 9)
    assert exact_index(Fraction(1), Fraction(1), 3) == Fraction(13, 22)


REAL_STATES = [
    (1.0, 1.0, 0.3),
    (0.001, 0.001, 0.5),
    (0.3, 0.002, 0.85),
    (7.5, 0.25, 0.7),
    (0.2, 31.0, 0.9),
    (48.3, 61.9, 0.95),
    (400.0, 100.5, 0.97),
    (1e6, 2e5, 0.9),
    (1.0, 1.0, 0.99),
    (30.0, 5.5, 0.99),
]


@pytest.mark.parametrize(("alpha", "beta", "discount"), REAL_STATES)
def test_infinite_horizon_against_plain_induction(alpha, beta, discount):
    plain = infinite_index(alpha, beta, discount, 1e-8 if discount == 0.99 else 1e-10)
    for tolerance in (1e-2, 1e-4, 1e-6):
        assert abs(float(gittins_index(alpha, beta, discount, tolerance)) - plain) <= tolerance
    assert abs(float(gittins_index(alpha, beta, discount, 1e-9)) - plain) <= 2e-8


@given(
    st.floats(-3, 3),
    st.floats(-3, 3),
    st.floats(0.05, 1.0),
    st.integers(1, 120),
    st.sampled_from([1e-3, 1e-6, 1e-9]),
)
@settings(max_examples=40, deadline=None)
def test_finite_horizon_against_plain_induction(log_alpha, log_beta, discount, pulls, tolerance):
    alpha, beta = 10**log_alpha, 10**log_beta
    plain = index_by_bisection(alpha, beta, discount, pulls)
    assert abs(float(finite_gittins_index(alpha, beta, pulls, discount, tolerance)) - plain) <= tolerance


@pytest.mark.parametrize("discount", [0.2, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("state", [(1.0, 1.0), (0.4, 0.01), (60.0, 40.0), (3.0, 900.0), (2000.0, 1.0)])
def test_run_out_and_band_take_little_of_the_tolerance(discount, state):
    """With the root found to 1e-13, what is left is the error of where the sweeps end."""
    from elsv.indices._gittins_kernels import solve_state

    def root(tolerance, longer=0):
        source = _gittins_solver.Source(*state, discount, tolerance)
        return sum(solve_state(1e-13, _gittins_solver.ground(source, 1 + longer, None))) / 2

    far = root(1e-12, longer=int(10 / (1 - discount)))
    for tolerance in (1e-2, 1e-4, 1e-6, 1e-9):
        assert abs(root(tolerance) - far) <= 0.1 * tolerance


PRIORS = st.tuples(st.floats(-3, 3), st.floats(-3, 3)).map(lambda p: (10 ** p[0], 10 ** p[1]))


@given(PRIORS, st.integers(1, 40), st.floats(0.05, 0.98), st.floats(-8, -1), st.booleans())
@example((0.0137, 0.001), 27, 0.9775, -1.14, False)  # states that no grid point is next to
@settings(max_examples=40, deadline=None)
def test_tables_hold_what_single_states_give(prior, levels, discount, log_tolerance, finite):
    tolerance = 10**log_tolerance
    horizon = levels + 5 if finite else None
    source = _gittins_solver.Source(*prior, discount, tolerance)
    table = _gittins_solver.solve_levels(source, 0, levels, horizon)
    wins, pulls = triangle.states(levels)
    for i in {0, len(table) // 3, len(table) // 2, len(table) - levels, len(table) - 1}:
        left = None if horizon is None else horizon - int(pulls[i])
        alpha, beta = prior[0] + wins[i], prior[1] + pulls[i] - wins[i]
        exact = _gittins_solver.solve_state(alpha, beta, discount, max(1e-12, tolerance / 1e3), left)
        assert abs(table[i] - exact) <= tolerance


def test_a_table_in_parts_is_the_table(monkeypatch):
    source = _gittins_solver.Source(1.0, 2.0, 0.9, 1e-7)
    whole = _gittins_solver.solve_levels(source, 0, 40)
    later = _gittins_solver.solve_levels(source, 25, 40)
    monkeypatch.setattr(_gittins_solver, "_STATES_AT_ONCE", 100)
    parts = _gittins_solver.solve_levels(source, 0, 40)
    np.testing.assert_allclose(parts, whole, atol=2e-7)
    np.testing.assert_allclose(later, whole[triangle.size(25) :], atol=2e-7)


def test_tolerances_agree_and_the_table_is_monotone():
    levels = 120
    fine = gittins_table(1, 1, levels, 0.99, 1e-9)
    wins, pulls = triangle.states(levels)
    for tolerance in (1e-2, 1e-4, 1e-6):
        assert np.abs(gittins_table(1, 1, levels, 0.99, tolerance) - fine).max() <= tolerance
    mean = (1 + wins) / (2 + pulls)
    assert (fine >= mean).all()
    inner = pulls < levels - 1
    after = triangle.number(wins[inner], pulls[inner] + 1)
    assert (fine[after] < fine[inner]).all()  # a failure
    assert (fine[after + 1] > fine[inner]).all()  # a success
    rows = [triangle.size(n) + n // 2 for n in range(0, levels, 2)]
    assert (np.diff((fine - mean)[rows]) < 0).all()  # the bonus dies out


def test_index_tends_to_the_mean_and_grows_with_the_discount():
    assert float(gittins_index(5e5, 5e5, 0.99)) == pytest.approx(0.5, abs=1e-5)
    by_discount = gittins_index(2, 3, 0.5), gittins_index(2, 3, 0.9), gittins_index(2, 3, 0.999)
    assert by_discount[0] < by_discount[1] < by_discount[2]


def test_finite_index_grows_with_the_pulls_left_to_the_infinite_one():
    found = finite_gittins_index(2.0, 3.5, np.arange(1, 200), 0.9, 1e-9)
    assert found[0] == pytest.approx(2 / 5.5, abs=1e-9)
    assert (np.diff(found) > -2e-9).all()
    assert found[-1] == pytest.approx(float(gittins_index(2.0, 3.5, 0.9, 1e-9)), abs=3e-9)


def test_extreme_counts_and_discounts():
    counts = np.array([1e-3, 1.0, 1e6])
    for discount in (0.001, 0.5, 0.9999):
        found = gittins_index(counts[:, None], counts, discount, 1e-4)
        mean = counts[:, None] / (counts[:, None] + counts)
        assert ((found >= mean - 1e-4) & (found <= 1)).all()
    assert float(gittins_index(1, 1, 0.99999, 1e-4)) == pytest.approx(0.9953239, abs=1e-4)
    assert float(gittins_index(1e-12, 1e13, 0.9)) == pytest.approx(0.0, abs=1e-6)
    assert float(gittins_index(1e13, 1e-12, 0.9)) == pytest.approx(1.0, abs=1e-6)


def test_shapes():
    assert gittins_index(1, 1).shape == ()
    assert gittins_index([[1, 2, 3]], [[1], [2]]).shape == (2, 3)
    assert gittins_index([], []).shape == (0,)
    assert finite_gittins_index([1, 2], 1, [[3], [4], [5]]).shape == (3, 2)
    assert finite_gittins_index([], [], 3).shape == (0,)
    assert gittins_table(1, 1, 4, 0.9).shape == (10,)


def test_a_few_states_do_not_build_a_table(monkeypatch):
    monkeypatch.setattr(_gittins_tables, "solve_levels", lambda *_: pytest.fail("built a table"))
    gittins_index(1, 1, 0.99)
    gittins_index([1, 300], 1, 0.99)
    arms = setting(((1, 1), (2, 1)), discount=0.99)
    found = Gittins()(np.array([4000.0, 2.0]), np.array([1.0, 3000.0]), 1, arms)
    assert found[0] > 4000 / 4001


def test_a_states_index_does_not_depend_on_what_was_asked_before():
    arm = setting(((1, 1),), discount=0.9).arm(0)
    wins, pulls = triangle.states(40)
    few = [float(Gittins()(np.array(a), np.array(b), 1, arm)) for a, b in ((1.0, 1.0), (5.0, 3.0))]
    grown = Gittins()(1.0 + wins, 1.0 + pulls - wins, 1, arm)
    cache.memory.clear()
    Gittins().prepare(arm, 100)
    np.testing.assert_array_equal(Gittins()(1.0 + wins, 1.0 + pulls - wins, 1, arm), grown)
    assert few == [grown[0], grown[triangle.number(4, 6)]]


def test_many_states_build_one_table(monkeypatch):
    monkeypatch.setattr(_gittins_solver, "one_state", lambda *_: pytest.fail("solved a single state"))
    wins, pulls = triangle.states(50)
    found = gittins_index(0.5 + wins, 0.75 + pulls - wins, 0.9)
    np.testing.assert_array_equal(found, gittins_table(0.5, 0.75, 50, 0.9))


def test_index_looks_up_prepared_tables(monkeypatch):
    arms = setting(((1, 1), (0.5, 0.25), (1, 1)), horizon=30)
    index = Gittins(tolerance=1e-5)
    assert not index.uses_step
    index.prepare(arms, 20)
    monkeypatch.setattr(_gittins_tables, "solve_levels", lambda *_: pytest.fail("computed a table again"))
    monkeypatch.setattr(_gittins_solver, "one_state", lambda *_: pytest.fail("solved a single state"))
    index.prepare(arms, 15)
    alpha, beta = (
        np.array([[3.0, 4.5, 1.0], [21.0, 0.5, 5.0]]),
        np.array([[2.0, 0.25, 1.0], [1.0, 9.25, 9.0]]),
    )
    found = index(alpha, beta, 7, arms)
    exact = [
        _gittins_solver.solve_state(a, b, 0.99, 1e-9) for a, b in zip(alpha.flat, beta.flat, strict=True)
    ]
    np.testing.assert_allclose(found.reshape(-1), exact, atol=1e-5)


def test_index_takes_its_own_discount_then_the_problems_then_the_default():
    one = np.array([1.0])
    assert Gittins(0.9)(one, one, 1, setting(discount=0.5))[0] == pytest.approx(0.7029, abs=5e-5)
    assert Gittins()(one, one, 1, setting(discount=0.9))[0] == pytest.approx(0.7029, abs=5e-5)
    assert Gittins()(one, one, 1, setting(horizon=9))[0] == pytest.approx(0.8699, abs=5e-5)


@pytest.mark.parametrize("index", [Gittins(0.9), FiniteGittins()])
def test_one_instance_is_solved_state_by_state_within_the_tolerance(index, monkeypatch):
    problem = Problem([1.0, 0.9], horizon=90, prior=[[1, 1], [2, 3]])
    alpha, beta = np.array([5.0, 9.0]), np.array([3.0, 11.0])
    tabled = index(alpha, beta, 24, Setting.of(problem))
    monkeypatch.setattr(_gittins_tables, "solve_levels", lambda *_: pytest.fail("built a table"))
    np.testing.assert_allclose(
        index(alpha, beta, 24, Setting.of(problem, alone=True)), tabled, rtol=0, atol=2e-6
    )
    policy = IndexPolicy(problem, index)
    assert policy.scores(State(alpha, beta), 24, None) == pytest.approx(problem.rewards * tabled, abs=2e-6)


def test_a_table_that_takes_a_tenth_of_a_second_is_kept_on_disk(tmp_path, monkeypatch):
    """A service that starts again does not solve blocks of 64 levels and more again."""
    monkeypatch.setenv("ELSV_CACHE_DIR", str(tmp_path))
    arm = setting(discount=0.9).arm(0)
    Gittins(tolerance=1e-3).prepare(arm, 127)
    cache.memory.clear()
    monkeypatch.setattr(_gittins_solver.LevelSolver, "finish", lambda solver: pytest.fail(f"{solver.first}"))
    source = _gittins_solver.Source(1.0, 1.0, 0.9, 1e-3)
    assert len(_gittins_tables.block(source, 64, 128)) == triangle.size(128) - triangle.size(64)


def test_states_off_the_priors_lattice_are_solved():
    found = Gittins(0.9)(np.array([1.5, 0.5]), np.array([1.0, 1.0]), 1, setting(((1, 1), (1, 1))))
    np.testing.assert_allclose(found, gittins_index([1.5, 0.5], 1.0, 0.9), atol=2e-6)


@pytest.mark.parametrize("memory", ["0", "100MB"])
def test_finite_index_over_a_run(monkeypatch, memory):
    monkeypatch.setenv("ELSV_CACHE_MEMORY", memory)
    horizon, index = 12, FiniteGittins(tolerance=1e-8)
    arm = setting(((1.5, 1.0),), horizon=horizon).arm(0)
    assert index.uses_step
    index.prepare(arm, horizon)
    for _ in range(2):
        for step in range(1, horizon + 1):
            wins, pulls = triangle.states(step)
            alpha, beta = 1.5 + wins, 1.0 + pulls - wins
            found = index(alpha, beta, step, arm)
            exact = finite_gittins_index(alpha, beta, horizon - step + 1, 1.0, 1e-10)
            np.testing.assert_allclose(found, exact, atol=1.1e-8)
    assert len(cache.memory) == (horizon if memory != "0" else 1)


def test_finite_index_off_the_lattice_and_for_several_arms():
    arms = setting(((1, 1), (2, 1)), horizon=10)
    alpha, beta = np.array([[1.0, 4.0], [1.5, 2.0]]), np.array([[2.0, 1.0], [1.0, 1.5]])
    found = FiniteGittins(0.9)(alpha, beta, 3, arms)
    np.testing.assert_allclose(found, finite_gittins_index(alpha, beta, 8, 0.9), atol=2e-6)


FAR = np.array([0, 1, 5, 15, 16, 17, 30, 63, 64, 65, 130, 300, 410, 411, 412, 500, 590])  # pulls of 603


def far_states(prior, pulls, seed=4):
    """Return alpha and beta of a few states with each number of pulls."""
    rng = np.random.default_rng(seed)
    pulls = np.repeat(pulls, 4)
    wins = rng.binomial(pulls, rng.random(len(pulls)))
    return prior[0] + wins, prior[1] + pulls - wins


@pytest.mark.parametrize(("prior", "discount"), [((1.0, 1.0), 1.0), ((0.5, 2.5), 0.999)])
def test_a_long_horizons_index_is_within_its_tolerance(prior, discount):
    horizon = 603
    arm, index = setting((prior,), horizon=horizon).arm(0), FiniteGittins(discount)
    for pulls in FAR:  # every state with its 603 pulls made and left
        alpha, beta = far_states(prior, pulls)
        found = index(alpha, beta, pulls + 1, arm)
        exact = finite_gittins_index(alpha, beta, horizon - pulls, discount, 1e-10)
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6)


def test_a_long_horizons_index_does_not_depend_on_what_was_asked_before(monkeypatch):
    index = FiniteGittins(tolerance=1e-4)
    longer, shorter = setting(horizon=700).arm(0), setting(horizon=690).arm(0)
    alpha, beta = far_states((1.0, 1.0), np.array([0, 20, 70, 430]))
    lefts = (530, 90)
    together = [index(alpha, beta, 700 - left + 1, longer) for left in lefts]
    monkeypatch.setenv("ELSV_CACHE_MEMORY", "4MB")
    cache.memory.clear()
    _gittins_solver.one_state.cache_clear()
    for left, before in reversed(list(zip(lefts, together, strict=True))):
        for i in (13, 10, 6, 0):
            assert index(alpha[i], beta[i], 700 - left + 1, longer) == before[i]
        found = index(alpha[::-1], beta[::-1], 690 - left + 1, shorter)
        np.testing.assert_array_equal(found[::-1], before)
    assert cache.memory.bytes <= 4_000_000


def test_fine_tolerances_are_not_interpolated(monkeypatch):
    monkeypatch.setattr(_gittins_tables, "solve_levels", lambda *_: pytest.fail("built a table"))
    alpha, beta = far_states((1.0, 1.0), FAR)
    found = FiniteGittins(tolerance=1e-8)(alpha, beta, 101, setting(horizon=700).arm(0))
    np.testing.assert_array_equal(found, finite_gittins_index(alpha, beta, 600, tolerance=1e-8))


def test_up_to_512_pulls_made_and_left_each_sum_has_its_own_table():
    table = _gittins_solver.solve_levels(_gittins_solver.Source(1.0, 1.0, 1.0, 1e-4), 0, 512, 512)
    arm, index = setting(horizon=900).arm(0), FiniteGittins(tolerance=1e-4)
    for pulls in (0, 40, 300, 511):
        wins = np.arange(pulls + 1)
        found = index(1.0 + wins, 1.0 + pulls - wins, 900 - (512 - pulls) + 1, arm)
        np.testing.assert_array_equal(found, table[triangle.size(pulls) : triangle.size(pulls + 1)])


@pytest.mark.parametrize("left", [1, 191, 192, 193, 383, 384, 500, 512, 513, 1000, 2048, 3000])
def test_every_number_of_pulls_has_one_place(left):
    pulls = np.arange(2500)
    covered = 0
    for stop, grid in finite_gittins.ranges(left, 1e-6):
        part = slice(covered, max(covered, np.searchsorted(pulls, stop)))
        covered = part.stop
        sums = pulls[part] + left
        if grid is None:
            assert (sums > 512).all()
            continue
        total = np.zeros(len(sums))
        for horizons, weights in grid.terms(sums):
            used = weights != 0
            stop = np.array([grid.levels(h) for h in horizons[used].tolist()])
            assert ((pulls[part][used] >= grid.first) & (pulls[part][used] < stop)).all()
            assert (stop <= horizons[used]).all()
            total += weights * horizons**3
        np.testing.assert_allclose(total, sums**3.0, rtol=1e-12)  # exact for cubics
        assert grid.spacing == 1 or (sums > 512).all()
    assert covered == len(pulls)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gittins_index(0, 1), "alpha must be positive"),
        (lambda: gittins_index(1, np.inf), "beta must be positive and finite"),
        (lambda: gittins_index("x", 1), "alpha must be numbers"),
        (lambda: gittins_index([1, 2], [1, 2, 3]), "shapes that fit"),
        (lambda: gittins_index(1, 1, 1.0), "strictly between 0 and 1"),
        (lambda: gittins_index(1, 1, 0.9, 0.5), "tolerance must lie between"),
        (lambda: gittins_index(1, 1, 0.9, 1e-14), "tolerance must lie between"),
        (lambda: gittins_table(1, 1, 0), "levels must be a whole number"),
        (lambda: Gittins(discount=1.5), "strictly between 0 and 1"),
        (lambda: FiniteGittins(discount=1.5), r"must lie in \(0, 1\]"),
        (lambda: finite_gittins_index(1, 1, 0), "at least 1"),
        (lambda: finite_gittins_index(1, 1, 2.5), "whole numbers"),
        (lambda: finite_gittins_index([1, 2], 1, [3, 4, 5]), "shape that fits"),
        (lambda: FiniteGittins()(np.ones(1), np.ones(1), 1, setting(discount=0.9)), "needs a horizon"),
        (lambda: FiniteGittins()(np.ones(1), np.ones(1), 6, setting(horizon=5)), "step must lie between 1"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()


TINY = [(1e-8, 1e-8), (3e-10, 7e-9), (5e-10, 7e-10), (1e-9, 1e-3)]


@pytest.mark.parametrize("prior", TINY)
@pytest.mark.parametrize("tolerance", [1e-5, 1e-6, 1e-9])
def test_tables_of_tiny_counts_against_plain_induction(prior, tolerance):
    """A table of such a prior sweeps lambdas within 1e-9 of 1, where a diffusion's slope is no bound."""
    for discount in (0.5, 0.8):
        table = gittins_table(*prior, 4, discount, tolerance)
        wins, pulls = triangle.states(2)
        for s, n, found in zip(wins, pulls, table, strict=False):
            exact = infinite_index(prior[0] + s, prior[1] + n - s, discount, 1e-12)
            assert abs(found - exact) <= tolerance + 1e-11


@pytest.mark.parametrize("prior", TINY[:3])
@pytest.mark.parametrize("discount", [0.9, 0.99, 0.999])
def test_one_pull_of_an_arm_with_tiny_counts_tells_all(prior, discount):
    """Then the index is the root of (m - z) + γ (1 - m) z = 0: a success pays for ever, a failure ends it."""
    mean = prior[0] / sum(prior)
    for levels in (1, 2, 8):
        found = gittins_table(*prior, levels, discount, 1e-6)[0]
        assert found == pytest.approx(mean / (1 - discount * (1 - mean)), abs=2e-6)
