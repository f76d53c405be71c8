"""Prior rows from what people have: last season's outcomes, or what they expect.

Read `history` first: it says what a weight means, and why counts put into rows would not imply what was
seen. `expectations` does the same for intervals such as "3 to 8 %"; `solving` finds the rows, `untried` those
of arms of which nothing is known, `sources` reads files, and `found` is what comes of it.

Examples
--------
>>> from elsv import Problem
>>> problem = Problem(rewards=[0.8, 1.0], order="decreasing", horizon=200, names=["20 % off", "10 % off"])
>>> found = from_history(problem, successes=[48, 30], failures=[352, 370], weight=0.3)
>>> [round(arm.after.mean, 3) for arm in found.arms]  # as after all of it
[0.122, 0.077]
>>> [round(alpha + beta) for alpha, beta in found.rows]  # and as sure as after 120 customers on each arm
[122, 122]
"""

from elsv.prior.expectations import COVERAGE, from_expectations, parse_expectation
from elsv.prior.found import ArmPrior, Prior
from elsv.prior.history import METHODS, from_history
from elsv.prior.sources import History, read_history

__all__ = [
    "COVERAGE",
    "METHODS",
    "ArmPrior",
    "History",
    "Prior",
    "from_expectations",
    "from_history",
    "parse_expectation",
    "read_history",
]
