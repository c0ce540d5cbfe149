"""The receipt of a post: a page whose address is a secret, with what its author may know and do.

It says where the post goes, under which name, and when it appears; its author edits it there, or withdraws
it. What stands on it depends on the post's release and on this moment, never on when the post was sent. And
a page of a post that waits has one length, whatever is known of it by now: an eavesdropper learns nothing
from that.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from math import ceil, floor
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tarry.console.pages import error_page, html, page, read_form, require, texts
from tarry.core.exact import format_duration
from tarry.gateway.catalog import Space
from tarry.gateway.feed import Feed
from tarry.gateway.gateway import Gateway
from tarry.gateway.http_service import HttpService
from tarry.gateway.routes.posts import status_out
from tarry.keep.errors import NoSuchPost, TooLate
from tarry.keep.posts import Status
from tarry.keep.rows import post_by_receipt
from tarry.keep.store import MICROS, moment

__all__ = ["ROUTES", "Ticket", "Timeline", "content_of", "timeline"]

_MOST_CONTENT = 20_000
_LENGTH = 16 << 10  # bytes that a page has, a multiple of it, beside the text of the post


class Ticket(NamedTuple):
    """Where a post goes or went, as far as that is still known.

    >>> Ticket(space="talk").thread
    ''
    """

    space: str
    thread: str = ""
    name: str = ""  # the pseudonym
    content: str | None = None  # while it can be changed
    public_id: str = ""  # of what has appeared in a feed


class Timeline(NamedTuple):
    """A piece of time on a page, and where the moments of a post lie in it, from 0 to 1000.

    >>> Timeline("2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z", 0, 500, 500).later
    500
    """

    begins_at: str
    ends_at: str
    now: int
    earlier: int
    later: int


async def _read(service: HttpService, request: Request) -> Response:
    secret, gateway = request.path_params["secret"], service.gateway
    try:
        status = await service.call(partial(gateway.receipts.status, secret))
        ticket = await service.call(partial(_ticket, gateway, secret, status))
        can_be_filled = await service.call(partial(gateway.receipts.can_be_filled, secret))
    except NoSuchPost:
        return error_page(request, 404, texts()["receipt"]["unknown"])
    now = Fraction(gateway.clock.read().wall, MICROS)
    space, due = gateway.catalog.spaces.get(ticket.space), _due(status)
    values = {
        "secret": secret,
        "status": status_out(status),
        "due": None if due is None else moment(due),
        "is_late": due is not None and due <= now,
        "timeline": timeline(status, now),
        "is_open": status.state == "waiting" and status.release_at is None,
        "ticket": ticket,
        "title": ticket.space if space is None else space.title,
        "window": "" if space is None else _window(space),
        "answer": _answer(request.query_params),
        "can_be_filled": can_be_filled,
        "is_changed": "changed" in request.query_params,
    }
    return _padded(page(request, "receipt.html", values), ticket)


def _ticket(gateway: Gateway, secret: str, status: Status) -> Ticket:
    with gateway.store.transaction("reading") as transaction:
        post = post_by_receipt(transaction, secret)
    if post is None:
        raise NoSuchPost
    if status.state == "released":
        return _appeared(gateway, post.outlet, gateway.keys.public_id(post.id))
    space, content = gateway.receipts.reading(secret)
    if content is None:
        return Ticket(space, post.target)
    try:
        by = gateway.receipts.options_of(post.id).get("by")
    except (NoSuchPost, TooLate):  # it has just left
        by = None
    return Ticket(space, post.target, by if isinstance(by, str) else "", content.decode(errors="replace"))


def _appeared(gateway: Gateway, space: str, public_id: str) -> Ticket:
    """What the feed says of a post; another place, or a feed that was pruned, says nothing."""
    feed = Feed(gateway.store, space)
    if (position := feed.position_of(public_id)) is None:
        return Ticket(space)
    item = feed.one(position)
    by = item.options.get("by")
    return Ticket(space, item.target, by if isinstance(by, str) else "", public_id=public_id)


def _due(status: Status) -> Fraction | None:
    """From when on it would be wrong to say that the post appears then."""
    if status.state != "waiting" or status.between is None:
        return None
    return status.between[1 if status.in_between else 0]


def _window(space: Space) -> str:
    """The window, for the sentence that says what decides between two moments; empty: one tick."""
    policy = space.version.policy
    return format_duration(policy.window) if policy.window else ""


def _answer(fields: Mapping[str, str]) -> str:
    """What the author has said about further posts. The address of the page keeps it, and nothing else."""
    return answer if (answer := fields.get("answer", "")) in {"yes", "no"} else ""


def _padded(shown: Response, ticket: Ticket) -> Response:
    """The page, filled up with spaces: its length tells the length of the text, and no more."""
    body = bytes(shown.body)
    rest = len(body) - len((ticket.content or "").encode())
    return html(body + b" " * (-rest % _LENGTH), shown.status_code)


# --- the timeline ---------------------------------------------------------------------------------------

_STEPS_S = (1, 5, 15, 60, 300, 900, 3600, 10_800, 43_200, 86_400, 604_800, 2_592_000, 31_536_000)
_MOST_STEPS = 12


def timeline(status: Status, now: Fraction) -> Timeline | None:
    """The moments of a post that waits beside the present one, between round moments.

    >>> status = Status(state="waiting", earliest=90, latest=130, tick=Fraction(60))
    >>> timeline(status, Fraction(3600))[2:]
    (0, 400, 933)
    """
    if status.state != "waiting" or status.between is None:
        return None
    first, last = min(now, status.between[0]), max(now, status.between[1])
    step = next((each for each in _STEPS_S if (last - first) / each <= _MOST_STEPS), _STEPS_S[-1])
    start, end = floor(first / step) * step, max(ceil(last / step), floor(first / step) + 1) * step
    now_place, earlier, later = (
        round(1000 * (at - start) / (end - start)) for at in (now, *status.between)
    )
    return Timeline(moment(start), moment(end), now_place, earlier, later)


# --- what its author does -------------------------------------------------------------------------------


def content_of(fields: Mapping[str, str]) -> bytes:
    """The text in a form.

    >>> content_of({"content": " I agree. "})
    b'I agree.'
    """
    text = fields.get("content", "").strip()
    require(0 < len(text) <= _MOST_CONTENT, 422, "board", "too_long")
    return text.encode()


async def _edit(service: HttpService, request: Request) -> Response:
    secret, fields = await _form(service, request)
    change = partial(service.gateway.replace, secret, content_of(fields), None, {})
    return await _then(service, request, change, f"/receipt/{secret}?changed{_kept(fields)}")


async def _withdraw(service: HttpService, request: Request) -> Response:
    secret, _ = await _form(service, request)
    take_back = partial(service.gateway.receipts.withdraw, secret)
    return await _then(service, request, take_back, f"/receipt/{secret}")


def _kept(fields: Mapping[str, str]) -> str:
    return f"&answer={answer}" if (answer := _answer(fields)) else ""


async def _form(service: HttpService, request: Request) -> tuple[str, dict[str, str]]:
    """The secret of a receipt, which must be one before anything is read, and the form that was sent."""
    secret: str = request.path_params["secret"]
    await service.call(partial(service.gateway.receipts.status, secret))
    return secret, await read_form(request)


async def _then(service: HttpService, request: Request, change: Callable[[], Any], there: str) -> Response:
    try:
        await service.change(change)
    except NoSuchPost:
        return error_page(request, 404, texts()["receipt"]["unknown"])
    except TooLate as late:
        return error_page(request, 409, str(late), f"/receipt/{request.path_params['secret']}")
    return RedirectResponse(there, 303)


ROUTES = [
    ("GET", "/receipt/{secret}", _read),
    ("POST", "/receipt/{secret}/edit", _edit),
    ("POST", "/receipt/{secret}/withdraw", _withdraw),
]
