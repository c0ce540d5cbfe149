"""Keyed hashes: what the store knows people by. The key lies outside the database.

Labels compare actors and targets for equality and never need their names, so the store has no names
to lose: with a stolen database alone, nobody can test a guess.
"""

import hmac
import secrets
from hashlib import sha256

from tarry.core.errors import BadInput

__all__ = ["KEY_BYTES", "Keys", "new_key", "new_receipt", "receipt_hash"]

KEY_BYTES = 32
_HASH_BYTES = 16


def new_key() -> bytes:
    """A fresh secret for a store.

    >>> len(new_key())
    32
    """
    return secrets.token_bytes(KEY_BYTES)


def new_receipt() -> str:
    """A receipt: a secret of 256 bits that proves whose post it is.

    >>> len(new_receipt())
    43
    """
    return secrets.token_urlsafe(32)


def receipt_hash(receipt: str) -> bytes:
    """What the store keeps of a receipt. The secret is random, so a plain hash hides it.

    >>> len(receipt_hash("a receipt"))
    32
    """
    return sha256(receipt.encode()).digest()


class Keys:
    """The hashes of one store, each kind with a key of its own, so that no two can be matched.

    >>> keys = Keys(bytes(32))
    >>> keys.actor("ann") == keys.actor("ann"), keys.actor("ann") == keys.account(keys.actor("ann"))
    (True, False)
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise BadInput("a store's key", f"has {KEY_BYTES} bytes", found=f"{len(key)} bytes")
        self._actor, self._pseudonym, self._account, self._public, self.seal = (
            hmac.digest(key, purpose, "sha256")
            for purpose in (b"actor", b"pseudonym", b"account", b"public id", b"seal")
        )

    def actor(self, actor: str) -> bytes:
        """What labels know an actor by, until erasure.

        >>> len(Keys(bytes(32)).actor("ann"))
        16
        """
        return hmac.digest(self._actor, actor.encode(), "sha256")[:_HASH_BYTES]

    def pseudonym(self, actor: str, target: str) -> bytes:
        """What a repost is known by: the actor on this target.

        The length goes first: "ab" on "c" is not "a" on "bc".

        >>> Keys(bytes(32)).pseudonym("ab", "c") == Keys(bytes(32)).pseudonym("a", "bc")
        False
        """
        name = actor.encode()
        message = len(name).to_bytes(8) + name + target.encode()
        return hmac.digest(self._pseudonym, message, "sha256")[:_HASH_BYTES]

    def account(self, actor: bytes) -> bytes:
        """What the ledger knows an actor by, made from the hash that labels use.

        >>> len(Keys(bytes(32)).account(b"x" * 16))
        16
        """
        return hmac.digest(self._account, actor, "sha256")[:_HASH_BYTES]

    def public_id(self, post: int) -> str:
        """The name under which a post is delivered: the same at every try, and no number of ours.

        >>> len(Keys(bytes(32)).public_id(7))
        32
        """
        message = post.to_bytes(8, signed=True)
        return hmac.digest(self._public, message, "sha256")[:_HASH_BYTES].hex()
