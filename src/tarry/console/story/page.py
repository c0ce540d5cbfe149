"""The front door: `/`, and `/story`, pictures to move that say why posts wait, and what that hides."""

import gzip
from functools import cache
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tarry.console.pages import page
from tarry.console.story.figures import budget, days, delay, gap, laws
from tarry.console.story.guessing import guessing
from tarry.console.workbench.page import clock
from tarry.gateway.http_service import HttpService

__all__ = ["ROUTES"]


async def _first(service: HttpService, request: Request) -> Response:
    """The story where the operator has set it, otherwise the boards."""
    if request.app.state.config.front == "story":
        return await _story(service, request)
    return _list(service, request)


async def _boards(service: HttpService, request: Request) -> Response:
    """All boards, or the board where there is but one."""
    if len(spaces := list(service.gateway.catalog.spaces)) == 1:
        return RedirectResponse(f"/board/{spaces[0]}", 303)
    return _list(service, request)


def _list(service: HttpService, request: Request) -> Response:
    return page(request, "boards.html", {"boards": list(service.gateway.catalog.spaces.values())})


async def _story(service: HttpService, request: Request) -> Response:
    answer = await service.call(lambda: page(request, "story.html", _values()))
    # It is the same for everybody: there is no secret in it that its length could tell.
    answer.headers["Vary"] = "Accept-Encoding"
    if "gzip" in request.headers.get("accept-encoding", ""):
        answer.body = gzip.compress(bytes(answer.body), 6, mtime=0)
        answer.headers["Content-Encoding"] = "gzip"
        answer.headers["Content-Length"] = str(len(answer.body))
    return answer


@cache
def _values() -> dict[str, Any]:
    posts = guessing().posts
    rows = [(post.person, post.at_s, [clock(at) for at in post.at_s], post.places) for post in posts]
    return {
        "guessing": guessing(),
        "posts": msgspec.json.encode(rows).decode(),
        "moving": {each.name: each for each in (delay(), laws(), gap(), budget(), days())},
    }


ROUTES = [
    ("GET", "/", _first),
    ("GET", "/story", _story),
    ("GET", "/board", _boards),
]
