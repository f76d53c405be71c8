"""Data flows one way: no module imports one that stands to its right."""

import ast
import functools
import importlib
import subprocess
import sys
from pathlib import Path

import elsv

ROOT = Path(elsv.__file__).parent
LAYERS = (
    ("_version", "errors", "names", "_base"),
    ("choice", "_choice_kernels"),
    ("state",),
    ("lattice",),
    ("beliefs",),
    ("structure",),
    ("segments",),
    ("problem",),
    ("indices",),
    ("values",),
    ("search",),
    ("policies",),
    ("prior",),
    ("exact", "simulation"),
    ("report", "live", "assumptions"),
    ("stores",),
    ("campaign",),
    ("warm", "suite"),
    ("paper",),
    ("service", "client"),
    ("__init__",),
    ("cli", "__main__"),
)
# A result can draw and print itself; what does it is imported when it is asked for.
ALLOWED = {
    ("simulation/compare.py", "elsv.report.comparison"),
    ("exact/evaluate.py", "elsv.report.evaluation"),
    ("exact/evaluate.py", "elsv.report.latex"),
    ("simulation/compare.py", "elsv.report.latex"),
    ("exact/evaluate.py", "elsv.report.plots"),
    ("simulation/compare.py", "elsv.report.plots"),
    ("exact/solve.py", "elsv.report.plots"),
    ("exact/evaluate.py", "elsv.report.terminal"),
    ("exact/solve.py", "elsv.report.terminal"),
    ("simulation/compare.py", "elsv.report.terminal"),
    # A problem fills in rows that are left out by a rule that needs problems.
    ("problem.py", "elsv.prior.untried"),
}
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
MODULES = sorted(ROOT.rglob("*.py"))


def layer_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split(".")[1:])
    return path.with_suffix(".py").exists() or path.is_dir()


@functools.cache
def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            parts = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [part if node.module == "elsv" or is_module(part) else node.module for part in parts]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name for name in names if name and name.split(".")[0] == "elsv"}
    return {"elsv" if layer_of(n) not in RANK and n.count(".") == 1 else n for n in found}


def test_nothing_imports_to_its_right():
    for path in MODULES:
        own = path.relative_to(ROOT).parts[0].removesuffix(".py")
        assert own in RANK, f"{own} has no place in LAYERS"
        for name in imports(path):
            if (path.relative_to(ROOT).as_posix(), name) not in ALLOWED:
                assert RANK[layer_of(name)] <= RANK[own], f"{path} imports {name}"


def module_of(path: Path) -> str:
    parts = ("elsv", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_private_module_of_another_package_is_imported():
    for path in MODULES:
        for name in imports(path):
            package, private = name.rsplit(".", 1) if "." in name else (name, "")
            if private.startswith("_") and package != "elsv":
                assert module_of(path).startswith(f"{package}."), f"{path} imports {name}"


def test_no_module_imports_itself_through_others():
    """Lazy imports count too; `elsv` itself, which imports everything, does not."""
    graph = {
        module_of(path): {n for n in imports(path) if n not in ("elsv", module_of(path))} for path in MODULES
    }
    done, open_ = set(), []

    def visit(module):
        assert module not in open_, " → ".join([*open_[open_.index(module) :], module])
        if module in done or module not in graph:
            return
        open_.append(module)
        for name in sorted(graph[module]):
            if (module.removeprefix("elsv.").replace(".", "/") + ".py", name) not in ALLOWED:
                visit(name)
        done.add(open_.pop())

    for module in graph:
        visit(module)


def test_only_kernel_modules_compile():
    for path in MODULES:
        if path.stem.endswith("_kernels") or path.as_posix().endswith("_base/jit.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [a.name for a in node.names] + [getattr(node, "module", None) or ""]
                compiles = [n for n in names if n.split(".")[0] == "numba" or n == "elsv._base.jit"]
                assert not compiles, f"{path} compiles but is not named _*_kernels.py"


def test_importing_elsv_and_its_command_line_loads_nothing_heavy():
    code = (
        "import sys, elsv.cli; from elsv import *; "
        "heavy = ('numba', 'scipy', 'polars', 'matplotlib', 'pandas', 'joblib', 'distributed', "
        "'starlette', 'pydantic'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there_and_documented():
    for name in elsv.__all__:
        assert getattr(elsv, name).__doc__, name


def test_names_are_imported_when_they_are_used():
    code = (
        "import sys, elsv; mine = lambda: sorted(m for m in sys.modules if m.startswith('elsv.')); "
        "print(mine()); print('Problem' in dir(elsv), hasattr(elsv, 'no_such_name')); "
        "print(elsv.Problem.__name__, elsv.policies.make_policy is elsv.make_policy); "
        "print('elsv.problem' in mine())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["['elsv._version']", "True False", "Problem True", "True", ""]


def test_type_checkers_see_every_public_name():
    (block,) = (
        node for node in ast.parse((ROOT / "__init__.py").read_text()).body if isinstance(node, ast.If)
    )
    homes = {alias.name: node.module for node in block.body for alias in node.names}
    assert set(homes) == set(elsv.__all__)
    for name, home in homes.items():
        assert getattr(importlib.import_module(home), name) is getattr(elsv, name), name
