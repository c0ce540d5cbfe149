"""A store with its key, its encryption, its clock and its outlets: what everybody who works on it shares.

The key of a store is its own: with another one nobody is known again, and nothing can be opened. The store
keeps a mark that only its key gives, and from which nobody learns the key. Content is encrypted at rest by
AES-GCM from the `cryptography` package (`pip install 'tarry[fast]'`). Each text is bound to its post and
its field: a thief who can write to the database cannot swap one for another.
"""

import secrets
from collections.abc import Mapping
from typing import Protocol

from tarry.core.errors import NotPossible
from tarry.keep.errors import Unavailable
from tarry.keep.keys import Keys
from tarry.keep.outlet import Outlet
from tarry.keep.sharing import StoreSettings
from tarry.keep.store import Clock, Store, Transaction, advance, snapshot

__all__ = ["Open", "Seal", "Sealed", "Vault", "check_key", "own_key"]

_NONCE_BYTES = 12
_CHANGED = "the key or the encryption of this store was changed: start this program again"
_ANOTHER = (
    "this key is not the one that this store was begun with: put that key file back, or name it; or run "
    "tarry store rekey again, if it was cut off"
)


class Vault:
    """A founded store with its key and the outlets that posts may leave by.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import ListOutlet, ManualClock, memory_store
    >>> store = memory_store(Policy(epsilon="1", gap="11m", window="5m"))
    >>> Vault(store, Keys(bytes(32)), {"list": ListOutlet()}, ManualClock()).settings.window_ticks
    300
    """

    def __init__(
        self, store: Store, keys: Keys, outlets: Mapping[str, Outlet], clock: Clock | None = None
    ) -> None:
        self.store, self.keys, self.outlets = store, keys, outlets
        self.clock: Clock = clock or store.clock()
        check_key(store, keys)
        with store.transaction("reading") as transaction:
            self.settings: StoreSettings = snapshot(transaction).settings
        self._sealed = self.settings.sealed
        self.seal: Seal = Sealed(keys.seal) if self.settings.is_encrypted else Open()

    def follow(self, settings: StoreSettings) -> None:
        """Take over settings that another process may have changed; but not another key or encryption.

        What this process would seal nobody could open, and what it would open is no content.

        >>> from dataclasses import replace
        >>> from tarry.core.policy import Policy
        >>> from tarry.testing import memory_vault
        >>> vault = memory_vault(Policy(epsilon="1", gap="11m"))
        >>> vault.follow(replace(vault.settings, sealed=1))
        Traceback (most recent call last):
        tarry.keep.errors.Unavailable: the key or the encryption of this store was changed: start this \
program again
        """
        if settings.sealed != self._sealed:
            raise Unavailable(_CHANGED)
        self.settings = settings

    def now(self, transaction: Transaction) -> int:
        """The store's clock, in microseconds since 1970."""
        now = snapshot(transaction)
        self.follow(now.settings)
        return advance(now.anchor, self.clock.read(now.now)).time


def own_key(transaction: Transaction, keys: Keys) -> None:
    """Refuse a key that is not the store's; a store that has seen none yet takes this one as its own.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_store
    >>> store = memory_store(Policy(epsilon="1", gap="11m"))
    >>> with store.transaction("working") as transaction:
    ...     own_key(transaction, Keys(bytes(32)))
    ...     own_key(transaction, Keys(bytes(range(32))))
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: this key is not the one that this store was begun with: put that key \
file back, or name it; or run tarry store rekey again, if it was cut off
    """
    if not _is_own(transaction, keys):
        transaction.tell("mark_key", fingerprint=keys.fingerprint)
        _is_own(transaction, keys)  # somebody with another one may have been quicker


def check_key(store: Store, keys: Keys) -> None:
    """The same in transactions of its own; nothing is written where the mark is there.

    >>> from tarry.core.policy import Policy
    >>> from tarry.testing import memory_store
    >>> check_key(memory_store(Policy(epsilon="1", gap="11m")), Keys(bytes(32)))
    """
    with store.transaction("reading") as transaction:
        if _is_own(transaction, keys):
            return
    with store.transaction("working") as transaction:
        own_key(transaction, keys)


def _is_own(transaction: Transaction, keys: Keys) -> bool:
    """Whether this is the key; False if the store has seen none yet."""
    row = transaction.one("fingerprint")
    if row is None or row["fingerprint"] is None:
        return False
    if bytes(row["fingerprint"]) != keys.fingerprint:
        raise NotPossible(_ANOTHER)
    return True


class Seal(Protocol):
    """How content is stored."""

    def shut(self, post: int, field: str, plain: bytes) -> bytes:
        """The bytes to store."""
        ...

    def open(self, post: int, field: str, stored: bytes) -> bytes:
        """The content again."""
        ...


class Open:
    """No encryption: the bytes as they are.

    >>> Open().open(1, "content", Open().shut(1, "content", b"hello"))
    b'hello'
    """

    def shut(self, post: int, field: str, plain: bytes) -> bytes:  # noqa: ARG002 - one shape for both
        """The bytes to store."""
        return plain

    def open(self, post: int, field: str, stored: bytes) -> bytes:  # noqa: ARG002 - one shape for both
        """The content again."""
        return bytes(stored)


class Sealed:
    """AES-256-GCM with a fresh nonce for each text.

    >>> seal = Sealed(bytes(32))
    >>> seal.open(1, "content", seal.shut(1, "content", b"hello"))
    b'hello'
    """

    def __init__(self, key: bytes) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - an extra
        except ImportError:
            raise NotPossible(
                "encrypted content needs the package cryptography: pip install 'tarry[fast]'"
            ) from None
        self._cipher = AESGCM(key)

    def shut(self, post: int, field: str, plain: bytes) -> bytes:
        """The bytes to store."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, plain, _name(post, field))

    def open(self, post: int, field: str, stored: bytes) -> bytes:
        """The content again."""
        stored = bytes(stored)
        return self._cipher.decrypt(stored[:_NONCE_BYTES], stored[_NONCE_BYTES:], _name(post, field))


def _name(post: int, field: str) -> bytes:
    return f"{post} {field}".encode()
