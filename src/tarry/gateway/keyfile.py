"""The file that holds a store's key: private, made once, and never inside the database."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from tarry.core.errors import BadInput, NotPossible
from tarry.keep.keys import KEY_BYTES, Keys, key_in, make_durable, new_key, write_private

__all__ = ["make_key", "read_key", "swap_key"]

#: Readable by others, or writable by anybody else. A group may read: service managers hand secrets on so.
_TOO_OPEN = stat.S_IRWXO | stat.S_IWGRP


def read_key(path: str | Path) -> Keys:
    """The key of a store.

    >>> read_key("/nowhere/key")
    Traceback (most recent call last):
    tarry.core.errors.NotPossible: there is no key file '/nowhere/key': put it back, or name it in key_file
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        told = f"there is no key file {str(path)!r}: put it back, or name it in key_file"
        raise NotPossible(told) from None
    except OSError as error:
        raise NotPossible(f"the key file {str(path)!r} cannot be read: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BadInput("the key file", "is a plain file", found=repr(str(path)))
        if status.st_mode & _TOO_OPEN:
            rights = f"{stat.S_IMODE(status.st_mode):o}"
            raise BadInput(
                "the key file", "is private", found=f"rights {rights}", fix=f"chmod 600 {str(path)!r}"
            )
        return Keys(key_in(os.read(descriptor, 4 * KEY_BYTES)))
    finally:
        os.close(descriptor)


def make_key(path: str | Path) -> Keys:
    """A new key in a new file that only its owner may read; one that is there is left alone.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     keys = make_key(f"{folder}/key")
    ...     read_key(f"{folder}/key").actor("ann") == keys.actor("ann")
    True
    """
    try:
        write_private(Path(path), f"{new_key().hex()}\n".encode())
    except OSError as error:
        raise NotPossible(f"no key file can be made at {str(path)!r}: {error.strerror}") from None
    return read_key(path)


def swap_key(path: Path, new: Path, old: Path) -> None:
    """Put a new key in the place of the one that is there, which is kept beside it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path, new, old = (Path(folder, name) for name in ("key", "key.new", "key.old"))
    ...     first, second = make_key(path), make_key(new)
    ...     swap_key(path, new, old)
    ...     read_key(path).seal == second.seal, read_key(old).seal == first.seal, new.exists()
    (True, True, False)
    """
    with suppress(FileExistsError):  # whoever was cut off had come that far
        os.link(path, old)
    new.replace(path)
    make_durable(path.parent)
