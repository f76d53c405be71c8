"""The numbering of states and the weights of whole layers."""

from fractions import Fraction
from itertools import pairwise, product
from math import comb

import numpy as np
import pytest
from scipy.special import betaln

import paper_beliefs
from elsv import Chain, InvalidInputError, Problem, State
from elsv.beliefs.abilities import layer_weights
from elsv.lattice.numbering import Lattice, layer_size, states_up_to


def all_states(arms: int, made: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every (pulls, successes) in the order that the lattice promises."""
    shares = sorted(n for n in product(range(made + 1), repeat=arms) if sum(n) == made)
    return [(n, s) for n in shares for s in product(*(range(k + 1) for k in n))]


@pytest.mark.parametrize(("arms", "most"), [(1, 6), (2, 6), (3, 5), (4, 4), (5, 3)])
def test_numbers_follow_the_promised_order(arms, most):
    lattice = Lattice(arms, most)
    for made in range(most + 1):
        layer = lattice.layer(made)
        successes, pulls = layer.counts(0, layer.size)
        listed = [(tuple(n), tuple(s)) for n, s in zip(pulls.tolist(), successes.tolist(), strict=True)]
        assert listed == all_states(arms, made)
        assert layer.size == len(listed) == layer_size(arms, made) == comb(made + 2 * arms - 1, 2 * arms - 1)
        np.testing.assert_array_equal(lattice.number(successes, pulls), np.arange(layer.size))
    assert states_up_to(arms, most) == sum(layer_size(arms, made) for made in range(most + 1))


@pytest.mark.parametrize(("arms", "made"), [(1, 4), (2, 5), (3, 3), (4, 2)])
def test_successors_lie_where_the_layer_says_and_never_before_the_state(arms, made):
    lattice = Lattice(arms, made + 1)
    layer = lattice.layer(made)
    successes, pulls = layer.counts(0, layer.size)
    for i in range(arms):
        one = np.eye(arms, dtype=int)[i]
        lost = lattice.number(successes, pulls + one)
        won = lattice.number(successes + one, pulls + one)
        assert (np.arange(layer.size) <= lost).all()
        assert (lost < won).all()
        starts = np.repeat(layer.after[:, i], np.diff(layer.starts))
        np.testing.assert_array_equal(starts, lattice.block_start(pulls + one))
    failure_of_last = lattice.number(successes, pulls + np.eye(arms, dtype=int)[-1])
    assert (np.diff(failure_of_last) > 0).all()


def test_chunks_cover_the_layer_once():
    layer = Lattice(3, 9).layer(8)
    for states in (1, 100, 10**9):
        bounds = list(layer.chunks(states))
        assert bounds[0][0] == 0
        assert bounds[-1][1] == len(layer.pulls)
        assert all(a[1] == b[0] for a, b in pairwise(bounds))
    assert [n for begin, end in layer.chunks(1) for n in {*layer.pulls[begin:end, 0].tolist()}] == list(
        range(9)
    )


def test_batches_are_the_states_of_the_problem():
    problem = Problem(prior=[[0.5, 2.0], [3.0, 1.0]], horizon=4)
    layer = Lattice(2, 4).layer(3)
    found = [state for _, state in layer.batches(problem, 7)]
    assert [len(state.alpha) for state in found] == [7, 7, 6]
    for state in found:
        assert state.step(problem) == 4


def test_a_lattice_needs_an_arm():
    with pytest.raises(InvalidInputError, match="0 arms"):
        Lattice(0, 3)


@pytest.mark.parametrize(("arms", "made"), [(1, 5), (2, 5), (3, 4), (4, 3), (5, 2)])
@pytest.mark.parametrize("order", ["decreasing", "increasing"])
def test_weights_equal_the_fractions(arms, made, order):
    problem = Problem(prior=np.ones((arms, 2)), order=order, horizon=made)
    lattice = Lattice(arms, made)
    weights = layer_weights(problem.belief, problem, lattice, made) / 2.0 ** (made // 2)
    step = 1 if order == "decreasing" else -1
    for found, (pulls, won) in zip(weights, all_states(arms, made), strict=True):
        alpha = [1 + s for s in won][::step]
        beta = [1 + n - s for n, s in zip(pulls, won, strict=True)][::step]
        assert found == pytest.approx(float(paper_beliefs.weight(alpha, beta)), rel=1e-12)


REAL_PRIORS = [
    [[0.3, 0.4], [2.5, 0.7]],
    [[0.05, 0.4], [0.1, 0.07], [3.3, 2.0]],
    [[0.05, 0.4], [0.1, 0.07]],
    [[30.0, 20.0], [25.5, 70.0], [40.0, 60.0]],
    [[0.3, 0.4], [2.5, 0.7], [0.5, 0.5], [1.0, 9.5]],
]


@pytest.mark.parametrize("prior", REAL_PRIORS)
@pytest.mark.parametrize("order", ["decreasing", "increasing"])
def test_weights_of_real_priors_equal_the_chain_belief(prior, order):
    problem = Problem(prior=prior, order=order, horizon=8)
    lattice = Lattice(problem.arms, 8)
    weights = layer_weights(problem.belief, problem, lattice, 8)
    layer = lattice.layer(8)
    some = np.unique(
        np.concatenate([[0, layer.size - 1], np.random.default_rng(0).integers(layer.size, size=60)])
    )
    successes, pulls = (np.concatenate(x) for x in zip(*(layer.counts(k, k + 1) for k in some), strict=True))
    state = State(problem.prior[:, 0] + successes, problem.prior[:, 1] + pulls - successes)
    expected = Chain(order, 1e-12).log_weight(state) - betaln(*problem.prior.T).sum()
    np.testing.assert_allclose(np.log(weights[some]) - 4 * np.log(2), expected, atol=1e-11)


@pytest.mark.parametrize(("arms", "horizon"), [(2, 400), (3, 60)])
def test_long_horizons_neither_overflow_nor_lose_accuracy(arms, horizon):
    """Summed over all outcomes of one block, W times the multiplicity is P(order) = 1/N!."""
    problem = Problem(prior=np.ones((arms, 2)), order="decreasing", horizon=horizon)
    lattice = Lattice(arms, horizon)
    weights = layer_weights(problem.belief, problem, lattice, horizon, workers=2)
    assert np.isfinite(weights).all()
    assert weights.min() > 0
    layer = lattice.layer(horizon)
    block = int(lattice.layer(horizon).groups[horizon // arms])
    numbers = slice(int(layer.starts[block]), int(layer.starts[block + 1]))
    successes, pulls = layer.counts(numbers.start, numbers.stop)
    ways = [
        float(
            Fraction(
                np.prod([comb(int(n), int(s)) for n, s in zip(ns, ss, strict=True)], dtype=object),
                2 ** (horizon // 2),
            )
        )
        for ns, ss in zip(pulls, successes, strict=True)
    ]
    total = float(np.dot(ways, weights[numbers]))
    assert total == pytest.approx(1 / {2: 2, 3: 6}[arms], rel=1e-11)
