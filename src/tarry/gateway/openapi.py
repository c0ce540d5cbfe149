"""The OpenAPI page, made from the list of operations and the typed records."""

import re
from functools import cache
from typing import Any

import msgspec

from tarry.gateway.bodies import SPACE, Problem
from tarry.gateway.operations import OPERATIONS, Operation

__all__ = ["openapi"]

_REFS = "#/components/schemas/{name}"
_PARAMETER = re.compile(r"\{(\w+)\}")
_PATTERNS = {"space": SPACE, "post": "^[0-9]{1,19}$", "token": "^[0-9a-f]{12}$"}
_REFUSED = {
    400: "The request cannot be read.",
    401: "No token, or none that this gateway knows.",
    403: "The token does not allow this.",
    404: "No such space, post or token.",
    408: "The request comes too slowly.",
    409: "Not now, or not any more.",
    413: "The request is too large.",
    415: "The request is not JSON.",
    422: "The request does not fit.",
    429: "The token asks too often, or too many listen.",
    503: "The store is away; it will come back.",
}


@cache
def openapi() -> dict[str, Any]:
    """The whole page (OpenAPI 3.1).

    >>> openapi()["openapi"]
    '3.1.0'
    """
    import tarry.gateway.app  # noqa: F401, PLC0415 - lists all operations

    kinds = {kind for each in OPERATIONS for kind in (each.takes, each.gives) if kind} | {Problem}
    named = sorted(kinds, key=lambda kind: kind.__name__)
    schemas, components = msgspec.json.schema_components(named, ref_template=_REFS)
    refs = dict(zip(named, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, refs)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tarry",
            "version": "1",
            "description": "Posts come in, wait, and leave with nothing to betray when they came.",
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
    told: dict[str, Any] = {
        "operationId": each.name,
        "summary": each.summary,
        "parameters": _parameters(each),
        "responses": _responses(each, refs),
    }
    if each.takes is not None:
        body: dict[str, Any] = {"schema": refs[each.takes]}
        if each.example is not None:
            body["example"] = each.example
        told["requestBody"] = {"required": True, "content": {"application/json": body}}
    if each.scope is not None:
        told["security"] = [{"token": []}]
        told["description"] = f"Needs a token with the scope `{each.scope}`."
    if each.receipt:
        told["security"] = [{"receipt": []}]
    return told


def _parameters(each: Operation) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": _PATTERNS[name]},
        }
        for name in _PARAMETER.findall(each.path)
    ]
    for name, meaning in each.query.items():
        least = 0 if name == "after" else 1
        schema = {"type": "integer", "minimum": least, "maximum": 500 if name == "limit" else (1 << 63) - 1}
        found.append({"name": name, "in": "query", "description": meaning, "schema": schema})
    if each.key:
        found.append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "description": "The same request with the same key is accepted once, and answered alike.",
                "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
            }
        )
    return found


def _responses(each: Operation, refs: dict[type, dict[str, Any]]) -> dict[str, Any]:
    done: dict[str, Any] = {"description": "Done."}
    if each.gives is not None:
        done["content"] = {each.media: {"schema": refs[each.gives]}}
    elif each.status != 204:
        kind = "object" if each.media == "application/json" else "string"
        done["content"] = {each.media: {"schema": {"type": kind}}}
    told = {str(each.status): done}
    for status in sorted(_refusals(each)):
        refused: dict[str, Any] = {"application/problem+json": {"schema": refs[Problem]}}
        if status == 503 and each.path == "/readyz" and each.gives:
            refused = {each.media: {"schema": refs[each.gives]}}
        told[str(status)] = {"description": _REFUSED[status], "content": refused}
    return told


def _refusals(each: Operation) -> set[int]:
    usual = set(each.refusals)
    if each.scope is not None:
        usual |= {401, 403, 429}
    if each.receipt:
        usual |= {404}
    if each.takes is not None:
        usual |= {400, 408, 413, 415, 422}
    if each.query:
        usual |= {422}
    return usual | ({503} if each.path != "/healthz" else set())
