"""Prior rows from history and from what people expect: what they imply under a structure."""

import numpy as np
import pytest
from benchmarks.prior_coverage import covered
from scipy.special import betainc, betaincinv

import paper_prior
from elsv import InvalidInputError, Problem, State
from elsv.prior import from_expectations, from_history, parse_expectation
from elsv.prior.found import implied
from elsv.prior.untried import Neighbour, distances, from_neighbours, neutral
from elsv.structure import (
    bounds,
    decreasing,
    free,
    gap,
    grid,
    logistic,
    mixture,
    samples,
    unimodal,
)

WON, LOST = np.array([48.0, 30, 16]), np.array([352.0, 370, 384])


def problem(structure=None, arms=3, **changes):
    return Problem(rewards=[1.0] * arms, horizon=100, structure=structure or free(), **changes)


def means_of_two(rows, points=4000):
    """Means of two arms, the first at least as large, by sums on a plain grid."""
    x = (np.arange(points) + 0.5) / points
    first, second = (a for a in (x ** (a - 1) * (1 - x) ** (b - 1) for a, b in rows))
    below = np.cumsum(second) - 0.5 * second
    lower = np.cumsum(second * x) - 0.5 * second * x
    weight = (first * below).sum()
    return np.array([(first * x * below).sum(), (first * lower).sum()]) / weight


# History


def test_without_a_structure_rows_are_the_means_of_all_with_the_counts_of_a_share():
    start = np.array([[1.0, 1], [2, 3], [0.5, 4]])
    found = from_history(problem(prior=start), WON, LOST, weight=0.25)
    mean = (start[:, 0] + WON) / (start.sum(axis=1) + WON + LOST)
    counts = start.sum(axis=1) + 0.25 * (WON + LOST)
    np.testing.assert_allclose(found.rows, np.stack([mean * counts, (1 - mean) * counts], axis=1))
    assert found.warnings == ()
    assert found.evidence is None


@pytest.mark.parametrize("method", ["match", "power"])
@pytest.mark.parametrize("structure", [free(), decreasing(), unimodal()], ids=lambda s: type(s).__name__)
def test_with_weight_1_old_outcomes_are_as_new_ones(structure, method):
    found = from_history(problem(structure), WON, LOST, weight=1, method=method)
    np.testing.assert_allclose(found.rows, np.stack([1 + WON, 1 + LOST], axis=1), rtol=1e-5)


def test_with_weight_0_nothing_changes():
    start = problem(decreasing(), prior=[(1, 2), (2, 2), (1, 5)])
    found = from_history(start, WON, LOST, weight=0)
    assert found.problem == start
    assert "none of 1,200" in found.words[0]
    assert "no outcomes" in from_history(start, [0, 0, 0], [0, 0, 0]).words[0]


def test_power_is_the_posterior_of_a_share_of_the_outcomes():
    start = problem(decreasing())
    found = from_history(start, WON, LOST, weight=0.3, method="power")
    np.testing.assert_allclose(found.rows, np.stack([1 + 0.3 * WON, 1 + 0.3 * LOST], axis=1))
    expected = start.belief.mean(State(1 + 0.3 * WON, 1 + 0.3 * LOST))
    np.testing.assert_allclose([arm.after.mean for arm in found.arms], expected, atol=1e-9)


def test_two_ordered_arms_imply_what_all_of_the_history_says_by_plain_sums():
    start = problem(decreasing(), arms=2)
    found = from_history(start, [30, 18], [270, 282], weight=0.2)
    np.testing.assert_allclose(found.rows.sum(axis=1), 2 + 0.2 * 300)
    wanted = means_of_two([(31, 271), (19, 283)])
    np.testing.assert_allclose(means_of_two(found.rows), wanted, atol=2e-4)
    # Counts that are put in as they are do not imply it: the order spreads wide means apart.
    power = from_history(start, [30, 18], [270, 282], weight=0.2, method="power")
    assert np.abs(means_of_two(power.rows) - wanted).max() > 5e-3


@pytest.mark.parametrize(
    ("structure", "arms"),
    [(decreasing(), 3), (grid(2, 3), 6), (unimodal(), 6), (bounds([(0, 0.3), None, (0.01, 1)]), 3)],
    ids=["order", "grid", "peak", "bounds"],
)
def test_means_are_those_after_all_of_the_history_and_counts_those_of_a_share(structure, arms):
    start = problem(structure, arms=arms)
    won = np.array([60.0, 48, 40, 36, 26, 12])[:arms]
    lost = 400 - won
    found = from_history(start, won, lost, weight=0.3)
    wanted = start.belief.mean(State(1 + won, 1 + lost))
    implied = found.problem.belief.mean(State.initial(found.problem))
    np.testing.assert_allclose(found.rows.sum(axis=1), 2 + 0.3 * 400)
    spread = np.sqrt(wanted * (1 - wanted) / 123)
    assert (np.abs(implied - wanted) < 0.05 * spread).all()
    assert found.problem.structure == start.structure


