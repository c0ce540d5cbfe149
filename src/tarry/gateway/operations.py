"""Operations: each address of the gateway with what it takes and gives, declared once.

Routes and the OpenAPI description are made from this list, so that they always agree.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tarry.gateway.bodies import SPACE, Problem
from tarry.gateway.catalog import Scope
from tarry.gateway.http_service import HttpService

__all__ = ["OPERATIONS", "Handler", "Operation", "openapi", "operation"]

_PATTERNS = {"space": SPACE, "post": "^[0-9]{1,19}$", "token": "^[0-9a-f]{12}$"}
_REFUSALS = {
    400: "The request is not well formed.",
    401: "No token, or an unknown one.",
    403: "The token does not allow this.",
    404: "No such space, post or token.",
    408: "The request arrives too slowly.",
    409: "Not possible now, or not any more.",
    413: "The request is too large.",
    415: "The request is not JSON.",
    422: "The request breaks a rule.",
    429: "Too many requests, or too many open streams.",
    503: "The store is away, or too much is unfinished for anybody to be let in: try again later.",
}

_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "The same request with the same key is accepted once, with the same answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
}

Handler = Callable[[HttpService, Request], Awaitable[Response]]


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One method of one address.

    >>> Operation(method="GET", path="/healthz", name="health", summary="", handler=None).scope is None
    True
    """

    method: str
    path: str  # with {parameters}
    name: str
    summary: str  # one sentence
    handler: Any  # takes the service and the request
    scope: Scope | None = None  # what a token must allow; None: no token
    receipt: bool = False  # needs a receipt in the header Tarry-Receipt
    takes: type[msgspec.Struct] | None = None  # the JSON of the request
    gives: type[msgspec.Struct] | None = None  # the JSON of the answer
    status: int = 200  # of the answer
    media: str = "application/json"  # of the answer
    query: dict[str, str] = field(default_factory=dict)  # whole numbers, and their meaning
    key: bool = False  # takes an Idempotency-Key
    example: dict[str, Any] | None = None  # of the request
    refusals: tuple[int, ...] = ()  # beside the usual ones


OPERATIONS: list[Operation] = []


def operation(method: str, path: str, **options: Any) -> Callable[[Handler], Handler]:
    """Add a handler to the list; its docstring is the summary.

    >>> callable(operation("GET", "/nowhere"))
    True
    """

    def listed(handler: Handler) -> Handler:
        OPERATIONS.append(
            Operation(
                method=method,
                path=path,
                name=handler.__name__,
                summary=" ".join((handler.__doc__ or "").split()),
                handler=handler,
                **options,
            )
        )
        return handler

    return listed


@cache
def openapi() -> dict[str, Any]:
    """The description of the API (OpenAPI 3.1).

    >>> openapi()["openapi"]
    '3.1.0'
    """
    import tarry.gateway.app  # noqa: F401, PLC0415 - lists all operations

    kinds = {kind for each in OPERATIONS for kind in (each.takes, each.gives) if kind} | {Problem}
    named = sorted(kinds, key=lambda kind: kind.__name__)
    schemas, components = msgspec.json.schema_components(named, ref_template="#/components/schemas/{name}")
    refs = dict(zip(named, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, refs)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tarry",
            "version": "1",
            "description": "Posts arrive, wait, and leave without a trace of when they arrived.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "receipt": {"type": "apiKey", "in": "header", "name": "Tarry-Receipt"},
            },
        },
    }


def _operation(each: Operation, refs: dict[type, dict[str, Any]]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": each.name,
        "summary": each.summary,
        "parameters": _parameters(each),
        "responses": _responses(each, refs),
    }
    if each.takes is not None:
        body: dict[str, Any] = {"schema": refs[each.takes]}
        if each.example is not None:
            body["example"] = each.example
        described["requestBody"] = {"required": True, "content": {"application/json": body}}
    if each.scope is not None:
        described["security"] = [{"token": []}]
        described["description"] = f"Needs a token with the scope `{each.scope}`."
    if each.receipt:
        described["security"] = [{"receipt": []}]
    return described


def _parameters(each: Operation) -> list[dict[str, Any]]:
    path = (
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": _PATTERNS[name]},
        }
        for name in re.findall(r"\{(\w+)\}", each.path)
    )
    query = (
        {
            "name": name,
            "in": "query",
            "description": meaning,
            "schema": {
                "type": "integer",
                "minimum": 0 if name == "after" else 1,
                "maximum": 500 if name == "limit" else (1 << 63) - 1,
            },
        }
        for name, meaning in each.query.items()
    )
    return [*path, *query, *([_KEY] if each.key else [])]


def _responses(each: Operation, refs: dict[type, dict[str, Any]]) -> dict[str, Any]:
    done: dict[str, Any] = {"description": "Done."}
    if each.gives is not None:
        done["content"] = {each.media: {"schema": refs[each.gives]}}
    elif each.status != 204:
        kind = "object" if each.media == "application/json" else "string"
        done["content"] = {each.media: {"schema": {"type": kind}}}
    responses = {str(each.status): done}
    for status in sorted(_refusals(each)):
        refused: dict[str, Any] = {"application/problem+json": {"schema": refs[Problem]}}
        if status == 503 and each.path == "/readyz" and each.gives:
            refused = {each.media: {"schema": refs[each.gives]}}
        responses[str(status)] = {"description": _REFUSALS[status], "content": refused}
    return responses


def _refusals(each: Operation) -> set[int]:
    usual = (
        ({401, 403, 429}, each.scope),
        ({404}, each.receipt),
        ({400, 408, 413, 415, 422}, each.takes),
        ({422}, each.query),
        ({503}, each.path != "/healthz"),
    )
    return set(each.refusals).union(*(statuses for statuses, applies in usual if applies))
