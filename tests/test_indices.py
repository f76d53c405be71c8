import itertools
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paper_indices as paper
from elsv._base import triangle
from elsv.errors import InvalidInputError
from elsv.indices import (
    INDEX_NAMES,
    FunctionIndex,
    Setting,
    index_class,
    index_from_name,
    make_index,
    parameters_of,
)
from elsv.indices.formulas import (
    KLUCB,
    MOSS,
    UCB,
    UCB1,
    UCBV,
    BayesUCB,
    Greedy,
    OptimisticGittins,
    divergence_bound,
)
from elsv.indices.tables import triangles
from elsv.policies import make_policy, policy_names
from elsv.problem import Problem

HORIZON = 200
PROBLEM = Problem(rewards=[1, 1, 1], horizon=HORIZON)
DISCOUNTED = Problem(rewards=[1, 1, 1], discount=0.9)
ARM = Setting.of(PROBLEM).arm(0)
EMPIRICAL = {"ucb1", "ucb-v", "kl-ucb", "moss"}
TOLERANT = {"gittins", "finite-gittins"}  # accurate to a tolerance, 1e-6 by default


@st.composite
def pulled_states(draw, most=60):
    """(successes, pulls, step) with the step that at least that many pulls need."""
    pulls = draw(st.integers(0, most))
    return draw(st.integers(0, pulls)), pulls, pulls + 1 + draw(st.integers(0, 300))


def at(index, successes, pulls, step, setting=ARM):
    alpha, beta = np.array(1.0 + successes), np.array(1.0 + pulls - successes)
    return float(index(alpha, beta, step, setting))


# --- each index against its plain form -------------------------------------------------------


@given(pulled_states())
def test_greedy_is_the_mean(state):
    s, n, t = state
    assert at(Greedy(), s, n, t) == paper.mean(1 + s, 1 + n - s)


@given(pulled_states(), st.floats(0.01, 10))
def test_ucb_both_countings(state, scale):
    s, n, t = state
    plain = [paper.ucb(1 + s, 1 + n - s, t, scale, pulls) for pulls in (n, n + 2)]
    ours = [at(UCB(scale, counted), s, n, t) for counted in (False, True)]
    np.testing.assert_allclose(ours, plain, rtol=1e-14)


@given(pulled_states())
def test_ucb1(state):
    s, n, t = state
    assert at(UCB1(), s, n, t) == pytest.approx(paper.ucb1(s, n, t), rel=1e-14)


@given(pulled_states(), st.floats(1, 3), st.floats(0.1, 2), st.floats(0.5, 2))
def test_ucb_v(state, zeta, c, b):
    s, n, t = state
    plain = paper.ucb_v(s, n, t, zeta, c, b)
    assert at(UCBV(zeta, c, b), s, n, t) == pytest.approx(plain, rel=1e-12)


@given(pulled_states(), st.integers(1, 20))
def test_moss(state, arms):
    s, n, t = state
    setting = Setting.of(Problem(rewards=[1] * arms, horizon=HORIZON)).arm(0)
    plain = paper.moss(s, n, HORIZON, arms)
    assert at(MOSS(), s, n, t, setting) == pytest.approx(plain, rel=1e-14)


@settings(max_examples=60)
@given(pulled_states(), st.sampled_from([0, 1, 3]))
def test_kl_ucb(state, c):
    s, n, t = state
    assert at(KLUCB(c), s, n, t) == pytest.approx(paper.kl_ucb(s, n, t, c), abs=1e-12)


@pytest.mark.parametrize(
    ("successes", "pulls", "step"),
    [(1, 10**6, 10**6 + 1), (10**6 - 1, 10**6, 10**7), (500_000, 10**6, 10**6 + 1), (1, 2, 10**9)],
)
def test_kl_ucb_at_the_edges(successes, pulls, step):
    plain = paper.kl_ucb(successes, pulls, step)
    assert at(KLUCB(), successes, pulls, step) == pytest.approx(plain, abs=1e-12)


