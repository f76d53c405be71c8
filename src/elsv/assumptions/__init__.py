"""What a problem assumes, shown to the person who assumes it: in words, as a drawing, and against data.

Read `check` first, which puts the findings together; `base` writes and `svg` draws them.
"""

from elsv.assumptions.base import ArmCheck
from elsv.assumptions.check import check
from elsv.assumptions.svg import Check

__all__ = ["ArmCheck", "Check", "check"]
