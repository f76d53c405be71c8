"""What a state is worth: value functions for lookahead.

Read `base` first (one method), then `separable`, the paper's value of an index, and `commit`, the worth of
committing to one arm, which `plan` searches on.
"""

from elsv.values.base import ValueFunction
from elsv.values.commit import BlockCommitValue, CommitValue
from elsv.values.separable import SeparableValue

__all__ = ["BlockCommitValue", "CommitValue", "SeparableValue", "ValueFunction"]