@given(st.floats(0, 1), st.floats(0, 50))
def test_divergence_bound_lies_between_mean_and_one(mean, limit):
    q = float(divergence_bound(np.array(mean), np.array(limit)))
    assert mean <= q <= 1
    assert q <= mean + math.sqrt(limit / 2) + 1e-15  # Pinsker


@settings(max_examples=60)
@given(pulled_states(most=15))
def test_bayes_ucb(state):
    s, n, t = state
    assert at(BayesUCB(), s, n, t) == pytest.approx(paper.bayes_ucb(1 + s, 1 + n - s, t), abs=1e-11)


@pytest.mark.parametrize("c", [0.5, 2.0, 5.0])
def test_bayes_ucb_with_a_power_of_log_horizon(c):
    factor = Fraction(math.log(HORIZON) ** c)
    for s, n, t in ((0, 0, 1), (1, 3, 5), (4, 7, 150)):
        plain = paper.bayes_ucb(1 + s, 1 + n - s, t, factor)
        assert at(BayesUCB(c), s, n, t) == pytest.approx(plain, abs=1e-11)


def test_bayes_ucb_uses_the_mean_where_the_level_is_not_positive():
    assert at(BayesUCB(), 2, 3, 1) == 0.6
    assert at(BayesUCB(), 0, 1, 2) == pytest.approx(1 - math.sqrt(0.5), abs=1e-15)  # median of Beta(1, 2)
    for horizon in (1, 2):  # log T < 1: the first level is below 0
        setting = Setting.of(Problem(rewards=[1], horizon=horizon)).arm(0)
        assert at(BayesUCB(5), 0, 0, 1, setting) == 0.5


@pytest.mark.parametrize("counts", [(0.3, 4000.0), (5e5, 20.0), (2e6, 3e6), (0.02, 0.5)])
def test_bayes_ucb_tail_at_extreme_counts(counts):
    from scipy.special import betainc

    alpha, beta = counts
    for step in (2, 50, 10**6):
        x = float(BayesUCB()(np.array(alpha), np.array(beta), step, ARM))
        near = [betainc(beta, alpha, 1 - min(max(x + e, 0), 1)) for e in (-1e-11, 1e-11)]
        assert near[1] * step - 1 <= 1e-9
        assert near[0] * step - 1 >= -1e-9


@settings(max_examples=25)
@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 4), st.sampled_from([0.5, 0.9, 0.99]))
def test_optimistic_gittins(alpha, beta, steps, discount):
    ours = OptimisticGittins(steps, discount)(np.array(float(alpha)), np.array(float(beta)), 1, ARM)
    plain = paper.optimistic_gittins(alpha, beta, steps, Fraction(discount))
    assert float(ours) == pytest.approx(plain, abs=1e-10)


# --- published and closed forms ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "counts", "published"),
    [(1, 1, 0.909091), (1, 10, 0.683269), (2, 1, 0.896192), (3, 1, 0.889901)],
)
def test_optimistic_gittins_reference_values(steps, counts, published):
    index = OptimisticGittins(steps, 0.99)(np.array(float(counts)), np.array(float(counts)), 1, ARM)
    assert float(index) == pytest.approx(published, abs=6e-7)


@given(st.floats(0.01, 0.99999))
def test_optimistic_gittins_of_the_uniform_prior(discount):
    index = float(OptimisticGittins(1, discount)(np.array(1.0), np.array(1.0), 1, ARM))
    assert index == pytest.approx((1 - math.sqrt(1 - discount)) / discount, abs=1e-10)


def test_kl_ucb_closed_forms_without_success_or_failure():
    assert at(KLUCB(), 0, 10, 100) == pytest.approx(1 - 100**-0.1, abs=1e-15)
    assert at(KLUCB(), 10, 10, 100) == 1.0


def test_bayes_ucb_closed_forms():
    assert at(BayesUCB(), 0, 0, 8) == pytest.approx(7 / 8, abs=1e-15)
    assert at(BayesUCB(), 2, 2, 8) == pytest.approx((7 / 8) ** (1 / 3), abs=1e-15)


