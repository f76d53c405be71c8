"""What is found out about a prior, as people get it."""

from __future__ import annotations

from elsv.prior.base import Findings
from elsv.prior.terminal import text


class Prior(Findings):
    """Prior rows and what they imply under the structure; prints as a table."""

    def __str__(self) -> str:
        return text(self)
