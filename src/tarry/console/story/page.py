"""The first page, `/`: the boards, and what tarry does in one sentence."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tarry.console.pages import page
from tarry.gateway.http_service import HttpService

__all__ = ["ROUTES"]


async def _first(service: HttpService, request: Request) -> Response:
    return page(request, "boards.html", {"boards": list(service.gateway.catalog.spaces.values())})


async def _boards(service: HttpService, request: Request) -> Response:
    """All boards, or the board where there is but one."""
    if len(spaces := list(service.gateway.catalog.spaces)) == 1:
        return RedirectResponse(f"/board/{spaces[0]}", 303)
    return await _first(service, request)


ROUTES = [
    ("GET", "/", _first),
    ("GET", "/board", _boards),
]
