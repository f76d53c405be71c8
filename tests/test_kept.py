"""Draws that are kept: which points these are, and how many of them count."""

import numpy as np
import pytest

from elsv import State
from elsv.beliefs import Chain, Independent
from elsv.beliefs.base import concentration
from elsv.beliefs.filtered import Kept
from elsv.beliefs.ladder.belief import Ladder
from elsv.beliefs.points import spread_points
from elsv.beliefs.samples import Samples

PRIOR = np.ones((4, 2))
BASES = {
    "decreasing": Chain(),
    "increasing": Chain("increasing"),
    "independent": Independent(),
    "grid": Ladder(4, ((0, 1), (0, 2), (1, 3), (2, 3))),
    "parts": Ladder(4, ((0, 1),), bounds=((0.1, 1.0),) * 4),
}
STATE = State([3, 2, 5, 1], [2, 2, 1, 3])


def near(means):
    """Keep means of which the first and the last lie within 0.7 of each other."""
    return np.abs(means[..., 0] - means[..., -1]) < 0.7


def never(means):
    return np.zeros(means.shape[:-1], dtype=bool)


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
@pytest.mark.parametrize("count", [100, 1000, 1024])
def test_the_first_points_of_the_base_are_kept_that_meet_the_condition(base, count):
    theta = spread_points(base, STATE, 1 << 14)[0]
    found, weight = Kept(base, near, PRIOR, count=1 << 12).points(STATE, count)
    kept = theta[near(theta)][:count]
    assert np.array_equal(found[: len(kept)], kept)
    assert weight == pytest.approx(1 / count)


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_parts_of_a_sequence_are_those_of_the_whole(base):
    whole = spread_points(base, STATE, 256)[0]
    parts = [base.sequence(STATE, start, stop) for start, stop in ((0, 100), (100, 128), (128, 256))]
    assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_where_none_is_kept_another_belief_answers(base):
    belief = Kept(base, never, PRIOR, count=512, otherwise=Independent())
    assert np.array_equal(belief.points(STATE, 64)[0], Independent().points(STATE, 64)[0])


def test_a_draw_that_is_there_many_times_counts_once():
    theta = np.array([[0.1, 0.2], [0.2, 0.1], [0.1, 0.2], [0.1, 0.2]])
    assert concentration(theta, np.full(4, 0.25)) == pytest.approx(0.75**2 + 0.25**2)


def test_the_error_is_that_of_the_draws_that_still_count():
    rng = np.random.default_rng(3)
    # Many pulls leave a few hundred of the draws.
    state = State(1 + 40 * np.array([0.6, 0.5, 0.5, 0.4]), 1 + 40 * np.array([0.4, 0.5, 0.5, 0.6]))
    means, errors, chances, chance_errors = [], [], [], []
    for _ in range(30):
        base = Samples(rng.random((30_000, 4)), PRIOR)
        belief = Kept(base, near, PRIOR)
        means.append(belief.mean(state))
        errors.append(float(belief.error(state)))
        chance, _, error = belief.best_with_error(state, np.ones(4))
        chances.append(chance)
        chance_errors.append(float(error))
    assert 0.6 < np.std(means, axis=0).max() / np.mean(errors) < 1.4
    assert 0.6 < np.std(chances, axis=0).max() / np.mean(chance_errors) < 1.4
