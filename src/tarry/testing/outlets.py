"""The conformance suite of outlets: one tells the world a release and nothing else, and keeps its promise.

An outlet joins in three lines, with a world in which everything it sends can be seen:

    class TestMastodon(OutletSuite):
        case = OutletCase(world=MastodonWorld, undeliverable=[{"status": ""}], troubles={...})

It needs pytest.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

from tarry.core.errors import BadInput
from tarry.core.policy import Policy
from tarry.keep import admission
from tarry.keep.closing import close_ticks
from tarry.keep.errors import Refused
from tarry.keep.gate import Gate
from tarry.keep.outlet import Outlet
from tarry.keep.posts import Post, Release, Status
from tarry.keep.releaser import LEASE_S, Releaser
from tarry.testing import ManualClock, memory_vault

__all__ = [
    "POLICY",
    "SOONEST",
    "OutletCase",
    "OutletKeeping",
    "OutletSuite",
    "OutletWorld",
    "check_promise",
    "check_side_channel",
    "opened",
    "release_of",
]

#: The policy of the suite, in ticks of a second.
POLICY = Policy(epsilon="2", gap="20s", window="3s", law="uniform")
#: Ticks: a draw this long serves both labels, so one is all there is.
SOONEST = 23
_DEADLINE_S = 30
_MOST_TICKS = 10_000


class OutletWorld(Protocol):
    """A receiver for one outlet, and something to send it. It is made in an empty folder.

    >>> class Nothing:
    ...     def __init__(self, folder: Path) -> None:
    ...         from tarry.testing import ListOutlet
    ...
    ...         self.outlet, self.options, self.content = ListOutlet(), {}, b"I agree."
    ...
    ...     def sent(self):
    ...         return [release.content for release in self.outlet.delivered]
    ...
    ...     def close(self):
    ...         pass
    >>> world: OutletWorld = Nothing(Path())
    """

    outlet: Outlet
    options: dict[str, Any]  # of a post that can be delivered
    content: bytes

    def sent(self) -> list[Any]:
        """Everything that was received: of an outlet that may deliver twice, one entry a delivery."""

    def close(self) -> None:
        """End."""


@dataclass(frozen=True, kw_only=True)
class OutletCase:
    """An outlet's world, what its check refuses, and how its world can break.

    >>> OutletCase(world=lambda folder: None).undeliverable
    ()
    """

    world: Callable[[Path], OutletWorld]
    undeliverable: Sequence[Mapping[str, Any]] = ()  # changes of the good options
    troubles: Mapping[str, tuple[Callable[[Any], object], type[Exception]]] = field(default_factory=dict)


class _Answers:
    """An entropy that gives answers written down beforehand."""

    def __init__(self, answers: Iterable[int]) -> None:
        self._answers = iter(answers)

    def randbelow(self, n: int, /) -> int:
        answer = next(self._answers)
        assert 0 <= answer < n
        return answer


class OutletKeeping:
    """A gate and a releaser over one outlet, under a clock moved by hand: the real way out.

    >>> from tarry.testing import ListOutlet
    >>> from types import SimpleNamespace
    >>> world = SimpleNamespace(outlet=ListOutlet(), options={}, content=b"I agree.", close=lambda: None)
    >>> keeping = OutletKeeping(world)
    >>> keeping.admit("ann", SOONEST)
    >>> keeping.wait_until_due()
    >>> keeping.releaser.release()
    1
    """

    def __init__(self, world: OutletWorld, *, personal: bool = False) -> None:
        self.world, self.clock = world, ManualClock()
        self.vault = memory_vault(POLICY, self.clock, personal=personal, out=world.outlet)
        self.releaser = Releaser(self.vault)

    def admit(self, actor: str, delay: int) -> None:
        """Hand a post in that draws this delay. Its random key is always the same one."""
        self.gate = Gate(self.vault, POLICY, _Answers([delay]))
        post = Post(
            actor=actor,
            target="a target",
            outlet="out",
            content=self.world.content,
            options=self.world.options,
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(admission, "new_receipt", lambda: "always the same")
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
        for _ in range(_MOST_TICKS):
            if self.status.release_at is not None and self.closed >= (self.status.latest or 0):
                return
            assert self.releaser.release() == 0
            self.tick()
        raise AssertionError(f"it is not due after {_MOST_TICKS} ticks")

    @property
    def status(self) -> Status:
        """What became of the post."""
        return self.gate.status(self.receipt.secret)

    @property
    def closed(self) -> int:
        """The last closed tick."""
        with self.vault.store.transaction("working") as transaction:
            row = transaction.one("snapshot")
            assert row is not None
            return int(row["closed"])


def _everything_sent(world: OutletWorld, *, actor: str, before: int, delay: int) -> tuple[Any, list[Any]]:
    """A post arrives so many ticks after the start and is released: its tick, and all that was seen."""
    keeping = OutletKeeping(world)
    keeping.tick(before)
    keeping.admit(actor, delay)
    keeping.wait_until_due()
    assert keeping.releaser.release() == 1, keeping.status.problem
    return keeping.status.latest, world.sent()


def _wait_for_another_second() -> None:
    """A program that looks at the machine's clock, be it in whole seconds, must see another time."""
    now, end = int(time.time()), time.monotonic() + _DEADLINE_S
    while int(time.time()) == now:
        assert time.monotonic() < end
        time.sleep(0.01)


