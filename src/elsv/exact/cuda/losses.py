r"""What simulated decisions lose against the optimum, exactly state by state.

A policy that pulls a(s) earns less than the optimum by

.. math:: V_1 - V^a_1 = E\Bigl[\sum_t V_t(s_t) - Q_t(s_t, a(s_t))\Bigr]

over its own paths. The terms are at least 0 and mostly 0, so that a few thousand simulated paths give the
difference to a small part of what simulated regrets would: V and Q are read while the optimum is computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsv._base.progress import Progress
from elsv._base.typing import AnyArray, FloatArray, IntArray
from elsv.errors import InvalidInputError
from elsv.exact.cuda.device import Device
from elsv.exact.cuda.run import root_scores, scores_of
from elsv.exact.cuda.sweeps import ARMS, LayerSweeps
from elsv.problem import Problem


def losses(
    problem: Problem, device: Device, wins: IntArray, pulls: IntArray, arms: AnyArray, progress: Progress
) -> tuple[FloatArray, float]:
    """Return what each simulated path loses ``[K]``, and what the optimum earns.

    `wins` and `pulls` ``[T, K, N]`` are the counts before each step, `arms` ``[T, K]`` what was pulled then.
    """
    horizon, paths = problem.steps, wins.shape[1]
    if wins.shape != (horizon, paths, problem.arms) or arms.shape != (horizon, paths):
        raise InvalidInputError(
            f"paths of {horizon} steps have counts [{horizon}, K, {problem.arms}] and arms [{horizon}, K], "
            f"got {wins.shape} and {arms.shape}"
        )
    lost = np.zeros(paths)
    first = ARMS - problem.arms

    def watch(sweeps: LayerSweeps, layer: int, later: Any) -> None:
        counts = np.zeros((paths, 2 * ARMS), np.int64)
        counts[:, first:ARMS], counts[:, ARMS + first :] = wins[layer], pulls[layer]
        states, inverse = np.unique(counts, axis=0, return_inverse=True)
        scores = scores_of(sweeps, layer, states, later)[:, first:]
        chosen = scores[inverse.ravel(), arms[layer]]
        lost[:] += scores.max(axis=1)[inverse.ravel()] - chosen

    best = root_scores(problem, device, progress, watch=watch)
    return lost, float(best.max())
