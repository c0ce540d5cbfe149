"""The queue: what the appendix proves, exactly; and what its assumptions leave out."""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarry.core.entropy import Secure, Seeded
from tarry.core.errors import BadInput
from tarry.paper.finding import RunSettings
from tarry.paper.queue import (
    PAPERS,
    _backlog,
    _history_says,
    _one_person,
    _queued,
    _slotted,
    _worst,
    find,
    outputs,
    paper_queue,
    slot_releases,
)
from tarry.study.table import event_table

TINY = RunSettings(tiny=True)
MINUTE = 60_000_000


@pytest.fixture(scope="module")
def found():
    return find(TINY)


@pytest.mark.parametrize("batches", [(1,), (2,), (1, 2)])
def test_independent_batches_leave_no_trace(batches):
    """The appendix, proposition on privacy: one distribution, with and without batches, exactly."""
    assert outputs(batches, steps=2) == outputs((), steps=2)


def test_one_person_s_batch_is_seen():
    """Two comments of one reviewer in the first step: the first two posts are always that reviewer's."""
    seen = outputs((1,), _one_person)

    assert all(PAPERS[first] == PAPERS[second] for first, second, _ in seen)
    assert sum(p for o, p in outputs(()).items() if PAPERS[o[0]] == PAPERS[o[1]]) == Fraction(1, 2)


def test_the_longest_delay_is_the_number_of_batched_comments():
    """The appendix, proposition on delay, for several seeds."""
    for seed in range(5):
        assert all(row[0] == row[1] and row[2] == "yes" for row in _worst(seed, (0, 1, 2, 9, 40)).rows)


@given(st.lists(st.integers(0, 40), min_size=2, max_size=30), st.integers(0, 99))
def test_in_quiet_steps_the_backlog_never_shrinks(minutes, seed):
    """Each busy step posts one comment and no more, so what has piled up stays."""
    table = event_table(
        actor=list(range(len(minutes))), target=[0] * len(minutes), time=[m * MINUTE for m in minutes]
    )
    left, backlog = _queued(table, seed), _backlog(table)

    assert (np.diff(backlog) >= 0).all()
    assert (left >= 0).sum() == len(set(minutes))
    assert backlog[-1] == len(minutes) - len(set(minutes)) == (left < 0).sum()


def test_a_slot_queue_lets_a_batch_out_side_by_side():
    """Slot after slot, in order of admission."""
    table = event_table(actor=[1, 1, 1], target=[1, 2, 3], time=[MINUTE, MINUTE, MINUTE])

    assert sorted(_slotted(table).tolist()) == [0, 1, 2]


def test_the_finding_says_what_its_tables_hold(found):
    """Zero where the proof holds, more where it does not; and the first row of the traffic."""
    exact, traffic = found.tables["exact"], found.tables["traffic"]

    assert set(exact.column("independent members")) == {0.0}
    assert min(exact.column("one person's")) > 0.5
    assert "differ by exactly 0" in found.says[0]
    assert "the longest delay is the number" in found.says[0]
    assert f"{traffic.rows[0][4]:,} are never released" in found.says[2]
    assert traffic.rows[0][4] > 0
    assert traffic.rows[1][4] == 0


def test_each_history_has_a_sentence_of_its_own(tmp_path):
    """A given forum is told beside the made-up one."""
    rows = "".join(f"{i % 3},{i},{i // 2 * 90}\n" for i in range(40))
    (tmp_path / "qa_forum.csv").write_text("actor,target,time\n" + rows)
    told = find(RunSettings(tiny=True, data=tmp_path))
    traffic = told.tables["traffic"]

    assert traffic.title.startswith("Traffic with quiet steps")
    assert [name for name in ("made-up forum", "qa_forum") for s in told.says if f"({name})" in s] == [
        "made-up forum",
        "qa_forum",
    ]
    assert f"{traffic.rows[2][4]:,} are never released" in told.says[3]


def test_the_toy_is_called_one(found):
    """The figures of one person's batches depend on how many reviewers and papers there are."""
    assert "a toy: 2 reviewers, 6 papers" in found.says[1]


def test_without_moves_nothing_is_said_to_leave_side_by_side():
    """A share of nothing has no number."""
    paper, slots = ("forum", "Algorithm 4", 1.0, 2.0, 3, None), ("forum", "slot queue", 1.0, 2.0, 0, None)

    assert _history_says(paper, slots).endswith("Nobody moved within a step.")
    said = _history_says(paper, (*slots[:5], 0.5))
    assert said.endswith("none leave side by side in the paper's queue and 50% in the slot queue.")


def test_the_same_settings_give_the_same_tables(found):
    """Everything follows from the seed."""
    assert found.as_json() == find(TINY).as_json()
    assert found.as_json() != find(RunSettings(tiny=True, seed=1)).as_json()


# --- the two queues themselves ---------------------------------------------------------------------------

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


def posted_by_queue(batches, members=lambda kinds: kinds):
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
    assert posted_by_queue(batches) == posted_by_queue(())


@pytest.mark.parametrize("batches", [(1,), (2,), (1, 1)])
def test_a_batch_by_one_person_can_be_seen(batches):
    """When the members of a batch are one person's, as batches are, the outputs differ."""
    same_person = posted_by_queue(batches, members=lambda kinds: kinds[:1] * len(kinds))

    assert same_person != posted_by_queue(())


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
def test_the_longest_delay_of_any_stream_is_the_number_of_batched_comments(extra, seed):
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
    releases = slot_releases(arrivals, slot)
    moved, before = [], -slot
    for release in releases:
        backlog = release == before + slot  # the slot is busy anyway: the post may have come long before
        moved.append(data.draw(st.integers(0 if backlog else max(0, release - slot + 1), release)))
        before = release

    assert slot_releases(moved, slot) == releases


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

    assert slot_releases(arrivals, slot) == expected


def test_a_moved_arrival_that_frees_a_slot_is_seen():
    """The promise ends there: a post that comes a slot later in light traffic leaves a slot later."""
    assert (slot_releases([5], 10), slot_releases([15], 10)) == ([10], [20])


def test_members_of_a_batch_leave_in_neighbouring_slots():
    """There is no protection against adjacency."""
    assert slot_releases([5, 5, 5, 90], 10) == [10, 20, 30, 90]


@pytest.mark.parametrize("slot", [0, -5])
def test_a_slot_has_at_least_one_tick(slot):
    """A slot without length is refused."""
    with pytest.raises(BadInput, match=f"a slot must have at least 1 tick, not {slot}"):
        slot_releases([5], slot)
