"""What a state is worth: value functions for lookahead."""

from elsv.values.base import ValueFunction
from elsv.values.commit import BlockCommitValue, CommitValue
from elsv.values.separable import SeparableValue

__all__ = ["BlockCommitValue", "CommitValue", "SeparableValue", "ValueFunction"]
