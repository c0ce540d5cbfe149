"""Middleware for an ASGI app, such as one of Starlette or FastAPI.

    app.add_middleware(HoldPosts, HoldSettings(...), user=signed_in_user)

A POST to a held path never reaches its view when it arrives: it is checked, sealed and answered with 202
and a receipt. At its release the wrapped app is called with a request made anew from what was sealed.

Put it *inside* what signs people in (with `add_middleware`: added before that), so that `user` can see who
is signed in, and the call at release enters behind it. Then no session is needed: `as_user` shows the app
whose call it is, and the view has `request.state.tarry_user` and `request.state.tarry_release`, a random id
that is the same for the same call.

The user's id lies in the sealed content until release: see `held`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from inspect import isawaitable
from typing import Any
from urllib.parse import SplitResult, quote, urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarry.core.errors import NotPossible
from tarry.gateway.middleware.answers import (
    MOST_FORM_BYTES,
    RECEIPT_HEADER,
    RECEIPT_PATH,
    SIGN_IN,
    WITHDRAW_PATH,
    HeldAnswer,
    about_receipt,
    admit,
    refusal,
    withdraw_by_form,
)
from tarry.gateway.middleware.held import PORTS, HeldCall, Hold, HoldSettings
from tarry.keep.errors import Refused

__all__ = ["HoldPosts", "fresh_scope", "run_app", "same_origin"]

_OTHER_SITE = "this call does not come from a page of this site: send it from there"
User = Callable[[Request], str | Awaitable[str | None] | None]
AsUser = Callable[[MutableMapping[str, Any], str], Awaitable[None] | None]


def same_origin(request: Request) -> bool:
    """Whether a browser says that a page of this very site makes the call.

    Without such a header the answer is no. An app whose clients are programs with tokens gives a check of
    its own.

    >>> headers = [(b"host", b"forum.example.org"), (b"origin", b"https://forum.example.org")]
    >>> same_origin(Request({"type": "http", "headers": headers}))
    True
    >>> same_origin(Request({"type": "http", "headers": [*headers, (b"sec-fetch-site", b"cross-site")]}))
    False
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin, host = request.headers.get("origin"), request.headers.get("host")
    return bool(origin and host) and urlsplit(origin or "").netloc.lower() == (host or "").lower()


