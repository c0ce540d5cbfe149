"""When a post will leave, as far as that is known: one tick, or two of which the label chooses one."""

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from tarry.core.errors import BadInput
from tarry.core.release import Draws, after_parents, release_ticks
from tarry.keep.keys import under_receipt
from tarry.keep.posts import State, Status
from tarry.keep.store import Row, Settings, Transaction, by_receipt
from tarry.keep.tries import IN_DOUBT, is_in_doubt

if TYPE_CHECKING:
    from tarry.keep.candidates import Candidate

__all__ = ["Prospect", "behind_parents", "prospect", "prospect_of", "status_of", "waiting_parent"]


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
        """What the author is told."""
        return Status(state, self.earliest, self.latest, tick, problem)


def prospect(row: Row, settings: Settings) -> Prospect:
    """What a post's row, with its arrival, tells of its release.

    >>> from tarry.core.policy import Policy
    >>> row = {"release": None, "arrival": 10, "unbatched": 0, "batched": 7, "deadline": None}
    >>> settings = Settings.of(Policy(epsilon="1", gap="11s", window="5s"))
    >>> prospect({**row, "shift": 0, "label": None}, settings)
    Prospect(earliest=15, latest=22)
    """
    if row["release"] is not None or row["arrival"] is None:
        return Prospect(row["release"], row["release"])
    draws = Draws(row["unbatched"], row["batched"])
    ticks = prospect_of(row["arrival"], draws, row["label"], settings, row["deadline"])
    return ticks.later(row["shift"])


def prospect_of(
    arrival: int, draws: Draws[int], label: int | None, settings: Settings, deadline: int | None
) -> Prospect:
    """What an arrival and its draws tell of the release.

    >>> from tarry.core.policy import Policy
    >>> settings = Settings.of(Policy(epsilon="1", gap="11s", window="5s"))
    >>> prospect_of(10, Draws(0, 7), None, settings, None), prospect_of(10, Draws(0, 7), 1, settings, None)
    (Prospect(earliest=15, latest=22), Prospect(earliest=22, latest=22))
    """
    hold = settings.hold_ticks
    if label is not None:
        one = release_ticks(arrival, draws, batched=bool(label), hold=hold, deadline=deadline)
        return Prospect(one, one)
    lone = release_ticks(arrival, draws, batched=False, hold=hold, deadline=deadline)
    if draws.settled:
        return Prospect(lone, lone)
    batched = release_ticks(arrival, draws, batched=True, hold=hold, deadline=deadline)
    return Prospect(min(lone, batched), max(lone, batched))


def status_of(transaction: Transaction, settings: Settings, row: Row) -> Status:
    """What the author of a post may know of it.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_store
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> row = {"state": "released", "release": 7, "arrival": None, "parent": None}
    >>> row |= {"problem": None, "attempts": 1, "claim": None}
    >>> with memory_store(policy).transaction("reading") as transaction:
    ...     status_of(transaction, Settings.of(policy), row).release_at
    Fraction(7, 1)
    """
    ticks = prospect(row, settings)
    if row["state"] == "waiting" and row["parent"] is not None:
        ticks = behind_parents(transaction, settings, ticks, transaction.one("by_id", id=row["parent"]))
    problem = IN_DOUBT if is_in_doubt(row) else row["problem"]
    return ticks.status(row["state"], settings.tick, problem)


def behind_parents(
    transaction: Transaction, settings: Settings, ticks: Prospect, parent: Row | None
) -> Prospect:
    """A post leaves no earlier than the waiting post it depends on, all the way up.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_store
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> with memory_store(policy).transaction("working") as transaction:
    ...     behind_parents(transaction, Settings.of(policy), Prospect(3, 9), None)
    Prospect(earliest=3, latest=9)
    """
    while parent is not None and parent["state"] == "waiting":
        ticks = ticks.after(prospect(parent, settings))
        above = parent["parent"]
        parent = None if above is None else transaction.one("by_id", id=above)
    return ticks


def waiting_parent(transaction: Transaction, settings: Settings, child: "Candidate") -> Row | None:
    """The waiting post that goes first; a visible one needs no waiting for.

    >>> from tarry.core.entropy import Secure
    >>> from tarry.core.policy import Policy
    >>> from tarry.keep.candidates import Terms, prepare
    >>> from tarry.keep.posts import Post
    >>> from tarry.testing import memory_vault
    >>> policy = Policy(epsilon="1", gap="11m")
    >>> vault, post = memory_vault(policy), Post(actor="ann", target="p1", outlet="list", content=b"!")
    >>> with vault.store.transaction("working") as transaction:
    ...     waiting_parent(
    ...         transaction, vault.settings, prepare(vault, Terms(policy), Secure(), post)
    ...     ) is None
    True
    """
    first = child.post.depends_on
    if first is None:
        return None
    if isinstance(first, int):
        parent = transaction.one("by_id", id=first)
    else:
        parent = by_receipt(transaction, first)
    if parent is not None and parent["state"] == "released":
        return None
    if parent is None or parent["state"] != "waiting" or not _is_of_author(parent, settings, child):
        raise BadInput(
            "depends_on",
            "is a receipt of one's own waiting post on the same target, or the id (or receipt) of a post "
            "that is visible",
            found="another",
        )
    return parent


def _is_of_author(parent: Row, settings: Settings, child: "Candidate") -> bool:
    """Whether a waiting post is of the same author on the same target."""
    first, stored = child.post.depends_on, parent["pseudonym"]
    if settings.personal:
        return bytes(stored or b"") == child.pseudonym
    if not isinstance(first, str):  # without the receipt nobody can tell
        return False
    if stored is None:  # of an earlier version: who has its receipt is its author
        return bool(parent["target"] == child.post.target and parent["outlet"] == child.post.outlet)
    return under_receipt(first, bytes(stored)) == child.pseudonym
