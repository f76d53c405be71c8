"""Search ahead from one state: lookahead on any value function, and the planner's deeper search on points.

Read `lookahead` first (paper Algorithm 1), which numbers the states that it visits. `points_search` is
the search of `plan`; its rules are in `elsv.policies.plan_rules`.
"""

from elsv.search.lookahead import lookahead

__all__ = ["lookahead"]
