"""Results draw themselves on the user's axes, in the user's style; figures on pages fit theme and screen."""

import re
import subprocess
import sys

import numpy as np
import pytest

import elsv
from elsv.errors import InvalidInputError
from elsv.indices.gittins import gittins_table
from elsv.paper.base import Drawing, Outcome
from elsv.paper.optimum import regions
from elsv.paper.run import chosen
from elsv.report import figures
from elsv.report._drawing import equal_series, wrapped
from elsv.report.page import Page
from elsv.report.plots import plot_index, plot_values
from elsv.report.style import DARK, NARROW, dark_rules, look_of
from test_report import comparison

TWELVE = comparison({f"policy {k}": 1.0 + k for k in range(10)} | {"same": 3.0, "elsv": 20.0})
FORTY = comparison({"thompson": 1.0, "elsv": 2.0}, arms=tuple(f"arm {k}" for k in range(40)))
PROBLEM = elsv.Problem(rewards=[0.5, 1.0], horizon=6, names=("cheap", "dear"))


@pytest.fixture
def plt():
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def explanation(policy, problem=PROBLEM):
    return elsv.Bandit(problem, policy=policy, seed=1).explain()


def results():
    solution = elsv.solve(PROBLEM, keep=6)
    yield "regret", TWELVE.plot
    for kind in ("final", "differences"):
        yield kind, lambda ax=None, kind=kind: TWELVE.plot(ax, kind=kind)
    yield "pulls", lambda ax=None: FORTY.plot(ax, kind="pulls", policy="elsv")
    yield "arms", solution.plot
    yield "steps", lambda ax=None: solution.plot(ax, kind="steps")
    yield "index", explanation("gittins").plot
    yield "no score", explanation("plan").plot
    yield "many arms", explanation("greedy", FORTY.problem).plot
    yield "table", lambda ax=None: plot_index(gittins_table(1, 1, 20, 0.9), ax)
    yield "values", lambda ax=None: plot_values({"a": 1.0, "b": 0.2, "optimal": 0.1}, ax, steps=6)


def test_every_result_draws_on_the_axes_given_and_returns_them(plt):
    import matplotlib

    for name, plot in results():
        before = dict(matplotlib.rcParams)
        figure, (left, right) = plt.subplots(1, 2, layout="constrained")
        assert plot(ax=right) is right, name
        assert right.get_xlabel(), name
        assert right.has_data(), name
        assert not left.has_data(), name
        figure.canvas.draw()
        own = plot()
        assert own.get_figure() is plt.gcf(), name
        assert dict(matplotlib.rcParams) == before, name
        plt.close("all")


def test_plots_are_in_the_users_own_style(plt):
    settings = {
        "font.size": 7.0,
        "lines.linewidth": 3.5,
        "text.color": "navy",
        "axes.prop_cycle": plt.cycler(color=["red", "#00ff00"]),
    }
    with plt.rc_context(settings):
        axes = comparison({"elsv": 1.0, "thompson": 2.0, "greedy": 3.0}).plot()
        lines = [line for line in axes.lines if len(line.get_xdata()) > 2]
        assert [line.get_color() for line in lines] == ["#ff0000", "#00ff00", "#ff0000"]
        assert {line.get_linewidth() for line in lines} == {3.5}
        assert len({line.get_linestyle() for line in (lines[0], lines[2])}) == 2
        assert {text.get_fontsize() for text in axes.get_legend().get_texts()} == {plt.rcParams["font.size"]}
        rows = explanation("greedy").plot()
        assert {text.get_color() for text in rows.get_yticklabels()} == {"navy"}
    axes = comparison({"elsv": 1.0, "thompson": 2.0}).plot(colours={"elsv": "black"})
    assert [line.get_color() for line in axes.lines][:2] == [
        "#000000",
        look_of(["thompson"])["thompson"].colour,
    ]


def test_a_comparison_has_several_pictures(plt):
    assert TWELVE.plot(log_x=True).get_xscale() == "log"
    fewer = TWELVE.plot(leave_out=["elsv", "same"], labels="none")
    assert len(fewer.lines) == 10
    assert not fewer.texts
    final = TWELVE.plot(kind="final")
    assert next(text.get_text() for text in final.get_yticklabels()) == "policy 0"
    assert "policy 0" in TWELVE.plot(kind="differences").get_xlabel()
    assert FORTY.plot(kind="pulls", policy="thompson").get_title() == "thompson"


