r"""Compiled inversion of the Bernoulli divergence.

For :math:`0 < p < 1` and a limit L > 0 the root q > p of :math:`d(p, q) = L` is sought in
:math:`w = -\log(1-q)`. There :math:`d' = 1 - p/q` increases with w, so d is convex and Newton's method
from a point at or right of the root walks down to it without overshooting. Two such points are known:
:math:`q \le p + \sqrt{L/2}` (Pinsker) and, dropping :math:`-p\log q \ge 0`,
:math:`w \le (L + H(p))/(1-p)` with the entropy H.
"""

from __future__ import annotations

import math

from elsv._base.jit import inlined, kernel
from elsv._base.typing import FloatArray

# Newton's method needs about 5 steps, and 30 where p is within 1e-9 of 0 or 1.
_MOST_STEPS = 100
_RELATIVE_STEP = 4e-16


@inlined
def _upper_bound(p: float, limit: float) -> float:
    """Return max{q : d(p, q) <= limit}."""
    if limit <= 0.0 or p >= 1.0:
        return p
    if p <= 0.0:
        return -math.expm1(-limit)
    entropy = -p * math.log(p) - (1.0 - p) * math.log1p(-p)
    w = (limit + entropy) / (1.0 - p)
    pinsker = p + math.sqrt(0.5 * limit)
    if pinsker < 1.0:
        w = min(w, -math.log1p(-pinsker))
    q = -math.expm1(-w)
    for _ in range(_MOST_STEPS):
        if q <= p:
            return p
        excess = p * math.log1p((p - q) / q) + (1.0 - p) * (math.log1p(-p) + w) - limit
        step = excess * q / (q - p)
        if step <= _RELATIVE_STEP * w:
            break
        w -= step
        q = -math.expm1(-w)
    return q


@kernel
def upper_bounds(means: FloatArray, limits: FloatArray, bounds: FloatArray) -> None:
    """Fill `bounds` with max{q : d(mean, q) <= limit}; flat arrays of one length."""
    for k in range(means.size):
        bounds[k] = _upper_bound(means[k], limits[k])
