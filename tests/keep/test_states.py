"""The states of a post: one picture, which is what the statements do."""

import re
from pathlib import Path

import pytest

from contracts.keeping import ARROWS, WINDOW, World
from contracts.recording_contract import Recording
from contracts.releaser_contract import due
from tarry.keep import posts
from tarry.keep.errors import Refused, Unreachable
from tarry.keep.posts import GROUPS, TRANSITIONS, State
from tarry.keep.releaser import LEASE_S
from tarry.keep.rows import queries
from tarry.testing import ListOutlet, memory_store

AWAY, UNANSWERED = Unreachable("not now"), Unreachable("it hung up", sent=True)
REFUSED = Refused("no such page")
ROOMS = ("tarry.keep", "tarry.gateway")
QUOTED = re.compile(r"state (?:=|<>|IN) \(?((?:'\w+'(?:, )?)+)|(?:THEN|ELSE|WHEN) '(\w+)'")


def in_memory():
    store = memory_store()
    return lambda: store


def test_every_state_has_its_arrows_and_can_be_reached():
    """A new post waits, and from there every state is reached; what has left stays so."""
    reached = {State.WAITING}
    while more := {new for old in reached for new in TRANSITIONS[old]} - reached:
        reached |= more

    assert reached == set(TRANSITIONS) == set(State)
    assert TRANSITIONS[State.RELEASED] == frozenset()


def test_no_doubt_ends_but_by_a_delivery_or_a_person():
    """From a state in doubt there is no way to one without, unless it left or somebody knows."""
    ends = {(old, new) for old, new in ARROWS if old.in_doubt and not new.in_doubt}

    assert ends == {
        (State.DELIVERING_IN_DOUBT, State.RELEASED),
        (State.IN_DOUBT, State.RELEASED),  # by the store itself, where a second time changes nothing
        (State.PARKED_IN_DOUBT, State.WITHDRAWN),
        (State.PARKED_IN_DOUBT, State.RELEASED),  # a worker that was merely slow tells how its only try
        (State.PARKED_IN_DOUBT, State.PARKED),  # has ended
    }


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_statements_name_states_and_no_others(dialect):
    """A state that is mistyped in a statement would never be met."""
    named = {
        word
        for text in queries(dialect, ROOMS).values()
        for match in QUOTED.finditer(text)
        for word in re.findall(r"\w+", match[1] or match[2])
    }

    assert named == set(State)


def test_groups_are_what_they_are_called():
    """Every state is on its way, parked or done; and what is on its way is delivered, or ready to be."""
    assert {*GROUPS["ready"], *GROUPS["delivering"]} == set(GROUPS["on_its_way"])
    assert {*GROUPS["on_its_way"], *GROUPS["parked"]} == set(GROUPS["unfinished"])
    assert {*GROUPS["unfinished"], *GROUPS["done"]} == set(State)
    assert all(state.is_on_its_way == (state in GROUPS["on_its_way"]) for state in State)


def test_the_picture_names_every_state():
    """What the module says is what it has."""
    text = Path(posts.__file__).read_text(encoding="utf-8").split('"""')[1]

    assert {state.name for state in State} <= set(re.findall(r"[A-Z_]{4,}", text))


def test_statements_go_every_way_of_the_picture(monkeypatch):
    """Seen in a store to which everything happens that can; that they go no other, every world checks."""
    shared, own = World(in_memory()), World(in_memory(), personal=True)
    monkeypatch.setattr("contracts.keeping.SEEN_CHANGES", seen := set())

    due(shared)  # delivered at once
    attempt(shared, "list")

    (post,) = due(shared)  # tried in vain, in doubt, parked, put back, and delivered
    for trouble in (AWAY, UNANSWERED, AWAY, REFUSED):
        attempt(shared, "list", trouble)
    shared.gate.unpark_post(post.post)
    attempt(shared, "list")

    (post,) = due(shared)  # refused, put back, refused, and taken back
    attempt(shared, "list", REFUSED)
    shared.gate.unpark_post(post.post)
    attempt(shared, "list", REFUSED)
    shared.gate.withdraw(post.secret)

    (post,) = due(shared, outlet="once")  # not answered, and taken back
    attempt(shared, "once", UNANSWERED)
    shared.gate.withdraw(post.secret)

    for trouble in (None, REFUSED):  # cut off, and then its worker tells after all
        due(shared, outlet="once")
        shared.outlets["once"].broken = trouble
        claim = shared.releaser.claim("once")
        shared.clock.sleep(LEASE_S)
        shared.releaser.sweep()
        shared.releaser.mark(claim, shared.releaser.deliver(claim))

    post = shared.admit()  # an operator takes it back, and its author fills its place
    shared.gate.withdraw_post(post.post)
    shared.gate.replace(post.secret, b"something else")

    (post,) = due(shared)  # the store is brought back while it waits, and while it is in doubt
    for _ in range(2):
        shared.tell("park_overdue", tick=shared.closed, problem="it may have left")
        shared.gate.unpark_post(post.post)

    for trouble in (None, UNANSWERED):  # it leaves by the store itself, also after a try by another way
        due(shared)
        if trouble:
            attempt(shared, "list", trouble)
            shared.clock.sleep(300)
            shared.releaser.sweep()
        shared.outlets["list"] = Recording()
        shared.releaser.publish("list")
        shared.outlets["list"] = ListOutlet()

    parent = own.admit(outlet="once")  # what depends on a parked post is parked with it
    own.admit(outlet="once", depends_on=parent.secret)
    own.outlets["once"].broken = REFUSED
    own.pass_ticks(WINDOW + 1)
    for world in (shared, own):
        world.leave()

    assert seen == ARROWS


def attempt(world, outlet, trouble=None):
    """The time to try again has come, and a worker does."""
    world.clock.sleep(300)
    world.releaser.sweep()
    world.outlets[outlet].broken = trouble
    claim = world.releaser.claim(outlet)
    world.releaser.mark(claim, world.releaser.deliver(claim))
