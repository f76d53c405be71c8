"""One self-contained HTML page: no network, no other files, no scripts.

Blocks are added in reading order and figures and tables number themselves. All text is escaped; it may
carry ``**bold**``, ``*emphasis*``, code in backquotes and ``[links](#anchor)`` within the page.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Literal

from elsv._base.files import write_text
from elsv._version import __version__
from elsv.errors import InvalidInputError
from elsv.report.theme import dark_rules

Cell = str | int | float | None
Tone = Literal["note", "good", "bad"]
_ALIGN = {"l": "", **{letter: f' class="{letter}"' for letter in "rcw"}}
_CONTENTS_FROM = 3
_HINT = '<p class="hint" aria-hidden="true">More columns at the right: scroll →</p>\n'
_LETTER, _PADDING = 7.4, 18.0  # pixels, of a cell
_WRAPPED = 150.0  # pixels at least, of a cell whose text wraps
_TELEPHONE, _COLUMN = 340.0, 700.0  # pixels that a table has there
_SHORT = 15  # rows
_SENTENCE = 80  # letters; a cell with more reads badly in a narrow column
_DARK = f"@media screen and (prefers-color-scheme: dark) {{ .card {{ {dark_rules()} }} }}\n"


class Page:
    """A report in the making.

    Parameters
    ----------
    title, subtitle
        Heading of the page and the line under it.

    Examples
    --------
    >>> page = Page("Regret of two policies")
    >>> page.section("Result")
    'result'
    >>> page.table(["policy", "regret"], [["thompson", 6.34]], align="lr")
    >>> '<td class="r">6.34</td>' in page.html()
    True
    """

    def __init__(self, title: str, subtitle: str = "") -> None:
        self.title, self.subtitle = title, subtitle
        self._blocks: list[str] = []
        self._contents: list[tuple[str, str]] = []
        self._anchors: set[str] = set()
        self._figures = self._tables = 0

    def section(self, title: str, anchor: str | None = None) -> str:
        """Begin a section and return its anchor; three or more give the page a table of contents."""
        name = self._anchor(anchor or title, given=anchor is not None)
        self._contents.append((name, title))
        self._blocks.append(f'<h2 id="{name}">{inline(title)}</h2>')
        return name

    def subsection(self, title: str, anchor: str | None = None) -> str:
        """Begin a part of a section and return its anchor."""
        name = self._anchor(anchor or title, given=anchor is not None)
        self._blocks.append(f'<h3 id="{name}">{inline(title)}</h3>')
        return name

    def text(self, text: str) -> None:
        """Add paragraphs, parted by empty lines; one whose lines all begin with ``-`` is a list."""
        self._blocks.append(_paragraphs(text))

    def callout(self, text: str, tone: Tone = "note") -> None:
        """Add paragraphs that stand out: a finding, a verdict (``"good"``, ``"bad"``)."""
        self._blocks.append(f'<aside class="{tone}">{_paragraphs(text)}</aside>')

    def code(self, text: str) -> None:
        """Add lines to be copied, such as a command."""
        self._blocks.append(f"<pre>{html.escape(text)}</pre>")

    def table(
        self,
        headers: Sequence[str],
        rows: Sequence[Sequence[Cell]],
        caption: str = "",
        align: str | None = None,
        highlight: Collection[int] = (),
    ) -> None:
        """Add a table; its first column names the rows.

        Parameters
        ----------
        headers, rows
            Cells are text (with markup), numbers (four significant digits) or None (a dash).
        align
            One letter for each column: l, r, c, or w for text that may wrap. Default: left.
        highlight
            Numbers of the rows to set off, from 0: the best ones.
        """
        letters = align or "l" * len(headers)
        if len(letters) != len(headers) or not set(letters) <= set(_ALIGN):
            raise InvalidInputError(
                f"align must have one of l, r, c, w for each of {len(headers)} columns, got {align!r}"
            )
        for row in rows:
            if len(row) != len(headers):
                raise InvalidInputError(f"a row must have {len(headers)} cells, got {len(row)}: {row!r}")
        self._tables += 1
        anchor = self._anchor(f"table-{self._tables}", given=False)
        kind = _kind(headers, rows, letters)
        labels = [plain(header) if "cards" in kind else "" for header in headers]
        head = "".join(map(_header, headers, letters))
        body = "".join(_row(row, letters, k in highlight, labels) for k, row in enumerate(rows))
        title = f"<b>Table {self._tables}.</b> {inline(caption)}".rstrip()
        if "cards" not in kind and len(rows) <= _SHORT:
            kind += " short"  # printed on one page
        hint = "" if "cards" in kind else _HINT
        self._blocks.append(
            f'<figure class="{kind}"><figcaption id="{anchor}">{title}</figcaption>\n{hint}'
            f'<div class="scroll" tabindex="0"><table aria-labelledby="{anchor}">\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div></figure>"
        )

    def figure(self, svg: str, caption: str, name: str) -> None:
        """Add a figure, as `elsv.report.figures.for_page` gives it; `name` is for links to it."""
        if not svg.startswith("<svg "):
            raise InvalidInputError(f"a figure must be an <svg> element, got {svg[:30]!r}")
        anchor = self._anchor(f"figure-{name}", given=True)
        self._figures += 1
        label = html.escape(f"Figure {self._figures}. {plain(caption)}")
        drawn = re.sub(r"<svg [^>]*>", lambda tag: _opened(tag[0], label), svg)
        self._blocks.append(
            f'<figure class="figure" id="{anchor}"><div class="card">{drawn}</div>\n'
            f"<figcaption><b>Figure {self._figures}.</b> {inline(caption)}</figcaption></figure>"
        )

    def settings(self, values: Mapping[str, object]) -> None:
        """Add names and values, one below the other."""
        items = "".join(
            f"<dt>{inline(str(key))}</dt><dd>{inline(str(value))}</dd>\n" for key, value in values.items()
        )
        self._blocks.append(f"<dl>\n{items}</dl>")

    def html(self) -> str:
        """Return the page."""
        style = resources.files("elsv.report").joinpath("page.css").read_text(encoding="utf-8")
        subtitle = f'<p class="subtitle">{inline(self.subtitle)}</p>\n' if self.subtitle else ""
        contents = self._table_of_contents()
        body = "\n".join(self._blocks)
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<meta name="generator" content="elsv {__version__}">\n'
            f"<title>{html.escape(plain(self.title))}</title>\n<style>\n{style}{_DARK}</style>\n</head>\n<body>\n"
            f'<div class="page{" with-contents" if contents else ""}">\n'
            f"<header>\n<h1>{inline(self.title)}</h1>\n{subtitle}</header>\n{contents}"
            f"<main>\n{body}\n</main>\n<footer>Made with elsv {__version__}.</footer>\n"
            "</div>\n</body>\n</html>\n"
        )

    def write(self, path: str | Path) -> Path:
        """Write the page, atomically, and return its path."""
        write_text(path, self.html())
        return Path(path)

    def _table_of_contents(self) -> str:
        if len(self._contents) < _CONTENTS_FROM:
            return ""
        items = "".join(
            f'<li><a href="#{name}">{inline(plain(title))}</a></li>\n' for name, title in self._contents
        )
        return f'<nav aria-label="Contents"><p>Contents</p>\n<ol>\n{items}</ol></nav>\n'

    def _anchor(self, text: str, given: bool) -> str:
        name = slug(text)
        if name in self._anchors and given:
            raise InvalidInputError(f"names on a page must differ from one another, got {name!r} twice")
        number = 2
        while name in self._anchors:
            name, number = f"{slug(text)}-{number}", number + 1
        self._anchors.add(name)
        return name


def slug(text: str) -> str:
    """Return `text` as an anchor or a part of a file name.

    Examples
    --------
    >>> slug("Where they pull: 20 % off")
    'where-they-pull-20-off'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"


