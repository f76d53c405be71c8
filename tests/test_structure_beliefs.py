"""Beliefs under statements: every method against the exact one, draws of a prior, mixtures, evidence."""

import os

import numpy as np
import polars
import pytest

import elsv
from elsv import Chain, CorruptFileError, InvalidInputError, Problem, State
from elsv.beliefs import Gibbs, Independent, Kept, Mixture
from elsv.beliefs.ladder.ranking import TooWideError
from elsv.beliefs.points import joint_points
from elsv.structure import (
    bounds,
    decreasing,
    free,
    gap,
    grid,
    increasing,
    logistic,
    mixture,
    order,
    samples,
    unimodal,
    where,
)
from elsv.structure.evidence import evidence, predictive
from structures import FORK
from test_structure import DRAWS, NAMES, TOML, problem

STATE = State([4, 2, 3], [2, 2, 5])


@pytest.mark.parametrize("stated", [decreasing(), FORK, grid(3, 1), order([(2, 1), (3, 1)])])
@pytest.mark.parametrize("limits", [None, [(0.2, 0.9), None, (0, 0.6)]])
@pytest.mark.parametrize("way", ["keep", "gibbs"])
def test_every_method_agrees_with_the_exact_one(stated, limits, way):
    whole = stated if limits is None else stated & bounds(limits)
    exact, drawn = problem(whole.by("exact")).belief, problem(whole.by(way)).belief
    assert isinstance(drawn, Kept if way == "keep" else Gibbs)
    error = float(drawn.error(STATE))
    assert 0 < error < 0.02
    np.testing.assert_allclose(drawn.mean(STATE), exact.mean(STATE), rtol=0, atol=4 * error)
    np.testing.assert_allclose(
        np.sqrt(drawn.variance(STATE)), np.sqrt(exact.variance(STATE)), rtol=0.06, atol=0
    )
    rewards = [0.6, 0.8, 1.0]
    chance, largest = drawn.best(STATE, rewards)
    right, best = exact.best(STATE, rewards)
    np.testing.assert_allclose(chance, right, rtol=0, atol=0.05)
    assert float(largest) == pytest.approx(float(best), abs=0.02)
    if way == "gibbs":
        assert drawn.r_hat(STATE) < 1.05


def test_gibbs_on_a_grid_is_the_ladder():
    stated = problem(grid(3, 4).by("gibbs"), 12).belief
    state = State(np.arange(1, 13), np.arange(12, 0, -1))  # against the order
    np.testing.assert_allclose(
        stated.mean(state),
        problem(grid(3, 4), 12).belief.mean(state),
        rtol=0,
        atol=5 * float(stated.error(state)),
    )


def crossing(rungs):
    """Return two rows of arms, each upper one above two lower ones: a ladder far too wide."""
    return order([(k + 1, rungs + (k + shift) % rungs + 1) for k in range(rungs) for shift in (0, 7)])


def test_wide_orders_fall_back_to_draws_that_hold():
    stated = problem(crossing(20), 40)
    belief = stated.belief
    assert isinstance(belief, Kept | Gibbs)
    with pytest.raises(TooWideError, match="more than 50,000 sets of smallest arms; state more"):
        _ = problem(crossing(20).by("exact"), 40).belief
    rng = np.random.default_rng(0)
    state = State(rng.integers(1, 5, 40), rng.integers(1, 5, 40))
    gibbs = Gibbs(40, stated.structure.facts(stated.structure.offers).order)
    error = np.hypot(float(belief.error(state)), float(gibbs.error(state)))
    np.testing.assert_allclose(belief.mean(state), gibbs.mean(state), rtol=0, atol=5 * error)
    drawn = belief.draw(State(np.tile(state.alpha, (50, 1)), np.tile(state.beta, (50, 1))), rng)
    assert stated.structure.holds(drawn).all()


def test_draws_that_too_few_meet_are_refused_with_the_remedy():
    narrow = problem(where(lambda means: np.ptp(means, axis=-1) < 1e-3, "all but the same"))
    with pytest.raises(
        InvalidInputError, match=r"at least 0\.5% of the draws must meet.*put it into a mixture"
    ):
        narrow.belief.mean(STATE)


