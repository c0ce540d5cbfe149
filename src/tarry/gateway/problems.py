"""Refusals: the answer to each error, always one sentence (RFC 9457)."""

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tarry.core.errors import TarryError
from tarry.gateway.bodies import Problem
from tarry.gateway.catalog import NoSuchSpace, NoSuchToken
from tarry.gateway.group_commit import AcceptanceUnknown
from tarry.gateway.limits import Overloaded, TooManyRequests
from tarry.keep.errors import AlreadyUsed, NoSuchPost, Paused, TooLate, Unavailable

__all__ = ["HANDLERS", "NOTHING_HERE", "BadRequest", "Forbidden", "UnknownToken", "problem", "refuse"]

_TITLES = {
    400: "The request is not well formed",
    401: "Unknown token",
    403: "Not allowed",
    404: "Not found",
    405: "Wrong method",
    408: "Too slow",
    409: "Not possible now",
    413: "Too large",
    415: "Not JSON",
    421: "Unknown host name",
    422: "Not acceptable",
    429: "Too many requests",
    500: "Our error",
    503: "The store is away",
}

#: The message for an address that does not exist.
NOTHING_HERE = "there is nothing at this address: check how it is written"


class BadRequest(TarryError):
    """A request that cannot be answered, with the status of its answer.

    >>> BadRequest(413, "too large").status
    413
    """

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(_one_line(detail))
        self.status = status


class UnknownToken(TarryError):
    """No token, or one that this gateway does not know.

    >>> print(UnknownToken())
    no token, or one that is unknown or revoked: send Authorization: Bearer tarry_...
    """

    def __init__(self) -> None:
        super().__init__(
            "no token, or one that is unknown or revoked: send Authorization: Bearer tarry_..."
        )


class Forbidden(TarryError):
    """A token that does not allow this.

    >>> print(Forbidden("submit"))
    this token is not enough: use one with the scope submit for this space
    """

    def __init__(self, scope: str) -> None:
        super().__init__(f"this token is not enough: use one with the scope {scope} for this space")


_STATUS: dict[type[TarryError], int] = {
    UnknownToken: 401,
    Forbidden: 403,
    NoSuchSpace: 404,
    NoSuchToken: 404,
    NoSuchPost: 404,
    TooLate: 409,
    AlreadyUsed: 409,
    Paused: 409,
    TooManyRequests: 429,
    Overloaded: 503,
    Unavailable: 503,
}


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """An answer that says why.

    >>> problem(404, "no such post").status_code
    404
    """
    body = msgspec.json.encode(
        Problem(title=_TITLES.get(status, "Not possible"), status=status, detail=_one_line(detail))
    )
    return Response(body, status, media_type="application/problem+json", headers=headers)


def _one_line(detail: str) -> str:
    """Whatever was sent may be quoted in it: one line of it, and not a long one."""
    return " ".join("".join(c if c.isprintable() else " " for c in detail[:400]).split())


def refuse(error: Exception) -> Response:
    """The answer to an error.

    >>> refuse(TooManyRequests(2)).headers["retry-after"]
    '2'
    """
    if isinstance(error, TarryError):
        status = next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 422)
        status = error.status if isinstance(error, BadRequest) else status
        headers = {}
        if status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if isinstance(error, TooManyRequests | Overloaded | Paused) and error.wait_s is not None:
            headers["Retry-After"] = str(error.wait_s)
        # The reason is for the operator's log: what a database says names machines, users and files.
        is_away = isinstance(error, Unavailable) and not isinstance(error, AcceptanceUnknown)
        detail = "the store is away at the moment: try again later" if is_away else str(error)
        return problem(status, detail, headers)
    # What broke is for the operator's log, and not for the client.
    return problem(
        500, "something broke here: try again, or ask the operator, whose log has a line about it"
    )


async def _answer(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        return refuse(error)
    detail = {404: NOTHING_HERE, 405: "this address has other methods: see the header Allow"}.get(
        error.status_code, error.detail
    )
    return problem(error.status_code, detail, dict(error.headers or {}))


HANDLERS = {TarryError: _answer, HTTPException: _answer}