def test_the_optimum_is_a_line_among_exact_regrets(plt):
    rows = elsv.evaluate(PROBLEM, ["greedy", "gittins", "optimal"])
    axes = rows.plot()
    assert sorted(text.get_text() for text in axes.get_yticklabels()) == ["gittins", "greedy"]
    assert rows[-1].regret in {line.get_xdata()[0] for line in axes.lines}
    assert axes.get_xlabel() == "regret over 6 steps, exact"
    alone = plot_values({"optimal": 0.0}, steps=1)
    assert [text.get_text() for text in alone.get_yticklabels()] == ["optimal"]


def test_equal_curves_are_said_to_be_equal(plt):
    axes = TWELVE.plot(plt.subplots()[1], labels="legend")
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert "policy 2 = same" in named
    assert len(named) == 11
    ends = TWELVE.plot(labels="ends")
    assert "policy 2 = same" in {text.get_text() for text in ends.get_legend().get_texts()}
    panels = [{"a": [1, 2], "b": [1, 2]}, {"a": [1, 2], "b": [3, 2]}]
    assert equal_series(panels) == {"a": "a", "b": "b"}
    assert equal_series([{"a": [1, np.nan], "b": [1, np.nan]}, {}]) == {"a": "a = b", "b": "a = b"}
    assert wrapped("elsv = elsv:index=ucb,weight=2", 22) == "elsv\n= elsv:index=ucb,\nweight=2"


def test_lines_are_named_in_the_order_in_which_they_end(plt):
    series = {"low": [0.0, 1.0], "high": [0.0, 3.0], "middle": [0.0, 2.0]}
    figure = figures.lines([0, 1], series, x_label="x", y_label="y", reference=(2.5, "optimum"))
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["high", "optimum", "middle", "low"]
    narrow = figure.redraw(width=NARROW)
    assert narrow.axes[0].get_legend() is None  # there it stands below the figure
    assert len(narrow.legends[0].get_texts()) == 4
    user = plt.subplots()[1]
    figures.lines([0, 1], series, x_label="x", y_label="y", axes=[user])
    assert user.get_legend() is not None


def test_panels_that_share_an_axis_show_every_curve_whole(plt):
    low, high = comparison({"elsv": 1.0, "thompson": 2.0}), comparison({"elsv": 30.0, "greedy": 50.0})
    for order in ((low, high), (high, low)):
        panels = plt.subplots(1, 2, sharey=True)[1]
        for result, ax in zip(order, panels, strict=True):
            result.plot(ax=ax)
        bottom, top = panels[0].get_ylim()
        assert bottom == 0
        assert top >= max(line.get_ydata().max() for ax in panels for line in ax.lines)
    few, many = plt.subplots(1, 2, sharey=True)[1]
    TWELVE.plot(ax=many, kind="final")
    low.plot(ax=few, kind="final")
    assert few.get_ylim() == (len(TWELVE.names) - 0.5, -0.5)


def test_legends_of_ones_own_know_the_policies(plt):
    axes = comparison({"elsv": 1.0, "thompson": 2.0}).plot(labels="none")
    handles, names = axes.get_legend_handles_labels()
    assert names == ["elsv", "thompson"]
    assert handles == axes.lines[:2]
    axes = FORTY.plot(kind="pulls", policy="thompson")
    assert axes.get_legend_handles_labels()[1] == list(FORTY.problem.names)
    axes = plot_index(gittins_table(1, 1, levels=3, discount=0.9))
    assert axes.get_legend_handles_labels()[1] == ["1 pull", "2 pulls"]


def test_many_policies_and_arms_can_be_told_apart():
    look = figures.styles([f"own {k}" for k in range(60)])
    assert len({(style.colour, str(style.dash), style.marker) for style in look.values()}) == 60
    figure = figures.pull_shares({"elsv": FORTY["elsv"].pull_share}, FORTY.problem.names)
    assert not figure.legends
    ticks = [text.get_text() for text in figure.axes[-1].get_yticklabels()]
    assert (ticks[0], ticks[-1]) == ("arm 0", "arm 39")


