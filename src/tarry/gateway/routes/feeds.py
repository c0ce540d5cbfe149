"""What has been released: JSON, Atom, and server-sent events. Open to everybody."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tarry.core.errors import BadInput
from tarry.gateway.bodies import FeedOut
from tarry.gateway.door import Door, answer
from tarry.gateway.feed import MOST_ITEMS, Feed, Item
from tarry.gateway.items import atom, item_out
from tarry.gateway.operations import operation

__all__: list[str] = []

_AFTER = "positions up to this one are left out"
_LIMIT = f"at most so many releases (1 to {MOST_ITEMS})"
_ATOM_ITEMS = 50
_AT_ONCE = 50
_ENOUGH_BYTES = 4 << 20  # of content in one answer
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
    feed = Feed(door.gateway.store, door.space(request).name)
    most = _number(request, "limit", 1, MOST_ITEMS) or MOST_ITEMS
    after = _number(request, "after", 0, _MOST_POSITION)
    read = partial(_latest, feed, most) if after is None else partial(_after, feed, after, most)
    items = await door.call(read)
    last = items[-1].position if items else after or 0
    return answer(FeedOut(space=feed.space, items=[item_out(item) for item in items], next=last))


@operation("GET", "/v1/spaces/{space}/feed.atom", media="application/atom+xml", refusals=(404,))
async def read_atom_feed(door: Door, request: Request) -> Response:
    """The latest releases for readers of Atom, newest first."""
    space = door.space(request)
    items = await door.call(partial(Feed(door.gateway.store, space.name).latest, _ATOM_ITEMS))
    here = f"/v1/spaces/{space.name}/feed.atom"  # and not what the Host header makes of it
    return Response(atom(space, items, here), media_type="application/atom+xml")


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
    position = _number(request, "after", 0, _MOST_POSITION)
    last = request.headers.get("last-event-id", "")
    if last.isascii() and last.isdecimal() and len(last) < 19:
        position = int(last)
    door.streams.check_room()
    if request.method == "HEAD":  # a stream that nobody reads would never end
        return Response(media_type="text/event-stream")
    told = door.streams.listen(space, position)
    # Proxies that collect an answer before they hand it on would hold releases back.
    return StreamingResponse(told, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def _after(feed: Feed, position: int, most: int) -> list[Item]:
    """What comes after a place: as many as were asked for, or fewer large ones."""
    items: list[Item] = []
    while len(items) < most and _has_room(items):
        more = feed.after(position, min(_AT_ONCE, most - len(items)))
        if not more:
            break
        items += more
        position = more[-1].position
    return items


def _latest(feed: Feed, most: int) -> list[Item]:
    """What comes last, in the order of release; read backwards, so that large ones are left out first."""
    items: list[Item] = []
    end = feed.last_position()
    while end > 0 and len(items) < most and _has_room(items):
        start = max(0, end - min(_AT_ONCE, most - len(items)))
        items[:0] = [item for item in feed.after(start, _AT_ONCE) if item.position <= end]
        end = start
    return items


def _has_room(items: list[Item]) -> bool:
    return sum(len(item.content) for item in items) < _ENOUGH_BYTES


def _number(request: Request, name: str, least: int, most: int) -> int | None:
    texts = request.query_params.getlist(name)
    if not texts:
        return None
    text = " and ".join(texts)  # of two nobody knows which one is meant
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and least <= int(text) <= most):
        raise BadInput(
            f"the parameter {name}", f"is a whole number from {least} to {most}", found=repr(text[:40])
        )
    return int(text)
