"""One's own page: what waits and what is parked, forms to hand something in, and what the policy promises.

It stands on its own and needs no gateway. Everything below the room of its door asks for the cookie first
and is read afterwards; looking changes nothing, and what changes something asks before.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

from tarry.console.own.door import OwnDoor
from tarry.console.own.drawing import axis, track_of
from tarry.console.own.store import Declared, OwnStore
from tarry.console.pages import STATIC, page, read_form, require, texts
from tarry.core.errors import TarryError
from tarry.core.exact import format_duration
from tarry.core.plugins import load_all
from tarry.gateway.app import CommonHeaders
from tarry.gateway.problems import BadRequest, refuse
from tarry.keep.acts import OwnAct, account_in, kind_of, summary_of
from tarry.keep.form import Form, FormField
from tarry.keep.store import moment

if TYPE_CHECKING:
    from tarry.keep.outlet import OutletKind

__all__ = ["ROUTES", "OwnPages", "create_own_page"]

_MOST_FORM_BYTES = 8 << 20  # a page of a wiki may have 2 MiB, and a form writes some letters as three
_FORM_S = 60
_ID_DIGITS = 16
_OURS_ALONE = {"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin"}


class OwnPages:
    """What the handlers share.

    >>> from tarry.keep.home import Home
    >>> store = OwnStore(Home.of({"TARRY_HOME": "/tmp/t"}), wake=lambda: None)
    >>> sorted(OwnPages(store, OwnDoor("http://127.0.0.1:8421")).forms)[:2]
    ['git', 'mail']
    """

    def __init__(self, store: OwnStore, door: OwnDoor, opened: Callable[[], object] = lambda: None) -> None:
        self.store, self.door, self.opened = store, door, opened
        self.forms = _forms()
        self.done: dict[str, str] = {}  # forms that were sent: a second click hands nothing in again
        self.one_at_a_time = asyncio.Lock()

    def shown(
        self, request: Request, template: str, values: Mapping[str, Any], status: int = 200
    ) -> Response:
        """A page below the room."""
        common = {"room": self.door.room, "mark": self.door.mark}
        answer = page(request, template, {**common, **values}, status=status)
        answer.headers.update(_OURS_ALONE)
        return answer

    def to(self, path: str) -> Response:
        """A redirect to another page below the room."""
        return RedirectResponse(f"{self.door.room}/{path}", 303)


def create_own_page(
    store: OwnStore,
    door: OwnDoor,
    *,
    opened: Callable[[], object] = lambda: None,
    tell: Callable[[str], None] = lambda _: None,
) -> Starlette:
    """The app behind a door; `opened` is called when somebody has come in, `tell` hears what broke.

    >>> from tarry.keep.home import Home
    >>> store = OwnStore(Home.of({"TARRY_HOME": "/tmp/t"}), wake=lambda: None)
    >>> app = create_own_page(store, OwnDoor("http://127.0.0.1:8421"))
    >>> [route.path for route in app.routes][:2]
    ['/static/{mark}/{name}', '/enter/{word}']
    """
    own = OwnPages(store, door, opened)
    inside = [
        Route(path, _endpoint(own, handler, tell), methods=[method]) for method, path, handler in ROUTES
    ]
    app = Starlette(
        routes=[
            STATIC,
            Route("/enter/{word}", _endpoint(own, _enter, tell), methods=["GET"]),
            Mount(door.room, routes=inside),
        ],
        exception_handlers={HTTPException: partial(_nothing_here, own)},
    )
    app.router.redirect_slashes = False
    app.add_middleware(CommonHeaders)
    return app


_Handler = Callable[[OwnPages, Request], Awaitable[Response]]


def _endpoint(
    own: OwnPages, handler: _Handler, tell: Callable[[str], None]
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            own.door.check_host(request) if handler is _enter else own.door.check(request)
            if request.method == "GET":
                return await handler(own, request)
            async with own.one_at_a_time:
                return await handler(own, request)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except Exception as error:  # noqa: BLE001 - every error is a page, and none shows its inside
            if not isinstance(error, TarryError):
                tell(f"the page broke: {type(error).__name__}")
            return _refusal(own, request, error)

    return endpoint


def _refusal(own: OwnPages, request: Request, error: Exception, kept: str = "") -> Response:
    """A page with one sentence, and what was written, so that it can be copied."""
    status = refuse(error).status_code
    sentence = str(error) if isinstance(error, TarryError) else texts()["own"]["broke"]
    # Whoever has not come in is not shown the way in.
    is_inside = request.url.path.startswith(own.door.room) and status not in {403, 421}
    values = {"sentence": sentence, "is_inside": is_inside, "kept": kept}
    return own.shown(request, "own_error.html", values, status)


async def _nothing_here(own: OwnPages, request: Request, error: Exception) -> Response:
    """Whoever has not come in learns nothing: every address is closed to them."""
    try:
        own.door.check(request)
    except BadRequest as refused:
        return _refusal(own, request, refused)
    status = error.status_code if isinstance(error, HTTPException) else 404
    return _refusal(own, request, BadRequest(status, texts()["own"]["nothing"]))


# --- coming in, and looking -----------------------------------------------------------------------------


async def _enter(own: OwnPages, request: Request) -> Response:
    require(own.door.open_once(request.path_params["word"]), 403, "own", "closed")
    own.opened()
    # No redirect: a browser that came from a file would not bring the cookie along.
    answer = own.shown(request, "own_enter.html", {})
    own.door.give_cookie(answer)
    return answer


async def _look(own: OwnPages, request: Request) -> Response:
    view = await run_in_threadpool(own.store.look)
    waiting = [act for act in view.acts if act.status.state == "waiting"]
    span, stops = axis(waiting, view.now)
    values = {
        "view": view,
        "stops": stops,
        "waiting": [_described(act) | {"track": track_of(act, view.now, span)} for act in waiting],
        "parked": [_described(act) for act in view.acts if act.status.state == "parked"],
        "waits": _waits(view.costs.unbatched.mean, view.costs.batched.mean, view.costs.batched.maximum),
        "spent_percent": f"{min(100.0, 100 * view.spent.batched / max(1, view.spent.covers)):.1f}",
        "places": list(own.forms),
        "home": own.store.home,
        "format": format_duration,
        "done": request.query_params.get("done"),
    }
    return own.shown(request, "own.html", values)


def _waits(*seconds: Any) -> list[str | None]:
    return [None if each is None else format_duration(round(each)) for each in seconds]


def _described(act: OwnAct) -> dict[str, Any]:
    """An act for a template."""
    kind: OutletKind | None = kind_of(act.row["outlet"])
    return {
        "id": act.id,
        "target": act.row["target"],
        "outlet": act.row["outlet"],
        "what": summary_of(act.row["outlet"], act.options),
        "account": account_in(act.options),
        "status": act.status,
        "runs": act.runs,
        "holds_up": act.holds_up,
        "moments": [] if act.status.between is None else [moment(at) for at in act.status.between],
        "has_words": kind is not None and kind.form is not None and kind.form.has_content,
    }


# --- one act --------------------------------------------------------------------------------------------


def _key(request: Request) -> int:
    text: str = request.path_params["id"]
    require(len(text) == _ID_DIGITS and set(text) <= set("0123456789abcdef"), 404, "own", "nothing")
    return int(text, 16)


async def _read_act(own: OwnPages, request: Request, *, ask: str = "", problem: str = "") -> Response:
    details = await run_in_threadpool(own.store.act, _key(request))
    if details is None:
        return own.shown(request, "own_gone.html", {}, 404)
    act, content, behind = details
    values = {
        "act": _described(act),
        "options": [
            (name, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
            for name, value in sorted(act.options.items())
            if value not in ("", None)
        ],
        "content": None if content is None else content.decode(errors="replace"),
        "behind": [_described(each) for each in behind],
        "ask": ask,
        "problem": problem,
        "done": request.query_params.get("done"),
        **(await _questions(own)),
    }
    return own.shown(request, "own_act.html", values)


async def _confirmation(own: OwnPages, request: Request) -> Response:
    ask = request.url.path.rpartition("/")[2]
    return await _read_act(own, request, ask=ask)


async def _withdraw(own: OwnPages, request: Request) -> Response:
    await _form(own, request)
    await run_in_threadpool(own.store.withdraw, _key(request))
    return own.to("?done=withdrawn")


async def _repeat(own: OwnPages, request: Request) -> Response:
    fields = await _form(own, request)
    post = await run_in_threadpool(own.store.repeat, _key(request), await _declared(own, fields))
    return own.to(f"act/{post:016x}?done=handed_in")


async def _edit(own: OwnPages, request: Request) -> Response:
    fields = await _form(own, request)
    text = fields.get("text", "")
    try:
        await run_in_threadpool(own.store.edit, _key(request), text.encode())
    except TarryError as error:
        return _refusal(own, request, error, kept=text)
    return own.to(f"act/{request.path_params['id']}?done=edited")


async def _wake(own: OwnPages, request: Request) -> Response:
    await _form(own, request)
    await run_in_threadpool(own.store.wake)
    return own.to("")


async def _form(own: OwnPages, request: Request) -> dict[str, str]:
    fields = await read_form(request, _MOST_FORM_BYTES, within_s=_FORM_S)
    own.door.check_mark(fields.get("mark", ""))
    return fields


# --- handing in -----------------------------------------------------------------------------------------


def _forms() -> dict[str, Form]:
    """Of every place that one's own store has, and that says how."""
    kinds: dict[str, OutletKind] = load_all("outlet")
    return {
        name: kind.form for name, kind in sorted(kinds.items()) if kind.at_home and kind.form is not None
    }


