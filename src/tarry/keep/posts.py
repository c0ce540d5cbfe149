"""The records that go in and out: a post, its receipt, its status, and the release that leaves.

`Release` is the only one that the world sees. It has no arrival, no actor and no number of ours. A status
tells when a post will leave, as far as that is known: at one tick, or at one of two of which the label
chooses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from tarry.core.release import Draws, after_parents, release_ticks
from tarry.keep.rows import PostRow, Timing, post_by_key
from tarry.keep.states import PublicState, State
from tarry.keep.store import StoreSettings, Transaction

__all__ = [
    "Post",
    "Prospect",
    "Receipt",
    "Release",
    "Status",
    "behind_parents",
    "prospect",
    "prospect_of",
    "status_of",
]

#: What its author is told of a post in doubt while it waits.
IN_DOUBT = "its delivery has begun, and how it ended is not known yet: it may have left, a later try shows"


@dataclass(frozen=True, kw_only=True)
class Post:
    """What somebody hands in.

    >>> Post(actor="ann", target="paper 3", outlet="feed", content=b"I agree.").more_to_come
    False
    """

    actor: str  # the hidden doer
    target: str  # the visible thing acted on
    outlet: str  # the name of who delivers it
    content: bytes
    options: Mapping[str, Any] = field(default_factory=dict)  # for the outlet, as JSON knows them
    track: str | None = None  # a public group of targets that may set the gap
    more_to_come: bool = False  # "I will post more within the window" (labels declared)
    depends_on: str | int | None = (
        None  # receipt, or key, of one's own post on the same target that goes first
    )
    space: str = ""  # where the target lies: the same name elsewhere is another target


class Status(NamedTuple):
    """What its author may know of a post.

    >>> Status(state="waiting", earliest=10, latest=70, tick=Fraction(60)).between
    (Fraction(600, 1), Fraction(4200, 1))
    """

    state: PublicState
    earliest: int | None  # ticks; the release lies at one of the two
    latest: int | None
    tick: Fraction  # seconds
    problem: str | None = None  # why it is parked, or why the last try failed
    in_doubt: bool = False  # whether it may have left although it waits or is parked

    @property
    def release_at(self) -> Fraction | None:
        """The moment of release, once it is known, in seconds since 1970."""
        return None if self.latest is None or self.earliest != self.latest else self.latest * self.tick

    @property
    def between(self) -> tuple[Fraction, Fraction] | None:
        """The two moments of which the release is one; the same one twice once it is known."""
        if self.earliest is None or self.latest is None:
            return None
        return self.earliest * self.tick, self.latest * self.tick


@dataclass(frozen=True)
class Receipt:
    """The answer to an admission. Whoever holds the secret may ask, replace and withdraw.

    An announced release is a proof of authorship: it is for the author alone.

    >>> status = Status(state="waiting", earliest=1, latest=1, tick=Fraction(1))
    >>> Receipt("s3cret", 7, status).status.release_at
    Fraction(1, 1)
    """

    secret: str = field(repr=False)
    post: int  # the random key of the post
    status: Status


@dataclass(frozen=True, kw_only=True)
class Release:
    """What leaves.

    >>> Release(id="ab", target="paper 3", content=b"I agree.", at=Fraction(60)).attempt
    1
    """

    id: str  # random, and the same at every try
    target: str
    content: bytes
    options: Mapping[str, Any] = field(default_factory=dict)
    at: Fraction  # the moment of its tick, in seconds since 1970
    attempt: int = 1  # above 1 it may have been delivered before


class Prospect(NamedTuple):
    """The ticks at which a post may leave; None where that is not known any more.

    >>> Prospect(3, 3).release, Prospect(3, 9).release
    (3, None)
    """

    earliest: int | None
    latest: int | None

    @property
    def release(self) -> int | None:
        """The release tick, if the label does not matter to it."""
        return self.earliest if self.earliest == self.latest else None

    def after(self, other: "Prospect") -> "Prospect":
        """Not before the other one.

        >>> Prospect(3, 9).after(Prospect(5, 5))
        Prospect(earliest=5, latest=9)
        """
        if self.earliest is None or self.latest is None or other.earliest is None or other.latest is None:
            return self
        return Prospect(
            after_parents(self.earliest, other.earliest), after_parents(self.latest, other.latest)
        )

    def later(self, ticks: int) -> "Prospect":
        """Moved, where it is known.

        >>> Prospect(3, 9).later(5)
        Prospect(earliest=8, latest=14)
        """
        if self.earliest is None or self.latest is None:
            return self
        return Prospect(self.earliest + ticks, self.latest + ticks)

    def status(self, state: State, tick: Fraction, problem: str | None = None) -> Status:
        """What the author of a post in this state is told."""
        why = IN_DOUBT if state.in_doubt and state.is_on_its_way else problem
        return Status(state.public, self.earliest, self.latest, tick, why, state.in_doubt)


def prospect(timing: Timing, settings: StoreSettings) -> Prospect:
    """What the store knows of a post's release.

    >>> from tarry.core.policy import Policy
    >>> settings = StoreSettings.of(Policy(epsilon="1", gap="11s", window="5s"))
    >>> prospect(Timing(id=7, release=None, arrival=10, unbatched=0, batched=7), settings)
    Prospect(earliest=15, latest=22)
    """
    if timing.release is not None or timing.arrival is None:
        return Prospect(timing.release, timing.release)
    draws = Draws(timing.unbatched, timing.batched)
    return prospect_of(timing.arrival, draws, timing.label, settings, timing.deadline).later(timing.shift)


def prospect_of(
    arrival: int, draws: Draws[int], label: int | None, settings: StoreSettings, deadline: int | None
) -> Prospect:
    """What an arrival and its draws tell of the release.

    >>> from tarry.core.policy import Policy
    >>> settings = StoreSettings.of(Policy(epsilon="1", gap="11s", window="5s"))
    >>> prospect_of(10, Draws(0, 7), None, settings, None), prospect_of(10, Draws(0, 7), 1, settings, None)
    (Prospect(earliest=15, latest=22), Prospect(earliest=22, latest=22))
    """
    hold = settings.hold_ticks
    if label is not None:
        one = release_ticks(arrival, draws, batched=label, hold=hold, deadline=deadline)
        return Prospect(one, one)
    lone = release_ticks(arrival, draws, batched=0, hold=hold, deadline=deadline)
    if draws.settled:
        return Prospect(lone, lone)
    batched = release_ticks(arrival, draws, batched=1, hold=hold, deadline=deadline)
    return Prospect(min(lone, batched), max(lone, batched))


def status_of(transaction: Transaction, settings: StoreSettings, post: PostRow) -> Status:
    """What the author of a post may know of it.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_store
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> post = PostRow(id=1, state=State.RELEASED, target="", outlet="list", timing=Timing(1, 7))
    >>> with memory_store(policy).transaction("reading") as transaction:
    ...     status_of(transaction, StoreSettings.of(policy), post).release_at
    Fraction(7, 1)
    """
    ticks = prospect(post.timing, settings)
    if post.state.is_on_its_way and post.parent is not None:
        ticks = behind_parents(transaction, settings, ticks, post_by_key(transaction, post.parent))
    return ticks.status(post.state, settings.tick, post.problem)


def behind_parents(
    transaction: Transaction, settings: StoreSettings, ticks: Prospect, parent: PostRow | None
) -> Prospect:
    """A post leaves no earlier than the waiting post it depends on, all the way up.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_store
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> with memory_store(policy).transaction("working") as transaction:
    ...     behind_parents(transaction, StoreSettings.of(policy), Prospect(3, 9), None)
    Prospect(earliest=3, latest=9)
    """
    while parent is not None and parent.state.is_on_its_way:
        ticks = ticks.after(prospect(parent.timing, settings))
        parent = None if parent.parent is None else post_by_key(transaction, parent.parent)
    return ticks
