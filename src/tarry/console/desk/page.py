"""The desk: the health of the gateway, what waits for a person, and what an operator can do about it.

Counts alone are shown, never authors. Nothing here releases a post early.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from tarry.console.desk.figures import LedgerCount, Standing, card, health, look, overall
from tarry.console.desk.spaces import ROUTES as SPACE_ROUTES
from tarry.console.pages import check_origin, page, read_form, require, texts
from tarry.console.sessions import Session, check_csrf, signed_in
from tarry.core.errors import BadInput
from tarry.core.promise import promise
from tarry.gateway.catalog import SCOPES, Space, find_token
from tarry.gateway.http_service import MAX_NUMBER, HttpService, is_number
from tarry.gateway.problems import NOTHING_HERE, BadRequest, Forbidden
from tarry.gateway.upkeep import ParkedPost
from tarry.keep.errors import NoSuchPost, TooLate, Unavailable
from tarry.keep.store import moment

__all__ = ["ROUTES"]


_MOST_PARKED = 100  # that are shown
#: Beside withdrawn_on, which has a count.
_DONE = {"paused", "opened", "retried", "withdrawn", "revoked", "made_space", "changed_space"}


async def _read(service: HttpService, request: Request) -> Response:
    session = signed_in(request)
    catalog = service.gateway.catalog
    standing, spent = await _view(service, request, session)
    spaces = {name: space for name, space in catalog.spaces.items() if session.may("operate", name)}
    posts = _parked(standing, session)
    lines = health(standing, spent, len(posts))
    is_admin = session.may_everywhere("admin")
    values: dict[str, Any] = {
        "session": session,
        "done": _done(request),
        "overall": overall(lines),
        "health": lines,
        "is_there": standing is not None,
        "parked": [post.as_json() for post in posts[:_MOST_PARKED]],
        "parked_more": len(posts) - _MOST_PARKED,
        "titles": {name: space.title for name, space in spaces.items()},
        "cards": [card(standing, space) for space in spaces.values()],
        "counted_at": None if standing is None else moment(standing.counted_at),
        "may_make": session.may_everywhere("spaces"),
        "may_edit": [
            name
            for name, space in spaces.items()
            if session.may("spaces", name) and space.outlet["kind"] == "feed" and not space.has_ended
        ],
        "tokens": sorted(catalog.tokens.values(), key=lambda t: (t.name, t.id)) if is_admin else None,
        "scopes": SCOPES,
        "all_spaces": list(catalog.spaces.values()) if is_admin else [],
    }
    return page(request, "desk.html", values)


async def _health(service: HttpService, request: Request) -> Response:
    """The lines about health alone, for a page that stays open."""
    session = signed_in(request)
    standing, spent = await _view(service, request, session)
    lines = health(standing, spent, len(_parked(standing, session)))
    return JSONResponse({"overall": overall(lines)._asdict(), "lines": [line._asdict() for line in lines]})


def _parked(standing: Standing | None, session: Session) -> list[ParkedPost]:
    """The parked posts of the spaces that the session may operate."""
    posts = [] if standing is None else standing.parked
    return [post for post in posts if session.may("operate", post.space)]


async def _view(
    service: HttpService, request: Request, session: Session
) -> tuple[Standing | None, int | None]:
    """The state of the store, if it is there, and of the ledger, where the session may see it."""
    ledger: LedgerCount = request.app.state.ledger_count

    def read() -> tuple[Standing, int | None]:
        clock = service.gateway.clock
        with service.gateway.store.transaction("reading") as transaction:
            spent = ledger.count(transaction, clock) if session.may_everywhere("operate") else None
            return look(transaction, clock), spent

    try:
        return await service.call(read)
    except Unavailable:
        return None, None


async def _new_token(service: HttpService, request: Request) -> Response:
    """Show a token that was just made; the browser forgets it as it is shown."""
    session = signed_in(request)
    secret = request.cookies.get(_NEW_TOKEN, "")
    made = find_token(service.gateway.catalog, secret)
    if made is None or not session.may_everywhere("admin"):
        return RedirectResponse("/desk", 303)
    answer = page(request, "desk_token.html", {"made": made, "secret": secret})
    answer.delete_cookie(_NEW_TOKEN, path=request.url.path, httponly=True, samesite="strict")
    return answer


async def _promise(service: HttpService, request: Request) -> Response:
    """What one policy of a space promises, or promised."""
    space = _space(service, signed_in(request), request.path_params["space"])
    versions = {str(version.number): version for version in space.versions}
    if (version := versions.get(request.path_params["number"])) is None:
        raise BadRequest(404, NOTHING_HERE)
    promised = await service.call(partial(promise, version.policy))
    return page(request, "desk_promise.html", {"space": space, "version": version, "promise": promised})


def _space(service: HttpService, session: Session, name: str) -> Space:
    """A space, if the session may operate it."""
    if not session.may("operate", name):
        raise Forbidden("operate")
    return service.gateway.catalog.space(name)


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


# --- what an operator does: each act is one form --------------------------------------------------------

_Fields = Mapping[str, str]
#: The cookie that carries a new token to the one page that shows it: any server may serve that page.
_NEW_TOKEN = "tarry_new_token"  # noqa: S105 - the name of a cookie
_SHOWN_AT = "/desk/token"
_NEW_TOKEN_S = 300  # that the browser keeps it at most
_MOST_TARGET = 1000


async def _act(service: HttpService, request: Request) -> Response:
    check_origin(request)
    session = signed_in(request)  # before anything of theirs is read
    fields = await read_form(request)
    check_csrf(session, fields)
    act = fields.get("act", "")
    require(act in {*_ON_SPACES, *_ON_TOKENS}, 422, "desk", "no_act")
    if act in _ON_SPACES:
        return await _ON_SPACES[act](
            service, _space(service, session, fields.get("space", "")).name, fields
        )
    # Tokens are the gateway's: an administrator of some spaces could make one for the others.
    if not session.may_everywhere("admin"):
        raise Forbidden("admin")
    return await _ON_TOKENS[act](service, request, fields)


def _then(done: str, **more: int) -> Response:
    return RedirectResponse(f"/desk?{urlencode({'done': done, **more})}", 303)


async def _pause_or_open(service: HttpService, space: str, fields: _Fields) -> Response:
    is_open = fields["act"] == "open"
    await service.change(partial(service.gateway.open_space, space, is_open=is_open))
    return _then("opened" if is_open else "paused")


async def _retry_or_withdraw(service: HttpService, space: str, fields: _Fields) -> Response:
    post = fields.get("post", "")
    require(is_number(post, 0, MAX_NUMBER), 404, "desk", "not_parked")
    is_retry = fields["act"] == "retry"
    change = service.gateway.retry if is_retry else service.gateway.withdraw_parked
    try:
        await service.change(partial(change, space, int(post)))
    except (NoSuchPost, TooLate):
        raise BadRequest(409, texts()["desk"]["not_parked"]) from None
    return _then("retried" if is_retry else "withdrawn")


async def _withdraw_on(service: HttpService, space: str, fields: _Fields) -> Response:
    target = fields.get("target", "")
    require(0 < len(target) <= _MOST_TARGET and "\0" not in target, 422, "desk", "withdraw_empty")
    count = await service.change(partial(service.gateway.withdraw_on, space, target))
    return _then("withdrawn_on", count=count)


async def _make(service: HttpService, request: Request, fields: _Fields) -> Response:
    scopes = [scope for scope in SCOPES if fields.get(f"scope-{scope}") == "yes"]
    spaces = [name for name in service.gateway.catalog.spaces if fields.get(f"space-{name}") == "yes"]
    require(scopes, 422, "desk", "make_no_scope")
    # No space means all of them: nobody gets that by forgetting to choose.
    require((fields.get("everywhere") == "yes") != bool(spaces), 422, "desk", "make_no_where")
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
        secure=request.app.state.config.https,
    )
    return answer


async def _revoke(service: HttpService, _: Request, fields: _Fields) -> Response:
    try:
        await service.change(partial(service.gateway.revoke_token, fields.get("token", "")))
    except BadInput:
        raise BadRequest(409, texts()["desk"]["revoke_unknown"]) from None
    return _then("revoked")


#: By the value of the field `act`.
_ON_SPACES: Mapping[str, Callable[[HttpService, str, _Fields], Awaitable[Response]]] = {
    "pause": _pause_or_open,
    "open": _pause_or_open,
    "retry": _retry_or_withdraw,
    "withdraw": _retry_or_withdraw,
    "withdraw-on": _withdraw_on,
}
_ON_TOKENS: Mapping[str, Callable[[HttpService, Request, _Fields], Awaitable[Response]]] = {
    "make": _make,
    "revoke": _revoke,
}

ROUTES = [
    *SPACE_ROUTES,
    ("GET", "/desk", _read),
    ("POST", "/desk", _act),
    ("GET", "/desk/health", _health),
    ("GET", "/desk/token", _new_token),
    ("GET", "/desk/promise/{space}/{number}", _promise),
]
