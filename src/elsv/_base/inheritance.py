"""Quicker ways that a subclass inherits hold only as long as it leaves alone what they stand for."""

from __future__ import annotations


def still_holds(thing: object, shortcut: str, *facts: str) -> bool:
    """Return whether no class below the one that gives `shortcut` has its own `facts`.

    A belief with its own `mean` no longer has the weights of its parent, for example, unless it gives both.
    What an object has by itself, not by its class, holds.
    """
    if shortcut in getattr(thing, "__dict__", ()):
        return True
    for kind in type(thing).__mro__:
        if shortcut in vars(kind):
            return True
        if any(fact in vars(kind) for fact in facts):
            return not hasattr(type(thing), shortcut)
    return True