def test_a_gap_is_that_of_kept_draws():
    belief = problem(gap(1, 2, 0.3)).belief
    drawn = np.random.default_rng(0).beta(STATE.alpha, STATE.beta, (400_000, 3))
    drawn = drawn[drawn[:, 0] >= drawn[:, 1] + 0.3]
    error = np.hypot(float(belief.error(STATE)), 0.5 / np.sqrt(len(drawn)))
    np.testing.assert_allclose(belief.mean(STATE), drawn.mean(axis=0), rtol=0, atol=3 * error)
    order_too = problem(gap(1, 2, 0.0)).belief.mean(STATE)
    np.testing.assert_allclose(order_too, problem(order([(1, 2)])).belief.mean(STATE), rtol=0, atol=1e-3)


@pytest.mark.parametrize("arms", [1, 2, 3, 4])
def test_a_condition_that_always_holds_changes_nothing(arms):
    always = where(lambda means: means[..., 0] >= 0, "always")
    state = State([6, 1, 1, 2][:arms], [1, 5, 1, 3][:arms])
    draws = np.random.default_rng(0).beta(2, 2, (500, arms))
    for stated in (
        free(),
        decreasing(),
        unimodal(),
        samples(draws),
        mixture([(0.4, decreasing()), (0.6, free())]),
    ):
        plain, kept = problem(stated, arms).belief, problem(stated & always, arms).belief
        assert isinstance(kept, Kept)
        np.testing.assert_allclose(kept.mean(state), plain.mean(state), rtol=0, atol=5e-4)
        variance = elsv.beliefs.abilities.variance(plain, state)
        np.testing.assert_allclose(kept.variance(state), variance, rtol=0.01, atol=1e-6)


def test_a_condition_that_leaves_few_of_a_planners_points():
    narrow = problem(where(lambda means: np.ptp(means, axis=-1) < 0.1, "close together"))
    assert 0.005 < float(narrow.belief.acceptance(STATE)) < 0.1
    theta, weight = narrow.belief.points(STATE, 128)
    assert narrow.structure.holds(theta[weight > 0]).all()
    assert (weight > 0).sum() > 80
    assert weight.sum() == pytest.approx(1)


# Draws of a prior.


def test_samples_come_as_arrays_files_and_chains(tmp_path):
    plain = problem(samples(DRAWS)).belief.mean(STATE)
    np.save(tmp_path / "d.npy", DRAWS)
    polars.DataFrame(DRAWS, schema=NAMES).write_parquet(tmp_path / "d.parquet")
    np.savetxt(tmp_path / "d.csv", DRAWS, delimiter=",", header=",".join(NAMES), comments="")
    np.savetxt(tmp_path / "bare.csv", DRAWS, delimiter=",")
    for given in (
        DRAWS.tolist(),
        DRAWS.reshape(4, 100, 3),
        DRAWS.reshape(2, 2, 100, 3),
        *(tmp_path / name for name in ("d.npy", "d.parquet", "d.csv", "bare.csv")),
        str(tmp_path / "d.npy"),
    ):
        np.testing.assert_allclose(problem(samples(given)).belief.mean(STATE), plain, rtol=0, atol=1e-12)


def test_files_of_samples_are_found_beside_the_problem_and_from_anywhere(tmp_path, monkeypatch):
    folder = tmp_path / "inner"
    folder.mkdir()
    np.save(folder / "d.npy", np.c_[DRAWS, DRAWS[:, 0]])
    (folder / "p.toml").write_text(TOML + 'samples = "d.npy"')
    (folder / "w.toml").write_text(TOML + f'samples = {{path = "d.npy", weights = {list(range(400))}}}')
    (folder / "m.toml").write_text(TOML + 'mixture = [[0.5, {samples = "d.npy"}], [0.5, "free"]]')
    for name in ("p", "w", "m"):
        read = Problem.load(folder / f"{name}.toml")
        read.save(tmp_path / "copy.toml")
        assert Problem.load(tmp_path / "copy.toml") == read
    monkeypatch.chdir(folder)
    relative = problem(samples("d.npy"), 4)
    monkeypatch.chdir(tmp_path)
    relative.save(tmp_path / "copy.toml")
    assert Problem.load(os.path.join(".", "copy.toml")) == relative


