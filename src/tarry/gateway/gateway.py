"""A gateway: one store, its spaces, and the decisions that need both.

Everything here may block; nothing here knows HTTP.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import blake2b
from threading import Lock

from tarry.core.entropy import Entropy, Secure
from tarry.core.errors import NotPossible, TarryError
from tarry.gateway.book import NO_SPACE, Book, Space, read_book
from tarry.gateway.changes import Changes
from tarry.gateway.outlets import SpaceOutlets
from tarry.keep.admission import accept
from tarry.keep.candidates import Candidate, prepare
from tarry.keep.clock import Clock, advance, now_tick
from tarry.keep.errors import Paused
from tarry.keep.gate import Gate
from tarry.keep.keys import Keys
from tarry.keep.outlet import Outlet
from tarry.keep.posts import Post, Receipt
from tarry.keep.store import Store, snapshot
from tarry.keep.vault import Vault

__all__ = ["Answer", "Gateway", "Request"]

_TRIES = 5
_PUBLIC_ID = 32  # characters

Answer = list[Receipt] | TarryError


@dataclass(frozen=True, kw_only=True)
class Request:
    """Some posts that somebody hands in together: all of them are accepted, or none.

    >>> Request(space="talk", posts=()).key is None
    True
    """

    space: str
    posts: Sequence[Post]  # their actor, target, content and wishes; where they go is the space's business
    key: str | None = None  # the sender's own: the same request with it is accepted once
    sender: bytes = b""  # the token, whose keys these are; it is stored nowhere
    body: bytes = b""  # the whole request, to know it again


class Gateway(Changes):
    """A founded store with the gateway's tables. `own` outlets go before those that spaces ask for.

    >>> from tarry.core.policy import Policy
    >>> from tarry.gateway.spaces import add_space
    >>> from tarry.gateway.stores import open_store
    >>> from tarry.testing import ManualClock
    >>> store, keys, clock = open_store(":memory:"), Keys(bytes(32)), ManualClock()
    >>> policy = Policy(epsilon="1", gap="11m", window="5m")
    >>> with store.transaction("closing") as transaction:
    ...     space = add_space(transaction, keys, clock, "talk", policy)
    >>> gateway = Gateway(store, keys, clock)
    >>> post = Post(actor="ann", target="paper 3", outlet="", content=b"I agree.")
    >>> gateway.admit([Request(space="talk", posts=[post])])[0][0].status.state
    'waiting'
    """

    def __init__(
        self,
        store: Store,
        keys: Keys,
        clock: Clock | None = None,
        *,
        own: Mapping[str, Outlet] | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self.store, self.keys = store, keys
        self._entropy, self._receipt_key = entropy or Secure(), keys.secret("receipts")
        self._reading, self.book = Lock(), Book(generation=0)
        self.refresh()
        if not self.book.spaces:
            raise NotPossible(NO_SPACE)
        # Outlets are asked for inside transactions: they look at the last reading, and never at the store.
        self.vault = Vault(store, keys, SpaceOutlets(lambda: self.book, keys, own), clock)
        self.clock: Clock = self.vault.clock
        self.receipts = Gate(self.vault)

    def refresh(self) -> Book:
        """Read the book again if it has changed; the newest reading."""
        with self._reading:
            with self.store.transaction("reading") as transaction:
                row = transaction.one("generation")
                if row is not None and row["generation"] != self.book.generation:
                    self.book = read_book(transaction)
                    self._count_anew()
            return self.book

    def _count_anew(self) -> None:
        """Tick, window and labels may be others now; all policies have the same, so no table is asked."""
        if hasattr(self, "vault"):
            now = next(iter(self.book.spaces.values())).version.policy
            self.vault.settings = replace(
                self.vault.settings, tick=now.tick, window_ticks=now.window_ticks, labels=now.labels
            )

    def resumes_at(self, space: Space) -> Fraction | None:
        """When the pause before a new policy is over, in seconds since 1970; None: there is none."""
        with self.store.transaction("reading") as transaction:
            here = snapshot(transaction)
        length, first = here.settings.tick, space.version.first_tick
        now = now_tick(advance(here.anchor, self.clock.read(here.now)).time, length)
        return first * length if first > max(now, here.closed + 1) else None

    def admit(self, requests: Sequence[Request]) -> list[Answer]:
        """Accept requests in one transaction, each whole or not at all; what each is answered."""
        for _ in range(_TRIES):
            book = self.book
            prepared = [self._prepare(book, request) for request in requests]
            ready = [each for each in prepared if not isinstance(each, TarryError)]
            if not ready:
                return [each for each in prepared if isinstance(each, TarryError)]
            with self.store.transaction("admitting") as transaction:
                row = transaction.one("generation")
                fresh = row is not None and row["generation"] == book.generation
                answers = accept(transaction, self.vault, ready) if fresh else []
            if fresh:
                rest = iter(answers)
                told = (each if isinstance(each, TarryError) else next(rest) for each in prepared)
                return [_or_ended(book, *pair) for pair in zip(requests, told, strict=True)]
            self.refresh()
        raise Paused("this gateway's spaces are being changed: try again")

    def _prepare(self, book: Book, request: Request) -> list[Candidate] | TarryError:
        try:
            space = book.space(request.space)
            return [self._candidate(space, request, n, post) for n, post in enumerate(request.posts)]
        except TarryError as refusal:
            return refusal

    def _candidate(self, space: Space, request: Request, number: int, post: Post) -> Candidate:
        placed = Post(
            actor=f"{space.circle}/{post.actor}" if post.actor else "",
            target=post.target,
            outlet=space.name,
            content=post.content,
            options=post.options,
            track=post.track,
            more_to_come=post.more_to_come,
            depends_on=self._first(space, post.depends_on),
            space=space.name,
        )
        secret = body = None
        if request.key is not None:
            secret = self._secret(request, number)
            # Keyed with what is not stored: even with the store's key nobody can test a guess.
            body = blake2b(request.body, key=bytes.fromhex(secret), digest_size=16).digest()
        return prepare(self.vault, space.terms, self._entropy, placed, secret=secret, body=body)

    def _first(self, space: Space, first: str | int | None) -> str | int | None:
        """What a post waits for; what is visible already needs no waiting for."""
        if isinstance(first, str) and len(first) == _PUBLIC_ID:
            with self.store.transaction("reading") as transaction:
                if transaction.one("is_released", space=space.name, id=first):
                    return None
        return first

    def _secret(self, request: Request, number: int) -> str:
        """The receipt of a request that may come again: always the same, and nobody else can tell it."""
        parts = (request.sender, request.space.encode(), (request.key or "").encode(), str(number).encode())
        message = b"".join(len(part).to_bytes(8) + part for part in parts)
        return blake2b(message, key=self._receipt_key, digest_size=32).hexdigest()


def _or_ended(book: Book, request: Request, answer: Answer) -> Answer:
    """A space that has ended takes posts in at no later time; what it has accepted it still knows."""
    if isinstance(answer, Paused) and book.space(request.space).has_ended:
        return Paused(f"space {request.space!r} has ended: it takes no more posts")
    return answer
