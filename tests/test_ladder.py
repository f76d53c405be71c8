"""Rankings of any kind, exactly: against sums over linear extensions, reference values, Chain and draws."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

import paper
import paper_structure
from elsv import Chain, Independent, InvalidInputError, Problem, State, solve
from elsv.beliefs import Ladder, Mixture, Samples, abilities
from elsv.beliefs.ladder.ranking import rankings
from elsv.structure import bounds, decreasing, free, grid, mixture, order, unimodal

REFERENCE = json.loads((Path(__file__).parent / "data" / "structure.json").read_text())
HALF, WHOLE = Fraction(1, 2), (Fraction(0), Fraction(1))
FORK, TREE, NSHAPE = ((0, 1), (0, 2)), ((0, 1), (0, 2), (2, 3)), ((0, 2), (1, 2), (1, 3))
DIAMOND = ((0, 1), (0, 2), (1, 3), (2, 3))
LIMITS = ((Fraction(1, 5), Fraction(9, 10)), WHOLE, (Fraction(0), Fraction(3, 5)), (Fraction(1, 10), HALF))
REWARDS = (HALF, Fraction(4, 5), Fraction(1), Fraction(7, 10))

# What is known, by name: arms, pairs, a peak, limits, the unit of the ranking.
KNOWN = {
    "a pair": (2, ((0, 1),), False, None, None),
    "a rising pair": (2, ((1, 0),), False, None, None),
    "a fork": (3, FORK, False, None, None),
    "a fork from below": (3, ((0, 2), (1, 2)), False, None, None),
    "a pair and a free arm": (3, ((2, 0),), False, None, None),
    "a tree": (4, TREE, False, None, None),
    "an N": (4, NSHAPE, False, None, None),
    "two pairs": (4, ((0, 1), (3, 2)), False, None, None),
    "a diamond": (4, DIAMOND, False, None, None),
    "two above two": (4, ((0, 2), (0, 3), (1, 2), (1, 3)), False, None, None),
    "a star": (5, ((0, 1), (0, 2), (0, 3), (0, 4)), False, None, None),
    "five, crossing": (5, ((0, 2), (1, 2), (1, 3), (2, 4), (3, 4)), False, None, None),
    "a peak of three": (3, (), True, None, None),
    "a peak of four": (4, (), True, None, None),
    "a peak of five": (5, (), True, None, None),
    "a peak and an order": (4, ((1, 0), (1, 3)), True, None, None),
    "a peak on the left": (4, ((0, 3),), True, None, None),
    "bounds": (4, (), False, LIMITS, None),
    "a chain within bounds": (3, ((0, 1), (1, 2)), False, LIMITS[:3], None),
    "an N within bounds": (4, NSHAPE, False, LIMITS, None),
    "a peak within bounds": (4, (), True, LIMITS, None),
    "a chain of rewards": (3, ((0, 1), (1, 2)), False, None, REWARDS[:3]),
    "a fork of rewards": (3, FORK, False, None, REWARDS[:3]),
    "an N of rewards": (4, NSHAPE, False, None, REWARDS),
    "a peak of rewards": (4, (), True, None, REWARDS),
    "a peak of rewards within bounds": (4, (), True, LIMITS, REWARDS),
}


def both(name, tolerance=1e-8):
    """Return the ladder and the fractions of what is known."""
    arms, pairs, peak, limits, unit = KNOWN[name]
    exact = paper_structure.exact(arms, pairs, peak, limits, unit)
    floats = None if limits is None else tuple((float(a), float(b)) for a, b in limits)
    rewards = None if unit is None else tuple(map(float, unit))
    return Ladder(arms, pairs, peak, floats, rewards, tolerance), exact


def case(arms, rng, most=4):
    """Return counts from 1 to `most` as pairs and as a state."""
    alpha, beta = rng.integers(1, most + 1, (2, arms)).tolist()
    return tuple(zip(alpha, beta, strict=True)), State(alpha, beta)


def agrees(ladder, exact, counts, state, within=1e-10):
    mean, variance = ladder.mean_and_variance(state)
    for i in range(len(counts)):
        assert mean[i] == pytest.approx(float(exact.mean(counts, i)), abs=within)
        assert variance[i] == pytest.approx(float(exact.variance(counts, i)), abs=within)
    weight = exact.weight(counts)
    right = log(weight.numerator) - log(weight.denominator)
    assert float(ladder.log_weight(state)) == pytest.approx(right, abs=within)


@pytest.mark.parametrize("name", KNOWN)
def test_moments_and_weight_are_the_sums_over_rankings(name):
    ladder, exact = both(name)
    rng = np.random.default_rng(len(name))
    for most in (1, 3, 4):
        counts, state = case(ladder.arms, rng, most)
        agrees(ladder, exact, counts, state)
        assert ladder.error(state) < 1e-9


@settings(max_examples=40)
@given(st.data())
def test_any_order_of_up_to_five_arms(data):
    arms = data.draw(st.integers(2, 5))
    pairs = tuple(pair for pair in combinations(range(arms), 2) if data.draw(st.booleans()))
    names = data.draw(st.permutations(range(arms)))
    pairs = tuple((names[a], names[b]) for a, b in pairs)
    exact = paper_structure.exact(arms, pairs)
    most = 3 if len(exact.rankings) > 20 else 5
    alpha, beta = (data.draw(st.lists(st.integers(1, most), min_size=arms, max_size=arms)) for _ in "ab")
    counts, state = tuple(zip(alpha, beta, strict=True)), State(alpha, beta)
    agrees(Ladder(arms, pairs), exact, counts, state, within=1e-8)
    agrees(Ladder(arms, pairs, tolerance=1e-11), exact, counts, state)


@settings(max_examples=25)
@given(st.data())
def test_any_peak_with_any_order_that_agrees_and_any_bounds(data):
    arms = data.draw(st.integers(3, 4))
    place = data.draw(
        st.sampled_from(paper_structure.without_valley(paper_structure.linear_extensions(arms)))
    )
    # Any part of one ranking with a peak is an order that agrees with a peak.
    pairs = tuple((b, a) for a, b in combinations(place, 2) if data.draw(st.booleans()))
    low = [Fraction(data.draw(st.integers(0, 3)), 10) for _ in range(arms)]
    high = [Fraction(data.draw(st.integers(5, 10)), 10) for _ in range(arms)]
    unit = [Fraction(data.draw(st.integers(5, 10)), 10) for _ in range(arms)]
    limits = tuple(zip(low, high, strict=True))
    exact = paper_structure.exact(arms, pairs, True, limits, unit)
    alpha, beta = (data.draw(st.lists(st.integers(1, 3), min_size=arms, max_size=arms)) for _ in "ab")
    counts = tuple(zip(alpha, beta, strict=True))
    assume(exact.weight(counts) > 0)  # bounds may contradict the order
    ladder = Ladder(
        arms, pairs, True, tuple((float(a), float(b)) for a, b in limits), tuple(map(float, unit))
    )
    agrees(ladder, exact, counts, State(alpha, beta), within=1e-8)
    agrees(replace(ladder, tolerance=1e-11), exact, counts, State(alpha, beta))


@pytest.mark.parametrize("known", REFERENCE["beliefs"], ids=lambda known: known["structure"])
def test_reference_beliefs(known):
    belief = Problem(np.ones(known["arms"]), horizon=5, structure=known["statement"]).belief
    for one in known["cases"]:
        state = State(one["alpha"], one["beta"])
        np.testing.assert_allclose(belief.mean(state), one["mean"], rtol=0, atol=1e-10)
        np.testing.assert_allclose(belief.variance(state), one["variance"], rtol=0, atol=1e-10)
        assert float(belief.log_weight(state)) == pytest.approx(one["log_weight"], abs=1e-10)


@pytest.mark.parametrize("known", REFERENCE["optima"], ids=lambda known: known["structure"])
def test_reference_optima(known):
    statement = {one["structure"]: one["statement"] for one in REFERENCE["beliefs"]}[known["structure"]]
    found = solve(Problem(known["rewards"], horizon=known["horizon"], structure=statement))
    assert found.value == pytest.approx(known["optimal_value"], abs=1e-9)


def states(arms, count, rng, most=30):
    return State(rng.uniform(0.5, most, (count, arms)), rng.uniform(0.5, most, (count, arms)))


@pytest.mark.parametrize("arms", [2, 3, 7, 20])
@pytest.mark.parametrize("way", ["decreasing", "increasing"])
def test_one_path_is_a_chain(arms, way):
    pairs = tuple((k, k + 1) if way == "decreasing" else (k + 1, k) for k in range(arms - 1))
    ladder, chain = Ladder(arms, pairs, tolerance=1e-11), Chain(way, tolerance=1e-12)
    given = states(arms, 6, np.random.default_rng(arms))
    np.testing.assert_allclose(ladder.mean(given), chain.mean(given), rtol=0, atol=1e-10)
    np.testing.assert_allclose(ladder.variance(given), chain.variance(given), rtol=0, atol=1e-10)
    np.testing.assert_allclose(ladder.log_weight(given), chain.log_weight(given), rtol=0, atol=1e-9)
    for level in (0.05, 0.5, 0.9):
        np.testing.assert_allclose(
            ladder.quantile(given, level), chain.quantile(given, level), rtol=0, atol=1e-7
        )


def held(ladder: Ladder, given: State, arm: int, x: float) -> np.ndarray:
    """Return the means given that one arm's is x: bounds hold it within a millionth of its deviation."""
    half = 1e-6 * min(float(np.sqrt(ladder.variance(given)[..., arm].min())), x, 1 - x)
    bounds = [(0.0, 1.0)] * ladder.arms
    bounds[arm] = (x - half, x + half)
    return replace(ladder, bounds=tuple(bounds)).mean(given)


