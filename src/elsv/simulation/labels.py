"""Policies under the names they were given, and a few steps spread evenly over many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from elsv._base.typing import IntArray
from elsv.errors import InvalidInputError
from elsv.names import parse
from elsv.policies import Policy


def named(
    policies: Sequence[str | Policy] | Mapping[str, str | Policy],
) -> tuple[tuple[str, ...], tuple[str | Policy, ...]]:
    """Return the names of policies, which must differ, and the policies."""
    if isinstance(policies, str) or callable(policies):
        policies = [policies]
    if isinstance(policies, Mapping):
        names, specs = tuple(policies), tuple(policies.values())
    else:
        specs = tuple(policies)
        names = tuple(str(parse(p)) if isinstance(p, str) else getattr(p, "__name__", repr(p)) for p in specs)
    if not specs:
        raise InvalidInputError("policies must name at least one policy, got none; for example ['thompson']")
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(f"policies must differ from one another, got {name!r} twice")
    return names, specs


def spread(horizon: int, most: int) -> IntArray:
    """Return at most `most` steps, evenly spread, the last one included."""
    return np.unique(np.rint(np.linspace(0, horizon, min(most, horizon) + 1)[1:]).astype(np.int64))