async def _read_form(own: OwnPages, request: Request) -> Response:
    return await _show_form(own, request, {})


async def _show_form(
    own: OwnPages, request: Request, said: Mapping[str, str], problem: str = "", status: int = 200
) -> Response:
    place, form = _place(own, request)
    asks_account = any(field.kind == "account" for field in form.fields)
    values = {
        "place": place,
        "fields": [_field(place, field, said) for field in form.fields],
        "accounts": await run_in_threadpool(own.store.accounts) if asks_account else None,
        "problem": problem,
        "once": secrets.token_hex(16),
        "said": said,
        **(await _questions(own)),
    }
    return own.shown(request, "own_form.html", values, status)


async def _hand_in(own: OwnPages, request: Request) -> Response:
    place, form = _place(own, request)
    fields = await _form(own, request)
    once = fields.get("once", "")
    if once in own.done:
        return own.to(own.done[once])
    said = {
        field.name: fields[field.name] if field.kind == "content" else fields[field.name].strip()
        for field in form.fields
        if field.name in fields
    }
    try:
        for field in form.fields:
            label = _field(place, field, {})["label"]
            require(said.get(field.name) or not field.required, 422, "own", "missing", field=label)
        declared = await _declared(own, fields)
        post = await run_in_threadpool(own.store.hand_in, form, said, declared)
    except TarryError as error:  # what was written is not lost
        return await _show_form(own, request, fields, str(error), refuse(error).status_code)
    own.done[once] = f"act/{post:016x}?done=handed_in"
    return own.to(own.done[once])