def test_an_arm_held_by_narrow_bounds_keeps_those_above_and_below_apart():
    # Below a known top, leaves of a fork are independent Betas cut off there.
    for x in (0.3, 0.7):
        fork = held(Ladder(3, FORK), State([2, 3, 1], [2, 2, 4]), 0, x)
        for arm, (a, b) in ((1, (3, 2)), (2, (1, 4))):
            cut = a / (a + b) * stats.beta.cdf(x, a + 1, b) / stats.beta.cdf(x, a, b)
            assert fork[arm] == pytest.approx(cut, abs=1e-6)
        assert fork[0] == pytest.approx(x, abs=1e-6)


def test_means_given_an_arm_average_to_the_mean():
    given, ladder = State([2, 3, 1, 2], [2, 1, 3, 2]), Ladder(4, NSHAPE)
    levels = (np.arange(200) + 0.5) / 200
    at = np.array(abilities.quantiles(ladder, given, tuple(levels)))[:, 1]
    means = np.mean([held(ladder, given, 1, x) for x in at.tolist()], axis=0)
    np.testing.assert_allclose(means, ladder.mean(given), rtol=0, atol=1e-3)


def test_special_cases_are_what_they_should_be():
    def belief(structure, arms):
        return Problem(np.ones(arms), horizon=3, structure=structure).belief

    assert belief(grid(1, 4), 4) == belief(decreasing(), 4) == Chain("decreasing")
    assert belief(grid(4, 1), 4) == Chain("decreasing")
    assert belief(order([(3, 2), (2, 1)]), 3) == Chain("increasing")
    assert belief(order([(1, 2), (2, 3), (1, 3)]), 3) == Chain("decreasing")
    assert belief(mixture([(1, decreasing())]), 3) == Chain("decreasing")
    for nothing in (free(), order([]), bounds([(0, 1), None, (0, 1)]), {}, None, "free"):
        assert belief(nothing, 3) == Independent()
    assert belief(unimodal(), 2) == Independent()
    assert belief(decreasing() & bounds([(0, 1), (0, 1)]), 2) == Chain("decreasing")
    assert belief(grid(2, 3), 6).nodes == belief(grid(3, 2), 6).nodes == 9  # the sets but the empty one
    given = State([2, 3, 4], [1, 5, 2])
    np.testing.assert_allclose(
        Ladder(3, bounds=((0, 1),) * 3).mean(given), Independent().mean(given), rtol=0, atol=1e-12
    )


