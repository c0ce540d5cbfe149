"""What the key of a store makes: hashes, which it knows people by, and seals over content.

The key lies outside the database, in a private file.

Labels compare actors and targets for equality and never need their names, so the store has no names to
lose: with a stolen database alone, nobody can test a guess. The hash is BLAKE2b with a key (RFC 7693).

Content is encrypted at rest by AES-GCM from the `cryptography` package (`pip install cryptography`). Each
text is bound to its post and its field: a thief who can write to the database cannot swap one for another.
"""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Protocol

from tarry.core.entropy import forks
from tarry.core.errors import BadInput, NotPossible

__all__ = [
    "KEY_BYTES",
    "Keys",
    "Open",
    "Seal",
    "Sealed",
    "ctr_reader",
    "key_in",
    "make_durable",
    "new_key",
    "new_receipt",
    "post_key",
    "receipt_hash",
    "replace_private",
    "under_receipt",
    "write_private",
]

KEY_BYTES = 32
_NONCE_BYTES = 12
_HASH_BYTES = 16
_RECEIPT = blake2b(digest_size=32, person=b"tarry receipt")
_MASK = blake2b(digest_size=_HASH_BYTES, person=b"tarry pseudonym")


def new_key() -> bytes:
    """A fresh secret for a store.

    >>> len(new_key())
    32
    """
    return secrets.token_bytes(KEY_BYTES)


