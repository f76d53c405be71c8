"""``make release-check`` names what is missing for an upload, and nothing else."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def check():
    spec = importlib.util.spec_from_file_location("release_check", ROOT / "tools" / "release_check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copy(tmp_path):
    """What the check reads of the repository, complete."""
    for name in (
        "src/elsv/_version.py", "CITATION.cff", "pyproject.toml", "CHANGELOG.md",
        "clients/python/src/elsv_client/__init__.py",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("CITATION.cff", "CHANGELOG.md", "pyproject.toml"):
        path = tmp_path / name
        text = path.read_text().replace("# repository-code:", "repository-code:")
        text = text.replace("## [Unreleased]", "## [Unreleased]\n\n## [0.1.0] - 2026-11-16", 1)
        path.write_text(text + ("\n[project.urls]\nRepository = 'x'\n" if name == "pyproject.toml" else ""))
    (tmp_path / "dist" / "client").mkdir(parents=True)
    for name in (
        "elsv-0.1.0-py3-none-any.whl", "elsv-0.1.0.tar.gz",
        "client/elsv_client-0.1.0-py3-none-any.whl", "client/elsv_client-0.1.0.tar.gz",
    ):  # fmt: skip
        (tmp_path / "dist" / name).touch()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"], ["tag", "v0.1.0"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    return tmp_path


def test_a_complete_release_is_ready(check, copy, capsys):
    assert check.main(copy) == 0
    said = capsys.readouterr().out
    assert "MISSING" not in said
    assert said.endswith("ready for an upload\n")


def test_what_the_owner_must_fill_in_is_named(check, copy, capsys):
    shutil.copy(ROOT / "CITATION.cff", copy / "CITATION.cff")
    (copy / "dist" / "elsv-0.1.0.tar.gz").unlink()
    assert check.main(copy) == 1
    missing = [line for line in capsys.readouterr().out.splitlines() if line.startswith("MISSING")]
    assert [line.split()[1].rstrip(":") for line in missing] == [
        "CITATION.cff",
        "dist/elsv-0.1.0.tar.gz",
        "git",
    ]
    assert "repository-code, the address that the owner fills in" in missing[0]


def test_another_version_is_seen(check, copy, capsys):
    path = copy / "CITATION.cff"
    path.write_text(path.read_text().replace("version: 0.1.0", "version: 0.0.9", 1))
    assert check.main(copy) == 1
    assert "version 0.1.0 in both places, found 0.0.9, 0.1.0" in capsys.readouterr().out
