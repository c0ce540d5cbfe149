"""A private folder for a run: what is finished stays there, so that a killed run goes on where it was."""

import fcntl
import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from tarry.core.errors import BadInput, TarryError

__all__ = ["SORTING", "Scratch", "scratch_for"]

#: Where a sort puts aside what does not fit into its memory.
SORTING = "sorting"
_LOCK = "lock"


class Scratch:
    """One run's folder. A file in it is whole or not there.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     scratch = Scratch(Path(folder))
    ...     scratch.write("done", {"events": 3})
    ...     scratch.read("done"), scratch.read("other")
    ({'events': 3}, None)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, name: str) -> Path:
        """Where a file of this name is."""
        return self.folder / name

    def write(self, name: str, plain: Mapping[str, Any]) -> None:
        """Keep some plain values."""
        with self.whole(name) as draft:
            draft.write_text(json.dumps(plain), encoding="utf-8")

    def read(self, name: str) -> dict[str, Any] | None:
        """What was kept; None where nothing was."""
        try:
            plain: dict[str, Any] = json.loads(self.path(name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return plain

    @contextmanager
    def whole(self, name: str) -> Iterator[Path]:
        """A draft, which gets its name when it is whole."""
        draft = self.path(f"{name}.{os.getpid()}.draft")
        yield draft
        draft.replace(self.path(name))

    def drop(self, beginning: str) -> None:
        """Remove the files whose names begin so."""
        for path in self.folder.glob(f"{beginning}*"):
            path.unlink(missing_ok=True)

    def drop_drafts(self) -> None:
        """Remove what a killed run did not finish: drafts, and what a sort had put aside."""
        for draft in self.folder.glob("*.draft"):
            draft.unlink(missing_ok=True)
        shutil.rmtree(self.path(SORTING), ignore_errors=True)

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def scratch_for(what: str, parent: Path | None = None) -> Iterator[Scratch]:
    """The folder of this very run, which nobody else reads, and no other run uses at the same time.

    `what` says all that the run depends on. The folder is removed at the end, and after a refusal; it stays
    where a run is killed or breaks off, for the next one.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, scratch_for("a run", Path(folder)) as scratch:
    ...     oct(scratch.folder.stat().st_mode & 0o777)
    '0o700'
    """
    digest = blake2b(what.encode(), digest_size=12).hexdigest()
    folder = (Path(gettempdir()) if parent is None else parent) / f"tarry-{os.getuid()}-{digest}"
    _make_private(folder)
    with (folder / _LOCK).open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BadInput(
                "another run of the same audit uses the scratch folder",
                "wait for it, or give another --scratch",
            ) from None
        scratch = Scratch(folder)
        scratch.drop_drafts()
        try:
            yield scratch
        except TarryError:
            scratch.remove()
            raise
        scratch.remove()


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise BadInput(
            f"the scratch folder {str(folder.parent)!r} cannot be written", "give another with --scratch"
        ) from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise BadInput(
            f"the scratch folder {str(folder)!r} is not private to this user",
            "remove it, or give another --scratch",
        )
