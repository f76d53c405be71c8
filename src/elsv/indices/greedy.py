"""Greedy: the mean itself, with no bonus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsv._base.typing import FloatArray
from elsv.indices.base import IndexBase, Setting


@dataclass(frozen=True)
class Greedy(IndexBase):
    r"""The posterior mean, :math:`z = \alpha/(\alpha+\beta)`; its bonus is 0."""

    uses_step = False

    def __call__(self, alpha: FloatArray, beta: FloatArray, step: int, setting: Setting) -> FloatArray:
        """Return the means, elementwise."""
        return np.divide(alpha, np.add(alpha, beta))
