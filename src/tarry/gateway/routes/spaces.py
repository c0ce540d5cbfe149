"""Spaces: their releases (JSON, Atom, server-sent events) and promises, open to all; and accounts."""

from collections.abc import AsyncIterator
from functools import partial
from itertools import chain, repeat

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from tarry.core.promise import promise
from tarry.gateway.bodies import AccountIn, AccountOut, FeedOut, PolicyOut, SpaceOut, SpacesOut
from tarry.gateway.catalog import PolicyVersion, Space
from tarry.gateway.feed import MOST_ITEMS, Feed, ItemSize
from tarry.gateway.feed_formats import TOGETHER, ItemFrame, atom_feed, item_out, json_pieces
from tarry.gateway.http_service import MAX_NUMBER, HttpService, is_number, json_response, query_number
from tarry.gateway.operations import operation
from tarry.gateway.problems import BadRequest
from tarry.keep.admission import Adoption
from tarry.keep.store import moment

__all__: list[str] = []

_AFTER = "positions up to this one are left out"
_VERSION = "the number of an earlier one; left out: the one in force, or the next one during its pause"
_NOT_ALL: dict[Adoption, tuple[str, ...]] = {
    "everyone": (),
    "opt-out": ("Posts of an account that has opted out of delays: they leave as they come.",),
    "opt-in": ("Posts of an account that has not opted in to delays: they leave as they come.",),
}


# --- releases -------------------------------------------------------------------------------------


@operation(
    "GET",
    "/v1/spaces/{space}/feed",
    gives=FeedOut,
    query={"after": _AFTER, "limit": f"at most so many releases (1 to {MOST_ITEMS})"},
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
    page = () if request.method == "HEAD" else _page(service, feed, first, last)
    return StreamingResponse(page, media_type="application/json")


@operation("GET", "/v1/spaces/{space}/feed.atom", media="application/atom+xml", refusals=(404,))
async def read_atom_feed(service: HttpService, request: Request) -> Response:
    """The latest releases for readers of Atom, newest first."""
    space = service.space(request)
    feed = Feed(service.gateway.store, space.name)
    address = f"/v1/spaces/{space.name}/feed.atom"  # and not what the Host header makes of it
    atom = await service.shared(feed, "atom", lambda: atom_feed(space, feed.latest(50), address))
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
    if is_number(last, 0, 10**18 - 1):
        position = int(last)
    client = service.clients.name(request.scope)
    service.streams.check_room(client)
    if request.method == "HEAD":  # a stream that nobody reads would never end
        return Response(media_type="text/event-stream")
    # Proxies that collect an answer before they hand it on would hold releases back.
    return StreamingResponse(
        service.streams.listen(space, position, client),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},
    )


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


# --- spaces, promises, accounts -------------------------------------------------------------------


@operation("GET", "/v1/spaces", gives=SpacesOut)
async def list_spaces(service: HttpService, _: Request) -> Response:
    """The spaces of this gateway."""
    spaces = list(service.gateway.catalog.spaces.values())
    return json_response(SpacesOut(spaces=[await space_out(service, space) for space in spaces]))


@operation("GET", "/v1/spaces/{space}", gives=SpaceOut, refusals=(404,))
async def read_space(service: HttpService, request: Request) -> Response:
    """One space."""
    return json_response(await space_out(service, service.space(request)))


@operation(
    "GET", "/v1/spaces/{space}/policy", gives=PolicyOut, query={"version": _VERSION}, refusals=(404,)
)
async def read_policy(service: HttpService, request: Request) -> Response:
    """A policy of a space, and what it promises and does not promise, in plain words."""
    space = service.space(request)
    version = _version(request, space)
    words = await service.call(partial(promise, version.policy))
    tick = service.gateway.vault.settings.tick  # older versions may have had another
    return json_response(
        PolicyOut(
            space=space.name,
            version=version.number,
            holds_from=moment(version.first_tick * tick) if version.first_tick else None,
            policy=version.text,
            promised=list(words.promised),
            not_promised=[*words.not_promised, *_NOT_ALL[space.adoption]],
        )
    )


@operation(
    "GET",
    "/v1/spaces/{space}/policy.toml",
    media="text/plain",
    query={"version": _VERSION},
    refusals=(404,),
)
async def read_policy_file(service: HttpService, request: Request) -> Response:
    """The policy file itself, for tarry explain and tarry verify."""
    return PlainTextResponse(_version(request, service.space(request)).text)


@operation(
    "PUT",
    "/v1/spaces/{space}/accounts",
    scope="submit",
    takes=AccountIn,
    gives=AccountOut,
    example={"actor": "account-17", "delayed": False},
    refusals=(404, 413, 415),
)
async def choose_delays(service: HttpService, request: Request) -> Response:
    """Let an account opt in or out of delays, where its space offers that; its choice applies later."""
    sent, space = await service.read(request, AccountIn), service.space(request)
    first = await service.change(
        partial(service.gateway.adopt_delays, space.name, actor=sent.actor, delayed=sent.delayed)
    )
    return json_response(
        AccountOut(delayed=sent.delayed, holds_from=moment(first * space.version.policy.tick))
    )


def _version(request: Request, space: Space) -> PolicyVersion:
    number = query_number(request, "version", 1, MAX_NUMBER) or space.version.number
    for version in space.versions:
        if version.number == number:
            return version
    raise BadRequest(
        404, f"space {space.name!r} has no policy version {number}: leave it out for the last one"
    )


async def space_out(service: HttpService, space: Space) -> SpaceOut:
    policy = space.version.policy
    # A first policy applies from the start; for another one the store's clock decides.
    resumes = (
        await service.call(partial(service.gateway.resumes_at, space)) if space.version.first_tick else None
    )
    return SpaceOut(
        name=space.name,
        title=space.title,
        version=space.version.number,
        is_open=space.is_open,
        has_ended=space.has_ended,
        resumes_at=None if resumes is None else moment(resumes),
        window_s=float(policy.window),
        deadline_at=None if policy.deadline_at is None else moment(policy.deadline_at),
        adoption=space.adoption,
    )
