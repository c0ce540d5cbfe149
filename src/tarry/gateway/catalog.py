"""The catalog: spaces, their policies and the tokens, as one reading of the tables.

Every server keeps a copy. A generation counts the changes; an admission compares it inside its transaction,
so nothing is ever admitted under a policy that another server has replaced.
"""

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Literal, get_args

from tarry.core.errors import BadInput, TarryError
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy
from tarry.keep.admission import Adoption, Terms
from tarry.keep.store import Transaction

__all__ = [
    "NO_SPACE",
    "SCOPES",
    "Catalog",
    "NoSuchSpace",
    "NoSuchToken",
    "PolicyVersion",
    "Scope",
    "Space",
    "Token",
    "add_token",
    "find_token",
    "generation_of",
    "is_token",
    "read_catalog",
    "revoke_token",
    "token_hash",
]

#: What a token allows: submit posts; look after parked posts, pause and withdraw; make and change spaces
#: that have a feed; everything.
Scope = Literal["submit", "operate", "spaces", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
#: The message for a gateway without any space.
NO_SPACE = "this gateway has no space yet: make one with tarry space add"
_PREFIX = "tarry_"  # so that a leaked token is recognised


class NoSuchSpace(TarryError):
    """This gateway has no such space.

    >>> print(NoSuchSpace("talk"))
    this gateway has no space 'talk': check its name
    """

    def __init__(self, name: str) -> None:
        super().__init__(f"this gateway has no space {name[:100]!r}: check its name")


class NoSuchToken(BadInput):
    """No token in use has this id.

    >>> print(NoSuchToken("0123456789ab"))
    no token in use has the id '0123456789ab': tarry token list shows them
    """

    def __init__(self, token_id: str) -> None:
        super().__init__(f"no token in use has the id {token_id!r}", "tarry token list shows them")


@dataclass(frozen=True, kw_only=True)
class PolicyVersion:
    """One policy of a space.

    >>> PolicyVersion(number=1, text='epsilon = "1"', first_tick=0).number
    1
    """

    number: int  # from 1 on
    text: str  # the policy file
    first_tick: int  # the first arrival that it applies to

    @property
    def policy(self) -> Policy:
        """The policy in the text."""
        return _policy(self.text)

    @property
    def begins_at(self) -> Fraction:
        """The moment of that arrival, in seconds since 1970."""
        return self.first_tick * self.policy.tick


@dataclass(frozen=True, kw_only=True)
class Space:
    """A forum, a review system, a wiki: where posts appear.

    >>> version = PolicyVersion(number=1, text="", first_tick=0)
    >>> space = Space(name="talk", title="Talk", circle="all", outlet={"kind": "feed"}, versions=(version,))
    >>> space.version.number
    1
    """

    name: str  # as in its address
    title: str  # for people
    circle: str  # spaces of one circle share their actors, and labels look over all of them
    outlet: Mapping[str, Any]  # its kind, and the settings of that kind
    versions: tuple[PolicyVersion, ...]  # every policy it has had; the last one is in force
    adoption: Adoption = "everyone"  # whose posts are delayed
    is_open: bool = True  # False: an operator has paused admission
    ended_tick: int | None = None  # it has ended: no arrival was later; None: it goes on

    @property
    def has_ended(self) -> bool:
        """Whether it accepts nothing any more."""
        return self.ended_tick is not None

    def period(self, version: PolicyVersion) -> str:
        """The key under which the ledger counts acts under this version."""
        return f"{self.name} {version.number}"

    @property
    def version(self) -> PolicyVersion:
        """The policy in force, or the one that will be when the pause before it is over."""
        return self.versions[-1]

    def resumes_at(self, tick: int) -> Fraction | None:
        """When the pause before a new policy is over, seen from a tick; None: there is no pause."""
        return self.version.begins_at if self.version.first_tick > tick else None

    @cached_property
    def terms(self) -> Terms:
        """The terms under which a post to this space is admitted."""
        now = self.version
        return Terms(now.policy, self.period(now), now.first_tick, self.adoption, self.is_open)


@dataclass(frozen=True, kw_only=True)
class Token:
    """Somebody's right to use the gateway.

    >>> token = Token(id="ab", hash=b"", name="the forum", scopes=frozenset({"submit"}), spaces=frozenset())
    >>> token.allows("submit", "talk"), token.allows("operate", "talk")
    (True, False)
    """

    id: str  # public
    hash: bytes  # SHA-256 of the token
    name: str  # who has it
    scopes: frozenset[Scope]
    spaces: frozenset[str]  # empty: all of them

    def allows(self, scope: Scope, space: str | None = None) -> bool:
        """Whether it may be used for this scope; without a space, for the gateway as a whole."""
        return bool({scope, "admin"} & self.scopes) and (not self.spaces or space in self.spaces)


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """One reading of spaces and tokens.

    >>> Catalog(generation=1).space("talk")
    Traceback (most recent call last):
    tarry.gateway.catalog.NoSuchSpace: this gateway has no space 'talk': check its name
    """

    generation: int
    spaces: Mapping[str, Space] = field(default_factory=dict)
    tokens: Mapping[bytes, Token] = field(default_factory=dict)  # by their hash

    def space(self, name: str) -> Space:
        """The space of this name."""
        if (space := self.spaces.get(name)) is None:
            raise NoSuchSpace(name)
        return space


def read_catalog(transaction: Transaction) -> Catalog:
    """Read spaces and tokens.

    >>> from tarry.gateway.database import open_store
    >>> with open_store(":memory:").transaction("reading") as transaction:
    ...     read_catalog(transaction).generation
    1
    """
    versions: dict[str, list[PolicyVersion]] = {}
    for row in transaction.all("versions"):
        versions.setdefault(row["space"], []).append(
            PolicyVersion(number=row["version"], text=row["policy"], first_tick=row["first_tick"])
        )
    spaces = (
        Space(
            name=row["name"],
            title=row["title"],
            circle=row["circle"],
            outlet=json.loads(row["outlet"]),
            versions=tuple(versions[row["name"]]),
            adoption=row["adoption"],
            is_open=bool(row["is_open"]),
            ended_tick=row["ended_tick"],
        )
        for row in transaction.all("spaces")
    )
    tokens = (
        Token(
            id=row["id"],
            hash=bytes(row["hash"]),
            name=row["name"],
            scopes=frozenset(json.loads(row["scopes"])),
            spaces=frozenset(json.loads(row["spaces"])),
        )
        for row in transaction.all("tokens")
    )
    return Catalog(
        generation=generation_of(transaction),
        spaces=MappingProxyType({space.name: space for space in spaces}),
        tokens=MappingProxyType({token.hash: token for token in tokens}),
    )


def generation_of(transaction: Transaction) -> int:
    """How often spaces, policies and tokens have changed.

    >>> from tarry.gateway.database import open_store
    >>> with open_store(":memory:").transaction("reading") as transaction:
    ...     generation_of(transaction)
    1
    """
    row = transaction.one("generation")
    return 0 if row is None else int(row["generation"])


#: The same text gives the same object: building the laws of a policy takes a while.
_policy = lru_cache(maxsize=1024)(read_policy)


# --- tokens: 256 random bits, shown once, stored as SHA-256, bound to scopes and spaces, revocable --------


def token_hash(token: str) -> bytes:
    """What is stored of a token. It is random, so a plain hash hides it.

    >>> len(token_hash("tarry_..."))
    32
    """
    return sha256(token.encode()).digest()


def is_token(text: str) -> bool:
    """Whether a text looks like a token: 64 hexadecimal digits after a prefix.

    >>> is_token("tarry_" + "0" * 64), is_token("secret")
    (True, False)
    """
    return re.fullmatch(f"{_PREFIX}[0-9a-f]{{64}}", text) is not None


def find_token(catalog: Catalog, token: str) -> Token | None:
    """The record of a token, if there is one that was not revoked.

    >>> find_token(Catalog(generation=1), "tarry_...") is None
    True
    """
    return catalog.tokens.get(token_hash(token))


def add_token(
    transaction: Transaction,
    catalog: Catalog,
    name: str,
    scopes: Iterable[Scope],
    spaces: Iterable[str] = (),
) -> tuple[str, str]:
    """Make a token; its id, and the token itself, which is stored nowhere and cannot be shown again.

    >>> from tarry.gateway.database import open_store
    >>> with open_store(":memory:").transaction("closing") as transaction:
    ...     token_id, token = add_token(transaction, read_catalog(transaction), "the forum", ["submit"])
    ...     read_catalog(transaction).tokens[token_hash(token)].name
    'the forum'
    """
    scopes, spaces = sorted(set(scopes)), sorted(set(spaces))
    if not re.fullmatch(r"[^\x00-\x1f\x7f]{1,100}", name):
        raise BadInput(f"the name of a token must have 1 to 100 characters on one line, not {name!r}")
    if not scopes or not set(scopes) <= set(SCOPES):
        raise BadInput(f"the scopes of a token must be some of {', '.join(SCOPES)}, not {scopes!r}")
    for space in spaces:
        catalog.space(space)
    token_id, token = secrets.token_hex(6), _PREFIX + secrets.token_hex(32)
    transaction.tell(
        "insert_token",
        id=token_id,
        hash=token_hash(token),
        name=name,
        scopes=json.dumps(scopes),
        spaces=json.dumps(spaces),
    )
    transaction.tell("count_change")
    return token_id, token


def revoke_token(transaction: Transaction, token_id: str) -> None:
    """Revoke a token, for good.

    >>> from tarry.gateway.database import open_store
    >>> with open_store(":memory:").transaction("closing") as transaction:
    ...     revoke_token(transaction, "0123456789ab")
    Traceback (most recent call last):
    tarry.gateway.catalog.NoSuchToken: no token in use has the id '0123456789ab': tarry token list shows \
them
    """
    if not transaction.run("revoke_token", id=token_id):
        raise NoSuchToken(token_id)
    transaction.tell("count_change")
