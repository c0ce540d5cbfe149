"""The receipt page: when a post appears, changing it, withdrawing it. Its address is a secret."""

from functools import partial
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from tarry.console.assets import texts
from tarry.console.pages import error_page, page, read_form
from tarry.gateway.problems import BadRequest
from tarry.gateway.routes.posts import status_out
from tarry.keep.errors import NoSuchPost, TooLate

if TYPE_CHECKING:
    from collections.abc import Callable

    from tarry.gateway.http_service import HttpService

__all__ = ["ROUTES"]

_MOST_CONTENT = 20_000


async def _read(request: Request) -> Response:
    service: HttpService = request.app.state.service
    secret, receipts = request.path_params["secret"], service.gateway.receipts
    try:
        status = await service.call(partial(receipts.status, secret))
        space, content = await service.call(partial(receipts.reading, secret))
        can_be_filled = await service.call(partial(receipts.can_be_filled, secret))
    except NoSuchPost:
        return error_page(request, 404, texts()["receipt"]["unknown"])
    values = {
        "secret": secret,
        "status": status_out(status),
        "space": space,
        "content": None if content is None else content.decode(errors="replace"),
        "can_be_filled": can_be_filled,
        "is_changed": "changed" in request.query_params,
    }
    return page(request, "receipt.html", values)


async def _edit(request: Request) -> Response:
    service: HttpService = request.app.state.service
    secret = request.path_params["secret"]
    await service.call(
        partial(service.gateway.receipts.status, secret)
    )  # first: without a receipt nothing is read
    fields = await read_form(request)
    content = fields.get("content", "").strip()
    if not 0 < len(content) <= _MOST_CONTENT:
        raise BadRequest(422, texts()["board"]["too_long"])
    change = partial(service.gateway.replace, secret, content.encode(), None, {})
    return await _then(request, change, f"/receipt/{secret}?changed")


async def _withdraw(request: Request) -> Response:
    service: HttpService = request.app.state.service
    secret = request.path_params["secret"]
    await service.call(partial(service.gateway.receipts.status, secret))
    await read_form(request)
    take_back = partial(service.gateway.receipts.withdraw, secret)
    return await _then(request, take_back, f"/receipt/{secret}")


async def _then(request: Request, change: "Callable[[], object]", there: str) -> Response:
    try:
        await request.app.state.service.change(change)
    except NoSuchPost:
        return error_page(request, 404, texts()["receipt"]["unknown"])
    except TooLate as late:
        return error_page(request, 409, str(late), f"/receipt/{request.path_params['secret']}")
    return RedirectResponse(there, 303)


ROUTES = [
    Route("/receipt/{secret}", _read, methods=["GET"]),
    Route("/receipt/{secret}/edit", _edit, methods=["POST"]),
    Route("/receipt/{secret}/withdraw", _withdraw, methods=["POST"]),
]
