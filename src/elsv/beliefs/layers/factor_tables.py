r"""The weights of two or three ordered arms as sums of products of tables, one for each (past the paper).

.. math:: W(s) = \sum_g A_1(n_1, s_1, g)\, A_2(n_2, s_2, g)\, A_3(n_3, s_3, g)

over quadrature nodes :math:`x_g`: the middle arm is at the node and the others are integrated above or below
it (`elsv.beliefs.layers.weights`). Whoever can add up products quickly needs no array of weights.

If all prior counts are whole numbers the integrand is a polynomial of degree T + Σ(α + β) − N − 1, on which
half as many Gauss–Legendre nodes in x are exact; otherwise the nodes are those of whole layers.
"""

from __future__ import annotations

import numpy as np

from elsv._base.typing import FloatArray
from elsv.beliefs.layers.conflict import RelativeTables, contradicts, probable_nodes
from elsv.beliefs.layers.weights import InOrder
from elsv.beliefs.quadrature import ArmTables, Nodes, place_nodes
from elsv.errors import InvalidInputError
from elsv.state import Arms, State

MOST_ARMS = 3

Tables = tuple[list[FloatArray], ...]  # for each arm, by its pulls n: [n + 1, G]


def factor_tables(problem: Arms, belief: InOrder, made: int) -> Tables:
    """Return the tables of every arm for up to `made` pulls, multiplied by 2^(made/2) in all."""
    if not 2 <= problem.arms <= MOST_ARMS:
        raise InvalidInputError(f"factor tables are those of 2 or {MOST_ARMS} arms, got {problem.arms}")
    relative = contradicts(problem, float(belief.log_weight(State.initial(problem))))
    nodes = nodes_for(problem, made)
    if relative:
        nodes = probable_nodes(problem, belief.order, place_nodes(problem, made))
    middle, falling = (problem.arms - 1) // 2, belief.order == "decreasing"
    scale = nodes.weights * 2.0 ** (made // 2)
    found = []
    for arm, row in enumerate(problem.prior):
        own = RelativeTables(row, nodes, made) if relative else _arm_tables(row, nodes, made)
        if arm == middle:
            found.append([own.density(n) * scale for n in range(made + 1)])
        else:
            found.append(own.integrals(falling == (arm < middle)))
    return tuple(found)


def nodes_for(problem: Arms, made: int) -> Nodes:
    """Return the nodes on which the weights of all states with up to `made` pulls are exact."""
    if (problem.prior != np.rint(problem.prior)).any():
        return place_nodes(problem, made)
    degree = made + int(problem.prior.sum()) - problem.arms - 1
    points, weights = np.polynomial.legendre.leggauss(max(1, degree // 2 + 1))
    x, rest = (1.0 + points) / 2.0, (1.0 - points) / 2.0
    # Densities come times x (1 - x).
    return Nodes(np.empty(0), np.log(x), np.log(rest), weights / (2.0 * x * rest))


def _arm_tables(row: FloatArray, nodes: Nodes, made: int) -> ArmTables:
    return ArmTables(row, nodes.log_x, nodes.log_rest, made)
