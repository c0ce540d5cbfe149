"""What the posts of a store share: its settings, how it stands now, and whose they are.

One person's pseudonyms alone share a store, or many people do, and what is right for one harms the other.
In one person's own store all that waits must keep its distances, or a moment would show all their
pseudonyms together: after an outage everything moves later by the same time. There the owner needs no
receipts. Where many people share a store, one must not wait for another: what fell due meanwhile leaves at
once, mixed, and nobody but the holder of a receipt can tell whose a post is.

`settings.sharing` is the one or the other; nobody else asks which it is.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tarry.core.errors import BadInput
from tarry.core.exact import format_duration
from tarry.core.policy import LabelRule, Policy, hold_of
from tarry.core.policy_file import describes
from tarry.keep.keys import Keys, under_receipt
from tarry.keep.store import Anchor, Clock, Kind, Reading, Row, Transaction, last_past_tick

if TYPE_CHECKING:
    from tarry.keep.admission import Candidate
    from tarry.keep.posts import PostRow

__all__ = [
    "PERSONAL",
    "SHARED",
    "Sharing",
    "Snapshot",
    "StoreSettings",
    "begin_store",
]

_PARKED_ABOVE = "the post it depends on is parked: repeat that one first, or withdraw this one"


class Sharing(ABC):
    """What depends on who shares a store.

    >>> SHARED.owner_may_act, PERSONAL.owner_may_act
    (False, True)
    """

    #: The kind of transaction in which posts are accepted.
    admission: ClassVar[Kind]
    #: Whether everything in the store is its owner's, who needs no receipts.
    owner_may_act: ClassVar[bool]
    #: Whether every post goes by one clock: an outage of one account moves all of them.
    has_one_clock: ClassVar[bool]
    #: Whether each delivery has a thread of its own: if it waited for another, its moment would tell of it.
    delivers_alone: ClassVar[bool]
    #: What happens to releases whose ticks were missed, in words.
    after_outage: ClassVar[str]
    #: What moves when an account cannot get in, in words.
    moved_by_lockout: ClassVar[str]

    @abstractmethod
    def check_policy(self, adopted: str | None, policy: Policy) -> None:
        """Refuse a policy that posts of this store may not be admitted under."""

    @abstractmethod
    def seal_pseudonym(self, receipt: str, pseudonym: bytes) -> bytes:
        """A post's pseudonym as it is stored while the post waits."""

    @abstractmethod
    def open_pseudonym(self, stored: bytes | None, receipt: str | None) -> bytes | None:
        """The pseudonym again, as far as it can be told with this receipt, or without one."""

    @abstractmethod
    def is_of_author(self, parent: "PostRow", child: "Candidate") -> bool:
        """Whether a waiting post is of the author of another, on the same target."""

    @abstractmethod
    def clock_name(self, keys: Keys, account: str | None) -> bytes | None:
        """What the store knows the clock of an account by; None where nobody knows the account."""

    @abstractmethod
    def before_labels(self, transaction: Transaction, before: "Snapshot", tick: int) -> None:
        """What closing up to a tick does before it fixes labels."""

    @abstractmethod
    def after_labels(self, transaction: Transaction, before: "Snapshot", tick: int) -> None:
        """What closing up to a tick does after it has fixed labels."""

    @abstractmethod
    def count_arrivals(self, transaction: Transaction, hour: int, erasable: int) -> None:
        """Count arrivals that are about to be erased, by hours of so many ticks."""

    @abstractmethod
    def end_hour(self, transaction: Transaction, hour: int) -> None:
        """What is written down when an hour of so many ticks ends."""

    @abstractmethod
    def park_children(self, transaction: Transaction) -> None:
        """Park what depends on parked posts, if it must not leave without them."""


