"""The contract of an outlet: it tells the world a release and nothing else, and keeps its stated promise.

An outlet joins in a few lines, with a world in which everything it sends can be seen:

    class TestFeed(OutletContract):
        case = OutletCase(world=FeedWorld, undeliverable=(...), troubles={...})
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from contracts.keeping import as_long_as
from contracts.scripted_entropy import Script
from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.keep import candidates
from tarry.keep.closing import close_ticks
from tarry.keep.errors import Refused
from tarry.keep.gate import Gate
from tarry.keep.outlet import Outlet
from tarry.keep.posts import Post, Release
from tarry.keep.releaser import LEASE_S, Releaser
from tarry.testing import ManualClock, memory_vault

POLICY = Policy(epsilon="2", gap="20s", window="3s", law="uniform")
SOONEST = 23  # ticks: a draw this long serves both labels, so one is all there is
DEADLINE_S = 30


class World(Protocol):
    """A receiver of its own for one outlet, and something to send it."""

    outlet: Outlet
    options: dict[str, Any]
    content: bytes

    def __init__(self, folder: Path) -> None:
        """Begin, in an empty folder."""

    def sent(self) -> list[Any]:
        """Everything that was received: of an outlet that may deliver twice, one entry a delivery."""

    def close(self) -> None:
        """End."""


@dataclass(frozen=True, kw_only=True)
class OutletCase:
    """An outlet's world, what its check refuses, and how its world can break."""

    world: Callable[[Path], World]
    undeliverable: Sequence[Mapping[str, Any]] = ()  # changes of the good options
    troubles: Mapping[str, tuple[Callable[[World], object], type[Exception]]] = field(default_factory=dict)


