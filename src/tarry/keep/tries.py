"""One try to deliver a post: how it ended, and what a person is told of it.

A try may end without anybody knowing whether it came through: a worker died, or everything was sent and no
answer came. Such a post is *in doubt*. It may be public already, so its author cannot change it or take it
back as if it were not; a later try shows, or a person looks. In the store, what was tried and has no
problem is in doubt.
"""

from dataclasses import dataclass

from tarry.core.errors import TarryError
from tarry.keep.errors import LockedOut, Refused, Unreachable
from tarry.keep.outlet import Outlet
from tarry.keep.posts import Release
from tarry.keep.store import Row

__all__ = ["CUT_OFF", "IN_DOUBT", "MOST_ATTEMPTS", "Outcome", "doubted", "is_in_doubt", "plain", "try_once"]

MOST_ATTEMPTS = 12
_MOST_TEXT = 500
_NOT_IN = "its account cannot get in now"

#: What is told of a delivery whose worker died, where it must not be tried again.
CUT_OFF = "its delivery was cut off and may or may not have happened: look, then withdraw or repeat it"
#: What its author is told of a post in doubt while it waits.
IN_DOUBT = "its delivery has begun, and how it ended is not known yet: it may have left, a later try shows"


@dataclass(frozen=True)
class Outcome:
    """How one delivery ended.

    >>> Outcome(post=1, attempt=1).problem
    ''
    """

    post: int
    attempt: int
    problem: str = ""  # empty: delivered
    parked: bool = False  # not tried again: a person looks at it
    locked_s: int | None = None  # its account cannot get in, and is to wait for so many seconds
    sent: bool = False  # with a problem: it may have arrived nevertheless

    def __post_init__(self) -> None:
        """Whoever wrote the text: the store takes it, and a person can read it."""
        if self.problem:
            object.__setattr__(self, "problem", plain(self.problem) or "it failed without a word")


def plain(text: str) -> str:
    """A text for the store and for a person: printable, one line, bounded.

    >>> plain("no file l" + chr(0xDCFC) + "gin" + chr(0) + chr(10) + "here")
    'no file l gin here'
    """
    kept = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * _MOST_TEXT])
    return " ".join(kept.split())[:_MOST_TEXT]


def doubted(problem: str) -> str:
    """What happened last, and that an earlier or this same try may have come through.

    >>> doubted("the webhook hung up")
    'the webhook hung up; it may have left all the same: look, then withdraw or repeat it'
    """
    return f"{problem}; it may have left all the same: look, then withdraw or repeat it"


def is_in_doubt(row: Row) -> bool:
    """Whether a post waits that may have left. While the first try lasts nothing is in doubt yet.

    >>> is_in_doubt({"state": "waiting", "attempts": 1, "problem": None, "claim": None})
    True
    >>> is_in_doubt({"state": "waiting", "attempts": 1, "problem": "not now", "claim": None})
    False
    """
    tried = row["attempts"] if row["claim"] is None else row["attempts"] - 1
    return bool(row["state"] == "waiting" and tried > 0 and row["problem"] is None)


def try_once(outlet: Outlet, post: int, release: Release) -> Outcome:
    """Hand a release to its outlet. What happens here happens in the world.

    >>> from fractions import Fraction
    >>> from tarry.testing import ListOutlet
    >>> release = Release(id="ab", target="paper 3", content=b"I agree.", at=Fraction(60))
    >>> try_once(ListOutlet(broken=Unreachable("it hung up", sent=True)), 7, release)
    Outcome(post=7, attempt=1, problem='it hung up', parked=False, locked_s=None, sent=True)
    """
    attempt = release.attempt
    try:
        outlet.deliver(release)
    except Refused as refusal:
        return Outcome(post, attempt, _words(refusal), parked=True)
    except Exception as error:  # noqa: BLE001 - whatever it is, the post stays and a person reads why
        last = outlet.delivery == "at most once" or attempt >= MOST_ATTEMPTS
        # An error that no outlet should raise does not say how far it had come.
        sent = error.sent if isinstance(error, Unreachable) else not isinstance(error, TarryError)
        if isinstance(error, LockedOut):
            problem, parked = str(error) or _NOT_IN, last and sent
            return Outcome(post, attempt, problem, parked=parked, locked_s=error.wait_s, sent=sent)
        return Outcome(post, attempt, _words(error), parked=last, sent=sent)
    return Outcome(post, attempt)


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__