def test_a_mixture_of_the_same_is_the_same():
    ladder, prior = Ladder(3, FORK), np.ones((3, 2))
    given = states(3, 5, np.random.default_rng(0))
    same = Mixture((ladder, ladder), (0.3, 0.7), prior)
    np.testing.assert_allclose(same.mean(given), ladder.mean(given), rtol=0, atol=1e-14)
    np.testing.assert_allclose(same.variance(given), ladder.variance(given), rtol=0, atol=1e-14)
    np.testing.assert_allclose(same.chances(given), [[0.3, 0.7]] * 5, rtol=0, atol=1e-12)


def weighing(name):
    """Return a belief that weighs, and a prior from which its states begin."""
    rng = np.random.default_rng(5)
    draws = rng.beta(2, 2, (50, 4))
    if name == "mixture":
        return Mixture(
            (Ladder(4, NSHAPE), Independent(), Ladder(4, unimodal=True)), (0.5, 0.2, 0.3), np.ones((4, 2))
        )
    if name == "samples":
        return Samples(draws, np.ones((4, 2)))
    if name == "weighted samples":
        return Samples(draws, np.ones((4, 2)), rng.random(50))
    if name == "kept":
        return Problem(np.ones(4), horizon=3, structure=order([(1, 2)]).by("keep")).belief
    if name == "gap":
        return Problem(np.ones(4), horizon=3, structure={"gaps": [[1, 2, 0.1]]}).belief
    return both(name)[0]


