import numpy as np
import pytest

from elsv.errors import InvalidInputError
from elsv.problem import Problem
from elsv.simulation import _engine_kernels as kernels
from elsv.simulation.compare import compare
from elsv.simulation.engine import BINS, BINS_PER_NAT, SMALLEST
from elsv.simulation.instances import FromPrior, GivenMeans, grid

FREE = Problem(rewards=[1, 1, 1], horizon=200)
ORDERED = Problem(rewards=[0.8, 0.9, 1.0], order="decreasing", horizon=20)


def test_published_regret_of_thompson_and_ucb1():
    """3 arms, means uniform, T = 200: Thompson 6.34 ± 0.05, UCB1 15.92 ± 0.06."""
    result = compare(FREE, ["thompson", "ucb1"], instances=20_000, seed=1)
    for name, expected, known_to in (("thompson", 6.34, 0.05), ("ucb1", 15.92, 0.06)):
        measured = result[name]
        assert abs(measured.mean[-1] - expected) < known_to + 1.5 * measured.ci95[-1]


def test_coverage_of_the_interval():
    """The 95 % interval holds the true regret in about 95 of 100 runs (fixed arm: known exactly)."""
    problem = Problem(rewards=[1, 1], horizon=3)
    exact = 3 * (2 / 3 - 1 / 2)
    hits = 0
    for seed in range(300):
        result = compare(problem, ["fixed:arm=2"], instances=300, seed=seed, jobs=1)["fixed:arm=2"]
        hits += abs(result.mean[-1] - exact) < result.ci95[-1]
    assert 273 <= hits <= 297  # 285 expected, three standard deviations


def test_paired_differences_use_the_common_random_numbers():
    result = compare(FREE, ["thompson", "thompson:order=false", "ucb1"], instances=4000, seed=3)
    assert result.difference("thompson", "thompson:order=false") == (0.0, 0.0)
    difference, half = result.difference("ucb1", "thompson")
    assert difference == pytest.approx(result["ucb1"].mean[-1] - result["thompson"].mean[-1])
    apart = np.hypot(result["ucb1"].ci95[-1], result["thompson"].ci95[-1])
    assert half < apart
    assert result.difference("thompson", "ucb1")[0] == -difference


def test_a_policy_does_not_feel_who_runs_beside_it():
    alone = compare(ORDERED, ["thompson"], instances=500, seed=4)["thompson"]
    beside = compare(ORDERED, ["random", "elsv", "thompson"], instances=500, seed=4)["thompson"]
    assert (alone.mean == beside.mean).all()


def test_means_from_the_prior_respect_the_order():
    means = FromPrior(ORDERED).means(0, 2000, np.random.default_rng(1))
    assert (np.diff(means, axis=1) <= 0).all()
    np.testing.assert_allclose(means.mean(axis=0), [0.75, 0.5, 0.25], atol=0.02)


def test_given_means_and_the_authors_grid():
    rows = grid(3, 11, "decreasing")
    assert len(rows) == 286
    assert len(grid(2, 5)) == 25
    result = compare(ORDERED, ["fixed:arm=1", "fixed:arm=3"], instances=2 * 286, means=rows)
    worth = rows * ORDERED.rewards
    expected = 20 * (worth.max(axis=1) - worth[:, 0]).mean()
    assert result["fixed:arm=1"].mean[-1] == pytest.approx(expected)
    for bad in ([[0.5, 0.5]], [[0.5, 0.5, 1.5]], [], [["a"] * 3]):
        with pytest.raises(InvalidInputError, match="means must"):
            GivenMeans(bad, 3)


def test_outcomes_are_uniform_and_independent_of_the_policy():
    with np.errstate(over="ignore"):  # as whole numbers of 64 bits do
        numbers = np.array([kernels.uniform.py_func(np.uint64(9), np.uint64(k)) for k in range(40_000)])
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 0.01
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 0.02
    counts = np.histogram(numbers, 20, (0, 1))[0]
    assert ((counts - 2000) ** 2 / 2000).sum() < 50


