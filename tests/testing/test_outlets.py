"""The contract of outlets is able to fail: outlets that leak, or break their word, do not pass it."""

import json
import os
import time

import pytest

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused, Unreachable
from tarry.testing import ListOutlet
from tarry.testing.outlets import OutletCase, OutletSuite, check_promise, check_side_channel, opened


class ListWorld:
    """A world that remembers what was delivered, and what the outlet has put on top of it."""

    options = {}  # noqa: RUF012 - nobody changes it
    content = b"I agree."

    def __init__(self, folder):
        self.outlet = Told()

    def sent(self):
        """One line for each delivery."""
        return list(self.outlet.lines)

    def close(self):
        """Nothing is left open."""


class Told(ListOutlet):
    """Writes down a release, and `more`."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def more(self, release):
        """An honest outlet has nothing to add."""
        return ""

    def check(self, options):
        """There are none."""
        if options:
            raise BadInput("a post must have no options, and this one has some")

    def deliver(self, release):
        """Write it down."""
        if self.broken:
            raise self.broken
        if release.options:
            raise Refused("there are no options")
        told = [release.id, release.target, str(release.at), release.content.decode(), self.more(release)]
        self.lines.append(json.dumps(told))


class TellsNow(Told):
    """Puts the machine's time on it."""

    def more(self, release):
        return time.time()


class TellsTheSecond(Told):
    """Puts the machine's time on it, in whole seconds."""

    def more(self, release):
        return int(time.time())


class TellsRandom(Told):
    """Has a random part that is not the release's."""

    def more(self, release):
        return os.urandom(4).hex()


class TellsWaiting(Told):
    """Counts how often it was asked for its promise since the admission: that is how long a post waited."""

    asked = 0

    def check(self, options):
        self.asked = 0

    @property
    def delivery(self):
        self.asked += 1
        return "at least once"

    @delivery.setter
    def delivery(self, value):
        """Said at birth, and not listened to."""

    def more(self, release):
        return self.asked


class SendsTwice(Told):
    """Claims that a second try changes nothing, and sends twice."""

    def __init__(self):
        super().__init__()
        self.delivery = "exactly once"


class GivesUp(Told):
    """Claims to deliver at least once, and sends nothing at a second try."""

    def deliver(self, release):
        if release.attempt == 1:
            super().deliver(release)


def world_of(outlet):
    """A world with another outlet."""

    def make(folder):
        world = ListWorld(folder)
        world.outlet = outlet()
        return world

    return make


class TestList(OutletSuite):
    """An outlet that writes down the release alone meets the contract."""

    case = OutletCase(
        world=ListWorld,
        undeliverable=[{"surprise": 1}],
        troubles={
            "is broken": (lambda world: setattr(world.outlet, "broken", Unreachable("away")), Unreachable)
        },
    )


@pytest.mark.parametrize("outlet", [TellsNow, TellsTheSecond, TellsRandom, TellsWaiting])
def test_a_leaky_outlet_is_rejected(outlet, tmp_path):
    """An outlet that tells the time, a random number of its own or how long a post waited is caught."""
    with pytest.raises(AssertionError, match="two arrivals can be told apart"):
        check_side_channel(world_of(outlet), tmp_path)


@pytest.mark.parametrize("outlet", [SendsTwice, GivesUp])
def test_a_broken_promise_is_rejected(outlet, tmp_path):
    """An outlet that delivers more or less often than it promises does not pass."""
    with (
        opened(world_of(outlet), tmp_path / "world") as world,
        pytest.raises(AssertionError, match="its promise is broken"),
    ):
        check_promise(world, personal=False)


class InStore(Told):
    """Publishes in the store alone."""

    def record(self, transaction, releases):
        """Write them down as they are marked."""
        for release in releases:
            Told.deliver(self, release)


@pytest.mark.parametrize("personal", [False, True])
def test_an_outlet_that_publishes_in_the_store_is_never_cut_off(tmp_path, personal):
    """There is no moment between its delivery and its mark."""
    world = ListWorld(tmp_path)
    world.outlet = InStore()
    check_promise(world, personal=personal)

    assert len(world.sent()) == 1
