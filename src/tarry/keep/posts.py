"""The records that go in and out: a post, its state, its receipt, its status, and the release that leaves.

`Release` is the only one that the world sees. It has no arrival, no actor and no number of ours. A status
tells when a post will leave, as far as that is known: at one tick, or at one of two of which the label
chooses; or, where these two would give the label away, from which tick to which.

A post's state is one value in one column. The ways from one to the next:

    accept ──▶ WAITING ──published in the store itself──▶ RELEASED

    accept ──▶ WAITING ──claim──▶ DELIVERING ──it arrived──▶ RELEASED
                 ▲  │                │  │  └──refused, or given up──▶ PARKED
                 │  │                │  │
                 │  │   nothing sent │  │ cut off, or no answer:
                 └──┼────────────────┘  │ it may have left
                    │                   ▼
                    │               IN_DOUBT ──claim──▶ DELIVERING_IN_DOUBT ──it arrived──▶ RELEASED
                    │                   ▲                   │  └──refused, or given up──▶ PARKED_IN_DOUBT
                    │                   └── nothing is known ┘
                    └──withdraw──▶ WITHDRAWN

    PARKED           ──a person puts it back──▶ WAITING      ──withdraw──▶ WITHDRAWN
    PARKED_IN_DOUBT  ──a person puts it back──▶ IN_DOUBT     ──withdraw──▶ WITHDRAWN
    WITHDRAWN (by an operator) ──its author puts something else in its place──▶ WAITING

`TRANSITIONS` has every arrow, with those of rare days: a delivery that must not happen twice and was cut
off is parked in doubt, until its worker tells after all; what is in doubt may be published in the store,
where a second time changes nothing; what depends on a parked post in one person's own
store is parked with it; what was due while a store was away is parked in doubt.

Once a post is in doubt nobody may act as if it had not left. Only a delivery, or a person, ends the doubt.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tarry.core.release import Draws, after_parents, release_ticks
from tarry.keep.store import moment

if TYPE_CHECKING:
    from tarry.keep.sharing import StoreSettings

__all__ = [
    "GROUPS",
    "TRANSITIONS",
    "Post",
    "PostRow",
    "Prospect",
    "PublicState",
    "Receipt",
    "Release",
    "State",
    "Status",
    "Timing",
    "prospect",
    "prospect_of",
    "shown_id",
    "timing_of",
]

#: What its author is told of a post in doubt while it waits.
IN_DOUBT = "its delivery has begun, and how it ended is not known yet: it may have left, a later try shows"

#: What people are told: whether it is also in doubt is said beside it.
PublicState = Literal["waiting", "released", "withdrawn", "parked"]


class State(StrEnum):
    """What has become of a post, as the store has it.

    >>> State.DELIVERING_IN_DOUBT.public, State.DELIVERING_IN_DOUBT.in_doubt
    ('waiting', True)
    """

    #: It waits for its tick, or to be tried again. It has not left.
    WAITING = "waiting"
    #: A worker is delivering it, and no earlier try is in doubt.
    DELIVERING = "delivering"
    #: It waits to be tried again, and may have left: a try was cut off, or was sent and not answered.
    IN_DOUBT = "in_doubt"
    #: A worker is delivering it, and an earlier try may have come through.
    DELIVERING_IN_DOUBT = "delivering_in_doubt"
    #: It could not be delivered, and a person has to look. It has not left.
    PARKED = "parked"
    #: A person has to look, and it may have left.
    PARKED_IN_DOUBT = "parked_in_doubt"
    #: It has left: its content is gone from the store.
    RELEASED = "released"
    #: It was taken back: its content is gone, and its tick and draws stay for labels and for a repost.
    WITHDRAWN = "withdrawn"

    @property
    def public(self) -> PublicState:
        """What people are told of it."""
        return _PUBLIC[self]

    @property
    def in_doubt(self) -> bool:
        """Whether it may have left although it waits or is parked."""
        return self in _IN_DOUBT

    @property
    def is_on_its_way(self) -> bool:
        """Whether it is still to leave, without anybody's help."""
        return _PUBLIC[self] == "waiting"


_PUBLIC: Mapping[State, PublicState] = {
    State.WAITING: "waiting",
    State.DELIVERING: "waiting",
    State.IN_DOUBT: "waiting",
    State.DELIVERING_IN_DOUBT: "waiting",
    State.PARKED: "parked",
    State.PARKED_IN_DOUBT: "parked",
    State.RELEASED: "released",
    State.WITHDRAWN: "withdrawn",
}
_IN_DOUBT = frozenset({State.IN_DOUBT, State.DELIVERING_IN_DOUBT, State.PARKED_IN_DOUBT})

