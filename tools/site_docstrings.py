"""What the documentation site makes of docstrings, as an extension of griffe.

Formulas become what the pages' own formulas are (`site_math`), and a name in backticks that stands in the
reference becomes a link to it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import griffe

sys.path.insert(0, str(Path(__file__).parent))

import site_math
import site_names


class Docstrings(griffe.Extension):
    """Rewrites every docstring of the package once it is loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: object) -> None:
        """Rewrite the docstrings of a package and of all that is in it."""
        known = site_names.known_names(pkg)
        for thing in site_names.everything(pkg):
            if thing.docstring is not None:
                thing.docstring.value = linked(site_math.dollars(thing.docstring.value), thing, known)


def linked(text: str, thing: griffe.Object, known: dict[str, str]) -> str:
    """Return the text with links for the names in it that the reference has, except to itself."""

    def link(found: re.Match[str]) -> str:
        target = target_of(found["name"], thing, known)
        return f"[`{found['name']}`][{target}]" if target else found[0]

    return site_names.CODE.sub(link, text)


def target_of(name: str, thing: griffe.Object, known: dict[str, str]) -> str | None:
    """Return where what a docstring names is: a full path, or a name in its class, module or package."""
    if thing.is_function and name in thing.parameters:
        return None
    if name in known:
        return known[name]
    parent: griffe.Object | None = thing
    modules = site_names.all_modules()
    while parent is not None:
        path = f"{parent.path}.{name}"
        of_the_root = parent.parent is None and parent is not thing  # there `values` is a word, not a module
        if path in known and known[path] != thing.path and not (of_the_root and path in modules):
            return known[path]
        parent = parent.parent
    return None
