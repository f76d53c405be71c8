"""The few errors that elsv raises on purpose; the command line turns them into exit code 2."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from importlib import import_module
from typing import Any


class ElsvError(Exception):
    """Base of every error that elsv raises on purpose."""


class InvalidInputError(ElsvError, ValueError):
    """An argument breaks a rule; the message names the rule, the value and the remedy."""


class TooLongError(InvalidInputError):
    """By what has run so far, the work takes longer than was allowed; it was stopped."""


class MissingExtraError(ElsvError, ImportError):
    """An optional dependency is not installed; the message gives the pip line that adds it."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra: pip install 'elsv[{extra}]'")


def of_extra(module: str, feature: str, extra: str) -> Any:
    """Return a module that `extra` installs, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtraError(feature, extra) from error


class UnsavedError(InvalidInputError):
    """A result was computed and could not be written; it is here, as `result`."""

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result


class CorruptFileError(ElsvError):
    """A file is damaged or was not written by elsv; nothing was changed."""


class SamplingError(ElsvError, RuntimeError):
    """A sampler gave up; the message names the exact method that does not."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InvalidInputError:
    """Return the error for a name that is not in `known`, with the nearest match as a hint."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return InvalidInputError(f"unknown {kind} {name!r}: {hint}known: {', '.join(names)}")
