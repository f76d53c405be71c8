"""The worked notebook runs, and what stands at the end of its cells is shown as HTML."""

import json
import warnings
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / "examples" / "worked.ipynb"


@pytest.fixture(scope="module")
def cells():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the machinery; a cell that fails is an error here
        import nbformat
        from nbclient import NotebookClient

        notebook = nbformat.read(NOTEBOOK, as_version=4)
        nbformat.validate(notebook)
        place = {"metadata": {"path": str(NOTEBOOK.parent)}}
        NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place).execute()
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell):
    """Return the last HTML that a cell shows."""
    return [o["data"]["text/html"] for o in cell.outputs if "text/html" in o.get("data", {})][-1]


def test_results_are_shown_as_html(cells):
    words = [
        "Problem: 4 arms",
        "Step 1: pull",
        "Step 3: pull",
        "Comparison: 500",
        "",
        "Exact evaluation",
        "Bayes",
    ]
    for cell, start in zip(cells, words, strict=False):
        if start:
            assert start in shown(cell)
            assert "<table" in shown(cell)


def test_the_figure_is_drawn(cells):
    assert any("image/png" in output.get("data", {}) for output in cells[-1].outputs)


def test_nothing_is_written_to_stderr(cells):
    said = [
        o.text for cell in cells for o in cell.outputs if o.output_type == "stream" and o.name == "stderr"
    ]
    assert said == []


def test_the_notebook_is_kept_without_its_results():
    content = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert all(not cell["outputs"] for cell in content["cells"] if cell["cell_type"] == "code")
