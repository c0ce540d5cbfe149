"""What has been released: JSON, Atom, and server-sent events. Open to everybody."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tarry.core.errors import BadInput
from tarry.gateway.bodies import FeedOut
from tarry.gateway.door import Door, answer
from tarry.gateway.feed import MOST_ITEMS, Feed
from tarry.gateway.items import atom, item_out
from tarry.gateway.operations import operation

__all__: list[str] = []

_AFTER = "positions up to this one are left out"
_LIMIT = f"at most so many releases (1 to {MOST_ITEMS})"
_ATOM_ITEMS = 50
_MOST_POSITION = (1 << 63) - 1


@operation(
    "GET",
    "/v1/spaces/{space}/feed",
    gives=FeedOut,
    query={"after": _AFTER, "limit": _LIMIT},
    refusals=(404,),
)
async def read_feed(door: Door, request: Request) -> Response:
    """Releases in the order of release: those after a position, or else the latest."""
    feed, most = (
        Feed(door.gateway.store, door.space(request).name),
        _number(request, "limit", 1, MOST_ITEMS),
    )
    after = _number(request, "after", 0, _MOST_POSITION)
    if after is None:
        items = await door.call(partial(feed.latest, most or MOST_ITEMS))
        items.reverse()
    else:
        items = await door.call(partial(feed.after, after, most or MOST_ITEMS))
    last = items[-1].position if items else after or 0
    return answer(FeedOut(space=feed.space, items=[item_out(item) for item in items], next=last))


@operation("GET", "/v1/spaces/{space}/feed.atom", media="application/atom+xml", refusals=(404,))
async def read_atom_feed(door: Door, request: Request) -> Response:
    """The latest releases for readers of Atom, newest first."""
    space = door.space(request)
    items = await door.call(partial(Feed(door.gateway.store, space.name).latest, _ATOM_ITEMS))
    return Response(atom(space, items, request.url.path), media_type="application/atom+xml")


@operation(
    "GET",
    "/v1/spaces/{space}/feed/events",
    media="text/event-stream",
    query={"after": _AFTER},
    refusals=(404, 429),
)
async def follow_feed(door: Door, request: Request) -> Response:
    """Releases as they happen, as server-sent events; a listener who comes back misses nothing."""
    space = door.space(request).name
    last = request.headers.get("last-event-id", "")
    position = (
        int(last) if last.isdecimal() and len(last) < 19 else _number(request, "after", 0, _MOST_POSITION)
    )
    door.streams.check_room()
    return StreamingResponse(door.streams.listen(space, position), media_type="text/event-stream")


def _number(request: Request, name: str, least: int, most: int) -> int | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and least <= int(text) <= most):
        raise BadInput(
            f"the parameter {name}", f"is a whole number from {least} to {most}", found=repr(text)
        )
    return int(text)
