"""Handing posts in, and what a receipt allows."""

from functools import partial
from typing import Any

import msgspec
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from tarry.core.errors import BadInput
from tarry.gateway.bodies import BatchIn, PostIn, ReceiptOut, ReceiptsOut, ReplaceIn, StatusOut
from tarry.gateway.door import Door, answer
from tarry.gateway.gateway import Request
from tarry.gateway.items import JSON, content_of
from tarry.gateway.limits import Limits, check_nesting
from tarry.gateway.operations import operation
from tarry.keep.clock import moment
from tarry.keep.posts import Post, Receipt, Status

__all__: list[str] = []

#: Bytes of an answer for each post: were they not of one length, an eavesdropper would see what is known.
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
async def submit_post(door: Door, request: HttpRequest) -> Response:
    """Hand a post in; the answer tells when it will appear, or the two moments of which it will be one."""
    door.token(request, "submit")
    sent, key = await door.read(request, PostIn), door.key(request)
    asked = Request(
        space=request.path_params["space"],
        posts=[_post(sent, door.limits)],
        key=key,
        sender=door.sender(request),
        body=b"" if key is None else msgspec.json.encode(sent, order="sorted"),
    )
    (receipt,) = await door.admissions.admit(asked)
    return answer(_receipt_out(receipt), 202, size=_SIZE)


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
async def submit_batch(door: Door, request: HttpRequest) -> Response:
    """Hand several posts in at once: all of them are accepted, or none."""
    token = door.token(request, "submit")
    sent = await door.read(request, BatchIn)
    if (count := len(sent.posts)) > door.limits.batch_posts:
        raise BadInput("a batch", f"has at most {door.limits.batch_posts} posts", found=count)
    door.buckets.take(token.id, count - 1)
    key = door.key(request)
    asked = Request(
        space=request.path_params["space"],
        posts=[_post(each, door.limits) for each in sent.posts],
        key=key,
        sender=door.sender(request),
        body=b"" if key is None else msgspec.json.encode(sent, order="sorted"),
    )
    receipts = await door.admissions.admit(asked)
    told = ReceiptsOut(receipts=[_receipt_out(each) for each in receipts])
    return answer(told, 202, size=_SIZE * len(receipts))


@operation("GET", "/v1/receipt", receipt=True, gives=StatusOut)
async def read_receipt(door: Door, request: HttpRequest) -> Response:
    """When a post leaves, as far as that is known, or what became of it."""
    receipt = door.receipt(request)
    status = await door.call(partial(door.gateway.receipts.status, receipt))
    return answer(status_out(status), size=_SIZE)


@operation(
    "PUT",
    "/v1/receipt",
    receipt=True,
    takes=ReplaceIn,
    gives=StatusOut,
    example={"content": "I agree with both reviewers."},
    refusals=(409, 413, 415),
)
async def replace_post(door: Door, request: HttpRequest) -> Response:
    """Say something else, also in place of what an operator withdrew; when it is said stays as it is."""
    receipt = door.receipt(request)
    await door.call(partial(door.gateway.receipts.status, receipt))  # nothing is read of who has none
    sent = await door.read(request, ReplaceIn)
    content, kind = _payload(sent.content, {}, door.limits)
    if sent.options is not None:
        _check_options(sent.options, door.limits)
    change = partial(door.gateway.replace, receipt, content, sent.options, kind)
    return answer(status_out(await door.change(change)), size=_SIZE)


@operation("DELETE", "/v1/receipt", receipt=True, gives=StatusOut, refusals=(409,))
async def withdraw_post(door: Door, request: HttpRequest) -> Response:
    """Take a post back before it appears. Its arrival still counts: posting again gains nothing."""
    receipt = door.receipt(request)
    status = await door.change(partial(door.gateway.receipts.withdraw, receipt))
    return answer(status_out(status), size=_SIZE)


def status_out(status: Status) -> StatusOut:
    """What the author is told. Why a post is parked is the operator's business."""
    return StatusOut(state=status.state, **_moments(status), in_doubt=status.in_doubt)


def _receipt_out(receipt: Receipt) -> ReceiptOut:
    return ReceiptOut(
        receipt=receipt.secret,
        state=receipt.status.state,
        **_moments(receipt.status),
        in_doubt=receipt.status.in_doubt,
    )


def _moments(status: Status) -> dict[str, Any]:
    ends = status.between
    earliest, latest = (moment(ends[0]), moment(ends[1])) if ends else (None, None)
    return {
        "release_at": latest if status.earliest == status.latest else None,
        "earliest_at": earliest,
        "latest_at": latest,
    }


def _post(sent: PostIn, limits: Limits) -> Post:
    content, options = _payload(sent.content, sent.options, limits)
    return Post(
        actor=sent.actor,
        target=sent.target,
        outlet="",
        content=content,
        options=options,
        track=sent.track,
        more_to_come=sent.more_to_come,
        depends_on=sent.depends_on,
    )


def _payload(
    content: object, options: dict[str, object], limits: Limits
) -> tuple[bytes, dict[str, object]]:
    check_nesting(content, limits.nesting)
    _check_options(options, limits)
    stored, told = content_of(content)  # type: ignore[arg-type]  # checked when it was read
    return stored, {**options, **told}


def _check_options(options: dict[str, object], limits: Limits) -> None:
    if reserved := JSON.keys() & options.keys():
        raise BadInput("the options of a post", "leave out what the content tells", found=min(reserved))
    check_nesting(options, limits.nesting)
