"""A note is there once, whatever was lost on the way."""

from fractions import Fraction

import pytest

from contracts.http_receiver import says
from contracts.review_world import AT, POST, REVIEW, ReviewWorld, answers
from tarry.keep.errors import Unreachable
from tarry.testing.outlets import (
    SOONEST,
    OutletKeeping,
    opened,
    release_of,
)


@pytest.fixture
def world(tmp_path):
    """A venue of one's own."""
    with opened(ReviewWorld, tmp_path / "world") as world:
        yield world


def test_a_lost_answer_is_found_at_the_next_try(world):
    """The note was taken and nobody heard of it: the next try looks, and posts nothing."""
    world.api.lost.add(POST)
    with pytest.raises(Unreachable, match="OpenReview"):
        world.outlet.deliver(release_of(world))
    world.api.lost.clear()
    world.outlet.deliver(release_of(world, attempt=2))

    assert len(world.api.notes) == len(world.api.asked(POST)) == 1


def test_a_note_that_was_taken_although_it_is_to_wait_is_found(world):
    """Whatever stands before OpenReview says 429 too late: the try counts, so its note is looked for."""
    keeping = OutletKeeping(world)
    world.api.clock_ms = lambda: keeping.clock.wall // 1000

    def take_it_and_say_wait(file):
        world.api._do(world.api.received[-1])
        file.write(says(429, "Said", body=b'{"message": "slow down"}'))

    world.api.instead[POST] = take_it_and_say_wait
    keeping.admit("ann", SOONEST)
    keeping.wait_until_due()
    assert keeping.releaser.release() == 0
    assert len(world.api.notes) == 1
    world.api.instead.clear()
    keeping.tick(500)

    assert keeping.releaser.release() == 1
    assert len(world.api.notes) == 1


def test_a_release_that_has_moved_on_is_still_found(world):
    """In one person's own store an outage moves a release past the note that it made."""
    world.api.clock_ms = lambda: AT * 1000
    world.outlet.deliver(release_of(world))
    world.outlet.deliver(release_of(world, at=Fraction(AT + 86_400), attempt=2))

    assert len(world.api.notes) == 1


def test_the_same_words_may_be_said_again(world):
    """At a first try, what stood there long before the release is somebody's earlier act."""
    world.api.clock_ms = lambda: (AT - 3600) * 1000
    world.outlet.deliver(release_of(world, at=Fraction(AT - 3600)))
    world.outlet.deliver(release_of(world))

    assert len(world.api.notes) == 2


def test_a_first_try_also_looks(world):
    """A store brought back from a backup knows of no try, and clocks differ by a little."""
    world.api.clock_ms = lambda: (AT - 60) * 1000
    world.outlet.deliver(release_of(world))
    world.outlet.deliver(release_of(world))

    assert len(world.api.notes) == 1


def test_a_note_that_was_taken_meanwhile_is_found_at_its_refusal(world):
    """A try whose answer was lost is obeyed late, and then one more of the kind is refused."""
    said = says(400, "Said", body=b'{"name": "MaxRepliesError", "message": "one too many"}')

    def obey_the_earlier_try(file):
        del world.api.instead[POST]
        world.outlet.deliver(release_of(world))
        file.write(said)

    world.api.instead[POST] = obey_the_earlier_try
    world.outlet.deliver(release_of(world, attempt=2))

    assert len(world.api.notes) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"options": {"invitation": REVIEW}},
        {"options": {"field": "title"}},
        {"options": {"replyto": "note000000"}},
        {"content": b"I do not agree."},
    ],
    ids=str,
)
def test_another_note_is_not_taken_for_it(world, change):
    """Another invitation, field, place or text makes another note."""
    world.outlet.deliver(release_of(world))
    options = {**world.options, **change.get("options", {})}
    world.outlet.deliver(release_of(world, attempt=2, **{**change, "options": options}))

    assert len(world.api.notes) == 2


def test_line_ends_and_blank_ends_are_the_servers_choice(world):
    """A server that trims, or writes other line ends, has it all the same; fields may be added."""
    world.outlet.deliver(release_of(world, content=b" one\r\ntwo\r\n"))
    world.api.notes[0]["content"] = {"comment": {"value": "one\ntwo"}, "title": {"value": "added"}}
    world.outlet.deliver(release_of(world, content=b" one\r\ntwo\r\n", attempt=2))

    assert len(world.api.notes) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_nothing_is_tried_twice_in_one_try(world, status):
    """The keeper writes down every try: a hidden one would leave no trace."""
    answers(POST, status)(world)
    with pytest.raises(Unreachable):
        world.outlet.deliver(release_of(world))

    assert len(world.api.asked(POST)) == 1
