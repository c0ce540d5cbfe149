"""The parts of a form with a file in it, as its bytes come in: what browsers send, and nothing beyond."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from tarry.gateway.problems import BadRequest

__all__ = ["Part", "Parts", "plain_name"]

_BOUNDARY = re.compile(
    r'multipart/form-data\s*;\s*boundary="?([0-9A-Za-z\'()+_,./:=?-]{1,70})"?\s*', re.IGNORECASE
)
_WORD = re.compile(r';\s*(name|filename)="([^"]*)"')  # browsers write a quote inside as %22
_MOST_HEAD = 8 << 10
_MOST_PARTS = 20
_UNREADABLE = "this form cannot be read"


class Part(NamedTuple):
    """The head of a part; what it holds follows.

    >>> Part("history", "votes.csv").filename
    'votes.csv'
    """

    name: str
    filename: str | None  # None: a plain field


class Parts:
    r"""Takes a form apart, however its bytes are cut. Nothing but the chunk at hand is held.

    >>> parts = Parts("multipart/form-data; boundary=x")
    >>> list(parts.feed(b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nhi\r\n--x--\r\n'))
    [Part(name='a', filename=None), b'hi']
    >>> parts.is_whole
    True
    """

    def __init__(self, content_type: str) -> None:
        if (found := _BOUNDARY.fullmatch(content_type)) is None:
            raise BadRequest(415, _UNREADABLE)
        self._mark = b"\r\n--" + found[1].encode()
        self._held = b"\r\n"  # as if a line had ended before the first mark
        self._in_head, self._count = False, 0
        self.is_whole = False  # the last mark was seen

    def feed(self, chunk: bytes) -> Iterator[Part | bytes]:
        """The heads and pieces that are sure by now."""
        self._held += chunk
        while (found := self._head() if self._in_head else self._piece()) is not None:
            if found and self._count:  # what stands before the first part means nothing
                yield found

    def _piece(self) -> bytes | None:
        """What the part at hand holds, up to its end or to what may be the beginning of one."""
        if self.is_whole:
            self._held = b""
            return None
        held, place = self._held, self._held.find(self._mark)
        after = place + len(self._mark)
        if place < 0 or len(held) < after + 2:
            sure = place if place >= 0 else max(0, len(held) - len(self._mark) + 1)
            self._held = held[sure:]
            return held[:sure] or None
        follows, self._held = held[after : after + 2], held[after + 2 :]
        if follows not in {b"--", b"\r\n"}:
            raise BadRequest(400, _UNREADABLE)
        self.is_whole, self._in_head = follows == b"--", follows == b"\r\n"
        return held[:place]

    def _head(self) -> Part | None:
        text, end, rest = self._held.partition(b"\r\n\r\n")
        if len(text) > _MOST_HEAD or self._count >= _MOST_PARTS:
            raise BadRequest(400, _UNREADABLE)
        if not end:
            return None
        self._held, self._in_head, self._count = rest, False, self._count + 1
        return _part(text.decode("utf-8", "replace"))


def _part(head: str) -> Part:
    for line in head.split("\r\n"):
        if line.lower().startswith("content-disposition:"):
            words = dict(_WORD.findall(line))
            if "name" in words:
                return Part(words["name"], words.get("filename"))
    raise BadRequest(400, _UNREADABLE)


def plain_name(filename: str) -> str:
    r"""A file's name without folders, in plain characters, no longer than a line; its endings stay.

    >>> plain_name("C:\\mine\\..\\my votes (2).csv.gz"), plain_name("../.."), plain_name("")
    ('my_votes_2_.csv.gz', 'upload', 'upload')
    """
    last = re.split(r"[/\\]", filename)[-1]
    plain = re.sub(r"[^0-9A-Za-z.-]+", "_", last).strip(".")
    return plain[-60:].lstrip(".-") or "upload"
