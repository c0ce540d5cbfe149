"""Queues: what Algorithm 4 keeps under its assumptions, where it fails, and the slot queue's promise."""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.entropy import Secure, Seeded
from tarry.core.errors import BadInput
from tarry.core.queue import SlotQueue, paper_queue

KINDS = {"x": Fraction(1, 3), "y": Fraction(2, 3)}  # what a comment is, and how often: drawn independently
STEPS = 3
BATCHES = [(1,), (2,), (3,), (1, 1), (1, 3), (2, 2), (1, 2, 3)]


class _Branch(Exception):
    """A draw that has not been decided yet."""


class Script:
    """An entropy that follows decided draws and stops at the first undecided one."""

    def __init__(self, decided):
        self.decided = list(decided)
        self.used = 0

    def randbelow(self, n):
        if self.used == len(self.decided):
            raise _Branch(n)
        self.used += 1
        return self.decided[self.used - 1]


def every_run(arrivals):
    """Each result of the queue over all its draws, with its exact chance."""
    chances = Counter()
    pending = [((), Fraction(1))]
    while pending:
        decided, chance = pending.pop()
        try:
            chances[tuple(paper_queue(arrivals, Script(decided)))] += chance
        except _Branch as branch:
            n = branch.args[0]
            pending += [((*decided, value), chance / n) for value in range(n)]
    return chances


def outputs(batches, members=lambda kinds: kinds):
    """The distribution of what is posted when one comment arrives a step, and one more at each batch time.

    `members` may change the kinds of a batch, which are otherwise drawn independently.
    """
    sizes = [1 + batches.count(step) for step in range(1, STEPS + 1)]
    chances = Counter()
    for drawn in product(KINDS, repeat=sum(sizes)):
        chance, left, arrivals = Fraction(1), list(drawn), []
        for kind in drawn:
            chance *= KINDS[kind]
        for size in sizes:
            step, left = left[:size], left[size:]
            arrivals.append(members(step) if size > 1 else step)
        for posted, part in every_run(arrivals).items():
            chances[posted] += chance * part
    return chances


@pytest.mark.parametrize("batches", BATCHES)
def test_independent_batches_cannot_be_seen(batches):
    """Under the paper's assumptions outputs with and without batches have one distribution, exactly."""
    assert outputs(batches) == outputs(())


@pytest.mark.parametrize("batches", [(1,), (2,), (1, 1)])
def test_a_batch_by_one_person_can_be_seen(batches):
    """When the members of a batch are one person's, as batches are, the outputs differ."""
    same_person = outputs(batches, members=lambda kinds: kinds[:1] * len(kinds))

    assert same_person != outputs(())


def test_a_batch_by_one_person_leaves_side_by_side():
    """Members of a batch are posted next to each other, always, whatever waited before them."""
    for posted in every_run([["a"], ["b1", "b2", "b3"], ["c"], ["d1", "d2"], ["e"], ["f"], ["g"], ["h"]]):
        places = {comment: place for place, comment in enumerate(posted)}
        threes = sorted(places[name] for name in ("b1", "b2", "b3"))
        twos = sorted(places[name] for name in ("d1", "d2"))

        assert threes == [threes[0], threes[0] + 1, threes[0] + 2]
        assert twos == [twos[0], twos[0] + 1]


def test_the_order_inside_a_batch_is_uniform():
    """Each order of a batch is equally likely."""
    runs = every_run([["a", "b", "c"], ["d"], ["e"]])

    assert runs == {order: Fraction(1, 6) for order in permutations("abc")}


STREAMS = st.lists(st.integers(0, 3), min_size=1, max_size=12)


def numbered(sizes):
    """So many comments a step, each with a name of its own: (step, number)."""
    return [[(step, i) for i in range(size)] for step, size in enumerate(sizes)]


@given(STREAMS, st.integers(0, 1000))
def test_comments_of_earlier_steps_leave_first(sizes, seed):
    """The queue keeps the order of steps, posts one comment in each that has an arrival, and none twice."""
    posted = paper_queue(numbered(sizes), Seeded(seed).stream(0, 0, 0))
    comments = [comment for comment in posted if comment is not None]

    assert [comment is None for comment in posted] == [size == 0 for size in sizes]
    assert [step for step, _ in comments] == sorted(step for step, _ in comments)
    assert len(set(comments)) == len(comments)


@given(STREAMS, st.integers(0, 1000))
def test_the_longest_delay_is_the_number_of_batched_comments(extra, seed):
    """With an arrival in every step, nobody waits longer than there are extra comments, and the last do."""
    total = sum(extra)
    sizes = [1 + more for more in extra] + [1] * (total + 1)
    posted = paper_queue(numbered(sizes), Seeded(seed).stream(0, 0, 0))
    delays = [at - step for at, (step, _) in enumerate(posted)]
    last = [delay for delay, (step, _) in zip(delays, posted, strict=True) if step >= len(extra)]

    assert max(delays) == total
    assert set(last) == {total}


def test_the_backlog_never_shrinks():
    """Once a batch has come, every later comment waits, however light the traffic."""
    posted = paper_queue([["a", "b", "c"], [], ["d"], [], [], ["e"]], Secure())

    assert {posted[0], posted[2], posted[5]} == {"a", "b", "c"}
    assert [posted[i] for i in (1, 3, 4)] == [None] * 3


def test_nothing_arrives_nothing_leaves():
    """An empty stream posts nothing."""
    assert paper_queue([], Secure()) == []
    assert paper_queue([[], []], Secure()) == [None, None]


ARRIVALS = st.lists(st.integers(0, 60), max_size=15).map(sorted)
SLOTS = st.integers(1, 9)


@given(ARRIVALS, SLOTS, st.data())
def test_the_same_order_and_the_same_busy_slots_give_the_same_outputs(arrivals, slot, data):
    """Wherever an arrival moves without freeing or taking a slot, nobody sees a difference."""
    releases = SlotQueue(slot).releases(arrivals)
    moved, before = [], -slot
    for release in releases:
        backlog = release == before + slot  # the slot is busy anyway: the post may have come long before
        moved.append(data.draw(st.integers(0 if backlog else max(0, release - slot + 1), release)))
        before = release

    assert SlotQueue(slot).releases(moved) == releases


@given(ARRIVALS, SLOTS)
def test_slots_are_filled_in_order_and_without_waste(arrivals, slot):
    """Each post leaves in the first slot after its arrival that no earlier post has taken."""
    taken = set()
    expected = []
    for arrival in arrivals:
        release = next(
            s for s in range(0, 10_000, slot) if s >= arrival and all(s > other for other in taken)
        )
        taken.add(release)
        expected.append(release)

    assert SlotQueue(slot).releases(arrivals) == expected


def test_a_moved_arrival_that_frees_a_slot_is_seen():
    """The promise ends there: a post that comes a slot later in light traffic leaves a slot later."""
    queue = SlotQueue(10)

    assert (queue.releases([5]), queue.releases([15])) == ([10], [20])


def test_members_of_a_batch_leave_in_neighbouring_slots():
    """There is no protection against adjacency."""
    assert SlotQueue(10).releases([5, 5, 5, 90]) == [10, 20, 30, 90]


@pytest.mark.parametrize("slot", [0, -5])
def test_a_slot_has_at_least_one_tick(slot):
    """A slot without length is refused."""
    with pytest.raises(BadInput, match=f"a slot has at least one tick, found {slot}"):
        SlotQueue(slot)
