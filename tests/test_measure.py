"""The mathematics of measuring: intervals, fits within a structure, predictives, halves, splits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elsv
import paper_measure as plain
from elsv.simulation.precision import anytime, one_look, precision, wilson
from elsv.structure import (
    Facts,
    bounds,
    decreasing,
    gap,
    grid,
    increasing,
    mixture,
    samples,
    unimodal,
    where,
)
from elsv.structure.evidence import Evidence, changed, doubts, evidence, predictive
from elsv.structure.fit import fit_facts, fit_line, likelihood
from structures import KINDS

LINE = ((1, 0), (2, 1), (3, 2))  # increasing
ORDERS = {
    "a line": LINE,
    "a fork": ((0, 1), (0, 2), (0, 3)),
    "an N": ((0, 2), (1, 2), (1, 3)),
    "a grid": ((0, 1), (0, 2), (1, 3), (2, 3)),
    "a pair": ((2, 0),),
}


def facts(arms, order=(), **more):
    names = tuple(f"arm {k + 1}" for k in range(arms))
    return Facts(names, more.pop("rewards", (1.0,) * arms), order=order, **more)


def problem_of(structure, arms, **more):
    return elsv.Problem([1.0] * arms, horizon=5000, structure=structure, **more)


def state_after(problem, won, seen):
    won, lost = np.array(won, dtype=float), np.array(seen, dtype=float) - np.array(won)
    return elsv.State(problem.prior[:, 0] + won, problem.prior[:, 1] + lost)


@pytest.mark.parametrize(
    ("won", "seen", "low", "high"),
    [
        (0, 1, 0.0, 0.975),
        (1, 24, 1.2e-4, 0.2864),
        (8, 190, 0.0095, 0.1112),
        (40, 190, 0.1222, 0.3221),
        (20, 500, 0.0162, 0.0791),
        (30, 800, 0.0180, 0.0670),
        (0, 0, 0.0, 1.0),
    ],
)
def test_the_confidence_set_has_the_known_values(won, seen, low, high):
    assert anytime(won, seen) == (pytest.approx(low, abs=6e-5), pytest.approx(high, abs=6e-5))
    assert anytime(won, seen) == pytest.approx(plain.confidence_set(won, seen), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 400), st.integers(0, 400), st.sampled_from([0.05, 0.0125]))
def test_the_confidence_set_is_that_of_the_plain_form(won, lost, miss):
    low, high = anytime(won, won + lost, miss)
    assert (float(low), float(high)) == pytest.approx(plain.confidence_set(won, won + lost, miss), abs=1e-12)
    mirrored = anytime(lost, won + lost, miss)
    assert (float(1 - mirrored[1]), float(1 - mirrored[0])) == pytest.approx(
        (float(low), float(high)), abs=1e-9
    )


def test_the_confidence_set_is_hardly_ever_left_by_a_true_rate():
    """200 rates, looked at after each of 300 customers: at most 5 % are ever outside."""
    rng = np.random.default_rng(4)
    rates = rng.uniform(0.01, 0.5, 200)
    won = (rng.random((300, 200)) < rates).cumsum(axis=0)
    low, high = anytime(won, np.arange(1, 301)[:, None])
    assert ((rates < low) | (rates > high)).any(axis=0).mean() <= 0.05


def test_one_look_covers_at_every_size_of_holdout():
    """Sums of binomial probabilities: no simulation, so no noise."""
    rates = (0.01, 0.03, 0.05, 0.075, 0.1, 0.2, 0.22, 0.3, 0.38, 0.5)
    for seen in (5, 12, 30, 55, 100, 200, 333, 340, 375, 424, 445):
        won = np.arange(seen + 1)
        low, high = one_look(won, np.full(seen + 1, seen))
        for rate in rates:
            chances = [math.comb(seen, k) * rate**k * (1 - rate) ** (seen - k) for k in range(seen + 1)]
            assert np.array(chances)[(low <= rate) & (rate <= high)].sum() >= 0.95


def test_one_look_is_wilson_where_there_is_enough():
    for won, seen, same in ((40, 190, wilson), (9, 190, anytime), (181, 190, anytime)):
        np.testing.assert_allclose(one_look(won, seen), same(won, seen))
    np.testing.assert_allclose(one_look([40, 0], [190, 0]), np.transpose([wilson(40, 190), (0, 1)]))
    for end in wilson(15, 100):
        assert (abs(end - 0.15) - 0.005) ** 2 * 100 == pytest.approx(1.959963984540054**2 * end * (1 - end))
    # Newcombe (1998), table I, 81 of 263, 15 of 148, 0 of 20 and 1 of 29, with continuity correction.
    for won, seen, low, high in (
        (81, 263, 0.2535, 0.3682),
        (15, 148, 0.0598, 0.1644),
        (0, 20, 0.0, 0.2005),
        (1, 29, 0.0018, 0.1963),
    ):
        assert wilson(won, seen) == pytest.approx((low, high), abs=6e-5)


@pytest.mark.parametrize("order", ORDERS.values(), ids=list(ORDERS))
@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30)), min_size=4, max_size=4))
def test_best_rates_under_any_partial_order_are_isotonic_regression(order, counts):
    won, seen = [k for k, _ in counts], [k + n for k, n in counts]
    found = fit_facts(facts(4, order), np.array(won, float), np.array(seen, float) - won)
    np.testing.assert_allclose(found, plain.isotonic(won, seen, order), atol=1e-7)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 30)), min_size=4, max_size=4))
def test_a_peak_is_the_best_of_all_peaks(counts):
    won, seen = [k for k, _ in counts], [k + n for k, n in counts]
    lost = np.array(seen, float) - won
    found = fit_facts(facts(4, unimodal=True), np.array(won, float), lost)
    ratio = plain.likelihood_ratio(won, seen, np.clip(found, 1e-15, 1 - 1e-15))
    assert ratio == pytest.approx(plain.best_with_peak(won, seen), abs=1e-5)


CONVEX = {
    "bounds": facts(3, bounds=((0.25, 0.75), (0, 1), (0, 0.5))),
    "a line within bounds": facts(3, ((0, 1), (1, 2)), bounds=((0.1, 0.4), (0, 0.3), (0.2, 0.9))),
    "a line of rewards": facts(3, ((0, 1), (1, 2)), scale="reward", rewards=(0.5, 0.8, 1.0)),
    "a fork of rewards within bounds": facts(
        3, ((0, 1), (0, 2)), scale="reward", rewards=(0.5, 0.8, 1.0), bounds=((0, 0.9), (0.2, 0.5), (0, 1))
    ),
    "gaps": facts(3, ((0, 1), (1, 2)), gaps=((0, 1, 0.1), (1, 2, 0.05))),
}


@pytest.mark.parametrize("known", CONVEX.values(), ids=list(CONVEX))
def test_no_possible_rates_do_better(known):
    rng = np.random.default_rng(2)
    for _ in range(15):
        won, lost = rng.integers(0, 40, 3).astype(float), rng.integers(1, 40, 3).astype(float)
        found = fit_facts(known, won, lost)
        assert known.holds(np.round(found, 9)) or known.holds(found + 1e-9 * np.array([2, 0, -2]))
        tried = rng.random((20_000, 3))
        near = np.clip(found + 0.02 * rng.standard_normal((20_000, 3)), 0, 1)
        for points in (tried, near):
            points = points[known.holds(points)]
            if len(points):
                assert likelihood(points, won, lost).max() <= likelihood(found, won, lost) + 1e-5


def test_a_demand_curve_is_fitted_by_two_parameters():
    place = np.array([-0.5, 0.1, 0.5])
    rates = 1 / (1 + np.exp(-(0.3 - 2.0 * place)))
    np.testing.assert_allclose(fit_line(place, 1e4 * rates, 1e4 * (1 - rates)), rates, rtol=1e-4)
    # Demand that rises with the price is at best flat.
    np.testing.assert_allclose(fit_line(place, np.array([1.0, 5, 9]), np.array([9.0, 5, 1])), 0.5, atol=1e-4)


@pytest.mark.parametrize(
    ("structure", "won", "seen", "ratio", "chance"),
    [
        (increasing(), (0, 0, 0, 30), (0, 0, 3, 363), 0.0, 1.0),
        (increasing(), (30, 12, 40, 30), (360, 162, 600, 800), 12.23, 0.0066),
        (increasing(), (40, 30), (600, 800), 6.06, 0.0138),
        (decreasing(), (0, 20), (20, 20), 55.45, 9.6e-14),
    ],
)
def test_likelihood_ratios_have_the_known_values(structure, won, seen, ratio, chance):
    problem = problem_of(structure, len(won))
    found = evidence(problem, state_after(problem, won, seen))
    assert found.ratio == pytest.approx(ratio, abs=0.005)
    assert found.chance == pytest.approx(chance, rel=0.02)
    assert found.contradicted == (chance <= 0.01)


def test_a_true_order_is_not_doubted_for_the_level_of_the_prior():
    """The Bayes factor says 1 : 116 against the order; the order has nothing to do with it."""
    problem = problem_of(increasing(), 4, names=["none", "5 % off", "10 % off", "15 % off"])
    state = state_after(problem, (0, 0, 0, 30), (0, 0, 3, 363))
    found = evidence(problem, state)
    assert 1 / found.factor == pytest.approx(116, abs=1)
    (said,) = doubts(problem, state, found)
    assert said.about == "prior"
    assert said.words.startswith("Beforehand 15 % off was expected at 40 to 99 %; 8.3 % of 363 succeeded.")


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_statement_gets_a_ratio_that_its_own_rates_do_not_exceed(name):
    structure, arms = KINDS[name]
    problem = problem_of(structure, arms)
    rng = np.random.default_rng(3)
    start = elsv.State.initial(problem)
    for _ in range(3):
        truth = problem.belief.draw(start, rng)
        won = rng.binomial(200, truth)
        found = evidence(problem, state_after(problem, won, [200] * arms))
        if name == "free":
            assert found is None
            continue
        own = plain.likelihood_ratio(won, [200] * arms, np.clip(truth, 1e-12, 1 - 1e-12))
        assert 0 <= found.ratio <= own + 1e-6
        assert not found.contradicted


def test_mixtures_take_their_best_part_and_draws_rule_nothing_out():
    won, seen = (2, 18), (20, 20)
    for structure in (
        mixture([(0.9, decreasing()), (0.1, increasing())]),
        mixture([(0.9, decreasing()), (0.1, elsv.structure.free())]),
        samples(np.random.default_rng(0).random((500, 2))),
    ):
        problem = problem_of(structure, 2)
        assert evidence(problem, state_after(problem, won, seen)).ratio == pytest.approx(0, abs=1e-6)
    one = problem_of(mixture([(0.9, decreasing()), (0.1, gap(1, 2, 0.1))]), 2)
    assert evidence(one, state_after(one, won, seen)).contradicted


def test_a_mixture_of_rankings_assumes_something_in_every_part():
    both = problem_of(mixture([(0.5, grid(2, 2)), (0.5, unimodal())]), 4)
    state = state_after(both, (18, 10, 9, 2), (20, 20, 20, 20))
    found = evidence(both, state)
    assert not found.robust
    assert sum(found.parts) == pytest.approx(1)
    vague = problem_of(mixture([(0.5, grid(2, 2)), (0.5, elsv.structure.free())]), 4)
    assert evidence(vague, state).robust


def test_conditions_are_fitted_by_points_that_are_improved():
    same = bounds([(0, 0.4), (0, 1)])
    told = where(lambda means: means[..., 0] <= 0.4, "at most 0.4")
    known, drawn = (
        evidence(problem, state_after(problem, (15, 3), (20, 20))).ratio
        for problem in (problem_of(same, 2), problem_of(told, 2))
    )
    assert drawn == pytest.approx(known, abs=1e-3)


def test_no_verdict_where_no_rates_are_found():
    nothing = Evidence(-3.0)
    assert not nothing.contradicted
    assert "cannot be said" in nothing.describe()
    assert nothing.warning() is None


@pytest.mark.parametrize(
    ("a", "b", "won", "seen"), [(1, 1, 3, 10), (2, 5, 9, 10), (3, 40, 0, 60), (1, 9, 20, 30)]
)
def test_the_predictive_is_that_of_the_beta_binomial(a, b, won, seen):
    mean, variance = a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))
    assert predictive(mean, variance, won, seen) == pytest.approx(plain.predictive(won, seen, a, b), rel=1e-9)


def test_halves_are_compared_by_their_likelihood_ratio():
    won, seen = (30, 10), (100, 100)
    ratio = plain.likelihood_ratio(won, seen, (0.2, 0.2))
    assert changed((30, 100), (10, 100)) == pytest.approx(math.erfc(math.sqrt(ratio / 2)))
    problem = problem_of(elsv.structure.free(), 2, names=["a", "b"])
    state = state_after(problem, (60, 40), (200, 100))
    calm = ((30, 100), (30, 100))
    assert doubts(problem, state, None, (calm, None)) == ()
    (said,) = doubts(problem, state, None, (((50, 100), (10, 100)), calm))
    assert said.about == "time"
    assert "50 % of its first 100 customers succeeded, 10 % of the 100 after them" in said.words
    assert doubts(problem, state, None, (((18, 19), (0, 100)), None)) == ()


class TestPrecision:
    """How precisely the gain will be known, before the start."""

    SHOP = elsv.Problem(
        [20, 18], horizon=1500, prior=[(4, 96), (6, 94)], names=["none", "10 % off"], order="increasing"
    )
    FREE = elsv.Problem([20, 18], horizon=1500, prior=[(4, 96), (6, 94)], names=["none", "10 % off"])

    def test_half_widths_are_those_of_the_formulas(self):
        found = precision(self.FREE, 1500, [0], "EUR")
        assert [row.holdout for row in found.rows] == [0, 0.05, 0.1, 0.2]
        assert found.expected == pytest.approx(1500 * (18 * 0.06 - 20 * 0.04))
        for row in found.rows:
            held = 1500 * row.holdout
            assert row.cost == pytest.approx(held * (18 * 0.06 - 20 * 0.04))
            spread = 0.04 * 0.96 / 101 * 100 / (100 + held)
            assert row.belief == pytest.approx(1.96 * 1500 * 20 * spread**0.5, rel=1e-4)
            if held:
                assert row.alone == pytest.approx(1.96 * 20 * 1500 * (0.04 * 0.96 / held) ** 0.5, rel=1e-4)
        assert found.rows[0].alone is None

    def test_the_expected_spread_is_met_by_simulation(self):
        """The mean variance of Beta(4, 96) after 150 customers."""
        rng = np.random.default_rng(0)
        won = rng.binomial(150, rng.beta(4, 96, 40_000))
        spread = (4 + won) * (96 + 150 - won) / (250**2 * 251)
        row = precision(self.FREE, 1500, [0]).rows[2]
        assert row.belief == pytest.approx(1.96 * 30_000 * spread.mean() ** 0.5, rel=0.01)

    def test_segments_add_up(self):
        rows = {"names": ["a1", "a2", "b1", "b2"], "prior": [(4, 96), (6, 94)] * 2}
        both = elsv.Problem([20, 18, 20, 18], horizon=1500, segments=[[1, 2], [3, 4]], **rows)
        half = precision(self.FREE, 750, [0])
        found = precision(both, 1500, [0, 2])
        for one, two in zip(half.rows, found.rows, strict=True):
            assert two.cost == pytest.approx(2 * one.cost)
            assert two.belief == pytest.approx(2**0.5 * one.belief)
        assert found.name == "a1 / b1"

    def test_a_sentence_of_advice(self):
        told = precision(self.FREE, 1500, [0], "EUR")
        assert "cannot be told by a holdout of up to 20 %" in told.advice
        assert "A holdout of " in precision(self.FREE, 100_000, [0], "EUR").advice
        assert "already looks best" in precision(self.FREE, 1500, [1]).advice
        assert str(told).endswith(told.advice)
        assert "10 %" in str(told)
        assert told.to_dict()["rows"][2]["holdout"] == 0.1
        ordered = precision(self.SHOP, 1500, [0])
        assert ordered.rows[0].belief < told.rows[0].belief  # the order says more