def test_drawings_of_experiments_draw_themselves_too(plt):
    (experiment,) = chosen(["transition"])
    outcome = experiment.run(experiment.quick, None)
    axes = plt.subplots()[1]
    assert outcome.plot(ax=axes) is axes
    assert outcome.plot("transition").texts
    with pytest.raises(InvalidInputError, match="there are: transition"):
        outcome.plot("curves")
    four = Outcome("", {}, [regions(12)])
    assert len(four.plot()) == 4
    grid = plt.subplots(2, 2)[1]
    assert [panel.get_xlabel() for panel in four.plot(ax=grid)] == ["successes of arm 1"] * 4
    with pytest.raises(InvalidInputError, match="4 panels"):
        four.plot(ax=axes)
    lines = figures.line_panels({"A": ([1, 2], {"a": [1, 2]}, None)}, x_label="x", y_label="y")
    assert Drawing("one", lines, "").plot().get_legend() is not None


def test_a_solution_is_drawn_with_the_names_of_its_arms(plt):
    named = elsv.Problem([0.5, 1.0], "decreasing", 4, names=["half price", "full price"])
    axes = elsv.solve(named).plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["half price", "full price"]


def test_plots_refuse_what_they_cannot_draw(plt):
    solution = elsv.solve(PROBLEM)
    for wrong, said in (
        (lambda: TWELVE.plot(ax=3), "matplotlib Axes, got int"),
        (lambda: TWELVE.plot(kind="pie"), "kind must be"),
        (lambda: TWELVE.plot(kind="pulls"), "policy="),
        (lambda: TWELVE.plot(policy="elsv"), "kind='pulls'"),
        (lambda: TWELVE.plot(leave_out=["x"]), "no policy 'x'"),
        (lambda: TWELVE.plot(labels="above"), "labels must be"),
        (lambda: comparison({"a": 1.0}).plot(kind="differences"), "two policies"),
        (lambda: solution.plot(kind="steps"), "keep=horizon"),
        (lambda: solution.plot(kind="x"), "kind must be"),
        (lambda: plot_index([1.0, 2.0]), "two or more levels"),
    ):
        with pytest.raises(InvalidInputError, match=re.escape(said)):
            wrong()


def test_a_plot_names_the_extra_that_it_needs():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import elsv\n"
        "problem = elsv.Problem(rewards=[0.5, 1.0], horizon=4)\n"
        "for result in (elsv.solve(problem), elsv.Bandit(problem, policy='greedy').explain()):\n"
        "    try: result.plot()\n"
        "    except elsv.MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [("elsv[plot]" in line) for line in done.stdout.splitlines()] == [True, True]


def test_figures_on_a_page_follow_its_theme_and_its_width():
    figure = figures.regret_curves({name: TWELVE[name].mean for name in TWELVE.names})
    wide, narrow = figures.for_page(figure)
    painted = set(re.findall(r"(fill|stroke): (#\w{6})", wide + narrow))
    assert {colour for _, colour in painted} <= set(DARK)
    for what, colour in painted:
        assert f'.card [style*="{what}: {colour}"] {{ {what}: {DARK[colour]} !important; }}' in dark_rules(
            ".card"
        )
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', narrow)[1])
    sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", narrow)]
    assert width == pytest.approx(72 * NARROW)
    assert min(sizes) * 360 / width >= 11  # pixels on a telephone 390 wide
    page = Page("Title")
    page.figure([wide, narrow], "Caption", "name")
    assert re.findall(r'<div class="(wide|narrow)"', page.html()) == ["wide", "narrow"]


@pytest.mark.parametrize(
    ("headers", "row", "align", "kind"),
    [
        (["a", "b"], ["x", "1.0"], "lr", "table short"),
        (["policy", *"abcde"], ["thompson", *["12.34 ± 0.56"] * 5], "lrrrrr", "table many short"),
        (["claim", "says", "why"], ["C1", "word " * 30, "word " * 30], "lww", "table cards"),
    ],
)
def test_tables_scroll_with_a_hint_or_turn_into_cards(headers, row, align, kind):
    page = Page("Title")
    page.table(headers, [row], "Caption", align)
    html = page.html()
    assert f'<figure class="{kind}">' in html
    assert ('class="hint"' in html) == ("cards" not in kind)
    assert f'data-label="{headers[-1]}"' in html
