"""The random numbers of one customer are NumPy's own."""

import pickle

import numpy as np
import pytest

from elsv.campaign.streams import stream_of

EDGES = [0, 1, 2**32 - 1, 2**32, 2**48 - 1, 2**63 - 1, 2**63, 2**100]


def test_streams_are_those_of_numpy():
    rng = np.random.default_rng(3)
    some = [int(rng.integers(2 ** int(bits))) for bits in rng.integers(1, 63, size=200)]
    for seed, number in [*((s, n) for s in EDGES for n in EDGES), *zip(some, some[::-1], strict=True)]:
        mine, theirs = stream_of(seed, number), np.random.default_rng((seed, number))
        assert mine.bit_generator.state == theirs.bit_generator.state
        assert mine.random() == theirs.random()
        assert mine.integers(7) == theirs.integers(7)


@pytest.mark.parametrize("number", [5, 2**40])
def test_a_stream_has_children_and_can_be_kept(number):
    mine, theirs = stream_of(11, number), np.random.default_rng((11, number))
    for _ in range(2):  # the second children are others
        for child, known in zip(mine.spawn(2), theirs.spawn(2), strict=True):
            assert child.random() == known.random()
    words = [one.bit_generator.seed_seq.generate_state(6) for one in (mine, theirs)]
    np.testing.assert_array_equal(*words)
    assert pickle.loads(pickle.dumps(mine)).random() == theirs.random()