class _Personal(Sharing):
    """One person's own store."""

    admission = "closing"  # ticks missed by now must not move a post that arrives now
    owner_may_act = True
    has_one_clock = True
    delivers_alone = True
    after_outage = "every waiting release moves later by as much"
    moved_by_lockout = "everything of yours"

    def check_policy(self, adopted: str | None, policy: Policy) -> None:
        if adopted is not None and not describes(adopted, policy):
            raise BadInput("this store has adopted another policy", "start this program again")

    def seal_pseudonym(self, receipt: str, pseudonym: bytes) -> bytes:  # noqa: ARG002 - one shape for both
        return pseudonym  # its owner withdraws without a receipt too

    def open_pseudonym(self, stored: bytes | None, receipt: str | None) -> bytes | None:  # noqa: ARG002 - likewise
        return stored

    def is_of_author(self, parent: "PostRow", child: "Candidate") -> bool:
        return (parent.pseudonym or b"") == child.pseudonym

    def clock_name(self, keys: Keys, account: str | None) -> bytes | None:  # noqa: ARG002 - likewise
        return keys.login("")

    def before_labels(self, transaction: Transaction, before: "Snapshot", tick: int) -> None:
        """Move all by the ticks missed; by more, if something is due and has not left."""
        late = tick - before.closed - 1
        if (first := self.first_due(transaction)) is not None:
            late = max(late, tick - first)
        if late:
            self.move_everything(transaction, late, before.closed)

    def after_labels(self, transaction: Transaction, before: "Snapshot", tick: int) -> None:
        """Nothing: what was missed has moved."""

    def count_arrivals(self, transaction: Transaction, hour: int, erasable: int) -> None:
        """Nothing: one person's hours are theirs."""

    def end_hour(self, transaction: Transaction, hour: int) -> None:
        """Nothing: there is nobody to report to."""

    def park_children(self, transaction: Transaction) -> None:
        """Withdrawing or repeating the parked one must not let the others out at that moment."""
        while transaction.run("park_children", problem=_PARKED_ABOVE):
            pass

    def first_due(self, transaction: Transaction) -> int | None:
        """The earliest release that has not happened, of posts that wait for no other."""
        row = transaction.one("first_due")
        release: int | None = None if row is None else row["release"]
        return release

    def move_everything(self, transaction: Transaction, ticks: int, closed: int) -> None:
        """Every waiting release moves later by as much: the distances between them stay."""
        transaction.tell("shift_releases", ticks=ticks, closed=closed)
        transaction.tell("shift_pending", ticks=ticks)
        transaction.tell("shift_lockouts", ticks=ticks, closed=closed)


class _Shared(Sharing):
    """A store that many people share."""

    admission = "admitting"
    owner_may_act = False
    has_one_clock = False
    delivers_alone = False
    after_outage = "what fell due leaves now"
    moved_by_lockout = "all that waits for this account"

    def check_policy(self, adopted: str | None, policy: Policy) -> None:
        """Spaces have policies of their own."""

    def seal_pseudonym(self, receipt: str, pseudonym: bytes) -> bytes:
        return under_receipt(receipt, pseudonym)

    def open_pseudonym(self, stored: bytes | None, receipt: str | None) -> bytes | None:
        return None if stored is None or receipt is None else under_receipt(receipt, stored)

    def is_of_author(self, parent: "PostRow", child: "Candidate") -> bool:
        receipt = child.post.depends_on
        if not isinstance(receipt, str):  # without the receipt nobody can tell
            return False
        if parent.pseudonym is None:  # of an earlier version: who has its receipt is its author
            return (parent.target, parent.outlet) == (child.post.target, child.post.outlet)
        return under_receipt(receipt, parent.pseudonym) == child.pseudonym

    def clock_name(self, keys: Keys, account: str | None) -> bytes | None:
        return None if account is None else keys.login(account)

    def before_labels(self, transaction: Transaction, before: "Snapshot", tick: int) -> None:
        """Nothing: nobody waits for somebody else's outage."""

    def after_labels(self, transaction: Transaction, before: "Snapshot", tick: int) -> None:
        """What fell due while ticks were missed appears under the tick of recovery."""
        if tick - before.closed > 1:
            transaction.tell("publish_overdue", tick=tick, closed=before.closed)

    def count_arrivals(self, transaction: Transaction, hour: int, erasable: int) -> None:
        rows = transaction.all("arrivals_by_hour", ticks=hour, erasable=erasable)
        transaction.many("count_hour", [dict(row) for row in rows])

    def end_hour(self, transaction: Transaction, hour: int) -> None:
        """Operators see counts as they stood when an hour ended, so that nobody can watch them move."""
        transaction.tell("tell_ledger")
        transaction.tell("clear_outlook")
        transaction.tell("look_ahead", ticks=hour)

    def park_children(self, transaction: Transaction) -> None:
        """Nothing: an operator's act lets them out, and that tells nothing of their author."""


#: One person's own store.
PERSONAL = _Personal()
#: A store that many people share.
SHARED = _Shared()


