"""Many events at once: each seeded lane gets the numbers it would get alone, secure ones are exact."""

import struct
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.lane_laws import LAWS, every_law
from tarry.core.entropy import DIGIT, Seeded, Stream, event_key, stable_code
from tarry.core.errors import BadInput
from tarry.core.lanes import SecureLanes, SeededLanes, event_keys, stable_codes
from tarry.core.sampler import Chooser, Sampler

COUNT = 300
SEED = Seeded(21)
ACTORS = np.array([f"actor {i % 7}" for i in range(COUNT)])
TARGETS = np.arange(COUNT) % 11
TIMES = np.arange(COUNT, dtype=np.int64) * 37 - 1000
KEYS = event_keys(ACTORS, TARGETS, TIMES)


def stream(i):
    """The stream of event i."""
    return SEED.stream(str(ACTORS[i]), int(TARGETS[i]), int(TIMES[i]))


@every_law
def test_lanes_are_streams(law):
    """All lanes at once draw what each stream draws alone, and stand where it stands afterwards."""
    sampler, lanes = Sampler(law), SeededLanes(SEED, KEYS)
    streams = [stream(i) for i in range(COUNT)]

    found = sampler.draw_many(lanes)

    assert found.tolist() == [sampler.draw(s) for s in streams]
    assert lanes.randbelow(1000).tolist() == [s.randbelow(1000) for s in streams]


@every_law
def test_subsets_of_lanes(law):
    """Lanes that are drawn for alone, or twice, or not at all, keep their own place."""
    sampler, lanes = Sampler(law), SeededLanes(SEED, KEYS)
    streams = [stream(i) for i in range(COUNT)]
    even, some = np.arange(0, COUNT, 2), np.array([7, 4, 299, 0, 100])

    for which in (even, some, some[::-1]):
        assert sampler.draw_many(lanes, which).tolist() == [sampler.draw(streams[i]) for i in which]
    assert sampler.draw_many(lanes).tolist() == [sampler.draw(s) for s in streams]


@every_law
def test_any_split_and_order(law):
    """However the rows are ordered and divided, each event has the same delay."""
    sampler = Sampler(law)
    whole = sampler.draw_many(SeededLanes(SEED, KEYS))

    order = np.random.default_rng(5).permutation(COUNT)
    for parts in (1, 2, 7):
        split = np.array_split(order, parts)
        found = np.concatenate([sampler.draw_many(SeededLanes(SEED, KEYS[part])) for part in split])
        assert (found == whole[order]).all()


operations = st.lists(
    st.tuples(
        st.sampled_from(["all", "some", "lane", "above"]),
        st.sampled_from([1, 2, 3, 10, 1000, (1 << 31) + 1, 3 << 30, DIGIT, DIGIT + 1, 3 << 40, 1 << 62]),
        st.lists(st.integers(0, 7), min_size=1, max_size=8, unique=True),
    ),
    max_size=12,
)


@given(steps=operations)
def test_any_sequence_of_draws(steps):
    """Whatever is asked of all lanes, of some or of one, each lane reads on where it stood."""
    lanes, streams = SeededLanes(SEED, KEYS[:8]), [stream(i) for i in range(8)]
    for kind, n, which in steps:
        if kind == "all":
            assert lanes.randbelow(n).tolist() == [s.randbelow(n) for s in streams]
        elif kind == "some":
            assert lanes.randbelow(n, np.array(which)).tolist() == [streams[i].randbelow(n) for i in which]
        elif kind == "lane":
            assert lanes.lane(which[0]).randbelow(n) == streams[which[0]].randbelow(n)
        else:
            digit = min(n, DIGIT) // 2
            above, ties = lanes.above(digit, np.array(which))
            digits = [streams[i].randbelow(DIGIT) for i in which]
            assert above.tolist() == [d > digit for d in digits]
            assert ties.tolist() == [place for place, d in enumerate(digits) if d == digit]


def digits_of(i, count):
    """The first digits of event i's stream."""
    source = stream(i)
    return [source.randbelow(DIGIT) for _ in range(count)]