def test_tallies_add_up():
    result = compare(ORDERED, ["elsv", "random"], instances=700, seed=5, keep_raw=True)
    for r in result.totals.policies:
        np.testing.assert_allclose(r.pull_share.sum(axis=1), 1)
        assert r.curves.shape == (20, 700)
        np.testing.assert_allclose(r.curves.mean(axis=1), r.mean)
        np.testing.assert_allclose(1.959964 * r.curves.std(axis=1, ddof=1) / np.sqrt(700), r.ci95, rtol=1e-6)
        exact = np.quantile(r.curves[-1], [0.05, 0.25, 0.5, 0.75, 0.95])
        np.testing.assert_allclose(r.quantiles[-1], exact, rtol=0.05, atol=0.05)
        assert (np.diff(r.mean) >= -1e-12).all()
        assert ((r.best_share >= 0) & (r.best_share <= 1)).all()


def test_the_histogram_reaches_as_far_as_regret_can():
    assert SMALLEST * np.expm1(BINS / BINS_PER_NAT) > 1e6


def test_one_instance_one_step_one_arm():
    result = compare(Problem(rewards=[1], horizon=1), ["greedy"], instances=1)
    assert result["greedy"].mean.tolist() == [0]
    assert result["greedy"].ci95[0] == np.inf


def test_a_horizon_is_replaced_and_a_run_cut_short():
    ours, theirs = (
        compare(ORDERED, ["plan"], 200, horizon=10),
        compare(ORDERED.with_horizon(10), ["plan"], 200),
    )
    assert (ours["plan"].mean == theirs["plan"].mean).all()
    assert ours.problem.horizon == 10
    cut = compare(ORDERED, ["plan"], 200, until=10, workers=1)
    assert cut.problem.horizon == 20
    assert len(cut["plan"].mean) == 10
    discounted = Problem(rewards=[1, 2], discount=0.9, names=["a", "b"])
    assert discounted.with_horizon(7) == Problem(rewards=[1, 2], horizon=7, names=["a", "b"])


def test_a_user_function_and_labels_of_ones_own():
    def cheapest(state, step, rng):
        return 0

    result = compare(ORDERED, {"mine": cheapest, "theirs": "fixed:arm=1"}, instances=300)
    assert result.difference("mine", "theirs") == (0.0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"instances": 0}, "instances"),
        ({"instances": 2.5}, "instances"),
        ({"seed": -1}, "seed"),
        ({"policies": []}, "at least one policy"),
        ({"policies": ["greedy", "greedy"]}, "twice"),
        ({"policies": ["gredy"]}, "did you mean"),
        ({"until": 21}, "exceed"),
        ({"horizon": 0}, "horizon"),
        ({"jobs": 2, "workers": 2}, "give jobs alone"),
        ({"workers": 0}, "jobs must be at least 1"),
        ({"jobs": 0}, "jobs"),
        ({"workers": "trheads"}, "did you mean 'threads'"),
        ({"problem": Problem(rewards=[1], discount=0.9)}, "give until="),
    ],
)
def test_bad_comparisons_are_refused(arguments, words):
    with pytest.raises(InvalidInputError, match=words):
        compare(**{"problem": ORDERED, "policies": ["greedy"], "instances": 10, **arguments})


def test_results_as_frames_and_tables():
    result = compare(ORDERED, ["elsv", "random"], instances=300, seed=6)
    for frame in (result.to_polars(), result.to_pandas()):
        assert len(frame) == 2 * 20
        assert {"policy", "step", "regret", "ci95", "best_share", "quantile_50", "pull_share_3"} <= set(
            frame.columns
        )
        assert list(frame["regret"])[19] == result["elsv"].mean[-1]
    assert "<table" in result._repr_html_()
    with pytest.raises(InvalidInputError, match="no policy 'greedy'"):
        result["greedy"]