@pytest.mark.parametrize(
    "name",
    [*(k for k, v in KNOWN.items() if v[0] == 4), "mixture", "samples", "weighted samples", "kept", "gap"],
)
def test_weights_split_into_success_and_failure(name):
    belief = weighing(name)
    rng = np.random.default_rng(1)
    alpha, beta = rng.integers(1, 9, (2, 10, 4)).astype(float)
    given = State(alpha, beta)
    here = belief.log_weight(given)
    for i in range(4):
        one = np.arange(4) == i
        won, lost = belief.log_weight(State(alpha + one, beta)), belief.log_weight(State(alpha, beta + one))
        np.testing.assert_allclose(np.logaddexp(won, lost), here, rtol=0, atol=2e-9)
        if name not in ("kept", "gap"):  # whose means come from points of the state, not of the prior
            np.testing.assert_allclose(np.exp(won - here), belief.mean(given)[:, i], rtol=0, atol=1e-8)


def holds(name, means):
    """Whether means are possible, said plainly."""
    _, pairs, peak, limits, unit = KNOWN[name]
    worth = means * (1 if unit is None else np.array(unit, float))
    good = np.ones(len(means), dtype=bool)
    for a, b in pairs:
        good &= worth[:, a] >= worth[:, b]
    if peak:
        for j in range(1, means.shape[1] - 1):
            good &= worth[:, j] >= np.minimum(worth[:, :j].max(axis=1), worth[:, j + 1 :].max(axis=1))
    for i, (low, high) in enumerate(limits or ()):
        good &= (means[:, i] >= float(low)) & (means[:, i] <= float(high))
    return good


def distances(found, weight, mean, variance):
    """Return by how many standard errors means of draws are off."""
    return (found - mean) / np.sqrt(variance / weight)


