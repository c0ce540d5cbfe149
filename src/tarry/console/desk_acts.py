"""What an operator does at the desk: each act is one form, and checks for itself what it needs.

Who asks, from where, and whether the form is theirs was checked before. Nothing here releases early.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tarry.console.sessions import Session
from tarry.console.texts import texts
from tarry.core.errors import BadInput
from tarry.gateway.catalog import SCOPES
from tarry.gateway.http_service import HttpService
from tarry.gateway.problems import BadRequest, Forbidden
from tarry.keep.errors import NoSuchPost, TooLate

__all__ = ["ACTS", "NEW_TOKEN", "Act"]

Fields = Mapping[str, str]
Act = Callable[[Request, Session, Fields], Awaitable[Response]]

#: The cookie that carries a new token to the one page that shows it: any server may serve that page.
NEW_TOKEN = "tarry_new_token"  # noqa: S105 - the name of a cookie
_SHOWN_AT = "/desk/token"
_LONGEST_S = 300
_MOST_TARGET = 1000


def _then(done: str, **more: int) -> Response:
    return RedirectResponse(f"/desk?{urlencode({'done': done, **more})}", 303)


def _space(request: Request, session: Session, fields: Fields) -> tuple[HttpService, str]:
    """The space that a form names, if they may operate it."""
    service: HttpService = request.app.state.service
    name = fields.get("space", "")
    if not session.may("operate", name):
        raise Forbidden("operate")
    return service, service.gateway.catalog.space(name).name


def _admin(request: Request, session: Session) -> HttpService:
    """Tokens are the gateway's: an administrator of some spaces could make one for the others."""
    if not session.may_everywhere("admin"):
        raise Forbidden("admin")
    service: HttpService = request.app.state.service
    return service


def _post(fields: Fields) -> int:
    text = fields.get("post", "")
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) < 1 << 63):
        raise BadRequest(404, texts()["desk"]["not_parked"])
    return int(text)


async def _pause(request: Request, session: Session, fields: Fields) -> Response:
    service, space = _space(request, session, fields)
    await service.change(partial(service.gateway.open_space, space, is_open=False))
    return _then("paused")


async def _open(request: Request, session: Session, fields: Fields) -> Response:
    service, space = _space(request, session, fields)
    await service.change(partial(service.gateway.open_space, space, is_open=True))
    return _then("opened")


async def _retry(request: Request, session: Session, fields: Fields) -> Response:
    service, space = _space(request, session, fields)
    await _parked(service, partial(service.gateway.retry, space, _post(fields)))
    return _then("retried")


async def _withdraw(request: Request, session: Session, fields: Fields) -> Response:
    service, space = _space(request, session, fields)
    await _parked(service, partial(service.gateway.withdraw_parked, space, _post(fields)))
    return _then("withdrawn")


async def _parked(service: HttpService, change: Callable[[], None]) -> None:
    try:
        await service.change(change)
    except (NoSuchPost, TooLate):
        raise BadRequest(409, texts()["desk"]["not_parked"]) from None


async def _withdraw_on(request: Request, session: Session, fields: Fields) -> Response:
    service, space = _space(request, session, fields)
    target = fields.get("target", "")
    if not 0 < len(target) <= _MOST_TARGET or "\0" in target:
        raise BadRequest(422, texts()["desk"]["withdraw_empty"])
    count = await service.change(partial(service.gateway.withdraw_on, space, target))
    return _then("withdrawn_on", count=count)


async def _make(request: Request, session: Session, fields: Fields) -> Response:
    service = _admin(request, session)
    scopes = [scope for scope in SCOPES if fields.get(f"scope-{scope}") == "yes"]
    spaces = [name for name in service.gateway.catalog.spaces if fields.get(f"space-{name}") == "yes"]
    if not scopes:
        raise BadRequest(422, texts()["desk"]["make_no_scope"])
    # No space means all of them: nobody gets that by forgetting to choose.
    if (fields.get("everywhere") == "yes") == bool(spaces):
        raise BadRequest(422, texts()["desk"]["make_no_where"])
    name = fields.get("name", "").strip()
    _, token = await service.change(partial(service.gateway.add_token, name, scopes, spaces))
    answer = RedirectResponse(_SHOWN_AT, 303)
    answer.set_cookie(
        NEW_TOKEN,
        token,
        max_age=_LONGEST_S,
        path=_SHOWN_AT,
        httponly=True,
        samesite="strict",
        secure=request.app.state.settings.is_https,
    )
    return answer


async def _revoke(request: Request, session: Session, fields: Fields) -> Response:
    service = _admin(request, session)
    try:
        await service.change(partial(service.gateway.revoke_token, fields.get("token", "")))
    except BadInput:
        raise BadRequest(409, texts()["desk"]["revoke_unknown"]) from None
    return _then("revoked")


#: By the value of the field `act`.
ACTS: Mapping[str, Act] = {
    "pause": _pause,
    "open": _open,
    "retry": _retry,
    "withdraw": _withdraw,
    "withdraw-on": _withdraw_on,
    "make": _make,
    "revoke": _revoke,
}
