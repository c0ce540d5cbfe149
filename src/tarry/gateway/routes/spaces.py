"""Spaces and their promises, open to everybody; and the choice of an account."""

from functools import partial

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from tarry.core.promise import promise
from tarry.gateway.bodies import AccountIn, AccountOut, PolicyOut, SpaceOut, SpacesOut
from tarry.gateway.catalog import PolicyVersion, Space
from tarry.gateway.http_service import MAX_NUMBER, HttpService, json_response, query_number
from tarry.gateway.operations import operation
from tarry.gateway.problems import BadRequest
from tarry.keep.admission import Adoption
from tarry.keep.store import moment

__all__: list[str] = []

_VERSION = "the number of an earlier one; left out: the one in force, or the next one during its pause"
_NOT_ALL: dict[Adoption, tuple[str, ...]] = {
    "everyone": (),
    "opt-out": ("Posts of an account that has opted out of delays: they leave as they come.",),
    "opt-in": ("Posts of an account that has not opted in to delays: they leave as they come.",),
}


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
    service.token(request, "submit")
    sent, space = await service.read(request, AccountIn), service.space(request)
    choose = partial(service.gateway.adopt_delays, space.name, actor=sent.actor, delayed=sent.delayed)
    first = await service.change(choose)
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
