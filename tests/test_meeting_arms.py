"""One state, one index: arms that come to the same state from different priors tie by the rule."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from elsv import Problem, best_arm, compare
from elsv.exact import evaluate
from elsv.indices import Setting, make_index
from elsv.indices.base import FARTHEST, shared_corners
from elsv.indices.finite_gittins import finite_gittins_index
from elsv.indices.gittins import gittins_index

PRIORS = [
    [[1, 1], [2, 3]],
    [[1, 4], [5, 1], [2, 2]],
    [[0.1, 0.3], [1.1, 2.3]],
    [[1 / 3, 1], [4 / 3, 2]],
    [[1000, 3000], [1001, 2998]],
    [[1, 1], [0.5, 1], [1.5, 1]],
]


def common_states(prior, pulls):
    """Return alpha and beta ``[states, N]``: the states that the first two arms which meet can both be in."""
    table = np.array(prior, dtype=float)
    pairs = itertools.combinations(range(len(table)), 2)
    i, j = next((k, m) for k, m in pairs if np.allclose(table[m] - table[k], np.rint(table[m] - table[k])))
    wins, losses = (x.ravel() for x in np.meshgrid(np.arange(pulls), np.arange(pulls)))
    top = np.maximum(table[i], table[j])
    state = np.broadcast_to(table, (len(wins), *table.shape)).copy()
    for arm in (i, j):
        steps = np.rint(top - table[arm])
        state[:, arm, 0] = table[arm, 0] + (steps[0] + wins)
        state[:, arm, 1] = table[arm, 1] + (steps[1] + losses)
    return state[..., 0], state[..., 1], i, j


@pytest.mark.parametrize("name", ["gittins", "finite-gittins", "gittins:discount=0.9"])
@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_equal_states_have_equal_indices(prior, name):
    problem = Problem(prior=prior, horizon=40)
    setting = Setting.of(problem)
    kind, _, discount = name.partition(":discount=")
    index = make_index(kind, discount=float(discount)) if discount else make_index(kind)
    alpha, beta, i, j = common_states(prior, 7)
    found = index(alpha, beta, 20, setting)
    assert (found[:, i] == found[:, j]).all()
    for arm in (i, j):
        alone = index(alpha[:, arm], beta[:, arm], 20, setting.arm(arm))
        assert (alone == found[:, arm]).all()
    if kind == "gittins":
        exact = gittins_index(alpha[::9, i], beta[::9, i], float(discount or 0.99), 1e-9)
    else:
        exact = finite_gittins_index(alpha[::9, i], beta[::9, i], 21, 1.0, 1e-9)
    np.testing.assert_allclose(found[::9, i], exact, atol=1.001e-6, rtol=0)


@pytest.mark.parametrize("name", ["gittins", "finite-gittins"])
@pytest.mark.parametrize("prior", [[[1, 1], [1, 2]], [[2, 2], [2, 1]], [[1, 1], [1, 3]], [[3, 2], [1, 2]]])
def test_ties_of_meeting_arms_go_by_the_documented_rule(name, prior):
    """With an order it matters which of two arms in the same state is pulled."""
    for order, horizon in itertools.product(("increasing", "decreasing"), (2, 3, 6)):
        problem = Problem([1, 1], order, horizon, prior=prior)

        def by_rule(state, step, rng, left=horizon):
            if name == "gittins":
                return best_arm(gittins_index(state.alpha, state.beta, 0.99, 1e-11))
            return best_arm(finite_gittins_index(state.alpha, state.beta, left - step + 1, 1.0, 1e-11))

        own, expected = evaluate(problem, [name, by_rule])
        assert own.value == pytest.approx(expected.value, abs=1e-12)
        played = compare(problem, {"own": name, "rule": by_rule}, instances=300, seed=1)
        assert played.difference("own", "rule") == (0.0, 0.0)


def test_arms_that_cannot_meet_count_from_their_own_priors():
    def corners(prior, horizon=None):
        return shared_corners(np.array(prior, dtype=float), horizon).tolist()

    assert corners([[1, 1], [2, 3]]) == [[1, 1], [1, 1]]
    assert corners([[3, 1], [1, 2]]) == [[1, 1], [1, 1]]
    assert corners([[1, 1], [2, 3]], horizon=4) == [[1, 1], [1, 1]]
    assert corners([[1, 1], [2, 3]], horizon=3) == [[1, 1], [2, 3]]  # two pulls are made before the last
    assert corners([[1, 1], [2.5, 3]]) == [[1, 1], [2.5, 3]]
    assert corners([[1, 1], [2.0000001, 3]]) == [[1, 1], [2.0000001, 3]]
    assert corners([[1, 1], [1 + FARTHEST, 1]]) == [[1, 1], [1, 1]]
    assert corners([[1, 1], [2 + FARTHEST, 1]]) == [[1, 1], [2 + FARTHEST, 1]]
    assert corners([[1, 1], [9, 9], [5, 5], [5, 5]], horizon=9) == [[1, 1]] * 4  # through the others
    assert corners([[7, 3]] * 3, horizon=9) == [[7, 3]] * 3
