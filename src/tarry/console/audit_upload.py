"""Uploads: a file out of a form, written to a private folder as it comes, within limits."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from starlette.requests import ClientDisconnect, Request

from tarry.console.audit_parts import Part, Parts, plain_name
from tarry.console.texts import texts
from tarry.gateway.http_service import SILENCE_S, read_pieces
from tarry.gateway.problems import BadRequest

__all__ = ["drain", "receive"]

_MOST_FIELD = 4 << 10
_AROUND = 64 << 10  # bytes of a form beside its file
_LEAST_PER_S = 64 << 10  # bytes of an upload: a slower one would hold its place for ever
#: Read and thrown away before an upload is refused: a browser shows no answer before it has sent all.
_DRAINED = 256 << 20


async def receive(
    request: Request, folder: Path, most: int, check: Callable[[Mapping[str, str]], None]
) -> Path:
    r"""Write the file of a form to a folder; where it is.

    `check` hears of the fields before the file, and refuses by raising, before anything is written.

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
    try:
        async for piece in _pieces(request, most):
            found = list(parts.feed(piece))
            await asyncio.to_thread(taker.take, found)
    finally:
        taker.close()
    if taker.path is None or not parts.is_whole:
        raise BadRequest(422, texts()["audit"]["no_file"])
    if not taker.size:
        taker.path.unlink()
        raise BadRequest(422, texts()["audit"]["empty_file"])
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


def _pieces(request: Request, most: int) -> AsyncIterator[bytes]:
    words = texts()["audit"]
    return read_pieces(
        request,
        most + _AROUND,
        SILENCE_S + most / _LEAST_PER_S,
        too_large=words["too_large"].format(most=most >> 20),
        too_slow=words["too_slow"],
    )


class _Taker:
    """Writes the file, and keeps the fields that come before it."""

    def __init__(self, folder: Path, most: int, check: Callable[[Mapping[str, str]], None]) -> None:
        self._folder, self._most, self._check = folder, most, check
        self._part: Part | None = None
        self._fields: dict[str, str] = {}
        self._file: BinaryIO | None = None
        self.path: Path | None = None
        self.size = 0

    def take(self, found: list[Part | bytes]) -> None:
        """What came in."""
        for each in found:
            if isinstance(each, bytes):
                self._data(each)
            else:
                self._begin(each)

    def _begin(self, part: Part) -> None:
        self._part = part
        if part.filename is None:
            self._fields[part.name] = ""
            return
        if self.path is not None:
            raise BadRequest(422, texts()["audit"]["one_file"])
        if not part.filename:  # a form that was sent without choosing one
            raise BadRequest(422, texts()["audit"]["no_file"])
        self._check(self._fields)
        self.path = self._folder / plain_name(part.filename)
        self._file = self.path.open("xb")

    def _data(self, data: bytes) -> None:
        part = self._part
        if part is None:
            return
        if part.filename is None:
            self._fields[part.name] += data.decode("utf-8", "replace")
            if len(self._fields[part.name]) > _MOST_FIELD:
                raise BadRequest(413, texts()["audit"]["large_field"])
        elif self._file is not None:
            self.size += len(data)
            if self.size > self._most:
                raise BadRequest(413, texts()["audit"]["too_large"].format(most=self._most >> 20))
            self._file.write(data)

    def close(self) -> None:
        """Nothing more comes."""
        if self._file is not None:
            self._file.close()
