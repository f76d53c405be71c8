"""The words from which NumPy starts a generator of two numbers, as `numpy.random.SeedSequence` makes them."""

from __future__ import annotations

from elsv._base.jit import helper, kernel
from elsv._base.typing import IntArray

_BITS = 0xFFFFFFFF  # all is done modulo 2**32
_FIRST, _FIRST_FACTOR = 0x43B0D7E5, 0x931E8875
_SECOND, _SECOND_FACTOR = 0x8B51F9DD, 0x58F38DED
_LEFT, _RIGHT = 0xCA01F9DD, 0x4973F715


@helper
def _hashed(value: int, key: int, factor: int) -> int:
    """Return a value mixed with a key and with the key that comes after it."""
    value = ((value ^ key) * (key * factor & _BITS)) & _BITS
    return value ^ (value >> 16)


@kernel
def start_words(seed: int, number: int, pool: IntArray, out: IntArray) -> None:
    """Set the four words ``[4]`` of 64 bits; `pool` ``[4]`` is room. Both numbers lie from 0 to 2**63 - 1."""
    used = 0
    for given in (seed, number):
        pool[used] = given & _BITS
        used += 1
        if given > _BITS:
            pool[used] = given >> 32
            used += 1
    for place in range(used, 4):
        pool[place] = 0
    key = _FIRST
    for place in range(4):
        pool[place] = _hashed(pool[place], key, _FIRST_FACTOR)
        key = key * _FIRST_FACTOR & _BITS
    for source in range(4):
        for place in range(4):
            if source != place:
                other = _hashed(pool[source], key, _FIRST_FACTOR)
                key = key * _FIRST_FACTOR & _BITS
                mixed = (_LEFT * pool[place] - _RIGHT * other) & _BITS
                pool[place] = mixed ^ (mixed >> 16)
    key = _SECOND
    for place in range(8):
        half = _hashed(pool[place % 4], key, _SECOND_FACTOR)
        key = key * _SECOND_FACTOR & _BITS
        if place % 2 == 0:
            out[place // 2] = half
        else:
            out[place // 2] |= half << 32
