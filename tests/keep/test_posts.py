"""The records that go in and out, and what they do not tell."""

from dataclasses import fields
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.keeping import BATCHED, UNBATCHED, World, lively_policy, stiff_policy
from tarry.core.policy import LABEL_RULES
from tarry.core.release import Draws, release_ticks
from tarry.keep.posts import Prospect, Receipt, Release, Status, Timing, prospect, prospect_of
from tarry.keep.rows import behind_parents, post_by_key
from tarry.keep.sharing import StoreSettings
from tarry.testing import memory_store

TICK = Fraction(60)


def status(earliest, latest):
    """A waiting post's."""
    return Status(state="waiting", earliest=earliest, latest=latest, tick=TICK)


@pytest.mark.parametrize(
    ("ticks", "release_at", "between"),
    [
        ((10, 10), 600, (600, 600)),
        ((10, 70), None, (600, 4200)),
        ((None, None), None, None),
    ],
)
def test_a_status_names_moments(ticks, release_at, between):
    """One tick is a moment, two are the moments it lies between, and none are none."""
    assert status(*ticks).release_at == release_at
    assert status(*ticks).between == between


def test_a_release_has_no_arrival_actor_or_number_of_ours():
    """Whatever leaves is a release, and all of its fields may be seen by anybody."""
    assert [field.name for field in fields(Release)] == [
        "id",
        "target",
        "content",
        "options",
        "at",
        "attempt",
    ]


def test_a_receipt_does_not_print_its_secret():
    """A receipt in a log gives nothing away."""
    assert "s3cret" not in repr(Receipt("s3cret", 7, status(1, 1)))


TICKS = st.integers(0, 10**6)
DRAWN = st.builds(Draws, TICKS, TICKS)
SETTINGS = StoreSettings.of(lively_policy())


@given(TICKS, TICKS, TICKS, st.none() | TICKS.map(lambda tick: tick + 10**6))
def test_an_open_label_leaves_two_ticks_and_a_known_one_leaves_one(arrival, lone, batched, deadline):
    """Under an open label a post has the ticks of both labels, under a known one that of its own."""
    draws = Draws(lone, batched)
    both = [
        release_ticks(arrival, draws, batched=label, hold=SETTINGS.hold_ticks, deadline=deadline)
        for label in (False, True)
    ]

    open_label = prospect_of(arrival, draws, None, SETTINGS, deadline)
    assert (open_label.earliest, open_label.latest) == (min(both), max(both))
    assert open_label.release == (both[0] if both[0] == both[1] else None)
    for label in (0, 1):
        assert prospect_of(arrival, draws, label, SETTINGS, deadline) == Prospect(both[label], both[label])


def test_a_row_is_read_as_far_as_it_goes():
    """A fixed release is told, missed ticks are added to an open one, and erasure leaves the release."""
    row = Timing(id=7, release=None, arrival=10, unbatched=0, batched=7, shift=5)

    assert prospect(row, SETTINGS) == Prospect(18, 25)
    assert prospect(row._replace(release=99), SETTINGS) == Prospect(99, 99)
    assert prospect(Timing(id=7, release=99), SETTINGS) == Prospect(99, 99)


@given(TICKS, TICKS, TICKS, TICKS)
def test_not_before_another(a, b, c, d):
    """Behind another post both ticks are the later ones, and what is not known stays unknown."""
    mine, other = Prospect(min(a, b), max(a, b)), Prospect(min(c, d), max(c, d))

    assert mine.after(other) == Prospect(max(mine.earliest, other.earliest), max(mine.latest, other.latest))
    assert mine.after(Prospect(None, None)) == mine
    assert Prospect(None, None).after(mine) == Prospect(None, None)


@pytest.mark.parametrize("rule", LABEL_RULES)
def test_a_chain_of_waiting_parents_counts_all_the_way_up(rule):
    """A post stands behind its parent's parent too, until one of them has left."""
    store = memory_store()
    world = World(lambda: store, stiff_policy(rule))
    world.admit(target="other")
    head = world.admit(target="p1")
    middle = world.admit(target="p1", depends_on=head.secret)
    world.clock.sleep(4)
    last = world.admit(target="p1", depends_on=middle.secret)

    assert last.status.latest >= middle.status.latest >= head.status.latest
    with store.transaction("working") as transaction:
        parent = post_by_key(transaction, middle.post)
        early = behind_parents(transaction, world.vault.settings, Prospect(0, 0), parent)
        alone = behind_parents(transaction, world.vault.settings, Prospect(0, 0), None)
    assert early.latest == head.status.latest
    assert alone == Prospect(0, 0)
    assert head.status.latest - head.status.earliest in (0, BATCHED[rule] - UNBATCHED[rule])


@given(TICKS, TICKS, TICKS, st.none() | TICKS.map(lambda tick: tick + 10**6), DRAWN)
def test_a_span_is_told_instead_of_the_draws_of_an_open_label(arrival, shortest, more, deadline, draws):
    """From the shortest delay to the longest, by the deadline; a known label is told as ever."""
    span = (shortest, shortest + more)
    ends = [arrival + SETTINGS.hold_ticks + delay for delay in span]
    ends = ends if deadline is None else [min(end, deadline) for end in ends]

    open_label = prospect_of(arrival, draws, None, SETTINGS, deadline, span=span)
    assert open_label == Prospect(*ends, in_between=ends[0] < ends[1])
    for label in (0, 1):
        alone = prospect_of(arrival, draws, label, SETTINGS, deadline)
        assert prospect_of(arrival, draws, label, SETTINGS, deadline, span=span) == alone


def test_a_row_that_must_not_tell_its_draws_does_not():
    """While it has neither label nor release; then these are told."""
    row = Timing(id=7, release=None, arrival=10, unbatched=0, batched=7, shift=5, earliest=18, latest=99)

    assert prospect(row, SETTINGS) == Prospect(18, 99, in_between=True)
    assert prospect(row._replace(label=1), SETTINGS) == Prospect(25, 25)
    assert prospect(row._replace(release=25), SETTINGS) == Prospect(25, 25)


def test_behind_a_post_that_leaves_in_between_others_do_too():
    """Unless they leave after it in any case."""
    above = Prospect(5, 9, in_between=True)

    assert Prospect(3, 7).after(above) == Prospect(5, 9, in_between=True)
    assert Prospect(9, 9).after(above) == Prospect(9, 9)
    assert above.after(Prospect(3, 3)) == above.later(0) == above
