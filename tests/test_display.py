"""What results look like at the end of a notebook's cell, and how progress is shown there."""

import io
import re
import sys
import types
from html.parser import HTMLParser

import pytest

from elsv import Bandit, Problem, compare, evaluate, solve
from elsv._base.html import block, shortened, table
from elsv._base.progress import bar_html, in_notebook, progress_bar, watched

PROBLEM = Problem([8, 9, 10], "decreasing", 6, names=["<b>cheap</b>", "usual", "dear & fine"])


class Balanced(HTMLParser):
    """Fails where tags are not closed in their order; notes the tags and the attributes."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.styles = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)
        self.styles += [value for key, value in attrs if key == "style"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


RESULTS = {
    "problem": lambda: PROBLEM,
    "explanation": lambda: Bandit(PROBLEM, "elsv", seed=0).explain(),
    "solution": lambda: solve(PROBLEM),
    "evaluations": lambda: evaluate(PROBLEM, ["optimal", "greedy", "random"]),
    "evaluation": lambda: evaluate(PROBLEM, "greedy"),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_html_is_whole_and_has_no_colours_of_its_own(kind):
    text = RESULTS[kind]()._repr_html_()
    seen = Balanced(text)
    assert "table" in seen.tags
    assert not {"script", "style", "link", "b"} & set(seen.tags)
    for style in seen.styles:  # readable on a light and on a dark page
        assert re.findall(r"(?<!-)color:([^;]+)", style) in ([], ["inherit"])
        for colour in re.findall(r"background:([^;]+)", style):
            assert colour == "transparent" or colour.startswith("rgba(")


def test_names_are_escaped():
    for result in (PROBLEM, Bandit(PROBLEM, seed=0).explain(), solve(PROBLEM)):
        assert "&lt;b&gt;cheap&lt;/b&gt;" in result._repr_html_()
        assert "dear &amp; fine" in result._repr_html_()


def test_a_comparison_shows_its_table_and_verdict():
    found = compare(PROBLEM, ["greedy", "random"], 20)
    text = found._repr_html_()
    assert "<table" in text
    assert "least mean regret" in text
    assert "<code>greedy</code>" in text


def test_figures_follow_the_theme_of_the_notebook():
    text = compare(PROBLEM, ["greedy", "random"], 20)._repr_html_()
    assert "background:white" not in text
    assert 'body[data-jp-theme-light="false"]' in text
    assert '.elsv-figure [style*="fill: #ffffff"] { fill: var(--jp-layout-color0' in text


def test_a_problem_reads_as_it_is_written():
    assert (
        repr(Problem([1, 2], "increasing", 5)) == "Problem(rewards=[1.0, 2.0], order='increasing', horizon=5)"
    )
    for problem in (
        PROBLEM,
        Problem(prior=[[1, 2], [3, 4]], discount=0.9),
        Problem([1, 1], horizon=3, structure={"order": "decreasing"}),
    ):
        assert eval(repr(problem), {"Problem": Problem}) == problem


def test_the_other_results_say_what_they_are():
    assert repr(Bandit(PROBLEM, "greedy").explain()).startswith("Explanation(step=1, policy='greedy', arm=")
    assert re.fullmatch(
        r"Solution\(value=[\d.]+, regret=[\d.]+, first='dear & fine'\)",
        repr(solve(Problem([1], None, 2, names=["dear & fine"]))),
    )


def test_many_arms_are_shortened():
    text = Problem([1.0] * 30, horizon=5)._repr_html_()
    assert "19 of 30 arms" in text
    assert "arm 30" in text
    assert "arm 25" not in text
    assert shortened([["a"], ["b"]], 2) == ([["a"], ["b"]], False)


def test_columns_without_numbers_are_left_out():
    assert ">bonus<" in Bandit(PROBLEM, "elsv").explain()._repr_html_()
    assert ">bonus<" not in Bandit(PROBLEM, "thompson", seed=0).explain()._repr_html_()


def test_a_table_marks_what_is_chosen():
    text = block("a", table(["x", "y"], [["1", "2"], ["3", "4"]], chosen=[1]))
    first, second = text.split("<tbody>")[1].split("</tr>")[:2]
    assert "rgba(64" not in first
    assert "rgba(64" in second


class Kernel:
    """Stands for IPython in this process: keeps what is displayed."""

    def __init__(self):
        self.shown = []
        self.kernel = object()

    def modules(self):
        display = types.ModuleType("IPython.display")
        display.HTML = str

        def show(content, display_id=False):
            self.shown.append(content)
            return types.SimpleNamespace(update=self.shown.append)

        display.display = show
        whole = types.ModuleType("IPython")
        whole.get_ipython = lambda: self
        whole.display = display
        return {"IPython": whole, "IPython.display": display}


@pytest.fixture
def kernel(monkeypatch):
    found = Kernel()
    for name, module in found.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr("elsv._base.progress._PATIENCE", 0.0)
    monkeypatch.setattr("elsv._base.progress._PAUSE", 0.0)
    return found


def test_a_notebook_shows_a_bar_and_takes_it_away(kernel):
    assert in_notebook()
    problem = Problem([1, 1], horizon=8)
    for work in (
        lambda: compare(problem, ["random"], 20, jobs=1),
        lambda: solve(problem),
        lambda: evaluate(problem, "greedy"),
    ):
        kernel.shown.clear()
        work()
        assert "100 %" in kernel.shown[-2]
        assert kernel.shown[-1] == ""


def test_no_bar_where_none_is_wanted(kernel):
    compare(Problem([1, 1], horizon=8), ["random"], 20, progress=False)
    assert kernel.shown == []
    told = []
    compare(Problem([1, 1], horizon=8), ["random"], 20, progress=lambda *now: told.append(now))
    assert kernel.shown == []
    assert told[-1] == (8, 8)


def test_a_short_job_shows_no_bar(kernel, monkeypatch):
    monkeypatch.setattr("elsv._base.progress._PATIENCE", 60.0)
    solve(Problem([1, 1], horizon=8))
    assert kernel.shown == []


def test_a_pipe_sees_no_bar(monkeypatch):
    assert not in_notebook()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress_bar("working") as bar:
        bar(1, 2)
    for wanted in (None, True):
        with watched(wanted, "working") as report:
            report(1, 2)
    assert sys.stderr.getvalue() == ""  # a line a minute, and none for short work
    with watched(False, "working") as report:
        assert report is None


def test_the_bar_says_how_long_the_rest_takes():
    assert "25 %, about 3.0 s left" in bar_html("comparing", 0.25, 3.0)
    assert "left" not in bar_html("comparing", 0.0, None)
    assert "left" not in bar_html("comparing", 1.0, 0.0)
    Balanced(bar_html("a < b", 0.5, 3.0))