# --- properties ---------------------------------------------------------------------------------


def test_optimistic_gittins_falls_with_steps_and_rises_with_discount():
    alpha, beta = np.array([1.0, 0.3, 4.0, 40.0]), np.array([1.0, 2.5, 0.7, 60.0])
    by_steps = [OptimisticGittins(k, 0.95)(alpha, beta, 1, ARM) for k in (1, 2, 4, 8)]
    by_discount = [OptimisticGittins(1, g)(alpha, beta, 1, ARM) for g in (0.1, 0.5, 0.9, 0.999)]
    assert all((b < a).all() for a, b in itertools.pairwise(by_steps))
    assert all((a < b).all() for a, b in itertools.pairwise(by_discount))


def test_optimistic_gittins_bounds_the_gittins_index_and_comes_down_to_it():
    alpha, beta = np.array([1.0, 0.5, 4.0, 10.0]), np.array([1.0, 2.0, 1.0, 12.0])
    gittins = make_index("gittins", discount=0.8)(alpha, beta, 1, ARM)
    gap = [OptimisticGittins(k, 0.8)(alpha, beta, 1, ARM) - gittins for k in (1, 40)]
    assert (gap[0] > 1e-4).all()
    assert (np.abs(gap[1]) < 1e-5).all()


def test_optimistic_gittins_takes_its_discount_from_the_problem():
    alpha, beta = np.ones(3), np.ones(3)
    own = OptimisticGittins()(alpha, beta, 1, Setting.of(DISCOUNTED))
    assert own == pytest.approx(OptimisticGittins(1, 0.9)(alpha, beta, 1, ARM))
    assert OptimisticGittins()(alpha, beta, 1, ARM) == pytest.approx(1 / 1.1)  # 0.99 with a horizon


@pytest.mark.parametrize("discount", [0.001, 0.99, 0.9999999])
def test_optimistic_gittins_at_extreme_counts(discount):
    alpha = np.array([1e-3, 1e6, 1.0, 1e6, 1e-3, 1e17])
    beta = np.array([1e-3, 1.0, 1e6, 1e6, 1.0, 1.0])
    index = OptimisticGittins(2, discount)(alpha, beta, 1, ARM)
    assert np.isfinite(index).all()
    assert (index >= alpha / (alpha + beta)).all()
    assert (index <= 1).all()


@pytest.mark.parametrize("name", ["ucb", "ucb1", "ucb-v", "kl-ucb", "bayes-ucb"])
def test_bounds_rise_with_the_step(name):
    index = make_index(name)
    successes, pulls = triangle.states(20)
    alpha, beta = 1.0 + successes, 1.0 + pulls - successes
    values = np.array([index(alpha, beta, t, ARM) for t in (20, 30, 100, 10_000)])
    with np.errstate(invalid="ignore"):
        assert not (np.diff(values, axis=0) < 0).any()


@pytest.mark.parametrize(
    "name", ["greedy", "ucb", "kl-ucb", "bayes-ucb", "optimistic-gittins", "moss", "ucb1"]
)
def test_a_success_is_worth_more_than_a_failure(name):
    index = make_index(name)
    successes, pulls = triangle.states(25)
    kept = pulls > 0
    alpha, beta = 1.0 + successes[kept], 1.0 + (pulls - successes)[kept]
    assert (index(alpha + 1, beta, 30, ARM) > index(alpha, beta + 1, 30, ARM)).all()


# --- conformance of every registered index --------------------------------------------------------


def arms_at_step(step, prior):
    """Every way to spread the pulls of one arm before `step`, on three arms with `prior`."""
    successes, pulls = (x[:, None] for x in triangle.states(step))
    return prior[:, 0] + successes, prior[:, 1] + (pulls - successes)