def key_in(content: bytes) -> bytes:
    r"""The key that a file holds: 32 bytes, or 64 hexadecimal digits with a line end or without.

    >>> key_in(bytes(32)) == key_in(b"00" * 32 + b"\n")
    True
    """
    if len(content) == KEY_BYTES:
        return content
    try:
        key = bytes.fromhex(content.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise BadInput(
            f"the key file must hold {KEY_BYTES} bytes, raw or as {2 * KEY_BYTES} hexadecimal digits",
            "put the file back that the store was begun with",
        )
    return key


def new_receipt() -> str:
    """A receipt: a secret of 256 bits that proves whose post it is.

    >>> len(new_receipt())
    64
    """
    return os.urandom(32).hex()


def receipt_hash(receipt: str) -> bytes:
    """What the store keeps of a receipt. The secret is random, so a plain hash hides it.

    >>> len(receipt_hash("a receipt"))
    32
    """
    return _hashed(_RECEIPT, receipt.encode())


def post_key(hashed: bytes) -> int:
    """The key of a post: random, because the receipt is, and found from it without an index.

    >>> post_key(receipt_hash("a receipt")) < 1 << 63
    True
    """
    return int.from_bytes(hashed[:8]) >> 1


def under_receipt(receipt: str, pseudonym: bytes) -> bytes:
    """A pseudonym's hash sealed under its post's receipt; applied to the sealed one, the hash again.

    A receipt is random, belongs to one post and is not stored: without it the sealed hash is random bytes,
    also to somebody who has the store's key and tries names.

    >>> under_receipt("a receipt", under_receipt("a receipt", b"somebody on this"))
    b'somebody on this'
    """
    mask = int.from_bytes(_hashed(_MASK, receipt.encode()))
    return (mask ^ int.from_bytes(pseudonym)).to_bytes(_HASH_BYTES)


class Keys:
    """The hashes of one store, each kind with a key of its own, so that no two can be matched.

    >>> keys = Keys(bytes(32))
    >>> keys.actor("ann") == keys.actor("ann"), keys.actor("ann") == keys.account(keys.actor("ann"))
    (True, False)
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise BadInput(f"the key of a store must have {KEY_BYTES} bytes, not {len(key)}")
        self._key = key
        # Hashes that have taken their keys in: going on from these is half the work of beginning anew.
        self.seal = self.secret("seal")
        self._actor, self._pseudonym, self._account, self._login, self._legacy, self._public = (
            blake2b(key=self.secret(purpose), digest_size=_HASH_BYTES)
            for purpose in ("actor", "pseudonym", "account", "login", "legacy", "public id")
        )

    def __reduce__(self) -> tuple[object, ...]:
        """A copy, also one for another process, is made from the key."""
        return Keys, (self._key,)

    def secret(self, purpose: str) -> bytes:
        """A secret of its own for each purpose; from one nobody learns another.

        >>> Keys(bytes(32)).secret("receipts") == Keys(bytes(32)).secret("webhook of talk")
        False
        """
        return blake2b(purpose.encode(), key=self._key, digest_size=KEY_BYTES).digest()

    @property
    def fingerprint(self) -> bytes:
        """What a store knows its key by; the key is random, so nobody finds it from this.

        >>> Keys(bytes(32)).fingerprint == Keys(bytes(range(32))).fingerprint
        False
        """
        return self.secret("fingerprint")

    def actor(self, actor: str) -> bytes:
        """What labels know an actor by, until erasure.

        >>> len(Keys(bytes(32)).actor("ann"))
        16
        """
        return _hashed(self._actor, actor.encode())

    def pseudonym(self, actor: str, target: str) -> bytes:
        """What a repost is known by: the actor on this target.

        The length goes first: "ab" on "c" is not "a" on "bc".

        >>> Keys(bytes(32)).pseudonym("ab", "c") == Keys(bytes(32)).pseudonym("a", "bc")
        False
        """
        name = actor.encode()
        return _hashed(self._pseudonym, len(name).to_bytes(8) + name + target.encode())

    def account(self, actor: bytes) -> bytes:
        """What the ledger knows an actor by, made from the hash that labels use.

        >>> len(Keys(bytes(32)).account(b"x" * 16))
        16
        """
        return _hashed(self._account, actor)

    def login(self, account: str) -> bytes:
        """What a lockout knows an account at some place by.

        >>> len(Keys(bytes(32)).login("https://wiki.example/api.php Nym@tarry"))
        16
        """
        return _hashed(self._login, account.encode(errors="surrogatepass"))

    def legacy_login(self, post: int, account: str) -> bytes:
        """What a withdrawn post knows its account by: another hash for each post, or it would group them.

        >>> Keys(bytes(32)).legacy_login(1, "Nym") == Keys(bytes(32)).legacy_login(2, "Nym")
        False
        """
        return _hashed(self._legacy, post.to_bytes(8, signed=True) + self.login(account))

    def public_id(self, post: int) -> str:
        """The name under which a post is delivered: the same at every try, and no number of ours.

        >>> len(Keys(bytes(32)).public_id(7))
        32
        """
        return _hashed(self._public, post.to_bytes(8, signed=True)).hex()


def _hashed(begun: blake2b, message: bytes) -> bytes:
    hasher = begun.copy()
    hasher.update(message)
    return hasher.digest()


class Seal(Protocol):
    """How content is stored."""

    def shut(self, post: int, field: str, plain: bytes) -> bytes:
        """The bytes to store."""

    def open(self, post: int, field: str, stored: bytes) -> bytes:
        """The content again."""


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
                "encrypted content needs the package cryptography: pip install cryptography"
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


def ctr_reader() -> Callable[[int], bytes]:
    """Bytes of AES-256 in counter mode under a key from the operating system: faster in bulk.

    Needs `cryptography` (`pip install cryptography`) and says so when it is missing. A process that
    forked takes a new key before its first byte.

    >>> len(ctr_reader()(16))
    16
    """
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: PLC0415 - an extra
    except ImportError:
        raise BadInput(
            "drawing in bulk needs the package cryptography",
            "run pip install cryptography, or read from os.urandom",
        ) from None

    def start() -> tuple[int, Lock, Callable[[bytes], bytes]]:
        cipher = Cipher(algorithms.AES256(os.urandom(32)), modes.CTR(os.urandom(16)))
        return forks(), Lock(), cipher.encryptor().update

    state = start()

    def read(size: int) -> bytes:
        nonlocal state
        if state[0] != forks():
            state = start()
        _, lock, update = state
        with lock:
            return update(bytes(size))

    return read


# --- private files: for their owner alone, whole or not there at all, on the disk when written ------------


def write_private(path: Path, content: bytes) -> bool:
    """Make a new private file; False if there is one already, which is left alone.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "key")
    ...     write_private(path, b"first"), write_private(path, b"second"), path.read_bytes()
    (True, False, b'first')
    """
    with _draft(path, content) as draft:
        try:
            os.link(draft, path)
        except FileExistsError:
            return False
    make_durable(path.parent)
    return True


def replace_private(path: Path, content: bytes) -> None:
    """Write a private file, in the place of the one that is there.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "policy.toml")
    ...     replace_private(path, b"new")
    ...     path.stat().st_mode & 0o777 == 0o600
    True
    """
    with _draft(path, content) as draft:
        draft.replace(path)
    make_durable(path.parent)


def make_durable(folder: Path) -> None:
    """Write the names in a folder to the disk.

    >>> make_durable(Path("/tmp"))
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _draft(path: Path, content: bytes) -> Iterator[Path]:
    """A private file beside it, gone afterwards whatever happens."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        yield draft
    except OSError as error:
        if error.filename is None:  # a full disk does not say what could not be written
            error.filename = str(path)
        raise
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()