def test_forty_ordered_arms():
    won = np.round(np.linspace(15, 2, 40))
    start = problem(decreasing(), arms=40)
    found = from_history(start, won, 50 - won, weight=0.3)
    wanted = start.belief.mean(State(1 + won, 51 - won))
    assert np.abs([arm.after.mean - m for arm, m in zip(found.arms, wanted, strict=True)]).max() < 0.01


def test_means_too_close_for_their_spread_are_told():
    found = from_history(problem(decreasing()), [20, 20, 20], [380, 380, 380], weight=0.1)
    assert "spreads means" in found.words[-1]
    matched = [arm.after.mean for arm in found.arms]
    power = from_history(problem(decreasing()), [20, 20, 20], [380, 380, 380], 0.1, method="power")
    assert np.ptp(matched) < 0.6 * np.ptp([arm.after.mean for arm in power.arms])


def test_an_arm_that_was_never_offered_keeps_its_row_and_follows_its_neighbours():
    start = problem(decreasing(), names=["a", "b", "c"])
    found = from_history(start, {"a": 40, "c": 12}, {"a": 360, "c": 388})
    np.testing.assert_allclose(found.rows[1], [1, 1])
    assert 0.04 < found.arms[1].after.mean < 0.1
    assert found.notes == ("nothing is known of b but the arms on both sides",)
    assert "0 customers on b to 120 on a" in found.words[0]


def test_history_against_the_structure_is_warned_of():
    found = from_history(problem(decreasing()), WON[::-1], LOST[::-1])
    assert found.evidence.contradicted
    assert "history speaks against" in found.warnings[0]
    assert from_history(problem(decreasing()), WON, LOST).warnings == ()


def test_a_mixture_brings_its_probabilities_up_to_date():
    start = problem(mixture([(0.5, decreasing()), (0.5, free())]))
    against = from_history(start, WON[::-1], LOST[::-1], weight=0.5)
    tempered = State(1 + 0.5 * WON[::-1], 1 + 0.5 * LOST[::-1])
    shares = [share for share, _ in against.problem.structure.parts]
    np.testing.assert_allclose(shares, start.belief.chances(tempered), atol=1e-12)
    assert shares[0] < 0.02
    assert Problem.from_dict(against.problem.to_dict()) == against.problem
    wanted = start.belief.mean(State(1 + WON[::-1], 1 + LOST[::-1]))
    np.testing.assert_allclose([arm.after.mean for arm in against.arms], wanted, atol=2e-3)


@pytest.mark.parametrize(
    "structure",
    [
        logistic([8, 10, 12]),
        decreasing() & logistic([8, 10, 12]),
        logistic([8, 10, 12], draws=1024),
        samples(np.random.default_rng(0).beta(2, 20, (900, 3)), weights=np.arange(900)),
    ],
    ids=["curve", "both", "few draws", "weighted draws"],
)
def test_draws_of_a_prior_are_weighted_by_the_outcomes(structure):
    start = problem(structure)
    found = from_history(start, WON, LOST, weight=0.3)
    expected = start.belief.mean(State(1 + 0.3 * WON, 1 + 0.3 * LOST))
    np.testing.assert_allclose([arm.after.mean for arm in found.arms], expected, atol=3e-3)
    assert "draws of the prior" in found.words[1]
    assert Problem.from_dict(found.problem.to_dict()).arms == 3