@pytest.mark.parametrize("name", INDEX_NAMES)
def test_every_index_is_elementwise_on_any_shape(name):
    problem = Problem(horizon=30, prior=[[1, 1], [0.5, 0.5], [2.5, 1.0]])
    setting, index = Setting.of(problem), make_index(name)
    index.prepare(setting, 11)
    for step in (1, 2, 12):
        alpha, beta = arms_at_step(step, problem.prior)
        values = index(alpha, beta, step, setting)
        assert values.shape == alpha.shape
        assert values.dtype == np.float64
        for row, arm in ((0, 0), (-1, 1), (len(alpha) // 2, 2)):
            one = index(alpha[row, arm], beta[row, arm], step, setting.arm(arm))
            assert np.shape(one) == ()
            slack = 2e-6 if name in TOLERANT else 1e-14
            np.testing.assert_allclose(float(one), values[row, arm], rtol=0, atol=slack)
        stacked = index(np.stack([alpha, alpha]), beta, step, setting)
        np.testing.assert_array_equal(stacked, np.stack([values, values]))
    assert index(alpha[:0], beta[:0], 1, setting).shape == (0, 3)


@pytest.mark.parametrize("name", INDEX_NAMES)
def test_every_index_is_finite_or_infinite_and_not_below_the_mean(name):
    problem = Problem(horizon=30, prior=[[1, 1], [0.5, 0.5], [2.5, 1.0]])
    setting, index = Setting.of(problem), make_index(name)
    for step in (1, 5, 25):
        alpha, beta = arms_at_step(step, problem.prior)
        values = index(alpha, beta, step, setting)
        unpulled = setting.pulls(alpha, beta) == 0
        assert not np.isnan(values).any()
        assert (np.isfinite(values) | ((values == np.inf) & unpulled)).all()
        if name not in {*EMPIRICAL, "bayes-ucb"}:
            slack = 1e-6 if name in TOLERANT else 0.0
            assert (values >= alpha / (alpha + beta) - slack).all()


@pytest.mark.parametrize("name", INDEX_NAMES)
def test_every_index_says_truly_whether_it_uses_the_step(name):
    problem = Problem(rewards=[1], horizon=30)
    setting, index = Setting.of(problem).arm(0), make_index(name)
    alpha, beta = np.array([2.0, 3.0]), np.array([3.0, 2.0])
    changed = not np.array_equal(index(alpha, beta, 6, setting), index(alpha, beta, 20, setting))
    assert index.uses_step == changed


@pytest.mark.parametrize("name", INDEX_NAMES)
def test_every_index_is_a_hashable_value(name):
    assert make_index(name) == make_index(name)
    assert hash(make_index(name)) == hash(make_index(name))
    assert isinstance(make_index(name), index_class(name))


@pytest.mark.parametrize("name", INDEX_NAMES)
@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.05, 0.4)])
def test_triangles_equal_calls(name, prior):
    setting = Setting.of(Problem(prior=[prior], horizon=70)).arm(0)
    index = make_index(name)
    table = triangles(index, setting, 69)
    for step in (1, 2, 15, 16, 17, 31, 32, 40, 63, 64, 70, 20):
        successes, pulls = triangle.states(step)
        direct = index(prior[0] + successes, prior[1] + (pulls - successes), step, setting)
        np.testing.assert_allclose(table(step), direct, rtol=0, atol=2e-6 if name in TOLERANT else 1e-11)


def test_triangles_stop_at_the_announced_pulls():
    for name in ("greedy", "ucb", "bayes-ucb"):
        assert triangles(make_index(name), ARM, 20)(150).shape == (triangle.size(21),)


def test_triangles_of_a_rough_index_are_exact():
    """Tiny prior counts make the quantile too sharp a function of the level to interpolate."""
    setting = Setting.of(Problem(prior=[[1e-3, 1.0]], horizon=200)).arm(0)
    table = triangles(BayesUCB(), setting, 199)
    for step in (100, 150, 199):
        successes, pulls = triangle.states(step)
        direct = BayesUCB()(1e-3 + successes, 1.0 + (pulls - successes), step, setting)
        np.testing.assert_allclose(table(step), direct, rtol=0, atol=1e-11)


