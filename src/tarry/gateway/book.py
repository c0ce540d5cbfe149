"""The book: spaces, their policies and the tokens, as one reading of the tables.

Every server keeps a copy. A generation counts the changes; an admission compares it inside its transaction,
so nothing is ever admitted under a policy that another server has replaced.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, Literal, get_args

from tarry.core.errors import TarryError
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy
from tarry.keep.candidates import Adoption, Terms
from tarry.keep.store import Transaction

__all__ = ["NO_SPACE", "SCOPES", "Book", "NoSuchSpace", "Scope", "Space", "Token", "Version", "read_book"]

#: What a token allows: hand posts in; look after what is parked, pause and withdraw; everything.
Scope = Literal["submit", "operate", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
#: What is said where there is nothing yet.
NO_SPACE = "this gateway has no space yet: make one with tarry space add"


class NoSuchSpace(TarryError):
    """This gateway has no such space.

    >>> print(NoSuchSpace("talk"))
    this gateway has no space 'talk'
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"this gateway has no space {name!r}")


@dataclass(frozen=True, kw_only=True)
class Version:
    """One policy of a space.

    >>> Version(number=1, text='epsilon = "1"', first_tick=0).number
    1
    """

    number: int  # from 1 on
    text: str  # the policy file
    first_tick: int  # the first arrival that it may have

    @property
    def policy(self) -> Policy:
        """The policy that the text tells."""
        return _policy(self.text)


@dataclass(frozen=True, kw_only=True)
class Space:
    """A forum, a review system, a wiki: where posts appear.

    >>> version = Version(number=1, text="", first_tick=0)
    >>> space = Space(name="talk", title="Talk", circle="all", outlet={"kind": "feed"}, versions=(version,))
    >>> space.version.number
    1
    """

    name: str  # as in its address
    title: str  # for people
    circle: str  # spaces of one circle share their actors, and labels look over all of them
    outlet: Mapping[str, Any]  # its kind, and what it needs
    versions: tuple[Version, ...]  # every policy it has had; the last one holds
    adoption: Adoption = "everyone"  # whose posts are delayed
    is_open: bool = True  # False: an operator has paused admission
    ended_tick: int | None = None  # it has ended: no arrival was later; None: it goes on

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is taken in, for good."""
        return self.ended_tick is not None

    def period(self, version: Version) -> str:
        """What the ledger counts acts under this version by."""
        return f"{self.name} {version.number}"

    @property
    def version(self) -> Version:
        """The policy that holds, or will when the pause before it is over."""
        return self.versions[-1]

    @cached_property
    def terms(self) -> Terms:
        """What a post to this space is admitted under."""
        now = self.version
        return Terms(now.policy, self.period(now), now.first_tick, self.adoption, self.is_open)


@dataclass(frozen=True, kw_only=True)
class Token:
    """Somebody's right to use the gateway.

    >>> token = Token(id="ab", hash=b"", name="the forum", scopes=frozenset({"submit"}), spaces=frozenset())
    >>> token.allows("submit", "talk"), token.allows("operate", "talk")
    (True, False)
    """

    id: str  # to name it by
    hash: bytes  # SHA-256
    name: str  # who has it
    scopes: frozenset[Scope]
    spaces: frozenset[str]  # empty: all of them

    def allows(self, scope: Scope, space: str | None = None) -> bool:
        """Whether it may be used for this; without a space, for the gateway as a whole."""
        if not ({scope, "admin"} & self.scopes):
            return False
        return not self.spaces or (space is not None and space in self.spaces)


@dataclass(frozen=True, kw_only=True)
class Book:
    """One reading of spaces and tokens.

    >>> Book(generation=1).space("talk")
    Traceback (most recent call last):
    tarry.gateway.book.NoSuchSpace: this gateway has no space 'talk'
    """

    generation: int
    spaces: Mapping[str, Space] = field(default_factory=dict)
    tokens: Mapping[bytes, Token] = field(default_factory=dict)  # by their hash

    def space(self, name: str) -> Space:
        """The space of this name."""
        if (space := self.spaces.get(name)) is None:
            raise NoSuchSpace(name)
        return space


def read_book(transaction: Transaction) -> Book:
    """Read spaces and tokens.

    >>> from tarry.gateway.stores import ROOMS
    >>> from tarry.keep.sqlite import SqliteStore
    >>> with SqliteStore(":memory:", ROOMS).transaction("reading") as transaction:
    ...     read_book(transaction).generation
    1
    """
    row = transaction.one("generation")
    versions: dict[str, list[Version]] = {}
    for each in transaction.all("versions"):
        versions.setdefault(each["space"], []).append(
            Version(number=each["version"], text=each["policy"], first_tick=each["first_tick"])
        )
    spaces = {
        each["name"]: Space(
            name=each["name"],
            title=each["title"],
            circle=each["circle"],
            outlet=json.loads(each["outlet"]),
            versions=tuple(versions[each["name"]]),
            adoption=each["adoption"],
            is_open=bool(each["is_open"]),
            ended_tick=each["ended_tick"],
        )
        for each in transaction.all("spaces")
    }
    tokens = {
        bytes(each["hash"]): Token(
            id=each["id"],
            hash=bytes(each["hash"]),
            name=each["name"],
            scopes=frozenset(json.loads(each["scopes"])),
            spaces=frozenset(json.loads(each["spaces"])),
        )
        for each in transaction.all("tokens")
    }
    generation = 0 if row is None else int(row["generation"])
    return Book(generation=generation, spaces=MappingProxyType(spaces), tokens=MappingProxyType(tokens))


@lru_cache(maxsize=1024)
def _policy(text: str) -> Policy:
    """The same text gives the same object: building the laws of a policy takes a while."""
    return read_policy(text)
