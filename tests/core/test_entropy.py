"""Where numbers come from: no bias, no repeats across a fork, no stand-in, and a hash that stays."""

import json
import pickle
import struct
import subprocess
import sys
import textwrap
from collections import Counter
from threading import Lock, Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.entropy import DIGIT, WORD, Secure, Seeded, Stream, event_key, mix, stable_code
from tarry.core.errors import BadInput

POOL = 1024  # words in a pool
ranges = st.one_of(st.integers(1, DIGIT), st.integers(1, 70_000), st.sampled_from([1, 2, DIGIT - 1, DIGIT]))


class Bytes:
    """A source of bytes that gives these words first, in this order, and then always the same one."""

    def __init__(self, words, then=0):
        self.words, self.then, self.sizes = list(words), then, []
        self.lock = Lock()  # as the system's own source, for threads too

    def __call__(self, size):
        count = size // 4
        with self.lock:
            self.sizes.append(size)
            now, self.words = self.words[:count], self.words[count:]
        # words are taken from the end of a pool
        return struct.pack(f"={count}I", *[self.then] * (count - len(now)), *reversed(now))


def drawn(words, n):
    """What a secure source makes of words, and how many of them it used."""
    source = Secure(Bytes(words))
    number = source.randbelow(n)
    return number, POOL - len(source._pool)


@given(n=ranges, data=st.data())
def test_secure_rejects_what_would_bias(n, data):
    """Words in whole blocks of n are taken; of the last, incomplete block every word is thrown away."""
    whole = DIGIT - DIGIT % n
    word = data.draw(
        st.one_of(st.integers(0, DIGIT - 1), st.integers(max(0, whole - 3), min(DIGIT - 1, whole + 3)))
    )

    number, used = drawn([word, 0], n)

    assert (number, used) == ((word % n, 1) if word < whole else (0, 2))


@pytest.mark.parametrize("n", [3, 7, 1000, 65_535, 65_536, 65_537, 3 << 20, (1 << 31) + 1, DIGIT - 1])
def test_secure_top_of_the_range(n):
    """Of the words at the very top, where blocks end, exactly the last 2^32 mod n are thrown away."""
    thrown = [drawn([word, 0], n)[1] == 2 for word in range(DIGIT - 3000, DIGIT)]

    assert sum(thrown) == min(3000, DIGIT % n)
    assert thrown == sorted(thrown)


@pytest.mark.parametrize("n", [3, 7, 1000])
def test_secure_last_whole_block(n):
    """The last whole block of n words gives every result once."""
    end = DIGIT - DIGIT % n

    assert Counter(drawn([word], n)[0] for word in range(end - n, end)) == Counter(range(n))


def test_secure_reads_in_pools():
    """The system is asked once for many words, and again when they are used up."""
    read = Bytes(range(2 * POOL))
    source = Secure(read)

    numbers = [source.randbelow(DIGIT) for _ in range(POOL + 1)]

    assert numbers == list(range(POOL + 1))
    assert read.sizes == [4 * POOL, 4 * POOL]


@pytest.mark.parametrize("n", [0, -1, -(1 << 70)])
def test_range_below_one(n):
    """There is no number below 1 in an empty range, and both sources say so."""
    for source in (Secure(), Stream(1)):
        with pytest.raises(BadInput, match="must be at least 1"):
            source.randbelow(n)


def test_range_of_one():
    """A range of one leaves no choice."""
    assert {Secure().randbelow(1) for _ in range(20)} == {0}
    assert {Stream(key).randbelow(1) for key in range(20)} == {0}


