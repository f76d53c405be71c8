"""What a problem assumes, shown to the person who assumes it: in words, as a drawing, and against data.

Read `check` first, which puts the findings together and draws them; `base` has them, and writes them as text.
"""

from elsv.assumptions.base import ArmCheck
from elsv.assumptions.check import Check, check

__all__ = ["ArmCheck", "Check", "check"]
