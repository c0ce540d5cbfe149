"""For operators: what is parked, taking posts back, pausing a space, tokens. Nothing is released early."""

import re
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from tarry.core.errors import BadInput
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
from tarry.gateway.book import Token
from tarry.gateway.changes import NOT_PARKED
from tarry.gateway.door import Door, answer
from tarry.gateway.operations import operation
from tarry.gateway.problems import BadRequest
from tarry.gateway.routes.spaces import space_out
from tarry.keep.clock import moment
from tarry.keep.errors import NoSuchPost

__all__: list[str] = []

_TOKEN = re.compile("[0-9a-f]{12}")


@operation("GET", "/v1/spaces/{space}/parked", scope="operate", gives=ParkedListOut, refusals=(404,))
async def list_parked(door: Door, request: Request) -> Response:
    """Posts that could not be delivered and wait for a person, with the reason."""
    door.token(request, "operate")
    space, tick = door.space(request).name, door.gateway.vault.settings.tick
    rows = await door.call(partial(door.gateway.parked, space))
    told = [
        ParkedOut(
            post=str(row["id"]),
            target=row["target"],
            release_at=moment(row["release"] * tick),
            attempts=row["attempts"],
            problem=row["problem"] or "",
        )
        for row in rows
    ]
    return answer(ParkedListOut(parked=told))


@operation(
    "POST", "/v1/spaces/{space}/parked/{post}/retry", scope="operate", status=204, refusals=(404, 409)
)
async def retry_parked(door: Door, request: Request) -> Response:
    """Put a parked post back: its release is past, so it is delivered at the next chance."""
    door.token(request, "operate")
    space, post = door.space(request).name, _post(request)
    await door.change(partial(door.gateway.retry, space, post))
    return Response(status_code=204)


@operation("DELETE", "/v1/spaces/{space}/parked/{post}", scope="operate", status=204, refusals=(404, 409))
async def withdraw_parked(door: Door, request: Request) -> Response:
    """Take a parked post back."""
    door.token(request, "operate")
    space, post = door.space(request).name, _post(request)
    await door.change(partial(door.gateway.withdraw_parked, space, post))
    return Response(status_code=204)


@operation(
    "POST",
    "/v1/spaces/{space}/withdrawals",
    scope="operate",
    takes=WithdrawIn,
    gives=WithdrawnOut,
    example={"target": "paper-3"},
    refusals=(404, 413, 415),
)
async def withdraw_posts(door: Door, request: Request) -> Response:
    """Take back what waits on a target. Nothing is released early.

    One post is taken back with its receipt. Until a post would have left, its author can put something else
    into its place with the receipt.
    """
    door.token(request, "operate")
    sent, space = await door.read(request, WithdrawIn), door.space(request).name
    count = await door.change(partial(door.gateway.withdraw_on, space, sent.target))
    return answer(WithdrawnOut(withdrawn=count))


@operation("POST", "/v1/spaces/{space}/pause", scope="operate", gives=SpaceOut, refusals=(404,))
async def pause_space(door: Door, request: Request) -> Response:
    """Take nothing in until further notice. What waits leaves at its time."""
    return await _open(door, request, is_open=False)


@operation("POST", "/v1/spaces/{space}/open", scope="operate", gives=SpaceOut, refusals=(404,))
async def reopen_space(door: Door, request: Request) -> Response:
    """Take posts in again."""
    return await _open(door, request, is_open=True)


@operation("GET", "/v1/tokens", scope="admin", gives=TokenListOut)
async def list_tokens(door: Door, request: Request) -> Response:
    """The tokens in use, without their secrets."""
    door.token(request, "admin")
    tokens = sorted(door.gateway.book.tokens.values(), key=lambda token: token.id)
    return answer(TokenListOut(tokens=[_token_out(token) for token in tokens]))


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
async def make_token(door: Door, request: Request) -> Response:
    """Make a token; it is shown this once."""
    door.token(request, "admin")
    sent = await door.read(request, TokenIn)
    number, token = await door.change(partial(door.gateway.add_token, sent.name, sent.scopes, sent.spaces))
    scopes, spaces = sorted(set(sent.scopes)), sorted(set(sent.spaces))
    made = TokenMadeOut(id=number, name=sent.name, scopes=scopes, spaces=spaces, token=token)
    return answer(made, 201)


@operation("DELETE", "/v1/tokens/{token}", scope="admin", status=204, refusals=(404,))
async def revoke_token(door: Door, request: Request) -> Response:
    """Take a token's rights away; every server knows within two seconds."""
    door.token(request, "admin")
    number = request.path_params["token"]
    if not _TOKEN.fullmatch(number):
        raise BadRequest(404, "the id of a token is 12 digits of base 16")
    try:
        await door.change(partial(door.gateway.revoke_token, number))
    except BadInput as error:
        raise BadRequest(404, str(error)) from None
    return Response(status_code=204)


async def _open(door: Door, request: Request, *, is_open: bool) -> Response:
    door.token(request, "operate")
    await door.change(partial(door.gateway.open_space, door.space(request).name, is_open=is_open))
    return answer(await space_out(door, door.space(request)))


def _post(request: Request) -> int:
    text = request.path_params["post"]
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) < 1 << 63):
        raise NoSuchPost(NOT_PARKED)
    return int(text)


def _token_out(token: Token) -> TokenOut:
    return TokenOut(id=token.id, name=token.name, scopes=sorted(token.scopes), spaces=sorted(token.spaces))
