"""Calling an ASGI app without a server: a request made anew from what was sealed."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, quote

from starlette.types import ASGIApp, Message, Scope

from tarry.gateway.middleware.held import HeldCall

__all__ = ["fresh_scope", "run_app"]

_PORTS = {"http": 80, "https": 443}


def fresh_scope(address: SplitResult, call: HeldCall, release: str, living: Mapping[str, Any]) -> Scope:
    """The scope of a released call: nothing in it comes from the arrival but what was sealed.

    There are no cookies, no client, no agent and no time of ours. `living` is the scope in which the app
    has started; its state is there as in every request.

    >>> from urllib.parse import urlsplit
    >>> call = HeldCall(method="POST", path="/posts", query="", content_type="", body=b"hi", user="17")
    >>> scope = fresh_scope(urlsplit("https://forum.example.org"), call, "5a", {})
    >>> scope["headers"]
    [(b'host', b'forum.example.org'), (b'content-length', b'2')]
    >>> scope["state"]
    {'tarry_user': '17', 'tarry_release': '5a'}
    """
    path = address.path + call.path
    headers = {
        "host": address.netloc,
        "content-type": call.content_type,
        "content-length": str(len(call.body)),
        "accept-language": call.language,
    }
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": call.method,
        "scheme": address.scheme,
        "path": path,
        "raw_path": quote(path).encode("ascii"),
        "query_string": call.query.encode("latin-1"),
        "root_path": address.path,
        "headers": [(name.encode(), told.encode("latin-1")) for name, told in headers.items() if told],
        "client": None,
        "server": (address.hostname, address.port or _PORTS[address.scheme]),
        "state": {**living.get("state", {}), "tarry_user": call.user, "tarry_release": release},
    }
    if "app" in living:  # behind an app's own middleware nobody else would say which app this is
        scope["app"] = living["app"]
    return scope


async def run_app(app: ASGIApp, scope: Scope, body: bytes) -> int:
    """Call an app to its end, background tasks included; the status of its answer, or 0 without one.

    >>> from starlette.responses import PlainTextResponse
    >>> scope = {"type": "http", "method": "POST"}
    >>> asyncio.run(run_app(PlainTextResponse("so be it", 201), scope, b""))
    201
    """
    asked, answered = False, asyncio.Event()
    status = 0

    async def receive() -> Message:
        nonlocal asked
        if not asked:
            asked = True
            return {"type": "http.request", "body": body, "more_body": False}
        await answered.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
        elif not message.get("more_body", False):
            answered.set()

    await app(scope, receive, send)
    return status