@contextmanager
def opened(make: Callable[[Path], OutletWorld], folder: Path) -> Iterator[OutletWorld]:
    """A world in a folder of that name, empty at first; what an earlier world left is moved away.

    >>> from tempfile import mkdtemp
    >>> from types import SimpleNamespace
    >>> with opened(lambda folder: SimpleNamespace(close=lambda: None), Path(mkdtemp()) / "world"):
    ...     print("here")
    here
    """
    if folder.exists():
        folder.rename(folder.with_name(f"{folder.name} before {time.monotonic_ns()}"))
    folder.mkdir(parents=True)
    world = make(folder)
    try:
        yield world
    finally:
        world.close()


def check_side_channel(make: Callable[[Path], OutletWorld], folder: Path) -> None:
    """Two arrivals, by two people, with one release: everything that is sent is the same, byte for byte.

    >>> from tempfile import mkdtemp
    >>> from types import SimpleNamespace
    >>> from tarry.testing import ListOutlet
    >>> def make(folder):
    ...     outlet = ListOutlet()
    ...     world = SimpleNamespace(outlet=outlet, options={}, content=b"I agree.", close=lambda: None)
    ...     world.sent = lambda: [time.time_ns() for _ in outlet.delivered]
    ...     return world
    >>> check_side_channel(make, Path(mkdtemp()))
    Traceback (most recent call last):
    AssertionError: two arrivals can be told apart...
    """
    with opened(make, folder / "world") as world:
        early = _everything_sent(world, actor="ann", before=0, delay=SOONEST + 11)
    _wait_for_another_second()
    with opened(make, folder / "world") as world:
        late = _everything_sent(world, actor="somebody else", before=10, delay=SOONEST + 1)

    assert early[1], "nothing was sent"
    assert early[0] == late[0], "the suite itself is wrong: these are two releases"
    assert early[1] == late[1], "two arrivals can be told apart"


def check_promise(world: OutletWorld, *, personal: bool) -> None:
    """A delivery whose worker dies before it is marked ends as the outlet promises.

    >>> from types import SimpleNamespace
    >>> from tarry.testing import ListOutlet
    >>> outlet = ListOutlet(delivery="exactly once")
    >>> world = SimpleNamespace(outlet=outlet, options={}, content=b"I agree.", close=lambda: None)
    >>> world.sent = lambda: [release.content for release in outlet.delivered]
    >>> check_promise(world, personal=False)
    Traceback (most recent call last):
    AssertionError: its promise is broken...
    """
    keeping = OutletKeeping(world, personal=personal)
    keeping.admit("ann", SOONEST)
    keeping.wait_until_due()
    if world.outlet.in_store:  # it leaves and is marked at once: no worker dies in between
        assert (keeping.releaser.release(), keeping.status.state) == (1, "released"), (
            "its promise is broken"
        )
        return
    claim = keeping.releaser.claim("out")
    assert claim is not None
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


class OutletSuite:
    """What the test class of an outlet inherits; `case` is all it adds.

    >>> class TestMine(OutletSuite):
    ...     case = OutletCase(world=lambda folder: None)
    """

    case: OutletCase

    @pytest.fixture
    def world(self, tmp_path: Path) -> Iterator[OutletWorld]:
        """A fresh world."""
        with opened(self.case.world, tmp_path / "world") as world:
            yield world

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One test for each trouble."""
        if "trouble" in metafunc.fixturenames:
            metafunc.parametrize("trouble", self.case.troubles)

    def test_two_arrivals_look_the_same(self, tmp_path: Path) -> None:
        """For two different arrivals with one release, everything that is sent is byte-identical."""
        check_side_channel(self.case.world, tmp_path)

    @pytest.mark.parametrize("personal", [False, True])
    def test_the_promise_is_kept_when_a_worker_dies(self, world: OutletWorld, *, personal: bool) -> None:
        """A delivery that was cut off before its mark happens as often as the outlet promises."""
        check_promise(world, personal=personal)

    def test_good_options_are_accepted(self, world: OutletWorld) -> None:
        """What can be delivered passes the check."""
        world.outlet.check(world.options)
        world.outlet.check_content(world.options, world.content)

    def test_undeliverable_options_are_refused_at_once(self, world: OutletWorld) -> None:
        """What could never be delivered is refused at admission, and would be parked at its release."""
        refused, parked = {}, {}
        for change in self.case.undeliverable:
            options = {**world.options, **change}
            refused[str(change)] = _raised_by(world.outlet.check, options)
            parked[str(change)] = _raised_by(world.outlet.deliver, release_of(world, options=options))

        assert refused == dict.fromkeys(refused, BadInput)
        assert parked == dict.fromkeys(parked, Refused)
        assert not world.sent()

    def test_a_trouble_is_raised_as_what_it_is(self, world: OutletWorld, trouble: str) -> None:
        """A failed delivery is refused (for a person) or unreachable (for a later try)."""
        make_trouble, expected = self.case.troubles[trouble]
        make_trouble(world)

        with pytest.raises(expected) as caught:
            world.outlet.deliver(release_of(world))
        assert str(caught.value)


def _raised_by(call: Callable[[Any], None], argument: Any) -> type[Exception] | None:
    try:
        call(argument)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is compared
        return type(error)
    return None


def release_of(world: OutletWorld, **changes: Any) -> Release:
    """What a releaser would hand to the outlet.

    >>> from types import SimpleNamespace
    >>> release_of(SimpleNamespace(options={}, content=b"I agree."), attempt=2).attempt
    2
    """
    fields = {"id": "5a" * 16, "target": "a target", "content": world.content, "options": world.options}
    return Release(**{**fields, "at": 1_767_225_660 * POLICY.tick, **changes})
