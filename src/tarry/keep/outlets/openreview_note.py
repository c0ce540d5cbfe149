"""A note for OpenReview: what the options and the content of a post say, and whether it is there."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput

__all__ = ["Place", "is_there", "note_edit", "read_fields", "read_options"]

_MOST_CONTENT = 1 << 20
_JSON, _TEXT = "application/json", "text/plain"
_NEEDED = {"account", "invitation", "signature", "forum"}
_KNOWN = _NEEDED | {"replyto", "readers", "field", "content_type", "accounts"}
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_WHAT = "the content of a note"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a note belongs, and by whom it is.

    >>> told = {"account": "ann", "invitation": "V/-/Comment", "signature": "V/Reviewer_a", "forum": "f"}
    >>> read_options(told).replyto
    'f'
    """

    account: str
    invitation: str
    signature: str
    forum: str
    replyto: str
    readers: list[str] | None
    field: str | None  # of plain text; None: the content is an object of fields
    accounts: Path | None  # another accounts file than the usual one


def read_options(options: Mapping[str, Any], *, own: bool = False) -> Place:
    """Read the options of a note; only in one's own store they may name an accounts file.

    >>> read_options({"account": "ann"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: a note has an account, a forum, an invitation and a signature, \
found no forum, invitation, signature
    """
    if missing := ", ".join(sorted(_NEEDED - set(options))):
        rule = "has an account, a forum, an invitation and a signature"
        raise BadInput("a note", rule, found=f"no {missing}")
    known = _KNOWN if own else _KNOWN - {"accounts"}
    if unknown := sorted(map(repr, set(options) - known)):
        raise BadInput("the options of a note", f"are {', '.join(sorted(known))}", found=unknown[0])
    content_type = options.get("content_type", _TEXT)
    if not isinstance(content_type, str) or content_type not in {_JSON, _TEXT}:
        raise BadInput("the content_type of a note", f"is {_TEXT} or {_JSON}", found="another")
    if content_type == _JSON and "field" in options:
        found, fix = "both a field and an object of fields", "leave the field out"
        raise BadInput(
            "the content of a note", "is a text for one field, or an object", found=found, fix=fix
        )
    invitation, signature, forum = (_name(options, name) for name in ("invitation", "signature", "forum"))
    if "/-/" not in invitation:
        fix = "such as Venue/2026/Conference/Submission3/-/Official_Comment"
        raise BadInput("the invitation of a note", "has a /-/ in it", found=repr(invitation), fix=fix)
    return Place(
        account=_name(options, "account"),
        invitation=invitation,
        signature=signature,
        forum=forum,
        replyto=_name(options, "replyto") if "replyto" in options else forum,
        readers=_readers(options["readers"]) if "readers" in options else None,
        field=None if content_type == _JSON else _name({"field": "comment", **options}, "field"),
        accounts=_path(options["accounts"]) if "accounts" in options else None,
    )


def _name(options: Mapping[str, Any], name: str) -> str:
    value = options[name]
    if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= 1000 or " " in value:
        found = "something else"
        raise BadInput(f"the {name} of a note", "is one word of printable characters", found=found)
    return value


def _readers(readers: Any) -> list[str]:
    if not isinstance(readers, list) or not readers:
        raise BadInput("the readers of a note", "are a list of one or more", found="something else")
    return [_name({"reader": reader}, "reader") for reader in readers]


def _path(path: Any) -> Path:
    if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
        raise BadInput("the accounts file of a note", "is an absolute path", found="another")
    return Path(path)


def read_fields(field: str | None, content: bytes) -> dict[str, Any]:
    """The fields of a note, bare: of a text for one field, or (None) of a JSON object.

    >>> read_fields("comment", b"I agree."), read_fields(None, b'{"rating": 7}')
    ({'comment': 'I agree.'}, {'rating': 7})
    """
    if len(content) > _MOST_CONTENT:
        raise BadInput(_WHAT, f"is at most {_MOST_CONTENT} bytes", found=len(content))
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise BadInput(_WHAT, "is text in UTF-8", found="other bytes") from None
    if field is not None:
        if not text.strip():
            raise BadInput(_WHAT, "is a text", found="nothing")
        if _CONTROLS.search(text):
            raise BadInput(_WHAT, "has no control characters but line ends and tabs", found="another")
        return {field: text}
    try:
        fields = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadInput(_WHAT, "is JSON", found="something else") from None
    if not isinstance(fields, dict) or not fields or not all(fields):
        raise BadInput(_WHAT, "is a JSON object of one or more fields", found="something else")
    try:
        json.dumps(fields, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):  # 1e999, or half of a character
        raise BadInput(_WHAT, "can be sent as JSON", found="a number or a text that cannot be") from None
    if any(isinstance(value, dict) and "value" in value for value in fields.values()):
        fix = 'write {"comment": "I agree."}'
        raise BadInput(_WHAT, "has bare values", found="one that is wrapped already", fix=fix)
    return fields


def _no_number(constant: str) -> Any:
    """NaN and the infinities are no JSON."""
    raise ValueError(constant)


def note_edit(place: Place, fields: Mapping[str, Any]) -> dict[str, Any]:
    """What is posted. It has no date: the server's own clock is the only one.

    >>> told = {"account": "ann", "invitation": "V/-/Comment", "signature": "V/Reviewer_a", "forum": "f"}
    >>> note_edit(read_options(told), {"comment": "I agree."})["note"]["content"]
    {'comment': {'value': 'I agree.'}}
    """
    note = {
        "forum": place.forum,
        "replyto": place.replyto,
        "signatures": [place.signature],
        **({} if place.readers is None else {"readers": place.readers}),
        "content": {name: {"value": value} for name, value in fields.items()},
    }
    return {"invitation": place.invitation, "signatures": [place.signature], "note": note}


def is_there(note: Mapping[str, Any], place: Place, fields: Mapping[str, Any], since_ms: int) -> bool:
    """Whether a note that was read is the one to be posted. Fields that OpenReview adds do not count.

    >>> told = {"account": "ann", "invitation": "V/-/Comment", "signature": "V/Reviewer_a", "forum": "f"}
    >>> place, fields = read_options(told), {"comment": "I agree."}
    >>> is_there({**note_edit(place, fields)["note"], "tcdate": 9}, place, fields, since_ms=5)
    True
    """
    content, made = note.get("content"), note.get("tcdate")
    return (
        note.get("signatures") == [place.signature]
        and (note.get("forum"), note.get("replyto")) == (place.forum, place.replyto)
        and isinstance(made, int)
        and made >= since_ms
        and isinstance(content, dict)
        and all(name in content and _same(content[name], value) for name, value in fields.items())
    )


def _same(there: Any, value: Any) -> bool:
    """Whether a field holds this value; blank ends and the kind of line ends are the server's choice."""
    found = there.get("value") if isinstance(there, dict) else there
    return bool(_plain(found) == _plain(value))


def _plain(value: Any) -> Any:
    return "\n".join(value.splitlines()).strip() if isinstance(value, str) else value