@pytest.mark.parametrize(
    "structure", [gap(1, 2, at_least=0.02), grid(2, 2).by("gibbs")], ids=["gap", "gibbs"]
)
def test_means_that_are_drawn_are_not_matched(structure):
    arms = 4 if "rows" in structure.describe() else 3
    won = np.array([48.0, 30, 16, 10])[:arms]
    found = from_history(problem(structure, arms=arms), won, 400 - won)
    np.testing.assert_allclose(found.rows[:, 0], 1 + 0.3 * won)
    assert "cannot be matched" in found.words[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weight": 1.5}, "weight must lie from 0"),
        ({"weight": -0.1}, "weight must lie from 0"),
        ({"weight": "much"}, "weight must lie from 0"),
        ({"successes": [-1, 2, 3]}, "successes must not be negative, got -1 for arm 1"),
        ({"failures": [1, np.nan, 3]}, "failures must not be negative, got nan for arm 2"),
        ({"successes": [1, 2]}, "successes must be 3 numbers"),
        ({"successes": {"arm 4": 2}}, "unknown arm 'arm 4'"),
        ({"successes": {"arm 1": [1, 2]}}, "successes must be numbers"),
        ({"method": "guess"}, "unknown method 'guess'"),
    ],
)
def test_bad_history_is_refused(arguments, message):
    given = {"successes": WON, "failures": LOST} | arguments
    with pytest.raises(InvalidInputError, match=message):
        from_history(problem(decreasing()), **given)


# Expectations


def test_of_an_arm_by_itself_the_ends_are_quantiles():
    found = from_expectations(problem(), {"arm 2": "3-8%"}, coverage=0.8)
    alpha, beta = found.rows[1]
    assert betainc(alpha, beta, 0.03) == pytest.approx(0.1, abs=1e-6)
    assert betainc(alpha, beta, 0.08) == pytest.approx(0.9, abs=1e-6)


@pytest.mark.parametrize(
    ("structure", "expected"),
    [
        (decreasing(), {"1": "5-12%", "2": "3-8%", "3": "1-4%"}),
        (decreasing(), {"2": "3-8%"}),
        (unimodal(), {"1": "10-30%", "2": "20-50%"}),
        (mixture([(0.9, decreasing()), (0.1, free())]), {"1": "5-12%", "2": "3-8%"}),
    ],
    ids=["all", "one", "peak", "mixture"],
)
def test_under_a_structure_the_implied_intervals_are_what_was_said(structure, expected):
    found = from_expectations(problem(structure), expected)
    assert found.warnings == ()
    for arm in found.arms:
        if arm.said is not None:
            width = arm.said[1] - arm.said[0]
            assert arm.after.low == pytest.approx(arm.said[0], abs=0.005 * width)
            assert arm.after.high == pytest.approx(arm.said[1], abs=0.005 * width)


def test_intervals_that_clash_are_named():
    start = problem(decreasing(), names=["20 % off", "10 % off", "full"])
    found = from_expectations(start, {"20 % off": "3-8%", "10 % off": "10-20%"})
    assert "cannot be met" in found.warnings[0]
    assert "20 % off is at least as good as 10 % off" in found.warnings[1]
    assert (found.rows > 0).all()


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("10 % off=3-8%", ("10 % off", 0.03, 0.08)),
        ("1 = 3 – 8 %", ("1", 0.03, 0.08)),
        ("a=b=0.5% to 2%", ("a=b", 0.005, 0.02)),
        ("x=0.03..0.08", ("x", 0.03, 0.08)),
        ("x=0,5-2,5%", ("x", 0.005, 0.025)),
        ("none=4%", ("none", 0.04, 0.04)),
        ("none = 0,4 %", ("none", 0.004, 0.004)),
    ],
)
def test_expectations_are_read_as_people_write_them(text, ends):
    arm, interval = parse_expectation(text)
    assert arm == ends[0]
    assert interval == pytest.approx(ends[1:])


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"arm 1": "8-3%"}, "from a smaller to a larger"),
        ({"arm 1": "3-8"}, "or 0 and 100 with a % sign"),
        ({"arm 1": "0-5%"}, "strictly between 0 and 1"),
        ({"arm 1": "some"}, "must be a rate such as"),
        ({"arm 1": "4"}, "or 0 and 100 with a % sign"),
        ({"arm 1": (0.1, 0.2, 0.3)}, "must be a rate such as"),
        ({"arm 1": [[0.1, 0.2]]}, "must be a rate such as"),
        ({"arm 1": 10**400}, "must be a rate such as"),
        ({"arm 9": "3-8%"}, "unknown arm 'arm 9'"),
        ({"arm 1": "3-8%", "1": "4-9%"}, "twice"),
        ({}, "must name arms"),
    ],
)
def test_bad_expectations_are_refused(expected, message):
    with pytest.raises(InvalidInputError, match=message):
        from_expectations(problem(decreasing()), expected)


