"""Making a space from a page, and changing one: what it costs is shown before anything is done.

From here a space releases to its feed. Addresses, accounts and nodes stay with the commands, and so do
changes without a pause: whoever holds a session must not be able to send posts elsewhere.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tarry.console.pages import page, read_form, require, texts
from tarry.console.sessions import Session, check_csrf, signed_in
from tarry.core.errors import BadInput, TarryError
from tarry.core.exact import format_duration
from tarry.core.plan import DelayPlan, plan
from tarry.core.policy import Policy
from tarry.core.policy_file import read_policy, write_policy
from tarry.core.promise import promise
from tarry.gateway.catalog import Space
from tarry.gateway.http_service import HttpService
from tarry.gateway.policy_changes import next_version
from tarry.gateway.problems import Forbidden
from tarry.gateway.space_changes import new_space
from tarry.keep.sharing import StoreSettings
from tarry.keep.store import arrival_tick, moment, snapshot
from tarry.study.figures import seconds

__all__ = ["ROUTES"]

_MOST_BYTES = 64 << 10
_ADOPTIONS = ("everyone", "opt-out", "opt-in")
_EMPTY = {"name": "", "title": "", "adoption": "everyone", "policy": ""}
_Fields = Mapping[str, str]


class _Row(NamedTuple):
    """One line of the preview: a figure as it is, and as it would be."""

    label: str
    now: str
    then: str


async def _read(service: HttpService, request: Request) -> Response:
    """The form of a new space, or of one that is there; a policy may come along from an audit."""
    session, space = _session(service, request)
    policy = request.query_params.get("policy", "")[:_MOST_BYTES]
    if space is None:
        usual = write_policy(next(iter(service.gateway.catalog.spaces.values())).version.policy)
        return _page(service, request, session, space, {"policy": policy or usual})
    fields = {"title": space.title, "policy": policy or space.version.text}
    return _page(service, request, session, space, fields)


async def _send(service: HttpService, request: Request) -> Response:
    """Show what it costs; do it, once that was shown."""
    session, space = _session(service, request)
    if space is None and not session.may_everywhere("spaces"):
        raise Forbidden("spaces")
    fields = await read_form(request, _MOST_BYTES)
    check_csrf(session, fields)
    try:
        shown = await service.call(partial(_preview, service, space, fields))
        if fields.get("act") != "do":
            return _page(service, request, session, space, fields, shown=shown)
        await service.change(partial(_do, service, space, fields))
    except TarryError as error:
        return _page(service, request, session, space, fields, problem=str(error), status=422)
    return RedirectResponse(f"/desk?done={'made_space' if space is None else 'changed_space'}", 303)


def _session(service: HttpService, request: Request) -> tuple[Session, Space | None]:
    """Who is signed in, and the space of the address, if both may be brought together."""
    session, name = signed_in(request), request.path_params.get("space")
    if name is None:
        if not session.may("spaces"):
            raise Forbidden("spaces")
        return session, None
    if not session.may("spaces", name):
        raise Forbidden("spaces")
    space = service.gateway.catalog.space(name)
    require(space.outlet["kind"] == "feed", 409, "desk", "space_elsewhere")
    require(not space.has_ended, 409, "desk", "space_ended")
    return session, space


def _preview(service: HttpService, space: Space | None, fields: _Fields) -> dict[str, Any]:
    """What the template says of a change that was asked for; refuses what could not be done."""
    words, gateway = texts()["desk"]["preview"], service.gateway
    policy = read_policy(fields.get("policy", ""))
    promised = promise(policy)
    if space is None:
        new_space(fields.get("name", ""), policy, **_choices(fields))
        require(fields["name"] not in gateway.catalog.spaces, 409, "desk", "space_taken")
        with gateway.store.transaction("reading") as transaction:
            snapshot(transaction).settings.check(policy)
        return {"rows": _rows(words, None, policy), "promise": promised, "pause": ""}
    if policy == space.version.policy:
        changed = fields.get("title", "") != space.title
        require(changed, 422, "desk", "space_same")
        return {"rows": [], "promise": promised, "pause": ""}
    with gateway.store.transaction("reading") as transaction:
        version = next_version(transaction, gateway.clock, space.name, policy)
        ticks = version.first_tick - arrival_tick(snapshot(transaction), gateway.clock)
    pause = words["pause"].format(
        length=format_duration(ticks * policy.tick), until=_moment(moment(version.begins_at))
    )
    return {"rows": _rows(words, space.version.policy, policy), "promise": promised, "pause": pause}


def _moment(at: str) -> str:
    return at[:16].replace("T", " ") + " UTC"


def _rows(words: Mapping[str, Any], old: Policy | None, new: Policy) -> list[_Row]:
    """Delays and the budget, side by side."""
    costs = [None if policy is None else plan(policy) for policy in (old, new)]

    def row(name: str, figure: Callable[[DelayPlan], object]) -> _Row:
        now, then = ("" if each is None else _length(figure(each), words) for each in costs)
        return _Row(words[name], now, then)

    return [
        row("mean", lambda each: each.batched.mean),
        row("longest", lambda each: each.batched.maximum),
        row("alone", lambda each: each.unbatched.mean),
        _Row(words["epsilon"], "" if old is None else f"{float(old.epsilon):g}", f"{float(new.epsilon):g}"),
        _Row(words["gap"], "" if old is None else format_duration(old.gap), format_duration(new.gap)),
    ]


def _length(value: Any, words: Mapping[str, Any]) -> str:
    """A delay, or that it has no end."""
    return str(words["endless"]) if value is None else seconds(float(value))


def _choices(fields: _Fields) -> dict[str, Any]:
    adoption = fields.get("adoption", "everyone")
    if adoption not in _ADOPTIONS:
        raise BadInput(f"unknown adoption {adoption[:20]!r}", "use everyone, opt-out or opt-in")
    return {"title": fields.get("title", "").strip(), "adoption": adoption}


def _do(service: HttpService, space: Space | None, fields: _Fields) -> None:
    gateway, policy = service.gateway, read_policy(fields.get("policy", ""))
    if space is None:
        gateway.add_space(fields.get("name", ""), policy, **_choices(fields))
        return
    require(fields.get("version") == str(space.version.number), 409, "desk", "space_moved")
    gateway.change_space(space.name, title=fields.get("title", "").strip() or space.title, policy=policy)


def _page(
    service: HttpService,
    request: Request,
    session: Session,
    space: Space | None,
    fields: _Fields,
    *,
    shown: Mapping[str, Any] | None = None,
    problem: str = "",
    status: int = 200,
) -> Response:
    spaces = service.gateway.catalog.spaces.values()
    values = {
        "session": session,
        "space": space,
        "fields": {**(_EMPTY if space is None else {"title": space.title, "policy": ""}), **fields},
        "query": request.query_params,
        "shown": shown,
        "problem": problem,
        "adoptions": _ADOPTIONS,
        "shared": StoreSettings.of(next(iter(spaces)).version.policy).summary,
        "others": [
            each
            for each in spaces
            if each.outlet["kind"] == "feed" and not each.has_ended and session.may("spaces", each.name)
        ],
        "may_make": session.may_everywhere("spaces"),
    }
    return page(request, "desk_space.html", values, status=status)


ROUTES: list[tuple[str, str, Callable[[HttpService, Request], Awaitable[Response]]]] = [
    ("GET", "/desk/space", _read),
    ("POST", "/desk/space", _send),
    ("GET", "/desk/space/{space}", _read),
    ("POST", "/desk/space/{space}", _send),
]