def test_a_saved_problem_keeps_its_draws_in_a_file_beside_it(tmp_path):
    folder = tmp_path / "a"
    weighted = samples(DRAWS[::-1], np.arange(400.0))
    several = mixture([(0.3, samples(DRAWS)), (0.5, weighted), (0.2, samples(DRAWS))])
    for k, structure in enumerate((samples(DRAWS), weighted, several)):
        stated = problem(structure)
        stated.save(folder / f"p{k}.toml")
        assert f"p{k}.draws.npy" in (folder / f"p{k}.toml").read_text()
        assert (folder / f"p{k}.draws.npy").exists()
        read = Problem.load(folder / f"p{k}.toml")
        assert read == stated
        assert read.structure == stated.structure
        assert read.belief.mean(STATE) == pytest.approx(stated.belief.mean(STATE), abs=0)
    assert sorted(p.name for p in folder.glob("p2*")) == ["p2.draws.npy", "p2.draws2.npy", "p2.toml"]
    read.save(folder / "again.toml")  # its draws are in this folder already
    assert not list(folder.glob("again.draws*"))
    folder.rename(tmp_path / "b")  # the folder may be moved
    assert Problem.load(tmp_path / "b" / "again.toml") == read
    assert problem(samples(DRAWS)) != problem(samples(DRAWS[::-1]))
    assert problem(samples(DRAWS)) != stated


def test_more_draws_than_a_file_of_text_holds_are_saved_too(tmp_path, monkeypatch):
    monkeypatch.setattr("elsv.structure.drawn._INLINE", 100)
    many = problem(samples(DRAWS))
    with pytest.raises(InvalidInputError, match="too many for a problem's file"):
        many.to_dict()
    many.save(tmp_path / "many.toml")
    read = Problem.load(tmp_path / "many.toml")
    assert read == many
    assert "'samples': '400 draws'" in repr(many)
    assert many.order is None
    found = elsv.compare(
        many, [elsv.make_policy("greedy", read)], instances=4
    )  # the same draws are the same problem
    assert found.source == "drawn from the prior, the means are one of 400 joint draws"


def test_statements_that_no_file_holds_can_be_compared():
    both = problem(unimodal() & unimodal(on="reward"))
    with pytest.raises(InvalidInputError, match="two statements of unimodal cannot be written as one"):
        both.to_dict()
    assert both.order is None
    assert "single peak" in elsv.compare(both, ["greedy"], instances=4).source


def test_weights_of_draws_count_and_are_saved_with_a_path(tmp_path):
    np.save(tmp_path / "d.npy", DRAWS)
    weights = np.r_[np.ones(200), np.zeros(200)]
    for given in (DRAWS, tmp_path / "d.npy"):
        stated = problem(samples(given, weights))
        np.testing.assert_allclose(
            stated.belief.mean(STATE), problem(samples(DRAWS[:200])).belief.mean(STATE), rtol=0, atol=1e-12
        )
        assert problem(stated.structure.to_dict()).structure == stated.structure


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.npy", b"no"),
        ("x.parquet", b"no"),
        ("x.csv", b"a,b\n0.1,x\n"),
        ("x.csv", b""),
        ("x.csv", b"a,b\n"),
        ("x.csv", b"a,b\n0.1\n.2,.3\n"),
    ],
)
def test_files_that_are_no_tables_are_refused(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CorruptFileError, match=rf"{name} is not a"):
        samples(tmp_path / name)


