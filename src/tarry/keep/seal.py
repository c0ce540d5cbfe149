"""Content encrypted at rest, with a key outside the database.

AES-GCM from the `cryptography` package (`pip install 'tarry[fast]'`). Each text is bound to its post
and its field: a thief who can write to the database cannot swap one for another.
"""

import secrets
from typing import Protocol

from tarry.core.errors import NotPossible

__all__ = ["Open", "Seal", "Sealed"]

_NONCE_BYTES = 12


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
