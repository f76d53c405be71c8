"""Search ahead from one state: lookahead on any value function, and the planner's deeper search on points.

Read `lookahead` first (paper Algorithm 1), then `tree`, which numbers the states that it visits.
"""

from elsv.search.lookahead import lookahead

__all__ = ["lookahead"]
