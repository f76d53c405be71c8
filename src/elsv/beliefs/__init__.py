"""What a state says of the means: one file for each belief, and the quadrature that they share.

A belief must give `mean` and `draw`; whatever else it can (variances, quantiles, P(best), weights W, points)
is asked for through `elsv.beliefs.abilities`, which has a general way where there is one. Read `base` first,
then `independent` and `chain`. P(best) of a state is in `_largest`; `layer_weights` and `layer_best` answer
for whole layers of the lattice.
"""

from elsv.beliefs.base import Belief, ExactBelief
from elsv.beliefs.chain import Chain
from elsv.beliefs.independent import Independent
from elsv.beliefs.rejection import Estimate, Rejection

__all__ = ["Belief", "Chain", "Estimate", "ExactBelief", "Independent", "Rejection"]
