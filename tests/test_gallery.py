"""The gallery's page says what was measured, and its pictures are there."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "gallery.md").read_text()
KNOWN = json.loads((ROOT / "docs" / "figures" / "gallery.json").read_text())


def tables():
    pytest.importorskip("matplotlib")
    from benchmarks.gallery import tables

    return tables(KNOWN)


def test_tables_are_those_of_what_was_measured():
    for table in tables().split("\n\n"):
        assert table in PAGE


@pytest.mark.parametrize("name", KNOWN)
def test_every_problem_has_its_picture_and_its_place(name):
    picture = ROOT / "docs" / "figures" / f"gallery-{name}.svg"
    assert picture.read_text().rstrip().endswith("</svg>")
    assert f"figures/{picture.name}" in PAGE


@pytest.mark.parametrize("name", KNOWN)
def test_plan_is_not_worse_than_its_rivals(name):
    for rival in ("elsv", "thompson", "ids"):
        less, half = KNOWN[name]["plan_less"][rival]
        assert less <= half, rival


@pytest.mark.parametrize("name", [name for name, one in KNOWN.items() if "exact" in one])
def test_exact_regrets_are_evaluated_again(name):
    from benchmarks.gallery import _examples

    from elsv.exact import evaluate

    small = _examples()[name].small
    if small.arms > 3:
        pytest.skip("takes long")
    (row,) = evaluate(small, ["optimal"])
    assert row.regret == pytest.approx(KNOWN[name]["exact"]["regret"]["optimal"], abs=1e-6)
