"""The desk: how the gateway stands and what waits for a person. Counts alone, never who."""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tarry.console.desk_acts import ACTS, NEW_TOKEN
from tarry.console.desk_cards import cards
from tarry.console.desk_figures import Ledger, Standing, health, look, parked
from tarry.console.forms import check_origin, read_form
from tarry.console.pages import page
from tarry.console.sessions import Session, check_csrf, signed_in
from tarry.console.texts import texts
from tarry.core.promise import promise
from tarry.gateway.book import SCOPES, Space, Version
from tarry.gateway.gateway import Gateway
from tarry.gateway.problems import NOTHING_HERE, BadRequest, Forbidden
from tarry.gateway.tokens import find_token
from tarry.keep.clock import moment
from tarry.keep.errors import Unavailable

if TYPE_CHECKING:
    from tarry.gateway.door import Door

__all__ = ["ROUTES"]

_MOST_PARKED = 100  # that are shown


class _Seen(NamedTuple):
    """One look at the store, and at the ledger where the session may."""

    standing: Standing | None  # None: the store is away
    spent: int | None = None  # accounts


async def _read(request: Request) -> Response:
    session = signed_in(request)
    seen = await _look(request, session)
    return page(request, "desk.html", _values(request, session, seen))


async def _act(request: Request) -> Response:
    check_origin(request)
    session = signed_in(request)  # nothing is read of who is not
    fields = await read_form(request)
    check_csrf(session, fields)
    if (act := ACTS.get(fields.get("act", ""))) is None:
        raise BadRequest(422, texts()["desk"]["no_act"])
    return await act(request, session, fields)


async def _health(request: Request) -> Response:
    """The lines about health alone, for a page that stays open."""
    session = signed_in(request)
    seen = await _look(request, session)
    return JSONResponse({"lines": [line._asdict() for line in health(*seen)]})


async def _new_token(request: Request) -> Response:
    """Show a token that was just made; it goes from the browser as it is shown."""
    session = signed_in(request)
    secret = request.cookies.get(NEW_TOKEN, "")
    made = find_token(request.app.state.door.gateway.book, secret)
    if made is None or not session.may_everywhere("admin"):
        return RedirectResponse("/desk", 303)
    answer = page(request, "desk_token.html", {"made": made, "secret": secret})
    answer.delete_cookie(NEW_TOKEN, path=request.url.path, httponly=True, samesite="strict")
    return answer


async def _promise(request: Request) -> Response:
    """What one policy of a space promises, or promised."""
    session, door = signed_in(request), request.app.state.door
    if not session.may("operate", request.path_params["space"]):
        raise Forbidden("operate")
    space: Space = door.space(request)
    version = _version(space, request.path_params["number"])
    told = await door.call(partial(promise, version.policy))
    values = {"space": space, "version": version, "promise": told}
    return page(request, "desk_promise.html", values)


def _version(space: Space, number: str) -> Version:
    found = next((each for each in space.versions if str(each.number) == number), None)
    if found is None:
        raise BadRequest(404, NOTHING_HERE)
    return found


async def _look(request: Request, session: Session) -> _Seen:
    door: Door = request.app.state.door
    ledger: Ledger | None = request.app.state.ledger if session.may_everywhere("operate") else None
    try:
        return await door.call(partial(_seen, door.gateway, ledger))
    except Unavailable:
        return _Seen(None)


def _seen(gateway: Gateway, ledger: Ledger | None) -> _Seen:
    with gateway.store.transaction("reading") as transaction:
        return _Seen(
            look(transaction, gateway.clock),
            None if ledger is None else ledger.count(transaction, gateway.clock),
        )


def _values(request: Request, session: Session, seen: _Seen) -> dict[str, Any]:
    book, standing = request.app.state.door.gateway.book, seen.standing
    spaces = [space for space in book.spaces.values() if session.may("operate", space.name)]
    found = parked(standing, {space.name for space in spaces})
    is_admin = session.may_everywhere("admin")
    return {
        "session": session,
        "done": _done(request),
        "health": health(*seen),
        "is_there": standing is not None,
        "parked": found[:_MOST_PARKED],
        "parked_more": len(found) - _MOST_PARKED,
        "titles": {space.name: space.title for space in spaces},
        "cards": cards(standing, spaces),
        "counted_at": None if standing is None else moment(standing.counted_at),
        "tokens": sorted(book.tokens.values(), key=lambda t: (t.name, t.id)) if is_admin else None,
        "scopes": SCOPES,
        "all_spaces": list(book.spaces.values()) if is_admin else [],
    }


def _done(request: Request) -> str:
    """What the last form did, in a sentence of ours."""
    name, count = request.query_params.get("done", ""), request.query_params.get("count", "")
    told: dict[str, str] = texts()["desk"]["done"]
    if name == "withdrawn_on":
        if not (count.isascii() and count.isdecimal() and len(count) < 10):
            return ""
        number = str(int(count))
        return told.get(f"withdrawn_{number}", told["withdrawn_many"]).format(count=number)
    return "" if "{" in told.get(name, "") else told.get(name, "")


ROUTES = [
    Route("/desk", _read, methods=["GET"]),
    Route("/desk", _act, methods=["POST"]),
    Route("/desk/health", _health, methods=["GET"]),
    Route("/desk/token", _new_token, methods=["GET"]),
    Route("/desk/promise/{space}/{number}", _promise, methods=["GET"]),
]
