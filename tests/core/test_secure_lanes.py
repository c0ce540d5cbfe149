"""Secure numbers for many events at once: exact, and never from anywhere else."""

import struct
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.lane_laws import every_law
from tarry.core.choice import Choice
from tarry.core.entropy import DIGIT
from tarry.core.sampler import Sampler
from tarry.core.secure_lanes import SecureLanes


class Chunks:
    """A source of bytes that answers with these chunks, which must have the length asked for."""

    def __init__(self, *chunks):
        self.chunks = list(chunks)

    def __call__(self, size):
        chunk = self.chunks.pop(0) if self.chunks else b""
        assert len(chunk) == size
        return chunk


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7, 1000, 1024, 4095, 4096])
def test_secure_small_ranges_exactly(n):
    """Over all 65,536 half digits every result comes up floor(65536 / n) times; the rest are redrawn."""
    every = np.arange(1 << 16, dtype=np.uint16).tobytes()
    redrawn = (1 << 16) % n
    last = struct.pack("=H", -(-(1 << 16) // n) - 1)  # the last half digit that gives 0

    found = SecureLanes(1 << 16, Chunks(every, *([last * redrawn] if redrawn else []))).randbelow(n)

    counts = Counter(found.tolist())
    assert counts.pop(0) == (1 << 16) // n + redrawn
    assert set(counts.values()) <= {(1 << 16) // n}
    assert len(counts) == n - 1


@given(n=st.integers(4097, DIGIT - 1) | st.sampled_from([(1 << 31) + 1, DIGIT - 1]), data=st.data())
def test_secure_digits_reject_what_would_bias(n, data):
    """Each result has floor(2^32 / n) digits to it: where there is one more, the first is redrawn."""
    result, other = (data.draw(st.integers(0, n - 1)) for _ in range(2))
    first, behind = (-(-r * DIGIT // n) for r in (result, result + 1))
    one_too_many = behind - first > DIGIT // n
    digits = [struct.pack("=I", digit) for digit in (first, -(-(other + 1) * DIGIT // n) - 1)]

    found = SecureLanes(1, Chunks(*digits)).randbelow(n)

    assert found.tolist() == [other if one_too_many else result]


@pytest.mark.parametrize("n", [DIGIT + 1, 3 << 40, (1 << 62) - 1])
def test_secure_wide_redraws(n):
    """Of a wide range, lanes whose number is too large are drawn again, and only those."""
    shift = 64 - (n - 1).bit_length()
    words = [(number << shift) for number in (5, n, n - 1, n)]
    again = [number << shift for number in (6, 7)]

    found = SecureLanes(4, Chunks(struct.pack("=4Q", *words), struct.pack("=2Q", *again))).randbelow(n)

    assert found.tolist() == [5, 6, n - 1, 7]


def test_secure_whole_digits():
    """A range of 2^32 and of 2^62 takes digits and words as they come."""
    assert SecureLanes(2, Chunks(struct.pack("=2I", 9, DIGIT - 1))).randbelow(DIGIT).tolist() == [
        9,
        DIGIT - 1,
    ]
    word = (1 << 64) - 1
    assert SecureLanes(1, Chunks(struct.pack("=Q", word))).randbelow(1 << 62).tolist() == [(1 << 62) - 1]


def test_secure_above():
    """Half a digit tells unless it ties; then the other half does, and a whole tie is named."""
    digit = (300 << 16) + 40
    halves = struct.pack("=6H", 299, 301, 300, 300, 300, 0)
    rest = struct.pack("=3H", 39, 41, 40)

    above, ties = SecureLanes(6, Chunks(halves, rest)).above(digit)

    assert above.tolist() == [False, True, False, True, False, False]
    assert ties.tolist() == [4]


def test_secure_lanes_can_tie():
    """A tie that needs more than a digit reads on from the same bytes."""
    third = int(Fraction(1, 3) * DIGIT)
    halves = struct.pack("=H", third >> 16), struct.pack("=H", third & 0xFFFF)
    for step, expected in ((-1, 0), (1, 1)):
        pool = struct.pack("=1024I", *[third + step] * 1024)
        choice = Choice.of_shares([Fraction(1, 3), Fraction(2, 3)])

        assert choice.draw_many(SecureLanes(1, Chunks(*halves, pool))).tolist() == [expected]


@every_law
def test_secure_draws_stay_in_the_support(law):
    """Draws from the secure source lie where the law has mass."""
    found = Sampler(law).draw_many(SecureLanes(500))

    assert all(law.mass(tick) > 0 for tick in {*found.tolist()} if tick < 10**4)
    assert found.min() >= law.minimum
    assert law.maximum is None or found.max() <= law.maximum


def test_failing_source_fails_the_draw():
    """When there are no bytes, drawing in bulk raises and nothing stands in."""

    def broken(size):
        raise OSError("no bytes")

    lanes = SecureLanes(5, broken)
    for n in (6, 10_000, DIGIT, 1 << 50):
        with pytest.raises(OSError, match="no bytes"):
            lanes.randbelow(n)
    with pytest.raises(OSError, match="no bytes"):
        lanes.above(7)
    with pytest.raises(OSError, match="no bytes"):
        lanes.lane(0).randbelow(6)
