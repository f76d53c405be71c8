"""Ladders where data contradict the order, and for sharp beliefs: against Chain, dense sums, and mirrored."""

import numpy as np
import pytest

import paper_structure
from elsv import Chain, State
from elsv.beliefs import Ladder

FORK, TREE = ((0, 1), (0, 2)), ((0, 1), (0, 2), (2, 3))

AGAINST = [
    ([100, 900], [900, 100]),
    ([5, 995, 500], [995, 5, 500]),
    ([10, 300, 700, 990], [990, 700, 300, 10]),
    ([0.05, 1000], [1000, 0.05]),
    ([0.05, 0.05, 0.05], [1000, 1000, 1000]),
    ([0.05, 1e6, 3], [1e6, 0.05, 7]),
    ([1e6, 1e6, 1e6], [1e6, 1.01e6, 0.99e6]),
    ([1e6, 2e5, 0.5], [2e5, 1e6, 0.5]),
    ([0.05, 0.3, 1e6, 40], [0.05, 1e6, 0.3, 60]),
    ([300.5, 600.25, 1e3, 2, 0.7], [1e3, 600.5, 300, 0.1, 5e5]),
]


@pytest.mark.parametrize(("alpha", "beta"), AGAINST)
@pytest.mark.parametrize("way", ["decreasing", "increasing"])
def test_data_far_against_a_path_are_held_as_by_the_chain(alpha, beta, way):
    arms = len(alpha)
    pairs = tuple((k, k + 1) if way == "decreasing" else (k + 1, k) for k in range(arms - 1))
    given = State(alpha, beta)
    chain = Chain(way, tolerance=1e-12)
    ladder = Ladder(arms, pairs, tolerance=1e-10)
    np.testing.assert_allclose(ladder.mean(given), chain.mean(given), rtol=0, atol=2e-9)
    spread = np.sqrt(chain.variance(given))
    np.testing.assert_allclose(np.sqrt(ladder.variance(given)), spread, rtol=1e-5, atol=0)
    assert float(ladder.log_weight(given)) == pytest.approx(
        float(chain.log_weight(given)), rel=1e-12, abs=1e-8
    )
    normal = Ladder(arms, pairs)
    assert np.abs(normal.mean(given) - chain.mean(given)).max() < 1e-7
    drawn = ladder.draw(State(np.tile(alpha, (2000, 1)), np.tile(beta, (2000, 1))), np.random.default_rng(0))
    scores = (drawn.mean(axis=0) - chain.mean(given)) / np.sqrt(chain.variance(given) / 2000)
    assert np.abs(scores).max() < 4.5


FORKED = [
    ([100, 900, 500], [900, 100, 500], -4.0, 4.0),
    ([5, 995, 995], [995, 5, 5], -5.0, 5.0),
    ([500, 990, 10], [500, 10, 990], -9.0, 9.0),
    ([5, 600, 900, 990], [995, 400, 100, 10], -8.0, 8.0),
    ([2.5, 5e4, 3000], [5e4, 2.5, 7000], -1.2, 0.4),
    ([0.3, 1000, 20], [1000, 0.3, 500], -5.5, 1.5),
    ([89, 2962, 2825], [6678, 3, 519], -0.6, 0.2),
]


@pytest.mark.parametrize(("alpha", "beta", "low", "high"), FORKED)
def test_data_far_against_a_fork_or_a_tree_are_held_as_by_dense_sums(alpha, beta, low, high):
    pairs = FORK if len(alpha) == 3 else TREE
    children = {0: [1, 2]} if len(alpha) == 3 else {0: [1, 2], 2: [3]}
    dense = paper_structure.dense_tree_means(alpha, beta, children, low, high, 60_000)
    np.testing.assert_allclose(Ladder(len(alpha), pairs).mean(State(alpha, beta)), dense, rtol=0, atol=2e-7)


def test_data_far_against_a_grid_are_held_as_by_its_refinement_and_its_mirror():
    """Turned about (x to 1 - x, the order reversed) it is another ladder, with other panels and messages."""
    pairs = tuple(paper_structure.grid_pairs(2, 3))
    alpha, beta = np.array([10.0, 200, 700, 500, 950, 990]), np.array([990.0, 800, 300, 500, 50, 10])
    ladder = Ladder(6, pairs)
    mean = ladder.mean(State(alpha, beta))
    mirrored = Ladder(6, tuple((b, a) for a, b in pairs)).mean(State(beta, alpha))
    np.testing.assert_allclose(mean, 1 - mirrored, rtol=0, atol=1e-8)
    assert ladder.error(State(alpha, beta)) < 1e-7
    np.testing.assert_allclose(mean, ladder.precise().mean(State(alpha, beta)), rtol=0, atol=1e-8)


def test_large_counts_against_a_peak():
    """A valley of a thousand pulls an arm: the peak is on one side or the other, each a path."""
    alpha, beta = [900.0, 100.0, 900.0], [100.0, 900.0, 100.0]
    ladder = Ladder(3, unimodal=True)
    parts = [
        Ladder(3, pairs) for pairs in (((0, 1), (1, 2)), ((2, 1), (1, 0)), ((1, 0), (0, 2)), ((1, 2), (2, 0)))
    ]
    given = State(alpha, beta)
    logs = np.array([float(part.log_weight(given)) for part in parts])
    share = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    mixed = sum(p * part.mean(given) for p, part in zip(share, parts, strict=True))
    np.testing.assert_allclose(ladder.mean(given), mixed, rtol=0, atol=1e-8)
    assert float(ladder.log_weight(given)) == pytest.approx(
        logs.max() + np.log(np.exp(logs - logs.max()).sum())
    )


@pytest.mark.parametrize(
    ("alpha", "beta"),
    [
        ([89.0, 2962.0, 2825.0, 1.0, 1.0], [6678.0, 3.0, 519.0, 2.0, 1.5]),
        ([25.0, 6086.0, 3500.0, 5.0, 9085.0], [8667.5, 519.0, 1940.0, 2.0, 1.5]),
    ],
)
def test_factors_whose_product_leaves_the_range_of_a_double(alpha, beta):
    pairs = ((0, 1), (0, 2), (0, 3), (2, 4), (3, 4))
    ladder, given = Ladder(5, pairs), State(alpha, beta)
    mean, variance = ladder.mean_and_variance(given)
    assert (variance > 0).all()
    mirrored = Ladder(5, tuple((b, a) for a, b in pairs)).mean(State(beta, alpha))
    np.testing.assert_allclose(mean, 1 - mirrored, rtol=0, atol=1e-7)
    np.testing.assert_allclose(mean, ladder.precise().mean(given), rtol=0, atol=1e-7)