class HoldPosts:
    """Holds the calls of an app.

    `user` gives the stable id of who is signed in, or None; it may be a coroutine function, as may be the
    rest. `csrf` decides whether a call comes from a page of the site. `as_user(scope, user)` changes the
    scope of a released call so that the app sees the user. With `keep=False` another process keeps, which
    serves the same app with `keep=True`.

    >>> from tempfile import TemporaryDirectory
    >>> from tarry.core.policy import Policy
    >>> from starlette.applications import Starlette
    >>> policy = Policy(epsilon="1", gap="30s", window="10s")
    >>> with TemporaryDirectory() as folder:
    ...     places = {"database": f"{folder}/held.db", "key_file": f"{folder}/held.key"}
    ...     settings = HoldSettings(**places, policy=policy, paths=["/posts"])
    ...     app = HoldPosts(Starlette(), settings, user=lambda request: request.session.get("user"))
    >>> app.hold.vault.settings.is_encrypted
    True
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: HoldSettings,
        *,
        user: User,
        csrf: Callable[[Request], bool | Awaitable[bool]] = same_origin,
        as_user: AsUser | None = None,
        keep: bool = True,
        timeout_s: float = 60.0,
    ) -> None:
        self.app, self.settings = app, settings
        self.hold = Hold(settings, self._call)
        self._user, self._csrf, self._as_user = user, csrf, as_user
        self._keep, self._timeout_s = keep, timeout_s
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="held calls")  # each has a connection
        self._loop: asyncio.AbstractEventLoop | None = None
        self._living: Scope = {}  # the scope in which the app has started

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let everything through that is not held."""
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        try:
            answer = await self._answer(scope, receive) if scope["type"] == "http" else None
        except ClientDisconnect:  # nobody is left to be answered, and half a call is none
            return
        if answer is None:
            await self.app(scope, receive, send)
        else:
            await Response(answer.body, answer.status, dict(answer.headers))(scope, receive, send)

    # --- arrival ----------------------------------------------------------------------------------

    async def _answer(self, scope: Scope, receive: Receive) -> HeldAnswer | None:
        """Our own answer; None leaves it to the app."""
        request, path = Request(scope, receive), _route_path(scope)
        if path == RECEIPT_PATH:
            secret = request.headers.get(RECEIPT_HEADER)
            return await self._in_thread(partial(about_receipt, self.hold, request.method, secret))
        if path == WITHDRAW_PATH:
            return await self._withdraw(request)
        target = self.settings.target_of(request.method, path)
        return None if target is None else await self._hold(request, path, target)

    async def _hold(self, request: Request, path: str, target: str) -> HeldAnswer | None:
        html = "text/html" in request.headers.get("accept", "")
        user = await _settled(self._user(request))
        if not user:
            return None if self.settings.anonymous == "pass" else refusal(401, SIGN_IN, html=html)
        if not await _settled(self._csrf(request)):
            return refusal(403, _OTHER_SITE, html=html)
        body = await self._body(request, self.settings.most_bytes)
        if body is None:
            return refusal(413, f"a body must have at most {self.settings.most_bytes} bytes", html=html)
        call = HeldCall(
            method=request.method,
            path=path,
            query=request.scope.get("query_string", b"").decode("latin-1"),
            content_type=request.headers.get("content-type", ""),
            body=body,
            user=user,
            language=request.headers.get("accept-language", "") if self.settings.keep_language else "",
        )
        return await self._in_thread(partial(admit, self.hold, call, target, html=html))

    async def _withdraw(self, request: Request) -> HeldAnswer:
        """For the form on our page: only a page of this site may send it."""
        if not await _settled(self._csrf(request)):
            return refusal(403, _OTHER_SITE, html=True)
        body = await self._body(request, MOST_FORM_BYTES)
        if body is None:
            return refusal(413, f"a form must have at most {MOST_FORM_BYTES} bytes", html=True)
        return await self._in_thread(partial(withdraw_by_form, self.hold, request.method, body))

    async def _in_thread(self, step: Callable[[], HeldAnswer]) -> HeldAnswer:
        """The event loop never touches the store."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, step)

    @staticmethod
    async def _body(request: Request, most: int) -> bytes | None:
        """The body; None if it is too large."""
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                return None
        return body

    # --- release ----------------------------------------------------------------------------------

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Keep from the moment the app has started to the moment before it ends."""

        async def before_end() -> Message:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await asyncio.to_thread(self.hold.stop_keeper)
            return message

        async def after_start(message: Message) -> None:
            if message["type"] == "lifespan.startup.complete":
                self._loop, self._living = asyncio.get_running_loop(), scope
                if self._keep:
                    self.hold.start_keeper()
            await send(message)

        await self.app(scope, before_end, after_start)

    def _call(self, call: HeldCall, release: str) -> int:
        """Call the app from a thread of the keeper; the status of its answer."""
        if self._loop is None:
            raise NotPossible("the app has not started: serve it with its lifespan")
        running = asyncio.run_coroutine_threadsafe(self._run(call, release), self._loop)
        try:
            return running.result(self._timeout_s)
        except TimeoutError:
            if not running.cancel():  # it was the view's own
                raise
            raise Refused(f"the view took longer than {self._timeout_s:g} s", sent=True) from None

    async def _run(self, call: HeldCall, release: str) -> int:
        scope = fresh_scope(self.settings.address, call, release, self._living)
        if self._as_user is not None:
            await _settled(self._as_user(scope, call.user))
        return await run_app(self.app, scope, call.body)


# --- calling the app without a server: a request made anew from what was sealed --------------------


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
    # Behind an app's own middleware nothing else would name the app.
    app = {"app": living["app"]} if "app" in living else {}
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": call.method,
        "scheme": address.scheme,
        "path": path,
        "raw_path": quote(path).encode("ascii"),
        "query_string": call.query.encode("latin-1"),
        "root_path": address.path,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items() if value],
        "client": None,
        "server": (address.hostname, address.port or PORTS[address.scheme]),
        "state": {**living.get("state", {}), "tarry_user": call.user, "tarry_release": release},
        **app,
    }


async def run_app(app: ASGIApp, scope: Scope, body: bytes) -> int:
    """Call an app to its end, background tasks included; the status of its answer, or 0 without one.

    >>> from starlette.responses import PlainTextResponse
    >>> scope = {"type": "http", "method": "POST"}
    >>> asyncio.run(run_app(PlainTextResponse("done", 201), scope, b""))
    201
    """
    unread, answered = [body], asyncio.Event()
    status = 0

    async def receive() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
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


async def _settled(value: Any) -> Any:
    return await value if isawaitable(value) else value


def _route_path(scope: Scope) -> str:
    """The path without where the app is mounted."""
    path, root = str(scope["path"]), str(scope.get("root_path", "")).rstrip("/")
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path
