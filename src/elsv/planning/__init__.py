"""Search over future states."""

from elsv.planning.lookahead import lookahead

__all__ = ["lookahead"]