def inline(text: str) -> str:
    """Return escaped HTML with the small markup of the page applied."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(
        f"<code>{html.escape(part[1:-1])}</code>" if k % 2 else _emphasis(html.escape(part))
        for k, part in enumerate(parts)
    )


def plain(text: str) -> str:
    """Return `text` without its markup."""
    return html.unescape(re.sub(r"<[^>]+>", "", inline(text)))


def _opened(tag: str, label: str) -> str:
    """Return the opening tag of a figure, named for those who do not see it and not wider than drawn."""
    width = re.search(r'\bwidth="([\d.]+)pt"', tag)
    if width:
        tag = re.sub(r'\b(?:width|height)="[\d.]+pt" ?', "", tag)
        widest = f"--widest:{0.1 * float(width[1]):.1f}rem"
        tag = (
            tag.replace('style="', f'style="{widest};')
            if "style=" in tag
            else f'{tag[:-1]} style="{widest}">'
        )
    return f'<svg role="img" aria-label="{label}" ' + tag.removeprefix("<svg ")


def _emphasis(escaped: str) -> str:
    escaped = re.sub(r"(?<=\d) (?=[%×])|(?<=\d) (?=± )|(?<=±) ", "\N{NO-BREAK SPACE}", escaped)
    escaped = re.sub(r"\[([^\]]+)\]\((#[A-Za-z0-9_-]+)\)", r'<a href="\2">\1</a>', escaped)
    escaped = re.sub(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", r"<strong>\1</strong>", escaped)
    return re.sub(r"(?<![\w*])\*(?=[^\s*])([^*]+?)(?<=\S)\*(?![\w*])", r"<em>\1</em>", escaped)


def _paragraphs(text: str) -> str:
    found = []
    for block in re.split(r"\n\s*\n", text.strip()):
        rows = [row.strip() for row in block.splitlines()]
        if all(row.startswith("- ") for row in rows):
            found.append("<ul>" + "".join(f"<li>{inline(row[2:])}</li>" for row in rows) + "</ul>")
        else:
            found.append(f"<p>{inline(' '.join(rows))}</p>")
    return "\n".join(found)


def _header(text: str, letter: str) -> str:
    return f'<th scope="col"{_ALIGN[letter]}>{inline(text)}</th>'


def _kind(headers: Sequence[str], rows: Sequence[Sequence[Cell]], letters: str) -> str:
    """Return the classes of a table: one of sentences turns into cards where it has no room, others scroll.

    Which ones have room is guessed from their longest words, since the page has no script to measure them.
    """
    pixels = 0.0
    for k, (header, letter) in enumerate(zip(headers, letters, strict=True)):
        shown = [plain(_text(row[k])) for row in rows]
        longest = max(map(len, shown), default=0)
        if letter == "w" and longest > _SENTENCE and len(letters) > 2:
            return "table cards"
        wraps = k == 0 or letter == "w"
        words = [word for text in (header, *(shown if wraps else ())) for word in re.split(r"[ ,:]", text)]
        least = max(map(len, words)) if wraps else max(longest, *map(len, words))
        pixels += max(_LETTER * least + _PADDING, _WRAPPED if letter == "w" else 0.0)
    return "table" + " roomy" * (pixels > _TELEPHONE) + " dense" * (pixels > _COLUMN)


def _row(cells: Sequence[Cell], letters: str, best: bool, labels: Sequence[str]) -> str:
    name, *rest = (
        f"{_ALIGN[letter]}>{_breakable(inline(_text(cell)), k == 0 or letter == 'w')}"
        for k, (letter, cell) in enumerate(zip(letters, cells, strict=True))
    )
    said = (f' data-label="{html.escape(label)}"' if label else "" for label in labels[1:])
    begin = '<tr class="best">' if best else "<tr>"
    others = "".join(f"<td{label}{cell}</td>" for label, cell in zip(said, rest, strict=True))
    return f'{begin}<th scope="row"{name}</th>{others}</tr>\n'


def _breakable(markup: str, wraps: bool) -> str:
    """Let a policy's name be broken after its colon and commas, where text wraps at all."""
    return re.sub(r"(?<=[a-z0-9])([,:])(?=[a-z_])", r"\1<wbr>", markup) if wraps else markup


def _text(cell: Cell) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:.4g}"
