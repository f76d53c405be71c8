"""What a problem assumes, shown to the person who assumes it: in words, as a drawing, and against data.

Read `check` first, which puts the findings together; `pictures` draws, as text and as SVG.
"""

from elsv.assumptions.check import Check, check
from elsv.assumptions.pictures import ArmCheck

__all__ = ["ArmCheck", "Check", "check"]
