"""Install the wheel and the sdist of a folder where nothing else is, and try them.

``python tools/try_package.py dist``. The versions of dependencies are those of requirements.lock. What is
tried is in ``tools/bare.py``; it runs in an empty directory, so that it imports the installed package.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(*words: str | Path, folder: Path) -> str:
    """Run a program in a folder, with nothing of this environment but pinned versions; return its output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PIP_CONSTRAINT"] = str(ROOT / "requirements.lock")
    done = subprocess.run(words, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}")
    return done.stdout


def only(folder: Path, pattern: str) -> Path:
    """Return the one file of a folder that has this pattern."""
    found = list(folder.glob(pattern))
    if len(found) != 1:
        sys.exit(f"{folder} must hold one {pattern}, got {len(found)}: run `make package`")
    return found[0].resolve()


def try_file(package: Path, python: Path, folder: Path, *options: str) -> None:
    """Install one file and try it; the next one finds the dependencies there and nothing else."""
    pip = (python, "-m", "pip", "--quiet", "--disable-pip-version-check")
    run(*pip, "install", package, folder=folder)
    run(*pip, "check", folder=folder)
    tried = run(python, "-I", ROOT / "tools" / "bare.py", *options, folder=folder).split()
    run(*pip, "uninstall", "--yes", "elsv", folder=folder)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    if set(tried) != set(extras):
        sys.exit(f"tools/bare.py must try every extra: {sorted(extras)}, got {tried}")
    print(f"{package.name}: installed, decides, names the extras {', '.join(tried)}")


def main() -> None:
    """Try both files in one new environment; the sdist, of which the wheel was built, more quickly."""
    wheel, sdist = (only(Path(sys.argv[1]), pattern) for pattern in ("*.whl", "*.tar.gz"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "venv", folder / "bare", folder=folder)
        (folder / "work").mkdir()
        python = folder / "bare" / "bin" / "python"
        try_file(wheel, python, folder / "work")
        try_file(sdist, python, folder / "work", "--quick")


if __name__ == "__main__":
    main()
