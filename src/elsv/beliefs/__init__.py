"""What a state says of the means: one file for each belief, and the quadrature that they share.

A belief must give `mean` and `draw`; whatever else it can (variances, quantiles, P(best), weights W, points)
is asked for through `elsv.beliefs.abilities`, which has a general way where there is one. Read `base` first,
then `independent` and `chain`. `best` has P(best) of a state; `layers` answers for whole lattice layers.
"""

from elsv.beliefs.base import Belief, MethodUsed
from elsv.beliefs.chain.belief import Chain
from elsv.beliefs.filtered import Kept
from elsv.beliefs.independent import Independent
from elsv.beliefs.ladder.belief import Ladder
from elsv.beliefs.mixture import Mixture
from elsv.beliefs.samples import Samples
from elsv.beliefs.sampling import Estimate, Gibbs, Rejection

__all__ = [
    "Belief",
    "Chain",
    "Estimate",
    "Gibbs",
    "Independent",
    "Kept",
    "Ladder",
    "MethodUsed",
    "Mixture",
    "Rejection",
    "Samples",
]