def test_what_cannot_hold_an_expectation_says_where_to_put_it():
    with pytest.raises(InvalidInputError, match="conversion and odds_fall"):
        from_expectations(problem(logistic([8, 10, 12])), {"1": "3-8%"})
    with pytest.raises(InvalidInputError, match="not used"):
        from_expectations(problem(samples([[0.1, 0.2, 0.3]] * 4)), {"1": "3-8%"})
    with pytest.raises(InvalidInputError, match="coverage"):
        from_expectations(problem(), {"1": "3-8%"}, coverage=1.0)
    with pytest.raises(InvalidInputError, match="ARM=RATE"):
        parse_expectation("3-8%")


def test_what_is_found_prints_and_is_plain_values():
    found = from_history(problem(decreasing(), names=["20 % off", "10 % off", "full"]), WON, LOST)
    text = str(found)
    assert "360 of 1,200 outcomes count; the history is worth 120 customers on every arm" in text
    assert "48 of 400: 12.00 %" in text
    values = found.to_dict()
    assert values["arms"][0]["arm"] == 1
    assert values["prior"] == found.rows.tolist()
    assert "expected" in str(from_expectations(problem(), {"1": "3-8%"}))


# Arms of which nothing is known


def boss(order="increasing"):
    names = ["none", "5 % off", "10 % off", "15 % off"]
    if order == "decreasing":
        names.reverse()
    return Problem(rewards=[40, 38, 36, 34], order=order, horizon=1500, names=names)


def test_untried_levels_follow_their_neighbour():
    found = from_history(boss(), [30, 40, 0, 0], [770, 560, 0, 0])
    mean = [100 * arm.after.mean for arm in found.arms]
    assert 3.6 < mean[0] < 4.0
    assert 6.6 < mean[1] < 7.0
    assert 8 < mean[2] < 9
    assert 11 < mean[3] < 12
    for arm, (low, high) in zip(found.arms[2:], [(5, 13), (6.5, 20)], strict=True):
        assert 100 * arm.after.low == pytest.approx(low, rel=0.1)
        assert 100 * arm.after.high == pytest.approx(high, rel=0.1)
    assert "nothing is known of 10 % off, 15 % off" in found.notes[0]
    assert "a factor of 2" in found.notes[0]
    assert "--factor" in found.notes[0]
    text = str(found)
    assert text.index("15 % off  ") < text.index("nothing is known of") < text.index("prior = ")
    mirrored = from_history(boss("decreasing"), [0, 0, 40, 30], [0, 0, 560, 770])
    np.testing.assert_allclose(mirrored.rows[::-1], found.rows, rtol=1e-3)


def test_rows_have_the_means_of_plain_sums_and_nearly_their_intervals():
    row = (12.0, 170.0)
    means, quantiles = paper_prior.beyond(*row, arms=2, factor=2.0, levels=(0.05, 0.95))
    start = Problem([1, 1, 1], order="increasing", horizon=9, prior=[row, (1, 1), (1, 1)])
    known = np.array([True, False, False])
    levels = (np.arange(1000) + 0.5) / 1000
    chances = betaincinv(*row, levels)
    odds = np.log(chances / (1 - chances))
    for arm, mean in enumerate(means):
        away = distances(Neighbour(0, steps=arm + 1, side=1, beyond=1 - arm), np.log(2) / 1.96)
        assert (1 / (1 + np.exp(-odds[:, None] - away))).mean() == pytest.approx(mean, rel=2e-3)
    found, _ = from_neighbours(neutral(start, known), known)
    after = implied(found, 0.9)
    assert after[0].mean == pytest.approx(12 / 182, rel=0.02)
    for arm, mean, (low, high) in zip(after[1:], means, quantiles, strict=True):
        assert arm.mean == pytest.approx(mean, rel=0.05)
        assert arm.low == pytest.approx(low, rel=0.15)
        assert arm.high == pytest.approx(high, rel=0.1)


def test_arms_below_a_known_one_are_below_it():
    found = from_history(problem(decreasing()), [30, 0, 0], [770, 0, 0])
    first, second, third = (arm.after.mean for arm in found.arms)
    assert first == pytest.approx(31 / 802, rel=0.01)  # rows below say nothing of it
    assert first > second > third > 0.4 * first


def test_without_an_order_the_neighbour_is_the_rate_of_all():
    found = from_history(problem(), [30, 60, 0], [770, 540, 0], weight=1)
    assert found.rows[:2].tolist() == [[31, 771], [61, 541]]
    arm = found.arms[2].after
    middle = 92 / 1404
    assert arm.low == pytest.approx(middle / 2.5, rel=0.1)
    assert arm.high == pytest.approx(middle * 2.3, rel=0.1)
    assert "within a factor of 3 (95 % sure) of those of all known arms together, 6.55 %" in found.notes[0]


