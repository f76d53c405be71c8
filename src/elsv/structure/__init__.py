"""What is known of the means in advance, as a statement: orders, peaks, bounds, mixtures, draws.

Statements read like their sentence, join with ``&``, and give the belief under them. Read `base` first, which
joins them too, then `rankings` for what ranks the arms. `facts` has what these come to, and the belief under
it. `evidence` watches whether data agree with a statement.

Examples
--------
>>> decreasing().describe()
'the means decrease: each arm succeeds at least as often as the next'
>>> decreasing().holds([[0.5, 0.4], [0.4, 0.5]]).tolist()
[True, False]
>>> (order([(1, 2), (1, 3)]) & bounds([(0, 0.5), None, None])).describe()
'arm 1 is at least as good as arm 2 and arm 3; arm 1 lies from 0 to 0.5'
"""

from elsv.structure.base import Both, Free, Statement, Structure, free, from_dict, register, structure_of
from elsv.structure.drawn import Logistic, SampleDraws, Where, logistic, samples, where
from elsv.structure.facts import Facts, Offers, Outline
from elsv.structure.mixtures import MixtureOf, mixture
from elsv.structure.rankings import (
    Bounds,
    Gaps,
    Grid,
    Monotone,
    PartialOrder,
    Unimodal,
    bounds,
    decreasing,
    gap,
    grid,
    increasing,
    order,
    unimodal,
)

__all__ = [
    "Both",
    "Bounds",
    "Facts",
    "Free",
    "Gaps",
    "Grid",
    "Logistic",
    "MixtureOf",
    "Monotone",
    "Offers",
    "Outline",
    "PartialOrder",
    "SampleDraws",
    "Statement",
    "Structure",
    "Unimodal",
    "Where",
    "bounds",
    "decreasing",
    "free",
    "from_dict",
    "gap",
    "grid",
    "increasing",
    "logistic",
    "mixture",
    "order",
    "register",
    "samples",
    "structure_of",
    "unimodal",
    "where",
]
