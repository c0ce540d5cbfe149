"""The records that go in and out: a post, its receipt, its status, and the release that leaves.

`Release` is the only one that the world sees. It has no arrival, no actor and no number of ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NamedTuple

__all__ = ["Post", "Receipt", "Release", "State", "Status", "is_doubt"]

State = Literal["waiting", "released", "withdrawn", "parked"]

_DOUBTS = ("may have left", "may or may not have")


def is_doubt(problem: str | None) -> bool:
    """Whether a problem leaves open that the post has left. All sentences that do say so in these words.

    >>> is_doubt("the webhook hung up; it may have left all the same"), is_doubt("no such mailbox")
    (True, False)
    """
    return problem is not None and any(words in problem for words in _DOUBTS)


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

    state: State
    earliest: int | None  # ticks; the release lies at one of the two
    latest: int | None
    tick: Fraction  # seconds
    problem: str | None = None  # why it is parked, or why the last try failed

    @property
    def in_doubt(self) -> bool:
        """Whether it may have left although it waits or is parked."""
        return is_doubt(self.problem)

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
