"""Tokens: 256 random bits, shown once, stored as SHA-256, bound to scopes and spaces, revocable."""

import json
import re
import secrets
from collections.abc import Iterable
from hashlib import sha256

from tarry.core.errors import BadInput
from tarry.gateway.book import SCOPES, Book, NoSuchSpace, Scope, Token
from tarry.keep.store import Transaction

__all__ = ["add_token", "find_token", "is_token", "revoke_token", "token_hash"]

_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,100}")
_PREFIX = "tarry_"  # so that a leaked one is recognised for what it is
_TOKEN = re.compile(_PREFIX + "[0-9a-f]{64}")


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
    return _TOKEN.fullmatch(text) is not None


def find_token(book: Book, token: str) -> Token | None:
    """The record of a token, if there is one that was not revoked.

    >>> find_token(Book(generation=1), "tarry_...") is None
    True
    """
    return book.tokens.get(token_hash(token))


def add_token(
    transaction: Transaction, book: Book, name: str, scopes: Iterable[Scope], spaces: Iterable[str] = ()
) -> tuple[str, str]:
    """Make a token; its id, and the token itself, which nobody can be told again.

    >>> from tarry.gateway.book import read_book
    >>> from tarry.gateway.stores import open_store
    >>> with open_store(":memory:").transaction("closing") as transaction:
    ...     number, token = add_token(transaction, read_book(transaction), "the forum", ["submit"])
    ...     read_book(transaction).tokens[token_hash(token)].name
    'the forum'
    """
    scopes, spaces = sorted(set(scopes)), sorted(set(spaces))
    if not _NAME.fullmatch(name):
        raise BadInput("the name of a token", "is 1 to 100 characters on one line", found=repr(name))
    if not scopes or not set(scopes) <= set(SCOPES):
        raise BadInput("the scopes of a token", f"are some of {', '.join(SCOPES)}", found=repr(scopes))
    for space in spaces:
        if space not in book.spaces:
            raise NoSuchSpace(space)
    number, token = secrets.token_hex(6), _PREFIX + secrets.token_hex(32)
    transaction.tell(
        "insert_token",
        id=number,
        hash=token_hash(token),
        name=name,
        scopes=json.dumps(scopes),
        spaces=json.dumps(spaces),
    )
    transaction.tell("turn_page")
    return number, token


def revoke_token(transaction: Transaction, number: str) -> None:
    """Take a token's rights away, for good.

    >>> from tarry.gateway.stores import open_store
    >>> with open_store(":memory:").transaction("closing") as transaction:
    ...     revoke_token(transaction, "0123456789ab")
    Traceback (most recent call last):
    tarry.core.errors.BadInput: a token to revoke is one that is in use, found '0123456789ab'
    """
    if not transaction.run("revoke_token", id=number):
        raise BadInput("a token to revoke", "is one that is in use", found=repr(number))
    transaction.tell("turn_page")
