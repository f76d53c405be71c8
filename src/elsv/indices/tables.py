"""Tables of an index over all states of one arm, for callers that need them at every step.

At step t an arm has at most t − 1 pulls: a triangle of t (t + 1)/2 states in the order of
`elsv._base.triangle`. An index that does not use the step is called once for all steps. One that can be
evaluated at any real log t (it has a method ``at_log_step``) is interpolated between steps, to 1e-11.
Any other is called at every step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from elsv._base import triangle
from elsv._base.typing import FloatArray
from elsv.indices.base import Index, Setting, check_index

Triangles = Callable[[int], FloatArray]


def triangles(index: Index, setting: Setting, pulls: int) -> Triangles:
    """Return a function from a step to the index of all states with fewer than ``step`` pulls.

    Parameters
    ----------
    index
        Any index.
    setting
        The setting of one arm, ``Setting.of(problem).arm(i)``.
    pulls
        The largest number of pulls that will be asked for: the steps run from 1 to ``pulls + 1``.

    Returns
    -------
    callable
        ``at(step)``, an array of shape ``[size(min(step, pulls + 1))]`` that must not be written to.
    """
    levels = pulls + 1
    successes, counts = triangle.states(levels)
    alpha: FloatArray = setting.prior_alpha + successes
    beta: FloatArray = setting.prior_beta + (counts - successes)
    index.prepare(setting, pulls)
    at_log_step = getattr(index, "at_log_step", None)
    if index.uses_step and at_log_step is not None:
        from elsv.indices._step_panels import StepPanels

        return StepPanels(partial(at_log_step, setting=setting), alpha, beta, levels)

    def all_of(size: int, step: int) -> FloatArray:
        a, b = alpha[:size], beta[:size]
        return check_index(index(a, b, step, setting), a, b, step)

    values = None if index.uses_step else all_of(triangle.size(levels), 1)

    def at(step: int) -> FloatArray:
        size = triangle.size(min(step, levels))
        return all_of(size, step) if values is None else values[:size]

    return at
