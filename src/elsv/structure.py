r"""What is known of the means in advance, as a statement: a structure (paper §5.2, and past it).

A structure says which vectors of means are possible, or how likely; the prior is the product of Betas under
it. It describes itself, is written to a file as one table, and gives the exact belief under it: everything
above the belief needs nothing else, so that a structure of your own works wherever these do.

Examples
--------
>>> decreasing().describe()
'the means decrease: each arm succeeds at least as often as the next'
>>> decreasing().holds([[0.5, 0.4], [0.4, 0.5]]).tolist()
[True, False]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from elsv._typing import AnyArray
from elsv.beliefs import Belief, Chain, Independent, Rejection
from elsv.beliefs.base import Order, check_order
from elsv.errors import InvalidInputError, unknown_name


@runtime_checkable
class Structure(Protocol):
    """A statement about the means; frozen, compared by value."""

    def describe(self) -> str:
        """Say in words what is assumed."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return plain values under the key by which `from_dict` knows the statement; {} for none."""
        ...

    def holds(self, means: ArrayLike) -> AnyArray:
        """Return of means ``[..., N]`` whether they are possible, shape ``[...]``."""
        ...

    def belief(self) -> Belief:
        """Return the exact belief under the statement."""
        ...


@dataclass(frozen=True)
class Free:
    """Nothing is known: the arms are independent."""

    def describe(self) -> str:
        """Say in words what is assumed."""
        return "nothing is assumed: the arms are independent"

    def to_dict(self) -> dict[str, Any]:
        """Return no statement."""
        return {}

    def holds(self, means: ArrayLike) -> AnyArray:
        """Return true for all means."""
        return np.ones(np.shape(means)[:-1], dtype=bool)

    def belief(self) -> Belief:
        """Return the belief of independent arms."""
        return Independent()

    def rejection(self, **counts: Any) -> Belief:
        """Return the same: there is nothing to reject."""
        return Independent()


@dataclass(frozen=True)
class Monotone:
    r"""The means fall, :math:`\mu_1 \ge \dots \ge \mu_N`, or rise (paper §5.2)."""

    order: Order

    def __post_init__(self) -> None:
        check_order(self.order)

    def describe(self) -> str:
        """Say in words what is assumed."""
        way, other = ("decrease", "least") if self.order == "decreasing" else ("increase", "most")
        return f"the means {way}: each arm succeeds at {other} as often as the next"

    def to_dict(self) -> dict[str, Any]:
        """Return the direction under ``order``."""
        return {"order": self.order}

    def holds(self, means: ArrayLike) -> AnyArray:
        """Return whether no mean is out of order."""
        steps = np.diff(np.asarray(means, dtype=np.float64), axis=-1)
        return np.asarray(((steps <= 0) if self.order == "decreasing" else (steps >= 0)).all(axis=-1))

    def belief(self) -> Belief:
        """Return the exact belief of a chain."""
        return Chain(self.order)

    def rejection(self, **counts: Any) -> Belief:
        """Return the paper's own belief, which draws and keeps what is in order (Algorithm 4)."""
        return Rejection(self.order, **counts)


def free() -> Free:
    """Return the structure that says nothing."""
    return Free()


def decreasing() -> Monotone:
    """Return the statement that no arm succeeds more often than the one before it."""
    return Monotone("decreasing")


def increasing() -> Monotone:
    """Return the statement that no arm succeeds less often than the one before it."""
    return Monotone("increasing")


Builder = Callable[[Any], Structure]
_BUILDERS: dict[str, Builder] = {"order": Monotone}


def register(key: str, build: Builder) -> None:
    """Make `from_dict` (and so files and saved bandits) know a statement of your own.

    Parameters
    ----------
    key
        The key under which the structure's `to_dict` puts its value.
    build
        Called with that value; returns the structure, or raises `InvalidInputError`.
    """
    _BUILDERS[key] = build


def from_dict(values: Mapping[str, Any]) -> Structure:
    """Return the structure that `values` states, the inverse of `to_dict`.

    Examples
    --------
    >>> from_dict({"order": "decreasing"}) == decreasing()
    True
    """
    if not isinstance(values, Mapping):
        raise InvalidInputError(f'structure must be a table such as {{order = "decreasing"}}, got {values!r}')
    for key in values:
        if key not in _BUILDERS:
            raise unknown_name("statement", str(key), _BUILDERS)
    if len(values) > 1:
        raise InvalidInputError(f"structure must make one statement, got {', '.join(values)}")
    for key, value in values.items():
        return _BUILDERS[key](value)
    return Free()


def structure_of(given: Structure | Mapping[str, Any] | Order | None) -> Structure:
    """Return the structure that a user's argument stands for: a structure, its table, a direction or None."""
    if given is None:
        return Free()
    if isinstance(given, str):
        return Monotone(given)
    if isinstance(given, Mapping):
        return from_dict(given)
    if not isinstance(given, Structure) or isinstance(given, type):
        raise InvalidInputError(
            "structure must be a statement such as elsv.structure.decreasing() "
            f"(with describe, to_dict, holds and belief), got {given!r}"
        )
    return given