@pytest.mark.parametrize(
    "which", [None, np.array([250, 17, 3]), np.array([17])], ids=["all", "some", "one"]
)
@pytest.mark.parametrize("ties", [1, 2, 3])
@pytest.mark.parametrize("cuts", [1, 3])
def test_forced_ties(cuts, ties, which):
    """A lane whose digits are those of a cut, one, two or three of them, reads on by itself alone."""
    tied = sum(Fraction(d, DIGIT ** (place + 1)) for place, d in enumerate(digits_of(17, ties)))
    tied += Fraction(1, 3) / DIGIT**ties
    shares = [tied, 1 - tied] if cuts == 1 else [tied / 2, tied / 2, (1 - tied) / 2, (1 - tied) / 2]
    choice, lanes = Chooser.of_shares(shares), SeededLanes(SEED, KEYS)
    streams = [stream(i) for i in range(COUNT)]
    drawn = range(COUNT) if which is None else which

    found = choice.draw_many(lanes, which)

    assert found.tolist() == [choice.draw(streams[i]) for i in drawn]
    assert streams[17].position > ties
    assert lanes.randbelow(DIGIT).tolist() == [s.randbelow(DIGIT) for s in streams]


@pytest.mark.parametrize("n", [0, -5, (1 << 62) + 1])
def test_ranges_of_vectors(n):
    """A vector holds 63 bits: a range outside 1..2^62 is refused."""
    for lanes in (SeededLanes(SEED, KEYS), SecureLanes(5)):
        with pytest.raises(BadInput, match=r"must be between 1 and 2\^62"):
            lanes.randbelow(n)


def test_lengths():
    """Lanes know how many they are."""
    assert len(SeededLanes(SEED, KEYS)) == COUNT
    assert len(SecureLanes(12)) == 12


def test_no_lanes():
    """A history without events draws nothing."""
    for law in LAWS.values():
        assert Sampler(law).draw_many(SeededLanes(SEED, KEYS[:0])).tolist() == []
        assert Sampler(law).draw_many(SecureLanes(0)).tolist() == []


names = st.text(max_size=8).filter(lambda text: not text.endswith("\0") and text.isprintable())
whole = st.integers(-(1 << 63), (1 << 63) - 1)


@settings(max_examples=50)
@given(
    rows=st.lists(st.tuples(names, whole, whole, st.integers(0, 1000)), min_size=1, max_size=6),
    numbered=st.booleans(),
)
def test_event_keys_are_event_key(rows, numbered):
    """A column of hashes is the hash of each row, for texts and numbers, repeats included."""
    rows = rows + rows[:1]
    actor, target, time, occurrence = (list(column) for column in zip(*rows, strict=True))
    if numbered:
        actor, target = target, actor

    found = event_keys(np.array(actor), np.array(target), np.array(time), np.array(occurrence))

    expected = [event_key(*row) for row in zip(actor, target, time, occurrence, strict=True)]
    assert [int(key) for key in found] == expected


def test_event_keys_without_occurrence():
    """The first occurrence is meant where none is given."""
    assert int(KEYS[40]) == event_key("actor 5", 7, 480, 0)


def test_stable_codes_hash_each_text_once(monkeypatch):
    """A column of many rows and few names is hashed name by name."""
    hashed = []
    monkeypatch.setattr(
        "tarry.core.lanes.stable_code", lambda name: hashed.append(name) or stable_code(name)
    )

    codes = stable_codes(ACTORS)

    assert sorted(hashed) == sorted(set(ACTORS.tolist()))
    assert [int(code) % (1 << 64) for code in codes[:9]] == [stable_code(str(name)) for name in ACTORS[:9]]


def test_keys_of_lanes_wrap_around():
    """Key and seed are added modulo 2^64, in lanes as in streams."""
    key = (1 << 64) - 5
    lanes = SeededLanes(SEED, np.array([key], dtype=np.uint64))

    assert lanes.randbelow(DIGIT).tolist() == [Stream(key + SEED.offset).randbelow(DIGIT)]


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
        choice = Chooser.of_shares([Fraction(1, 3), Fraction(2, 3)])

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
