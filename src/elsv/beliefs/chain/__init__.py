"""Arms in an order, exactly: messages along the chain on panels that follow the densities.

Read `belief` first.
"""

from typing import NamedTuple

from elsv._base.typing import FloatArray, IntArray


class Placed(NamedTuple):
    """Some states and their panels, of each as many as it has, with the windows of its arms."""

    alpha: FloatArray  # [B, N]
    beta: FloatArray  # [B, N]
    edges: FloatArray  # [B, E], logits
    panels: IntArray  # [B], how many
    first: IntArray  # [B, N]
    last: IntArray  # [B, N], one past the end