def test_draws_hold_and_have_the_exact_moments():
    """Over all that is known and several states: standard scores of means, of squares, of products."""
    scores, count = [], 4000
    for name in KNOWN:
        ladder, _ = both(name)
        rng = np.random.default_rng(20)
        for _ in range(3):
            given = states(ladder.arms, 1, rng, 6)
            mean, variance = (x[0] for x in ladder.mean_and_variance(given))
            repeated = State(np.repeat(given.alpha, count, axis=0), np.repeat(given.beta, count, axis=0))
            drawn = ladder.draw(repeated, rng)
            assert holds(name, drawn).all(), name
            scores += distances(drawn.mean(axis=0), count, mean, variance).tolist()
            squares = (drawn - mean) ** 2
            scores += ((squares.mean(axis=0) - variance) / (squares.std(axis=0) / np.sqrt(count))).tolist()
    scores = np.array(scores)
    assert len(scores) > 400
    assert np.abs(scores).max() < 4.5
    assert 0.8 < scores.std() < 1.2


def test_products_of_draws_have_the_exact_means():
    """E[mu_i mu_j] = W(s + success_i + success_j) / W(s)."""
    scores, count = [], 20_000
    for name in ("a fork", "an N", "a diamond", "a peak of four", "two pairs", "an N of rewards"):
        ladder, exact = both(name)
        counts, given = case(ladder.arms, np.random.default_rng(3))
        repeated = State(np.tile(given.alpha, (count, 1)), np.tile(given.beta, (count, 1)))
        drawn = ladder.draw(repeated, np.random.default_rng(4))
        for i, j in combinations(range(ladder.arms), 2):
            product = drawn[:, i] * drawn[:, j]
            right = exact.weight(paper.success(paper.success(counts, i), j)) / exact.weight(counts)
            scores.append((product.mean() - float(right)) / (product.std() / np.sqrt(count)))
    assert np.abs(scores).max() < 4


def test_draws_of_many_states_are_each_from_its_own():
    ladder, rng = Ladder(3, FORK), np.random.default_rng(0)
    few = states(3, 4, rng, 20)
    which = rng.integers(0, 4, 12_000)
    drawn = ladder.draw(State(few.alpha[which], few.beta[which]), rng)
    mean, variance = ladder.mean_and_variance(few)
    for k in range(4):
        here = drawn[which == k]
        assert np.abs(distances(here.mean(axis=0), len(here), mean[k], variance[k])).max() < 4
    again = Ladder(3, FORK).draw(State(few.alpha[which], few.beta[which]), np.random.default_rng(9))
    same = Ladder(3, FORK).draw(State(few.alpha[which], few.beta[which]), np.random.default_rng(9))
    np.testing.assert_array_equal(again, same)


@pytest.mark.parametrize(
    "name", ["a fork", "a diamond", "an N within bounds", "a peak of rewards", "two pairs"]
)
def test_points_have_the_means_to_less_than_draws_have(name):
    ladder, _ = both(name)
    given = states(ladder.arms, 2, np.random.default_rng(2), 8)
    theta, weight = ladder.points(given, 2000)
    assert theta.shape == (2, 2048, ladder.arms)
    assert holds(name, theta.reshape(-1, ladder.arms)).all()
    mean, variance = ladder.mean_and_variance(given)
    error = (weight[..., None] * theta).sum(axis=-2) - mean
    assert (np.abs(error) < 0.7 * np.sqrt(variance / 2048)).all()


@pytest.mark.parametrize("name", KNOWN)
def test_quantiles_are_those_of_the_distribution(name):
    """P(mu_i <= x) is W with the limits of arm i cut off at x, over W."""
    ladder, _ = both(name)
    arms = ladder.arms
    given = states(arms, 1, np.random.default_rng(7), 6)
    whole = ladder.bounds or ((0.0, 1.0),) * arms
    levels = (0.05, 0.5, 0.975)
    mean, found = ladder.marginals(given, levels)
    np.testing.assert_allclose(mean, ladder.mean(given), rtol=0, atol=1e-9)
    for level, places in zip(levels, found, strict=True):
        for i in range(arms):
            cut = (*whole[:i], (whole[i][0], float(places[0, i])), *whole[i + 1 :])
            less = Ladder(arms, ladder.order, ladder.unimodal, cut, ladder.rewards)
            share = np.exp(less.log_weight(given) - ladder.log_weight(given))[0]
            assert share == pytest.approx(level, abs=2e-6)
        np.testing.assert_array_equal(ladder.quantile(given, level), places)