class Keeping:
    """A gate and a releaser over one outlet, under a clock moved by hand: the real way out."""

    def __init__(self, world: World, *, personal: bool = False) -> None:
        self.world, self.clock = world, ManualClock()
        self.vault = memory_vault(POLICY, self.clock, personal=personal, out=world.outlet)
        self.releaser = Releaser(self.vault)

    def admit(self, actor: str, delay: int) -> None:
        """Hand a post in that draws this delay. Its random key is always the same one."""
        self.gate = Gate(self.vault, POLICY, Script([delay]))
        post = Post(
            actor=actor,
            target="a target",
            outlet="out",
            content=self.world.content,
            options=self.world.options,
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(candidates, "new_receipt", lambda: "always the same")
            self.receipt = self.gate.admit(post)

    def tick(self, ticks: int = 1) -> None:
        """Let ticks go by, and close each."""
        for _ in range(ticks):
            self.clock.sleep(1)
            self.close()

    def close(self) -> None:
        """Close what lies in the past."""
        with self.vault.store.transaction("closing") as transaction:
            close_ticks(transaction, self.vault.keys, self.clock)

    def wait_until_due(self) -> None:
        """Close tick by tick until the release has come; a keeper asks for due posts at each."""
        for _ in as_long_as(lambda: self.status.release_at is None or self.closed < self.status.latest):
            assert self.releaser.release() == 0
            self.tick()

    @property
    def status(self):
        """What became of the post."""
        return self.gate.status(self.receipt.secret)

    @property
    def closed(self) -> int:
        """The last closed tick."""
        with self.vault.store.transaction("working") as transaction:
            return transaction.one("snapshot")["closed"]


def everything_sent(world: World, *, actor: str, before: int, delay: int) -> tuple[int, list[Any]]:
    """A post arrives so many ticks after the start and is released: its tick, and all that was seen."""
    keeping = Keeping(world)
    keeping.tick(before)
    keeping.admit(actor, delay)
    keeping.wait_until_due()
    assert keeping.releaser.release() == 1, keeping.status.problem
    return keeping.status.latest, world.sent()


def wait_for_another_second() -> None:
    """A program that looks at the machine's clock, be it in whole seconds, must see another time."""
    now, end = int(time.time()), time.monotonic() + DEADLINE_S
    while int(time.time()) == now:
        assert time.monotonic() < end
        time.sleep(0.01)


@contextmanager
def opened(make: Callable[[Path], World], folder: Path) -> Iterator[World]:
    """A world in a folder of that name, empty at first; what an earlier world left is moved away."""
    if folder.exists():
        folder.rename(folder.with_name(f"{folder.name} before {time.monotonic_ns()}"))
    folder.mkdir(parents=True)
    world = make(folder)
    try:
        yield world
    finally:
        world.close()


def check_side_channel(make: Callable[[Path], World], folder: Path) -> None:
    """Two arrivals, by two people, with one release: everything that is sent is the same, byte for byte."""
    with opened(make, folder / "world") as world:
        early = everything_sent(world, actor="ann", before=0, delay=SOONEST + 11)
    wait_for_another_second()
    with opened(make, folder / "world") as world:
        late = everything_sent(world, actor="somebody else", before=10, delay=SOONEST + 1)

    assert early[1], "nothing was sent"
    assert early[0] == late[0], "the suite itself is wrong: these are two releases"
    assert early[1] == late[1], "two arrivals can be told apart"


def check_promise(world: World, *, personal: bool) -> None:
    """A delivery whose worker dies before it is marked ends as the outlet promises."""
    keeping = Keeping(world, personal=personal)
    keeping.admit("ann", SOONEST)
    keeping.wait_until_due()
    claim = keeping.releaser.claim("out")
    assert not any(outcome.problem for outcome in keeping.releaser.deliver(claim))
    once = world.sent()
    assert once

    keeping.clock.sleep(LEASE_S + 1)
    keeping.close()
    keeping.releaser.sweep()
    if world.outlet.delivery != "at most once":
        keeping.wait_until_due()
    left = keeping.releaser.release()

    state, sent = keeping.status.state, world.sent()
    if world.outlet.delivery == "at most once":
        assert (left, state, sent) == (0, "parked", once), "its promise is broken"
    elif world.outlet.delivery == "exactly once":
        assert (left, state, sent) == (1, "released", once), "its promise is broken"
    else:
        assert (left, state, len(sent)) == (1, "released", 2 * len(once)), "its promise is broken"
        # In one person's own store the release itself has moved on.
        assert personal or sent == once * 2


class OutletContract:
    """What every outlet's test class inherits; `case` is all it adds."""

    case: OutletCase

    @pytest.fixture
    def world(self, tmp_path):
        """A fresh world."""
        with opened(self.case.world, tmp_path / "world") as world:
            yield world

    def pytest_generate_tests(self, metafunc):
        """One test for each trouble."""
        if "trouble" in metafunc.fixturenames:
            metafunc.parametrize("trouble", self.case.troubles)

    def test_two_arrivals_look_the_same(self, tmp_path):
        """For two different arrivals with one release, everything that is sent is byte-identical."""
        check_side_channel(self.case.world, tmp_path)

    @pytest.mark.parametrize("personal", [False, True])
    def test_the_promise_is_kept_when_a_worker_dies(self, world, personal):
        """A delivery that was cut off before its mark happens as often as the outlet promises."""
        check_promise(world, personal=personal)

    def test_good_options_are_accepted(self, world):
        """What can be delivered passes the check."""
        world.outlet.check(world.options)

    def test_undeliverable_options_are_refused_at_once(self, world):
        """What could never be delivered is refused at admission, and would be parked at its release."""
        refused, parked = {}, {}
        for change in self.case.undeliverable:
            options = {**world.options, **change}
            refused[str(change)] = outcome_of(world.outlet.check, options)
            parked[str(change)] = outcome_of(world.outlet.deliver, release_of(world, options=options))

        assert refused == dict.fromkeys(refused, BadInput)
        assert parked == dict.fromkeys(parked, Refused)
        assert not world.sent()

    def test_a_trouble_is_told_as_what_it_is(self, world, trouble):
        """A failed delivery is refused (for a person) or unreachable (for a later try)."""
        make_trouble, expected = self.case.troubles[trouble]
        make_trouble(world)

        with pytest.raises(expected) as told:
            world.outlet.deliver(release_of(world))
        assert str(told.value)


def outcome_of(call: Callable[[Any], None], argument: Any) -> type[Exception] | None:
    """What a call raises, if it raises anything."""
    try:
        call(argument)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is compared
        return type(error)
    return None


def release_of(world: World, **changes: Any) -> Release:
    """What a releaser would hand to the outlet."""
    told = {"id": "5a" * 16, "target": "a target", "content": world.content, "options": world.options}
    return Release(**{**told, "at": 1_767_225_660 * POLICY.tick, **changes})
