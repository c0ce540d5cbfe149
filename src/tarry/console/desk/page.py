"""The desk: the health of the gateway, what waits for a person, and what an operator can do about it.

Counts alone are shown, never authors. Nothing here releases a post early.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tarry.console.assets import texts
from tarry.console.desk.figures import LedgerCount, Standing, cards, health, look, parked
from tarry.console.pages import check_origin, page, read_form
from tarry.console.sessions import Session, check_csrf, signed_in
from tarry.core.errors import BadInput
from tarry.core.promise import promise
from tarry.gateway.catalog import SCOPES, PolicyVersion, Space, find_token
from tarry.gateway.gateway import Gateway
from tarry.gateway.http_service import HttpService
from tarry.gateway.problems import NOTHING_HERE, BadRequest, Forbidden
from tarry.keep.errors import NoSuchPost, TooLate, Unavailable
from tarry.keep.store import moment

__all__ = ["ROUTES"]


_MOST_PARKED = 100  # that are shown
_DONE = {"paused", "opened", "retried", "withdrawn", "revoked"}  # beside withdrawn_on, which has a count


class _View(NamedTuple):
    """The state of the store, and of the ledger where the session may see it."""

    standing: Standing | None  # None: the store is away
    spent: int | None = None  # accounts


async def _read(request: Request) -> Response:
    session = signed_in(request)
    view = await _view(request, session)
    return page(request, "desk.html", _values(request, session, view))


async def _act(request: Request) -> Response:
    check_origin(request)
    session = signed_in(request)  # before anything of theirs is read
    fields = await read_form(request)
    check_csrf(session, fields)
    if (act := _ACTS.get(fields.get("act", ""))) is None:
        raise BadRequest(422, texts()["desk"]["no_act"])
    return await act(request, session, fields)


async def _health(request: Request) -> Response:
    """The lines about health alone, for a page that stays open."""
    session = signed_in(request)
    view = await _view(request, session)
    return JSONResponse({"lines": [line._asdict() for line in health(*view)]})


async def _new_token(request: Request) -> Response:
    """Show a token that was just made; the browser forgets it as it is shown."""
    session = signed_in(request)
    secret = request.cookies.get(_NEW_TOKEN, "")
    made = find_token(request.app.state.service.gateway.catalog, secret)
    if made is None or not session.may_everywhere("admin"):
        return RedirectResponse("/desk", 303)
    answer = page(request, "desk_token.html", {"made": made, "secret": secret})
    answer.delete_cookie(_NEW_TOKEN, path=request.url.path, httponly=True, samesite="strict")
    return answer


async def _promise(request: Request) -> Response:
    """What one policy of a space promises, or promised."""
    session, service = signed_in(request), request.app.state.service
    if not session.may("operate", request.path_params["space"]):
        raise Forbidden("operate")
    space: Space = service.space(request)
    version = _version(space, request.path_params["number"])
    promised = await service.call(partial(promise, version.policy))
    values = {"space": space, "version": version, "promise": promised}
    return page(request, "desk_promise.html", values)


def _version(space: Space, number: str) -> PolicyVersion:
    version = next((each for each in space.versions if str(each.number) == number), None)
    if version is None:
        raise BadRequest(404, NOTHING_HERE)
    return version


async def _view(request: Request, session: Session) -> _View:
    service: HttpService = request.app.state.service
    ledger: LedgerCount | None = (
        request.app.state.ledger_count if session.may_everywhere("operate") else None
    )
    try:
        return await service.call(partial(_read_view, service.gateway, ledger))
    except Unavailable:
        return _View(None)


def _read_view(gateway: Gateway, ledger: LedgerCount | None) -> _View:
    with gateway.store.transaction("reading") as transaction:
        return _View(
            look(transaction, gateway.clock),
            None if ledger is None else ledger.count(transaction, gateway.clock),
        )


def _values(request: Request, session: Session, view: _View) -> dict[str, Any]:
    book, standing = request.app.state.service.gateway.catalog, view.standing
    spaces = [space for space in book.spaces.values() if session.may("operate", space.name)]
    posts = parked(standing, {space.name for space in spaces})
    is_admin = session.may_everywhere("admin")
    return {
        "session": session,
        "done": _done(request),
        "health": health(*view),
        "is_there": standing is not None,
        "parked": posts[:_MOST_PARKED],
        "parked_more": len(posts) - _MOST_PARKED,
        "titles": {space.name: space.title for space in spaces},
        "cards": cards(standing, spaces),
        "counted_at": None if standing is None else moment(standing.counted_at),
        "tokens": sorted(book.tokens.values(), key=lambda t: (t.name, t.id)) if is_admin else None,
        "scopes": SCOPES,
        "all_spaces": list(book.spaces.values()) if is_admin else [],
    }


def _done(request: Request) -> str:
    """What the last form did, in a sentence of ours: an address cannot bring words of its own."""
    name, count = request.query_params.get("done", ""), request.query_params.get("count", "")
    sentences: dict[str, str] = texts()["desk"]["done"]
    if name == "withdrawn_on":
        if not (count.isascii() and count.isdecimal() and len(count) < 10):
            return ""
        number = str(int(count))
        return sentences.get(f"withdrawn_{number}", sentences["withdrawn_many"]).format(count=number)
    return sentences[name] if name in _DONE else ""


# --- what an operator does: each act is one form, and checks for itself what it needs ------------------

_Fields = Mapping[str, str]
_Act = Callable[[Request, Session, _Fields], Awaitable[Response]]

#: The cookie that carries a new token to the one page that shows it: any server may serve that page.
_NEW_TOKEN = "tarry_new_token"  # noqa: S105 - the name of a cookie
_SHOWN_AT = "/desk/token"
_NEW_TOKEN_S = 300  # that the browser keeps it at most
_MOST_TARGET = 1000


def _then(done: str, **more: int) -> Response:
    return RedirectResponse(f"/desk?{urlencode({'done': done, **more})}", 303)


def _space(request: Request, session: Session, fields: _Fields) -> tuple[HttpService, str]:
    """The space that a form names, if the session may operate it."""
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


def _post(fields: _Fields) -> int:
    text = fields.get("post", "")
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) < 1 << 63):
        raise BadRequest(404, texts()["desk"]["not_parked"])
    return int(text)


async def _pause(request: Request, session: Session, fields: _Fields) -> Response:
    service, space = _space(request, session, fields)
    await service.change(partial(service.gateway.open_space, space, is_open=False))
    return _then("paused")


async def _open(request: Request, session: Session, fields: _Fields) -> Response:
    service, space = _space(request, session, fields)
    await service.change(partial(service.gateway.open_space, space, is_open=True))
    return _then("opened")


async def _retry(request: Request, session: Session, fields: _Fields) -> Response:
    service, space = _space(request, session, fields)
    await _parked(service, partial(service.gateway.retry, space, _post(fields)))
    return _then("retried")


async def _withdraw(request: Request, session: Session, fields: _Fields) -> Response:
    service, space = _space(request, session, fields)
    await _parked(service, partial(service.gateway.withdraw_parked, space, _post(fields)))
    return _then("withdrawn")


async def _parked(service: HttpService, change: Callable[[], None]) -> None:
    try:
        await service.change(change)
    except (NoSuchPost, TooLate):
        raise BadRequest(409, texts()["desk"]["not_parked"]) from None


async def _withdraw_on(request: Request, session: Session, fields: _Fields) -> Response:
    service, space = _space(request, session, fields)
    target = fields.get("target", "")
    if not 0 < len(target) <= _MOST_TARGET or "\0" in target:
        raise BadRequest(422, texts()["desk"]["withdraw_empty"])
    count = await service.change(partial(service.gateway.withdraw_on, space, target))
    return _then("withdrawn_on", count=count)


async def _make(request: Request, session: Session, fields: _Fields) -> Response:
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
        _NEW_TOKEN,
        token,
        max_age=_NEW_TOKEN_S,
        path=_SHOWN_AT,
        httponly=True,
        samesite="strict",
        secure=request.app.state.settings.is_https,
    )
    return answer


async def _revoke(request: Request, session: Session, fields: _Fields) -> Response:
    service = _admin(request, session)
    try:
        await service.change(partial(service.gateway.revoke_token, fields.get("token", "")))
    except BadInput:
        raise BadRequest(409, texts()["desk"]["revoke_unknown"]) from None
    return _then("revoked")


#: By the value of the field `act`.
_ACTS: Mapping[str, _Act] = {
    "pause": _pause,
    "open": _open,
    "retry": _retry,
    "withdraw": _withdraw,
    "withdraw-on": _withdraw_on,
    "make": _make,
    "revoke": _revoke,
}


ROUTES = [
    Route("/desk", _read, methods=["GET"]),
    Route("/desk", _act, methods=["POST"]),
    Route("/desk/health", _health, methods=["GET"]),
    Route("/desk/token", _new_token, methods=["GET"]),
    Route("/desk/promise/{space}/{number}", _promise, methods=["GET"]),
]