BEST = [name for name, known in KNOWN.items() if known[0] <= 4 and name != "bounds"]


@pytest.mark.parametrize("name", BEST)
def test_the_expected_largest_is_exact_and_the_chances_are_those_of_kept_draws(name):
    ladder, exact = both(name)
    rng = np.random.default_rng(11)
    counts, given = case(ladder.arms, rng, 3 if ladder.arms < 4 else 2)
    rewards = REWARDS[: ladder.arms]
    payoff = np.array(rewards, float)
    chance, largest, error = ladder.best_with_error(given, payoff)
    assert error < 1e-6
    assert float(largest) == pytest.approx(float(exact.expected_largest(counts, rewards)), abs=1e-8)
    assert chance.sum() == pytest.approx(1, abs=1e-7)
    drawn = paper_structure.rejected_draws(
        lambda means: holds(name, means), given.alpha, given.beta, 300_000, rng
    )
    share = np.bincount((payoff * drawn).argmax(axis=1), minlength=ladder.arms) / len(drawn)
    spread = np.sqrt(np.maximum(chance * (1 - chance), 1e-12) / len(drawn))
    assert (np.abs(share - chance) < 4.5 * spread + 1e-9).all()


def test_with_many_messages_the_best_is_counted_among_points():
    ladder = Problem(np.ones(30), horizon=3, structure=grid(5, 6)).belief
    assert ladder.nodes > 400
    given = State(np.ones(30), np.ones(30))
    payoff = np.linspace(0.5, 1, 30)
    chance, largest, error = ladder.best_with_error(given, payoff)
    repeated = State(np.ones((3000, 30)), np.ones((3000, 30)))
    worth = payoff * ladder.draw(repeated, np.random.default_rng(0))
    share = np.bincount(worth.argmax(axis=1), minlength=30) / 3000
    assert np.abs(share - chance).max() < 4 * (float(error) + 0.5 / np.sqrt(3000))
    assert largest == pytest.approx(worth.max(axis=1).mean(), abs=4 * worth.max(axis=1).std() / np.sqrt(3000))


@settings(max_examples=30)
@given(st.data())
def test_means_are_in_order_within_bounds_and_fall_with_failures(data):
    arms = data.draw(st.integers(2, 5))
    pairs = tuple(pair for pair in combinations(range(arms), 2) if data.draw(st.booleans()))
    counts = st.lists(st.floats(0.05, 1e4), min_size=arms, max_size=arms)
    alpha, beta = data.draw(counts), data.draw(counts)
    ladder = Ladder(arms, pairs)
    mean = ladder.mean(State(alpha, beta))
    assert ((mean > 0) & (mean < 1)).all()
    for a, b in pairs:
        assert mean[a] >= mean[b] - 1e-7
    more = [beta[0] + 1, *beta[1:]]
    assert ladder.mean(State(alpha, more))[0] <= mean[0] + 1e-7


@settings(max_examples=30)
@given(st.data())
def test_the_names_of_arms_do_not_matter(data):
    arms = data.draw(st.integers(2, 5))
    pairs = tuple(pair for pair in combinations(range(arms), 2) if data.draw(st.booleans()))
    turn = data.draw(st.permutations(range(arms)))
    counts = st.lists(st.floats(0.3, 300), min_size=arms, max_size=arms)
    alpha, beta = np.array(data.draw(counts)), np.array(data.draw(counts))
    mean = Ladder(arms, pairs).mean(State(alpha, beta))
    new = np.empty(arms, dtype=int)
    new[list(turn)] = np.arange(arms)  # arm k is called new[k]
    renamed = Ladder(arms, tuple((int(new[a]), int(new[b])) for a, b in pairs))
    np.testing.assert_allclose(
        renamed.mean(State(alpha[list(turn)], beta[list(turn)])), mean[list(turn)], rtol=0, atol=1e-8
    )


