"""Partial orders, grids, peaks and bounds, exactly: the chain's messages on a graph of rankings.

Read `belief` first.
"""

from typing import NamedTuple

from elsv._base.typing import AnyArray, FloatArray, IntArray


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


class Axis(NamedTuple):
    """Pieces of the axis, and where the arms live on it."""

    begin: FloatArray  # [S]
    end: FloatArray  # [S]
    support: FloatArray  # [N], where an arm's mean is 1
    inside: AnyArray  # [N, S], whether an arm may lie on a piece


class Setup(NamedTuple):
    """One state or several, and how finely they are solved."""

    alpha: FloatArray  # [N] or [B, N]
    beta: FloatArray  # the same
    program: Program
    axis: Axis
    nats: float  # that a panel may span
    cut: float  # nats below all from which on a part of it is left out
