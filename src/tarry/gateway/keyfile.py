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
        raise NotPossible(
            f"there is no key file {str(path)!r}: put it back, or name it in key_file"
        ) from None
    except OSError as error:
        raise NotPossible(f"the key file {str(path)!r} cannot be read: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BadInput(f"the key file must be a plain file, not {str(path)!r}")
        if status.st_mode & _TOO_OPEN:
            mode = f"{stat.S_IMODE(status.st_mode):o}"
            raise BadInput(
                f"the key file {str(path)!r} is open to others (mode {mode})", f"chmod 600 {path}"
            )
        return Keys(key_in(os.read(descriptor, 4 * KEY_BYTES)))
    finally:
        os.close(descriptor)


def make_key(path: str | Path) -> Keys:
    """A new key in a new file that only its owner may read; an existing file is left alone.

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
    """Replace a key by a new one; the old one is kept beside it.

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
