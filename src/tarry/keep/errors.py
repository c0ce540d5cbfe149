"""What can go wrong in the keeper, beside bad input.

TarryError
├── NoSuchPost    no post has this receipt
├── TooLate       the post is leaving or has left
├── Refused       an outlet will never take this post: it is parked for a person
├── AlreadyUsed   a request's own key has come with another request
├── Paused        the store takes nothing in at the moment
├── Unreachable   an outlet cannot be reached now: it is tried again
│   └── LockedOut     only for one account: all that waits for it moves later by the same time
└── Unavailable   the store cannot be reached now; nothing was accepted
"""

from tarry.core.errors import TarryError

__all__ = [
    "AlreadyUsed",
    "LockedOut",
    "NoSuchPost",
    "Paused",
    "Refused",
    "TooLate",
    "Unavailable",
    "Unreachable",
]


class NoSuchPost(TarryError):
    """No post has this receipt: it never had, or the post left long ago.

    >>> print(NoSuchPost())
    no post has this receipt: check it, or the post left long ago
    """

    def __init__(
        self, sentence: str = "no post has this receipt: check it, or the post left long ago"
    ) -> None:
        super().__init__(sentence)


class TooLate(TarryError):
    """The post is leaving at this moment, or has left, been withdrawn or been parked.

    >>> print(TooLate("released"))
    this post cannot be changed any more: it is released
    """

    def __init__(self, state: str) -> None:
        self.state = state
        super().__init__(f"this post cannot be changed any more: it is {state}")


class _Undelivered(TarryError):
    """A delivery that did not end well; `sent` says whether the act may have happened nevertheless."""

    def __init__(self, sentence: str = "", *, sent: bool = False) -> None:
        self.sent = sent
        super().__init__(sentence)


class Refused(_Undelivered):
    """An outlet will never take this post as it is.

    `sent` means that it may have happened nevertheless, and a person has to look.

    >>> raise Refused("the server answered 550: no such mailbox")
    Traceback (most recent call last):
    tarry.keep.errors.Refused: the server answered 550: no such mailbox
    """


class AlreadyUsed(TarryError):
    """A request's own key has come before, with another request.

    >>> print(AlreadyUsed())
    this idempotency key was used for another request: send a new key with a new request
    """

    def __init__(self) -> None:
        super().__init__(
            "this idempotency key was used for another request: send a new key with a new request"
        )


class Paused(TarryError):
    """The store, or a space in it, takes nothing in at the moment.

    >>> raise Paused("this store was restored from a backup and is paused: run tarry resume")
    Traceback (most recent call last):
    tarry.keep.errors.Paused: this store was restored from a backup and is paused: run tarry resume
    """

    def __init__(self, sentence: str, *, wait_s: int | None = None) -> None:
        self.wait_s = wait_s  # where it is known when the pause ends
        super().__init__(sentence)


class Unreachable(_Undelivered):
    """An outlet cannot be reached at the moment.

    `sent` means that what acts was sent, or part of it, and no answer says what became of it: it may have
    happened. The post then cannot be changed before a later try has shown.

    >>> raise Unreachable("the mail server hung up", sent=True)
    Traceback (most recent call last):
    tarry.keep.errors.Unreachable: the mail server hung up
    """


class LockedOut(Unreachable):
    """One account cannot get in at the moment: its login fails, or the other side makes it wait.

    `wait_s` is how long the other side wants to be left alone. The sentence does not name the account. With
    `sent` the act itself was sent before, so the try counts.

    >>> raise LockedOut("the wiki refuses this account's login", wait_s=60)
    Traceback (most recent call last):
    tarry.keep.errors.LockedOut: the wiki refuses this account's login
    """

    def __init__(self, sentence: str, *, wait_s: int = 0, sent: bool = False) -> None:
        self.wait_s = wait_s
        super().__init__(sentence, sent=sent)


class Unavailable(TarryError):
    """The store cannot be used at the moment; unless it says otherwise, what was asked has not happened.

    >>> raise Unavailable("the store cannot be written: database or disk is full")
    Traceback (most recent call last):
    tarry.keep.errors.Unavailable: the store cannot be written: database or disk is full
    """
