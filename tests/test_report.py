"""The page and the figures: well-formed, self-contained, the same bytes every time."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest

from elsv.errors import InvalidInputError
from elsv.problem import Problem
from elsv.report import figures
from elsv.report._drawing import thinned, wrapped
from elsv.report.comparison import finite, repeat_command, summary_json, write_comparison
from elsv.report.headline import earned, far_behind, headers, headline_rows, ranking, tied_with_best, verdict
from elsv.report.page import Page, inline, plain, slug
from elsv.simulation.aggregate import QUANTILES, ArmTotals, PolicyResult, Totals
from elsv.simulation.compare import Comparison

VOID = {"meta", "br", "wbr", "hr", "img", "input", "link"}


def comparison(final, half=0.05, horizon=120, arms=("$5", "a & <b>", "c"), apart=0.1, instances=1000):
    """A made-up comparison: policies by name with their final regret."""
    rng = np.random.default_rng(0)
    steps = np.arange(1, horizon + 1) / horizon
    best, alone = 100.0, np.linspace(80, 90, len(arms))  # earned by who knows, and by each arm alone
    results = []
    for value in final.values():
        shares = rng.dirichlet(np.ones(len(arms)), horizon)
        quantiles = np.outer(value * steps[-1:], QUANTILES)
        results.append(
            PolicyResult(
                value * steps,
                np.full(horizon, half),
                quantiles,
                shares,
                shares[:, 0],
                12.5,
                None,
                (best - value) * steps,
                np.full(horizon, 2 * half),
            )
        )
    values = np.array(list(final.values()))
    totals = Totals(
        instances,
        tuple(results),
        values[:, None] - values[None],
        np.full((len(values), len(values)), apart),
        ArmTotals(
            alone,
            best - values[:, None] - alone,
            np.full((len(values), len(arms)), half),
            100 * (best - values[:, None] - alone) / alone,
            np.full((len(values), len(arms)), half),
        ),
    )
    problem = Problem(rewards=np.linspace(0.5, 1, len(arms)), horizon=horizon, names=arms)
    return Comparison(problem, tuple(final), horizon, 7, "made up", np.array([horizon]), totals, 1.5)


USUAL = comparison({"elsv": 2.0, "thompson": 2.05, "greedy:order=false": 3.0, "random": 40.0})


class Strict(HTMLParser):
    """Checks that tags nest, ids differ and nothing is fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.tags, self.text = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "xlink:href", "src", "srcset", "data", "action"):
                self.links.append(value)
            if name == "aria-labelledby":
                self.links.append(f"#{value}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.text.append(data)


def checked(html):
    page = Strict()
    page.feed(html)
    page.close()
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)
    assert "script" not in page.tags
    for link in page.links:
        assert link.startswith("#"), link
        assert link[1:] in page.ids, link
    for address in re.findall(r"https?://[^\"' )]+", html):
        assert address in ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"), address
    assert not re.search(r"url\((?!#)|@import", html)
    assert not re.search(r"\b(nan|NaN|inf)\b", " ".join(page.text))
    return page


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The files of the usual comparison, which are drawn once."""
    return write_comparison(USUAL, tmp_path_factory.mktemp("usual"))


def test_files_of_a_comparison(written):
    import polars

    tmp_path = written[0].parent
    assert all(path.stat().st_size > 0 for path in written)
    drawn = sorted(path.stem for path in (tmp_path / "figures").glob("*.svg"))
    names = ["final-regret", "paired-differences", "pull-shares", "regret", "regret-closer", "regret-log"]
    assert drawn == names == sorted(path.stem for path in (tmp_path / "figures").glob("*.png"))
    page = checked((tmp_path / "report.html").read_text())
    assert page.tags.count("svg") == 2 * len(names)  # one for a telephone each
    assert {f"figure-{name}" for name in names} <= set(page.ids)
    text = " ".join(page.text).replace("\N{NO-BREAK SPACE}", " ")
    for word in (
        *headers(USUAL),
        *USUAL.names,
        "a & <b>",
        "$5",
        "made up",
        "numpy",
        "1.5 s",
        repeat_command(USUAL),
    ):
        assert word in text
    frame = polars.read_parquet(tmp_path / "results.parquet")
    assert len(frame) == 4 * USUAL.horizon
    assert Problem.load(tmp_path / "problem.toml") == USUAL.problem
    assert json.loads((tmp_path / "summary.json").read_text()) == finite(USUAL.to_dict())


def test_the_same_comparison_gives_the_same_bytes(written, tmp_path):
    again = write_comparison(USUAL, tmp_path)
    for path, other in zip(written, again, strict=True):
        assert path.relative_to(written[0].parent) == other.relative_to(tmp_path)
        assert path.read_bytes() == other.read_bytes(), path.name


def test_what_an_earlier_run_left_goes_away(written, tmp_path):
    shutil.copytree(written[0].parent, tmp_path, dirs_exist_ok=True)
    (tmp_path / "figures" / "mine.svg").write_text("kept")
    later = write_comparison(comparison({"thompson": 1.0}, horizon=20), tmp_path, overwrite=True)
    found = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {path.name for path in later} | {"mine.svg", "elsv-files.json"}


@pytest.mark.parametrize(
    "case",
    [
        comparison({"thompson": 1.0}, half=np.inf, apart=np.inf, horizon=1, arms=("a", "b"), instances=1),
        comparison({"a": 0.0, "b": 0.0}, half=0.0, apart=0.0, horizon=3, arms=("only",)),
        comparison(
            {f"p{i}:index=gittins,discount=0.9": i + 1.0 for i in range(12)}, arms=tuple(map(str, range(20)))
        ),
        comparison({"_own": 1.0, "$x^2": 2.0, "<i>": 3.0}),
    ],
    ids=["one instance", "no regret", "many", "odd names"],
)
def test_unusual_comparisons_have_a_page_too(tmp_path, case):
    write_comparison(case, tmp_path)
    page = checked((tmp_path / "report.html").read_text())
    assert all(name in " ".join(page.text) or ":" in name for name in case.names)
    json.loads((tmp_path / "summary.json").read_text(), parse_constant=pytest.fail)


def test_headline():
    assert ranking(USUAL) == ["elsv", "thompson", "greedy:order=false", "random"]
    rows = headline_rows(USUAL)
    assert {len(row) for row in rows} == {len(headers(USUAL))}
    assert headers(USUAL)[:5] == [
        "policy", "earns", "over always c ± 95 %", "over always c in % ± 95 %", "regret ± 95 %",
    ]  # fmt: skip
    assert rows[0][:6] == [
        "elsv", "98.000", "+8.000 ± 0.050", "+8.89 ± 0.05 %", "2.000 ± 0.050", "1.00 ×",
    ]  # fmt: skip
    assert rows[2][5] == "1.50 ×"
    assert earned(USUAL) == (
        "`elsv` earns the most, 98.000 in 120 steps: 8.000 ± 0.050 more than always `c`, the arm that is "
        "best in expectation beforehand (+8.89 ± 0.05 %)."
    )
    assert far_behind(USUAL) == ["random"]


def test_verdict_names_those_that_cannot_be_told_apart():
    assert tied_with_best(USUAL) == ["thompson"]
    assert "`thompson` cannot be told apart" in verdict(USUAL)
    assert "`greedy:order=false` and `random` have more regret" in verdict(USUAL)
    clear = replace(USUAL, totals=replace(USUAL.totals, difference_ci95=np.full((4, 4), 0.01)))
    assert tied_with_best(clear) == []
    assert "all exclude zero" in verdict(clear)
    unknown = replace(USUAL, totals=replace(USUAL.totals, difference_ci95=np.full((4, 4), np.inf)))
    assert len(tied_with_best(unknown)) == 3
    assert "±" in verdict(comparison({"a": 1.0}))


def test_summary_has_sorted_keys_and_no_constants():
    text = summary_json(comparison({"a": 1.0}, half=np.inf))
    assert json.loads(text, parse_constant=pytest.fail)["policies"][0]["ci95"] is None
    keys = list(json.loads(text))
    assert keys == sorted(keys)


def every_figure():
    t = np.arange(1, 1001)
    names = ["elsv", "thompson", "_mine", "$5 $6", "a" * 60]
    series = {name: np.sqrt(t) * (k + 1) for k, name in enumerate(names)}
    half = {name: np.full(1000, 0.3) for name in names[:2]}
    numbers = {name: float(k) for k, name in enumerate(names)}
    halves = {name: 0.1 * k for k, name in enumerate(names)}
    shares = np.random.default_rng(1).dirichlet(np.ones(9), 50)
    pulls, mean = np.array([(n, (s + 1) / (n + 2)) for n in range(9) for s in range(n + 1)]).T
    axes = {"x_label": "pulls", "y_label": "mean", "z_label": "value"}
    yield (
        "lines",
        figures.lines(
            t, series, half, x_label="x", y_label="y", log_x=True, log_y=True, reference=(3.0, "optimum")
        ),
    )
    yield "regret", figures.regret_curves(series, half)
    yield (
        "panels",
        figures.line_panels({"A": (t, series, None), "B": (t, series, half)}, x_label="x", y_label="y"),
    )
    yield "dots", figures.dot_plot(numbers, halves, x_label="regret")
    yield "log dots", figures.dot_plot({"a": 1.0, "b": 99.0}, x_label="regret", log_x=True)
    yield "pairs", figures.paired_differences(numbers, halves, "greedy")
    yield "pulls", figures.pull_shares(dict.fromkeys(names, shares), [f"$ {i}" for i in range(9)])
    yield "contours", figures.contours(pulls, mean, pulls * mean, **axes)


def test_figures_are_well_formed_deterministic_and_share_no_ids():
    seen = set()
    for (name, figure), (_, again) in zip(every_figure(), every_figure(), strict=True):
        svg = figures.to_svg(figure)
        assert svg == figures.to_svg(again), name
        assert svg == figures.to_svg(figure), name
        ElementTree.fromstring(svg)
        ids = set(re.findall(r'\bid="([^"]+)"', svg))
        assert ids
        assert not ids & seen, name
        assert set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg)) <= ids
        assert "<style" not in svg
        seen |= ids


def test_figures_leave_the_users_settings_alone(tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"font.size": 33, "axes.facecolor": "black"}):
        loud = figures.to_svg(figures.regret_curves({"elsv": np.arange(5.0)}))
    assert dict(matplotlib.rcParams) == before
    assert loud == figures.to_svg(figures.regret_curves({"elsv": np.arange(5.0)}))
    svg, png = figures.save(figures.regret_curves({"elsv": np.arange(5.0)}), tmp_path / "a.b")
    assert (svg.name, png.name) == ("a.b.svg", "a.b.png")
    assert png.read_bytes().startswith(b"\x89PNG")
    code = "import sys, elsv.report.figures as f; f.to_svg(f.regret_curves({'a': [1, 2]})); "
    done = subprocess.run(
        [sys.executable, "-c", code + "print('matplotlib.pyplot' in sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "False"


def test_threads_draw_the_same_figures_and_leave_the_settings_alone():
    import matplotlib

    before = dict(matplotlib.rcParams)
    names = [f"policy {k}" for k in range(12)]

    def drawn(name):
        return figures.to_svg(figures.regret_curves({name: np.arange(9.0)}))

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(drawn, names))
    assert together == [drawn(name) for name in names]
    assert dict(matplotlib.rcParams) == before


def test_styles_are_stable_and_differ():
    alone = figures.styles(["elsv"])["elsv"]
    many = figures.styles([f"own-{i}" for i in range(20)] + ["thompson", "elsv", "elsv:depth=2"])
    assert many["elsv"] == alone
    assert len({(style.colour, str(style.dash)) for style in many.values()}) == len(many)
    first = figures.styles(["elsv", "thompson", "greedy", "gittins", "bayes-ucb", "ucb", "kl-ucb", "moss"])
    assert len({style.colour for style in first.values()}) == 8


def test_thinning_keeps_the_ends():
    for log_x in (False, True):
        keep = thinned(10_000, log_x)
        assert (keep[0], keep[-1]) == (0, 9999)
        assert len(keep) <= 400
        assert (np.diff(keep) > 0).all()
    assert thinned(3).tolist() == [0, 1, 2]
    assert wrapped("short", 20) == "short"


def test_page_escapes_and_links():
    page = Page("A <b> & *c*", "sub `x<y`")
    page.section("One & two")
    page.section("One & two")
    page.section("Third", anchor="mine")
    page.text('See [there](#mine), **bold**, 3 * 4 * 5 and <script>alert("1")</script>.\n\n- a\n- b `*c*`')
    page.callout("**No.**", "bad")
    page.code("elsv compare 'a b' && x < y")
    page.table(["a", "b", "c"], [["x,y:z", 1.23456, None], ["u", 12345, "± 3 %"]], "Cap", "lrr", {1})
    page.figure(['<svg width="9pt"></svg>'], 'A "quoted" `figure`', "one")
    page.settings({"k <": "v &", "n": 3})
    html = page.html()
    found = checked(html)
    assert html.startswith('<!doctype html>\n<html lang="en">')
    assert found.tags.count("nav") == 1
    assert found.tags.count("ul") == 1
    assert 'role="img" aria-label="Figure 1. A &#34;quoted&#34; figure"' in html
    assert {"one-two", "one-two-2", "mine", "figure-one"} <= set(found.ids)
    text = "".join(found.text)
    for part in ("A <b> & c", 'alert("1")', "3 * 4 * 5", "1.235", "12,345", "–", "x,y:z", "v &", "x < y"):
        assert part in text


def test_page_without_many_sections_has_no_contents(tmp_path):
    page = Page("Short")
    page.section("One")
    page.text("Text.")
    assert "nav" not in checked(page.html()).tags
    assert page.write(tmp_path / "p.html").read_text() == page.html()


def test_inline_markup():
    assert inline("*a* **b** `c*d*` [e](#f) [g](http://h)") == (
        '<em>a</em> <strong>b</strong> <code>c*d*</code> <a href="#f">e</a> [g](http://h)'
    )
    assert plain("**a** < `b`") == "a < b"
    assert slug("  20 % — Öff ") == "20-ff"


def test_a_report_needs_its_extras(tmp_path):
    code = (
        "import sys; sys.modules['matplotlib'] = None; sys.modules['polars'] = None\n"
        "from elsv.report import figures, comparison\n"
        "from elsv.errors import MissingExtraError\n"
        "for call in (comparison.check_extras, lambda: figures.regret_curves({'a': [1, 2]})):\n"
        "    try: call()\n"
        "    except MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    both, one = done.stdout.splitlines()
    assert "elsv[plot,data]" in both
    assert "elsv[plot]" in one


def test_a_file_is_no_directory(tmp_path):
    (tmp_path / "f").write_text("x")
    with pytest.raises(InvalidInputError, match="directory"):
        write_comparison(USUAL, tmp_path / "f")


@pytest.mark.parametrize("package", ["elsv.report", "elsv.paper"])
def test_every_text_of_a_page_is_used(package):
    folder = files(package)
    sources = "".join(path.read_text() for path in folder.iterdir() if path.name.endswith(".py"))
    for section, texts in tomllib.loads((folder / "words.toml").read_text()).items():
        for text in texts:
            assert f'"{text}"' in sources, (section, text)
