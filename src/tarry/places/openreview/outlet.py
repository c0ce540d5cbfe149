"""OpenReview: a comment, a review or another note is posted at the release, as a note edit of API 2.

OpenReview itself writes down, to the millisecond, when a note was made (`tcdate`); no date is sent. A post
names an account of the accounts file: one login stands for all the anonymous names of a person
(Reviewer_abcd on one paper, Reviewer_wxyz on another), which is why a login that fails is that person's
outage and moves everything that waits for the account.

Exactly once, by looking first: before a note is posted, the notes of that forum are read, and if one of the
same words, by the same signature, in reply to the same note is there, this release has arrived. At the
first try it must not be older than the release; at a later one its age does not count, because in one
person's own store the release may have moved on since. There are two limits. If an answer is lost and
OpenReview takes the note only after the next try has looked, it is there twice. And if the very same words
stood there before, a second try takes them for its own.

The requests follow from the release and the accounts file alone. What OpenReview learns nevertheless: who
the author is, the address this machine connects from, and when.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tarry.core.errors import BadInput
from tarry.keep.errors import Refused
from tarry.keep.posts import Release
from tarry.places.checks import check_options, never_taken, read_path, read_utf8
from tarry.places.http import AccountOutlet, ByAccount
from tarry.places.openreview.client import OpenReviewVisit, openreview_address

__all__ = ["NoteOptions", "OpenReview", "is_there", "note_edit", "read_fields", "read_options"]

_SLACK_S = 300  # how far two clocks may be apart
_MOST_CONTENT = 1 << 20
_JSON, _TEXT = "application/json", "text/plain"
_NEEDED = {"account", "invitation", "signature", "forum"}
_KNOWN = _NEEDED | {"replyto", "readers", "field", "content_type", "accounts"}
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_WHAT = "the content of a note"


@dataclass(frozen=True, kw_only=True)
class NoteOptions(ByAccount):
    """Where a note belongs, and by whom it is.

    >>> options = {"account": "ann", "invitation": "V/-/Comment", "signature": "V/Reviewer_a", "forum": "f"}
    >>> read_options(options).replyto
    'f'
    """

    invitation: str
    signature: str
    forum: str
    replyto: str
    readers: list[str] | None
    field: str | None  # of plain text; None: the content is an object of fields


class OpenReview(AccountOutlet):
    """Posts notes by the accounts of a file, each with three requests.

    Options of a post: `account` (a name in the accounts file), `invitation`, `signature`, `forum`, and
    perhaps `replyto` (else the forum), `readers` (a list) and `field` (else comment), which gets the text.
    With `content_type` application/json the content is an object of fields, and each value is wrapped as
    OpenReview wants it. In one's own store there may be `accounts`.

    >>> from pathlib import Path
    >>> from tarry.places.accounts import Accounts
    >>> OpenReview(Accounts(Path("/nowhere/accounts.toml"), place="https://openreview.net"))
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the address of OpenReview must be that of its API 2: use https://api2.openreview.net
    """

    place = "OpenReview"
    usual_s = 20
    longest_s = 30

    def read(self, options: Mapping[str, Any]) -> NoteOptions:
        """Check the options, as far as OpenReview need not be asked."""
        return read_options(options, own=self.own)

    def check_place(self, url: str) -> None:
        """Refuse what is not the address of an API 2."""
        openreview_address(url)

    def login_name(self, login: str) -> str:
        """An e-mail address, in whatever case."""
        return login.lower()

    def check_content(self, options: Mapping[str, Any], content: bytes) -> None:
        """Refuse what is no text, or no object of fields."""
        read_fields(self.read(options).field, content)

    @never_taken()
    def deliver(self, release: Release) -> None:
        """Post it, unless it is there; or raise why not."""
        place = self.read(release.options)
        fields = read_fields(place.field, release.content)
        # What is long enough to be somebody's words; a rating stays readable in sentences.
        words = (value for value in fields.values() if isinstance(value, str) and len(value) > 3)
        visit = OpenReviewVisit(
            self.account_now(place),
            timeout_s=self.timeout_s,
            tls=self.trust,
            hidden=[place.signature, *words],
        )
        visit.log_in()
        since_ms = int((release.at - _SLACK_S) * 1000) if release.attempt == 1 else 0
        if _look(visit, place, fields, since_ms):
            return
        try:
            visit.post(note_edit(place, fields))
        except Refused:
            # An earlier try that got no answer may have been obeyed only now: then this is one too many.
            if not _look(visit, place, fields, since_ms):
                raise


def _look(visit: OpenReviewVisit, place: NoteOptions, fields: Mapping[str, Any], since_ms: int) -> bool:
    """Whether the note is there, among the newest thousand of its kind in this forum."""
    query = {"forum": place.forum, "invitation": place.invitation, "sort": "tcdate:desc", "limit": "1000"}
    return any(is_there(note, place, fields, since_ms) for note in visit.notes(query))


def read_options(options: Mapping[str, Any], *, own: bool = False) -> NoteOptions:
    """Read the options of a note; only in one's own store they may name an accounts file.

    >>> read_options({"account": "ann"})
    Traceback (most recent call last):
    tarry.core.errors.BadInput: the note has no forum, invitation, signature: give all of these options
    """
    if missing := ", ".join(sorted(_NEEDED - set(options))):
        raise BadInput(f"the note has no {missing}", "give all of these options")
    check_options(options, _KNOWN if own else _KNOWN - {"accounts"}, "a note")
    content_type = options.get("content_type", _TEXT)
    if not isinstance(content_type, str) or content_type not in {_JSON, _TEXT}:
        raise BadInput(f"content_type must be {_TEXT} or {_JSON}, not {ascii(content_type)[:60]}")
    if content_type == _JSON and "field" in options:
        raise BadInput("the note has both a field and an object of fields", "leave the field out")
    invitation, signature, forum = (_name(options, name) for name in ("invitation", "signature", "forum"))
    if "/-/" not in invitation:
        raise BadInput(
            f"the invitation must have a /-/ in it, not be {invitation!r}",
            "write it as Venue/2026/Conference/Submission3/-/Official_Comment",
        )
    return NoteOptions(
        account=_name(options, "account"),
        invitation=invitation,
        signature=signature,
        forum=forum,
        replyto=_name(options, "replyto") if "replyto" in options else forum,
        readers=_readers(options["readers"]) if "readers" in options else None,
        field=None if content_type == _JSON else _name({"field": "comment", **options}, "field"),
        accounts=read_path(options.get("accounts"), "accounts"),
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


def read_fields(field: str | None, content: bytes) -> dict[str, Any]:
    """The fields of a note, bare: of a text for one field, or (None) of a JSON object.

    >>> read_fields("comment", b"I agree."), read_fields(None, b'{"rating": 7}')
    ({'comment': 'I agree.'}, {'rating': 7})
    """
    if len(content) > _MOST_CONTENT:
        raise BadInput(f"{_WHAT} must be at most {_MOST_CONTENT} bytes, not {len(content)}")
    text = read_utf8(content, _WHAT)
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
    return {
        "invitation": place.invitation,
        "signatures": [place.signature],
        "note": {
            "forum": place.forum,
            "replyto": place.replyto,
            "signatures": [place.signature],
            **({} if place.readers is None else {"readers": place.readers}),
            "content": {name: {"value": value} for name, value in fields.items()},
        },
    }


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
        and all(name in content and _bare(content[name]) == _bare(value) for name, value in fields.items())
    )


def _bare(field: Any) -> Any:
    """What a field holds; blank ends and the kind of line ends are the server's choice."""
    value = field.get("value", field) if isinstance(field, dict) else field
    return "\n".join(value.splitlines()).strip() if isinstance(value, str) else value
