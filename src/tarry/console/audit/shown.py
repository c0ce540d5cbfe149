"""What was found, for a page: the same for an upload and for a sample."""

import re
from collections.abc import Mapping
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tarry.console.audit.frontier import frontier
from tarry.console.pages import require, texts

__all__ = ["FILES", "chosen_policy_file", "for_pages", "result_values", "sent_file"]

# What the report allows itself, and no more: its style is inside it, and nothing in it runs. It is of this
# origin, so that the way back from it brings the session along.
_REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox allow-same-origin"
)
#: By the name in its address: how a file is stored, its kind, and how a browser saves it.
FILES = {
    "report": ("report.html", "text/html; charset=utf-8", "tarry-audit.html"),
    "comparison": ("comparison.html", "text/html; charset=utf-8", "tarry-comparison.html"),
    "figures": ("figures.json", "application/json", "tarry-figures.json"),
    "policy": ("policy.toml", "application/toml", "policy.toml"),
}


def result_values(request: Request, answer: Mapping[str, Any], there: str) -> dict[str, Any]:
    """What a template shows of an answer, with the policy that is chosen in it.

    >>> request = Request({"type": "http", "query_string": b"choice=7"})
    >>> result_values(request, {"advice": None}, "/audit")["chosen"] is None
    True
    """
    choices = (answer["advice"] or {}).get("choices", ())
    text = request.query_params.get("choice", "")
    best = next((place for place, each in enumerate(choices) if each["is_best"]), 0)
    is_known = text.isascii() and text.isdecimal() and len(text) < 3 and int(text) < len(choices)
    place = int(text) if is_known else best
    return {
        "answer": answer,
        "there": there,
        "place": place,
        "chosen": choices[place] if choices else None,
        "best": next((each for each in choices if each["is_best"]), None),
        "picture": frontier(answer, place, there),
        "for_pages": for_pages,
    }


def chosen_policy_file(request: Request, answer: Mapping[str, Any]) -> Response:
    """The policy file of one of those that were tried.

    >>> answer = {"advice": {"choices": [{"is_best": True, "policy": "epsilon = 1"}]}}
    >>> request = Request({"type": "http", "query_string": b""})
    >>> result_values(request, {"advice": None}, "")["picture"] is None
    True
    """
    chosen = result_values(request, answer, "")["chosen"]
    require(chosen, 404, "audit", "no_such_file")
    _, kind, saved_as = FILES["policy"]
    return sent_file(request, chosen["policy"].encode(), kind, saved_as, "")


def sent_file(request: Request, content: bytes, kind: str, saved_as: str, back: str) -> Response:
    """A report to read, with a way back, or a file to save.

    >>> request = Request({"type": "http", "query_string": b""})
    >>> sent_file(request, b"{}", "application/json", "a.json", "").headers["content-disposition"]
    'attachment; filename="a.json"'
    """
    is_page = kind.startswith("text/html")
    headers = {"Content-Security-Policy": _REPORT_POLICY} if is_page else {}
    if not is_page or "save" in request.query_params:
        headers["Content-Disposition"] = f'attachment; filename="{saved_as}"'
    else:
        link = f'<p class="back"><a href="{back}">{escape(texts()["audit"]["report_back"])}</a></p>'
        content = content.replace(b"<body>", b"<body>" + link.encode(), 1)
    return Response(content, media_type=kind, headers=headers)


_OPTIONS = (
    (re.compile(r" with --(?:actor|target|time) NAME"), ""),
    (re.compile(r"\bgive --time (?!unit)"), "choose "),
    (re.compile(r"--time-unit"), "the unit of times"),
    (re.compile(r" \(--track\)"), ""),
    (re.compile(r" \(--with-bots keeps them\)"), ""),
)


def for_pages(sentence: str) -> str:
    """A sentence without the options of a shell, for somebody who has a form.

    >>> for_pages("no column for the actor: name one with --actor NAME")
    'no column for the actor: name one'
    """
    for pattern, instead in _OPTIONS:
        sentence = pattern.sub(instead, sentence)
    return sentence
