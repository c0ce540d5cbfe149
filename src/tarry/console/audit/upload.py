"""Uploads: a file out of a form, written to a private folder as it comes, within limits.

Forms are taken apart by hand: python-multipart writes bytes of what it cannot read to the log.
"""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

from starlette.requests import ClientDisconnect, Request

from tarry.console.pages import require, texts
from tarry.gateway.http_service import SILENCE_S, read_pieces
from tarry.gateway.problems import BadRequest

__all__ = ["Part", "Parts", "drain", "plain_name", "receive"]


_BOUNDARY = re.compile(
    r'multipart/form-data\s*;\s*boundary="?([0-9A-Za-z\'()+_,./:=?-]{1,70})"?\s*', re.IGNORECASE
)
_PARAMETER = re.compile(r';\s*(name|filename)="([^"]*)"')  # browsers write a quote inside as %22
_MOST_HEAD = 8 << 10
_MOST_PARTS = 20


class Part(NamedTuple):
    """The head of a part; its content follows.

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
        if (boundary := _BOUNDARY.fullmatch(content_type)) is None:
            raise BadRequest(415, texts()["common"]["form_unreadable"])
        self._mark = b"\r\n--" + boundary[1].encode()
        self._held = b"\r\n"  # as if a line had ended before the first mark
        self._in_head, self._count = False, 0
        self.is_whole = False  # the last mark was seen

    def feed(self, chunk: bytes) -> Iterator[Part | bytes]:
        """The heads and pieces that are sure by now."""
        self._held += chunk
        while (part := self._head() if self._in_head else self._piece()) is not None:
            if part and self._count:  # what stands before the first part means nothing
                yield part

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
        require(follows in {b"--", b"\r\n"}, 400, "common", "form_unreadable")
        self.is_whole, self._in_head = follows == b"--", follows == b"\r\n"
        return held[:place]

    def _head(self) -> Part | None:
        text, end, rest = self._held.partition(b"\r\n\r\n")
        is_bounded = len(text) <= _MOST_HEAD and self._count < _MOST_PARTS
        require(is_bounded, 400, "common", "form_unreadable")
        if not end:
            return None
        self._held, self._in_head, self._count = rest, False, self._count + 1
        for line in text.decode("utf-8", "replace").split("\r\n"):
            parameters = dict(_PARAMETER.findall(line))
            if line.lower().startswith("content-disposition:") and "name" in parameters:
                return Part(parameters["name"], parameters.get("filename"))
        raise BadRequest(400, texts()["common"]["form_unreadable"])


def plain_name(filename: str) -> str:
    r"""A file's name without folders, in plain characters, no longer than a line; its endings stay.

    >>> plain_name("C:\\mine\\..\\my votes (2).csv.gz"), plain_name("../.."), plain_name("")
    ('my_votes_2_.csv.gz', 'upload', 'upload')
    """
    last = re.split(r"[/\\]", filename)[-1]
    return re.sub(r"[^0-9A-Za-z.-]+", "_", last).strip(".")[-60:].lstrip(".-") or "upload"


_MOST_FIELD = 4 << 10
_AROUND = 64 << 10  # bytes of a form beside its file
_LEAST_PER_S = 64 << 10  # bytes of an upload: a slower one would hold its place for ever
#: Read and thrown away before an upload is refused: a browser shows no answer before it has sent all.
_DRAINED = 256 << 20


async def receive(
    request: Request, folder: Path, most: int, check: Callable[[Mapping[str, str]], None]
) -> Path:
    r"""Write the file of a form to a folder; its path.

    `check` gets the fields that come before the file, and refuses by raising, before anything is written.

    >>> from tempfile import TemporaryDirectory
    >>> head = b'--x\r\nContent-Disposition: form-data; name="history"; filename="a/votes.csv"\r\n\r\n'
    >>> async def sent():
    ...     return {"type": "http.request", "body": head + b"1,2,3\r\n--x--\r\n"}
    >>> kind = (b"content-type", b"multipart/form-data; boundary=x")
    >>> with TemporaryDirectory() as folder:
    ...     request = Request({"type": "http", "headers": [kind]}, sent)
    ...     asyncio.run(receive(request, Path(folder), 100, lambda fields: None)).name
    'votes.csv'
    """
    parts, taker = Parts(request.headers.get("content-type", "")), _Taker(folder, most, check)
    sentences = texts()["audit"]
    pieces = read_pieces(
        request,
        most + _AROUND,
        SILENCE_S + most / _LEAST_PER_S,
        too_large=sentences["too_large"].format(most=most >> 20),
        too_slow=sentences["too_slow"],
    )
    try:
        async for piece in pieces:
            await asyncio.to_thread(taker.take, list(parts.feed(piece)))
    finally:
        taker.close()
    if taker.path is None or not parts.is_whole:
        raise BadRequest(422, sentences["no_file"])
    if not taker.size:
        taker.path.unlink()
        raise BadRequest(422, sentences["empty_file"])
    return taker.path


async def drain(request: Request) -> None:
    """Read what is left of a request and throw it away, within bounds of size and time.

    >>> async def sent():
    ...     return {"type": "http.request", "body": b"whatever"}
    >>> asyncio.run(drain(Request({"type": "http", "headers": []}, sent)))
    """
    left = _DRAINED
    try:
        async with asyncio.timeout(SILENCE_S):
            async for chunk in request.stream():
                left -= len(chunk)
                if left < 0:
                    return
    except (TimeoutError, ClientDisconnect, RuntimeError):  # too slow, gone, or read already
        return


class _Taker:
    """Writes the file, and keeps the fields that come before it."""

    def __init__(self, folder: Path, most: int, check: Callable[[Mapping[str, str]], None]) -> None:
        self._folder, self._most, self._check = folder, most, check
        self._part = Part("", None)
        self._fields: dict[str, str] = {}
        self._file: BinaryIO | None = None
        self.path: Path | None = None
        self.size = 0

    def take(self, parts: list[Part | bytes]) -> None:
        """Take what has come in."""
        for each in parts:
            if isinstance(each, Part):
                self._begin(each)
            elif self._part.filename is None:
                text = self._fields[self._part.name] + each.decode("utf-8", "replace")
                require(len(text) <= _MOST_FIELD, 413, "common", "form_too_large")
                self._fields[self._part.name] = text
            elif self._file is not None:
                self.size += len(each)
                require(self.size <= self._most, 413, "audit", "too_large", most=self._most >> 20)
                self._file.write(each)

    def _begin(self, part: Part) -> None:
        self._part = part
        if part.filename is None:
            self._fields[part.name] = ""
            return
        require(self.path is None, 422, "audit", "one_file")
        require(part.filename, 422, "audit", "no_file")  # a form that was sent without choosing one
        self._check(self._fields)
        self.path = self._folder / plain_name(part.filename)
        self._file = self.path.open("xb")

    def close(self) -> None:
        """Close the file: nothing more comes."""
        if self._file is not None:
            self._file.close()
