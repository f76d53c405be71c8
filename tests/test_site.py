"""What the site is made of holds together; ``make site`` builds it strictly and checks what was built."""

import re
import sys
from pathlib import Path

import pytest
import yaml

import elsv

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
ASIDE = {"contributing.md", "changelog.md", "reference/"}  # made when the site is built
LINK = re.compile(r"\]\((?!\w+:)(?P<path>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def configuration():
    return yaml.safe_load((ROOT / "mkdocs.yml").read_text())


def pages_in(entries):
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for value in entry.values():
                yield from [value] if isinstance(value, str) else pages_in(value)


def test_the_navigation_has_every_page_once(configuration):
    named = list(pages_in(configuration["nav"]))
    assert len(named) == len(set(named))
    assert set(named) - ASIDE == {path.name for path in DOCS.glob("*.md")}


def test_the_index_leads_to_every_page():
    index = (DOCS / "index.md").read_text()
    linked = {found["path"] for found in LINK.finditer(index)}
    assert {path.name for path in DOCS.glob("*.md")} - {"index.md"} <= linked


def test_the_readme_leads_to_the_ideas_the_index_and_the_citation():
    readme = (ROOT / "README.md").read_text()
    linked = {found["path"] for found in LINK.finditer(readme)}
    assert {"docs/ideas.md", "docs/index.md", "CITATION.cff"} <= linked


def anchor_of(heading):
    """Return the anchor that a heading gets, for words without marks the same on every host."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading.strip().lower()))


def test_links_to_sections_lead_somewhere():
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))):
        for found in LINK.finditer(FENCED.sub("", page.read_text())):
            target = page.parent / found["path"] if found["path"] else page
            assert target.exists(), f"{page.name}: {found['path']}"
            if found["anchor"]:
                headings = re.findall(r"^#+ (.*)$", FENCED.sub("", target.read_text()), re.MULTILINE)
                assert found["anchor"] in map(anchor_of, headings), f"{page.name}: {found[0]}"


def test_the_site_needs_nothing_from_elsewhere(configuration):
    assert configuration["theme"]["font"] is False
    assert configuration["strict"] is True
    assert {"search", "offline"} <= {p for p in configuration["plugins"] if isinstance(p, str)}
    for name in (*configuration["extra"]["polyfills"], *configuration["extra_css"]):
        assert (DOCS / name).is_file(), name


def test_formulas_of_docstrings_are_rewritten(monkeypatch):
    pytest.importorskip("latex2mathml", reason="the site's own packages: make site")
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    import site_math

    text = "before :math:`a_i`\n\n.. math::\n\n    x = 1, \\qquad\n    y\n\nafter\n"
    assert site_math.dollars(text) == "before $a_i$\n\n$$\nx = 1, \\qquad\ny\n$$\n\nafter\n"
    assert site_math.dollars("    .. math:: x") == "    $$\n    x\n    $$\n"
    shown = site_math.to_mathml('<span class="arithmatex">\\(a &lt; b\\)</span>')
    assert shown.startswith("<math")
    assert "arithmatex" not in shown


def test_a_site_with_faults_is_refused(monkeypatch, tmp_path):
    pytest.importorskip("griffe", reason="the site's own packages: make site")
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    import site_check

    (tmp_path / "search").mkdir()
    (tmp_path / "search" / "search_index.json").write_text('{"docs": [{"location": "a.html"}]}')
    (tmp_path / "a.html").write_text('<h1 id="top">A</h1><a href="b.html#here">b</a><a href="#top">top</a>')
    (tmp_path / "b.html").write_text(
        '<img src="none.png"><script src="https://example.org/x.js"></script>:math:`x`'
    )
    found = [line for line in site_check.problems(tmp_path) if "not in the reference" not in line]
    assert found == [
        "a.html: nothing at b.html#here",
        "b.html: not rendered: ':math:`x`'",
        "b.html: loads https://example.org/x.js from elsewhere",
        "b.html: nothing at none.png",
        "b.html: not in the search index",
        "search/search_index.js is missing: no search without a server",
    ]


def test_the_same_three_figures_for_how_near_the_optimum():
    figure = (
        r"60\s+problems\s+drawn\s+at\s+random\s+its\s+regret\s+is\s+above\s+the\s+Bayes\s+optimum\s+by\s+"
        r"([\d.]+)\s+%\s+in\s+the\s+median,\s+([\d.]+)\s+%\s+on\s+nine\s+in\s+ten\s+and\s+([\d.]+)\s+%\s+at\s+most"
    )
    pages = [
        ROOT / "README.md",
        *(DOCS / f"{name}.md" for name in ("planning", "choosing", "policies", "index")),
    ]
    pages += [DOCS / "tutorial.md", DOCS / "ideas.md", ROOT / "src" / "elsv" / "cli" / "exact.py"]
    found = [re.findall(figure, page.read_text(encoding="utf-8")) for page in pages]
    assert all(len(one) == 1 and one == found[0] for one in found), found
    median, most, largest = map(float, found[0][0])
    assert median <= 0.02
    assert most <= largest <= 0.3
    for page in DOCS.glob("*.md"):
        assert not re.search(r"within 1 %|within one per cent", page.read_text(encoding="utf-8")), page.name


def test_the_citation_is_complete():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    preferred = cited["preferred-citation"]
    assert cited["version"] == preferred["version"] == elsv.__version__
    assert cited["title"] == preferred["title"]
    assert str(preferred["year"]) in (ROOT / "LICENSE").read_text()
    (paper,) = cited["references"]
    assert [author["family-names"] for author in paper["authors"]] == ["Cserna", "Petrik", "Russel", "Ruml"]
    assert paper["year"] == 2017
    assert paper["title"] in (DOCS / "equations.md").read_text().replace("\n", " ")
