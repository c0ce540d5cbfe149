"""A feed in a file: one line of JSON for each release, for anybody who follows the file to read.

A line holds the id, the target, the moment of the tick and the content, and nothing else. Lines stand
in the order in which they were delivered; the file's own times tell when it was last appended to, which is
a release.

Exactly once: the line is on the disk before the release counts as delivered, a later try looks whether its
id is there already, and what a crash has left of a line is cut off. Whoever moves the file away (to rotate
it) takes that memory with it, so do it while nothing waits.
"""

import contextlib
import errno
import fcntl
import json
import mmap
import os
import stat
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused, Unreachable
from tarry.keep.keys import make_durable
from tarry.keep.outlet import Delivery, Outlet, content_fields
from tarry.keep.posts import Release
from tarry.keep.store import moment

__all__ = ["FeedFile"]

#: Not a matter of time: a person has to look.
_HOPELESS = {errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENXIO, errno.EINVAL}


class FeedFile(Outlet):
    """Appends to one file, which is made, readable by its owner alone, when it is not there yet.

    Programs that change the file take the same lock (`flock`) first.

    >>> import tempfile
    >>> from fractions import Fraction
    >>> folder = tempfile.TemporaryDirectory()
    >>> feed = FeedFile(Path(folder.name) / "feed.jsonl")
    >>> feed.deliver(Release(id="ab", target="paper 3", content=b"I agree.", at=Fraction(60)))
    >>> print(feed.path.read_text(), end="")
    {"id": "ab", "target": "paper 3", "at": "1970-01-01T00:01:00Z", "content": "I agree."}
    >>> folder.cleanup()
    """

    delivery: Delivery = "exactly once"  # a second try finds the first one's line
    batch = 500

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._seen = self.path.stat().st_size if self.path.is_file() else 0
        # Far more than are delivered while a worker is held up for a lease.
        self._written = deque[str](maxlen=5000)

    @classmethod
    def for_space(cls, settings: Mapping[str, Any], *, space: str, secret: bytes) -> Self:  # noqa: ARG003 - not needed
        """The file of a space must have a folder when the space is made."""
        feed = cls(settings["path"])
        feed.check({})
        return feed

    def check(self, options: Mapping[str, Any]) -> None:
        """A feed has no options, and lies in a folder that exists."""
        if options:
            raise BadInput(
                f"a post to a feed file must have no options, not {', '.join(map(str, options))}",
                "leave them out",
            )
        if not self.path.parent.is_dir():
            raise BadInput(f"there is no folder {str(self.path.parent)!r} for the feed file", "make it")
        if self.path.exists() and not self.path.is_file():
            raise BadInput(f"the feed file {str(self.path)!r} is not a file", "give another path")

    def deliver(self, release: Release) -> None:
        """Append the line, unless a try before this one did."""
        if release.options:
            raise Refused(
                "a post to a feed file must have no options: withdraw it, and send it without them"
            )
        try:
            with _locked(self.path) as file:
                end = _cut_off_rest(file)
                # At a first try nobody else has written the line, unless this worker was held up for so
                # long that another took over: then this object remembers, or it was added since.
                since = min(self._seen, end) if release.attempt == 1 else 0
                if release.id not in self._written and not _holds(file, _head(release), since):
                    _append(file, end, _line(release))
                os.fsync(file)
                self._written.append(release.id)
                self._seen = os.fstat(file).st_size
        except OSError as error:
            trouble = Refused if error.errno in _HOPELESS else Unreachable
            raise trouble(f"the feed file cannot be written: {error.strerror or error}") from error


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The open file, ours alone."""
    born = not path.exists()
    # Not blocking: a pipe without a reader would hold the worker for ever.
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(errno.EINVAL, "it is not a file")
        fcntl.flock(file, fcntl.LOCK_EX)
        if born:
            make_durable(path.parent)
        yield file
    finally:
        os.close(file)


def _cut_off_rest(file: int) -> int:
    """Remove what a crash has left of a line; where the file ends now."""
    size = os.fstat(file).st_size
    if not size:
        return 0
    with mmap.mmap(file, size, access=mmap.ACCESS_READ) as lines:
        end = lines.rfind(b"\n") + 1
    if end < size:
        os.ftruncate(file, end)
    return end


def _holds(file: int, head: bytes, since: int) -> bool:
    """Whether a line after this place begins like this."""
    with os.fdopen(os.dup(file), "rb") as lines:
        lines.seek(since)
        return any(line.startswith(head) for line in lines)


def _append(file: int, end: int, line: bytes) -> None:
    rest = memoryview(line)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError:
        with contextlib.suppress(OSError):  # the next try cuts it off
            os.ftruncate(file, end)
        raise


def _head(release: Release) -> bytes:
    """How the line of a release begins, and no other does: inside a text the quotes would be escaped."""
    return f'{{"id": {json.dumps(release.id)}, '.encode()


def _line(release: Release) -> bytes:
    """Plain ASCII: no reader sees a line end inside."""
    fields = {"id": release.id, "target": release.target, "at": moment(release.at)}
    return json.dumps(fields | content_fields(release.content)).encode() + b"\n"
