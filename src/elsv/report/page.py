"""One self-contained HTML page: no network, no other files, no scripts.

A `Page` collects blocks in reading order; the template ``page.html`` and the style sheet ``page.css`` say how
they look. All text is escaped; it may carry ``**bold**``, ``*emphasis*``, code in backquotes and
``[links](#anchor)`` within the page.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from html import escape, unescape
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from elsv._base.files import write_text
from elsv._version import __version__
from elsv.errors import of_extra
from elsv.report.style import dark_rules

Cell = str | int | float | None
Tone = Literal["note", "good", "bad"]
_SENTENCE = 80  # letters; a cell with more reads badly in a narrow column
_MANY_COLUMNS = 4  # more of them have no room on a telephone
_SHORT = 15  # rows; a table with fewer is printed on one page


class Page:
    """A report in the making.

    Examples
    --------
    >>> page = Page("Regret of two policies")
    >>> page.section("Result")
    'result'
    >>> page.table(["policy", "regret"], [["thompson", 6.34]], align="lr")
    >>> ">6.34</td>" in page.html()
    True
    """

    def __init__(self, title: str, subtitle: str = "") -> None:
        self.title, self.subtitle = title, subtitle
        self._blocks: list[dict[str, Any]] = []
        self._anchors: set[str] = set()

    def section(self, title: str, anchor: str | None = None) -> str:
        """Begin a section and return its anchor; three or more give the page a table of contents."""
        name = self._anchor(anchor or title)
        self._add("section", title=title, anchor=name)
        return name

    def text(self, text: str) -> None:
        """Add paragraphs, with empty lines between them; one whose lines all begin with ``-`` is a list."""
        self._add("text", text=text)

    def callout(self, text: str, tone: Tone = "note") -> None:
        """Add paragraphs that stand out: a finding, a verdict (``"good"``, ``"bad"``)."""
        self._add("callout", text=text, tone=tone)

    def code(self, text: str) -> None:
        """Add lines to be copied, such as a command."""
        self._add("code", text=text)

    def settings(self, values: Mapping[str, object]) -> None:
        """Add names and values, one below the other."""
        self._add("settings", values={str(name): str(value) for name, value in values.items()})

    def table(
        self,
        headers: Sequence[str],
        rows: Sequence[Sequence[Cell]],
        caption: str = "",
        align: str = "",
        highlight: Collection[int] = (),
    ) -> None:
        """Add a table; its first column names the rows.

        Cells are text (with markup), numbers (four significant digits) or None (a dash). `align` has one
        letter for each column: l, r, c, or w for text that may wrap; default: numbers, at the right, in all
        but the first. `highlight` has the rows to set off, from 0: the best ones.
        """
        letters = align or "l" + "r" * (len(headers) - 1)
        number = self._number("table")
        self._add(
            "table",
            number=number,
            anchor=self._anchor(f"table-{number}"),
            headers=headers,
            rows=rows,
            caption=caption,
            align=letters,
            highlight=set(highlight),
            look=_look(rows, letters),
        )

    def figure(self, svgs: Sequence[str], caption: str, name: str) -> None:
        """Add a figure, as `elsv.report.figures.for_page` draws it; `name` is for links to it."""
        shown = ["wide", "narrow"] if len(svgs) > 1 else [""]
        both = list(zip(shown, svgs, map(_widest, svgs), strict=True))
        anchor, number = self._anchor(f"figure-{name}"), self._number("figure")
        self._add("figure", anchor=anchor, number=number, caption=caption, svgs=both)

    def html(self) -> str:
        """Return the page."""
        style = resources.files("elsv.report").joinpath("page.css").read_text(encoding="utf-8")
        dark = f"@media screen and (prefers-color-scheme: dark) {{\n{dark_rules('.card')}\n}}\n"
        return str(
            _template().render(
                title=self.title,
                subtitle=self.subtitle,
                version=__version__,
                style=style + dark,
                blocks=self._blocks,
                contents=[block for block in self._blocks if block["kind"] == "section"],
            )
        )

    def write(self, path: str | Path) -> Path:
        """Write the page, atomically, and return its path."""
        write_text(path, self.html())
        return Path(path)

    def _add(self, kind: str, **block: Any) -> None:
        self._blocks.append({"kind": kind, **block})

    def _number(self, kind: str) -> int:
        """Return the number of the next block of a kind."""
        return 1 + [block["kind"] for block in self._blocks].count(kind)

    def _anchor(self, text: str) -> str:
        name, number = slug(text), 2
        while name in self._anchors:
            name, number = f"{slug(text)}-{number}", number + 1
        self._anchors.add(name)
        return name


@cache
def _template() -> Any:
    jinja2 = of_extra("jinja2", "writing a page", "plot")
    from markupsafe import Markup

    found = jinja2.Environment(
        loader=jinja2.PackageLoader("elsv.report", ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters.update(
        inline=lambda text: Markup(inline(text)), plain=plain, cell=_cell, blocks=_paragraphs
    )
    return found.get_template("page.html")


def words(package: str, section: str, text: str, **numbers: Any) -> str:
    """Return a text of the package's ``words.toml`` with numbers put in by `str.format`."""
    return str(_texts(package)[section][text]).format(**numbers)


