"""Check the built documentation site: ``python tools/site_check.py site``.

Every link and picture within it leads somewhere, anchors included; nothing is loaded from elsewhere; no
formula was left as it is written; every page can be searched; every public name has a place in the reference.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import site_names

LEFT = re.compile(r":math:|\.\. math::|class=\"arithmatex\"|<merror|\]\[elsv\.")
LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}


class Page(HTMLParser):
    """What a page has and what it points to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note anchors, links and what the browser fetches."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if LOADED.get(tag) in given and given.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(given[LOADED[tag]])


def problems(site: Path) -> Iterator[str]:
    """Yield what is wrong with a site, one line each."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        found = LEFT.search(page.text)
        if found:
            yield f"{name}: not rendered: {page.text[found.start() : found.start() + 60]!r}"
        for address in page.loads:
            if urlsplit(address).netloc:
                yield f"{name}: loads {address} from elsewhere"
        for address in {*page.links, *page.loads}:
            if name.name != "404.html" and not _leads_somewhere(path, address, pages):
                yield f"{name}: nothing at {address}"
    yield from _not_searchable(site, pages)
    yield from _not_in_the_reference(pages)


def _leads_somewhere(path: Path, address: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return False
    anchor = unquote(parts.fragment)
    return not anchor or target not in pages or anchor == "__top" or anchor in pages[target].anchors


def _not_searchable(site: Path, pages: dict[Path, Page]) -> Iterator[str]:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {urlsplit(entry["location"]).path or "index.html" for entry in index["docs"]}
    names = {path.relative_to(site.resolve()).as_posix() for path in pages} - {"404.html"}
    yield from (f"{name}: not in the search index" for name in sorted(names - found))
    if not (site / "search" / "search_index.js").is_file():
        yield "search/search_index.js is missing: no search without a server"


def _not_in_the_reference(pages: dict[Path, Page]) -> Iterator[str]:
    anchors = {anchor for page in pages.values() for anchor in page.anchors}
    yield from (f"{name}: not in the reference" for name in site_names.public_names() if name not in anchors)


def main() -> int:
    """Print what is wrong and return how the program ends."""
    site = Path(sys.argv[1])
    found = list(problems(site))
    for line in found:
        print(line, file=sys.stderr)
    count = len(list(site.rglob("*.html")))
    print(f"{site}: {count} pages, {len(found)} problems", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