def test_a_larger_factor_leaves_more_open():
    two, five = (from_history(boss(), [30, 40, 0, 0], [770, 560, 0, 0], factor=f) for f in (2, 5))
    assert five.arms[3].after.high > 1.5 * two.arms[3].after.high
    assert "a factor of 5" in five.notes[0]
    for bad in (1, 0.5, "two", True):
        with pytest.raises(InvalidInputError, match="factor must be above 1"):
            from_history(boss(), [30, 40, 0, 0], [770, 560, 0, 0], factor=bad)


@pytest.mark.parametrize(
    "structure",
    [
        unimodal(),
        grid(2, 2),
        mixture([(0.9, decreasing()), (0.1, free())]),
        decreasing() & bounds([(0, 0.5), None, None, None]),
    ],
    ids=["peak", "grid", "mixture", "joined"],
)
def test_untried_arms_stay_near_whatever_is_assumed(structure):
    start = problem(structure, arms=4)
    found = from_history(start, {"arm 2": 40}, {"arm 2": 560})
    mean = np.array([arm.after.mean for arm in found.arms])
    assert mean[1] == pytest.approx(41 / 602, rel=0.05)
    assert (mean > 0.02).all()
    assert (mean < 0.2).all()


def test_rows_that_say_something_stay_and_are_neighbours():
    start = problem(decreasing(), prior=[(1, 1), (4, 60), (1, 1)])
    found = from_history(start, [0, 0, 12], [0, 0, 388], weight=1)
    assert "arm 1" in found.notes[0]
    assert "away from arm 2" in found.notes[0]
    assert 0.05 < found.arms[0].after.mean < 0.12


def test_one_number_is_enough():
    found = from_expectations(boss(), {"none": "4 %"})
    mean = [100 * arm.after.mean for arm in found.arms]
    assert mean[0] == pytest.approx(4, rel=0.1)
    assert 4 < mean[1] < mean[2] < mean[3] < 16
    assert found.rows[0].sum() == pytest.approx(100)
    assert found.warnings == ()
    assert found.words == (
        "one number is worth 100 customers: with fewer what is assumed could not imply it",
    )
    assert found.to_dict()["arms"][0]["said"] == [0.04, 0.04]
    assert from_expectations(boss(), {"1": 0.04}).rows.tolist() == found.rows.tolist()
    assert from_expectations(problem(), {"1": 0.04}).rows[0].tolist() == [1, 24]
    both = from_expectations(boss(), {"none": "4 %", "10 % off": "6-14%"})
    assert both.arms[2].after.low == pytest.approx(0.06, abs=0.001)
    assert both.arms[0].after.mean == pytest.approx(0.04, rel=0.02)


def test_true_rates_lie_in_the_intervals_of_untried_arms():
    inside, total, _ = covered(40, weight=0.3, seed=1)
    assert 0.85 <= inside / total <= 0.97


def test_rows_that_are_left_out_follow_their_neighbours():
    boss = Problem(
        [20, 19, 18, 17], order="increasing", horizon=1500, names=["none", "5 % off", "10 % off", "15 % off"]
    )
    known = boss.with_prior({"none": (30, 770), "5 % off": (40, 560)})
    assert known == boss.with_prior([(30, 770), (40, 560), None, None])
    start = State.initial(known)
    mean = known.belief.mean(start)
    assert mean[:2] == pytest.approx([30 / 800, 40 / 600], rel=0.02)
    assert 0.08 < mean[2] < 0.09 < 0.11 < mean[3] < 0.12
    wide = boss.with_prior([(30, 770), (40, 560), None, None], factor=4)
    assert wide.belief.mean(State.initial(wide))[3] > mean[3] + 0.02
    free = Problem([1, 1, 1], horizon=9).with_prior([(4, 96), None, (6, 94)])
    assert free.prior[1, 0] / free.prior[1].sum() == pytest.approx(0.05, abs=0.01)
    rows = [(1, 1), (4, 96), (1, 1), (1, 1)]
    assert boss.with_prior(rows).prior.tolist() == [[1, 1], [4, 96], [1, 1], [1, 1]]  # what is said stays
    with pytest.raises(InvalidInputError, match="at least one arm"):
        boss.with_prior([None] * 4)
    with pytest.raises(InvalidInputError, match="20 % off"):
        boss.with_prior({"20 % off": (1, 2)})
    with pytest.raises(InvalidInputError, match="factor must be above 1"):
        boss.with_prior([(30, 770), None, None, None], factor=0.5)
