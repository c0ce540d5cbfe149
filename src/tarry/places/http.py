"""One bounded HTTP call, in the words of an outlet: a server that gives no answer is tried again."""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tarry.keep.errors import Unreachable
from tarry.net import http_call
from tarry.net.address import Address
from tarry.net.http_call import NoAnswer, Response

__all__ = ["call", "only_asking"]


@contextmanager
def only_asking() -> Iterator[None]:
    """Around what only asks: a login, a look. Whatever goes wrong there, nothing that acts was sent.

    >>> try:
    ...     with only_asking():
    ...         raise Unreachable("the wiki hung up", sent=True)
    ... except Unreachable as trouble:
    ...     trouble.sent
    False
    """
    try:
        yield
    except Unreachable as trouble:
        trouble.sent = False
        raise


def call(
    address: Address,
    headers: Mapping[str, str],
    body: bytes,
    *,
    timeout_s: float,
    who: str,
    tls: ssl.SSLContext | None = None,
    method: str = "POST",
    most: int = 0,
) -> Response:
    """Ask once, as `tarry.net.http_call` does; `Unreachable` when there was no answer.

    Its `sent` tells whether the request had gone out. Where the request does not act, that means nothing:
    see `only_asking`.

    >>> call(Address(tls=False, host="127.0.0.1", port=9, path="/"), {}, b"", timeout_s=5, who="the wiki")
    Traceback (most recent call last):
    tarry.keep.errors.Unreachable: the wiki cannot be reached: Connection refused
    """
    try:
        return http_call.call(
            address, headers, body, timeout_s=timeout_s, tls=tls, method=method, who=who, most=most
        )
    except NoAnswer as error:
        raise Unreachable(str(error), sent=error.sent) from error
