"""A private folder for what people upload. It goes with its owner; after a crash, at the next start."""

import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path

__all__ = ["PrivateFolder", "remove_abandoned"]

_PREFIX = "tarry-audit-"


class PrivateFolder:
    """A folder that only its owner can read, locked as long as somebody uses it.

    >>> folder = PrivateFolder()
    >>> oct(folder.path.stat().st_mode)[-3:]
    '700'
    >>> folder.remove()
    >>> folder.path.exists()
    False
    """

    def __init__(self) -> None:
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
            self._lock = _locked(self.path)
            if self._lock is not None and self.path.is_dir():
                return
            if self._lock is not None:  # somebody took it for abandoned just before it was locked
                os.close(self._lock)

    def remove(self) -> None:
        """Delete all that is in it; once is enough."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_abandoned() -> int:
    """Delete the folders whose owners are gone; how many there were.

    >>> kept = PrivateFolder()
    >>> _ = remove_abandoned()
    >>> kept.path.is_dir()
    True
    >>> kept.remove()
    """
    count = 0
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if not _is_ours(path) or (lock := _locked(path)) is None:
            continue
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)
        count += 1
    return count


def _is_ours(path: Path) -> bool:
    """A folder of this user's, and no link to one."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def _locked(path: Path) -> int | None:
    """An open folder with its lock, which ends with the process; None where somebody else has it."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(opened)
        return None
    return opened