@dataclass(frozen=True, kw_only=True)
class StoreSettings:
    """What all posts of a store share.

    >>> StoreSettings.of(Policy(epsilon="1", gap="11m", window="5m")).window_ticks
    300
    """

    tick: Fraction  # seconds
    window_ticks: int
    labels: LabelRule
    personal: bool = False  # one person's own store
    sealed: int = 0  # odd: content is encrypted; another number each time the key or this changes
    paused: bool = False  # nothing comes in or leaves until a person says so

    @classmethod
    def of(cls, policy: Policy, *, personal: bool = False, sealed: bool = False) -> "StoreSettings":
        """The settings a policy asks for."""
        return cls(
            tick=policy.tick,
            window_ticks=policy.window_ticks,
            labels=policy.labels,
            personal=personal,
            sealed=int(sealed),
        )

    @cached_property
    def sharing(self) -> Sharing:
        """What depends on whether one person has this store, or many share it."""
        return PERSONAL if self.personal else SHARED

    @property
    def is_encrypted(self) -> bool:
        """Whether content is encrypted where it lies."""
        return self.sealed % 2 == 1

    @cached_property
    def waits_for_label(self) -> bool:
        """Whether a label is known only after later arrivals are."""
        return self.labels in ("held", "simultaneous")

    @cached_property
    def hold_ticks(self) -> int:
        """Ticks a post waits until its label is known, where labels are held."""
        return hold_of(self.labels, self.window_ticks)

    def check(self, policy: Policy) -> None:
        """Labels compare posts with each other, so all posts of a store have one window and tick.

        >>> StoreSettings.of(Policy(epsilon="1", gap="11m")).check(Policy(epsilon="2", gap="1h"))
        """
        same = self.window_ticks == policy.window_ticks and self.labels == policy.labels
        # For every post: two fractions would be compared more slowly.
        if not same or self.tick.as_integer_ratio() != policy.tick.as_integer_ratio():
            raise BadInput(
                f"this policy has {StoreSettings.of(policy).summary}, and its store {self.summary}",
                "all policies of a store must have the same tick, window and labels",
            )

    @property
    def summary(self) -> str:
        """Tick, window and labels in a few words.

        >>> StoreSettings.of(Policy(epsilon="1", gap="11m")).summary
        "tick 1s, window 5m, labels 'held'"
        """
        tick, window = format_duration(self.tick), format_duration(self.window_ticks * self.tick)
        return f"tick {tick}, window {window}, labels {self.labels!r}"


class Snapshot(NamedTuple):
    """The store's clock, the last closed tick, its settings, and what an admission or a close need besides.

    >>> from tarry.keep.store import snapshot
    >>> from tarry.testing import memory_store
    >>> with memory_store(Policy(epsilon="1", gap="11m")).transaction("reading") as transaction:
    ...     snapshot(transaction).heirlooms
    False
    """

    anchor: Anchor
    closed: int  # the last closed tick
    settings: StoreSettings
    policy: str | None = None  # of one person's own store
    latest: int | None = None  # the last arrival tick, of any actor
    heirlooms: bool = False  # whether any withdrawn post may still have an heir
    oldest: int | None = None  # the first arrival tick that is not erased
    lockout: int | None = None  # the first tick at which a lockout moves nothing any more
    now: int | None = None  # wall clock of a database that has one

    @classmethod
    def of(cls, row: Row) -> "Snapshot":
        """What the statement `snapshot` answers."""
        return cls(
            anchor=Anchor(row["time"], Reading(row["wall"], row["steady"], row["boot"])),
            closed=row["closed"],
            settings=_settings(
                row["tick"],
                row["window_ticks"],
                row["labels"],
                personal=row["personal"],
                sealed=row["sealed"],
                paused=row["paused"],
            ),
            policy=row["policy"],
            latest=row["latest"],
            heirlooms=bool(row["heirlooms"]),
            oldest=row["oldest"],
            lockout=row["lockout"],
            now=row["now"],
        )

    def with_arrival(self, tick: int) -> "Snapshot":
        """The same after an arrival at a tick that is not before any other.

        >>> settings = StoreSettings.of(Policy(epsilon="1", gap="11m"))
        >>> Snapshot(Anchor(7, Reading(7, 1, "a")), 6, settings).with_arrival(7).oldest
        7
        """
        if self.latest == tick:
            return self
        return self._replace(latest=tick, oldest=tick if self.oldest is None else self.oldest)


def begin_store(
    transaction: Transaction, settings: StoreSettings, clock: Clock, policy: str | None = None
) -> None:
    """Give a new store its clock and settings; an old one keeps its own.

    >>> from tarry.keep.store import snapshot
    >>> from tarry.testing import ManualClock, memory_store
    >>> store = memory_store()
    >>> with store.transaction("closing") as transaction:
    ...     begin_store(transaction, StoreSettings.of(Policy(epsilon="1", gap="11m")), ManualClock())
    ...     snapshot(transaction).settings.window_ticks
    300
    """
    if transaction.snapshot() is not None:
        return
    row = transaction.one("now")
    anchor = Anchor.at(clock.read(None if row is None else row["now"]))
    transaction.tell("begin_clock", **anchor.columns, closed=last_past_tick(anchor.time, settings.tick))
    transaction.tell(
        "begin_settings",
        tick=str(settings.tick),
        window_ticks=settings.window_ticks,
        labels=settings.labels,
        personal=int(settings.personal),
        sealed=settings.sealed,
        policy=policy,
    )


@lru_cache
def _settings(
    tick: str, window_ticks: int, labels: LabelRule, *, personal: int, sealed: int, paused: int
) -> StoreSettings:
    """Read at every admission, and hardly ever new."""
    return StoreSettings(
        tick=Fraction(tick),
        window_ticks=window_ticks,
        labels=labels,
        personal=bool(personal),
        sealed=sealed,
        paused=bool(paused),
    )