@pytest.mark.parametrize("n", [DIGIT + 1, 1 << 40, WORD, WORD + 1, 3 << 100, 10**60])
def test_secure_wide(n):
    """A range above a word takes as many bits as it needs, and numbers that are too large are redrawn."""
    bits = (n - 1).bit_length()
    size = -(-bits // 8)
    given_numbers = [(1 << bits) - 1, n, n - 1] if (1 << bits) > n else [n - 1]
    wide = [(number << (8 * size - bits)).to_bytes(size) for number in given_numbers]
    asked = []

    def read(count):
        asked.append(count)
        return bytes(count) if count == 4 * POOL else wide.pop(0)

    assert Secure(read).randbelow(n) == n - 1
    assert asked[1:] == [size] * len(given_numbers)
    assert not wide


@pytest.mark.parametrize("n", [DIGIT + 1, 3 << 40, 1 << 64, 10**30])
@pytest.mark.needs_real_draws("this test is about how they are spread")
def test_secure_wide_stays_in_range(n):
    """Numbers of a wide range lie in it, and fill its upper half too."""
    source = Secure()

    numbers = [source.randbelow(n) for _ in range(200)]

    assert all(0 <= number < n for number in numbers)
    assert max(numbers) > n // 2  # fails once in 2^200 runs


def test_failing_source_fails_the_draw():
    """When the system has no bytes to give, the draw raises, each time, and nothing stands in."""

    def broken(size):
        raise OSError("no bytes")

    source = Secure(broken)
    for n in (6, DIGIT, 1 << 80):
        with pytest.raises(OSError, match="no bytes"):
            source.randbelow(n)
    with pytest.raises(IndexError):
        Secure(lambda size: b"").randbelow(6)


def test_failing_later():
    """Words already read are good; the first draw that needs more fails."""
    pools = [struct.pack(f"={POOL}I", *range(POOL))]
    source = Secure(lambda size: pools.pop())
    for _ in range(POOL):
        source.randbelow(DIGIT)

    with pytest.raises(IndexError):
        source.randbelow(DIGIT)


def test_threads_never_share_a_word():
    """Whatever the order in which threads draw, no word is used twice."""
    words = 8 * POOL
    source = Secure(Bytes(range(words)))
    drawn_by = [[] for _ in range(4)]

    def draw(mine):
        mine.extend(source.randbelow(DIGIT) for _ in range(POOL))

    threads = [Thread(target=draw, args=(mine,)) for mine in drawn_by]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    numbers = [number for mine in drawn_by for number in mine]
    assert len(set(numbers)) == len(numbers) == 4 * POOL


def run_alone(code):
    """What a fresh, single-threaded Python prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


needs_fork = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")


@needs_fork
def test_pool_does_not_survive_a_fork():
    """A child begins with an empty pool and draws other words than its parent, who keeps its own."""
    found = run_alone("""
        import json, os
        from tarry.core.entropy import Secure

        source = Secure()
        source.randbelow(2)
        before = len(source._pool)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            words = len(source._pool), [source.randbelow(1 << 32) for _ in range(8)]
            os.write(writing, json.dumps(words).encode())
            os._exit(0)
        os.waitpid(child, 0)
        left, theirs = json.loads(os.read(reading, 1000))
        kept = len(source._pool)
        mine = [source.randbelow(1 << 32) for _ in range(8)]
        print(json.dumps([before, left, kept, mine, theirs]))
    """)

    before, left, kept, mine, theirs = found
    assert before == kept == POOL - 1
    assert left == 0
    assert mine != theirs


@needs_fork
def test_forked_workers_draw_their_own():
    """Workers of a pool of processes that was forked never repeat each other's draws."""
    found = run_alone("""
        import json
        from multiprocessing import get_context
        from tarry.core.entropy import Secure

        source = Secure()
        source.randbelow(2)

        def draw(_):
            return [source.randbelow(1 << 32) for _ in range(8)]

        if __name__ == "__main__":
            with get_context("fork").Pool(3) as pool:
                numbers = pool.map(draw, range(6), chunksize=1)
            print(json.dumps([*numbers, draw(0)]))
    """)

    assert len({tuple(numbers) for numbers in found}) == len(found) == 7


@pytest.mark.needs_real_draws("this test is about where they come from")
def test_a_copy_begins_with_an_empty_pool():
    """A source that is sent to another process takes none of its words along."""
    source = Secure()
    source.randbelow(2)

    copy = pickle.loads(pickle.dumps(source))  # noqa: S301 - our own bytes

    assert len(source._pool) == POOL - 1
    assert copy._pool == []
    assert copy.randbelow(6) in range(6)


SPLITMIX = [
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]


def test_stream_is_splitmix():
    """The words of a stream are the published ones of SplitMix64 with the key as its seed."""
    stream = Stream(1234567)

    assert [stream.randbelow(WORD) for _ in SPLITMIX] == SPLITMIX


def test_stream_digits():
    """A word is read high half first, and a stream goes on from any position."""
    halves = [half for word in SPLITMIX for half in (word >> 32, word % DIGIT)]
    stream = Stream(1234567)

    assert [stream.randbelow(DIGIT) for _ in halves] == halves
    assert stream.position == len(halves)
    assert [Stream(1234567, place).randbelow(DIGIT) for place in range(len(halves))] == halves


class Digits(Stream):
    """A stream whose digits are written down."""

    def __init__(self, digits):
        super().__init__(0)
        self.digits = list(digits)

    def _digit(self):
        return self.digits.pop(0)


@given(n=st.integers(1, DIGIT) | st.sampled_from([1, 3, (1 << 31) + 1, DIGIT - 1, DIGIT]), data=st.data())
def test_stream_rejects_what_would_bias(n, data):
    """Each result has floor(2^32 / n) digits to it: where there is one more, the first is redrawn."""
    result, other = (data.draw(st.integers(0, n - 1)) for _ in range(2))
    first, behind = (-(-r * DIGIT // n) for r in (result, result + 1))
    last_of_other = -(-(other + 1) * DIGIT // n) - 1
    one_too_many = behind - first > DIGIT // n

    assert behind - first - one_too_many == DIGIT // n
    assert Digits([first, last_of_other]).randbelow(n) == (other if one_too_many else result)
    assert Digits([behind - 1]).randbelow(n) == result


@pytest.mark.parametrize("n", [DIGIT + 1, 3 << 40, (1 << 62) - 1, WORD, WORD + 1, 10**40])
def test_stream_wide(n):
    """A wide range reads whole digits, keeps the bits it needs, and redraws what is too large."""
    bits = (n - 1).bit_length()
    count = -(-bits // 32)

    def digits_of(number):
        number <<= 32 * count - bits
        return [number >> 32 * (count - 1 - i) & (DIGIT - 1) for i in range(count)]

    assert Digits(digits_of(n - 1)).randbelow(n) == n - 1
    if (1 << bits) > n:
        assert Digits(digits_of(n) + digits_of(5)).randbelow(n) == 5


def test_hash_of_an_event_is_pinned():
    """The stable hash has not changed: studies made with an earlier version repeat exactly."""
    assert event_key("ann", "page 1", 1000, 0) == 8902789902204571961
    assert event_key(1, 2, 3, 4) == 2063442556643766111
    assert event_key("ann", 5, -60, 0) == 11653837112715795966
    assert event_key("", "é", 0, 7) == 392501567127344726
    assert stable_code("ann") == 11592810607088479399
    assert stable_code(-1) == WORD - 1
    assert mix(1) == 6238072747940578789


def test_numbers_of_a_table_are_numbers():
    """An integer from a numpy column hashes as the same Python one, and a float is refused."""
    assert stable_code(np.int64(-1)) == stable_code(-1)
    assert event_key(np.int32(1), np.uint8(2), np.int64(3), np.int64(4)) == event_key(1, 2, 3, 4)
    with pytest.raises(TypeError):
        stable_code(1.5)


def test_seed_is_pinned():
    """Neither the way a seed is hashed nor the way numbers are made from words has changed."""
    stream = Seeded(7).stream("ann", "page 1", time=1000)

    assert (Seeded(7).offset, Seeded(7, 1).offset) == (6284506851401897788, 8830773363683970092)
    assert [stream.randbelow(n) for n in (6, 1000, DIGIT, 10**12, WORD, 3**50)] == [
        5,
        633,
        632316131,
        429735739328,
        11296499136946624150,
        461495584348023238311502,
    ]


def first(source, *event):
    """The first word of an event's stream."""
    return source.stream(*event).randbelow(WORD)


def test_every_part_of_an_event_counts():
    """Another seed, draw, actor, target, time or occurrence gives other numbers."""
    event = ("ann", "page 1", 1000, 0)
    others = [
        ("bob", "page 1", 1000, 0),
        ("ann", "page 2", 1000, 0),
        ("ann", "page 1", 1001, 0),
        (*event[:3], 1),
    ]
    words = [first(Seeded(7), *other) for other in [event, *others]]
    words += [first(Seeded(8), *event), first(Seeded(7, 1), *event)]
    words += [first(Seeded(7), "page 1", "ann", 1000, 0), first(Seeded(7), "ann", "page 1", 0, 1000)]

    assert len(set(words)) == len(words)


@given(order=st.permutations(range(12)))
def test_order_does_not_matter(order):
    """An event has its numbers whichever events were drawn before it."""
    source = Seeded(3)
    alone = [first(Seeded(3), i, i + 1, 60 * i) for i in range(12)]

    assert [first(source, i, i + 1, 60 * i) for i in order] == [alone[i] for i in order]


def test_mix_is_a_bijection_on_small_numbers():
    """Different numbers stay different, and bits beyond the word do not count."""
    assert len({mix(z) for z in range(10_000)}) == 10_000
    assert mix(5 + WORD) == mix(5)
