"""Releases: JSON, Atom, and server-sent events. Open to everybody."""

from collections.abc import AsyncIterator
from functools import partial
from itertools import chain, repeat

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from tarry.gateway.bodies import FeedOut
from tarry.gateway.feed import MOST_ITEMS, Feed, ItemSize
from tarry.gateway.feed_formats import TOGETHER, ItemFrame, atom_feed, item_out, json_pieces
from tarry.gateway.http_service import MAX_NUMBER, HttpService, json_response, query_number
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
async def read_feed(service: HttpService, request: Request) -> Response:
    """Releases in the order of release: those after a position, or else the latest."""
    feed = Feed(service.gateway.store, service.space(request).name)
    most = query_number(request, "limit", 1, MOST_ITEMS) or MOST_ITEMS
    after = query_number(request, "after", 0, MAX_NUMBER)

    def look() -> list[ItemSize]:
        return feed.sizes_latest(most)[::-1] if after is None else feed.sizes_after(after, most)

    sizes = await service.call(look)
    first, last = (sizes[0].position, sizes[-1].position) if sizes else (0, after or 0)
    if sum(size.encoded for size in sizes) <= TOGETHER:
        return await service.call(partial(_short, feed, first, last))
    # The answer to HEAD has no body: nothing is read for it.
    page = _nothing() if request.method == "HEAD" else _page(service, feed, first, last)
    return StreamingResponse(page, media_type="application/json")


@operation("GET", "/v1/spaces/{space}/feed.atom", media="application/atom+xml", refusals=(404,))
async def read_atom_feed(service: HttpService, request: Request) -> Response:
    """The latest releases for readers of Atom, newest first."""
    space = service.space(request)
    feed = Feed(service.gateway.store, space.name)
    address = f"/v1/spaces/{space.name}/feed.atom"  # and not what the Host header makes of it
    atom = await service.shared(feed, "atom", lambda: atom_feed(space, feed.latest(_ATOM_ITEMS), address))
    return Response(atom, media_type="application/atom+xml")


@operation(
    "GET",
    "/v1/spaces/{space}/feed/events",
    media="text/event-stream",
    query={"after": _AFTER},
    refusals=(404, 429),
)
async def follow_feed(service: HttpService, request: Request) -> Response:
    """Releases as they happen, as server-sent events; whoever reconnects misses nothing."""
    space = service.space(request).name
    position = query_number(request, "after", 0, MAX_NUMBER)
    last = request.headers.get("last-event-id", "")
    if last.isascii() and last.isdecimal() and len(last) < 19:
        position = int(last)
    client = service.clients.name(request.scope)
    service.streams.check_room(client)
    if request.method == "HEAD":  # a stream that nobody reads would never end
        return Response(media_type="text/event-stream")
    events = service.streams.listen(space, position, client)
    # Proxies that collect an answer before they hand it on would hold releases back.
    return StreamingResponse(events, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


def _short(feed: Feed, first: int, last: int) -> Response:
    items = feed.between(first, last) if first else []
    return json_response(FeedOut(space=feed.space, items=[item_out(item) for item in items], next=last))


async def _page(service: HttpService, feed: Feed, first: int, last: int) -> AsyncIterator[bytes]:
    """The same, as it is read."""
    commas = chain([b""], repeat(b","))
    yield b'{"space":"%b","items":[' % feed.space.encode()
    async for piece in json_pieces(feed, service.call, first, last, ItemFrame(lambda _: next(commas), b"")):
        yield piece
    yield b'],"next":%d}' % last


async def _nothing() -> AsyncIterator[bytes]:
    for piece in list[bytes]():
        yield piece