#: The states that statements name together: `{ready}` in an .sql file is the first of these.
GROUPS: Mapping[str, tuple[State, ...]] = {
    "ready": (State.WAITING, State.IN_DOUBT),
    "delivering": (State.DELIVERING, State.DELIVERING_IN_DOUBT),
    "on_its_way": (State.WAITING, State.IN_DOUBT, State.DELIVERING, State.DELIVERING_IN_DOUBT),
    "parked": (State.PARKED, State.PARKED_IN_DOUBT),
    "unfinished": tuple(state for state, public in _PUBLIC.items() if public in ("waiting", "parked")),
    "done": (State.RELEASED, State.WITHDRAWN),
}

#: Every change of the column that may happen; a new post is WAITING.
TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.WAITING: frozenset(
        {State.DELIVERING, State.RELEASED, State.WITHDRAWN, State.PARKED, State.PARKED_IN_DOUBT}
    ),
    State.DELIVERING: frozenset(
        {State.RELEASED, State.WAITING, State.IN_DOUBT, State.PARKED, State.PARKED_IN_DOUBT}
    ),
    State.IN_DOUBT: frozenset({State.DELIVERING_IN_DOUBT, State.RELEASED, State.PARKED_IN_DOUBT}),
    State.DELIVERING_IN_DOUBT: frozenset({State.RELEASED, State.IN_DOUBT, State.PARKED_IN_DOUBT}),
    State.PARKED: frozenset({State.WAITING, State.WITHDRAWN}),
    State.PARKED_IN_DOUBT: frozenset({State.IN_DOUBT, State.WITHDRAWN, State.RELEASED, State.PARKED}),
    State.RELEASED: frozenset(),
    State.WITHDRAWN: frozenset({State.WAITING}),
}


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
    earliest: int | None  # ticks; the release lies at one of the two, or in between
    latest: int | None
    tick: Fraction  # seconds
    problem: str | None = None  # why it is parked, or why the last try failed
    in_doubt: bool = False  # whether it may have left although it waits or is parked
    in_between: bool = False  # whether the release may lie anywhere from the earliest to the latest

    @property
    def release_at(self) -> Fraction | None:
        """The moment of release, once it is known, in seconds since 1970."""
        return None if self.latest is None or self.earliest != self.latest else self.latest * self.tick

    @property
    def between(self) -> tuple[Fraction, Fraction] | None:
        """The two moments at or between which it is released; the same one twice once it is known."""
        if self.earliest is None or self.latest is None:
            return None
        return self.earliest * self.tick, self.latest * self.tick

    @property
    def moments(self) -> dict[str, str | None]:
        """When it leaves, as its author reads it: ISO 8601 in UTC, or None where that is not known."""
        if self.earliest is None or self.latest is None:
            return {"release_at": None, "earliest_at": None, "latest_at": None}
        earliest = latest = moment(self.earliest * self.tick)
        if self.earliest != self.latest:
            return {
                "release_at": None,
                "earliest_at": earliest,
                "latest_at": moment(self.latest * self.tick),
            }
        return {"release_at": earliest, "earliest_at": earliest, "latest_at": latest}


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


class Timing(NamedTuple):
    """When a post leaves, as far as the store knows: its release, or its arrival with its draws.

    >>> Timing(id=7, release=None, arrival=10, unbatched=0, batched=7).shift
    0
    """

    id: int
    release: int | None
    arrival: int | None = None  # None once it is erased, and so is all that follows
    unbatched: int = 0  # ticks, as drawn
    batched: int = 0
    deadline: int | None = None
    shift: int = 0  # ticks by which an outage has moved it
    label: int | None = None  # 1 batched, 0 not, None not known yet
    earliest: int | None = None  # ticks to tell instead of the draws, while there is no label
    latest: int | None = None


class PostRow(NamedTuple):
    """A post as the store has it, without its content.

    >>> PostRow(id=7, state=State.WAITING, target="paper 3", outlet="feed", timing=Timing(7, 60)).parent
    """

    id: int  # its random key
    state: State
    target: str
    outlet: str
    timing: Timing
    parent: int | None = None  # the post that goes first
    pseudonym: bytes | None = None  # under its receipt, but for one person's own store
    problem: str | None = None  # why it is parked, or why the last try failed
    body: bytes | None = None  # hash of a request that may come again

    @classmethod
    def of(cls, **row: Any) -> "PostRow":
        """What `by_id` and its like answer."""
        return cls(
            id=row["id"],
            state=State(row["state"]),
            target=row["target"],
            outlet=row["outlet"],
            timing=timing_of(**row),
            parent=row["parent"],
            pseudonym=None if row["pseudonym"] is None else bytes(row["pseudonym"]),
            problem=row["problem"],
            body=None if row["body"] is None else bytes(row["body"]),
        )


