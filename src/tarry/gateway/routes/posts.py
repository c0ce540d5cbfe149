"""Submitting posts, and what a receipt allows."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tarry.core.errors import BadInput
from tarry.gateway.bodies import BatchIn, PostIn, ReceiptOut, ReceiptsOut, ReplaceIn, StatusOut
from tarry.gateway.feed_formats import JSON, encode_content
from tarry.gateway.gateway import Submission
from tarry.gateway.http_service import HttpService, json_response
from tarry.gateway.limits import Limits, check_nesting
from tarry.gateway.operations import operation
from tarry.keep.posts import Post, Status

__all__: list[str] = []

#: Bytes of an answer for each post: of one length, so that an eavesdropper does not see what is known.
_SIZE = 256
_EXAMPLE = {"actor": "account-17", "target": "paper-3", "content": "I agree with the second reviewer."}


@operation(
    "POST",
    "/v1/spaces/{space}/posts",
    scope="submit",
    takes=PostIn,
    gives=ReceiptOut,
    status=202,
    key=True,
    example=_EXAMPLE,
    refusals=(404, 409, 413, 415),
)
async def submit_post(service: HttpService, request: Request) -> Response:
    """Submit a post; the answer says when it will appear, or the two moments of which it will be one."""
    service.backlog.check()  # before anything is read
    sent = await service.read(request, PostIn)
    (receipt,) = await _admit(service, request, sent, [sent])
    return json_response(receipt, 202, size=_SIZE)


@operation(
    "POST",
    "/v1/spaces/{space}/batches",
    scope="submit",
    takes=BatchIn,
    gives=ReceiptsOut,
    status=202,
    key=True,
    example={"posts": [_EXAMPLE]},
    refusals=(404, 409, 413, 415),
)
async def submit_batch(service: HttpService, request: Request) -> Response:
    """Submit several posts at once: all of them are accepted, or none."""
    service.backlog.check()
    sent = await service.read(request, BatchIn)
    if (count := len(sent.posts)) > service.limits.batch_posts:
        raise BadInput(f"a batch must have at most {service.limits.batch_posts} posts, not {count}")
    service.rates.take(request.state.token.id, count - 1)
    receipts = await _admit(service, request, sent, sent.posts)
    return json_response(ReceiptsOut(receipts=receipts), 202, size=_SIZE * count)


@operation("GET", "/v1/receipt", receipt=True, gives=StatusOut)
async def read_receipt(service: HttpService, request: Request) -> Response:
    """When a post leaves, as far as that is known, or what became of it."""
    status = await service.call(partial(service.gateway.receipts.status, service.receipt(request)))
    return json_response(status_out(status), size=_SIZE)


@operation(
    "PUT",
    "/v1/receipt",
    receipt=True,
    takes=ReplaceIn,
    gives=StatusOut,
    example={"content": "I agree with both reviewers."},
    refusals=(409, 413, 415),
)
async def replace_post(service: HttpService, request: Request) -> Response:
    """Replace the content of a post, also if an operator withdrew it; it leaves when it would have left."""
    receipt = service.receipt(request)
    await service.call(partial(service.gateway.receipts.status, receipt))  # without one nothing is read
    sent = await service.read(request, ReplaceIn)
    content, kind = _encoded(sent, service.limits)
    change = partial(service.gateway.replace, receipt, content, sent.options, kind)
    return json_response(status_out(await service.change(change)), size=_SIZE)


@operation("DELETE", "/v1/receipt", receipt=True, gives=StatusOut, refusals=(409,))
async def withdraw_post(service: HttpService, request: Request) -> Response:
    """Withdraw a post before it appears. Its arrival still counts: posting again gains nothing."""
    status = await service.change(partial(service.gateway.receipts.withdraw, service.receipt(request)))
    return json_response(status_out(status), size=_SIZE)


def status_out(status: Status) -> StatusOut:
    """What its author may know. Why a post is parked is for the operator alone."""
    return StatusOut(**_known(status))


def _known(status: Status) -> dict[str, Any]:
    return {
        "state": status.state,
        "in_doubt": status.in_doubt,
        "in_between": status.in_between,
        **status.moments,
    }


async def _admit(
    service: HttpService, request: Request, sent: msgspec.Struct, posts: Sequence[PostIn]
) -> list[ReceiptOut]:
    key = service.key(request)
    receipts = await service.admit(
        Submission(
            space=request.path_params["space"],
            posts=[_post(each, service.limits) for each in posts],
            key=key,
            # Stored nowhere: who has store and key cannot make the receipts of a token again.
            sender=service.secret(request).encode(),
            body=b"" if key is None else msgspec.json.encode(sent, order="sorted"),
        )
    )
    return [ReceiptOut(receipt=each.secret, **_known(each.status)) for each in receipts]


def _post(sent: PostIn, limits: Limits) -> Post:
    content, kind = _encoded(sent, limits)
    return Post(
        actor=sent.actor,
        target=sent.target,
        outlet="",
        content=content,
        options={**sent.options, **kind},
        track=sent.track,
        more_to_come=sent.more_to_come,
        depends_on=sent.depends_on,
    )


def _encoded(sent: PostIn | ReplaceIn, limits: Limits) -> tuple[bytes, dict[str, Any]]:
    """The content as it is stored, and the option that says what it is."""
    check_nesting(sent.content, limits.nesting)
    if reserved := JSON.keys() & (sent.options or {}).keys():
        raise BadInput(
            f"the option {min(reserved)} is reserved", "leave it out: the content says what it is"
        )
    check_nesting(sent.options, limits.nesting)
    return encode_content(sent.content)
