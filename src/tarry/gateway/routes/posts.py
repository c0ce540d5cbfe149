"""Submitting posts, and what a receipt allows."""

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
from tarry.keep.posts import Post, Receipt, Status
from tarry.keep.store import moment

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
    service.token(request, "submit")
    sent, key = await service.read(request, PostIn), service.key(request)
    submission = Submission(
        space=request.path_params["space"],
        posts=[_post(sent, service.limits)],
        key=key,
        sender=service.sender(request),
        body=b"" if key is None else msgspec.json.encode(sent, order="sorted"),
    )
    (receipt,) = await service.group_commit.admit(submission)
    return json_response(_receipt_out(receipt), 202, size=_SIZE)


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
    token = service.token(request, "submit")
    sent = await service.read(request, BatchIn)
    if (count := len(sent.posts)) > service.limits.batch_posts:
        raise BadInput(f"a batch must have at most {service.limits.batch_posts} posts, not {count}")
    service.rates.take(token.id, count - 1)
    key = service.key(request)
    submission = Submission(
        space=request.path_params["space"],
        posts=[_post(each, service.limits) for each in sent.posts],
        key=key,
        sender=service.sender(request),
        body=b"" if key is None else msgspec.json.encode(sent, order="sorted"),
    )
    receipts = await service.group_commit.admit(submission)
    record = ReceiptsOut(receipts=[_receipt_out(each) for each in receipts])
    return json_response(record, 202, size=_SIZE * len(receipts))


@operation("GET", "/v1/receipt", receipt=True, gives=StatusOut)
async def read_receipt(service: HttpService, request: Request) -> Response:
    """When a post leaves, as far as that is known, or what became of it."""
    receipt = service.receipt(request)
    status = await service.call(partial(service.gateway.receipts.status, receipt))
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
    content, kind = _payload(sent.content, {}, service.limits)
    if sent.options is not None:
        _check_options(sent.options, service.limits)
    change = partial(service.gateway.replace, receipt, content, sent.options, kind)
    return json_response(status_out(await service.change(change)), size=_SIZE)


@operation("DELETE", "/v1/receipt", receipt=True, gives=StatusOut, refusals=(409,))
async def withdraw_post(service: HttpService, request: Request) -> Response:
    """Withdraw a post before it appears. Its arrival still counts: posting again gains nothing."""
    receipt = service.receipt(request)
    status = await service.change(partial(service.gateway.receipts.withdraw, receipt))
    return json_response(status_out(status), size=_SIZE)


def status_out(status: Status) -> StatusOut:
    """What its author may know. Why a post is parked is for the operator alone."""
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
    stored, kind = encode_content(content)  # type: ignore[arg-type]  # checked when it was read
    return stored, {**options, **kind}


def _check_options(options: dict[str, object], limits: Limits) -> None:
    if reserved := JSON.keys() & options.keys():
        raise BadInput(
            f"the option {min(reserved)} is reserved", "leave it out: the content says what it is"
        )
    check_nesting(options, limits.nesting)
