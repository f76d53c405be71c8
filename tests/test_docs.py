"""Every example of README and docs runs, and what the pages say of the code is so.

In a page, ``python`` blocks run one after the other in one namespace (with ``>>>`` as doctests), ``toml``
blocks are written to the file that their first line names, and in ``console`` blocks every ``$ elsv`` or
``$ python`` line is run; output that is shown must match (``...`` stands for anything).
"""

import ast
import doctest
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import elsv
from commands import elsv as call

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
# Run elsewhere: with a server in test_service_docs.py and test_day.py, as the programs in examples/ below.
ELSEWHERE = {"clients.md", "day.md", "extending.md"}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in ELSEWHERE], ids=lambda p: p.name)
def test_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if (ROOT / "examples").is_dir():
        shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("COLUMNS", "100")
    namespace = {"__name__": "__main__"}
    for language, code in BLOCK.findall(page.read_text()):
        if language == "python" and ">>>" in code:
            run_doctest(code, namespace, page.name)
        elif language == "python":
            exec(compile(code, page.name, "exec"), namespace)
        elif language == "toml" and code.startswith("# "):
            Path(code.splitlines()[0][2:].strip()).write_text(code)
        elif language == "console":
            run_console(code)


def run_doctest(code, namespace, name):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    test = doctest.DocTestParser().get_doctest(code, namespace, name, name, 0)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=flags)
    runner.run(test, out=report.append, clear_globs=False)
    namespace.update(test.globs)
    assert runner.failures == 0, "".join(report)


def run_console(code):
    commands = re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]
    for command in commands:
        line, _, shown = command.partition("\n")
        if line.split()[0] not in ("elsv", "python"):
            continue
        words = shlex.split(line, comments=True)
        if words[0] == "elsv" and not set(line) & set("|<>&;$*"):
            done = call(*words[1:])
        else:
            done = subprocess.run(line, shell=True, capture_output=True, text=True)
            assert done.returncode == 0, f"{line}: {done.stderr}"
        if shown.strip():
            checker = doctest.OutputChecker()
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            assert checker.check_output(shown, done.stdout, flags), f"{line} printed:\n{done.stdout}"


def test_the_page_that_is_generated_is_up_to_date(monkeypatch):
    """As `docs/generate.py --check` says, which starts a process for each command."""

    def help_of(*command):
        return "\n".join(line.rstrip() for line in call(*command, "--help").stdout.strip().splitlines())

    generate = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    for name, value in (("COLUMNS", "100"), ("NO_COLOR", "1"), ("TERM", "dumb")):
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.modules["__main__"], "__package__", "", raising=False)  # what names the program
    monkeypatch.setitem(generate["page"].__globals__, "help_of", help_of)
    assert generate["PAGE"].read_text() == generate["page"]()


def test_every_public_name_stands_in_the_api_page():
    page = (ROOT / "docs" / "api.md").read_text()
    missing = [name for name in elsv.__all__ if f"`{name}" not in page]
    assert not missing


def test_every_policy_stands_in_its_page():
    policies = (ROOT / "docs" / "policies.md").read_text()
    assert [n for n in elsv.policy_names() if f"`{n}" not in policies] == []


def test_functions_and_tests_named_in_equations_exist():
    page = (ROOT / "docs" / "equations.md").read_text()
    for module, name in re.findall(r"`elsv\.([\w.]+)\.(\w+)`", page):
        loaded = __import__(f"elsv.{module}", fromlist=[name]) if not module[0].isupper() else elsv
        assert hasattr(loaded, name), f"elsv.{module}.{name}"
    for path, name in re.findall(r"`(tests/\w+\.py)(?:::(\w+))?`", page):
        text = (ROOT / path).read_text()
        assert not name or f"def {name}(" in text, f"{path}::{name}"


def package_modules():
    return [path for path in sorted(Path(elsv.__file__).parent.rglob("*.py")) if path.stem != "__main__"]


def name_of(path):
    parts = path.relative_to(Path(elsv.__file__).parent.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


@pytest.mark.parametrize("module", [name_of(p) for p in package_modules() if ">>> " in p.read_text()])
def test_examples_in_docstrings(module):
    loaded = __import__(module, fromlist=["x"])
    failures, tried = doctest.testmod(loaded, optionflags=doctest.ELLIPSIS)
    assert failures == 0
    assert tried > 0


def code_of(text):
    """Return Python source without its docstring, comments and layout."""
    tree = ast.parse(text)
    if ast.get_docstring(tree) is not None:
        tree.body.pop(0)
    return ast.dump(tree)


def test_the_page_about_extending_is_made_of_the_examples():
    page = (ROOT / "docs" / "extending.md").read_text()
    blocks = [code for language, code in BLOCK.findall(page) if language == "python"]
    names = ("index", "policy", "value", "belief", "structure")
    for name, block in zip(names, blocks, strict=True):
        assert code_of(block) == code_of((ROOT / "examples" / f"own_{name}.py").read_text()), name


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run_as_programs(example, tmp_path):
    done = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_design_page_names_every_package_and_nothing_that_is_not_there():
    page, root = (ROOT / "docs" / "design.md").read_text(), Path(elsv.__file__).parent
    packages = [path.parent for path in root.glob("*/__init__.py")]
    assert not [path.name for path in packages if f"`{path.name}/`" not in page]
    named = re.findall(r"`((?:\w+/)+\w*)(?:\.\w+)*`", page)
    places = (root, ROOT)
    gone = [
        name
        for name in named
        if not any((p / name).is_dir() or (p / name).with_suffix(".py").exists() for p in places)
    ]
    assert not gone


def test_every_package_says_what_to_read_first():
    for path in sorted(Path(elsv.__file__).parent.glob("*/__init__.py")):
        text = ast.get_docstring(ast.parse(path.read_text())) or ""
        assert "Read `" in text, path
        assert len(text.splitlines()) >= 3, path


def test_the_limits_on_the_page_are_those_of_the_code():
    from elsv._base.triangle import MOST_LEVELS
    from elsv.beliefs import abilities, points
    from elsv.beliefs.ladder.ranking import MOST_NODES
    from elsv.lattice.numbering import MOST_ARMS
    from elsv.policies.plan_layers import MOST_SEARCHES
    from elsv.policies.single import MOST_CHOICES
    from elsv.search.lookahead import MOST_STATES

    page = (ROOT / "docs" / "structures.md").read_text().partition("### Limits")[2].partition("\n## ")[0]
    limits = (MOST_LEVELS, abilities._MOST_BEST, points.MOST, MOST_NODES, MOST_ARMS)
    for limit in (*limits, MOST_CHOICES, MOST_STATES, MOST_SEARCHES):
        assert f"| {limit:,} " in page, limit


def test_optional_methods_of_a_belief_on_the_page_are_asked_for():
    page = (ROOT / "docs" / "extending.md").read_text().partition("| part | returns |")[2].partition("## ")[0]
    source = "".join(path.read_text() for path in (ROOT / "src" / "elsv" / "beliefs").rglob("*.py"))
    named = re.findall(r"^\| `(\w+)", page, re.MULTILINE)
    assert len(named) == 11
    for name in named:
        assert f'"{name}"' in source, name
