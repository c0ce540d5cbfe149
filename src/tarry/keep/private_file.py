"""Private files: readable by their owner alone, whole or not there at all, and on the disk when written."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["make_durable", "replace_private", "write_private"]


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
        with contextlib.suppress(FileNotFoundError):
            draft.unlink()
