r"""Expected reward of each step, by following a known policy forward over the lattice (past the paper).

The number K(s) of ways in which the policy can reach a state grows by
:math:`K(s{+}\text{outcome of } a(s)) \mathrel{+}= K(s)`, and :math:`K W / W(s_0)` is the probability of being
there. Without an order the probability itself is passed on.
"""

from __future__ import annotations

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs.abilities import layer_weights
from elsv.lattice.numbering import Lattice, layer_size
from elsv.lattice.segments import spread_by_segment
from elsv.lattice.steps import spread
from elsv.policies.optimal import Actions


def expected_rewards(actions: Actions) -> FloatArray:
    """Return the expected reward of the steps 1 … `actions.steps`, shape ``[steps]``."""
    problem = actions.problem
    lattice = Lattice(problem.arms, actions.steps)
    expected = np.empty(actions.steps)
    paths, scale = np.ones(1), 1.0
    shared, segments = problem.segments.stated, problem.segments
    weights = layer_weights(problem.belief, problem, lattice, 0, shared=shared)
    if len(weights):
        scale = float(weights[0])
    for made in range(actions.steps):
        layer = lattice.layer(made)
        weights = layer_weights(problem.belief, problem, lattice, made + 1, shared=shared)
        later = np.zeros(layer_size(problem.arms, made + 1))
        arms = actions.at(made + 1)
        if not segments.stated:
            earned = spread(paths, weights, layer, problem, arms, later)
        else:
            earned = spread_by_segment(paths, weights, layer, problem, segments, arms, later)
        expected[made] = earned / scale
        paths = later
    return expected
