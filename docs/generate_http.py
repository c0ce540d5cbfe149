"""Write docs/http.md from the OpenAPI page of the gateway.

python docs/generate_http.py

`tests/test_docs.py` fails when the page and the gateway disagree.
"""
# ruff: noqa: INP001 - a script beside its page, not a package

import json
from pathlib import Path
from typing import Any

from tarry.gateway.operations import openapi

PAGE = Path(__file__).with_name("http.md")
#: What a reader looks for first.
ORDER = ("/posts", "/batches", "/receipt", "/feed", "/policy", "/accounts", "/v1/spaces", "/v1/tokens", "/")

HEAD = """\
# The HTTP API

Written by `docs/generate_http.py` from the gateway's own OpenAPI page (`/openapi.json`); do not edit it
by hand.

A token goes into the header `Authorization: Bearer tarry_...`, a receipt into the header
`Tarry-Receipt`: neither belongs into an address, which proxies write down. Every refusal is
`application/problem+json` with one sentence in `detail`. Moments are ISO 8601 in UTC. [The
gateway](gateway.md) explains what all this is for.
"""


def page() -> str:
    """The whole page."""
    told = openapi()
    schemas = told["components"]["schemas"]
    operations = [
        (path, method, each) for path, methods in told["paths"].items() for method, each in methods.items()
    ]
    operations.sort(key=lambda each: next(n for n, part in enumerate(ORDER) if part in each[0]))
    parts = [HEAD, *(_section(*each) for each in operations), "## Records\n"]
    parts += [_record(name, schemas[name]) for name in sorted(schemas)]
    return "\n".join(parts).rstrip() + "\n"


def _section(path: str, method: str, each: dict[str, Any]) -> str:
    lines = [f"## {method.upper()} `{path}`", "", each["summary"], ""]
    if "description" in each:
        lines += [each["description"], ""]
    if {"receipt": []} in each.get("security", []):
        lines += ["Needs a receipt.", ""]
    extra = [p for p in each["parameters"] if p["in"] != "path"]
    lines += [f"- {p['in']} `{p['name']}`: {p['description']}" for p in extra]
    if "requestBody" in each:
        body = each["requestBody"]["content"]["application/json"]
        lines += [f"- takes {_kind(body['schema'])}"]
        if "example" in body:
            lines[-1] += f", for example `{json.dumps(body['example'])}`"
    lines += [_answer(status, answer) for status, answer in each["responses"].items() if status < "400"]
    refused = [status for status in each["responses"] if status >= "400"]
    if refused:
        lines.append(f"- refuses with {', '.join(refused)}")
    return "\n".join(lines) + "\n"


def _answer(status: str, answer: dict[str, Any]) -> str:
    content = answer.get("content", {})
    if not content:
        return f"- answers {status}"
    ((media, body),) = content.items()
    kind = _kind(body["schema"]) if media == "application/json" else f"`{media}`"
    return f"- answers {status} with {kind}"


def _record(name: str, schema: dict[str, Any]) -> str:
    rows = [
        f"| `{field}` | {_kind(told)} | {'yes' if field in schema.get('required', []) else ''} "
        f"| {_meaning(told)} |"
        for field, told in schema.get("properties", {}).items()
    ]
    table = "\n".join(["| field | kind | required | |", "| --- | --- | --- | --- |", *rows])
    return f"### {name}\n\n{schema.get('description', '')}\n\n{table}\n"


def _meaning(told: dict[str, Any]) -> str:
    return str(told.get("description") or next(filter(None, map(_meaning, told.get("anyOf", []))), ""))


def _kind(told: dict[str, Any]) -> str:
    if "$ref" in told:
        name = told["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in told:
        return " or ".join(dict.fromkeys(_kind(each) for each in told["anyOf"]))
    if "enum" in told:
        return ", ".join(f"`{value}`" for value in told["enum"])
    if told.get("type") == "array":
        return f"list of {_kind(told.get('items', {}))}"
    return str(told.get("type", "anything"))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
