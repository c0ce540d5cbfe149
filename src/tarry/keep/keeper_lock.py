"""Who keeps one person's own store: a lock that its keeper holds, and a note in it for other commands.

The note is written over the one before it, so that a full disk has room for it. A keeper that ends in good
order leaves it blank: what stands there while nobody holds the lock was left by a keeper that died.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["KeeperState", "Keeping", "held_lock", "lock_for_child", "read_state"]

_SIZE = 4096  # of the note
_LONGEST = 300  # characters of a sentence: each takes twelve bytes of the note at most


@dataclass(frozen=True)
class KeeperState:
    """How the keeper of a store stands.

    >>> KeeperState(runs=False).died
    False
    """

    runs: bool
    pid: int | None = None  # of the one that runs; None while it starts
    died: bool = False  # none runs, and the last one was not told to end
    said: str | None = None  # the last sentence it said: about an outage or a failure, never an arrival


class Keeping:
    """The lock of a store, held by this process.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "lock")
    ...     with held_lock(path) as keeping:
    ...         keeping.note(pid=7, said="all is well")
    ...         read_state(path)
    KeeperState(runs=True, pid=7, died=False, said='all is well')
    """

    def __init__(self, lock: int) -> None:
        self.lock = lock

    def note(self, *, pid: int | None, said: str | None = None) -> None:
        """Tell other commands how it stands, as far as the disk lets us."""
        self._write(json.dumps({"pid": pid, "said": said and said[:_LONGEST]}))

    def end(self) -> None:
        """In good order: nothing is left to say."""
        self._write("")

    def _write(self, note: str) -> None:
        with suppress(OSError):
            os.pwrite(self.lock, note.encode().ljust(_SIZE), 0)

    def touch(self) -> None:
        """Make the times of the file say nothing of when the keeper began, which is when an act came in."""
        with suppress(OSError):
            os.utime(self.lock)

    def is_at(self, path: Path) -> bool:
        """Whether this is still the lock at that place: its folder may have been deleted and made anew."""
        try:
            return os.path.samestat(os.fstat(self.lock), path.stat())
        except OSError:
            return False


@contextmanager
def held_lock(path: Path, inherited: int | None = None) -> Iterator[Keeping | None]:
    """Hold the lock, or the one that was `inherited` from the process before; None if another one has it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "lock")
    ...     with held_lock(path) as mine, held_lock(path) as another:
    ...         mine is None, another is None
    (False, True)
    """
    with _opened(path, inherited) as lock:
        keeping = Keeping(lock) if _taken(lock) else None
        yield keeping
        if keeping is not None:
            keeping.end()


@contextmanager
def lock_for_child(path: Path) -> Iterator[int | None]:
    """The lock, for a keeper that is started meanwhile and inherits it; None if another one has it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "lock")
    ...     with lock_for_child(path):
    ...         during = read_state(path).runs
    ...     during, read_state(path).died
    (True, True)
    """
    with _opened(path) as lock:
        mine = _taken(lock)
        if mine:
            Keeping(lock).note(pid=None)
        yield lock if mine else None


def read_state(path: Path) -> KeeperState:
    """Whether somebody holds the lock, and what the note says.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_state(Path(folder, "lock")).runs
    False
    """
    with _opened(path) as lock:
        runs = not _locked(lock, fcntl.LOCK_SH)
        note = os.pread(lock, _SIZE, 0).strip()
    try:
        pid, said = (json.loads(note)[key] for key in ("pid", "said"))
    except ValueError:  # none, or one that was cut short
        return KeeperState(runs=runs, died=not runs and bool(note))
    return KeeperState(runs=runs, pid=pid if runs else None, died=not runs, said=said)


@contextmanager
def _opened(path: Path, inherited: int | None = None) -> Iterator[int]:
    if inherited is None:
        lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    else:
        lock = inherited
        os.set_inheritable(lock, False)  # noqa: FBT003 - a command that the keeper runs must not hold it
    try:
        yield lock
    finally:
        os.close(lock)


def _taken(lock: int) -> bool:
    # Whoever only looks whether a keeper runs is in the way for a moment, and no keeper.
    while not (mine := _locked(lock, fcntl.LOCK_EX)) and _locked(lock, fcntl.LOCK_SH):
        fcntl.flock(lock, fcntl.LOCK_UN)
    return mine


def _locked(lock: int, how: int) -> bool:
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
