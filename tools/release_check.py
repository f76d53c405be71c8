"""Say what is missing before a version is uploaded: ``make release-check``.

One line for each thing, with what to do; the exit code is 1 if something is missing.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
Found = tuple[bool, str]


def found(root: Path) -> Iterator[Found]:
    """Yield whether each thing is there, and what it is or what to do."""
    version = _version(root / "src" / "elsv" / "_version.py")
    yield True, f"version {version} (src/elsv/_version.py)"
    cited = (root / "CITATION.cff").read_text(encoding="utf-8")
    stated = set(re.findall(r"^\s*version: *\"?([\w.]+)", cited, re.MULTILINE))
    yield (
        stated == {version},
        f"CITATION.cff: version {version} in both places, found {', '.join(sorted(stated))}",
    )
    for key, what in (("title", "the title"), ("date-released", "the date of this version")):
        yield _has(cited, key), f"CITATION.cff: {key}, {what}"
    yield _has(cited, "repository-code"), "CITATION.cff: repository-code, the address that the owner fills in"
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    yield "[project.urls]" in project, "pyproject.toml: [project.urls] with the repository's address"
    client = _version(root / "clients" / "python" / "src" / "elsv_client" / "__init__.py")
    yield bool(client), f"elsv-client has a version of its own: {client or 'none found'}"
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    dated = re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d", changes, re.MULTILINE)
    yield (
        dated is not None,
        f"CHANGELOG.md: a heading '## [{version}] - YYYY-MM-DD' over what is under Unreleased",
    )
    for name in (f"elsv-{version}-py3-none-any.whl", f"elsv-{version}.tar.gz"):
        yield (root / "dist" / name).exists(), f"dist/{name}: make package"
    built = list((root / "dist" / "client").glob(f"elsv_client-{client}*"))
    yield len(built) >= 2, f"dist/client: wheel and sdist of elsv-client {client}: make package"
    yield _git(root, "status", "--porcelain") == "", "git: nothing uncommitted"
    tags = (_git(root, "tag", "--points-at", "HEAD") or "").split()
    yield f"v{version}" in tags, f"git: the tag v{version} on this commit: git tag v{version}"


def _version(path: Path) -> str:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    stated = re.search(r'^__version__ = "(.+)"', text, re.MULTILINE)
    return "" if stated is None else stated[1]


def _has(cited: str, key: str) -> bool:
    """Return whether a key of the file has a value; a line that is commented out has none."""
    return re.search(rf'^{key}: *"?\w', cited, re.MULTILINE) is not None


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def main(root: Path = ROOT) -> int:
    """Print every line and return the exit code."""
    lines = list(found(root))
    for there, what in lines:
        print(f"{'ok     ' if there else 'MISSING'}  {what}")
    missing = sum(not there for there, _ in lines)
    print(
        "ready for an upload"
        if not missing
        else f"{missing} missing; see the release steps in CONTRIBUTING.md"
    )
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