def test_arms_that_are_not_connected_do_not_matter_to_one_another():
    whole = Ladder(5, ((0, 1), (0, 2), (3, 4)))
    given = states(5, 6, np.random.default_rng(3), 200)
    left = Ladder(3, FORK).mean(State(given.alpha[:, :3], given.beta[:, :3]))
    right = Chain().mean(State(given.alpha[:, 3:], given.beta[:, 3:]))
    np.testing.assert_allclose(whole.mean(given), np.hstack([left, right]), rtol=0, atol=1e-8)


def test_groups_that_no_pair_connects_have_beliefs_of_their_own():
    groups, bounded = ((4, 1, 0), (2,), (3, 5)), ((0.1, 0.9), *((0.0, 1.0),) * 5)
    ladder = Ladder(6, order=((4, 1), (4, 0), (1, 0), (5, 3)))
    parts = ladder.apart(groups)
    assert parts == (Chain("decreasing"), Independent(), Chain("increasing"))
    assert isinstance(replace(ladder, bounds=bounded).apart(groups)[0], Ladder)
    counts = np.random.default_rng(3).integers(1, 30, (2, 4, 6)).astype(float)
    mean = ladder.mean(State(*counts))
    weight = 0.0
    for group, part in zip(groups, parts, strict=True):
        own = State(*counts[..., list(group)])
        assert part.mean(own) == pytest.approx(mean[:, list(group)], abs=1e-7)
        weight = weight + part.log_weight(own)
    assert weight == pytest.approx(ladder.log_weight(State(*counts)), abs=1e-6)
    assert abilities.apart(ladder, ((0, 1, 2), (3, 4, 5))) is None
    assert abilities.apart(Ladder(3, unimodal=True), ((0, 1), (2,))) is None
    assert abilities.apart(Independent(), ((0,), (1,))) is None


def test_batches_of_any_shape_are_their_states():
    ladder = Ladder(4, DIAMOND)
    given = states(4, 6, np.random.default_rng(8))
    shaped = State(given.alpha.reshape(2, 3, 4), given.beta.reshape(2, 3, 4))
    for method in ("mean", "variance", "log_weight", "error"):
        flat, deep = getattr(ladder, method)(given), getattr(ladder, method)(shaped)
        np.testing.assert_array_equal(deep.reshape(flat.shape), flat)
    assert ladder.draw(shaped, np.random.default_rng(0)).shape == (2, 3, 4)
    assert ladder.quantile(shaped, 0.3).shape == (2, 3, 4)
    assert ladder.points(shaped, 10)[0].shape == (2, 3, 16, 4)
    chance, largest = ladder.best(shaped, np.ones(4))
    assert chance.shape == (2, 3, 4)
    assert largest.shape == (2, 3)


def test_how_many_messages_a_structure_has():
    def nodes(arms, pairs=(), peak=False):
        return sum(part.nodes for part in rankings(arms, tuple(pairs), peak))

    assert nodes(12, paper_structure.grid_pairs(3, 4)) == 34
    assert nodes(40, paper_structure.grid_pairs(5, 8)) == 1286
    assert nodes(50, [(0, k) for k in range(1, 50)]) == 50  # a star is a tree: a message for each pair
    assert nodes(20, peak=True) <= 20 * 21 / 2


def test_a_circle_names_its_arms():
    with pytest.raises(InvalidInputError, match=r"circle, got arm 1 >= arm 2 >= arm 3 >= arm 1"):
        Ladder(3, ((0, 1), (1, 2), (2, 0))).mean(State([1, 1, 1], [1, 1, 1]))


def test_a_state_of_other_arms_is_refused():
    with pytest.raises(InvalidInputError, match="3 arms, got a state of 2"):
        Ladder(3, FORK).mean(State([1, 1], [1, 1]))
    with pytest.raises(InvalidInputError, match=r"tolerance must lie between 1e-12 and 1e-3, got 1\.0"):
        Ladder(3, FORK, tolerance=1.0)
