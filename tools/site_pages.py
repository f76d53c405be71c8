"""What MkDocs does besides rendering ``docs/``: reference pages, links to them, formulas.

The pages of the reference are made here, one for each package, and exist in the site alone, as do copies of
pages that stand at the root of the repository.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

sys.path.insert(0, str(Path(__file__).parent))

import site_math
import site_names

ROOT = Path(__file__).parent.parent
COPIES = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
MODULES = "reference/"  # stands in the navigation for all generated pages
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FIRST_CELL = re.compile(r"^\| `[^|]*\|", re.MULTILINE)
INLINE_CODE = re.compile(r"<code>([\w.:/]{20,})</code>")


def page_of(package: str) -> str:
    """Return the file name of a package's reference page."""
    return f"{MODULES}{package.rpartition('.')[2]}.md"


def reference_page(package: str, modules: list[str]) -> str:
    """Return the Markdown of a package's reference page."""
    if package == site_names.PACKAGE:
        head = "# Problems, states and what is shared\n\nThe modules that stand in no package.\n"
    else:
        options = f"heading_level: 1\n      members: {site_names.own_members(package)}"
        head = f"---\ntitle: {package}\n---\n\n::: {package}\n    options:\n      {options}\n"
    return "\n".join([head, *(f"::: {module}\n" for module in modules)])


def on_config(config: Any) -> Any:
    """Put the generated pages into the navigation where it says so."""
    names = [page_of(package) for package in site_names.modules()]
    for section in config.nav:
        for entries in section.values():
            for entry in entries if isinstance(entries, list) else []:
                if isinstance(entry, dict) and MODULES in entry.values():
                    entry[next(iter(entry))] = names
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages and the copies."""
    for package, modules in site_names.modules().items():
        text = reference_page(package, modules)
        files.append(File.generated(config, page_of(package), content=text))
    for name, source in COPIES.items():
        text = (ROOT / source).read_text().replace("](docs/", "](")
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Link names in backticks to the reference, outside of code blocks."""
    if page.file.src_uri.startswith(MODULES):
        return markdown
    if not re.search(r"^## ", markdown, re.MULTILINE):  # no sections to list: their column is for the text
        page.meta.setdefault("hide", []).append("toc")
    short = page.file.src_uri == "api.md"
    pieces, at = [], 0
    for block in FENCED.finditer(markdown):
        pieces += [link_names(markdown[at : block.start()], short), block[0]]
        at = block.end()
    return "".join([*pieces, link_names(markdown[at:], short)])


def link_names(text: str, short: bool) -> str:
    """Return text with links for names in full; `short`: in the first cells of tables for short ones too."""

    def link(found: re.Match[str], prefix: str = "") -> str:
        target = site_names.reference_names().get(prefix + found["name"])
        return f"[`{found['name']}`][{target}]" if target else found[0]

    if short:
        text = FIRST_CELL.sub(
            lambda cell: site_names.CODE.sub(lambda m: link(m, f"{site_names.PACKAGE}."), cell[0]), text
        )
    return site_names.CODE.sub(link, text)


def on_page_content(html: str, **_: Any) -> str:
    """Show formulas as MathML, and let long names break between their parts."""
    return INLINE_CODE.sub(_breakable, site_math.to_mathml(html))


def _breakable(found: re.Match[str]) -> str:
    return "<code>" + re.sub(r"(?<=\w)(::|[./]|_(?=[a-z]))(?=\w)", r"\1<wbr>", found[1]) + "</code>"
