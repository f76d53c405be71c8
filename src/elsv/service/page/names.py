"""Names of campaigns in addresses: any text may be one, and a path has its own ideas of slashes and dots."""

from __future__ import annotations

from urllib.parse import quote


def in_path(name: str) -> str:
    """Return a name as a segment of a path; `from_path` reads it after the server has decoded it once.

    Examples
    --------
    >>> in_path("spring"), in_path("20 % off"), in_path("a/b")
    ('spring', '20%20%2525%20off', 'a%252Fb')
    """
    if not name.strip("."):
        return "%252E" * len(name)
    return quote(name.replace("%", "%25").replace("/", "%2F"), safe="")


def from_path(segment: str) -> str:
    """Return the name that a segment stands for.

    Examples
    --------
    >>> from_path("20 %25 off"), from_path("a%2Fb")
    ('20 % off', 'a/b')
    """
    return segment.replace("%2E", ".").replace("%2F", "/").replace("%25", "%")


def page_of(name: str) -> str:
    """Return the address of a campaign's page."""
    return f"/ui/campaigns/{in_path(name)}"
