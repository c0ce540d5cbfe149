"""A small client of the gateway, for programs that submit posts.

Each request has a key of its own: one whose answer was lost is sent again, and not accepted twice.

Importing this sets the loggers of httpx2 and httpcore2 to warnings: at a lower level they write a line for
each request, with its time, into the logs of the program that submits posts.
"""

import logging
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import httpx2
import msgspec

from tarry.core.errors import BadInput, TarryError
from tarry.gateway.bodies import (
    AccountIn,
    AccountOut,
    BatchIn,
    Content,
    FeedOut,
    ItemOut,
    PolicyOut,
    PostIn,
    Problem,
    ReceiptOut,
    ReceiptsOut,
    ReplaceIn,
    StatusOut,
)
from tarry.keep.errors import Unavailable

__all__ = ["Client", "Refusal"]

_WAITS_S = (0.2, 0.4, 0.8, 1.6)  # between tries
_FOLLOW_AGAIN_S = 1.0
_AGAIN = frozenset({429, 502, 503, 504})
T = TypeVar("T", bound=msgspec.Struct)

for _name in ("httpx2", "httpcore2"):  # a line for each request would show when somebody posted
    _logger = logging.getLogger(_name)
    _logger.setLevel(max(_logger.level, logging.WARNING))


class Refusal(TarryError):
    """The gateway has refused, with one sentence.

    >>> Refusal(404, "no post has this receipt").status
    404
    """

    def __init__(self, status: int, detail: str) -> None:
        self.status, self.detail = status, detail
        super().__init__(detail)


