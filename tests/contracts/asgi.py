"""One request to an ASGI app, without a server: every byte of the answer."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from starlette.types import ASGIApp, Message

__all__ = ["SCOPE", "Answer", "call"]

SCOPE = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http"}


class Answer(NamedTuple):
    """What an app has answered: every byte of it."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    content: bytes

    def json(self) -> Any:
        """The content."""
        return json.loads(self.content)


async def call(
    app: ASGIApp, method: str, path: str, *, body: object = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """One request, and its whole answer."""
    path, _, query = path.partition("?")
    sent = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    told = {"host": "localhost", "content-length": str(len(sent))}
    told |= {"content-type": "application/json"} if sent else {}
    told |= {name.lower(): value for name, value in (headers or {}).items()}
    parts: list[Message] = []
    requests: list[Message] = [{"type": "http.request", "body": sent, "more_body": False}]

    async def receive() -> Message:
        if not requests:
            await asyncio.Event().wait()  # whoever listens until the client leaves listens for ever
        return requests.pop()

    async def send(message: Message) -> None:
        parts.append(message)

    raw = [(name.encode(), value.encode()) for name, value in told.items()]
    scope = {**SCOPE, "method": method, "path": path, "query_string": query.encode(), "headers": raw}
    await app(scope, receive, send)
    content = b"".join(part.get("body", b"") for part in parts)
    return Answer(parts[0]["status"], tuple(map(tuple, parts[0]["headers"])), content)
