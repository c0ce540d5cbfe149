"""The board: a space's feed as a forum, and a form to post from."""

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tarry.console.forms import read_form
from tarry.console.pages import html, page
from tarry.console.people import actor_of, name_on, remember
from tarry.console.texts import texts
from tarry.core.durations import format_duration
from tarry.core.promise import promise
from tarry.gateway.catalog import Space
from tarry.gateway.feed import Feed, FeedItem
from tarry.gateway.gateway import Submission
from tarry.gateway.problems import BadRequest
from tarry.keep.posts import Post

if TYPE_CHECKING:
    from tarry.gateway.http_service import HttpService

__all__ = ["ROUTES"]

_SHOWN, _MOST_SHOWN = 300, 3 << 20  # releases, and bytes of JSON that they would be at most
_MOST_TARGET, _MOST_CONTENT = 200, 20_000


class Thread(NamedTuple):
    """The posts on one target, oldest first."""

    target: str
    posts: list[FeedItem]


async def _first(request: Request) -> Response:
    book = request.app.state.service.gateway.catalog
    boards = [name for name in request.app.state.settings.boards if name in book.spaces]
    return RedirectResponse(f"/board/{(boards or list(book.spaces))[0]}", 303)


async def _read(request: Request) -> Response:
    service: HttpService = request.app.state.service
    space = service.space(request)
    feed = Feed(service.gateway.store, space.name)

    def write() -> bytes:
        items = feed.latest(_SHOWN, _MOST_SHOWN)
        return bytes(page(request, "board.html", _values(request, space, items)).body)

    return html(await service.shared(feed, "board", write))


async def _promise(request: Request) -> Response:
    service: HttpService = request.app.state.service
    space = service.space(request)
    told = await service.call(partial(promise, space.version.policy))
    return page(request, "promise.html", {"space": space, "promise": told})


async def _post(request: Request) -> Response:
    service: HttpService = request.app.state.service
    space = service.space(request)
    if space.name not in request.app.state.settings.boards:
        raise BadRequest(403, texts()["board"]["closed"])
    service.guest_rates.take(service.clients.name(request.scope))
    fields, actor = await read_form(request), actor_of(request)
    target, content = fields.get("target", "").strip(), fields.get("content", "").strip()
    if not (0 < len(target) <= _MOST_TARGET and 0 < len(content) <= _MOST_CONTENT):
        raise BadRequest(422, texts()["board"]["too_long"])
    post = Post(
        actor=actor,
        target=target,
        outlet="",
        content=content.encode(),
        options={"by": name_on(service.gateway.keys, actor, space.name, target)},
        more_to_come=fields.get("more") == "yes",
    )
    (receipt,) = await service.group_commit.admit(Submission(space=space.name, posts=[post]))
    answer = RedirectResponse(f"/receipt/{receipt.secret}", 303)
    remember(answer, actor, is_https=request.app.state.settings.is_https)
    return answer


def _values(request: Request, space: Space, items: list[FeedItem]) -> dict[str, Any]:
    policy = space.version.policy
    return {
        "space": space,
        "threads": _threads(items),
        "last": items[0].position if items else 0,
        "may_post": space.name in request.app.state.settings.boards,
        "asks": policy.labels == "declared",
        "window": format_duration(policy.window),
        "spaces": [
            each for each in request.app.state.service.gateway.catalog.spaces.values() if each != space
        ],
    }


def _threads(items: list[FeedItem]) -> list[Thread]:
    """The thread with the newest release first; inside one, in the order of release."""
    threads: dict[str, list[FeedItem]] = {}
    for item in items:
        threads.setdefault(item.target, []).insert(0, item)
    return [Thread(target, posts) for target, posts in threads.items()]


ROUTES = [
    Route("/", _first, methods=["GET"]),
    Route("/board/{space}", _read, methods=["GET"]),
    Route("/board/{space}", _post, methods=["POST"]),
    Route("/board/{space}/promise", _promise, methods=["GET"]),
]
