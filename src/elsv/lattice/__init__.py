"""All states that some pulls can lead to, numbered, and sweeps over them by several threads.

Nothing here knows a belief or a policy: a sweep takes weights W and values of one layer and gives those of
the layer before it. Read `numbering` first, then `sweeps`, which a second backend would replace.
"""

from elsv.lattice.numbering import Lattice, Layer, layer_size, states_up_to

__all__ = ["Lattice", "Layer", "layer_size", "states_up_to"]
