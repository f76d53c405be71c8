"""The one grammar for names, on the command line, in files and in Python: ``NAME[:key=value,…]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from elsv.errors import InvalidInputError, unknown_name

_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True)
class Name:
    """A parsed name: the part before the colon and its parameters as text."""

    name: str
    parameters: Mapping[str, str]

    def __str__(self) -> str:
        given = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.name}:{given}" if given else self.name


def parse(text: str) -> Name:
    """Split ``"ucb:scale=0.4,count_prior=true"`` into the name and its parameters."""
    wrong = InvalidInputError(f"a name reads NAME[:key=value,…], got {text!r}; for example ucb:scale=0.4")
    name, colon, rest = text.strip().partition(":")
    parameters: dict[str, str] = {}
    for item in rest.split(",") if colon else ():
        key, equals, value = (part.strip() for part in item.partition("="))
        if not key or not equals or not value:
            raise wrong
        if key in parameters:
            raise InvalidInputError(f"a parameter may be given once, {key!r} stands twice in {text!r}")
        parameters[key] = value
    if not name:
        raise wrong
    return Name(name, parameters)


def convert(owner: str, given: Mapping[str, str], known: Mapping[str, type]) -> dict[str, Any]:
    """Turn the text of each parameter into the type that `known` gives for it."""
    values: dict[str, Any] = {}
    for key, text in given.items():
        if key not in known:
            if not known:
                raise InvalidInputError(f"{owner} takes no parameters, got {key}={text}")
            raise unknown_name(f"parameter of {owner}", key, known)
        values[key] = _value(owner, key, text, known[key])
    return values


def _value(owner: str, key: str, text: str, kind: type) -> Any:
    try:
        return _TRUTH[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError) as error:
        wanted = {bool: "true or false", int: "a whole number", float: "a number"}.get(kind, "text")
        raise InvalidInputError(f"{key} of {owner} must be {wanted}, got {text!r}") from error