# --- names and errors -----------------------------------------------------------------------------


def test_parameters_and_names():
    assert parameters_of("greedy") == {}
    assert parameters_of("optimistic-gittins") == {"steps": int, "discount": float}
    assert make_index("ucb", scale=2) == UCB(2.0) == index_from_name("ucb:scale=2")
    assert index_from_name("ucb:count_prior=true") == UCB(count_prior=True)
    assert index_from_name("kl-ucb:c=3") == KLUCB(3)


def test_a_function_is_an_index():
    index = make_index(lambda alpha, beta, step: alpha * 0 + step, uses_step=True)
    assert isinstance(index, FunctionIndex)
    np.testing.assert_array_equal(index(np.ones((2, 3)), np.ones(3), 5, ARM), np.full((2, 3), 5.0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_index("gitins"), "did you mean 'gittins'.*optimistic-gittins"),
        (lambda: make_index("ucb", scal=1), "unknown parameter of ucb 'scal'.*known: count_prior, scale"),
        (lambda: make_index("greedy", scale=1), "greedy takes no parameters"),
        (lambda: make_index(3), "name or a function"),
        (lambda: make_index(np.add, scale=1), "parameter of a function 'scale'"),
        (lambda: index_from_name("ucb:scale=high"), "scale of ucb must be a number"),
        (lambda: UCB(scale=0), "scale must be positive, got 0"),
        (lambda: UCB(scale="1"), "scale must be a number, got '1'"),
        (lambda: UCB(scale=math.nan), "scale must be finite"),
        (lambda: UCB(count_prior=1), "count_prior must be True or False, got 1"),
        (lambda: UCBV(zeta=-1), "zeta must be positive, got -1"),
        (lambda: KLUCB(c=-1), "c must not be negative, got -1"),
        (lambda: BayesUCB(c=math.inf), "c must be finite"),
        (lambda: OptimisticGittins(steps=0), "steps must be a whole number, at least 1, got 0"),
        (lambda: OptimisticGittins(steps=1.5), "whole number"),
        (lambda: OptimisticGittins(discount=1.0), "strictly between 0 and 1"),
    ],
)
def test_wrong_parameters(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


@pytest.mark.parametrize(("index", "remedy"), [(MOSS(), "use kl-ucb"), (BayesUCB(2), "use c=0")])
def test_an_index_that_needs_a_horizon_says_so(index, remedy):
    with pytest.raises(InvalidInputError, match=f"needs a horizon.*{remedy}"):
        index(np.ones(3), np.ones(3), 1, Setting.of(DISCOUNTED))


def test_a_policy_whose_index_needs_a_horizon_is_refused_when_it_is_made():
    """Not at the first customer of a campaign that has begun."""
    known = policy_names(DISCOUNTED)
    assert "bayes-ucb" in known
    assert not {"moss", "finite-gittins"} & set(known)
    wanting = ("bayes-ucb:c=1", "bayes-ucb:c=1,belief=structured", "moss", "elsv:index=finite-gittins")
    for name in wanting:
        with pytest.raises(InvalidInputError, match="needs a horizon, and the problem has a discount"):
            make_policy(name, DISCOUNTED)


def test_the_page_names_every_index_and_parameter():
    page = (Path(__file__).parents[1] / "docs" / "indices.md").read_text(encoding="utf-8")
    sections = {part.split("`")[1]: part for part in page.split("\n### ")[1:]}
    assert sections.keys() == set(INDEX_NAMES)
    for name in INDEX_NAMES:
        assert f"`{index_class(name).__name__}(" in sections[name]
        assert all(f"`{parameter}`" in sections[name] for parameter in parameters_of(name))


def test_names_load_neither_numba_nor_scipy():
    code = (
        "import sys, elsv.indices as i; [i.make_index(n) for n in i.INDEX_NAMES if 'gittins' not in n];"
        "assert not {'numba', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
