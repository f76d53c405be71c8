"""Install the packages of a folder where nothing else is, and try them.

``python tools/try_package.py dist`` tries the wheel and the sdist of elsv, and those of elsv-client in
``dist/client``. Dependencies have the versions of requirements.lock. ``tools/bare.py`` has what is tried; it
runs in an empty directory, so that it imports the installed package.
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


def pip(python: Path, *words: str | Path, folder: Path) -> None:
    """Run pip."""
    run(python, "-m", "pip", "--quiet", "--disable-pip-version-check", *words, folder=folder)


def install(python: Path, *packages: str | Path, folder: Path) -> None:
    """Install packages and check that what is installed fits together."""
    pip(python, "install", *packages, folder=folder)
    pip(python, "check", folder=folder)


def try_elsv(package: Path, python: Path, folder: Path, *options: str) -> None:
    """Install elsv without extras and try it; the next one finds the dependencies there and nothing else."""
    install(python, package, folder=folder)
    tried = run(python, "-I", ROOT / "tools" / "bare.py", *options, folder=folder).split()
    pip(python, "uninstall", "--yes", "elsv", folder=folder)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    if set(tried) != set(extras):
        sys.exit(f"tools/bare.py must try every extra: {sorted(extras)}, got {tried}")
    print(f"{package.name}: installed, decides, names the extras {', '.join(tried)}")


def try_client(package: Path, python: Path, folder: Path) -> None:
    """Install the client alone: it must work where there is no elsv."""
    install(python, package, folder=folder)
    asked = "import elsv_client; print(elsv_client.Client('http://127.0.0.1:9', timeout=5).ready())"
    if run(python, "-I", "-c", asked, folder=folder).strip() != "False":
        sys.exit(f"{package.name} must say that nobody answers")
    print(f"{package.name}: installed alone, asks")


def try_both(wheel: Path, client: Path, python: Path, folder: Path) -> None:
    """Install ``elsv[client]`` from the two wheels: `elsv.client` is the client."""
    install(python, client, f"{wheel}[client]", folder=folder)
    said = run(python, "-I", "-c", "import elsv.client as c; print(c.Client.__module__)", folder=folder)
    if not said.startswith("elsv_client"):
        sys.exit(f"elsv.client must be elsv_client, got {said}")
    print(f"{wheel.name}[client]: installed with {client.name}")


def main() -> None:
    """Try all files in one new environment; the sdist, of which the wheel was built, more quickly."""
    dist = Path(sys.argv[1])
    wheel, sdist = (only(dist, pattern) for pattern in ("*.whl", "*.tar.gz"))
    clients = [only(dist / "client", pattern) for pattern in ("*.tar.gz", "*.whl")]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(sys.executable, "-m", "venv", folder / "bare", folder=folder)
        (folder / "work").mkdir()
        python = folder / "bare" / "bin" / "python"
        for client in clients:
            try_client(client, python, folder / "work")
            pip(python, "uninstall", "--yes", "elsv-client", folder=folder)
        try_elsv(wheel, python, folder / "work")
        try_elsv(sdist, python, folder / "work", "--quick")
        try_both(wheel, clients[1], python, folder / "work")


if __name__ == "__main__":
    main()
