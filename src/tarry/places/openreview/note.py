"""A note for OpenReview: what the options and the content of a post say, and whether it is there."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tarry.core.errors import BadInput

__all__ = ["NoteOptions", "is_there", "note_edit", "read_fields", "read_options"]

_MOST_CONTENT = 1 << 20
_JSON, _TEXT = "application/json", "text/plain"
_NEEDED = {"account", "invitation", "signature", "forum"}
_KNOWN = _NEEDED | {"replyto", "readers", "field", "content_type", "accounts"}
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_WHAT = "the content of a note"


@dataclass(frozen=True, kw_only=True)
class NoteOptions:
    """Where a note belongs, and by whom it is.

    >>> options = {"account": "ann", "invitation": "V/-/Comment", "signature": "V/Reviewer_a", "forum": "f"}
    >>> read_options(options).replyto
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


def read_options(options: Mapping[str, Any], *, own: bool = False) -> NoteOptions:
    """Read the options of a note; only in one's own store they may name an accounts file.

    >>> read_options({"account": "ann"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the note has no forum, invitation, signature: give all of these options
    """
    if missing := ", ".join(sorted(_NEEDED - set(options))):
        raise BadInput(f"the note has no {missing}", "give all of these options")
    known = _KNOWN if own else _KNOWN - {"accounts"}
    if unknown := sorted(map(repr, set(options) - known)):
        raise BadInput(f"a note has no option {unknown[0]}", f"use {', '.join(sorted(known))}")
    content_type = options.get("content_type", _TEXT)
    if not isinstance(content_type, str) or content_type not in {_JSON, _TEXT}:
        raise BadInput(f"content_type must be {_TEXT} or {_JSON}, not {ascii(content_type)[:60]}")
    if content_type == _JSON and "field" in options:
        raise BadInput("the note has both a field and an object of fields", "leave the field out")
    invitation, signature, forum = (_name(options, name) for name in ("invitation", "signature", "forum"))
    if "/-/" not in invitation:
        fix = "write it as Venue/2026/Conference/Submission3/-/Official_Comment"
        raise BadInput(f"the invitation must have a /-/ in it, not be {invitation!r}", fix)
    return NoteOptions(
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
        raise BadInput(f"the {name} of a note must be one word of 1 to 1000 printable characters")
    return value


def _readers(readers: Any) -> list[str]:
    if not isinstance(readers, list) or not readers:
        raise BadInput(f"readers must be a list of one or more, not {ascii(readers)[:60]}")
    return [_name({"reader": reader}, "reader") for reader in readers]


def _path(path: Any) -> Path:
    if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
        raise BadInput("accounts must be an absolute path", "begin it with /")
    return Path(path)


def read_fields(field: str | None, content: bytes) -> dict[str, Any]:
    """The fields of a note, bare: of a text for one field, or (None) of a JSON object.

    >>> read_fields("comment", b"I agree."), read_fields(None, b'{"rating": 7}')
    ({'comment': 'I agree.'}, {'rating': 7})
    """
    if len(content) > _MOST_CONTENT:
        raise BadInput(f"{_WHAT} must be at most {_MOST_CONTENT} bytes, not {len(content)}")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise BadInput(f"{_WHAT} must be UTF-8 text") from None
    if field is not None:
        if not text.strip():
            raise BadInput(f"{_WHAT} is empty", "send a text")
        if _CONTROLS.search(text):
            raise BadInput(f"{_WHAT} must have no control characters but line ends and tabs")
        return {field: text}
    try:
        fields = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise BadInput(f"{_WHAT} must be JSON", "check it, or leave content_type out") from None
    if not isinstance(fields, dict) or not fields or not all(fields):
        raise BadInput(f"{_WHAT} must be a JSON object of one or more fields")
    try:
        json.dumps(fields, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):  # 1e999, or half of a character
        raise BadInput(f"{_WHAT} has a number or a text that JSON cannot hold", "change it") from None
    if any(isinstance(value, dict) and "value" in value for value in fields.values()):
        raise BadInput(f"{_WHAT} must have bare values, not wrapped ones", 'write {"comment": "I agree."}')
    return fields


def _no_number(constant: str) -> Any:
    """NaN and the infinities are no JSON."""
    raise ValueError(constant)


def note_edit(place: NoteOptions, fields: Mapping[str, Any]) -> dict[str, Any]:
    """What is posted. It has no date: the server's own clock is the only one.

    >>> options = {"account": "ann", "invitation": "V/-/Comment", "signature": "V/Reviewer_a", "forum": "f"}
    >>> note_edit(read_options(options), {"comment": "I agree."})["note"]["content"]
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


def is_there(note: Mapping[str, Any], place: NoteOptions, fields: Mapping[str, Any], since_ms: int) -> bool:
    """Whether a note that was read is the one to be posted. Fields that OpenReview adds do not count.

    >>> options = {"account": "ann", "invitation": "V/-/Comment", "signature": "V/Reviewer_a", "forum": "f"}
    >>> place, fields = read_options(options), {"comment": "I agree."}
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
    there = there.get("value") if isinstance(there, dict) else there
    return bool(_without_ends(there) == _without_ends(value))


def _without_ends(value: Any) -> Any:
    return "\n".join(value.splitlines()).strip() if isinstance(value, str) else value
