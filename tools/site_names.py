"""Which modules and names the reference of the documentation site shows, read from the sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import griffe

CODE = re.compile(
    r"(?<![`\[\w])`(?P<name>[A-Za-z_][\w.]*)`(?![`\]\w])"
)  # a name in backticks, not a link yet
SOURCES = Path(__file__).parent.parent / "src"
PACKAGE = "elsv"
APART = ("cli",)  # has a page of its own
FIRST = ("problem", "structure", "state")  # of the modules that stand in no package


def is_shown(name: str) -> bool:
    """Return whether a module belongs to the reference: not private, not compiled code."""
    return not name.startswith("_") and not name.endswith("_kernels") and name not in APART


@cache
def modules() -> dict[str, list[str]]:
    """Return the shown modules of every package by its name, and those in no package under ``elsv``."""
    root = SOURCES / PACKAGE
    alone = [path.stem for path in root.glob("*.py") if is_shown(path.stem)]
    alone.sort(key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))
    found = {PACKAGE: [f"{PACKAGE}.{name}" for name in alone]}
    for package in sorted(path.parent for path in root.glob("*/__init__.py") if is_shown(path.parent.name)):
        name = f"{PACKAGE}.{package.name}"
        paths = sorted(package.rglob("*.py"), key=lambda path: path.relative_to(root).with_suffix("").parts)
        names = [path.relative_to(root).with_suffix("").parts for path in paths]
        found[name] = [f"{PACKAGE}.{'.'.join(parts)}" for parts in names if all(map(is_shown, parts))]
    return found


def all_modules() -> frozenset[str]:
    """Return the shown packages and modules."""
    found = modules()
    return frozenset([*found, *(module for group in found.values() for module in group)])


def everything(thing: griffe.Object) -> Iterator[griffe.Object]:
    """Yield an object and all that is defined in it."""
    yield thing
    for member in thing.members.values():
        if not member.is_alias:
            yield from everything(member)


def known_names(package: griffe.Module) -> dict[str, str]:
    """Return every name that the reference shows and where, names that packages import included."""
    shown = all_modules()
    known = {
        thing.path: thing.path
        for thing in everything(package)
        if thing.docstring is not None and thing.module.path in shown and is_public(thing.path)
    }
    for home in (package, *(package[name.partition(".")[2]] for name in modules() if name != PACKAGE)):
        for alias in home.members.values():
            if alias.is_alias and is_public(alias.path) and alias.target_path.startswith(PACKAGE):
                known.setdefault(alias.path, known.get(alias.final_target.path, ""))
    known.pop(PACKAGE, None)
    return {name: target for name, target in known.items() if target}


def is_public(path: str) -> bool:
    """Return whether no part of a path is private."""
    return not any(part.startswith("_") for part in path.split("."))


@cache
def sources() -> griffe.Module:
    """Return the package as griffe reads it."""
    package = griffe.load(PACKAGE, search_paths=[str(SOURCES)], resolve_aliases=True)
    assert isinstance(package, griffe.Module)
    return package


@cache
def reference_names() -> dict[str, str]:
    """Return what `known_names` says of the sources."""
    return known_names(sources())


def own_members(package: str) -> list[str]:
    """Return the public names that a package defines in its own ``__init__``."""
    members = sources()[package.partition(".")[2]].members
    return [
        name
        for name, member in members.items()
        if not member.is_alias and not member.is_module and not name.startswith("_") and member.docstring
    ]


def public_names() -> list[str]:
    """Return where the reference has the names that are imported from the package itself."""
    return [sources()[name].canonical_path for name in sources().exports or []]
