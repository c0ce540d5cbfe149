"""For operators: parked posts, withdrawals, pausing a space, tokens. Nothing is released early."""

import re
from collections.abc import Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from tarry.gateway.bodies import (
    ParkedListOut,
    ParkedOut,
    SpaceOut,
    TokenIn,
    TokenListOut,
    TokenMadeOut,
    TokenOut,
    WithdrawIn,
    WithdrawnOut,
)
from tarry.gateway.gateway import NOT_PARKED
from tarry.gateway.http_service import MAX_NUMBER, HttpService, is_number, json_response
from tarry.gateway.operations import operation
from tarry.gateway.problems import BadRequest
from tarry.gateway.routes.spaces import space_out
from tarry.keep.errors import NoSuchPost
from tarry.keep.store import moment

__all__: list[str] = []


@operation("GET", "/v1/spaces/{space}/parked", scope="operate", gives=ParkedListOut, refusals=(404,))
async def list_parked(service: HttpService, request: Request) -> Response:
    """Posts that could not be delivered and wait for a person, with the reason."""
    posts = await service.call(partial(service.gateway.parked, service.space(request).name))
    parked = [
        ParkedOut(
            post=str(post.post),
            target=post.target,
            release_at=moment(post.at),
            attempts=post.attempts,
            problem=post.problem,
        )
        for post in posts
    ]
    return json_response(ParkedListOut(parked=parked))


@operation(
    "POST", "/v1/spaces/{space}/parked/{post}/retry", scope="operate", status=204, refusals=(404, 409)
)
async def retry_parked(service: HttpService, request: Request) -> Response:
    """Put a parked post back: its release is past, so it is delivered at the next chance."""
    return await _settle(service, request, service.gateway.retry)


@operation("DELETE", "/v1/spaces/{space}/parked/{post}", scope="operate", status=204, refusals=(404, 409))
async def withdraw_parked(service: HttpService, request: Request) -> Response:
    """Withdraw a parked post."""
    return await _settle(service, request, service.gateway.withdraw_parked)


@operation(
    "POST",
    "/v1/spaces/{space}/withdrawals",
    scope="operate",
    takes=WithdrawIn,
    gives=WithdrawnOut,
    example={"target": "paper-3"},
    refusals=(404, 413, 415),
)
async def withdraw_posts(service: HttpService, request: Request) -> Response:
    """Withdraw what waits on a target. Nothing is released early.

    A single post is withdrawn with its receipt. Until a post would have left, its author can put something
    else into its place with the receipt.
    """
    sent, space = await service.read(request, WithdrawIn), service.space(request).name
    count = await service.change(partial(service.gateway.withdraw_on, space, sent.target))
    return json_response(WithdrawnOut(withdrawn=count))


@operation("POST", "/v1/spaces/{space}/pause", scope="operate", gives=SpaceOut, refusals=(404,))
async def pause_space(service: HttpService, request: Request) -> Response:
    """Accept nothing until the space is opened again. What waits leaves at its time."""
    return await _open(service, request, is_open=False)


@operation("POST", "/v1/spaces/{space}/open", scope="operate", gives=SpaceOut, refusals=(404,))
async def reopen_space(service: HttpService, request: Request) -> Response:
    """Accept posts again."""
    return await _open(service, request, is_open=True)


@operation("GET", "/v1/tokens", scope="admin", gives=TokenListOut)
async def list_tokens(service: HttpService, _: Request) -> Response:
    """The tokens in use, without their secrets."""
    tokens = [
        TokenOut(id=each.id, name=each.name, scopes=sorted(each.scopes), spaces=sorted(each.spaces))
        for each in sorted(service.gateway.catalog.tokens.values(), key=lambda token: token.id)
    ]
    return json_response(TokenListOut(tokens=tokens))


@operation(
    "POST",
    "/v1/tokens",
    scope="admin",
    takes=TokenIn,
    gives=TokenMadeOut,
    status=201,
    example={"name": "the forum", "scopes": ["submit"], "spaces": []},
    refusals=(404, 413, 415),
)
async def make_token(service: HttpService, request: Request) -> Response:
    """Make a token; it is shown only this once."""
    sent = await service.read(request, TokenIn)
    scopes, spaces = sorted(set(sent.scopes)), sorted(set(sent.spaces))
    token_id, token = await service.change(partial(service.gateway.add_token, sent.name, scopes, spaces))
    return json_response(
        TokenMadeOut(id=token_id, name=sent.name, scopes=scopes, spaces=spaces, token=token), 201
    )


@operation("DELETE", "/v1/tokens/{token}", scope="admin", status=204, refusals=(404,))
async def revoke_token(service: HttpService, request: Request) -> Response:
    """Revoke a token; every server knows within two seconds."""
    token_id = request.path_params["token"]
    if not re.fullmatch("[0-9a-f]{12}", token_id):
        raise BadRequest(404, f"the id of a token must be 12 hexadecimal digits, not {token_id[:40]!r}")
    await service.change(partial(service.gateway.revoke_token, token_id))
    return Response(status_code=204)


async def _open(service: HttpService, request: Request, *, is_open: bool) -> Response:
    await service.change(partial(service.gateway.open_space, service.space(request).name, is_open=is_open))
    return json_response(await space_out(service, service.space(request)))


async def _settle(service: HttpService, request: Request, change: Callable[[str, int], None]) -> Response:
    """Change one parked post."""
    space, text = service.space(request).name, request.path_params["post"]
    if not is_number(text, 0, MAX_NUMBER):
        raise NoSuchPost(NOT_PARKED)
    await service.change(partial(change, space, int(text)))
    return Response(status_code=204)
