"""Spaces and their promises, open to everybody; and an account's own choice."""

from functools import partial

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from tarry.core.promise import promise
from tarry.gateway.bodies import AccountIn, AccountOut, PolicyOut, SpaceOut, SpacesOut
from tarry.gateway.book import Space, Version
from tarry.gateway.door import MOST_NUMBER, Door, answer, number
from tarry.gateway.operations import operation
from tarry.gateway.problems import BadRequest
from tarry.keep.candidates import Adoption
from tarry.keep.clock import moment

__all__: list[str] = []

_VERSION = "an earlier one by its number; left out: the one that holds, or will after the pause before it"
_NOT_ALL: dict[Adoption, tuple[str, ...]] = {
    "everyone": (),
    "opt-out": ("Posts of an account that has opted out of delays: they leave as they come.",),
    "opt-in": ("Posts of an account that has not opted in to delays: they leave as they come.",),
}


@operation("GET", "/v1/spaces", gives=SpacesOut)
async def list_spaces(door: Door, _: Request) -> Response:
    """The spaces of this gateway."""
    spaces = list(door.gateway.book.spaces.values())
    return answer(SpacesOut(spaces=[await space_out(door, space) for space in spaces]))


@operation("GET", "/v1/spaces/{space}", gives=SpaceOut, refusals=(404,))
async def read_space(door: Door, request: Request) -> Response:
    """One space."""
    return answer(await space_out(door, door.space(request)))


@operation(
    "GET", "/v1/spaces/{space}/policy", gives=PolicyOut, query={"version": _VERSION}, refusals=(404,)
)
async def read_policy(door: Door, request: Request) -> Response:
    """A policy of a space, and what it promises and does not promise, in plain words."""
    space = door.space(request)
    version = _version(request, space)
    told = await door.call(partial(promise, version.policy))
    tick = door.gateway.vault.settings.tick  # older versions may have had another
    return answer(
        PolicyOut(
            space=space.name,
            version=version.number,
            holds_from=moment(version.first_tick * tick) if version.first_tick else None,
            policy=version.text,
            promised=list(told.promised),
            not_promised=[*told.not_promised, *_NOT_ALL[space.adoption]],
        )
    )


@operation(
    "GET",
    "/v1/spaces/{space}/policy.toml",
    media="text/plain",
    query={"version": _VERSION},
    refusals=(404,),
)
async def read_policy_file(door: Door, request: Request) -> Response:
    """The policy file itself, for tarry explain and tarry verify."""
    return PlainTextResponse(_version(request, door.space(request)).text)


@operation(
    "PUT",
    "/v1/spaces/{space}/accounts",
    scope="submit",
    takes=AccountIn,
    gives=AccountOut,
    example={"actor": "account-17", "delayed": False},
    refusals=(404, 413, 415),
)
async def choose_delays(door: Door, request: Request) -> Response:
    """Let an account opt in or out of delays, where its space offers that; it holds from later on."""
    door.token(request, "submit")
    sent, space = await door.read(request, AccountIn), door.space(request)
    choose = partial(door.gateway.adopt_delays, space.name, actor=sent.actor, delayed=sent.delayed)
    first = await door.change(choose)
    return answer(AccountOut(delayed=sent.delayed, holds_from=moment(first * space.version.policy.tick)))


def _version(request: Request, space: Space) -> Version:
    wanted = number(request, "version", 1, MOST_NUMBER) or space.version.number
    for version in space.versions:
        if version.number == wanted:
            return version
    raise BadRequest(404, "the policy of this space has no such version")


async def space_out(door: Door, space: Space) -> SpaceOut:
    policy = space.version.policy
    # A first policy holds from the start; of another the store's clock tells whether it holds yet.
    resumes = await door.call(partial(door.gateway.resumes_at, space)) if space.version.first_tick else None
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