@cache
def _texts(package: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(package).joinpath("words.toml").read_text(encoding="utf-8"))


def command_line(command: str, problem: object, names: Sequence[str], options: Mapping[str, object]) -> str:
    """Return the line that repeats a command.

    Options that were not given (None, False, nothing in a list) are left out; a list repeats its option.
    """
    words: list[object] = ["elsv", command, problem, *(word for name in names for word in ("-p", name))]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            for each in value if isinstance(value, list) else [value]:
                words += [option, each]
    return shlex.join(map(str, words))


def slug(text: str) -> str:
    """Return `text` as an anchor or a part of a file name: ``where-they-pull-20-off``."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"


def inline(text: str) -> str:
    """Return escaped HTML with the small markup of the page applied."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(
        f"<code>{_breakable(escape(part[1:-1]))}</code>" if k % 2 else _emphasis(_breakable(escape(part)))
        for k, part in enumerate(parts)
    )


def plain(text: str) -> str:
    """Return `text` without its markup."""
    return unescape(re.sub(r"<[^>]+>", "", inline(text)))


def _breakable(escaped: str) -> str:
    """Let a policy's name be broken after its colon and commas, where text wraps at all."""
    return re.sub(r"(?<=[a-z0-9])([,:])(?=[a-z_])", r"\1<wbr>", escaped)


def _emphasis(escaped: str) -> str:
    escaped = re.sub(r"(?<=\d) (?=[%×])|(?<=\d) (?=± )|(?<=±) ", "\N{NO-BREAK SPACE}", escaped)
    escaped = re.sub(r"\[([^\]]+)\]\((#[A-Za-z0-9_-]+)\)", r'<a href="\2">\1</a>', escaped)
    escaped = re.sub(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", r"<strong>\1</strong>", escaped)
    return re.sub(r"(?<![\w*])\*(?=[^\s*])([^*]+?)(?<=\S)\*(?![\w*])", r"<em>\1</em>", escaped)


def _paragraphs(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for block in re.split(r"\n\s*\n", text.strip()):
        rows = [row.strip() for row in block.splitlines()]
        listed = all(row.startswith("- ") for row in rows)
        found.append({"listed": [row[2:] for row in rows] if listed else [], "text": " ".join(rows)})
    return found


def _look(rows: Sequence[Sequence[Cell]], letters: str) -> str:
    """Return the class of a table: one of sentences turns into cards on a telephone, others scroll."""
    if len(letters) > 2 and any(
        letter == "w" and len(plain(_cell(row[k]))) > _SENTENCE
        for row in rows
        for k, letter in enumerate(letters)
    ):
        return "cards"
    return " ".join(["many"] * (len(letters) > _MANY_COLUMNS) + ["short"] * (len(rows) <= _SHORT))


def _widest(svg: str) -> str:
    """Return how wide a figure is at most: no wider than drawn, so that its text has the page's size."""
    width = re.search(r'\bwidth="([\d.]+)pt"', svg)
    return f"{0.1 * float(width[1]):.1f}rem" if width else "45rem"


def _cell(value: Cell) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