async def _questions(own: OwnPages) -> dict[str, Any]:
    """What the policy wants to know of every act."""
    policy = await run_in_threadpool(own.store.policy)
    return {
        "asks_more": policy.labels == "declared",
        "window": format_duration(policy.window),
        "tracks": sorted(policy.track_gaps),
    }


async def _declared(own: OwnPages, fields: Mapping[str, str]) -> Declared:
    asks_more = (await _questions(own))["asks_more"]
    require(not asks_more or fields.get("more") in {"yes", "no"}, 422, "own", "say_more")
    return Declared(asks_more and fields["more"] == "yes", fields.get("track") or None)


def _place(own: OwnPages, request: Request) -> tuple[str, Form]:
    place: str = request.path_params["place"]
    require(place in own.forms, 404, "own", "nothing")
    return place, own.forms[place]


def _field(place: str, field: FormField, said: Mapping[str, str]) -> dict[str, Any]:
    """A field for the template, in the words of the texts where they know it."""
    words = texts()["own"]["forms"].get(place, {})
    hint = words.get(f"{field.name}_hint", "")
    about = {"aria-describedby": f"{field.name}-hint" if hint else None}
    return {
        "name": field.name,
        "kind": field.kind,
        "required": field.required,
        "label": words.get(field.name) or field.label or field.name,
        "hint": hint,
        "about": about | {"required": "" if field.required else None},
        "choices": [(choice, words.get(f"{field.name}_{choice}", choice)) for choice in field.choices],
        "value": said.get(field.name, ""),
    }


ROUTES: list[tuple[str, str, _Handler]] = [
    ("GET", "/", _look),
    ("GET", "/act/{id}", _read_act),
    ("GET", "/act/{id}/withdraw", _confirmation),
    ("POST", "/act/{id}/withdraw", _withdraw),
    ("GET", "/act/{id}/repeat", _confirmation),
    ("POST", "/act/{id}/repeat", _repeat),
    ("POST", "/act/{id}/edit", _edit),
    ("GET", "/hand-in/{place}", _read_form),
    ("POST", "/hand-in/{place}", _hand_in),
    ("POST", "/keeper", _wake),
]
