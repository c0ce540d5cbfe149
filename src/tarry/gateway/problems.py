"""Refusals: which answer each error gets, always one sentence."""

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tarry.core.errors import TarryError
from tarry.gateway.admissions import Unsure
from tarry.gateway.bodies import Problem
from tarry.gateway.book import NoSuchSpace
from tarry.gateway.limits import TooMany
from tarry.keep.errors import AlreadyUsed, NoSuchPost, Paused, TooLate, Unavailable

__all__ = ["HANDLERS", "NOTHING_HERE", "BadRequest", "Forbidden", "Unauthorised", "problem", "refuse"]

_TITLES = {
    400: "The request cannot be read",
    401: "Who asks is not known",
    403: "Not allowed",
    404: "Not found",
    405: "No such method here",
    408: "Too slow",
    409: "Not now",
    413: "Too large",
    415: "JSON is expected",
    421: "Not this gateway",
    422: "Not acceptable",
    429: "Too often",
    500: "Our mistake",
    503: "The store is away",
}


_LONGEST = 400
#: Why is for the operator's log: what a database says names machines, users and files.
_AWAY = "the store is away at the moment: try again later"

#: What is said of an address that is none.
NOTHING_HERE = "there is nothing here"


class BadRequest(TarryError):
    """A request that cannot be read.

    >>> BadRequest(413, "too large").status
    413
    """

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class Unauthorised(TarryError):
    """No token, or none that this gateway knows.

    >>> print(Unauthorised())
    a token is needed that this gateway has made and not revoked: Authorization: Bearer tarry_...
    """

    def __init__(self) -> None:
        super().__init__(
            "a token is needed that this gateway has made and not revoked: Authorization: Bearer tarry_..."
        )


class Forbidden(TarryError):
    """A token that does not allow this.

    >>> print(Forbidden("submit"))
    this token does not allow this here: it needs the scope submit, and this space
    """

    def __init__(self, scope: str) -> None:
        super().__init__(f"this token does not allow this here: it needs the scope {scope}, and this space")


_STATUS: dict[type[TarryError], int] = {
    Unauthorised: 401,
    Forbidden: 403,
    NoSuchSpace: 404,
    NoSuchPost: 404,
    TooLate: 409,
    AlreadyUsed: 409,
    Paused: 409,
    TooMany: 429,
    Unavailable: 503,
}


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """An answer that says why.

    >>> problem(404, "no such post").status_code
    404
    """
    # Whatever was sent may be quoted in it: one line of it, and not a long one.
    line = " ".join("".join(c if c.isprintable() else " " for c in detail[:_LONGEST]).split())
    told = Problem(title=_TITLES.get(status, "Not possible"), status=status, detail=line)
    return Response(
        msgspec.json.encode(told), status, media_type="application/problem+json", headers=headers
    )


def refuse(error: Exception) -> Response:
    """The answer to an error.

    >>> refuse(TooMany(2)).headers["retry-after"]
    '2'
    """
    if isinstance(error, TarryError):
        status = next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 422)
        status = error.status if isinstance(error, BadRequest) else status
        headers = {}
        if status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if isinstance(error, TooMany | Paused) and error.wait_s is not None:
            headers["Retry-After"] = str(error.wait_s)
        is_away = isinstance(error, Unavailable) and not isinstance(error, Unsure)
        return problem(status, _AWAY if is_away else str(error), headers)
    # What broke is for the log of the operator, and no business of who asked.
    return problem(500, "something broke here; nothing about it was kept but a line in the log")


async def _refused(_: Request, error: Exception) -> Response:
    return refuse(error)


async def _http(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        return refuse(error)
    detail = {404: NOTHING_HERE, 405: "this address knows other methods"}.get(
        error.status_code, error.detail
    )
    headers = dict(error.headers or {})
    return problem(error.status_code, detail, headers)


HANDLERS = {TarryError: _refused, HTTPException: _http}