def timing_of(**row: Any) -> Timing:
    """What a row tells of its timing; of one whose arrival is erased, its release alone.

    >>> timing_of(id=7, release=60, arrival=None) == Timing(id=7, release=60)
    True
    """
    if row["arrival"] is None:
        return Timing(row["id"], row["release"])
    return Timing(
        id=row["id"],
        release=row["release"],
        arrival=row["arrival"],
        unbatched=row["unbatched"],
        batched=row["batched"],
        deadline=row["deadline"],
        shift=row["shift"],
        label=row["label"],
        earliest=row["earliest"],
        latest=row["latest"],
    )


class Prospect(NamedTuple):
    """The ticks at which, or between which, a post may leave; None where that is not known any more.

    >>> Prospect(3, 3).release, Prospect(3, 9).release
    (3, None)
    """

    earliest: int | None
    latest: int | None
    in_between: bool = False  # whether it may leave anywhere from the one to the other

    @property
    def release(self) -> int | None:
        """The release tick, if the label does not matter to it."""
        return self.earliest if self.earliest == self.latest else None

    def after(self, other: "Prospect") -> "Prospect":
        """Not before the other one.

        >>> Prospect(3, 9).after(Prospect(5, 5))
        Prospect(earliest=5, latest=9, in_between=False)
        """
        if self.earliest is None or self.latest is None or other.earliest is None or other.latest is None:
            return self
        earliest = after_parents(self.earliest, other.earliest)
        latest = after_parents(self.latest, other.latest)
        return Prospect(earliest, latest, earliest < latest and (self.in_between or other.in_between))

    def later(self, ticks: int) -> "Prospect":
        """Moved, where it is known.

        >>> Prospect(3, 9).later(5)
        Prospect(earliest=8, latest=14, in_between=False)
        """
        if self.earliest is None or self.latest is None:
            return self
        return Prospect(self.earliest + ticks, self.latest + ticks, self.in_between)

    def status(self, state: State, tick: Fraction, problem: str | None = None) -> Status:
        """What the author of a post in this state is told."""
        in_doubt = state.in_doubt
        why = IN_DOUBT if in_doubt and state.is_on_its_way else problem
        return Status(state.public, self.earliest, self.latest, tick, why, in_doubt, self.in_between)


def prospect(timing: Timing, settings: "StoreSettings") -> Prospect:
    """What may be told of a post's release.

    >>> from tarry.core.policy import Policy
    >>> from tarry.keep.sharing import StoreSettings
    >>> settings = StoreSettings.of(Policy(epsilon="1", gap="11s", window="5s"))
    >>> prospect(Timing(id=7, release=None, arrival=10, unbatched=0, batched=7), settings)
    Prospect(earliest=15, latest=22, in_between=False)
    """
    if timing.release is not None or timing.arrival is None:
        return Prospect(timing.release, timing.release)
    if timing.label is None and timing.earliest is not None:
        return Prospect(timing.earliest, timing.latest, in_between=True)
    draws = Draws(timing.unbatched, timing.batched)
    return prospect_of(timing.arrival, draws, timing.label, settings, timing.deadline).later(timing.shift)


def prospect_of(
    arrival: int,
    draws: Draws[int],
    label: int | None,
    settings: "StoreSettings",
    deadline: int | None,
    *,
    span: tuple[int, int] | None = None,
) -> Prospect:
    """What an arrival and its draws tell of the release; or a span of delays, while the label is open.

    >>> from tarry.core.policy import Policy
    >>> from tarry.keep.sharing import StoreSettings
    >>> settings = StoreSettings.of(Policy(epsilon="1", gap="11s", window="5s"))
    >>> prospect_of(10, Draws(0, 7), None, settings, None)
    Prospect(earliest=15, latest=22, in_between=False)
    >>> prospect_of(10, Draws(0, 7), 1, settings, None)
    Prospect(earliest=22, latest=22, in_between=False)
    >>> prospect_of(10, Draws(0, 7), None, settings, None, span=(0, 20))
    Prospect(earliest=15, latest=35, in_between=True)
    """
    hold = settings.hold_ticks
    if label is not None:
        one = release_ticks(arrival, draws, batched=label, hold=hold, deadline=deadline)
        return Prospect(one, one)
    if span is not None:
        earliest, latest = (
            release_ticks(arrival, Draws(delay, delay), batched=0, hold=hold, deadline=deadline)
            for delay in span
        )
        return Prospect(earliest, latest, earliest < latest)
    lone = release_ticks(arrival, draws, batched=0, hold=hold, deadline=deadline)
    if draws.settled:
        return Prospect(lone, lone)
    batched = release_ticks(arrival, draws, batched=1, hold=hold, deadline=deadline)
    return Prospect(min(lone, batched), max(lone, batched))


def shown_id(post: int) -> str:
    """The id of a post, as it is shown.

    >>> shown_id(255)
    '00000000000000ff'
    """
    return f"{post:016x}"
