"""Indices by name: ``make_index("ucb", scale=0.4)`` or ``index_from_name("ucb:scale=0.4")``.

An index scores one arm by itself and is imported when it is asked for. Read `base` first, then `formulas`,
which has the smallest ones. `tables` gives an index in all states of an arm; the `_gittins_*` modules compute
Gittins indices for `gittins` and `finite_gittins`.
"""

from __future__ import annotations

import dataclasses
import importlib
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

from elsv.errors import InvalidInputError, unknown_name
from elsv.indices.base import FunctionIndex, Index, Setting
from elsv.names import convert, parse

__all__ = [
    "INDEX_NAMES",
    "FunctionIndex",
    "Index",
    "Setting",
    "index_class",
    "index_from_name",
    "make_index",
    "parameters_of",
]

# name: module within this package and class
_CLASSES = {
    "greedy": ("formulas", "Greedy"),
    "ucb": ("formulas", "UCB"),
    "ucb1": ("formulas", "UCB1"),
    "ucb-v": ("formulas", "UCBV"),
    "kl-ucb": ("formulas", "KLUCB"),
    "moss": ("formulas", "MOSS"),
    "bayes-ucb": ("formulas", "BayesUCB"),
    "gittins": ("gittins", "Gittins"),
    "finite-gittins": ("finite_gittins", "FiniteGittins"),
    "optimistic-gittins": ("formulas", "OptimisticGittins"),
}
INDEX_NAMES = tuple(_CLASSES)


def index_class(name: str) -> type[Any]:
    """Return the class that `name` stands for."""
    if name not in _CLASSES:
        raise unknown_name("index", name, INDEX_NAMES)
    module, attribute = _CLASSES[name]
    found: type[Any] = getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    return found


def parameters_of(name: str) -> dict[str, type]:
    """Return the parameters of the index `name` and their types, None as a value left aside.

    Examples
    --------
    >>> parameters_of("ucb")
    {'scale': <class 'float'>, 'count_prior': <class 'bool'>}
    """
    cls = index_class(name)
    hints = typing.get_type_hints(cls)
    found: dict[str, type] = {}
    for entry in dataclasses.fields(cls):
        if entry.init:
            kinds = typing.get_args(hints[entry.name]) or (hints[entry.name],)
            found[entry.name] = next(kind for kind in kinds if kind is not types.NoneType)
    return found


def make_index(index: str | Callable[..., Any], **parameters: Any) -> Index:
    """Return an index from its name and parameters, or from a function of (alpha, beta, step).

    Parameters
    ----------
    index
        A name of `INDEX_NAMES`, or a function that is called on arrays.
    parameters
        What the class of that name takes; a function takes ``uses_step`` (default True).

    Examples
    --------
    >>> make_index("ucb", scale=0.4)
    UCB(scale=0.4, count_prior=False)
    """
    if isinstance(index, str):
        made: Callable[..., Index] = index_class(index)
        _check_parameters(index, parameters, parameters_of(index))
        return made(**parameters)
    if not callable(index):
        raise InvalidInputError(
            f"an index must be a name or a function of (alpha, beta, step), got {index!r}"
        )
    _check_parameters("a function", parameters, ("uses_step",))
    return FunctionIndex(index, **parameters)


def index_from_name(text: str) -> Index:
    """Return the index that ``NAME[:key=value,…]`` stands for.

    Examples
    --------
    >>> index_from_name("optimistic-gittins:steps=2,discount=0.9")
    OptimisticGittins(steps=2, discount=0.9)
    """
    name = parse(text)
    return make_index(name.name, **convert(name.name, name.parameters, parameters_of(name.name)))


def _check_parameters(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    names = tuple(known)
    for name in given:
        if not names:
            raise InvalidInputError(f"{owner} takes no parameters, got {name!r}; leave it out")
        if name not in names:
            raise unknown_name(f"parameter of {owner}", name, names)
