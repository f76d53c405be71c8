"""What a problem assumes, shown to the person who assumes it: in words, as a drawing, and against data.

Read `check` first, which puts the findings together; `terminal` writes and `svg` draws them, `layout` says
where arms stand in an order.
"""

from elsv.assumptions.base import ArmCheck
from elsv.assumptions.check import Check, check

__all__ = ["ArmCheck", "Check", "check"]