@pytest.mark.parametrize("count", [64, 1000])
def test_few_points_of_many_draws_stand_for_them_all(count):
    """Also of draws that are evenly spread themselves, and of draws that were sorted."""
    spread = logistic([1, 2, 3]).curves()
    for draws in (spread, spread[np.lexsort(spread.T)], np.random.default_rng(0).beta(2, 2, (9000, 3))):
        belief = problem(samples(draws)).belief
        for state in (State([1, 1, 1], [1, 1, 1]), STATE, State([30, 1, 1], [70, 1, 1])):
            theta, weight = belief.points(state, count)
            assert theta.shape == (count, 3)
            spread_of = np.sqrt(belief.variance(state) / count)
            assert (np.abs(weight @ theta - belief.mean(state)) < 2.5 * spread_of).all()
            half = theta[: count // 2].mean(axis=0)
            assert (np.abs(half - belief.mean(state)) < 4.5 * spread_of).all()


def test_too_many_draws_for_a_file_ask_for_a_path():
    stated = problem(samples(np.full((400_000, 3), 0.5)))
    with pytest.raises(InvalidInputError, match="too many for a problem's file; save the draws"):
        stated.to_dict()


def test_samples_are_a_discrete_prior():
    draws, weights = np.array([[0.2, 0.1], [0.6, 0.5], [0.4, 0.9]]), np.array([1.0, 2.0, 1.0])
    belief = problem(samples(draws, weights), 2).belief
    state = State([3, 1], [1, 2])  # two successes of the first arm, a failure of the second
    post = weights * draws[:, 0] ** 2 * (1 - draws[:, 1])
    post /= post.sum()
    np.testing.assert_allclose(belief.mean(state), post @ draws, rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        belief.variance(state), post @ draws**2 - (post @ draws) ** 2, rtol=0, atol=1e-14
    )
    likely = (weights / 4 * draws[:, 0] ** 2 * (1 - draws[:, 1])).sum()
    assert float(belief.log_weight(state)) == pytest.approx(np.log(likely), abs=1e-13)
    assert float(belief.effective(state)) == pytest.approx(1 / (post**2).sum())
    chance, largest = belief.best(state, [1.0, 0.8])
    np.testing.assert_allclose(chance, [post[0] + post[1], post[2]], rtol=0, atol=1e-14)
    assert float(largest) == pytest.approx(post @ [0.2, 0.6, 0.72])
    assert belief.quantile(state, 0.999).tolist() == [0.6, 0.9]
    for stated in (0.0, 1.0):  # draws at the ends
        edge = problem(samples([[stated, 0.5], [0.5, 0.5]]), 2).belief
        after = edge.mean(State([2, 1], [2, 1]))
        np.testing.assert_allclose(after, [0.5, 0.5], rtol=0, atol=1e-12)


def test_few_draws_left_are_told(caplog):
    belief = problem(samples(np.random.default_rng(0).random((1000, 3)))).belief
    with caplog.at_level("INFO", logger="elsv"):
        belief.mean(State([40, 1, 1], [60, 1, 1]))
    assert "of the 1,000 draws of the prior still count" in caplog.text
    assert belief.effective(State([40, 1, 1], [60, 1, 1])) < 300


def test_a_demand_curve_is_what_its_words_say():
    prices = [10, 15, 20]
    stated = logistic(prices, conversion=(0.1, 0.4), odds_fall=(2, 20))
    curves = stated.curves()
    assert problem(stated).structure.holds(curves).all()
    assert (np.diff(curves, axis=1) < 0).all()
    np.testing.assert_allclose(np.quantile(curves[:, 1], [0.05, 0.95]), [0.1, 0.4], rtol=0, atol=2e-3)
    odds = curves / (1 - curves)
    np.testing.assert_allclose(np.quantile(odds[:, 0] / odds[:, 2], [0.05, 0.95]), [2, 20], rtol=5e-3)
    np.testing.assert_allclose(np.log(odds[:, 0] * odds[:, 2]), 2 * np.log(odds[:, 1]), atol=1e-8)
    belief = problem(stated).belief
    before, after = belief.mean(State([1, 1, 1], [1, 1, 1])), belief.mean(State([9, 1, 1], [3, 1, 1]))
    assert (after > before).all()  # a sale at one price speaks for the others


# Mixtures, and what data say.


def test_a_mixture_weighs_its_parts_by_the_data():
    """One success of the second of two arms: 1/3 under the order, 1/2 without."""
    belief = Mixture((Chain(), Independent()), (0.9, 0.1), np.ones((2, 2)))
    state = State([1, 2], [1, 1])
    ordered, nothing = 0.9 / 3, 0.1 / 2
    share = ordered / (ordered + nothing)
    np.testing.assert_allclose(belief.chances(state), [share, 1 - share], atol=1e-9)
    assert np.exp(belief.log_weight(state)) == pytest.approx(ordered + nothing, abs=1e-9)
    # Given the order and the success: μ₁ has mean 3/4, μ₂ 1/2.
    expected = share * np.array([3 / 4, 1 / 2]) + (1 - share) * np.array([1 / 2, 2 / 3])
    np.testing.assert_allclose(belief.mean(state), expected, atol=1e-8)


def test_a_mixture_learns_which_part_is_right():
    stated = problem(mixture([(0.5, decreasing()), (0.5, increasing())]))
    assert stated.belief.chances(State([1, 1, 1], [1, 1, 1])).tolist() == pytest.approx([0.5, 0.5])
    for state, right in ((State([9, 5, 1], [1, 5, 9]), 0), (State([1, 5, 9], [9, 5, 1]), 1)):
        assert stated.belief.chances(state)[right] > 0.999
        part = Chain(("decreasing", "increasing")[right])
        np.testing.assert_allclose(stated.belief.mean(state), part.mean(state), rtol=0, atol=1e-3)
    middle = stated.belief.quantile(STATE, 0.5)
    drawn = stated.belief.draw(
        State(np.tile(STATE.alpha, (20_000, 1)), np.tile(STATE.beta, (20_000, 1))), np.random.default_rng(0)
    )
    np.testing.assert_allclose((drawn <= middle).mean(axis=0), 0.5, rtol=0, atol=0.015)
    np.testing.assert_allclose(drawn.var(axis=0), stated.belief.variance(STATE), rtol=0.06, atol=0)
    chance, largest = stated.belief.best(STATE, [0.6, 0.8, 1.0])
    worth = drawn * [0.6, 0.8, 1.0]
    np.testing.assert_allclose(np.bincount(worth.argmax(axis=1)) / 20_000, chance, rtol=0, atol=0.015)
    assert float(largest) == pytest.approx(worth.max(axis=1).mean(), abs=0.01)


def test_a_mixture_of_mixtures_is_one_mixture():
    inner = mixture([(0.5, decreasing()), (0.5, increasing())])
    nested = problem(mixture([(0.6, inner), (0.4, free())])).belief
    flat = problem(mixture([(0.3, decreasing()), (0.3, increasing()), (0.4, free())])).belief
    np.testing.assert_allclose(nested.mean(STATE), flat.mean(STATE), rtol=0, atol=1e-12)
    assert float(nested.log_weight(STATE)) == pytest.approx(float(flat.log_weight(STATE)), abs=1e-10)


def test_quantiles_of_deep_mixtures_ask_each_part_once():
    """They were asked once for each level of a table of 401, at every depth: three deep took minutes."""
    asked = []

    class Counting(Independent):
        def quantile(self, state, level):
            asked.append(level)
            return super().quantile(state, level)

    state = State([3, 2], [2, 4])
    deep = Chain()
    for _ in range(4):
        deep = Mixture((deep, Counting()), (0.5, 0.5), np.ones((2, 2)))
    flat = Mixture((Chain(), Independent()), (1 / 16, 15 / 16), np.ones((2, 2)))
    np.testing.assert_allclose(deep.quantile(state, 0.1), flat.quantile(state, 0.1), atol=3e-5)
    assert len(asked) == 4 * 401
    means, both = deep.marginals(state, (0.1, 0.9))
    np.testing.assert_array_equal(both, [deep.quantile(state, 0.1), deep.quantile(state, 0.9)])
    np.testing.assert_array_equal(means, deep.mean(state))


@pytest.mark.parametrize("arms", [None, np.array([0, 1]), np.array([0, 2])], ids=str)
def test_points_of_a_mixture_have_the_weights_of_the_states_below(arms):
    belief = problem(mixture([(0.6, decreasing()), (0.3, increasing()), (0.1, free())])).belief
    theta, weight = joint_points(belief, STATE, 3 * 768, arms)
    chosen = np.arange(3) if arms is None else arms
    for won, lost in (([0, 0, 0], [0, 0, 0]), ([1, 0, 2], [0, 2, 1]), ([0, 0, 4], [1, 0, 0])):
        won, lost = (np.where(np.isin(np.arange(3), chosen), more, 0) for more in (won, lost))
        found = weight @ (theta ** won[chosen] * (1 - theta) ** lost[chosen]).prod(axis=-1)
        after = State(STATE.alpha + won, STATE.beta + lost)
        exact = np.exp(float(belief.log_weight(after)) - float(belief.log_weight(STATE)))
        assert found == pytest.approx(exact, rel=1e-6)
    if arms is None:
        # Those that share the second arm's mean stand together: a search takes them as one.
        assert (np.diff(theta[:, 1]) != 0).sum() < 60


def test_points_of_one_arm_of_a_mixture_know_the_means_of_the_others():
    belief = problem(mixture([(0.6, decreasing()), (0.4, free())])).belief
    batch = State(np.stack([STATE.alpha, STATE.beta]), np.stack([STATE.beta, STATE.alpha]))
    theta, weight = belief.arm_points(batch, 16)
    assert theta.shape == (2, 3, 32, 3)
    np.testing.assert_allclose(weight.sum(axis=-1), 1, rtol=1e-12)
    means = np.einsum("bik,bikl->bil", weight, theta)
    np.testing.assert_allclose(means, np.repeat(belief.mean(batch)[:, None], 3, axis=1), rtol=0, atol=1e-6)
    mean, variance = belief.mean_and_variance(batch)
    np.testing.assert_allclose(mean, belief.mean(batch), rtol=0, atol=1e-9)
    np.testing.assert_allclose(variance, belief.variance(batch), rtol=0, atol=0)
    assert problem(mixture([(0.6, unimodal()), (0.4, free())])).belief.arm_points is None


def test_a_mixture_of_what_has_no_weights_is_refused():
    stated = problem(mixture([(0.5, order([(1, 2)]).by("gibbs")), (0.5, free())]))
    with pytest.raises(InvalidInputError, match=r"got: gold is at least as good as silver; leave its method"):
        _ = stated.belief


def test_evidence_is_the_bayes_factor():
    two = Problem([1, 1], horizon=5, structure=decreasing())
    found = evidence(two, State([1, 2], [1, 1]))  # one success of the worse arm: its mean is 1/3, not 1/2
    assert found.log_factor == pytest.approx(np.log(2 / 3), abs=1e-9)
    assert found.probability == pytest.approx(0.4, abs=1e-9)
    assert not found.contradicted
    assert found.warning() is None
    assert "P(assumed | data) = 0.4 from even odds, Bayes factor 0.667" in found.figures()
    strong = evidence(two, State([1, 30], [30, 1]))
    assert strong.contradicted
    assert "the data speak against what is assumed, p ≤" in strong.describe()
    assert "soften it with a mixture" in strong.warning()
    assert evidence(two, State([30, 1], [1, 30])).log_factor == pytest.approx(np.log(2), abs=1e-6)
    assert evidence(two, State([30, 1], [1, 30])).describe() == "the data agree with what is assumed"


def test_evidence_of_every_kind():
    against = State([1, 9, 20], [20, 9, 1])
    for stated in (decreasing(), FORK, grid(3, 1) & bounds([None, None, (0, 0.5)])):
        assert evidence(problem(stated), against).contradicted, stated
    assert not evidence(problem(increasing()), against).contradicted
    assert evidence(problem(bounds([(0.5, 1), None, None])), against).contradicted
    assert evidence(problem(logistic([1, 2, 3])), against).contradicted
    parts = evidence(problem(mixture([(0.9, decreasing()), (0.1, free())])), against)
    assert parts.parts[1] > 0.999
    assert parts.log_factor == pytest.approx(np.log(0.1), abs=1e-3)
    assert "its parts now have the probabilities" in parts.figures()
    assert evidence(problem(free()), against) is None
    unweighed = evidence(problem(order([(1, 2)]).by("gibbs")), against)  # Gibbs sampling gives no W
    assert unweighed.log_factor is None
    assert unweighed.contradicted


@pytest.mark.parametrize("won", [4_700, 5_000, 5_200, 9_000])
def test_the_predictive_of_many_outcomes_is_near_the_sum(won, monkeypatch):
    exact = predictive(0.05, 1e-6, won, 100_000)
    monkeypatch.setattr("elsv.structure.evidence._MANY", 1_000)
    assert predictive(0.05, 1e-6, won, 100_000) == pytest.approx(exact, rel=0.02, abs=1e-6)
    assert predictive(0.5, 1 / 12, 1e18, 1e18) == pytest.approx(0.0, abs=1e-6)
