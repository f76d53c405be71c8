"""The form in which kernels take a ranking: messages, their terms, and the terms' factors."""

from __future__ import annotations

from typing import NamedTuple

from elsv._base.typing import AnyArray, IntArray


class Program(NamedTuple):
    """Messages, each after those it needs; the last one is the whole."""

    from_above: AnyArray  # [M], whether a message is the integral from x on
    terms: IntArray  # [M + 1], where the terms of each message begin
    arm: IntArray  # [T]
    factors: IntArray  # [T + 1], where the factors of each term begin
    factor: IntArray  # [F], messages
    owner: IntArray  # [T], the message of a term
    uses: IntArray  # [M + 1], where the uses of each message begin
    use: IntArray  # [F], terms of which a message is a factor
