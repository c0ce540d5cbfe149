"""The page where operators sign in, and the way out."""

import re
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tarry.console.forms import check_origin, read_form
from tarry.console.pages import page
from tarry.console.sessions import NotSignedIn, begin, check_csrf, end, signed_in
from tarry.console.texts import texts
from tarry.core.errors import TarryError
from tarry.gateway.catalog import find_token
from tarry.gateway.limits import TooManyRequests

if TYPE_CHECKING:
    from tarry.gateway.http_service import HttpService

__all__ = ["ROUTES", "local_path"]

_HOME = "/desk"
#: What may come after signing in: a plain path. "//host", "/\host", "?", "%" and ".." are all not in it.
_PATH = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)+", re.ASCII)
_LONGEST_PATH = 200
_MOST_BYTES = 8 << 10  # of what anybody may send


def local_path(text: str) -> str:
    r"""The path, if it is one of this site; if not, the desk's.

    >>> local_path("/audit"), local_path("//evil.example"), local_path("/\\evil.example")
    ('/audit', '/desk', '/desk')
    """
    is_plain = len(text) <= _LONGEST_PATH and _PATH.fullmatch(text)
    return text if is_plain and not text.startswith("/desk/sign-") else _HOME


async def _ask(request: Request) -> Response:
    then = local_path(request.query_params.get("then", ""))
    try:
        signed_in(request)
    except TarryError:
        return _form(request, then)
    return RedirectResponse(then, 303)


async def _sign_in(request: Request) -> Response:
    service: HttpService = request.app.state.service
    fields = await read_form(request, _MOST_BYTES)
    then = local_path(fields.get("then", ""))
    secret = fields.get("token", "").strip()
    await service.learn_token(request, secret)
    token = find_token(service.gateway.catalog, secret)
    if token is not None and {"operate", "admin"} & token.scopes:
        answer = RedirectResponse(then, 303)
        begin(request, answer, token)
        return answer
    try:
        request.app.state.sessions.fail(service.clients.name(request.scope))
    except TooManyRequests as error:
        answered = _form(request, then, str(error), status=429)
        answered.headers["Retry-After"] = str(error.wait_s)
        return answered
    return _form(request, then, texts()["desk"]["wrong" if token is None else "not_enough"], status=403)


async def _sign_out(request: Request) -> Response:
    check_origin(request)
    answer = RedirectResponse("/desk/sign-in", 303)
    try:
        session = signed_in(request)
    except NotSignedIn:  # it is over already
        return answer
    check_csrf(session, await read_form(request))
    end(request, answer)
    return answer


def _form(request: Request, then: str, problem: str = "", *, status: int = 200) -> Response:
    """The form. Whatever was typed before is not in it."""
    return page(request, "sign_in.html", {"then": then, "problem": problem}, status=status)


ROUTES = [
    Route("/desk/sign-in", _ask, methods=["GET"]),
    Route("/desk/sign-in", _sign_in, methods=["POST"]),
    Route("/desk/sign-out", _sign_out, methods=["POST"]),
]