class Client:
    """One gateway, as one token sees it. Without a token: the feeds, and what a receipt allows.

    Each call raises `Refusal` where the gateway refuses, and `Unavailable` where it does not answer: then a
    post may or may not have been accepted, and should be sent again with the same `key`.

    >>> from starlette.testclient import TestClient
    >>> from tarry.gateway.app import create_app
    >>> from tarry.gateway.testing import new_token, small_gateway
    >>> gateway = small_gateway()
    >>> with TestClient(create_app(gateway)) as http:
    ...     client = Client("http://testserver", new_token(gateway), http=http)
    ...     posted = client.submit("talk", PostIn(actor="ann", target="paper 3", content="I agree."))
    ...     client.withdraw(posted.receipt).state
    'withdrawn'
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        http: httpx2.Client | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        self._http = http or httpx2.Client(timeout=timeout_s)
        self._url = _checked(url)
        self._bearer = None if token is None else f"Bearer {token}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # --- submitting -------------------------------------------------------------------------------

    def submit(self, space: str, post: PostIn, *, key: str | None = None) -> ReceiptOut:
        """Submit a post. With a `key` of your own the same request may be sent again after a crash."""
        return self._send("POST", f"/v1/spaces/{space}/posts", ReceiptOut, body=post, key=_key(key))

    def submit_all(
        self, space: str, posts: Sequence[PostIn], *, key: str | None = None
    ) -> list[ReceiptOut]:
        """Submit several posts at once: all of them are accepted, or none."""
        return self._send(
            "POST",
            f"/v1/spaces/{space}/batches",
            ReceiptsOut,
            body=BatchIn(posts=list(posts)),
            key=_key(key),
        ).receipts

    def choose_delays(self, space: str, actor: str, *, delayed: bool) -> AccountOut:
        """Let an account opt in or out of delays, from a later moment on."""
        return self._send(
            "PUT", f"/v1/spaces/{space}/accounts", AccountOut, body=AccountIn(actor=actor, delayed=delayed)
        )

    # --- with a receipt ---------------------------------------------------------------------------

    def status(self, receipt: str) -> StatusOut:
        """When a post leaves, as far as that is known, or what became of it."""
        return self._send("GET", "/v1/receipt", StatusOut, receipt=receipt)

    def replace(
        self, receipt: str, content: Content, options: Mapping[str, Any] | None = None
    ) -> StatusOut:
        """Replace the content of a post; when it leaves stays as it is."""
        return self._send(
            "PUT",
            "/v1/receipt",
            StatusOut,
            body=ReplaceIn(content=content, options=None if options is None else dict(options)),
            receipt=receipt,
        )

    def withdraw(self, receipt: str) -> StatusOut:
        """Withdraw a post before it appears."""
        return self._send("DELETE", "/v1/receipt", StatusOut, receipt=receipt)

    # --- what everybody may read ------------------------------------------------------------------

    def policy(self, space: str) -> PolicyOut:
        """The policy of a space, and what it promises."""
        return self._send("GET", f"/v1/spaces/{space}/policy", PolicyOut)

    def feed(self, space: str, *, after: int | None = None, limit: int | None = None) -> FeedOut:
        """Releases after a position, or else the latest."""
        parameters = {"after": after, "limit": limit}
        query = "&".join(f"{name}={value}" for name, value in parameters.items() if value is not None)
        return self._send("GET", f"/v1/spaces/{space}/feed" + (f"?{query}" if query else ""), FeedOut)

    def follow(self, space: str, *, after: int = 0) -> Iterator[ItemOut]:
        """Every release after a position, as it happens; a broken connection is made anew."""
        while True:
            url = f"{self._url}/v1/spaces/{space}/feed/events?after={after}"
            with (
                suppress(httpx2.TransportError),
                self._http.stream("GET", url, timeout=httpx2.Timeout(30.0)) as stream,
            ):
                if stream.status_code != 200 and stream.status_code not in _AGAIN:
                    stream.read()
                    raise _refusal(stream)
                for line in stream.iter_lines():
                    if line.startswith("data: "):  # our events have one line of data each
                        item = msgspec.json.decode(line.removeprefix("data: "), type=ItemOut)
                        after = item.position
                        yield item
            time.sleep(_FOLLOW_AGAIN_S)  # also where it has ended in good order: the gateway may be ending

    def _send(
        self,
        method: str,
        path: str,
        kind: type[T],
        *,
        body: msgspec.Struct | None = None,
        key: str | None = None,
        receipt: str | None = None,
    ) -> T:
        named = {
            "Authorization": None if receipt else self._bearer,
            "Content-Type": None if body is None else "application/json",
            "Idempotency-Key": key,
            "Tarry-Receipt": receipt,
        }
        headers = {name: value for name, value in named.items() if value is not None}
        content = None if body is None else msgspec.json.encode(body)
        send = partial(self._http.request, method, self._url + path, content=content, headers=headers)
        try:
            # A withdrawal that is repeated would be refused as too late.
            response = send() if method == "DELETE" else _patiently(send)
        except httpx2.TransportError as error:
            raise Unavailable(
                f"no answer from the gateway at {self._url}: {str(error) or type(error).__name__}"
            ) from error
        if response.status_code >= 400:
            raise _refusal(response)
        try:
            return msgspec.json.decode(response.content, type=kind)
        except msgspec.DecodeError:
            raise Refusal(
                response.status_code, f"the server at {self._url} is no gateway: check the address"
            ) from None


def _checked(url: str) -> str:
    """Without a scheme another library would raise its own error, at the first request."""
    if not url.startswith(("http://", "https://")) or not urlsplit(url).hostname:
        raise BadInput(
            f"the address of a gateway must begin with http:// or https://, not {url!r}",
            "write it like http://127.0.0.1:8420",
        )
    return url.rstrip("/")


def _key(key: str | None) -> str:
    return secrets.token_hex(16) if key is None else key


def _patiently(send: Callable[[], httpx2.Response]) -> httpx2.Response:
    """Send again, later and later, while the gateway is away or asks for patience."""
    for wait_s in _WAITS_S:
        with suppress(httpx2.TransportError):
            response = send()
            if response.status_code not in _AGAIN:
                return response
        time.sleep(wait_s)
    return send()


def _refusal(response: httpx2.Response) -> Refusal:
    try:
        problem = msgspec.json.decode(response.content, type=Problem)
    except msgspec.DecodeError:
        return Refusal(response.status_code, f"the gateway answered {response.status_code}")
    return Refusal(problem.status, problem.detail)
