"""What has been released: JSON, Atom, and server-sent events. Open to everybody."""

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tarry.gateway.bodies import FeedOut
from tarry.gateway.door import MOST_NUMBER, Door, answer, number
from tarry.gateway.feed import MOST_ITEMS, Feed
from tarry.gateway.items import atom, item_out
from tarry.gateway.operations import operation

__all__: list[str] = []

_AFTER = "positions up to this one are left out"
_LIMIT = f"at most so many releases (1 to {MOST_ITEMS})"
_ATOM_ITEMS = 50


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
    most = number(request, "limit", 1, MOST_ITEMS) or MOST_ITEMS
    after = number(request, "after", 0, MOST_NUMBER)

    def told() -> Response:  # all of it beside the event loop: there may be megabytes to write
        items = feed.latest(most)[::-1] if after is None else feed.after(after, most)
        last = items[-1].position if items else after or 0
        return answer(FeedOut(space=feed.space, items=[item_out(item) for item in items], next=last))

    return await door.call(told)


@operation("GET", "/v1/spaces/{space}/feed.atom", media="application/atom+xml", refusals=(404,))
async def read_atom_feed(door: Door, request: Request) -> Response:
    """The latest releases for readers of Atom, newest first."""
    space = door.space(request)
    feed = Feed(door.gateway.store, space.name)
    here = f"/v1/spaces/{space.name}/feed.atom"  # and not what the Host header makes of it
    told = await door.call(lambda: atom(space, feed.latest(_ATOM_ITEMS), here))
    return Response(told, media_type="application/atom+xml")


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
    position = number(request, "after", 0, MOST_NUMBER)
    last = request.headers.get("last-event-id", "")
    if last.isascii() and last.isdecimal() and len(last) < 19:
        position = int(last)
    client = door.clients.name(request.scope)
    door.streams.check_room(client)
    if request.method == "HEAD":  # a stream that nobody reads would never end
        return Response(media_type="text/event-stream")
    told = door.streams.listen(space, position, client)
    # Proxies that collect an answer before they hand it on would hold releases back.
    return StreamingResponse(told, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
